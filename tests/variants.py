#!/usr/bin/env python3
"""variants.py NM READELF OBJECT…: fails unless each merged object of kernels is closed.

An object built for one kind of processor may give the linker nothing but its table. Any other global symbol, or a group
of sections of which linkers keep one copy, could bring its instructions into parts that run on every processor.
Kernels throw nothing and register nothing to run at exit.
"""
import pathlib
import subprocess
import sys


def lines(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def complaints(nm, readelf, path):
    table = pathlib.Path(path).stem
    defined = [line.split()[-1] for line in lines(nm, "--extern-only", "--defined-only", path) if line]
    if defined != [table]:
        yield f"global symbols beside {table}: " + ", ".join(name for name in defined if name != table)
    if not any("no section groups" in line for line in lines(readelf, "--section-groups", "--wide", path)):
        yield "there are section groups in it"
    undefined = {line.split()[-1] for line in lines(nm, "--undefined-only", path) if line}
    for name, what in [("__cxa_throw", "throws"), ("__cxa_atexit", "registers a destructor"),
                       ("atexit", "registers a function to run at exit")]:
        if name in undefined:
            yield f"something in it {what} ({name})"


def main():
    nm, readelf, *objects = sys.argv[1:]
    found = [f"{path}: {why}" for path in objects for why in complaints(nm, readelf, path)]
    print("\n".join(found) or f"{len(objects)} objects give nothing away but their tables")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
