#!/usr/bin/env python3
"""format.py CLANG_FORMAT: fails if a file of rill's would be formatted otherwise. `--fix` formats them all."""
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
files = sorted(str(path) for folder in ("include", "tests", "bench", "examples") for path in (root / folder).rglob("*")
               if path.suffix in (".hpp", ".ipp", ".cpp"))
mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror"]
sys.exit(subprocess.run([sys.argv[1], "--style=file", *mode, *files]).returncode)
