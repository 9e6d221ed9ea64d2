#!/usr/bin/env python3
"""suites.py PROGRAM [FILTER] [-- COMMAND…]: runs each suite of a GoogleTest program in a process of its own, under a command
if one is given, and says how each ended. After an error in a kernel, CUDA refuses whatever else the process asks for; so
the suites behind one that fails still tell something.
"""
import re
import subprocess
import sys
import time


def suites(program, chosen):
    """Returns the names of the tests that the filter names, by suite."""
    done = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={chosen}"], stdout=subprocess.PIPE, text=True,
                          check=True)
    found = {}
    for line in done.stdout.splitlines():
        name = line.split("#")[0].strip()
        if line[:1].isspace():
            suite.append(name)
        elif name.endswith("."):
            suite = found.setdefault(name[:-1], [])
    return found


def count(output, what):
    said = re.search(rf"^\[ +{what} +\] (\d+) test", output, re.MULTILINE)
    return int(said[1]) if said else 0


def run(program, suite, tests, command):
    """Runs a suite, and returns whether it succeeded, and a line about it."""
    begin = time.monotonic()
    chosen = ":".join(f"{suite}.{test}" for test in tests)
    done = subprocess.run([*command, program, f"--gtest_filter={chosen}"], text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    passed, skipped = count(done.stdout, "PASSED"), count(done.stdout, "SKIPPED")
    good = done.returncode == 0 and passed + skipped == len(tests)
    if not good:
        print(done.stdout)
    took = f"{time.monotonic() - begin:.0f} s"
    if good and not passed:
        return good, f"skipped {suite}: {skipped} tests"
    word = "passed " if good else "FAILED "
    said = f"{passed} of {len(tests)} tests passed" + (f", {skipped} skipped" if skipped else "")
    code = "" if good else f", code {done.returncode}"
    return good, f"{word} {suite}: {said} ({took}{code})"


def main(words):
    at = words.index("--") if "--" in words else len(words)
    command = words[at + 1:]
    program, chosen = (words[:at] + ["*"])[:2]
    found = suites(program, chosen)
    if not found:
        print(f"no test has a name like {chosen}")
        return 1
    failed = []
    for suite, tests in found.items():
        good, said = run(program, suite, tests, command)
        print(said, flush=True)
        if not good:
            failed.append(suite)
    end = f", of which {len(failed)} failed: {', '.join(failed)}" if failed else ", none failed"
    print(f"{len(found)} suites{end}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
