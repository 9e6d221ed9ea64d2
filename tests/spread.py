#!/usr/bin/env python3
"""spread.py BUILD [--over devices|gpus|tasks|servers] [--seed N] [--one-of N] [--slow] [--limit SECONDS] [PROGRAM...]: runs the
test programs of a build with the nodes of their sessions spread at random over two to four emulated devices, or a GPU of the
emulated driver and such a device, or tasks, or servers (spread.hpp, net/spread_servers.hpp): the same results, no touch of a device's memory by host code, nothing left
there. --one-of 10 runs a tenth of the tests, another one for each seed, chosen by their names. --slow prints the slowest.
A program hangs that takes longer than the limit, 600 seconds."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time
import zlib


def excluded(over):
    """The patterns of the tests that are not run over devices, GPUs, tasks or servers: each list has the reasons."""
    lists = {"servers": ["devices", "tasks", "servers"], "gpus": ["devices", "gpus"]}.get(over, [over])
    text = "\n".join((pathlib.Path(__file__).parent / f"spread_over_{name}.txt").read_text() for name in lists)
    return sorted({line.split("#")[0].strip() for line in text.splitlines()} - {""})


def tests_of(program, patterns):
    """The names of a program's tests that no pattern excludes."""
    listed = subprocess.run([program, "--gtest_list_tests", "--gtest_filter=-" + ":".join(patterns)],
                            capture_output=True, text=True, check=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--over", choices=["devices", "gpus", "tasks", "servers"], default="devices")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one-of", type=int, default=1)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--limit", type=int, default=600)
    options = parser.parse_intermixed_args()
    programs = [p for p in sorted((options.build / "tests").glob("test_*")) if os.access(p, os.X_OK) and p.is_file()]
    # test_net has servers of its own, and is about them; so has test_cuda devices.
    programs = [p for p in programs if not p.name.endswith(("_headers", "_other"))
                and p.name not in ("test_cuda", "test_header_only", "test_net")]
    if options.programs:
        programs = [p for p in programs if p.name in options.programs]
    if not programs:
        sys.exit(f"spread.py: no test programs in {options.build / 'tests'}")
    environment = {**os.environ, f"RILL_TEST_{options.over.upper()}": str(options.seed)}
    if options.over == "gpus":
        driver = str((options.build / "tests/rill_emulated_cuda.so").resolve())
        environment |= {"RILL_CUDA_DRIVER": driver, "RILL_NVRTC": driver}
    patterns, failed, total, times = excluded(options.over), [], 0, []
    for program in programs:
        names = tests_of(program, patterns)
        names = [name for name in names if zlib.crc32(name.encode()) % options.one_of == options.seed % options.one_of]
        if not names:
            continue
        begun = time.monotonic()
        try:
            run = subprocess.run([program, "--gtest_filter=" + ":".join(names)], env=environment, capture_output=True,
                                 text=True, timeout=options.limit)
            code, output, errors = run.returncode, run.stdout, run.stderr
        except subprocess.TimeoutExpired as late:
            code, output, errors = "none: it hangs", (late.stdout or b"").decode(), (late.stderr or b"").decode()
        print(f"{program.name}: {len(names)} tests in {time.monotonic() - begun:.1f} s", flush=True)
        times += [(int(ms), name) for name, ms in re.findall(r"^\[ +(?:OK|FAILED) +\] (\S+) \((\d+) ms\)", output, re.M)]
        total += len(names)
        if code != 0:
            failed.append(program.name)
            shown = re.sub(r"^\[ +(RUN|OK) .*\n|^\[-----.*\n", "", output, flags=re.M)
            print(f"exit code {code}\n{shown[-6000:]}{errors[-2000:]}", flush=True)
    if options.slow:
        print("\n".join(f"{ms:8} ms  {name}" for ms, name in sorted(times, reverse=True)[:25]))
    print(f"{total} tests of {len(programs)} programs over {options.over}, seed {options.seed}")
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


main()
