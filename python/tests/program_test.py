"""The package and the program are the same thing: equal models to the last byte, and files that cross both ways."""

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from conftest import planted

import coterie
from coterie import CoterieClassifier, load, save
from coterie._settings import without_use

PAPER = "paper"


@pytest.fixture
def table(tmp_path):
    X, y, names = planted()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"])
    frame["task"] = names
    frame["label"] = np.where(y > 0, "yes", "no")
    frame.to_csv(tmp_path / "train.csv", index=False, float_format="%.17g")
    return frame


CASES = {
    "defaults": ([], {}),
    "settings": (
        ["-C", 3, "--lambda", "0.25max", "--norm", 2, "--kernels", "linear gauss:1,2@a-c laplace:3", "--normalise", "variance", "--scale", "standard"],
        {"C": 3, "lam": "0.25max", "norm": 2, "kernels": ["linear", "gauss:1,2@a-c", "laplace:3"], "normalise": "variance", "scale": "standard"},
    ),
    "numbers": (["-C", "0.1", "--lambda", "1.7", "--tolerance", "1e-6", "--class-weight", "balanced"], {"C": 0.1, "lam": 1.7, "tol": 1e-6, "class_weight": "balanced"}),
    "common": (["--lambda", "inf", "--calibrate", "platt"], {"lam": float("inf"), "calibrate": "platt"}),
    "columns": (["--kernels", "linear gauss:1@each", "--smooth", "3"], {"kernels": "linear gauss:1@each", "smooth": 3}),
    "linear": (["--method", "cmtl", "--parameters", "lambda=0.5 clusters=2", "--loss", "logistic"], {"method": "cmtl", "method_params": {"lambda": 0.5, "clusters": 2}, "loss": "logistic"}),
    "first stage": (["--kernels", "linear gauss:1@pooled"], {"kernels": "linear gauss:1@pooled"}),
}


@pytest.mark.parametrize("name", CASES)
def test_same_data_and_settings_give_the_same_file(program, table, tmp_path, name):
    options, parameters = CASES[name]
    program("train", "train.csv", *options, "-o", "program.h5")
    parameters = {"kernels": PAPER, "task_column": "task", **parameters}
    model = CoterieClassifier(**parameters).fit(table.drop(columns="label"), table["label"])
    save(model, tmp_path / "python.h5")
    assert (tmp_path / "program.h5").read_bytes() == (tmp_path / "python.h5").read_bytes()


@pytest.mark.parametrize("multi_class, option", [("ovo", "--one-vs-one"), ("ovr", "--one-vs-rest")])
def test_many_classes(program, table, tmp_path, multi_class, option):
    table["label"] = np.digitize(table["a"], [-0.4, 0.4])
    table.drop(columns="task").to_csv(tmp_path / "train.csv", index=False, float_format="%.17g")
    program("train", "train.csv", option, "-o", "program.h5")
    X, y = table.drop(columns=["label", "task"]), table["label"]
    CoterieClassifier(kernels=PAPER, multi_class=multi_class).fit(X, y).save(tmp_path / "python.h5")
    assert (tmp_path / "program.h5").read_bytes() == (tmp_path / "python.h5").read_bytes()
    loaded = load(tmp_path / "program.h5")
    assert loaded.classes_.tolist() == [0, 1, 2]
    program("predict", "program.h5", "train.csv", "-o", "said.csv")
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "said.csv")["label"], loaded.predict(X))


def test_predictions_have_the_same_bits(program, table, tmp_path):
    program("train", "train.csv", "--calibrate", "platt", "-o", "program.h5")
    program("predict", "program.h5", "train.csv", "-o", "said.csv")
    said = pd.read_csv(tmp_path / "said.csv", float_precision="round_trip")
    model = load(tmp_path / "program.h5")
    rows = table.drop(columns="label")
    np.testing.assert_array_equal(model.predict(rows), said["label"])
    np.testing.assert_array_equal(model.decision_function(rows), said["score"])
    np.testing.assert_array_equal(model.predict_proba(rows), np.column_stack([1 - said["probability"], said["probability"]]))
    assert model.verify(rows, table["label"]).holds


def test_the_program_reads_what_python_wrote(program, table, tmp_path):
    X, y, names = planted()
    CoterieClassifier(C=2).fit(X, y, tasks=names).save(tmp_path / "python.h5")
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(1, 6)]).assign(task=names, label=y)
    frame.to_csv(tmp_path / "again.csv", index=False, float_format="%.17g")
    assert json.loads(program("verify", "python.h5", "again.csv", "--json"))["holds"]
    inspected = json.loads(program("inspect", "python.h5", "--json"))
    model = load(tmp_path / "python.h5")
    assert [task["name"] for task in inspected["tasks"]] == list(model.tasks_) and inspected["groups"] == model.groups_
    np.testing.assert_array_equal([task["theta"] for task in inspected["tasks"]], model.kernel_weights_)


def test_extensions_are_the_same(program, table, tmp_path):
    old, new = table[table["task"] != "t3"], table[table["task"] == "t3"]
    old.to_csv(tmp_path / "old.csv", index=False, float_format="%.17g")
    new.to_csv(tmp_path / "new.csv", index=False, float_format="%.17g")
    program("train", "old.csv", "--calibrate", "platt", "-o", "model.h5")
    program("extend", "model.h5", "new.csv", "--calibrate", "platt", "--lambda", "0.4", "-o", "program.h5")
    model = CoterieClassifier(kernels=PAPER, task_column="task", calibrate="platt").fit(old.drop(columns="label"), old["label"])
    before = model.kernel_weights_
    model.extend(new.drop(columns="label"), new["label"], lam=0.4, calibrate="platt").save(tmp_path / "python.h5")
    assert (tmp_path / "program.h5").read_bytes() == (tmp_path / "python.h5").read_bytes()
    np.testing.assert_array_equal(model.kernel_weights_[:3], before)
    rows = table.drop(columns="label")
    np.testing.assert_array_equal(load(tmp_path / "program.h5").predict_proba(rows), model.predict_proba(rows))
    assert list(model.tasks_)[-1] == "t3" and model.certificate_.converged
    assert model.verify(new.drop(columns="label"), new["label"]).holds
    assert model.verify(old.drop(columns="label"), old["label"]).holds


OPTIONS = {
    "C": ("--C", "3"),
    "lam": ("--lambda", "5"),
    "norm": ("--norm", "2"),
    "kernels": ("--kernels", "linear"),
    "normalise": ("--normalise", "variance"),
    "scale": ("--scale", "minmax"),
    "smooth": ("--smooth", "2"),
    "class_weight": ("--class-weight", "balanced"),
    "tol": ("--tolerance", "0.01"),
    "max_steps": ("--max-steps", "7"),
    "solver": ("--solver", "newton"),
    "loss": ("--loss", "logistic"),
    "map": ("--map", "none"),
    "first_stage": ("--first-stage", "C=1"),
    "task_C": ("--task-C", "costs.csv"),
    "task_graph": ("--task-graph", "graph.csv"),
}


MORE = [(method.name, {}) for method in coterie.methods()]
MORE += [(method.name, {"map": "kernels"}) for method in coterie.methods() if method.linear]
MORE += [(method, {"kernels": "linear gauss:1@f1+pooled"}) for method in ("coterie", "stl", "mtl")]


@pytest.mark.parametrize("method, more", MORE, ids=[" ".join([method, *more]) for method, more in MORE])
def test_the_same_parameters_have_no_meaning(method, more, tmp_path):
    """Which ones: the program says so before it looks for the data, which is not there."""
    fixed = [part for name, value in more.items() for part in (OPTIONS[name][0], value)]
    refused = set()
    for name in OPTIONS.keys() - more.keys():
        option, value = OPTIONS[name]
        command = [os.environ["COTERIE_PROGRAM"], "train", "nothing.csv", "--method", method, *fixed, option, value, "-o", "model.h5"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        if f"{option} has no meaning" in done.stderr:
            refused.add(name)
        else:
            assert "nothing.csv: there is no such file" in done.stderr, done.stderr
    assert refused == set(without_use(CoterieClassifier(method=method, **more)))
