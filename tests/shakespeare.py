#!/usr/bin/env python3
"""shakespeare.py PROGRAM: tries the program of examples/shakespeare.cpp as a user does, for a moment."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, f"{words}: exit code {done.returncode}, expected {code}\n{done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr


class Shakespeare(unittest.TestCase):
    def test_learns_and_writes(self):
        output = run("--steps", 110, "--sample", 80, "--threads", 1)
        self.assertIn("65 different ones", output)
        bits = [float(b) for b in re.findall(r"([0-9.]+) bits per character", output)]
        self.assertEqual(len(bits), 3)  # after 100 steps, after 110, and of what was held out
        self.assertLess(bits[1], bits[0])
        self.assertLess(bits[2], 4)
        self.assertGreater(len(output.split("Sample:\n\n")[1]), 79)

    def test_is_the_same_on_any_number_of_threads(self):
        first, second = (run("--steps", 5, "--sample", 30, "--threads", n) for n in (1, 2))
        self.assertEqual(first, second)

    def test_refuses_what_it_can_not_do(self):
        with tempfile.TemporaryDirectory() as folder:
            short = pathlib.Path(folder) / "short.txt"
            short.write_text("To be.")
            for words, expected in (
                (["--steps", "0"], "--steps: expected a number from 1 on"),
                (["--steps"], "--steps: expected a known option with an argument"),
                (["--fast", "1"], "unknown option --fast"),
                (["--text", "nowhere.txt"], "got 'nowhere.txt'"),
                (["--text", short], "expected a text of at least 1,000 characters"),
            ):
                self.assertIn(expected, run(*words, code=1))
        self.assertIn("--minutes", run("--help"))


if __name__ == "__main__":
    unittest.main()
