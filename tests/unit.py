#!/usr/bin/env python3
"""Joins test files to one that is compiled in a quarter of their time: unit.py RESULT FILE...

What most of them instantiate is instantiated once. The files keep what they have to themselves: their includes come first,
in order, and each unnamed namespace lies in a named one of its file, but for one at the top that a namespace below it uses.
Names of files and lines in errors are those of the files.
"""

import os
import pathlib
import re
import sys

name_of_a_header = re.compile(r'<.*>|\.h(pp)?"')
tests = pathlib.Path(__file__).resolve().parent


def include_of(line, folder):
    """The include as the joined file has it: a path beside the test becomes one from tests/, which compilers search."""
    name = line.split('"')[1] if '"' in line else ""
    beside = (folder / name).resolve() if name else None
    if beside and beside.is_file():
        return f'#include "{os.path.relpath(beside, tests)}"'
    return line.rstrip()


def split(path):
    """The headers that a file includes under no condition, and its lines without them."""
    own = "unit_" + re.sub(r"\W", "_", path.relative_to(tests).with_suffix("").as_posix())
    text = path.read_text()
    includes, lines, depth = [], [], 0
    inside = alone = not re.search(r"^namespace \w", text, re.MULTILINE)
    for line in text.splitlines():
        if line.startswith(("#if", "#endif")):
            depth += 1 if line.startswith("#if") else -1
        if line.startswith("#include"):
            found = include_of(line, path.parent)
            if depth == 0 and name_of_a_header.search(found):
                includes.append(found)
                found = ""
            line = found
        elif line.startswith("namespace ") and line != "namespace {":
            inside = True
        elif line.startswith("}  // namespace "):
            inside = alone
        elif inside and line == "namespace {":
            line = f"namespace {own} {{ namespace {{"
        elif inside and line == "}  // namespace":
            line = "}}"
        lines.append(line)
    return includes, lines


def join(paths):
    includes, text = {}, ""
    for path in paths:
        own, lines = split(path)
        includes.update(dict.fromkeys(own))
        text += f'#line 1 "tests/{path.relative_to(tests).as_posix()}"\n' + "\n".join(lines) + "\n"
    return "\n".join(includes) + "\n" + text


if __name__ == "__main__":
    result = pathlib.Path(sys.argv[1])
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(join([pathlib.Path(f).resolve() for f in sys.argv[2:]]))
