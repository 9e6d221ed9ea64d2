#!/usr/bin/env python3
"""must_not_compile.py FILE COMPILER OPTION…: fails unless the compiler refuses the file for the reason it names, in its
first line that says `error:`, and with no more than 12 lines in all.

The file's first line is `// expect: WORDS`: what that line must say, in one piece; there may be several such lines.
The pieces that a sentence is cut into for clang (rill/dsl/shape_error.hpp) are joined first. With VALID defined the file must
compile, so that nothing else is wrong with it; CMakeLists.txt puts all of them into one program for that:

    // expect: matmul(float32[3, 4], float32[2, 3]): the columns of the first are not the rows of the second: 4 against 2
    #include <rill/rill.hpp>
    void f(rill::expr<rill::of<float, 2, 3>> a, rill::expr<rill::of<float, 3, 4>> b) {
    #ifdef VALID
      rill::matmul(a, b);
    #else
      rill::matmul(b, a);
    #endif
    }
"""
import re
import subprocess
import sys

MOST_LINES = 12


def first_error(output):
    """The first line that says `error:`, the pieces of a sentence in it joined; empty if there is none."""
    line = next((line for line in output.splitlines() if "error:" in line), "")
    return line.replace('", {"', "").replace("\\'", "'")


def main():
    path, *command = sys.argv[1:]
    expected = []
    for line in open(path, encoding="utf-8"):
        if not (found := re.match(r"// expect: (.+)", line)):
            break
        expected.append(found[1].strip())
    if not expected:
        return f"{path} does not begin with a line `// expect: WORDS`"
    done = subprocess.run([*command, "-fsyntax-only", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        return "the file compiles, and should not"
    first = first_error(done.stdout)
    missing = [words for words in expected if words not in first]
    if missing:
        return f"{done.stdout}\nthe compiler's first error does not say: " + "; ".join(missing)
    lines = len(done.stdout.splitlines())
    if lines > MOST_LINES:
        return f"{done.stdout}\nthe compiler says {lines} lines, more than {MOST_LINES}"
    print(first)
    return None


if __name__ == "__main__":
    sys.exit(main())
