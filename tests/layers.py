#!/usr/bin/env python3
"""layers.py PROGRAM: runs the program of examples/layers.cpp as one process, and as two with a layer each."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
STEPS = 5
ALONE = {name: value for name, value in os.environ.items() if not name.startswith("RILL_")}


def start(*words, **variables):
    return subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**ALONE, **variables})


class Layers(unittest.TestCase):
    def end(self, process, code=0):
        output, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, errors)
        return output if code == 0 else errors

    def test_on_two_processes_have_the_bits_of_one(self):
        losses = self.end(start("--steps", STEPS))
        self.assertEqual(len(re.findall(r"nats per character", losses)), STEPS)
        with tempfile.TemporaryDirectory() as folder:
            cluster = f"worker=unix:{folder}/0,unix:{folder}/1"
            upper = start(RILL_CLUSTER=cluster, RILL_TASK="worker:1")
            try:
                output = self.end(start("--steps", STEPS, RILL_CLUSTER=cluster, RILL_TASK="worker:0"))
                upper.send_signal(signal.SIGTERM)
                self.end(upper)
            finally:
                upper.kill()
                upper.communicate()
        self.assertTrue(output.startswith(losses), f"{losses}\nbecame\n{output}")
        # An iteration sends the lower layer's outputs up, and their derivatives come back.
        self.assertGreater(int(re.search(r"(\d+) messages", output)[1]), STEPS * 32)

    def test_refuse_what_they_do_not_know(self):
        self.assertIn("--steps NUMBER", self.end(start("--fast"), code=2))


unittest.main()
