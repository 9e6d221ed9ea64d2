#!/usr/bin/env python3
"""Fails if a header of include/rill includes one from a higher floor or from another folder of its own floor, or if it
asks what a unit holds (RILL_RUNTIME and the like) before rill/base/config.hpp has said that: such a header leaves its
definitions out, unless others come before it. And if it has a part of the run time that is in none of the library's
units with the run time, which CMakeLists.txt writes, for then nothing defines it there. And if headers include each other in a
circle, or sub-folders of one folder do. And if a header outside of net/ includes a library that net/ alone may."""
import re
import sys

from includes import ROOT, closure, headers, includes, parts

FLOORS = [["base"], ["type"], ["tensor"], ["state", "io"], ["device"], ["program"], ["graph"], ["dsl"], ["ops"],
          ["grad", "pass", "place"], ["run"], ["net", "cuda", "trace"], ["train"]]
FLOOR_OF = {folder: number for number, folders in enumerate(FLOORS) for folder in folders}


def folder_of(header):
    """`ops` for rill/ops/math/exp.hpp; None for the headers that are asked for by name, rill/io.hpp: above all floors."""
    parts = header.split("/")
    return parts[1] if len(parts) > 2 else None


# These are below every floor although they lie beside the headers that are above them.
GROUND = {"rill/version.hpp"}


def complaint(header, what):
    own, other = folder_of(header), folder_of(what)
    if what in GROUND or own is None:
        return None
    if own not in FLOOR_OF:
        return f"the folder {own} is on no floor: give it one in tests/floors.py and docs/architecture.md"
    if other is None:
        return f"{own} includes {what}, which stands above all floors"
    if other not in FLOOR_OF or own == other:
        return None
    if FLOOR_OF[own] < FLOOR_OF[other]:
        return f"{own} (floor {FLOOR_OF[own]}) includes {what} of floor {FLOOR_OF[other]}"
    if FLOOR_OF[own] == FLOOR_OF[other]:
        return f"{own} and {other} are on the same floor, and {what} is included"
    if own == "train" and FLOOR_OF[other] == 11:
        return f"train includes {what}: it must not need floor 11"
    return None


# The libraries that one folder alone includes.
LIBRARIES = {"asio": "net", "openssl": "net", "ucp": "net", "ucs": "net", "uct": "net"}


def foreign(header, what):
    """Why a header may not include a library's header, or None."""
    library = re.split(r"[/.]", what)[0]
    home = LIBRARIES.get(library)
    return None if home in (None, folder_of(header)) else f"{home} alone may include {library}, and {what} is included"


CONFIG = "rill/base/config.hpp"
ASKED = re.compile(r"^(#if.*\bRILL_(((IO|NET|CUDA)_)?RUNTIME|DEFINITIONS|KERNELS|COMPILED)\b|RILL_((IO|NET|CUDA)_)?INLINE\b)")


def asks_too_early(header):
    """The line on which a header asks what no header above has said, or None."""
    lines = (ROOT / header).read_text().splitlines()
    asked = next((number for number, line in enumerate(lines, 1) if ASKED.match(line)), None)
    if asked is None or header == CONFIG:
        return None
    above = [what for line, what in includes(header) if line < asked]
    said = any(CONFIG == what or ((ROOT / what).is_file() and CONFIG in closure(what)) for what in above)
    return None if said else asked


# What marks a part of the run time, and the function of CMakeLists.txt that writes the unit which defines it.
UNITS = {"RILL_RUNTIME": "rill_write_runtime", "RILL_IO_RUNTIME": "rill_write_io_runtime",
         "RILL_NET_RUNTIME": "rill_write_net_runtime", "RILL_CUDA_RUNTIME": "rill_write_cuda_runtime"}


def outside_of_run_time(mark):
    """Headers with a part of the run time that its unit does not see."""
    function = re.search(rf"function\({UNITS[mark]} .*?endfunction", (ROOT.parent / "CMakeLists.txt").read_text(), re.S)
    seen = set().union(*({header} | closure(header) for header in re.findall(r"^#include <(rill/.*)>$", function[0], re.M)))
    return [header for header in parts() if header not in seen and header != CONFIG and
            re.search(rf"^#if.*\b{mark}\b", (ROOT / header).read_text(), re.M)]


def circles(edges):
    """The nodes of each circle of a graph, {node: nodes}: its strongly connected components of several (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            circle = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in list(edges):
        if node not in number:
            visit(node)
    return found


def included_in_circles():
    """Headers that include each other."""
    known = set(parts())
    edges = {header: [what for _, what in includes(header) if what in known] for header in known}
    return [f"these include each other: {', '.join(circle)}" for circle in circles(edges)]


def both_ways():
    """Two sub-folders of one folder, or a folder and its sub-folder, each of which includes from the other."""
    edges = {}
    for header in parts():
        for _, what in includes(header):
            own, other = header.rsplit("/", 1)[0], what.rsplit("/", 1)[0]
            if own != other and folder_of(header) == folder_of(what):
                edges.setdefault((own, other), f"include/{header} includes {what}")
    return [f"{own} and {other} include each other: {why}, {edges[other, own]}" for (own, other), why in edges.items()
            if own < other and (other, own) in edges]


def main():
    complaints = [f"include/{header}:{line}: {why}" for header in parts() for line, what in includes(header)
                  if what.startswith("rill/") and (why := complaint(header, what))]
    complaints += [f"include/{header}:{line}: {why}" for header in parts() for line, what in includes(header)
                   if (why := foreign(header, what))]
    complaints += [f"include/{header}:{line}: this is asked before {CONFIG} is included" for header in headers()
                   if (line := asks_too_early(header))]
    complaints += [f"include/{header}: it has a part of {mark}, and the unit of {function} does not see it"
                   for mark, function in UNITS.items() for header in outside_of_run_time(mark)]
    complaints += included_in_circles() + both_ways()
    print("\n".join(complaints) or f"{len(headers())} headers keep to their floors")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
