#!/usr/bin/env python3
"""The C++ and the links in README.md, CHANGELOG.md and docs/: every block is a program that runs or a quotation that is
true, and the files that they link to or name are there.

    docs.py write FOLDER     writes the programs into a folder, for CMake to build, those of a page in one file as far as they
                             are bodies; prints each file's path, and the names of its programs
    docs.py check            fails if a block is none of the below, or a quotation is not what the file says, or a link
                             leads nowhere, or a file or a function that a page names is not there

What a block is:
  - one with `int main` is a program;
  - one after `<!-- from PATH -->` quotes lines of that file, in one piece, indented as it likes;
  - ```cpp body    is the body of a program's main, after `#include <rill/rill.hpp>` and the block's own #include lines;
  - ```cpp more    goes on where the page's last body stopped: one program, in which all of them stand;
  - <!-- code: … --> before a body or more is code that the reader need not see, put before the block.
Programs are run in the repository's root, and must end with 0. What they write belongs into /tmp.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Block:
    def __init__(self, page, line, word, text, before):
        self.page, self.line, self.word, self.text = page, line, word, text
        comment = re.search(r"<!--\s*from\s+(\S+)\s*-->\s*$", before)
        self.source = comment[1] if comment else None
        comment = re.search(r"<!--\s*code:(.*?)-->\s*$", before, re.DOTALL)
        self.unseen = comment[1].strip() if comment else ""

    @property
    def place(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_program(self):
        return self.word == "" and self.source is None and re.search(r"\bint main\b", self.text) is not None


def blocks(page):
    text = page.read_text(encoding="utf-8")
    end = 0
    for found in re.finditer(r"^```cpp[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, found.start(2)) + 1
        yield Block(page, line, found[1].strip(), found[2], text[end:found.start()])
        end = found.end()


def pages():
    all_pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in all_pages if page.is_file()]


def body(block):
    """A block's #include lines, and the rest with its line in the page."""
    lines = block.text.splitlines()
    includes = [line for line in lines if line.startswith("#include")]
    rest = [("" if line.startswith("#include") else line) for line in lines]
    return includes, f'{block.unseen}\n#line {block.line} "{block.page.relative_to(ROOT)}"\n' + "\n".join(rest)


def programs(page):
    """(name, whether it is a body, its #include lines, its text) of each program of a page."""
    name = str(page.relative_to(ROOT).with_suffix("")).replace("/", "_").removeprefix("docs_")
    count, includes, bodies = 0, [], []

    def assembled():
        return f"{name}_{count}", True, includes, "\n".join(bodies)

    for block in blocks(page):
        if block.word == "body" and bodies:
            yield assembled()
            includes, bodies = [], []
        if block.word in ("body", "more"):
            if not bodies:
                count += 1
            more, text = body(block)
            includes += more
            bodies.append(text)
        elif block.is_program:
            if bodies:
                yield assembled()
                includes, bodies = [], []
            count += 1
            yield f"{name}_{count}", False, [], f'#line {block.line} "{page.relative_to(ROOT)}"\n{block.text}'
    if bodies:
        yield assembled()


def files(page):
    """(stem, names of the programs, text) of each file that is compiled for a page. The headers take longer to compile than a
    body, so bodies with the same #include lines are one file, whose main takes the name of the program to run. Bodies with other
    lines are in other files, so that each compiles with what it includes itself."""
    together = {}
    for program, is_body, includes, text in programs(page):
        if is_body:
            together.setdefault(tuple(dict.fromkeys(includes)), []).append((program, text))
        else:
            yield program, [program], text
    for includes, bodies in together.items():
        names = [name for name, _ in bodies]
        lines = ["#include <rill/rill.hpp>", *includes, "#include <cstring>", ""]
        lines += [f"static int {name}() {{\n{text}\n  return 0;\n}}\n" for name, text in bodies]
        lines += ["int main(int, char** arguments) {"]
        lines += [f'  if (std::strcmp(arguments[1], "{name}") == 0) return {name}();' for name in names]
        yield names[0], names, "\n".join([*lines, "  return 2;", "}", ""])


def write(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for page in pages():
        for stem, names, text in files(page):
            path = folder / f"{stem}.cpp"
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
            written[path] = names
    for path in set(folder.glob("*.cpp")) - set(written):
        path.unlink()
    for path, names in sorted(written.items()):
        print(path, *names)


def squeezed(text):
    return "\n".join(line.strip() for line in text.strip().splitlines() if line.strip())


def complaint(block):
    if block.source is not None:
        path = ROOT / block.source
        if not path.is_file():
            return f"{block.source}, which it quotes, is not there"
        if f"\n{squeezed(block.text)}\n" not in f"\n{squeezed(path.read_text(encoding='utf-8'))}\n":
            return f"it is not what {block.source} says"
        return None
    if block.word in ("body", "more") or block.is_program:
        return None
    return "it is neither a program, nor ```cpp body or more, nor a quotation (tests/docs.py says what these are)"


def prose(page):
    """A page with its code blanked, line for line, so that `[](auto x)` is no link."""
    text = page.read_text(encoding="utf-8")
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])
    return re.sub(r"`[^`\n]+`", blank, re.sub(r"^```.*?^```", blank, text, flags=re.MULTILINE | re.DOTALL))


def anchors(page):
    """What a link may name in a page: its headings, as GitHub writes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*?)\s*$", text, re.MULTILINE)}


def links(page):
    """(line, target) of each link to a file of the repository, or within the page."""
    for found in re.finditer(r"\]\(([^)\s]+)\)", text := prose(page)):
        if not re.match(r"[a-z]+:", found[1]):
            yield text.count("\n", 0, found.start()) + 1, found[1]


def broken(page, target):
    """Why a link leads nowhere, or None."""
    path, _, anchor = target.partition("#")
    to = (page.parent / path).resolve() if path else page
    if not to.exists():
        return f"{target} is not there"
    if anchor and anchor not in anchors(to):
        return f"{target}: no heading there is called that"
    return None


def lost_files(page):
    """(line, name) of each file of code that a page names and that is not there. Measurements are of their day."""
    if "measurements" in page.parts or page.name == "CHANGELOG.md":
        return
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"`([\w.-]+/[\w./-]+\.(?:hpp|ipp|cpp|py|sh|cmake))`", text):
        if not any((ROOT / folder / found[1]).exists() for folder in ("", "include", "include/rill")):
            yield text.count("\n", 0, found.start()) + 1, found[1]


def lost_names(page):
    """(line, name) of each name in the column of rill's names, in a table under guide/coming/, that no header has."""
    if page.parent.name != "coming":
        return
    headers = "\n".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / "include").rglob("*.[hi]pp")))
    known = set(re.findall(r"\w+", headers))
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("|") and len(cells) > 4:
            for span in re.findall(r"`([^`]+)`", cells[2]):
                for name in re.findall(r"[a-z_]\w{2,}", re.sub(r'"[^"]*"', "", span)):
                    if name not in known:
                        yield number, name


def check():
    all_blocks = [block for page in pages() for block in blocks(page)]
    all_links = [(page, line, target) for page in pages() for line, target in links(page)]
    found = [f"{block.place}: {why}" for block in all_blocks if (why := complaint(block))]
    found += [f"{page.relative_to(ROOT)}:{line}: {why}" for page, line, target in all_links
              if (why := broken(page, target))]
    found += [f"{page.relative_to(ROOT)}:{line}: {name} is not there"
              for page in pages() for line, name in lost_files(page)]
    found += [f"{page.relative_to(ROOT)}:{line}: rill has no {name}"
              for page in pages() for line, name in lost_names(page)]
    print("\n".join(found) or f"{len(all_blocks)} blocks of code and {len(all_links)} links in order")
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(sys.argv[2])
    else:
        sys.exit(check())
