"""Model files from one program to the next: older versions, names of classes and columns, groups."""

import csv
import gzip
import io
from pathlib import Path

import h5py
import numpy as np
import pytest

from support import csv_text, small_rows

MODELS = Path(__file__).parent / "models"
FAST = ["--kernels", "linear gauss:1,4"]


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


# Older versions: tests/models has a file of each, what the program of its time predicted, and the data.

OLD = {"version1": ["single"], "version2": ["classes", "classes_new"], "version3": ["pairs"], "version4": ["pairs", "pairs_new"], "version4map": ["pairs"], "version5": ["pairs"], "version6": ["pairs"]}


def bring(coterie, name):
    """The model as old.h5, and what belongs to it; returns its tables."""
    coterie.write("old.h5", gzip.decompress((MODELS / f"{name}.h5.gz").read_bytes()))
    for table in OLD[name]:
        coterie.write(f"{table}.csv", (MODELS / f"{table}.csv").read_text())
    return [f"{table}.csv" for table in OLD[name]]


def expect_as_before(coterie, name, model):
    tables = [(MODELS / f"{table}.csv").read_text() for table in OLD[name]]
    coterie.write("rows.csv", tables[0] + "".join(table.split("\n", 1)[1] for table in tables[1:]))
    wanted = (MODELS / f"{name}.expected.csv").read_text()
    options = ["--scores", "--probabilities"] if "probability:" in wanted else []
    found, wanted = rows_of(coterie("predict", model, "rows.csv", *options).out), rows_of(wanted)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        assert one.keys() == other.keys()
        for key, value in other.items():
            if key in ("row", "task", "label") or value == "":
                assert one[key] == value
            else:
                assert float(one[key]) == pytest.approx(float(value), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", OLD)
def test_older_files_predict_as_they_did(coterie, name):
    tables = bring(coterie, name)
    assert f"version {name[7]}\n".encode() in (coterie.folder / "old.h5").read_bytes()[:30]
    expect_as_before(coterie, name, "old.h5")
    for table in tables:
        check = coterie("verify", "old.h5", table, "--json").json
        assert check["holds"]
        assert (check["stated_bound"] == 1e-7) == (name[7] < "4")  # which stated none
        if name == "version3":
            assert any("a version that stated no bound" in text for text in check["taken_from_model"])
    assert coterie("inspect", "old.h5", "--json").json["tasks"]


def test_older_files_become_new_ones(coterie):
    """`extend` writes what it has read, in the layout of today."""
    bring(coterie, "version4")
    coterie.write("t5.csv", csv_text(small_rows(tasks=("t5",), labels=("n", "y"))))
    coterie("extend", "old.h5", "t5.csv", "-o", "new.h5")
    assert b"version 7\n" in (coterie.folder / "new.h5").read_bytes()[:30]
    expect_as_before(coterie, "version4", "new.h5")
    for table in ("pairs.csv", "pairs_new.csv", "t5.csv"):
        assert coterie("verify", "new.h5", table, "--json").json["holds"]
    with h5py.File(coterie.folder / "new.h5") as file:
        assert list(file["tasks/part"].asstr()) == ["t1", "t2", "t3", "t4", "t5"]
        assert len(file["certificates/primal"]) == 3 and len(file["certificates/nu_offsets"]) == 4


# Names of classes and parts may hold what separates them in the names of tasks.

def class_rows(classes, parts, n=8, seed=3):
    random = np.random.default_rng(seed)
    rows = []
    for part in parts:
        for k, name in enumerate(classes):
            for _ in range(n):
                x = random.normal(0, 0.3, 3)
                x[k % 3] += 3 if k < 3 else -3
                rows.append([*(f"{v:.4f}" for v in x), name, *([part] if part else [])])
    return rows


@pytest.mark.parametrize("casting", ["--one-vs-one", "--one-vs-rest"])
@pytest.mark.parametrize("classes, parts", [
    (["a", "b|c", "a|b", "c"], [None]),             # a|b|c would be two tasks
    (["x", "y:x", "rest"], ["s", "s:y"]),           # s:y:x|rest would be two
    (["a|b", "a:b", 'a"b'], ["p|q", "p:q", '"']),
])
def test_names_of_classes_may_hold_anything(coterie, casting, classes, parts):
    header = ["f1", "f2", "f3", "label", *(["task"] if parts[0] else [])]
    with open(coterie.folder / "d.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *class_rows(classes, parts)])
    fit = coterie("train", "d.csv", casting, "-o", "m.h5", "--calibrate", "platt", "--folds", "2", "--json", *FAST).json
    names = [task["name"] for task in fit["tasks"]]
    assert len(set(names)) == len(names)
    if parts[0] is None and casting == "--one-vs-one":
        assert 'a|"b|c"' in names and '"a|b"|c' in names and "a|c" in names
    predicted = rows_of(coterie("predict", "m.h5", "d.csv", "--probabilities").out)
    wanted = rows_of((coterie.folder / "d.csv").read_text())
    assert [row["label"] for row in predicted] == [row["label"] for row in wanted]
    assert [row.get("task") for row in predicted] == [row.get("task") for row in wanted]
    assert all(float(row[f"probability:{name}"]) > 0 for row in predicted for name in classes)
    evaluation = coterie("evaluate", "m.h5", "d.csv", "--json").json
    assert evaluation["accuracy"] == 1 and sorted(evaluation["classes"]) == sorted(classes)
    assert np.trace(np.array(evaluation["confusion"])) == len(wanted)
    assert coterie("verify", "m.h5", "d.csv", "--json").json["holds"]
    if parts[0] is None:
        return
    with open(coterie.folder / "new.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *class_rows(classes, ["n|:"], seed=4)])
    coterie("extend", "m.h5", "new.csv", "-o", "e.h5")
    assert coterie("evaluate", "e.h5", "new.csv", "--json").json["accuracy"] == 1
    assert coterie("verify", "e.h5", "new.csv", "--json").json["holds"]


def test_names_stay_where_they_are_clear(coterie):
    coterie.write("d.csv", csv_text(class_rows(["a", "b|c", "d"], ["s"]), header=["f1", "f2", "f3", "label", "task"]))
    fit = coterie("train", "d.csv", "--one-vs-one", "-o", "m.h5", "--json", *FAST).json
    assert [task["name"] for task in fit["tasks"]] == ["s:a|b|c", "s:a|d", "s:b|c|d"]


def test_a_task_called_all_is_one_of_a_column(coterie):
    """Only a model that was trained without a task column takes rows of any task."""
    header = ["f1", "f2", "f3", "label", "task"]
    coterie.write("d.csv", csv_text(small_rows(tasks=("all",)), header=header))
    coterie.write("b.csv", csv_text(small_rows(tasks=("b",)), header=header))
    coterie("train", "d.csv", "-o", "m.h5", *FAST)
    assert "has task 'b', which the model does not know" in coterie("predict", "m.h5", "b.csv", code=2).err
    coterie("train", "d.csv", "--drop", "task", "-o", "m.h5", *FAST)
    assert {row["task"] for row in rows_of(coterie("predict", "m.h5", "b.csv").out)} == {"all"}


# Models remember the columns of labels and tasks.

HEADER = ["f1", "f2", "f3", "target", "site"]


@pytest.fixture
def named(coterie):
    """d.csv with the label column `target` and the task column `site`, and its model m.h5; c.csv with another site."""
    coterie.write("d.csv", csv_text(small_rows(), header=HEADER))
    coterie.write("c.csv", csv_text(small_rows(tasks=("c",)), header=HEADER))
    coterie("train", "d.csv", "--label", "target", "--task", "site", "-o", "m.h5", *FAST)
    return coterie


def test_columns_need_no_names_again(named):
    assert {row["task"] for row in rows_of(named("predict", "m.h5", "d.csv").out)} == {"a", "b"}
    assert named("evaluate", "m.h5", "d.csv", "--json").json["accuracy"] > 0.7
    assert named("verify", "m.h5", "d.csv", "--json").json["holds"]
    named("extend", "m.h5", "c.csv", "-o", "e.h5")
    assert named("verify", "e.h5", "c.csv", "--json").json["holds"]
    assert named("evaluate", "e.h5", "c.csv", "--json").json["n"] == 14
    with h5py.File(named.folder / "e.h5") as file:
        assert file["training_data/label_column"].asstr()[()] == "target" and file["training_data/task_column"].asstr()[()] == "site"


@pytest.mark.parametrize("method", ["pooled", "coclus", "stl"])
def test_models_of_all_methods_remember_them(named, method):
    named("train", "d.csv", "--label", "target", "--task", "site", "--method", method, "-o", "m.h5")
    assert named("verify", "m.h5", "d.csv", "--json").json["holds"]
    assert named("evaluate", "m.h5", "d.csv", "--json").json["n"] == 28


def test_chosen_models_remember_them(named):
    named("select", "d.csv", "--label", "target", "--task", "site", "-o", "s.h5", "--C", "1", "--lambda", "0,1", "--folds", "2", *FAST)
    assert named("evaluate", "s.h5", "d.csv", "--json").json["n"] == 28


def test_given_columns_win(named):
    rows = [[*row, "b" if row[4] == "a" else "a", "yes"] for row in small_rows()]
    named.write("both.csv", csv_text(rows, header=[*HEADER, "other", "guess"]))
    mine = rows_of(named("predict", "m.h5", "both.csv").out)
    other = rows_of(named("predict", "m.h5", "both.csv", "--task", "other").out)
    assert [row["task"] for row in mine] == [row[4] for row in rows] and [row["task"] for row in other] == [row[5] for row in rows]
    assert named("evaluate", "m.h5", "both.csv", "--label", "guess", "--json").json["accuracy"] != named("evaluate", "m.h5", "both.csv", "--json").json["accuracy"]
    named.write("usual.csv", csv_text([[*row, "no", "b"] for row in rows], header=[*HEADER, "other", "guess", "label", "task"]))
    assert named("predict", "m.h5", "usual.csv").out == named("predict", "m.h5", "both.csv").out  # its own columns come before the usual ones
    assert "no column is called 'none', which --task asks for" in named("predict", "m.h5", "both.csv", "--task", "none", code=2).err


def test_a_column_is_not_both(named):
    for command in (["evaluate", "m.h5", "d.csv", "--label", "site"], ["evaluate", "m.h5", "d.csv", "--task", "target"],
                    ["train", "d.csv", "--label", "site", "--task", "site", "-o", "x.h5"], ["data", "describe", "d.csv", "--label", "site", "--task", "site"]):
        assert "cannot hold both the labels and the tasks. Name another for --label or --task." in named(*command, code=2).err


def test_columns_that_are_not_there(named):
    rows = small_rows()
    named.write("u.csv", csv_text([[*row[:3], row[4]] for row in rows], header=["f1", "f2", "f3", "site"]))
    assert len(rows_of(named("predict", "m.h5", "u.csv").out)) == 28  # labels are not needed
    assert "no column is called 'target', as in the data of the model; say with --label which column holds the labels" in named("evaluate", "m.h5", "u.csv", code=2).err
    named.write("n.csv", csv_text([row[:4] for row in rows], header=HEADER[:4]))
    assert "there is no task column, but the model has 2 tasks (a, b). Add a column 'site', or name it with --task." in named("predict", "m.h5", "n.csv", code=2).err
    named.write("usual.csv", csv_text(rows))  # as commands without a model expect it
    assert named("evaluate", "m.h5", "usual.csv", "--json").json["n"] == 28


def test_features_may_be_called_label_and_task(coterie):
    coterie.write("d.csv", csv_text(small_rows(), header=["label", "task", "f3", "target", "site"]))
    coterie("train", "d.csv", "--label", "target", "--task", "site", "-o", "m.h5", *FAST)
    assert coterie("evaluate", "m.h5", "d.csv", "--json").json["n"] == 28
    assert coterie("verify", "m.h5", "d.csv", "--json").json["holds"]
    coterie.write("u.csv", csv_text([[*row[:3], row[4]] for row in small_rows()], header=["label", "task", "f3", "site"]))
    assert len(rows_of(coterie("predict", "m.h5", "u.csv").out)) == 28


def test_formats_without_columns(named):
    for name in ("d.mat", "s.svm"):
        named("data", "convert", "d.csv", name, "--label", "target", "--task", "site")
    predicted = named("predict", "m.h5", "d.csv").out
    assert named("predict", "m.h5", "d.mat").out == predicted
    files = sorted(path.name for path in named.folder.glob("s*.svm"))
    assert len(files) == 2
    rows = rows_of(named("predict", "m.h5", *(f"{name}:{task}" for name, task in zip(files, "ab"))).out)
    assert [row["score"] for row in rows] == [row["score"] for row in rows_of(predicted)]
    named("train", "d.mat", "-o", "x.h5", *FAST)
    with h5py.File(named.folder / "x.h5") as file:
        assert file["training_data/label_column"].asstr()[()] == "" and file["training_data/task_column"].asstr()[()] == ""
    named.write("usual.csv", csv_text(small_rows()))
    assert named("evaluate", "x.h5", "usual.csv", "--json").json["n"] == 28


# Groups are tasks of equal weights, whatever lambda.

@pytest.mark.parametrize("strength", ["0", "1e-9", "0.5max", "inf"])
def test_equal_weights_are_a_group(coterie, strength):
    """Tasks a and b have the same samples, and one kernel leaves no choice between c and d."""
    rows = [row for row in small_rows(tasks=("a", "c"))]
    coterie.write("twins.csv", csv_text(rows + [[*row[:4], "b"] for row in rows if row[4] == "a"]))
    for options in (FAST, ["--kernels", "gauss:1"]):
        fit = coterie("train", "twins.csv", "--lambda", strength, "-o", "m.h5", "--json", *options).json
        assert coterie("verify", "m.h5", "twins.csv", "--json").json["holds"]
        theta = {task["name"]: tuple(task["theta"]) for task in fit["tasks"]}
        for document in (fit, coterie("inspect", "m.h5", "--json").json):
            together = {name: group for group in document["groups"] for name in group}
            for one in theta:
                for other in theta:
                    assert (theta[one] == theta[other]) == (other in together[one])
        if len(options[1].split()) == 1:
            assert fit["groups"] == [["a", "c", "b"]]
