#!/usr/bin/env python3
"""launchers.py PROGRAM: starts the program of tests/launch/launched.cpp by what people use: mpirun of Open MPI and of
MPICH, srun with a slurmctld and a slurmd of the test's own, torchrun, and shell loops. What is not installed is skipped."""
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1)
PATIENCE = 300  # seconds, for what ends by itself much sooner


def environment(**more):
    """The environment without what the launcher of this test may have left there."""
    own = re.compile(r"RILL_|SLURM|OMPI_|PMI|MPI_|RANK$|WORLD_SIZE$|MASTER_|JOB_COMPLETION_INDEX$|KUBERNETES_")
    return {**{k: v for k, v in os.environ.items() if not own.match(k)}, **{k: str(v) for k, v in more.items()}}


def needs(command, why=""):
    return unittest.skipUnless(shutil.which(command), f"{command} is not installed" + why)


def is_root():
    return os.geteuid() == 0


def free_port(kept=[]):
    """A port that no other program is given until this one ends: a socket that does not listen is bound to it. Whoever
    allows addresses to be reused can listen there, as rill, PyTorch and Slurm do."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    kept.append(s)
    return s.getsockname()[1]


class Ended:
    def __init__(self, code, output, errors):
        self.code, self.output, self.errors = code, output, errors


def run_all(commands):
    """Runs [(command, environment)] at once until all have ended; those that don't are ended, and their code is None."""
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  start_new_session=True, env=environment(**more)) for command, more in commands]
    until = time.monotonic() + PATIENCE
    ended = []
    for process in processes:
        try:
            texts = process.communicate(timeout=max(until - time.monotonic(), 0.1))
            ended.append(Ended(process.returncode, *texts))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            ended.append(Ended(None, *process.communicate()))
    return ended


def run(command, **more):
    return run_all([(command, more)])[0]


class Launched(unittest.TestCase):
    def check(self, *ended, workers=3):
        """Whether these, which together have started all processes, did what they should."""
        output, errors = "".join(e.output for e in ended), "".join(e.errors for e in ended)
        self.assertEqual([e.code for e in ended], [0] * len(ended), output + errors)
        tables = {line.split(": ", 1)[1] for line in output.splitlines() if line.startswith("/job:")}
        self.assertEqual(len(tables), 1, f"all processes have the same table\n{output}")
        self.assertEqual(len(set(tables.pop().split())), 1 + workers, output)
        total = workers * (workers + 1) // 2
        self.assertEqual(sorted(re.findall(r"worker .*", output)),
                         [f"worker {i} of {workers}: the sum is {total}" for i in range(workers)], errors)


class ShellLoop(Launched):
    def test_processes_find_each_other(self):
        port = free_port()
        self.check(*run_all([([PROGRAM], {"RILL_RANK": r, "RILL_PROCESSES": 4, "RILL_PORT": port}) for r in range(4)]))

    def test_who_is_missing_is_said_by_all(self):
        said = "3 of 4 processes came in time; missing: rank 2"
        for milliseconds in (1500, 6000, 24000):  # until the three come in time
            port = free_port()
            ended = run_all([([PROGRAM, str(milliseconds)], {"RILL_RANK": r, "RILL_PROCESSES": 4, "RILL_PORT": port})
                             for r in (0, 1, 3)])
            if all(said in each.errors for each in ended):
                break
        for each in ended:
            self.assertEqual(each.code, 1)
            self.assertIn(said, each.errors)

    def test_runs_at_once_with_tokens_of_their_own_are_kept_apart(self):
        """The port that each run derives from its token may be the same, or taken."""
        runs = [([PROGRAM], {"RANK": r, "WORLD_SIZE": 4, "LOCAL_WORLD_SIZE": 4, "MASTER_ADDR": "localhost",
                             "RILL_TOKEN": f"run {k} of {os.getpid()}"}) for k in range(2) for r in range(4)]
        ended = run_all(runs)
        self.check(*ended[:4])
        self.check(*ended[4:])

    def test_jobs_that_do_not_fit_are_refused(self):
        done = run([PROGRAM], RILL_RANK=0, RILL_PROCESSES=4, RILL_JOBS="ps=1 worker=1")
        self.assertEqual(done.code, 1)
        self.assertIn("'ps=1 worker=1' have 2 tasks, and RILL_RANK has started 4 processes", done.errors)

    def test_without_a_launcher_it_says_what_it_expects(self):
        done = run([PROGRAM])
        self.assertEqual(done.code, 1)
        self.assertIn("srun, mpirun, torchrun or Kubernetes", done.errors)


class OpenMpi(Launched):
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "4"]

    @needs("mpirun.openmpi")
    def test_mpirun(self):
        self.check(run([*self.command, PROGRAM]))

    @needs("mpirun.openmpi")
    def test_mpirun_without_its_store(self):
        self.check(run([*self.command, "-x", "RILL_PORT", PROGRAM], RILL_PORT=free_port()))

    @needs("mpirun.openmpi")
    def test_jobs_of_the_environment(self):
        done = run([*self.command, "-x", "RILL_JOBS", PROGRAM], RILL_JOBS="ps=2 worker=2")
        self.assertEqual(done.code, 0, done.errors)
        self.assertIn("/job:ps/task:1: ", done.output)
        self.assertIn("worker 1 of 2: the sum is 3", done.output)


class Mpich(Launched):
    @needs("mpirun.mpich")
    def test_mpirun(self):
        self.check(run(["mpirun.mpich", "-n", "4", PROGRAM]))

    @needs("mpirun.mpich")
    def test_processes_of_two_hosts_say_their_own_names(self):
        try:
            socket.getaddrinfo(socket.gethostname(), 0)
        except OSError:
            self.skipTest("this host's own name can't be looked up")
        hosts = ["mpirun.mpich", "-launcher", "fork", "-hosts", "127.0.0.1,127.0.0.2", "-ppn", "2", "-n", "4"]
        self.check(run([*hosts, PROGRAM, "--trusted"]))
        refused = run([*hosts, PROGRAM])
        self.assertNotEqual(refused.code, 0)
        self.assertIn("server_options::trusted_network", refused.errors)


class Torchrun(Launched):
    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_torchrun(self):
        self.check(run([sys.executable, "-m", "torch.distributed.run", "--no-python", "--nproc-per-node", "4",
                            "--master-port", str(free_port()), PROGRAM]))

    def test_what_torchrun_sets(self):
        """As torch/distributed/elastic/agent/server/local_elastic_agent.py sets them; its own store has MASTER_PORT."""
        with socket.socket() as store:
            store.bind(("127.0.0.1", 0))
            store.listen()
            common = {"WORLD_SIZE": 4, "LOCAL_WORLD_SIZE": 4, "MASTER_ADDR": "localhost",
                      "MASTER_PORT": store.getsockname()[1], "TORCHELASTIC_RUN_ID": "none", "GROUP_RANK": 0}
            self.check(*run_all([([PROGRAM], {**common, "RANK": r, "LOCAL_RANK": r}) for r in range(4)]))


class Kubernetes(Launched):
    def test_an_indexed_job_that_meets_at_the_first_pod(self):
        common = {"RILL_JOBS": "ps=1 worker=3", "RILL_FIRST": "127.0.0.1", "RILL_PORT": free_port()}
        self.check(*run_all([([PROGRAM], {**common, "JOB_COMPLETION_INDEX": i, "HOSTNAME": f"digits-{i}"})
                                for i in range(4)]))

    @unittest.skipUnless(is_root(), "only root can give a process another /etc/hosts")
    @needs("unshare")
    def test_pods_that_know_each_other_by_name(self):
        """Each process sees its own name, and those of the others by a headless service, as in a pod."""
        with tempfile.TemporaryDirectory() as folder:
            hosts = pathlib.Path(folder, "hosts")
            names = ["digits-ps-0", *(f"digits-worker-{i}" for i in range(3))]
            hosts.write_text("127.0.0.1 localhost\n" + "".join(
                f"127.0.0.{10 + i} {name}.digits.default.svc.cluster.local {name}\n" for i, name in enumerate(names)))
            in_pod = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" /etc/hosts && exec "$2" --trusted', "sh", hosts,
                      PROGRAM]
            if subprocess.run([*in_pod[:3], "-c", 'mount --bind "$1" /etc/hosts', "sh", hosts],
                              capture_output=True).returncode != 0:
                self.skipTest("no mounts of one's own here")
            common = {"RILL_JOBS": "ps=1 worker=3", "KUBERNETES_SERVICE_HOST": "10.96.0.1", "RILL_PORT": free_port()}
            ended = run_all([(in_pod, {**common, "HOSTNAME": name}) for name in names])
            self.check(*ended)
            self.assertIn("digits-worker-2.digits.default.svc.cluster.local:", ended[0].output)


@unittest.skipUnless(is_root(), "only root can make network namespaces")
@needs("ip")
class TwoHosts(Launched):
    """Two network namespaces with a cable between them."""

    def setUp(self):
        self.names = [f"rill{os.getpid()}{end}" for end in "ab"]
        self.addCleanup(lambda: [self.ip("netns", "delete", name) for name in self.names])
        made = [self.ip("netns", "add", name) for name in self.names]
        made.append(self.ip("link", "add", "end", "netns", self.names[0], "type", "veth", "peer", "name", "end", "netns",
                            self.names[1]))
        if any(made):
            self.skipTest("no network namespaces here")
        for i, name in enumerate(self.names):
            self.ip("-n", name, "address", "add", f"10.99.0.{i + 1}/24", "dev", "end")
            self.ip("-n", name, "link", "set", "end", "up")
            self.ip("-n", name, "link", "set", "lo", "up")

    @staticmethod
    def ip(*words):
        return subprocess.run(["ip", *words], capture_output=True).returncode

    def command(self, rank, *words):
        return ["ip", "netns", "exec", self.names[rank // 2], PROGRAM, *words]

    def test_processes_find_each_other(self):
        common = {"RILL_PROCESSES": 4, "RILL_FIRST": "10.99.0.1"}
        ended = run_all([(self.command(r, "--trusted"), {**common, "RILL_RANK": r}) for r in range(4)])
        self.check(*ended)
        self.assertRegex(ended[0].output, r"10\.99\.0\.1:\d+ 10\.99\.0\.1:\d+ 10\.99\.0\.2:\d+ 10\.99\.0\.2:\d+\n")

    def test_a_network_has_to_be_trusted(self):
        common = {"RILL_PROCESSES": 2, "RILL_FIRST": "10.99.0.1"}
        ended = run_all([(self.command(2 * r), {**common, "RILL_RANK": r}) for r in range(2)])
        for each in ended:
            self.assertEqual(each.code, 1)
            self.assertIn("server_options::trusted_network", each.errors)


@unittest.skipUnless(is_root(), "only root can start slurmd")
@needs("slurmctld")
@needs("slurmd")
@needs("srun")
class Slurm(Launched):
    command = ["srun", "-n", "4", "--kill-on-bad-exit"]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        folder, host = pathlib.Path(cls.folder.name), socket.gethostname().split(".")[0]
        for name in ("state", "spool"):
            (folder / name).mkdir()
        cls.configuration = folder / "slurm.conf"
        cls.configuration.write_text(f"""\
ClusterName=rill
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=64 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
""")
        for daemon in ("slurmctld", "slurmd"):
            log = open(folder / f"{daemon}.log", "w")
            process = subprocess.Popen([daemon, "-D"], stdout=log, stderr=log, env=environment(SLURM_CONF=cls.configuration))
            cls.addClassCleanup(cls.end, process, log)
        until = time.monotonic() + 120
        while "idle" not in run(["sinfo", "--noheader"], SLURM_CONF=cls.configuration).output:
            if time.monotonic() > until:
                logs = "".join((folder / f"{daemon}.log").read_text()[-2000:] for daemon in ("slurmctld", "slurmd"))
                raise unittest.SkipTest(f"Slurm does not start here: {logs}")
            time.sleep(0.1)

    @staticmethod
    def end(process, log):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()

    def srun(self, *words, **more):
        return run([*self.command, *words], SLURM_CONF=self.configuration, **more)

    def test_srun(self):
        self.check(self.srun(PROGRAM))

    def test_srun_with_pmi(self):
        self.check(self.srun("--mpi=pmi2", PROGRAM))

    def test_steps_at_once_are_kept_apart(self):
        ended = run_all([([*self.command, "--overcommit", PROGRAM], {"SLURM_CONF": self.configuration})] * 2)
        for each in ended:
            self.check(each)

    def test_jobs_that_do_not_fit_are_refused(self):
        done = self.srun(PROGRAM, RILL_JOBS="ps=2 worker=3")
        self.assertNotEqual(done.code, 0)
        self.assertIn("'ps=2 worker=3' have 5 tasks, and Slurm's srun has started 4 processes", done.errors)


unittest.main()
