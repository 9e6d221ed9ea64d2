#!/usr/bin/env python3
"""Fails if a header of include/rill includes one from a higher floor or from another folder of its own floor, or if it
asks what a unit holds (RILL_RUNTIME and the like) before rill/base/config.hpp has said that: such a header leaves its
definitions out, unless others come before it. And if it has a part of the run time that is in neither of the library's
units with the run time, which CMakeLists.txt writes, for then nothing defines it there."""
import re
import sys

from includes import ROOT, closure, headers, includes

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


CONFIG = "rill/base/config.hpp"
ASKED = re.compile(r"^(#if.*\bRILL_((IO_)?RUNTIME|DEFINITIONS|KERNELS|COMPILED)\b|RILL_(IO_)?INLINE\b)")


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
UNITS = {"RILL_RUNTIME": "rill_write_runtime", "RILL_IO_RUNTIME": "rill_write_io_runtime"}


def outside_of_run_time(mark):
    """Headers with a part of the run time that its unit does not see."""
    function = re.search(rf"function\({UNITS[mark]} .*?endfunction", (ROOT.parent / "CMakeLists.txt").read_text(), re.S)
    seen = set().union(*({header} | closure(header) for header in re.findall(r"^#include <(rill/.*)>$", function[0], re.M)))
    return [header for header in headers() if header not in seen and header != CONFIG and
            re.search(rf"^#if.*\b{mark}\b", (ROOT / header).read_text(), re.M)]


def main():
    complaints = [f"include/{header}:{line}: {why}" for header in headers() for line, what in includes(header)
                  if what.startswith("rill/") and (why := complaint(header, what))]
    complaints += [f"include/{header}:{line}: this is asked before {CONFIG} is included" for header in headers()
                   if (line := asks_too_early(header))]
    complaints += [f"include/{header}: it has a part of {mark}, and the unit of {function} does not see it"
                   for mark, function in UNITS.items() for header in outside_of_run_time(mark)]
    print("\n".join(complaints) or f"{len(headers())} headers keep to their floors")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
