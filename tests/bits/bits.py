#!/usr/bin/env python3
"""bits.py PROGRAM[=KERNELS]… -- PROGRAM[=KERNELS]…: trains with each program (bits/train.cpp with the headers alone, or
with the library and its kernels of that name), on one and two threads, fused and unfused, and fails unless all runs
before the `--`, and all runs behind it, give the same bits.

There are two families because a matrix product multiplies and adds in one rounding where the processor can: x86-64-v3
and v4 do, x86-64-v2 does not. Programs that this processor can't run are left out."""
import os
import subprocess
import sys


def runs(program):
    path, _, kernels = program.partition("=")
    environment = {name: value for name, value in os.environ.items() if name != "RILL_TEST_KERNELS"}
    if kernels:
        environment["RILL_TEST_KERNELS"] = kernels
    for threads in ("1", "2"):
        for passes in ("fused", "unfused"):
            done = subprocess.run([path, threads, passes], env=environment, stdout=subprocess.PIPE, text=True)
            what = f"{os.path.basename(path)} {kernels} on {threads} threads, {passes}"
            if done.returncode == 77:
                print(f"{what}: not for this processor")
            elif done.returncode != 0 or done.stdout.count("\n") != 4:
                sys.exit(f"{what}: ended with {done.returncode}\n{done.stdout}")
            else:
                yield what, done.stdout


families = [[]]
for word in sys.argv[1:]:
    if word == "--":
        families.append([])
    else:
        families[-1].append(word)
for family in families:
    all_runs = [run for program in family for run in runs(program)]
    for what, lines in all_runs:
        if lines != all_runs[0][1]:
            sys.exit(f"{all_runs[0][0]}:\n{all_runs[0][1]}{what}:\n{lines}the bits differ")
    if all_runs:
        print(f"{all_runs[0][1]}are the bits of {len(all_runs)} runs: {', '.join(family)}\n")
