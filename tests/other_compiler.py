#!/usr/bin/env python3
"""other_compiler.py OTHER OWN LIBRARY INCLUDE: fails unless a program of one compiler is refused by the linker where the
library is of another, with the name that the guide gives, and only there."""
import subprocess
import sys
import tempfile

PROGRAM = """#include <rill/ops/math/arithmetic.hpp>
int main() {
  rill::graph g;
  auto const one = rill::constant(g, 1.f);
  return static_cast<int>((one + one).type().rank);
}
"""
other, own, library, include = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    for compiler in (own, other):
        done = subprocess.run([compiler, "-std=c++20", "-DRILL_COMPILED=1", f"-I{include}", "-x", "c++", "-", "-x", "none",
                               library, "-pthread", "-o", f"{folder}/program"], input=PROGRAM, text=True,
                              stderr=subprocess.PIPE)
        if compiler == own and done.returncode != 0:
            sys.exit(f"{own}: the program does not link:\n{done.stderr}")
    if done.returncode == 0 or "undefined reference to `rill::detail::record[abi:" not in done.stderr:
        sys.exit(f"{other}: a library of {own}'s was taken, or refused with other words:\n{done.stderr}")
print(f"a program of {other}'s and a library of {own}'s don't link")
