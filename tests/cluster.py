#!/usr/bin/env python3
"""cluster.py PROGRAM: runs the program of examples/cluster.cpp as a cluster on this machine: two ps tasks, three workers,
and a client that looks."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
JOBS = {"ps": 2, "worker": 3}


class Cluster(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addresses = {job: [f"unix:{self.folder.name}/{job}{i}" for i in range(n)] for job, n in JOBS.items()}
        self.running = []

    def tearDown(self):
        for process in self.running:
            process.kill()
            process.communicate()
        self.folder.cleanup()

    def start(self, task, *words):
        cluster = " ".join(f"{job}={','.join(at)}" for job, at in self.addresses.items())
        process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "RILL_CLUSTER": cluster, "RILL_TASK": task})
        self.running.append(process)
        return process

    def end(self, process, code=0):
        output, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, errors)
        return output

    def learn(self, *words):
        servers = [self.start(f"ps:{i}") for i in range(JOBS["ps"])]
        client = self.start("", "--look", self.addresses["ps"][0])
        workers = [self.start(f"worker:{i}", "--epochs", "10", *words) for i in range(JOBS["worker"])]
        looked = self.end(client)
        for i, worker in enumerate(workers):
            output = self.end(worker)
            self.assertEqual(len(re.findall(rf"worker:{i}: epoch", output)), 10)
            accuracy = float(re.search(r"trained on: ([0-9.]+) %", output)[1])
            self.assertGreater(accuracy, 93)
        self.assertIn("/job:worker/task:2/device:cpu:0", looked)
        self.assertIn("hidden/bias: float32[128]", looked)
        for server in servers:
            self.end(server)

    def test_learns_digits_on_five_processes(self):
        self.learn()

    def test_learns_digits_in_rounds_of_all_workers(self):
        self.learn("--synchronous")

    def lose(self, signal_of_end, expected):
        """A ps task is lost while a worker trains: the worker says which, and why."""
        self.addresses = {"ps": self.addresses["ps"], "worker": self.addresses["worker"][:1]}
        servers = [self.start(f"ps:{i}") for i in range(JOBS["ps"])]
        worker = self.start("worker:0", "--epochs", "1000000")
        self.assertIn("epoch", worker.stdout.readline())
        servers[1].send_signal(signal_of_end)
        errors = worker.communicate(timeout=300)[1]
        self.assertIn("/job:ps/task:1", errors)
        self.assertIn(expected, errors)
        self.assertEqual(worker.returncode, 1)
        return servers[1]

    def test_a_process_that_is_killed_is_named(self):
        self.lose(signal.SIGKILL, "unavailable")

    def test_a_process_that_is_told_to_end_is_named(self):
        self.end(self.lose(signal.SIGTERM, "unavailable"))

    def test_a_process_that_is_stopped_is_named(self):
        self.lose(signal.SIGSTOP, "nothing was heard for 10000 ms")

    def test_says_what_is_wrong(self):
        done = subprocess.run([PROGRAM, "--fast"], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, "--look ADDRESS" in done.stderr), (1, True))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RILL_")}
        done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=300, env=environment)
        self.assertEqual((done.returncode, "RILL_CLUSTER" in done.stderr), (1, True))
        process = self.start("worker:7")
        self.assertIn("no task '/job:worker/task:7'", process.communicate(timeout=300)[1])


unittest.main()
