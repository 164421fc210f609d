"""Real data at the default tolerance: each fit converges, and the separate checker agrees. Needs the folder COTERIE_DATA."""

import csv
import gzip
import os
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

DATA = os.environ.get("COTERIE_DATA", "")
pytestmark = pytest.mark.skipif(not DATA, reason="COTERIE_DATA is not set: name the folder with vehicle, letter, landmine and pen in it")

# The eight tasks of the paper.
LETTER_TASKS = ["ce", "gy", "mn", "ag", "ij", "ao", "ft", "hn"]


def read(name):
    with gzip.open(Path(DATA) / name / "data.csv.gz", "rt", newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def share_of(rows, share, keys, seed=1):
    """A stratified share of the rows, in their order."""
    strata = defaultdict(list)
    for number, row in enumerate(rows):
        strata[tuple(row[key] for key in keys)].append(number)
    source = np.random.default_rng(seed)
    kept = [source.choice(numbers, max(1, round(share * len(numbers))), replace=False) for numbers in strata.values()]
    return [rows[number] for number in sorted(np.concatenate(kept))]


def letter_rows(seed=1):
    """200 samples of each letter where there are so many; a letter of two tasks brings the same samples to both."""
    source = np.random.default_rng(seed)
    by_letter = defaultdict(list)
    for row in read("letter"):
        by_letter[row["label"]].append(row)
    chosen = {}
    for letter in sorted(set("".join(LETTER_TASKS))):
        rows = by_letter[letter]
        chosen[letter] = [rows[i] for i in sorted(source.choice(len(rows), min(200, len(rows)), replace=False))]
    assert len(chosen["j"]) == 189 and len(chosen["c"]) == 200
    pixels = [name for name in by_letter["a"][0] if re.fullmatch(r"f\d+", name)]
    assert len(pixels) == 128
    return [{**{name: row[name] for name in pixels}, "label": sign, "task": f"{task[0]}-{task[1]}"}
            for task in LETTER_TASKS for letter, sign in zip(task, ("-1", "1")) for row in chosen[letter]]


SETS = {
    "vehicle 50 %": (lambda: share_of(read("vehicle"), 0.5, ["label"]), ["--one-vs-one", "--scale", "standard"], 6),
    "letter": (letter_rows, [], 8),
    "landmine 50 %": (lambda: share_of(read("landmine"), 0.5, ["task", "label"]), ["--scale", "standard"], 29),
    "landmine 50 % balanced": (lambda: share_of(read("landmine"), 0.5, ["task", "label"]),
                               ["--scale", "standard", "--class-weight", "balanced"], 29),
    "pen 20 %": (lambda: share_of(read("pen"), 0.2, ["label"]), ["--one-vs-one"], 45),
}
TABLE = {}


@pytest.mark.parametrize("name", SETS)
def test_converges_and_is_verified(coterie, name):
    rows, options, tasks = SETS[name]
    write(coterie.folder / "d.csv", rows())
    document = coterie("train", "d.csv", "-o", "m.h5", "--json", "--quiet", *options, code=None, timeout=600).json
    TABLE[name] = document
    assert document["status"] == "converged" and document["gap"] <= 1e-4
    assert len(document["tasks"]) == tasks
    assert document["outer_steps"] <= 25
    check = coterie("verify", "m.h5", "d.csv", "--json", "--quiet", timeout=600).json
    assert check["holds"] and check["gap"] <= 1e-4 * (1 + 1e-6)
    assert check["objective"] == pytest.approx(document["objective"], rel=1e-8)
    accuracy = coterie("evaluate", "m.h5", "d.csv", "--json", "--quiet").json["accuracy"]
    assert accuracy > 0.7, "worse than guessing on its own training data"


def test_published_solver_does_not_converge_on_vehicle(coterie):
    rows, options, _ = SETS["vehicle 50 %"]
    write(coterie.folder / "d.csv", rows())
    gaps = []
    for steps in ("50", "100"):
        result = coterie("train", "d.csv", "-o", "m.h5", "--json", "--quiet", "--solver", "published", "--max-steps", steps, *options, code=3)
        gaps.append(result.json["gap"])
        assert result.json["status"] != "converged"
        assert "The published algorithm does not converge in general" in result.err and "--solver newton" in result.err
    TABLE["vehicle 50 %, published"] = result.json
    assert min(gaps) > 1e-3, gaps
    assert result.json["cycle"] >= 2 and f"going round a cycle of {result.json['cycle']} steps" in result.err
    assert coterie("verify", "m.h5", "d.csv", "--json", "--quiet").json["gap"] == pytest.approx(gaps[-1], rel=1e-6)


def test_table(capsys):
    """Prints what was measured, whatever pytest captures."""
    lines = [f"{'data':26} {'tasks':>5} {'rows':>6} {'steps':>5} {'seconds':>8} {'fit':>8} {'relative gap':>12} {'groups':>6}"]
    for name, document in TABLE.items():
        lines.append(f"{name:26} {len(document['tasks']):5} {sum(task['n'] for task in document['tasks']):6} {document['outer_steps']:5} "
                     f"{document['seconds']:8.2f} {document['phases']['fit']:8.2f} {document['gap']:12.1e} {len(document['groups']):6}")
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert set(SETS) <= set(TABLE) or not TABLE
