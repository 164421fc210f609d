"""Nothing leaks: labels by chance, and kernels that know by heart every row that they were trained on. Whatever borrows from other tasks must score
held-out rows no better than a coin."""

import numpy as np
import pytest

from support import csv_text

TASKS, ROWS = 5, 80
HEADER = ["f1", "f2", "f3", "label", "task"]
BY_HEART = "gauss:0.05"
CHANCE = 0.1  # four standard errors of 400 rows


@pytest.fixture
def chance(coterie):
    random = np.random.default_rng(11)
    rows = [[*(f"{v:.4f}" for v in random.normal(size=3)), random.choice(["no", "yes"]), f"t{i % TASKS}"] for i in range(TASKS * ROWS)]
    coterie.write("d.csv", csv_text(rows, header=HEADER))
    return coterie


BORROWING = {
    "scores of all": ["--kernels", f"{BY_HEART} linear:raw@pooled", "--first-stage", "C=10 folds=4", "--lambda", "0,inf"],
    "scores of the others": ["--kernels", f"{BY_HEART} linear:raw@others", "--first-stage", "C=10 folds=4", "--lambda", "0,inf"],
    "scores of the group": ["--kernels", f"{BY_HEART} linear:raw@group", "--first-stage", "C=10 folds=4 restarts=2", "--lambda", "0,inf"],
    "groups": ["--method", "groups", "--kernels", f"{BY_HEART} gauss:1", "--parameters", "clusters=1,3 restarts=5"],
    "groups, alike": ["--method", "groups", "--kernels", f"{BY_HEART} gauss:1", "--parameters", "clusters=3 restarts=0"],
    "joint": ["--method", "joint", "--kernels", f"{BY_HEART} gauss:1", "--parameters", "own=0.2,1"],
}


@pytest.mark.parametrize("what", BORROWING)
def test_chance_stays_chance(chance, what):
    out = chance("select", "d.csv", "-o", "s.h5", *BORROWING[what], "-C", "1", "--folds", "4", "--json").json
    for row in out["grid"]:
        assert abs(row["score"] - 0.5) < CHANCE, (what, row)


def test_the_kernel_knows_its_rows(chance):
    """So what scores like a coin above has not seen the rows that it is judged on."""
    for method in (["--method", "pooled"], ["--method", "joint"], ["--lambda", "0"]):
        chance("train", "d.csv", "-o", "seen.h5", "--kernels", BY_HEART, "-C", "10", *method)
        assert chance("evaluate", "seen.h5", "d.csv", "--json").json["accuracy"] > 0.99


def test_nor_does_a_choice_among_them(chance):
    out = chance("select", "d.csv", "-o", "s.h5", "--method", "coterie,pooled,groups,joint", "--kernels", f"{BY_HEART} gauss:1 linear:raw", "--lambda", "0,inf",
                 "-C", "1", "--parameters", "clusters=2 own=0.3", "--folds", "4", "--json").json
    assert len(out["methods"]) == 4
    for one in out["methods"]:
        assert abs(one["value"] - 0.5) < CHANCE, one
    sets = f"{BY_HEART} | {BY_HEART} linear:raw@pooled | gauss:1 linear:raw@group gauss:1@others"
    out = chance("select", "d.csv", "-o", "s.h5", "--kernels", sets, "--first-stage", "C=10 folds=4 restarts=2", "--lambda", "0,inf", "-C", "1", "--folds",
                 "4", "--json").json
    assert abs(out["value"] - 0.5) < CHANCE


def test_labels_of_validation_rows_change_no_model(chance):
    """The same choice of one point: labels of rows that only validate turn its score around, and not a bit of the fit on the others."""
    random = np.random.default_rng(12)
    features = [[*(f"{v:.4f}" for v in random.normal(size=3))] for _ in range(100)]
    for name, labels in (("v.csv", ["no", "yes"]), ("turned.csv", ["yes", "no"])):
        chance.write(name, csv_text([[*x, labels[i % 2], f"t{i % TASKS}"] for i, x in enumerate(features)], header=HEADER))
    for what, options in BORROWING.items():
        point = [option.replace("0,inf", "0").replace("1,3", "3").replace("0.2,1", "0.2") for option in options]
        one, other = (chance("select", "d.csv", "--validation", name, *point, "-C", "1", "-o", f"{name}.h5", "--json").json
                      for name in ("v.csv", "turned.csv"))
        assert one["value"] + other["value"] == pytest.approx(1, abs=1e-9), what
