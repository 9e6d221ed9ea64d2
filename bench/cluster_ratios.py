#!/usr/bin/env python3
"""Prints what bench_cluster measured beside what the peers' program did in the same run: cluster_ratios.py FILE, where FILE has
the lines of both, as cluster.sh collects them. Raw bytes there are those of python's sockets, in bench_cluster of its own."""
import json
import re
import sys

# Rows of bench_cluster, the peers' case, and the bars: of raw sockets of the same kind, and of TensorFlow.
ROWS = [
    ("a tensor of 64 MiB, TCP", "tcp", "transfer_64m", ">= 0.85", ""),
    ("a tensor of 64 MiB, Unix socket", "unix", "transfer_64m", ">= 0.85", ""),
    ("a scalar step: fed, run by the other process, fetched, TCP", "tcp", "transfer_scalar", "<= 2", "<= 0.20"),
    ("a scalar variable of the other process, read here, TCP", "tcp", "transfer_scalar", "<= 2", "<= 0.20"),
    ("a scalar step on both processes, there and back, TCP", "tcp", "transfer_scalar", "<= 2", "<= 0.20"),
]


def main():
    ours, peers = {}, {}
    for line in open(sys.argv[1]):
        if found := re.match(r"\| (.+?) +\| +([0-9.]+) (GB/s|us)", line):
            ours[found[1]] = float(found[2])
        elif line.startswith("{") and "ns" in (said := json.loads(line)):
            peers[said["peer"], said["case"]] = said["ns"]

    def ratio(figure, case, ns, bar):
        if ns is None:
            return "not measured"
        # The peers' figures are ns a byte, of which GB/s is the reciprocal, or ns a step.
        least = figure * ns if case == "transfer_64m" else figure * 1e3 / ns
        return f"{least:.2f}" + (f" (bar {bar})" if bar else "")

    print("| beside the peers of this run | rill | of their raw sockets | of TensorFlow |\n|---|---:|---:|---:|")
    for row, kind, case, bar, bar_of_tf in ROWS:
        if (figure := ours.get(row)) is not None:
            raw, tf = peers.get((kind, case)), peers.get(("tf1", case))
            print(f"| {row} | {figure:.2f} {'GB/s' if case == 'transfer_64m' else 'us'} "
                  f"| {ratio(figure, case, raw, bar)} | {ratio(figure, case, tf, bar_of_tf)} |")


main()
