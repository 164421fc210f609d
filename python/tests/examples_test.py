"""The narrated examples run, and their notebooks have their words and their output."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

SOURCE = Path(os.environ["COTERIE_SOURCE"])
sys.path.insert(0, str(SOURCE / "python" / "tools"))

import notebooks  # noqa: E402

SCRIPTS = sorted((SOURCE / "examples" / "python").glob("*.py"))


def rounded(outputs):
    """Numbers to two digits: machines of other instruction sets round in another way."""
    return [[re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}", text) for text in cell] for cell in outputs]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_and_notebooks(script):
    kept = json.loads(script.with_suffix(".ipynb").read_text())
    nbformat.validate(nbformat.from_dict(kept))
    fresh = notebooks.notebook_of(script)
    update = "./run python python/tools/notebooks.py examples/python/*.py"
    assert [cell["source"] for cell in kept["cells"]] == [cell["source"] for cell in fresh["cells"]], update
    assert rounded(notebooks.text_outputs(kept)) == rounded(notebooks.text_outputs(fresh)), update
    figures = [sum("image/png" in output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", [])) for notebook in (kept, fresh)]
    assert figures[0] == figures[1] > 0


def test_examples_say_what_is_so():
    """The sentences of the examples that are claims."""
    found = {script.stem: "\n".join("".join(cell) for cell in notebooks.text_outputs(notebooks.notebook_of(script))) for script in SCRIPTS}
    assert "it holds: True" in found["digits"] and "the same answers: True" in found["digits"]
    assert float(re.search(r"([\d.]+) of the test images", found["digits"])[1]) > 0.94
    for group in range(3):
        assert f"-> planted group [{group}]" in found["sites"]
    assert found["sites"].count("planted group") == 3 and "its certificate holds: True" in found["sites"]


def test_there_are_two():
    assert [script.stem for script in SCRIPTS] == ["digits", "sites"]


def test_the_comparison_with_grid_searches_runs(tmp_path):
    script = SOURCE / "bench" / "grid_search.py"
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench grid_search -->\nstale\n<!-- end -->\nafter\n")
    done = subprocess.run([sys.executable, script, "--folds", "2", "--update", page, "wine"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n") and "stale" not in text
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| wine")]
    assert [row[1].strip() for row in rows] == ["coterie", "SVC"] and all(float(row[2]) > 0.9 for row in rows)
