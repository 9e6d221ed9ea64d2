#!/usr/bin/env python3
"""other_compiler.py OWN LIBRARY INCLUDE [OTHER]: fails unless the linker refuses a program where the library is of another
compiler (OTHER), or has other containers or strings of the standard library, with a name that says so, and only there; and
unless the compiler refuses options by which numbers have other bits."""
import subprocess
import sys
import tempfile

RECORDS = """#include <rill/ops/math/arithmetic.hpp>
int main() {
  rill::graph g;
  auto const one = rill::constant(g, 1.f);
  return static_cast<int>((one + one).type().rank);
}
"""
READS = """#include <rill/io/npy.hpp>
int main() { return static_cast<int>(rill::read_npy("a.npy").rank()); }
"""
INCLUDES = "#include <rill/type/dtype.hpp>\nint main() {}\n"
LIBRARY = "rill::detail::library_of_the_same_compiler_and_GLIBCXX_DEBUG[abi:"
FAST = "-ffast-math, -Ofast and their parts"

own, library, include, *others = sys.argv[1:]


def expect(text, words, *command):
    """Ends the test unless the compiler or the linker refuses the text with these words; without words, unless it is taken."""
    command = [command[0], "-std=c++20", f"-I{include}", "-x", "c++", "-", *command[1:]]
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if (done.returncode == 0) == bool(words) or words not in done.stdout:
        sys.exit(f"{' '.join(command)}: expected '{words}', got:\n{done.stdout}")


with tempfile.TemporaryDirectory() as folder:
    program = ["-DRILL_COMPILED=1", "-o", f"{folder}/program", "-pthread", "-x", "none", library]
    for text in (RECORDS, READS, INCLUDES):
        expect(text, "", own, *program)
        for flag in ("-D_GLIBCXX_DEBUG", "-D_GLIBCXX_USE_CXX11_ABI=0"):
            expect(text, LIBRARY, own, flag, *program)
        for other in others:
            expect(text, LIBRARY, other, *program)
for compiler in (own, *others):
    for mode in ("-DRILL_COMPILED=1", "-DRILL_SEPARATE=1", "-DRILL_ALONE=1"):
        for flags in (["-ffast-math"], ["-O3", "-ffast-math"], ["-ffinite-math-only"]):
            expect(INCLUDES, FAST, compiler, "-fsyntax-only", mode, *flags)
        expect(INCLUDES, "", compiler, "-fsyntax-only", mode, "-ffast-math", "-fno-fast-math", "-fno-math-errno")
print("only programs that are compiled as the library is link with it, and -ffast-math is refused")
