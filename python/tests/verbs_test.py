"""Searching, paths, kernels at hand, methods, folds, the learnt kernel."""

import json
import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
from conftest import planted
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import coterie
from coterie import CoterieClassifier, CoterieClassifierCV, CoterieKernel, TaskStratifiedKFold

X, Y, NAMES = planted(rows=40)


def program(folder, *arguments):
    done = subprocess.run([os.environ["COTERIE_PROGRAM"], *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_table(folder):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(task=NAMES, label=Y)
    frame.to_csv(folder / "train.csv", index=False, float_format="%.17g")
    return frame.drop(columns="label"), frame["label"]


def test_a_search_is_the_program_s(tmp_path):
    frame, labels = write_table(tmp_path)
    out = program(
        tmp_path, "select", "train.csv", "-C", "0.1,1,10", "--lambda", "0,0.1max,0.5max,inf", "--norm", "1,inf", "--folds", 4, "--seed", 7,
        "--kernels", "linear gauss:1,4", "--score", "auc", "--alternatives", "none", "--json", "-o", "program.h5",
    )  # fmt: skip
    said = json.loads(out)
    search = CoterieClassifierCV(
        C=[0.1, 1, 10], lam=[0, "0.1max", "0.5max", "inf"], norm=[1, "inf"], cv=4, random_state=7, kernels="linear gauss:1,4",
        scoring="roc_auc", task_column="task",
    ).fit(frame, labels)  # fmt: skip
    search.save(tmp_path / "python.h5")
    assert (tmp_path / "program.h5").read_bytes() == (tmp_path / "python.h5").read_bytes()
    assert search.best_score_ == said["value"] and search.selection_["standard_error"] == said["standard_error"]
    results = search.cv_results_
    assert len(results["params"]) == 3 * (4 + 1)  # equal weights leave nothing to share
    best = results["params"].index(search.best_params_)
    assert results["rank_test_score"][best] == 1 and results["mean_test_score"].max() == search.best_score_
    assert results["cells"][best].shape == (4, 4)
    assert np.nanmean(results["cells"][best]) == pytest.approx(search.best_score_)
    assert search.selection_["judged_by"] == "4-fold cross-validation"


def test_a_search_is_that_of_scikit_learn():
    """The same points on the same folds by single fits: the same table, and the same model."""
    folds = 3
    points = {"C": [0.3, 3], "lam": ["0.1max", "0.6max"]}
    own = CoterieClassifierCV(**points, cv=folds, tol=1e-6).fit(X, Y, tasks=NAMES)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(task=NAMES)
    theirs = GridSearchCV(CoterieClassifier(task_column="task", tol=1e-6), points, cv=TaskStratifiedKFold(folds, task_column="task"))
    theirs.fit(frame, Y)
    # Folds differ, so scores do by chance; the model at equal settings does not.
    assert abs(own.best_score_ - theirs.best_score_) < 0.1
    same = CoterieClassifier(**own.best_params_ | {"norm": 1, "normalise": "cosine"}, tol=1e-6).fit(X, Y, tasks=NAMES)
    np.testing.assert_array_equal(own.kernel_weights_, same.kernel_weights_)
    np.testing.assert_array_equal(own.predict(X, tasks=NAMES), same.predict(X, tasks=NAMES))


def test_kinds_of_search():
    for how in ({"search": "coarse"}, {"cv": 0.3}, {"one_se": True}, {"scoring": "neg_log_loss", "calibrate": "platt"}):
        search = CoterieClassifierCV(C="2^-1..2^2", cv=how.pop("cv", 3), **how).fit(X, Y, tasks=NAMES)
        assert search.score(X, Y, tasks=NAMES) > 0.8
        if search.scoring == "neg_log_loss":
            assert search.best_score_ < 0
            assert search.predict_proba(X, tasks=NAMES).shape == (len(Y), 2)
        copy = pickle.loads(pickle.dumps(search))
        assert copy.best_params_ == search.best_params_ and copy.model_ == search.model_
        assert clone(search).get_params() == search.get_params()


def test_cheap_methods_beside_a_search():
    large = {"C": "2^-6..2^6", "lam": "0,0.03max,0.1max,0.3max,1max", "cv": 3}  # cheap ones may take a tenth of its time
    alone = CoterieClassifierCV(**large).fit(X, Y, tasks=NAMES)
    beside = CoterieClassifierCV(**large, alternatives=True).fit(X, Y, tasks=NAMES)
    assert alone.selection_["alternatives"] == [] and alone.model_ == beside.model_
    others = beside.selection_["alternatives"]
    assert others and all({"method", "score", "better", "better_error"} <= set(one) for one in others)


def test_a_search_over_parameters_of_a_method():
    search = CoterieClassifierCV(method="cmtl", method_params={"lambda": [0.01, 0.1, 1], "clusters": [1, 2]}, cv=3).fit(X, Y, tasks=NAMES)
    assert len(search.cv_results_["params"]) == 6 and set(search.best_params_) == {"lambda", "clusters"}
    assert search.coef_.shape == (4, 5)


@pytest.mark.parametrize(
    "parameters, kind, text",
    [
        ({"scoring": "f1"}, ValueError, "scoring is 'f1'; it must be one of 'accuracy'"),
        ({"search": "random"}, ValueError, "search is 'random'; it must be 'grid' or 'coarse'"),
        ({"cv": "loo"}, TypeError, "cv is 'loo'; it must be a number of folds, or a share"),
        ({"cv": 1}, ValueError, "cv|folds"),
        ({"cv": 500}, ValueError, "cv|folds"),
        ({"cv": 1.5}, ValueError, "hold_out"),
        ({"C": []}, TypeError, "C is .*; it must be a list of values"),
        ({"C": "wide"}, ValueError, "C"),
        ({"lam": [0.1, "0.1max"]}, ValueError, "lam"),
    ],
)
def test_wrong_searches(parameters, kind, text):
    with pytest.raises(kind, match=text):
        CoterieClassifierCV(**parameters).fit(X, Y, tasks=NAMES)


@pytest.mark.filterwarnings("ignore")
def test_the_searching_estimator_passes_the_checks():
    """Those that fit ten rows are content with an error; it is told to use as many folds as they have rows."""
    check_estimator(CoterieClassifierCV(C=[1], lam=["0.1max"], cv=2))


def test_the_path_holds_optima():
    path = coterie.path(X, Y, tasks=NAMES, C=2, kernels="linear gauss:1,4", hold_out=0.3, tol=1e-6)
    assert path.lam[0] == np.inf and path.lam[-1] == 0 and (np.diff(path.lam) < 0).all()
    assert path.weights.shape == (len(path.lam), 4, 3) and len(path.groups[0]) == 1
    assert (path.gap < 1e-6).all() and (0.5 < path.held_out_accuracy).all()
    assert np.diff(path.objective[1:]).max() <= 1e-6 * path.objective.max()  # less lambda, less to pay
    whole = coterie.path(X, Y, tasks=NAMES, C=2, kernels="linear gauss:1,4", tol=1e-6)
    place = len(whole.lam) // 2
    direct = CoterieClassifier(C=2, kernels="linear gauss:1,4", lam=whole.lam[place], tol=1e-6).fit(X, Y, tasks=NAMES)
    assert direct.certificate_.objective == pytest.approx(whole.objective[place], rel=2e-6)
    joined = whole.groups_at(1)
    assert sorted(joined[0]) == ["t0", "t1", "t2", "t3"]
    with pytest.raises(ValueError, match="no point of the path has 9 groups; there are points with 1"):
        whole.groups_at(9)
    with pytest.raises(TypeError, match="it takes none"):
        coterie.path(X, Y, tasks=NAMES, lam=3)


def grams(rows, columns):
    products = rows @ columns.T
    squares = (rows**2).sum(axis=1)[:, None] + (columns**2).sum(axis=1) - 2 * products
    return [products, np.exp(-squares / 2), np.exp(-squares / 18)]


def test_precomputed_kernels_equal_those_of_features():
    train, test = np.arange(0, 120), np.arange(120, 160)
    how = {"C": 2, "lam": "0.3max", "tol": 1e-8}
    by_features = CoterieClassifier(kernels="linear:raw gauss:1,3", **how).fit(X[train], Y[train], tasks=NAMES[train])
    given = CoterieClassifier(kernels="precomputed", **how).fit(grams(X[train], X[train]), Y[train], tasks=NAMES[train])
    np.testing.assert_allclose(given.kernel_weights_, by_features.kernel_weights_, atol=1e-4)
    cross = grams(X[test], X[train])
    np.testing.assert_allclose(
        given.decision_function(cross, tasks=NAMES[test]), by_features.decision_function(X[test], tasks=NAMES[test]), atol=1e-3
    )
    assert given.verify(grams(X[train], X[train]), Y[train], tasks=NAMES[train]).holds
    stacked = CoterieClassifier(kernels="precomputed", **how).fit(np.stack(grams(X[train], X[train])), Y[train], tasks=NAMES[train])
    np.testing.assert_array_equal(stacked.decision_function(np.stack(cross), tasks=NAMES[test]), given.decision_function(cross, tasks=NAMES[test]))


def test_a_search_slices_precomputed_kernels():
    how = {"C": [0.3, 3], "lam": ["0.3max", "1max"], "cv": 4, "tol": 1e-8}
    given = CoterieClassifierCV(kernels="precomputed", **how).fit(grams(X, X), Y, tasks=NAMES)
    by_features = CoterieClassifierCV(kernels="linear:raw gauss:1,3", **how).fit(X, Y, tasks=NAMES)
    np.testing.assert_allclose(given.cv_results_["mean_test_score"], by_features.cv_results_["mean_test_score"], atol=0.01)
    said = given.predict(grams(X, X), tasks=NAMES)
    assert np.mean(said == by_features.predict(X, tasks=NAMES)) > 0.98
    path = coterie.path(grams(X, X), Y, tasks=NAMES, kernels="precomputed", C=2)
    assert path.kernels == ["precomputed:K1:raw", "precomputed:K2:raw", "precomputed:K3:raw"] and (path.gap < 1e-4).all()


def test_one_precomputed_kernel_is_sliced_by_scikit_learn():
    y = X[:, 0] + 0.3 * X[:, 1] > 0
    K = grams(X, X)[0]
    folds = StratifiedKFold(4)
    by_kernel = cross_val_score(CoterieClassifier(kernels="precomputed"), K, y, cv=folds)
    by_features = cross_val_score(CoterieClassifier(kernels="linear:raw"), X, y, cv=folds)
    np.testing.assert_allclose(by_kernel, by_features)
    assert by_kernel.mean() > 0.9
    svm = cross_val_score(SVC(kernel="precomputed"), K, y, cv=folds)
    assert abs(by_kernel.mean() - svm.mean()) < 0.02


def test_precomputed_models_in_files(tmp_path):
    K = grams(X, X)
    model = CoterieClassifier(kernels="precomputed").fit(K, Y, tasks=NAMES)
    model.save(tmp_path / "model.h5")
    loaded = coterie.load(tmp_path / "model.h5")
    np.testing.assert_array_equal(loaded.decision_function(K, tasks=NAMES), model.decision_function(K, tasks=NAMES))


@pytest.mark.parametrize("method", [method.name for method in coterie.methods()])
def test_every_method_fits_predicts_and_is_checked(method, tmp_path):
    model = CoterieClassifier(method=method, lam=0.3 if method == "coterie" else "0.1max")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", coterie.Note)
        model.fit(X, Y, tasks=NAMES)
    assert model.score(X, Y, tasks=NAMES) > 0.7
    assert sorted(sum(model.groups_, [])) == ["t0", "t1", "t2", "t3"]
    assert model.verify(X, Y, tasks=NAMES).holds
    linear = next(one.linear for one in coterie.methods() if one.name == method)
    assert hasattr(model, "coef_") == linear and hasattr(model, "kernel_weights_") != linear
    model.save(tmp_path / "model.h5")
    np.testing.assert_array_equal(coterie.load(tmp_path / "model.h5").decision_function(X, tasks=NAMES), model.decision_function(X, tasks=NAMES))


@pytest.mark.parametrize("method", [method.name for method in coterie.methods()])
def test_weights_of_rows_with_every_method(method):
    """They are costs, which verify recomputes, or they are refused."""
    weight = np.random.RandomState(1).uniform(0.2, 3, len(Y))
    model = CoterieClassifier(method=method, lam="0.1max")
    if method == "groups" or next(one.linear for one in coterie.methods() if one.name == method):
        with pytest.raises(ValueError, match=f"sample_weight: the method {method} has no weights of rows"):
            model.fit(X, Y, tasks=NAMES, sample_weight=weight)
        return
    model.fit(X, Y, tasks=NAMES, sample_weight=weight)
    assert model.verify(X, Y, tasks=NAMES, sample_weight=weight).holds
    assert model.certificate_.objective != CoterieClassifier(method=method, lam="0.1max").fit(X, Y, tasks=NAMES).certificate_.objective
    with pytest.raises(ValueError, match="not the training data"):
        model.verify(X, Y, tasks=NAMES)


@pytest.mark.parametrize("method", ["coterie", "stl", "pooled", "joint"])
def test_balanced_is_over_the_rows_that_are_together(method):
    """Of every task, or of all rows where they are one pool: n / (2 n of the class)."""
    rare = (Y > 0) & (NAMES == "t1") & (np.arange(len(Y)) % 3 > 0)  # shares of classes that differ between tasks
    X_, Y_, names = X[~rare], Y[~rare], NAMES[~rare]
    weight = np.empty(len(Y_))
    together = [names == task for task in np.unique(names)] if method in ("coterie", "stl") else [np.ones(len(Y_), dtype=bool)]
    for rows in together:
        for label in (-1, 1):
            weight[rows & (Y_ == label)] = rows.sum() / (2 * (rows & (Y_ == label)).sum())
    balanced = CoterieClassifier(method=method, class_weight="balanced", tol=1e-9).fit(X_, Y_, tasks=names)
    weighted = CoterieClassifier(method=method, tol=1e-9).fit(X_, Y_, tasks=names, sample_weight=weight)
    assert balanced.certificate_.objective == pytest.approx(weighted.certificate_.objective, rel=1e-8)
    plain = CoterieClassifier(method=method, tol=1e-9).fit(X_, Y_, tasks=names)
    assert plain.certificate_.objective != pytest.approx(balanced.certificate_.objective, rel=1e-4)


def test_weights_of_rows_in_a_search():
    weight = np.random.RandomState(1).uniform(0.2, 3, len(Y))
    search = CoterieClassifierCV(C=[0.1, 1], lam=["0.1max"], cv=3).fit(X, Y, tasks=NAMES, sample_weight=weight)
    same = CoterieClassifier(C=search.best_params_["C"]).fit(X, Y, tasks=NAMES, sample_weight=weight)
    np.testing.assert_array_equal(search.kernel_weights_, same.kernel_weights_)
    plain = CoterieClassifierCV(C=[0.1, 1], lam=["0.1max"], cv=3).fit(X, Y, tasks=NAMES)
    assert any((a != b).any() for a, b in zip(search.cv_results_["cells"], plain.cv_results_["cells"]))


def test_evaluate():
    model = CoterieClassifier(calibrate="platt").fit(X, Y, tasks=NAMES)
    found = model.evaluate(X, Y, tasks=NAMES)
    assert found["accuracy"] == model.score(X, Y, tasks=NAMES) and found["n"] == 160
    said = model.predict(X, tasks=NAMES)
    for task in found["tasks"]:
        rows = NAMES == task["name"]
        assert task["errors"] == (said != Y)[rows].sum() and 0 < task["log_loss"] < 1
    assert found["confusion"].sum() == 160


def test_the_learnt_kernel_is_that_of_the_decision_values():
    model = CoterieClassifier(kernels="linear gauss:1,4", scale="standard", normalise="variance").fit(X, Y, tasks=NAMES)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    unit = scaled / np.linalg.norm(scaled, axis=1)[:, None]
    divisors = model.model_.parts()["divisors"]
    base = [unit @ unit.T, *grams(scaled, scaled)[1:2], np.exp(np.log(grams(scaled, scaled)[1]) / 16)]
    for task, weights in zip(model.tasks_, model.kernel_weights_):
        expected = sum(weight / divisor * K for weight, divisor, K in zip(weights, divisors, base))
        np.testing.assert_allclose(model.combined_kernel(X, task=task), expected, atol=1e-12)
    mean = np.mean([model.combined_kernel(X, task=task) for task in model.tasks_], axis=0)
    np.testing.assert_allclose(model.combined_kernel(X), mean, atol=1e-12)
    assert model.combined_kernel(X[:3], X).shape == (3, 160)


def test_the_learnt_kernel_as_a_transformer():
    y = X[:, 0] + 0.3 * X[:, 1] > 0
    model = make_pipeline(CoterieKernel(CoterieClassifier(C=5)), SVC(kernel="precomputed"))
    assert cross_val_score(model, X, y).mean() > 0.9
    frame = pd.DataFrame(X, columns=list("abcde")).assign(task=NAMES)
    kernel = CoterieKernel(CoterieClassifier(task_column="task"), task="t1").fit(frame, Y)
    values = kernel.transform(frame[:10])
    np.testing.assert_array_equal(values, kernel.classifier_.combined_kernel(X[:10], X, task="t1"))
    check_estimator(CoterieKernel())


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("folds", [2, 3, 5])
def test_folds_keep_every_class_of_every_task(folds, shuffle):
    splitter = TaskStratifiedKFold(folds, shuffle=shuffle, random_state=3 if shuffle else None)
    held = np.zeros(len(Y), dtype=int)
    for train, test in splitter.split(X, Y, NAMES):
        held[test] += 1
        assert len(np.intersect1d(train, test)) == 0 and len(train) + len(test) == len(Y)
        for task in np.unique(NAMES):
            for label in (-1, 1):
                rows = np.flatnonzero((NAMES == task) & (Y == label))
                inside = np.isin(rows, test).sum()
                assert len(rows) // folds <= inside <= -(-len(rows) // folds)
    assert (held == 1).all() and splitter.get_n_splits() == folds


def test_folds_by_a_column():
    frame = pd.DataFrame(X).assign(task=NAMES)
    by_column = list(TaskStratifiedKFold(3, task_column="task").split(frame, Y))
    by_groups = list(TaskStratifiedKFold(3).split(X, Y, NAMES))
    for (a, b), (c, d) in zip(by_column, by_groups):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)
    with pytest.raises(ValueError, match="the labels are needed"):
        next(TaskStratifiedKFold(2).split(X))
    with pytest.raises(ValueError, match="n_splits is 1"):
        next(TaskStratifiedKFold(1).split(X, Y))
    with pytest.raises(ValueError, match="a single row in a task"):
        next(TaskStratifiedKFold(2).split(X[:3], [0, 0, 1]))
