#!/usr/bin/env python3
"""Fails if an operation of the library is not in the list of operations: rill::compiled would not hold it.

An operation belongs to the library if its struct says `using library = void;`.
"""
import re
import sys

from includes import ROOT, headers

text = re.sub(r"//.*", "", (ROOT / "rill/ops/list/operations.hpp").read_text())
listed = set(re.findall(r"\bops::(\w+)", text))
missing = []
for header in headers():
    for name, body in re.findall(r"^struct (\w+)\b[^;{]*\{(.*?)^\};", (ROOT / header).read_text(), re.M | re.S):
        if re.search(r"using library = void;", body) and name not in listed:
            missing.append(f"include/{header}: {name} is not in include/rill/ops/list/operations.hpp")
print("\n".join(missing) or f"{len(listed)} operations are listed")
sys.exit(1 if missing else 0)
