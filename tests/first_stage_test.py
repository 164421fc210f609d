"""Kernels on scores of other models, through the program: both stages in training, prediction, checks, searches and studies."""

import csv
import io

import h5py
import numpy as np
import pytest

from support import csv_text

TASKS = ("a", "b", "c", "d")
KERNELS = "linear gauss:2 linear:raw@pooled gauss:1@others gauss:1@group"
QUICK = ["--first-stage", "C=1 folds=3 restarts=2"]


def rows_of_one_classifier(n, seed, tasks=TASKS, columns=4):
    """All tasks have the same classifier and few rows of it."""
    random = np.random.default_rng(seed)
    direction = np.array([2.0, -1.5, 1.0, 0.5])[:columns]
    rows = []
    for task in tasks:
        X = random.normal(size=(n, columns))
        score = X @ direction
        for x, f in zip(X, score):
            rows.append([*(f"{v:.5f}" for v in x), "yes" if f > np.median(score) else "no", task])
    return rows


HEADER = ["f1", "f2", "f3", "f4", "label", "task"]


@pytest.fixture
def data(coterie):
    coterie.write("d.csv", csv_text(rows_of_one_classifier(20, 1), header=HEADER))
    coterie.write("new.csv", csv_text(rows_of_one_classifier(100, 2), header=HEADER))
    return coterie


def scores(coterie, model, table):
    return np.array([float(row["score"]) for row in csv.DictReader(io.StringIO(coterie("predict", model, table).out))])


def accuracy(coterie, model):
    return coterie("evaluate", model, "new.csv", "--json").json["accuracy"]


def test_both_stages_go_all_the_way(data):
    fit = data("train", "d.csv", "-o", "m.h5", "--kernels", KERNELS, *QUICK, "--scale", "standard", "--json").json
    assert fit["status"] == "converged" and fit["kernels"][2] == "linear:raw@pooled"
    model = data("inspect", "m.h5", "--json").json
    assert [stage["block"] for stage in model["first_stage"]] == ["pooled", "others", "group"]
    assert [stage["model"]["method"] for stage in model["first_stage"]] == ["pooled", "stl", "groups"]
    assert all(stage["model"]["status"] == "converged" for stage in model["first_stage"])
    assert model["features"][4:] == ["@pooled", "@others:a", "@others:b", "@others:c", "@others:d", "@group"]
    for task in model["tasks"]:
        assert task["share_of_scores"] == pytest.approx(sum(task["theta"][2:]) / sum(task["theta"]))
    text = data("inspect", "m.h5").out
    assert "first stage" in text and "@group: method groups" in text and "of its kernel from scores" in text
    check = data("verify", "m.h5", "d.csv", "--json").json
    assert check["holds"] and any("had not seen them" in taken for taken in check["taken_from_model"])
    assert any(taken.startswith("first stage @group: which tasks") for taken in check["taken_from_model"])
    assert "new tasks would have to join" in data("extend", "m.h5", "new.csv", "-o", "e.h5", code=2).err


def test_predictions_follow_from_the_file_alone(data):
    """The second stage by numpy, from the file's own numbers and the first stage's predictions."""
    data("train", "d.csv", "-o", "m.h5", "--kernels", "linear:raw linear:raw@pooled", *QUICK, "--lambda", "0")
    with h5py.File(data.folder / "m.h5") as file:
        def decide(group, t, X):
            begin, end = group["tasks/support_offsets"][t:t + 2]
            Z = group["support_vectors/values"][:][group["tasks/support"][begin:end]]
            beta = group["tasks/alpha"][begin:end] * group["tasks/y"][begin:end]
            offsets, columns = group["kernels/column_offsets"][:], group["kernels/columns"][:]
            value = np.full(len(X), group["tasks/bias"][t])
            for m in range(len(offsets) - 1):
                block = columns[offsets[m]:offsets[m + 1]] if offsets[m + 1] > offsets[m] else slice(None)
                value += group["tasks/theta"][t, m] / group["kernels/divisors"][m] * (X[:, block] @ Z[:, block].T @ beta)
            return value
        table = list(csv.DictReader(io.StringIO((data.folder / "new.csv").read_text())))
        expected = []
        for t, name in enumerate(TASKS):
            X = np.array([[float(row[f]) for f in HEADER[:4]] for row in table if row["task"] == name])
            first = decide(file["first_stage/pooled"], 0, X)
            column = (first - file["first_stage/shift"][0]) * file["first_stage/factor"][0]
            expected.append(decide(file, t, np.column_stack([X, column])))
    np.testing.assert_allclose(scores(data, "m.h5", "new.csv"), np.concatenate(expected), atol=1e-9)


def test_borrowing_helps_where_tasks_are_alike(data):
    data.write("few.csv", csv_text(rows_of_one_classifier(8, 3), header=HEADER))
    common = ["--lambda", "0", "-C", "1"]
    data("train", "few.csv", "-o", "alone.h5", "--kernels", "gauss:2", *common)
    data("train", "few.csv", "-o", "both.h5", "--kernels", "gauss:2 linear:raw@pooled", "--first-stage", "folds=4", *common)
    assert accuracy(data, "both.h5") > accuracy(data, "alone.h5") + 0.03


def test_pairs_of_classes_have_others(coterie):
    random = np.random.default_rng(5)
    rows = [[*(f"{v:.4f}" for v in random.normal(size=3) + 2 * np.eye(3)[k]), "xyz"[k]] for k in range(3) for _ in range(15)]
    coterie.write("d.csv", csv_text(rows, header=["f1", "f2", "f3", "label"]))
    coterie("train", "d.csv", "--one-vs-one", "-o", "m.h5", "--kernels", "gauss:2 gauss:1@others", "--first-stage", "folds=3")
    assert coterie("verify", "m.h5", "d.csv", "--json").json["holds"]
    one, many = (coterie("predict", "m.h5", "d.csv", "--scores", "--threads", threads).out for threads in ("1", "2"))
    assert one == many and coterie("evaluate", "m.h5", "d.csv", "--json").json
    result = coterie("train", "d.csv", "--one-vs-one", "-o", "n.h5", "--kernels", "gauss:2 gauss:1@pooled", code=2)
    assert "labels that mean the same in all of them" in result.err and not (coterie.folder / "n.h5").exists()


def test_select_calibrate_and_path(data):
    out = data("select", "d.csv", "-o", "s.h5", "--kernels", "linear gauss:1@pooled", *QUICK, "--C", "0.5,4", "--lambda", "0,inf", "--folds", "3",
               "--normalise", "cosine,variance", "--calibrate", "platt", "--json").json
    assert out["fit"]["status"] == "converged" and out["value"] > 0.6
    assert data("verify", "s.h5", "d.csv", "--json").json["holds"]
    first = list(csv.DictReader(io.StringIO(data("predict", "s.h5", "new.csv").out)))[0]
    assert 0 < float(first["probability"]) < 1
    data("path", "d.csv", "-o", "p", "--kernels", "linear gauss:1 gauss:1@pooled", *QUICK, "--resolution", "0.3", "--groups", "2", "--model", "two.h5")
    assert data("verify", "two.h5", "d.csv", "--json").json["holds"]


@pytest.mark.parametrize("arguments, says", [
    (["--kernels", "linear@pooled", "--method", "pooled"], "needs a method with an SVM for every task"),
    (["--kernels", "linear", "--first-stage", "C=1"], "--first-stage"),
    (["--kernels", "linear@pooled", "--first-stage", "D=1"], "names 'D'"),
    (["--kernels", "linear@pooled", "--first-stage", "folds=1"], "folds is '1'"),
    (["--kernels", "linear@pooled", "--first-stage", "folds=500"], "different rows"),
    (["--kernels", "linear@pool"], "'pool' is neither a column nor a range"),
])
def test_what_makes_no_sense_is_said(data, arguments, says):
    result = data("train", "d.csv", "-o", "m.h5", *arguments, code=2)
    assert says in result.err


def test_a_second_run_and_threads_change_no_bit(data):
    for number, threads in enumerate(["1", "2"]):
        data("train", "d.csv", "-o", f"{number}.h5", "--kernels", KERNELS, *QUICK, "--threads", threads)
    assert (data.folder / "0.h5").read_bytes() == (data.folder / "1.h5").read_bytes()


def test_studies_have_scores_and_groups(data):
    data.write("plan.toml", """
seed = 1
repetitions = 2
shares = 0.4
[[dataset]]
name = "d"
files = "d.csv"
[[method]]
name = "borrowed"
kernels = ["linear", "linear gauss:1@pooled", "linear gauss:1@group"]
first_stage = "C=1 folds=2 restarts=1"
C = "1"
lambda = "0"
[[method]]
name = "groups"
method = "groups"
kernels = "linear"
C = "1"
parameters = { clusters = "1,2" }
""")
    data("experiment", "plan.toml", "-o", "out", environment={"COTERIE_DATA": str(data.folder)})
    text = (data.folder / "out" / "results.csv").read_text()
    assert "borrowed" in text and "groups" in text and "given clusters" in text
