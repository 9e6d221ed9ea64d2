#!/usr/bin/env python3
"""table.py LINES LOADS MACHINE: prints the table of bench/gpu/run.sh, whose lines are those of bench/compare.sh, with the
same ratios (bench/table.py); MACHINE says what the GPU is."""
import importlib.util
import json
import os
import pathlib
import sys

cpu = importlib.util.spec_from_file_location("cpu_table", pathlib.Path(__file__).resolve().parent.parent / "table.py")
table = importlib.util.module_from_spec(cpu)
cpu.loader.exec_module(table)


def main(path, loads, machine):
    loads = sorted(float(load) for load in open(loads))
    lines = [json.loads(line) for line in open(path)]
    rounds = max(line["round"] for line in lines)
    changes = " with changes" if table.output("git", "status", "--short") else ""
    commit = (table.output("git", "rev-parse", "--short", "HEAD") or "no commit") + changes
    peers, rows, alone = table.comparison(lines)
    device = {"cuda": "the GPU", "cpu": "the host"}[os.environ["PEERS_DEVICE"]]
    print(f"# rill on a GPU and its peers, {table.output('date', '+%F')}\n")
    print(f"{machine}; {table.processor()}, {os.cpu_count()} processors, load average {loads[0]:.1f} to {loads[-1]:.1f}. "
          f"rill at {commit}; {table.versions() or 'no peers'}. Written by `bench/gpu/run.sh --rounds {rounds}`. "
          f"The peers ran on {device}.\n")
    print("Nanoseconds per unit, the median over rounds in which the programs ran one after the other. A step takes its batch "
          "from the host and ends when the host knows the loss; of a peer that is `ahead`, the host waits for the last step "
          "alone. All compute with float32, without TF32. The ratio is rill's time divided by the time of the fastest peer "
          "in the same round: the median, the range over rounds, and the ratio of the minimum times.\n")
    if rows:
        print("| case | unit | rill | " + " | ".join(peers) + " | rill / best | over rounds | of least |")
        print("|---|---|" + "---:|" * (len(peers) + 4))
        for row in rows:
            print("| " + " | ".join(row) + " |")
    if alone:
        print("\nCases without a peer:\n\n| case | unit | rill |\n|---|---|---:|")
        for case, unit, ns in alone:
            print(f"| {case} | {unit} | {table.number(ns)} |")
    left = {line["case"]: line["on_host"] for line in lines if line.get("on_host")}
    if left:
        print("\nNodes of rill's steps that ran on the host, because GPUs have no kernel for them: "
              + ", ".join(f"{case} {n}" for case, n in left.items()) + ".")
    errors = dict.fromkeys(f"{line['case']}: {line['error']}" for line in lines if "error" in line)
    if errors:
        print("\nNot timed:\n")
        for error in errors:
            print(f"- {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
