#!/usr/bin/env python3
"""resources.py FILE: prints Markdown tables of what kernels need of a GPU. The tests *is_compiled_by_nvrtc write FILE:

  RILL_KERNEL_TABLE=FILE build-work/tests/test_cuda --gtest_filter='*nvrtc*'

The first table has, for each kernel of a suite, the most that any of its texts needs; the second all texts whose
registers are spilled."""
import collections
import re
import sys

KINDS = (80, 90, 100)
NUMBERS = ("registers", "stack", "spill_stores", "spill_loads", "shared")
Text = collections.namedtuple("Text", ("suite", "kernel", "of", "kind", *NUMBERS, "version"))
KERNEL = re.compile(r"""Compiling\ entry\ function\ '(\w+_)([0-9a-f]{16})'.*?
    Function\ properties\ for\ \1\2\n[^\n]*?(\d+)\ bytes\ stack\ frame,\ (\d+)\ bytes\ spill\ stores,\ (\d+)\ bytes\ spill\ loads
    .*?Used\ (\d+)\ registers([^\n]*)""", re.VERBOSE | re.DOTALL)


def read(path):
    """Reads programs: a line each for the program and for its texts, by the ends of their kernels' names, and what ptxas says."""
    texts = set()  # a file to which several runs were appended has lines twice
    for program in open(path).read().split("program\t")[1:]:
        head, *lines = program.splitlines()
        suite, kind, version = head.split("\t")
        of = dict(line.split("\t")[1:] for line in lines if line.startswith("text\t"))
        for kernel, mark, stack, stores, loads, registers, rest in KERNEL.findall(program):
            shared = re.search(r"(\d+) bytes smem", rest)
            texts.add(Text(suite.split("/")[-1], kernel[:-1], of["_" + mark], int(kind), int(registers), int(stack), int(stores),
                           int(loads), int(shared[1]) if shared else 0, f"{int(version) // 1000}.{int(version) % 1000 // 10}"))
    return sorted(texts)


def most(texts, number):
    """Returns the largest number for each kind of GPU, or one if they are the same."""
    by_kind = [str(max((getattr(text, number) for text in texts if text.kind == kind), default="–")) for kind in KINDS]
    return by_kind[0] if len(set(by_kind)) == 1 else " / ".join(by_kind)


def spills(text):
    return text.spill_stores + text.spill_loads > 0


def grouped(texts, key):
    groups = collections.defaultdict(list)
    for text in texts:
        groups[key(text)].append(text)
    return groups.items()


def row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |")


def print_kernels(texts):
    row("suite", "kernel", "texts", "registers", "stack", "spill stores", "spill loads", "shared memory")
    print("|---|---|" + "---:|" * 6)
    for (suite, kernel), of_kernel in grouped(texts, lambda text: (text.suite, text.kernel)):
        row(suite, kernel, len({text.of for text in of_kernel}), *(most(of_kernel, number) for number in NUMBERS))


def print_spilling(texts):
    if not any(map(spills, texts)):
        print("\nNo kernel spills registers.")
        return
    print("\nThe texts whose registers are spilled:\n")
    row("suite", "kernel", "of", "registers", "spill stores", "spill loads")
    print("|---|---|---|" + "---:|" * 3)
    for (suite, kernel, of), kinds in grouped(texts, lambda text: text[:3]):
        if any(map(spills, kinds)):
            row(suite, kernel, of, *(most(kinds, number) for number in ("registers", "spill_stores", "spill_loads")))


def main(path):
    texts = read(path)
    versions = ", ".join(sorted({text.version for text in texts}))
    print(f"{len({text[:3] for text in texts})} kernels, {len(texts)} reports of ptxas, by NVRTC {versions}. Numbers are the largest "
          f"for {', '.join(f'sm_{kind}' for kind in KINDS)}, or one number where they are the same. All but registers are "
          "bytes: those of stack and spills for a thread, those of shared memory for a block.\n")
    print_kernels(texts)
    print_spilling(texts)


if __name__ == "__main__":
    main(*sys.argv[1:])
