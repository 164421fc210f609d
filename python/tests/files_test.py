"""What comes back from a file: parameters, labels, and numbers of tables."""

import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import planted
from sklearn.base import clone

import coterie
from coterie import CoterieClassifier, CoterieClassifierCV, load

X, Y, NAMES = planted()
MANY = np.digitize(X[:, 0], [-0.5, 0.5])


def saved(estimator, folder):
    estimator.save(folder / "model.h5")
    return load(folder / "model.h5"), (folder / "model.h5").read_bytes()


# ---- parameters ----

METHODS = {method.name: {"method": method.name} for method in coterie.methods()}
OTHERS = {
    "numbers": {"C": 0.1, "lam": 1.7, "norm": 1.5, "tol": 1e-5, "class_weight": "balanced", "scale": "standard", "smooth": 2},
    "infinite": {"lam": "inf", "norm": float("inf")},
    "platt": {"calibrate": "platt"},
    "isotonic": {"calibrate": "isotonic", "method": "stl"},
    "C of tasks": {"task_C": {"t1": 0.3, "t2": 7}, "C": 2.5},
    "linear": {"method": "cmtl", "method_params": {"lambda": 0.5, "clusters": 3}, "loss": "logistic", "calibrate": "platt"},
    "mapped": {"method": "metag", "map": "kernels:20", "kernels": "linear gauss:2", "normalise": "variance"},
    "first stage": {"kernels": "linear gauss:1@pooled", "first_stage": {"C": 3, "folds": 4}},
    "precomputed": {"kernels": "precomputed"},
}


@pytest.mark.filterwarnings("ignore::coterie.Note")
@pytest.mark.parametrize("name", {**METHODS, **OTHERS})
def test_a_loaded_model_can_be_fitted_anew(name, tmp_path):
    parameters = {**METHODS, **OTHERS}[name]
    data = X @ X.T if name == "precomputed" else X
    loaded, bytes = saved(CoterieClassifier(**parameters).fit(data, Y, tasks=NAMES), tmp_path)
    again = clone(loaded).fit(data, Y, tasks=NAMES)
    assert saved(again, tmp_path)[1] == bytes
    for key in ("calibrate", "task_C"):
        assert getattr(loaded, key) == parameters.get(key)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes_can_be_fitted_anew(multi_class, tmp_path):
    task = {"ovo": "0|2", "ovr": "1"}[multi_class]
    model = CoterieClassifier(multi_class=multi_class).fit(X, MANY)
    model.set_params(task_C={[name for name in model.tasks_ if name.startswith(task)][0]: 4.0}).fit(X, MANY)
    loaded, bytes = saved(model, tmp_path)
    assert loaded.task_C == model.task_C and saved(clone(loaded).fit(X, MANY), tmp_path)[1] == bytes


@pytest.mark.parametrize("options", [["--method", "mtl"], ["--method", "cmtl"], ["--method", "joint", "--kernels", "linear gauss:2"]])
def test_models_of_the_program_can_be_fitted_anew(options, program, tmp_path):
    """Its settings that mean nothing for the method come back as if never given."""
    frame = pd.DataFrame(X, columns=list("abcde")).assign(task=NAMES, label=Y)
    frame.to_csv(tmp_path / "train.csv", index=False, float_format="%.17g")
    program("train", "train.csv", *options, "-o", "program.h5")
    loaded = load(tmp_path / "program.h5")
    assert loaded.lam == "0.1max"
    again = clone(loaded).fit(frame.drop(columns="label"), frame["label"])
    assert saved(again, tmp_path)[1] == (tmp_path / "program.h5").read_bytes()


def test_a_search_comes_back_as_what_was_chosen(tmp_path):
    search = CoterieClassifierCV(C=[0.1, 3], lam=["0.1max"], cv=2, calibrate="platt", random_state=7).fit(X, Y, tasks=NAMES)
    loaded = saved(search, tmp_path)[0]
    assert loaded.C == search.best_params_["C"] and loaded.calibrate == "platt"


def test_tasks_that_were_added_have_no_C_to_fit_with(tmp_path):
    old = NAMES != "t3"
    model = CoterieClassifier(task_C={"t0": 2.0}).fit(X[old], Y[old], tasks=NAMES[old]).extend(X[~old], Y[~old], tasks=NAMES[~old], C=5, calibrate="platt")
    loaded = saved(model, tmp_path)[0]
    assert loaded.task_C == {"t0": 2.0} and loaded.calibrate is None


def test_what_a_file_says_is_no_check_of_the_file(tmp_path):
    """C of tasks that was loaded with the model is taken from it; given anew it is checked."""
    loaded = saved(CoterieClassifier(task_C={"t1": 3}).fit(X, Y, tasks=NAMES), tmp_path)[0]
    for one in (loaded, pickle.loads(pickle.dumps(loaded))):
        found = one.verify(X, Y, tasks=NAMES)
        assert found.holds and any("the C of 1 of 4 tasks" in text for text in found.taken)
    found = loaded.set_params(task_C={"t1": 3}).verify(X, Y, tasks=NAMES)
    assert found.holds and not any("the C of" in text for text in found.taken)
    assert not loaded.set_params(task_C={"t1": 4}).verify(X, Y, tasks=NAMES).holds


# ---- labels ----

LABELS = {
    "truth": [False, True],
    "digits as texts": ["0", "1"],
    "numbers": [0, 1],
    "halves as texts": ["1.5", "2.5"],
    "words": ["no", "yes"],
    "no numbers": ["inf", "nan"],
    "half a number": ["-inf", "1"],
    "too large": ["1e999", "2"],
}


@pytest.mark.parametrize("name", LABELS)
def test_a_loaded_model_has_the_scores_of_its_own(name, tmp_path):
    y = np.array(LABELS[name])[(Y > 0).astype(int)]
    y = np.where(np.arange(len(y)) % 10 == 0, y[::-1], y)  # some are wrong
    model = CoterieClassifier().fit(X, y, tasks=NAMES)
    loaded = saved(model, tmp_path)[0]
    score = np.mean(model.predict(X, tasks=NAMES) == y)
    assert 0.7 < score < 1
    weight = np.linspace(0, 1, len(y))
    for one in (model, loaded):
        assert one.score(X, y, tasks=NAMES) == pytest.approx(score, abs=1e-15)
        assert one.evaluate(X, y, tasks=NAMES)["accuracy"] == pytest.approx(score, abs=1e-15)
        assert one.score(X, y, tasks=NAMES, sample_weight=weight) == pytest.approx(np.average(model.predict(X, tasks=NAMES) == y, weights=weight))
        assert one.verify(X, y, tasks=NAMES).holds
    assert [str(label) for label in sorted(loaded.classes_.tolist())] == sorted(str(label) for label in LABELS[name])
    assert (loaded.classes_.dtype.kind in "if") == (name in ("digits as texts", "numbers", "halves as texts"))


def test_labels_that_a_model_does_not_know_are_wrong():
    model = CoterieClassifier().fit(X, Y, tasks=NAMES)
    assert model.score(X, np.where(Y > 0, 1, 5), tasks=NAMES) == np.mean(model.predict(X, tasks=NAMES)[Y > 0] == 1) * np.mean(Y > 0)
    with pytest.raises(ValueError, match="y is None; score needs the true labels"):
        model.score(X, None, tasks=NAMES)


# ---- tables ----


def test_tables_are_read_to_the_last_bit(program, tmp_path):
    frame = pd.DataFrame(np.random.RandomState(3).randn(60, 4) * 1e-3, columns=list("abcd"))
    frame.assign(label=np.where(frame["a"] > 0, "yes", "no")).to_csv(tmp_path / "train.csv", index=False)
    program("train", "train.csv", "-o", "model.h5")
    exact = pd.read_csv(tmp_path / "train.csv", float_precision="round_trip")
    assert load(tmp_path / "model.h5").verify(exact.drop(columns="label"), exact["label"]).holds
    np.testing.assert_array_equal(exact.drop(columns="label"), frame)
    rounded = pd.read_csv(tmp_path / "train.csv", float_precision="high")
    assert (rounded["a"] != exact["a"]).any()  # why the documentation says so
    with pytest.raises(ValueError, match="not the training data"):
        load(tmp_path / "model.h5").verify(rounded.drop(columns="label"), rounded["label"])


def test_a_task_graph_comes_back(tmp_path):
    graph = [("t0", "t1", 1.0), ("t1", "t3", 0.5)]
    model = CoterieClassifier(task_graph=graph).fit(X, Y, tasks=NAMES)
    loaded, bytes = saved(model, tmp_path)
    assert sorted(loaded.task_graph) == graph
    assert saved(clone(loaded).fit(X, Y, tasks=NAMES), tmp_path)[1] == bytes
    assert loaded.verify(X, Y, tasks=NAMES).holds
    assert CoterieClassifier().fit(X, Y, tasks=NAMES).model_.task_graph is None
