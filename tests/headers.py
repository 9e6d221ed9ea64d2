#!/usr/bin/env python3
"""headers.py PREFIX…: the headers of rill that include nothing beginning with one of the prefixes, one a line.

CMake asks for those that can be compiled here, the prefixes being those of packages that it did not find.
"""
import sys

from includes import closure, headers

missing = tuple(sys.argv[1:])
for header in headers():
    if not missing or not any(what.startswith(missing) for what in closure(header)):
        print(header)
