"""What the headers of include/rill, and their parts, include. Used by floors.py and headers.py."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent / "include"
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def headers():
    """All headers, as they are included: rill/…"""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "rill").rglob("*.hpp"))


def parts():
    """All headers, and the parts that some of them end with: rill/….ipp, which have no meaning alone."""
    return sorted([*headers(), *(str(path.relative_to(ROOT)) for path in (ROOT / "rill").rglob("*.ipp"))])


def includes(header):
    """(line, what) for each include in a header."""
    for number, line in enumerate((ROOT / header).read_text().splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found[1]


def closure(header, seen=None):
    """All that a header includes, through other headers of rill too."""
    seen = set() if seen is None else seen
    for _, what in includes(header):
        if what not in seen:
            seen.add(what)
            if (ROOT / what).is_file():
                closure(what, seen)
    return seen
