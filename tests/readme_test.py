"""The README's session prints what the README shows, the guide's commands work, and C++ lines stand in a program that is compiled and run.

After a change of what the program prints:  python3 tests/readme_test.py PROGRAM  puts the new output into README.md.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README, GUIDE = ROOT / "README.md", ROOT / "docs" / "guide.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")), ROOT / "data" / "README.md"]

# What may differ between machines and builds: seconds, and numbers in e-notation, which are gaps and rounding. Whole numbers and words
# must be the same; other numbers must agree to 1e-4 of their size, the tolerance of a fit, or to the last digits shown.
TOKEN = re.compile(r"(?P<seconds>\d+\.\d+ s\b)|(?P<gap>-?\d\.\d+e[-+]\d+)|(?P<decimal>-?\d+\.\d+)|(?P<other>\s+|\d+|[^\s\d]+)")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def session(page):
    """[(command, output)] of the console blocks, in order."""
    text = "".join(blocks(page, "console"))
    assert text.startswith("$ "), f"{page.name} has no session"
    return [(step.partition("\n")[0], step.partition("\n")[2]) for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]


def run(command, folder, program):
    """What a shell prints when ./run coterie, or coterie, is the program."""
    environment = {**os.environ, "PATH": f"{Path(program).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-ec", command.replace("./run coterie", "coterie")], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"$ {command}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def agrees(shown, printed):
    """Whether two lines say the same."""
    left, right = list(TOKEN.finditer(shown)), list(TOKEN.finditer(printed))
    if [match.lastgroup for match in left] != [match.lastgroup for match in right]:
        return False
    for a, b in zip(left, right):
        if a.lastgroup == "decimal":
            digits = len(a[0].partition(".")[2])
            if abs(float(a[0]) - float(b[0])) > max(1e-4 * abs(float(a[0])), 1.5 * 10.0 ** -digits):
                return False
        elif a.lastgroup == "other" and a[0] != b[0]:
            return False
    return True


@pytest.mark.parametrize("shown, printed, same", [
    ("fit 0.15 s, gap 1.5e-05", "fit 7.00 s, gap 9.9e-09", True),
    ("98.00 %", "98.01 %", True), ("98.00 %", "98.07 %", False),
    ("objective 245.67177", "objective 245.68", True), ("objective 245.67177", "objective 246.67177", False),
    ("3 groups", "4 groups", False), ("group a b", "group a c", False), ("a b", "a b c", False), ("1 row", "1.5 row", False),
])
def test_lines_are_compared_with_care(shown, printed, same):
    assert agrees(shown, printed) == same


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("session")


def test_the_session_prints_what_the_readme_shows(program_path, folder):
    steps = session(README)
    assert len(steps) >= 6
    for command, shown in steps:
        printed = run(command, folder, program_path)
        pairs = list(zip(shown.splitlines(), printed.splitlines()))
        assert len(shown.splitlines()) == len(printed.splitlines()) and all(agrees(*pair) for pair in pairs), \
            f"$ {command}\n--- README\n{shown}--- printed\n{printed}"


def test_the_cpp_of_the_readme_is_compiled_and_says_the_same(folder):
    program = Path(os.environ["COTERIE_BUILD"]) / "examples" / "example_readme"
    source = [line.strip() for line in (ROOT / "examples" / "readme.cpp").read_text().splitlines()]
    lines = [line.strip() for block in blocks(README, "cpp") for line in block.splitlines() if line.strip()]
    assert len(lines) >= 5
    places = [source.index(line) if line in source else line for line in lines]
    assert all(isinstance(place, int) for place in places) and places == sorted(places), places
    printed = run(str(program), folder, program)
    accuracy = re.search(r"rows right: ([0-9.]+ %)", README.read_text())[1]
    assert f"accuracy {accuracy}" in printed and "the certificate holds" in printed
    assert (folder / "from_cpp.h5").read_bytes() == (folder / "digits.h5").read_bytes()  # the program goes through the same door


def test_the_cpp_of_the_guide_is_compiled():
    """Its lines stand in the examples, or differ from them only in spaces."""
    sources = "".join("".join(path.read_text().split()) for path in sorted((ROOT / "examples").glob("*.cpp")))
    lines = [line for block in blocks(GUIDE, "cpp") for line in block.splitlines() if line.strip()]
    assert len(lines) >= 5
    missing = [line for line in lines if "".join(line.partition("//")[0].split()) not in sources]
    assert not missing, "\n".join(missing)


def test_the_commands_of_the_guide_work(program_path, tmp_path):
    commands = [line for block in blocks(GUIDE, "sh") for line in block.splitlines() if line.strip()]
    assert len(commands) >= 15
    for command in commands:
        run(command, tmp_path, program_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    def anchors(text):
        return {re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-") for line in text.splitlines() if line.startswith("#")}
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", page.read_text())):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), f"{page.name} leads to {target}, which is not there"
        assert not anchor or anchor in anchors(path.read_text()), f"{page.name} leads to {target}, which has no such heading"


def update(program):
    """Writes what the program prints now into the README."""
    import tempfile
    text = README.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for command, shown in session(README):
            printed = run(command, folder, program)
            text = text.replace(f"$ {command}\n{shown}", f"$ {command}\n{printed}", 1)
    README.write_text(text)


if __name__ == "__main__":
    update(os.path.abspath(sys.argv[1]))
