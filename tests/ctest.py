#!/usr/bin/env python3
"""ctest.py PRESET [ARGUMENT…]: runs ctest, and tries tests again whose assertions failed.

A test that fails once and then passes is a fault of its own: it, or what it tests, depends on time, on load or on the
order of threads. It is not worth the whole run, though. So at most three tests whose assertions failed are run again,
each alone. If they pass, the run passes, and `unsteady: NAME` is printed for each. A test that ended by a signal, was out
of time, or about which a sanitizer has said something is never tried again.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

MOST = 3
ENDED = re.compile(r" *\d+/\d+ Test +#\d+: (\S+) \.*\*\*\*Failed ")
ASSERTION = re.compile(r"^\[  FAILED  \]|^AssertionError|^FAILED \(failures=", re.M)
NOT_AGAIN = re.compile(r"AddressSanitizer|LeakSanitizer|ThreadSanitizer|^SUMMARY: |runtime error: |The test is out of time", re.M)


def run(preset, report, arguments):
    """Runs ctest; returns its exit code, and the names of the tests that ended by themselves, with an exit code."""
    ended = set()
    command = ["ctest", "--preset", preset, "--output-junit", report, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as ctest:
        for line in ctest.stdout:
            print(line, end="", flush=True)
            if found := ENDED.match(line):  # the report does not tell a signal from an exit code
                ended.add(found[1])
    return ctest.returncode, ended


def failures(report, ended):
    """The tests that failed, each with whether it is one to try again; nothing if ctest wrote no report."""
    if not report.exists():
        return []
    cases = [case for case in xml.parse(report).getroot().iter("testcase") if case.get("status") == "fail"]
    return [(case.get("name"), case.get("name") in ended and is_assertion(case)) for case in cases]


def is_assertion(case):
    output = case.findtext("system-out") or ""
    return ASSERTION.search(output) is not None and NOT_AGAIN.search(output) is None


def exactly(name):
    return "^" + re.sub(r"([.+*?()\[\]^$|\\])", r"\\\1", name) + "$"


def passes(preset, name):
    done = subprocess.run(["ctest", "--preset", preset, "--tests-regex", exactly(name)], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name} fails again:", *(line for line in done.stdout.splitlines() if " tests passed, " not in line), sep="\n")
    return done.returncode == 0


def main():
    preset, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        code, ended = run(preset, report, arguments)
        failed = failures(report, ended)
    if code == 0 or not 0 < len(failed) <= MOST or not all(again for _, again in failed):
        return code
    if not all(passes(preset, name) for name, _ in failed):
        return code
    for name, _ in failed:
        print(f"unsteady: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
