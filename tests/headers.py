#!/usr/bin/env python3
"""The headers of rill as CMake compiles them, without those that include anything beginning with one of the prefixes:
the packages that CMake did not find.

    headers.py all PREFIX…        all of them, one a line
    headers.py compiled PREFIX…   files that show that each compiles alone, with the library: the headers of one, a line
    headers.py rill PREFIX…       the same without the library, for headers that then hold more themselves

One file shows it for many headers: it includes each of them after nothing but what that header itself includes, so each
sees what it would see alone. So the headers of a file are a chain, of which each includes, directly or not, those before
it. There are as few chains as there can be (Dilworth's theorem, by a largest matching of headers with the next).
"""
import re
import sys

from includes import INCLUDE, ROOT, closure, headers

HOLDS = re.compile(r"#\s*if (RILL_(DEFINITIONS|KERNELS|RUNTIME|IO_RUNTIME|NET_RUNTIME|CUDA_RUNTIME)( \|\| )?)+$")  # true without the library
ASKS = re.compile(r"^ *# *if.*RILL_", re.M)


def surely_included(header, with_library):
    """What a header of rill includes whatever is defined beside what the library's target defines."""
    conditions = []
    for line in map(str.strip, (ROOT / header).read_text().splitlines()):
        if re.match(r"#\s*if", line):
            conditions.append(not with_library and HOLDS.match(line) is not None)
        elif re.match(r"#\s*el", line):
            conditions[-1] = False
        elif re.match(r"#\s*endif", line):
            conditions.pop()
        elif (found := INCLUDE.match(line)) and all(conditions) and (ROOT / found[1]).is_file():
            yield found[1]


def chains(names, with_library):
    """The names, each once, in lists of which each includes all before it."""
    direct, below = {}, {}
    for header in names:
        below[header], left = set(), [header]
        while left:
            at = left.pop()
            if at not in direct:
                direct[at] = list(surely_included(at, with_library))
            new = set(direct[at]) - below[header]
            below[header] |= new
            left += new
    above = {header: [other for other in names if header in below[other] and other not in below[header]]
             for header in names}
    before = {}  # the header that stands before one in its chain

    def give_next(header, seen):
        for other in above[header]:
            if other not in seen:
                seen.add(other)
                if other not in before or give_next(before[other], seen):
                    before[other] = header
                    return True
        return False

    for header in names:
        give_next(header, set())
    for top in sorted(set(names) - set(before.values())):
        chain = [top]
        while chain[0] in before:
            chain.insert(0, before[chain[0]])
        yield chain


def main():
    what, *missing = sys.argv[1:]
    found = [header for header in headers()
             if not missing or not any(other.startswith(tuple(missing)) for other in closure(header))]
    if what == "all":
        print("\n".join(found))
        return
    if what == "rill":
        found = [header for header in found if ASKS.search((ROOT / header).read_text())]
    for chain in chains(found, what == "compiled"):
        print(*chain)


if __name__ == "__main__":
    main()
