#!/usr/bin/env bash
# Makes the reference of rill's interface from the `///` comments, by Doxygen: docs/reference.sh [FOLDER]
# (build/reference). Fails on its warnings: comments that it can't read, and names without one that users call: those in
# namespace rill itself, and the members of what every program has in hands. Namespaces within rill are its own affair.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:-build/reference}
command -v doxygen >/dev/null || {
  echo "rill: doxygen was not found. Please install it: apt-get install doxygen" >&2
  exit 1
}
rm -rf "$folder"
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' '/// @namespace rill' '/// What users call.' >"$work/namespaces.hpp"

doxygen - >"$work/log" 2>"$work/warnings" <<END
PROJECT_NAME = rill
PROJECT_BRIEF = "Typed dataflow graphs in C++20"
INPUT = include/rill $work/namespaces.hpp README.md
USE_MDFILE_AS_MAINPAGE = README.md
RECURSIVE = YES
FILE_PATTERNS = *.hpp *.ipp README.md
EXTENSION_MAPPING = ipp=C++
STRIP_FROM_PATH = include
STRIP_FROM_INC_PATH = include
EXCLUDE_SYMBOLS = rill::detail rill::detail::*
OUTPUT_DIRECTORY = $folder
GENERATE_LATEX = NO
GENERATE_XML = YES
HAVE_DOT = NO
CLASS_GRAPH = NO
JAVADOC_AUTOBRIEF = YES
DISTRIBUTE_GROUP_DOC = YES
AUTOLINK_SUPPORT = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = RILL_INLINE= RILL_IO_INLINE= RILL_COMPILER= RILL_LIFETIMEBOUND=
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_IF_INCOMPLETE_DOC = NO
END

# Which names have no comment? Those of namespaces within rill are not meant; an overload goes with those beside it.
python3 - "$folder/xml" "$work/warnings" <<'END'
import re
import sys
import xml.etree.ElementTree as xml

folder, warnings = sys.argv[1:]
IN_HANDS = {"cancellation", "container", "error", "expr", "feed", "graph", "operation", "pass_options", "queue",
            "run_options", "saver", "session", "session_options", "shape", "tensor", "tensor_of", "type", "value"}


def text(element, kind):
    return "".join(element.find(kind).itertext()).strip()


def bare(element):
    return not text(element, "briefdescription") and not text(element, "detaileddescription")


def place(element):
    return "include/{file}:{line}".format(**element.find("location").attrib)


def bare_members(compound):
    """The public members without a comment, but for constructors, destructors and operators."""
    classes = [compound.find("compoundname"), *compound.iter("basecompoundref")]
    classes = {c.text.split("<")[0].split("::")[-1] for c in classes}
    members = [m for m in compound.iter("memberdef") if m.get("prot") == "public" and m.get("kind") != "friend"]
    named = {(m.find("name").text, m.find("location").get("file")) for m in members if not bare(m)}
    for m in members:
        name = m.find("name").text
        if bare(m) and (name, m.find("location").get("file")) not in named and \
                name.removeprefix("~") not in classes and not name.startswith("operator"):
            yield m


found = [line.strip() for line in open(warnings, encoding="utf-8") if "warning:" in line and "README.md" not in line and
         "is not documented" not in line]
for compound in xml.parse(f"{folder}/index.xml").getroot():
    parts = compound.find("name").text.split("::")
    if compound.get("kind") not in ("namespace", "class", "struct") or parts[0] != "rill" or len(parts) > 2 or \
            "<" in parts[-1]:
        continue
    of = xml.parse(f"{folder}/{compound.get('refid')}.xml").getroot().find("compounddef")
    if compound.get("kind") != "namespace" and bare(of):
        found.append(f"{place(of)}: {parts[-1]} has no comment")
    if len(parts) == 1 or parts[-1] in IN_HANDS:
        found += [f"{place(m)}: {m.find('name').text} of {'::'.join(parts)} has no comment" for m in bare_members(of)]
print("\n".join(found) or "every name that users call has a comment")
sys.exit(1 if found else 0)
END
echo "the reference is $folder/html/index.html"
