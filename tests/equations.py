"""Equation numbers: those of docs/maths.md, docs/methods.md and docs/bound.md run 1, 2, 3, ... in reading order, and every number that is cited is there.

A number is given to an equation by \\tag{7}, by (7) at the end of a line behind two spaces, or in bold: **(7)**, **CMTL (7)**. It is cited as
"docs/maths.md (7)", with more of them behind it, or as a bare "(7)" in a comment: of the page that the file named last, else of the page that it
names first, else of the page that its header names, else of the page of its room.

Run by pytest, or by itself:  python3 equations.py [root of the tree] [--renumber]   puts new equations, numbered as you like, into reading order.
"""

import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"maths": "docs/maths.md", "methods": "docs/methods.md", "bound": "docs/bound.md"}
PAGE_OF_ROOM = {"baseline": "methods", "bound": "bound"}  # others: maths
ROOMS = {"math", "stats", "data", "kernel", "svm", "mtmkl", "baseline", "model", "search", "bound", "front"}

GIVEN = re.compile(r"\\tag\{([^}]*)\}|\*\*[^*\n]*\((\d{1,2})\)\*\*|(?<=[ ]{2})\((\d{1,2})\)$", re.MULTILINE)
CITED = re.compile(r"(?<![\w)\]$])\((\d{1,2})\)(?:-\((\d{1,2})\))?")
NAMED = re.compile(r"\b(maths|methods|bound)\.md")


def numbers_given(text):
    """[(start, end, number)] in reading order."""
    found = []
    for match in GIVEN.finditer(text):
        group = next(index for index in (1, 2, 3) if match[index])
        found += [(match.start(group) + number.start(), match.start(group) + number.end(), int(number[0]))
                  for number in re.finditer(r"\d+", match[group])]
    return found


def first_page(path):
    match = NAMED.search(path.read_text()) if path.is_file() else None
    return match and match[1]


def citations(root, path):
    """[(start, end, page, first, last)] of a file: "(7)", or "(7)-(9)"; start and end are those of the numbers with their brackets."""
    text = path.read_text()
    own = next((page for page, name in PAGES.items() if path == root / name), None)
    parts = path.relative_to(root).parts
    room = parts[2] if parts[:2] == ("src", "coterie") and len(parts) > 3 else None
    named = [(match.end(), match[1]) for match in NAMED.finditer(text)]
    if own is None and not named and room not in ROOMS:
        return []
    given = {start for start, _, _ in numbers_given(text)} if own else set()
    found = []
    for match in CITED.finditer(text):
        if match.start(1) in given:
            continue
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if path.suffix in (".cpp", ".hpp") and "//" not in line:
            continue
        before = [(end, page) for end, page in named if end <= match.start()]
        if path.suffix == ".md":  # "docs/methods.md, (13)-(18)", "docs/maths.md (36), (37)"; else the page's own
            near = before and re.fullmatch(r"[`)]*,?(?: \(\d+\)(?:-\(\d+\))?(?:,| and)?)* ", text[before[-1][0]:match.start()])
            page = before[-1][1] if near else own
        else:
            stem = re.sub(r"_test$", "", path.stem)
            page = (before[-1][1] if before else named[0][1] if named else
                    first_page(path.with_name(stem + ".hpp")) or PAGE_OF_ROOM.get(room, "maths"))
        if page:
            found.append((match.start(), match.end(), page, int(match[1]), int(match[2] or match[1])))
    return found


def sources(root):
    for folder in ("src", "app", "tests", "bench", "fuzz", "examples", "docs"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".py", ".md") and path.name != Path(__file__).name:
                yield path
    yield from (root / name for name in ("CONTRIBUTING.md", "README.md", "CHANGELOG.md"))


def problems(root):
    """(the number of citations, what is wrong in words)."""
    root = Path(root)
    found, count, there = [], 0, {}
    for page, name in PAGES.items():
        numbers = [number for _, _, number in numbers_given((root / name).read_text())]
        there[page] = set(numbers)
        found += [f"{name}: equation ({number}) stands where ({place}) should be"
                  for place, number in enumerate(numbers, 1) if number != place][:1]
    for path in sources(root):
        text = path.read_text()
        for start, _, page, first, last in citations(root, path):
            count += 1
            where = f"{path.relative_to(root)}:{text.count(chr(10), 0, start) + 1}"
            if last < first:
                found.append(f"{where}: ({first})-({last}) runs backwards")
            found += [f"{where}: {PAGES[page]} has no equation ({number})" for number in sorted({first, last} - there[page])]
    return count, found


def put(text, start, end, to):
    """The text with `to` in place of what stands there. A number at the right of its line stays in its column."""
    opening = start if text[start] == "(" else start - 1
    if text[end:].lstrip(")").startswith("\n") and text[:opening].endswith("   "):
        spaces = len(text[:opening]) - len(text[:opening].rstrip(" "))
        wanted = max(2, spaces - (len(to) - (end - start)))
        return text[:opening - spaces] + " " * wanted + text[opening:start] + to + text[end:]
    return text[:start] + to + text[end:]


def renumber(root):
    """Numbers in reading order on both pages, and in all that cites them. Returns how many files have changed."""
    root = Path(root)
    new = {}
    for page, name in PAGES.items():
        numbers = [number for _, _, number in numbers_given((root / name).read_text())]
        assert len(set(numbers)) == len(numbers), f"{name} gives a number twice: {sorted({n for n in numbers if numbers.count(n) > 1})}"
        new[page] = {number: place for place, number in enumerate(numbers, 1)}
    changed = {}
    for path in sources(root):
        text = before = path.read_text()
        edits = []
        for start, end, page, first, last in citations(root, path):
            assert {first, last} <= set(new[page]), f"{path}: {PAGES[page]} has no equation ({first}) or ({last})"
            low, high = sorted(new[page][number] for number in (first, last))
            edits.append((start, end, f"({low})-({high})" if first != last else f"({low})"))
        for page, name in PAGES.items():
            if path == root / name:
                edits += [(start, end, str(new[page][number])) for start, end, number in numbers_given(text)]
        for edit in sorted(edits, reverse=True):
            text = put(text, *edit)
        if text != before:
            changed[path] = text
    for path, text in changed.items():
        path.write_text(text)
    return len(changed)


def test_equations_are_numbered_in_reading_order_and_cited_by_numbers_that_exist():
    count, found = problems(ROOT)
    assert count > 100, f"only {count} citations were found"
    assert not found, "\n".join(found)


@pytest.fixture
def tree(tmp_path):
    for folder in ("src", "app", "tests", "bench", "fuzz", "examples", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for name in ("CONTRIBUTING.md", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("path, line, message", [
    ("src/coterie/mtmkl/fit.hpp", "// docs/maths.md (99)", "docs/maths.md has no equation (99)"),
    ("src/coterie/svm/svm.cpp", "// as in (98)", "docs/maths.md has no equation (98)"),
    ("src/coterie/baseline/loss.cpp", "// as in (97)", "docs/methods.md has no equation (97)"),
    ("src/coterie/kernel/gram.hpp", "// docs/maths.md (1)-(96)", "docs/maths.md has no equation (96)"),
    ("docs/maths.md", "    a = b        (95)", "equation (95) stands where (1) should be"),
])
def test_a_wrong_number_is_found(tree, path, line, message):
    before = problems(tree)[1]
    (tree / path).write_text(line + "\n" + (tree / path).read_text())
    found = problems(tree)[1]
    assert any(message in text for text in found) and not any(message in text for text in before), found


def test_renumbering_puts_a_new_equation_in_its_place(tree):
    numbers = len(numbers_given((tree / PAGES["maths"]).read_text()))
    page, code = tree / PAGES["maths"], tree / "src" / "coterie" / "mtmkl" / "range.hpp"
    page.write_text("    a = b        (90)\n\n" + page.read_text())
    code.write_text("// docs/maths.md (90)\n" + code.read_text())
    renumber(tree)
    assert problems(tree)[1] == []
    assert code.read_text().startswith("// docs/maths.md (1)\n") and page.read_text().startswith("    a = b         (1)\n")
    assert len(numbers_given(page.read_text())) == numbers + 1
    assert renumber(tree) == 0


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--renumber"]
    root = arguments[0] if arguments else ROOT
    if "--renumber" in sys.argv:
        print(f"{renumber(root)} files changed")
    count, wrong = problems(root)
    print("\n".join(wrong) or f"{count} citations of equations that exist")
    sys.exit(1 if wrong else 0)
