#!/usr/bin/env python3
"""must_not_compile.py FILE COMPILER OPTION…: fails unless the compiler refuses the file for the reason it names.

The file's first line is `// expect: WORDS`: what the compiler must print, in one piece; there may be several such
lines. With VALID defined the file must compile, so that nothing else is wrong with it; CMakeLists.txt puts all of them
into one program for that:

    // expect: the columns of the first are not the rows of the second
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
    missing = [words for words in expected if words not in done.stdout]
    if missing:
        return f"{done.stdout}\nthe compiler does not say: " + "; ".join(missing)
    print("\n".join(line for line in done.stdout.splitlines() if any(words in line for words in expected)))
    return None


if __name__ == "__main__":
    sys.exit(main())
