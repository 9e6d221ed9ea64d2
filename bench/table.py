#!/usr/bin/env python3
"""Prints the table of a comparison: table.py LINES LOADS, where LINES has the JSON lines that compare.sh collects, and LOADS
the machine's load average at each group of cases.

A ratio is rill's time divided by the time of the round's fastest peer; the table shows the median over the rounds. On a busy
machine the minimum times say more: "of least" is rill's best round divided by the best round of any peer.
"""
import json, os, platform, statistics, subprocess, sys
from collections import defaultdict


def output(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def processor():
    names = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return names[0] if names else platform.processor()


def versions():
    """Returns the versions of the peers in their python."""
    code = ("from importlib import metadata\n"
            "for name in ('torch', 'jax', 'tensorflow', 'tensorflow_cpu'):\n"
            "    try: print(name.split('_')[0], metadata.version(name))\n"
            "    except metadata.PackageNotFoundError: pass")
    return ", ".join(dict.fromkeys(output(os.environ["PEERS_PYTHON"], "-c", code).splitlines()))


def number(ns):
    return f"{ns:,.0f}" if ns >= 100 else f"{ns:.3g}"


# Cases of rill that do the same work as a peer's case with another name. TensorFlow has one execution for loops, rill three.
same_work = {"while_loop_tagged": ("tf1", "while_loop")}


def comparison(lines):
    """Returns the sorted peers, the rows of cases with a peer, and the cases without one."""
    times = defaultdict(lambda: defaultdict(dict))                              # case -> peer -> round -> ns
    for line in lines:
        if "ns" in line: times[line["case"]][line["peer"]][line["round"]] = line["ns"]
    for case, (peer, other) in same_work.items():
        if case in times and peer in times.get(other, {}): times[case][peer] = times[other][peer]
    peers = sorted({p for case in times.values() for p in case} - {"rill"})
    rows, alone = [], []
    for case, by_peer in times.items():
        unit = next(line["unit"] for line in lines if line["case"] == case and "unit" in line)
        median = {p: statistics.median(by_round.values()) for p, by_round in by_peer.items()}
        ratios = []
        for r, ns in by_peer.get("rill", {}).items():
            best = min((by_peer[p][r] for p in peers if r in by_peer.get(p, {})), default=None)
            if best: ratios.append(ns / best)
        if not ratios:
            if "rill" in median: alone.append((case, unit, median["rill"]))
            continue
        cells = [number(median[p]) if p in median else "" for p in ["rill", *peers]]
        least = min(by_peer["rill"].values()) / min(ns for p in peers for ns in by_peer.get(p, {}).values())
        rows.append([case, unit, *cells, f"**{statistics.median(ratios):.3g}**", f"{min(ratios):.3g}–{max(ratios):.3g}", f"{least:.3g}"])
    return peers, rows, alone


def memory_table(lines, keys, titles, sentence):
    """Prints a table of the first round's lines that have the keys: peak and least, then the keys' values."""
    memory = [line for line in lines if keys[0] in line and line["round"] == 1]
    if not memory: return
    print(f"\n{sentence}\n\n| case | peak | least | peak / least | " + " | ".join(titles) + " |")
    print("|---|" + "---:|" * (3 + len(titles)))
    for m in memory:
        print(f"| {m['case']} | {m['peak']:,} | {m['least']:,} | {m['peak'] / m['least']:.3g} | "
              + " | ".join(f"{m[key]:,.12g}" for key in keys) + " |")


def main(path, loads):
    loads = sorted(float(load) for load in open(loads))
    lines = [json.loads(line) for line in open(path)]
    rounds = max(line["round"] for line in lines)
    commit = output("git", "rev-parse", "--short", "HEAD") + (" with changes" if output("git", "status", "--short") else "")
    threads = os.environ["RILL_THREADS"]
    peers, rows, alone = comparison(lines)
    print(f"# rill and its peers, {output('date', '+%F')}, CPU\n")
    print(f"{processor()}, {os.cpu_count()} processors, {threads} thread{'s' if threads != '1' else ''} for each program; load average "
          f"{loads[0]:.1f} to {loads[-1]:.1f}. rill at {commit}; {versions()}. "
          f"Written by `RILL_THREADS={threads} bench/compare.sh --rounds {rounds}`.\n")
    print("Nanoseconds per unit, the median over rounds in which the programs ran one after the other. The ratio is rill's time "
          "divided by the time of the fastest peer in the same round: the median, the range over rounds, and the ratio of the "
          "minimum times (rill's best round to the best round of any peer), which other work on the machine disturbs least. "
          "`tf1` is TensorFlow's graph and session, `compile` is torch.compile.\n")
    if loads[-1] > int(threads) + 1:
        print("The machine had other work during the measurement. Other work slows programs whose threads wait for each other most, "
              "above all torch, whose threads spin, so the ratios to torch say little here.\n")
    print("| case | unit | rill | " + " | ".join(peers) + " | rill / best | over rounds | of least |")
    print("|---|---|" + "---:|" * (len(peers) + 4))
    for row in rows: print("| " + " | ".join(row) + " |")
    if alone:
        print("\nCases without a peer:\n\n| case | unit | rill |\n|---|---|---:|")
        for case, unit, ns in alone: print(f"| {case} | {unit} | {number(ns)} ns |")
    memory_table(lines, ["variables", "arena"], ["variables", "arena"],
                 "Memory of a training step, in bytes: the peak counted by the allocator, and the minimum that must be alive at once "
                 "(variables, feeds, results, and the maximum of the plan's intermediate values at one instruction).")
    memory_table(lines, ["each"], ["an iteration"],
                 "Memory of a loop and its gradient, in bytes: the peak, the minimum (fed and fetched values, and the values that the "
                 "derivative reads), and the bytes that each iteration adds to the peak.")
    for line in lines:
        if "error" in line: print(f"{line['case']}: {line['error']}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
