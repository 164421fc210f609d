"""Rooms include only rooms that they may use, and the rooms of the method never print, open files or read clocks.

Reads the #include lines of src/coterie and app. Run by pytest, or by itself: python3 layering.py [root of the tree]
"""

import re
import shutil
import sys
from pathlib import Path

import pytest

ORDER = ["math", "stats", "data", "kernel", "svm", "mtmkl", "baseline", "model", "search", "bound", "io", "front", "experiment", "report", "page", "app"]
PURE = {"math", "stats", "data", "kernel", "svm", "mtmkl", "baseline", "model", "search", "bound", "report", "page"}
BARRED = {"iostream", "ostream", "istream", "fstream", "cstdio", "stdio.h", "chrono", "ctime", "time.h", "print", "filesystem",
          "fmt/ostream.h", "fmt/chrono.h", "CLI/CLI.hpp", "hdf5.h", "unistd.h", "fcntl.h", "sys/time.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def room_of(include, own_room):
    """The room that an include leads into, or None for other libraries."""
    if include == "coterie/coterie.hpp":
        return "page"  # every room
    if include.startswith("coterie/"):
        return include.split("/")[1]
    return own_room


def problems(root):
    """(the number of files read, what is wrong in words)."""
    root = Path(root)
    found, files = [], 0
    for room in ORDER:
        folder = root / "app" if room == "app" else root / "src" / "coterie" / room
        for path in sorted([*folder.rglob("*.hpp"), *folder.rglob("*.cpp")]):
            files += 1
            is_test = path.name.endswith("_test.cpp")
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                quoted, name = match[1] == '"', match[2]
                where = f"{path.relative_to(root)}:{number}"
                target = room_of(name, room if quoted else None)
                if target is not None and target not in ORDER:
                    found.append(f"{where}: {name} is in no known room")
                elif target is not None and ORDER.index(target) > ORDER.index(room):
                    found.append(f"{where}: room {room} must not use room {target} ({name})")
                if quoted and room != "app" and not name.startswith("coterie/"):
                    found.append(f"{where}: {name} does not say its room; write coterie/{room}/...")
                if room in PURE and not is_test and name in BARRED:
                    found.append(f"{where}: room {room} must not include <{name}>: it never prints, opens files or reads clocks")
    return files, found


ROOT = Path(__file__).resolve().parent.parent


def test_rooms_use_only_what_they_may():
    files, found = problems(ROOT)
    assert files > 60, f"only {files} files were read"
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path, line, message", [
    ("src/coterie/svm/svm.hpp", '#include "coterie/mtmkl/fit.hpp"', "room svm must not use room mtmkl"),
    ("src/coterie/math/simplex.hpp", "#include <coterie/io/table.hpp>", "room math must not use room io"),
    ("src/coterie/data/dataset.cpp", '#include "coterie/coterie.hpp"', "room data must not use room page"),
    ("src/coterie/mtmkl/fit.cpp", "#include <chrono>", "room mtmkl must not include <chrono>"),
    ("src/coterie/kernel/gram.cpp", "  #  include <iostream>", "room kernel must not include <iostream>"),
    ("src/coterie/math/prox.cpp", "#include <fstream>", "room math must not include <fstream>"),
    ("src/coterie/io/table.cpp", '#include "coterie/app/options.hpp"', "room io must not use room app"),
    ("src/coterie/io/table.cpp", '#include "options.hpp"', "does not say its room"),
    ("src/coterie/io/table.cpp", '#include "coterie/atttic/options.hpp"', "is in no known room"),
])
def test_a_wrong_include_is_found(tmp_path, path, line, message):
    for part in ("src", "app"):
        shutil.copytree(ROOT / part, tmp_path / part)
    before = len(problems(tmp_path)[1])
    changed = tmp_path / path
    assert changed.is_file()
    changed.write_text(line + "\n" + changed.read_text())
    found = problems(tmp_path)[1]
    assert len(found) == before + 1 and any(message in text and f"{path}:1:" in text for text in found), found


if __name__ == "__main__":
    count, wrong = problems(sys.argv[1] if len(sys.argv) > 1 else ROOT)
    print("\n".join(wrong) or f"{count} files include only what they may")
    sys.exit(1 if wrong else 0)
