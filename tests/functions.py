#!/usr/bin/env python3
"""functions.py write|check: docs/functions.md, the functions that users call as they are written in C++, from the headers:
what their doc comments say, the element types and the derivative that docs/ops.md has for an operation of the same name.
`check` fails if the page is not what the headers say."""
import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include/rill"
PAGE = ROOT / "docs/functions.md"

# The folders in the order of the page, with their headings.
FAMILIES = [
    ("ops/array", "Arrays"), ("ops/math", "Functions of numbers"), ("ops/reduction", "Reductions"), ("ops/sum", "Sums"),
    ("ops/matrix", "Matrices"), ("ops/table", "Tables, indices and segments"), ("ops/random", "Random numbers"),
    ("ops/network", "Networks"), ("ops/image", "Images"), ("ops/control", "Control flow"), ("grad", "Derivatives"),
    ("ops/state", "Variables"), ("ops/queues", "Queues"), ("ops/sync", "Synchronisation"), ("ops/input", "Input"),
    ("ops/files", "Files"), ("ops/check", "Checks"), ("ops/list", "Fused functions"), ("train", "Training"),
]


def operations():
    """name -> (element types, derivative) of each operation, from the page of operations."""
    rows = (ROOT / "docs/ops.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows if row.startswith("| `")]
    return {c[0].strip("` "): (c[3].strip(), c[4].strip()) for c in cells}


def arguments(text):
    """The parts of a list that commas outside of brackets separate."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c in "<({[") - (c in ">)}]")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return [" ".join(p.split()) for p in [*parts, part] if p.strip()]


def without_default(text):
    return re.sub(r"\s*=.*", "", text)


def template_argument(text, parameters):
    """What a caller writes between the angle brackets for a template parameter; empty for what the compiler deduces from
    the parameters of the function, and for a default that nobody changes."""
    kind, _, name = without_default(text).rpartition(" ")
    if re.search(rf"\b{name}\b", parameters) or "requires" in kind or kind in ("class", "typename", "operand", "typed"):
        return ""
    return name + ("..." if kind.endswith("...") else "")


def parameter(text):
    """A parameter as a caller sees it: its name, with the type where the type says something."""
    default = re.search(r"=\s*(.*)", text)
    kind, _, name = without_default(text).rpartition(" ")
    kind = re.sub(r"\bconst\b|&+|\brill::(?=\w)|\bstd::(?=string)", "", kind).strip()
    many = kind.endswith("...")
    kind = kind.removesuffix("...").strip()
    shown = name + ("..." if many else "")
    if kind not in ("value", "") and not re.fullmatch(r"[A-Z]\w*|graph|auto|expr<\w+>|variable_(value|expr<\w+>)|operand", kind):
        shown = f"{kind} {shown}"
    return shown + (" = …" if default else "")


def signature(declaration):
    """(name, the call) of a function's declaration; None for another declaration."""
    text = " ".join(declaration.split())
    template = ""
    if text.startswith("template <"):
        depth = 0
        for at, c in enumerate(text):
            depth += (c == "<") - (c == ">" and text[at - 1] != "-")
            if c == ">" and depth == 0:
                template, text = text[len("template <"):at], text[at + 1:].strip()
                break
    if text.startswith("requires"):
        text = re.sub(r"^requires\s*\(.*?\)\s*(?=(auto|value|expr|inline|std|erased|operation)\b)", "", text)
    found = re.match(r"(?:inline |constexpr |explicit )*[\w:<>,. *&]+?[ >&](\w+)\((.*)$", text)
    if not found or found[1] in ("if", "operator"):
        return None
    depth, end = 1, 0
    for end, c in enumerate(found[2]):
        depth += (c in "({") - (c in ")}")
        if depth == 0:
            break
    explicit = [a for t in arguments(template) if (a := template_argument(t, found[2][:end]))]
    inside = ", ".join(parameter(a) for a in arguments(found[2][:end]))
    return found[1], found[1] + (f"<{', '.join(explicit)}>" if explicit else "") + f"({inside})"


def is_whole(declaration):
    """Whether a declaration has its end, or the beginning of its body."""
    outside = re.sub(r"\{[^{}]*\}", "", declaration)
    return bool(re.search(r"[{;]", outside)) or (declaration.endswith("}") and not declaration.rstrip("}").endswith("{"))


def documented(path):
    """(name, calls, comment) of each documented function of namespace rill in a header, and of each struct or class."""
    scopes, comment, entries, last = [], [], [], None
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if opened := re.match(r"(?:inline )?namespace ([\w:]*) ?\{", line):
            scopes.append(opened[1])
            continue
        if re.match(r"\}  // namespace", line) and scopes:
            scopes.pop()
            continue
        if scopes != ["rill"] or line.startswith("#"):
            comment = []
            continue
        if line.startswith("///"):
            comment.append(line[3:].strip())
            continue
        if not line or line[0] in " })" or line.startswith(("//", "RILL_INLINE", "RILL_IO_INLINE")):
            if not line:
                comment, last = [], None
            continue
        declaration = line
        while not is_whole(declaration) and (more := next(lines, None)) is not None:
            declaration += " " + more.strip()
        kind = re.match(r"(?:template <.*?> )?(?:struct|class) (\w+)", declaration)
        known = (kind[1], kind[1]) if kind else signature(re.sub(r"\btry\b.*", "", declaration))
        if known and comment:
            last = [known[0], [known[1]], " ".join(comment), bool(kind)]
            entries.append(last)
        elif known and last and known[0] == last[0] and known[1] not in last[1]:
            last[1].append(known[1])
        comment = []
    return entries


def cell(text):
    return text.replace("|", "\\|")


def page():
    known = operations()
    text = ["# Functions", "",
            "Written by `tests/functions.py write` from the headers. A call in angle brackets has what the compiler must know;",
            "forms without it take what only the run knows. Everything is in namespace `rill`. Element types and derivatives are",
            "those of the operation of the same name in the [list of operations](ops.md); where nothing is said, a function is made",
            "of operations, and has their types and derivatives.", ""]
    for folder, heading in FAMILIES:
        rows = {}
        for path in sorted((HEADERS / folder).glob("*.hpp")):
            for name, calls, comment, is_type in documented(path):
                if comment.startswith(("The same", "Does the same", "Returns the same")) and name in rows:
                    rows[name][0].extend(c for c in calls if c not in rows[name][0])
                elif name in rows:
                    rows[name][0].extend(c for c in calls if c not in rows[name][0])
                else:
                    rows[name] = [list(calls), comment, path.relative_to(HEADERS)]
        if not rows:
            continue
        text += [f"## {heading}", "", "| function | what it does | element types | derivative |", "|---|---|---|---|"]
        for name in sorted(rows):
            calls, comment, path = rows[name]
            elements, derivative = known.get(name, ("", ""))
            shown = "<br>".join(f"`{cell(c)}`" for c in calls)
            derivative = derivative or ("none" if name in known else "")
            text.append(f"| {shown} | {cell(comment)} (`{path}`) | {elements} | {derivative} |")
        text.append("")
    return "\n".join(text)


def main():
    now = page()
    if sys.argv[1:] == ["write"]:
        PAGE.write_text(now, encoding="utf-8")
        return 0
    there = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    if there == now:
        print(f"{now.count(chr(10) + '| `')} functions are those of the headers")
        return 0
    print("\n".join(list(difflib.unified_diff(there.splitlines(), now.splitlines(), "docs/functions.md", "the headers", lineterm=""))[:40]))
    print("run tests/functions.py write")
    return 1


sys.exit(main())
