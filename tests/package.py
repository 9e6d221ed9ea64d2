#!/usr/bin/env python3
"""package.py WAY TARGET BUILD SCRATCH CMAKE COMPILER: builds a small outside project that uses rill, and runs its programs.

WAY is how the project finds rill (find_package and pkg_config: installed from BUILD; add_subdirectory and
fetch_content: the sources),
TARGET is rill (headers alone) or compiled. Ends with 77, skipped, where pkg-config is not there.
"""
import os
import pathlib
import shutil
import subprocess
import sys

way, target, build, scratch, cmake, compiler = sys.argv[1:]
ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTSIDE = ROOT / "tests" / "package"
folder = pathlib.Path(scratch) / f"{way}_{target}"
# A header of each component.
COMPONENTS = {"rill-eigen": "rill/eigen.hpp", "rill-codec": "rill/graph/codec.hpp", "rill-io": "rill/io.hpp",
              "rill-net": "rill/net.hpp", "rill-example": "rill/io/example.hpp", "rill-image": "rill/io/image.hpp",
              "rill-bench": "rill/bench.hpp"}
prefix = folder / "prefix"


def run(*command, **options):
    print("$", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=True, text=True, **options)


def install():
    """Into one place, then moved to another: an installed package may not know where it was made."""
    first = folder / "first"
    run(cmake, "--install", build, "--prefix", first, stdout=subprocess.DEVNULL)
    first.rename(prefix)


def build_with_cmake(*options):
    run(cmake, "-S", OUTSIDE, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DRILL_TARGET={target}", *options)
    run(cmake, "--build", folder / "build")
    programs = ["program", "files", "served"] if target == "compiled" else ["program"]
    return [path for path in (folder / "build" / program for program in programs) if path.exists()]


def find_package():
    install()
    return build_with_cmake("-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={prefix}")


def add_subdirectory(*options):
    """With no build type and one variant: that too must work, and it is the shortest to build."""
    return build_with_cmake(f"-DRILL_SOURCE={ROOT}", "-DRILL_VARIANTS=portable", "-DCMAKE_CXX_FLAGS=-O0", *options)


def fetch_content():
    return add_subdirectory("-DFETCH=1")


def pkg_config():
    if shutil.which("pkg-config") is None:
        print("pkg-config was not found")
        sys.exit(77)
    install()
    folders = ":".join(str(path) for path in prefix.rglob("pkgconfig"))
    package = "rill" if target == "rill" else "rill-compiled"

    def flags_of(*packages):
        return run("pkg-config", "--cflags", "--libs", *packages, env={**os.environ, "PKG_CONFIG_PATH": folders},
                   stdout=subprocess.PIPE).stdout.split()

    run(compiler, OUTSIDE / "main.cpp", *flags_of(package), "-o", folder / "program")
    for file in sorted(prefix.rglob("rill-*.pc")):
        header = COMPONENTS.get(file.stem)
        if header and target == "compiled":
            program = folder / f"{file.stem}.cpp"
            program.write_text(f"#include <{header}>\nint main() {{}}\n")
            run(compiler, program, *flags_of(package, file.stem), "-fsyntax-only")
    return [folder / "program"]


shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
for program in {"find_package": find_package, "add_subdirectory": add_subdirectory, "fetch_content": fetch_content,
                "pkg_config": pkg_config}[way]():
    run(program)
shutil.rmtree(folder)
