#!/usr/bin/env python3
"""examples.py PROGRAM: tries the program of examples/digits.cpp as a user does: its options, its files, its words."""
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
DATA = pathlib.Path(__file__).resolve().parent.parent / "examples/data/digits.csv"


def run(*words, code=0, cwd=None):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, cwd=cwd)
    assert done.returncode == code, f"{words}: exit code {done.returncode}, expected {code}\n{done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def accuracy(output):
    return float(re.search(r"Test accuracy ([0-9.]+)", output)[1])


class Digits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.place = pathlib.Path(self.folder.name)

    def test_learns_by_default(self):
        output = run(cwd=self.place)
        self.assertGreater(accuracy(output), 0.96)
        for words in ("1437 digits of 8x8 pixels", "epoch 20/20", "taken for", "digits-conv/checkpoint-000020"):
            self.assertIn(words, output)

    def test_a_resumed_run_has_the_bits_of_one_that_was_never_stopped(self):
        for words in (["whole", "--epochs", 4], ["parts", "--epochs", 2], ["parts", "--epochs", 4, "--resume"]):
            output = run("--model", "mlp", "--threads", len(words) % 2 + 1, "--checkpoints", self.place / words[0], *words[1:])
        self.assertIn("Resuming from", output)
        self.assertNotIn("epoch  2/4", output)
        file = "checkpoint-000004-00001-of-00001.safetensors"
        self.assertEqual((self.place / "whole" / file).read_bytes(), (self.place / "parts" / file).read_bytes())

    def test_shows_progress_in_a_terminal(self):
        try:
            ours, theirs = pty.openpty()
        except OSError as why:
            self.skipTest(f"no terminal can be opened here: {why}")
        child = subprocess.Popen([PROGRAM, "--model", "linear", "--epochs", "2"], stdout=theirs, cwd=self.place)
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:
            pass  # the terminal's other end is closed
        os.close(ours)
        self.assertEqual(child.wait(), 0)
        self.assertIn(b"\r" + b"epoch  1/2  [", seen)
        self.assertIn(b"[##############################]", seen)

    def idx(self, name, code, extents, data):
        path = self.place / name
        path.write_bytes(bytes([0, 0, code, len(extents)]) + b"".join(struct.pack(">I", e) for e in extents) + bytes(data))
        return path

    def test_takes_files_as_mnist_has_them(self):
        rows = [list(map(int, line.split(","))) for line in DATA.read_text().split()][:400]
        large = [255 * row[y // 4 * 8 + x // 4] // 16 if y < 32 and x < 32 else 0 for row in rows for y in range(28) for x in range(28)]
        images = self.idx("images", 8, (len(rows), 28, 28), large)
        labels = self.idx("labels", 8, (len(rows),), [row[64] for row in rows])
        output = run("--images", images, "--labels", labels, "--epochs", 8, "--model", "mlp", cwd=self.place)
        self.assertIn("320 digits of 28x28 pixels", output)
        self.assertGreater(accuracy(output), 0.8)
        odd = self.idx("odd", 8, (1, 9, 9), [0] * 81)
        one = self.idx("one", 8, (1,), [3])
        bad = self.idx("bad", 8, (len(rows),), [11] * len(rows))
        self.assertIn("images of 9x9 pixels", run("--images", odd, "--labels", one, code=2))
        self.assertIn("images [n, height, width]", run("--images", images, "--labels", one, code=2))
        self.assertIn("expected labels from 0 to 9", run("--images", images, "--labels", bad, code=2))

    def test_refuses_what_it_can_not_do(self):
        for words, expected in (
            (["--model", "big"], "--model: expected conv, mlp or linear, got 'big'"),
            (["--epochs", "0"], "--epochs: expected a number from 1 on, got '0'"),
            (["--threads", "two"], "--threads: expected a number from 1 on, got 'two'"),
            (["--seed"], "--seed: expected an argument"),
            (["--fast"], "unknown option '--fast'"),
            (["--images", "x"], "--images and --labels must be given together"),
            (["--images", "x", "--labels", "y", "--data", "z"], "one source of digits, got two"),
            (["--images", "x", "--labels", "y"], "cannot open 'x'"),
            (["--data", "nowhere.csv"], "cannot open 'nowhere.csv'"),
            (["--data", PROGRAM], "line 1"),
            (["--resume"], "found no checkpoint in 'digits-conv'"),
        ):
            self.assertIn(expected, run(*words, code=2, cwd=self.place))
        self.assertFalse(any(self.place.iterdir()))
        run("--model", "linear", "--epochs", 1, "--checkpoints", "c", cwd=self.place)
        self.assertIn("has no tensor", run("--resume", "--checkpoints", "c", cwd=self.place, code=2))
        self.assertIn("--resume", run("--help"))


if __name__ == "__main__":
    unittest.main()
