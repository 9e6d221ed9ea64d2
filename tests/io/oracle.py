"""What the comparisons with other programs share: rill reads and writes through tests of the test program, whose path is
the script's first argument."""
import os
import subprocess
import sys


def run(test, **files):
    """Whether the test program has the test, which must then pass; its environment names the files."""
    environment = dict(os.environ, **{name: str(path) for name, path in files.items()})
    done = subprocess.run([sys.argv[1], "--gtest_filter=" + test, "--gtest_brief=1"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout)
    return "1 test from" in done.stdout
