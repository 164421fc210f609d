"""A column of tasks through what scikit-learn does with estimators: the answers are those of direct calls."""

import pickle
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.utils.validation
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from coterie import CoterieClassifier, load

FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


def direct(frame, y, train, test, **settings):
    """Fitted and predicted with the tasks given by themselves."""
    rows = frame.drop(columns="site").to_numpy()
    names = frame["site"].to_numpy()
    model = CoterieClassifier(**settings).fit(rows[train], y.to_numpy()[train], tasks=names[train])
    return model, model.predict(rows[test], tasks=names[test]), model.decision_function(rows[test], tasks=names[test])


def folds_of(frame, y):
    return list(FOLDS.split(frame, y))


def test_a_column_is_as_good_as_tasks_of_their_own(frame, tasks):
    table, y = frame
    X, labels, names = tasks
    by_column = CoterieClassifier(C=3, task_column="site").fit(table, y)
    by_tasks = CoterieClassifier(C=3).fit(X, labels, tasks=names)
    assert list(by_column.tasks_) == list(by_tasks.tasks_) and set(by_column.tasks_) == {"t0", "t1", "t2", "t3"}
    np.testing.assert_array_equal(by_column.kernel_weights_, by_tasks.kernel_weights_)
    np.testing.assert_array_equal(by_column.decision_function(table), by_tasks.decision_function(X, tasks=names))
    assert by_column.n_features_in_ == 6 and by_tasks.n_features_in_ == 5
    assert list(by_column.feature_names_in_) == list(table.columns)
    # The same from an array, by number, counted from either end.
    for place in (2, -4):
        array = table.to_numpy(dtype=object)
        again = CoterieClassifier(C=3, task_column=place).fit(array, labels)
        np.testing.assert_array_equal(again.kernel_weights_, by_tasks.kernel_weights_)
        np.testing.assert_array_equal(again.predict(array), by_tasks.predict(X, tasks=names))


def test_numbers_name_tasks(tasks):
    X, y, names = tasks
    numbers = np.array([int(name[1:]) for name in names])
    whole = CoterieClassifier(task_column=0).fit(np.column_stack([numbers, X]), y)
    texts = CoterieClassifier().fit(X, y, tasks=numbers.astype(str))
    assert list(whole.tasks_) == list(texts.tasks_)
    np.testing.assert_array_equal(whole.kernel_weights_, texts.kernel_weights_)


def test_cross_val_score(frame):
    table, y = frame
    scores = cross_val_score(CoterieClassifier(task_column="site"), table, y, cv=FOLDS)
    expected = [np.mean(direct(table, y, train, test)[1] == y.to_numpy()[test]) for train, test in folds_of(table, y)]
    np.testing.assert_array_equal(scores, expected)
    assert np.mean(scores) > 0.75  # what the column is for: without it tasks of unlike labels are mixed
    blind = cross_val_score(CoterieClassifier(), table.drop(columns="site"), y, cv=FOLDS)
    assert np.mean(blind) < np.mean(scores) - 0.1


@pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy", "f1"])
def test_scorers_see_the_tasks(frame, scoring):
    from sklearn.metrics import get_scorer

    table, y = frame
    scores = cross_val_score(CoterieClassifier(task_column="site"), table, y, cv=FOLDS, scoring=scoring)
    for score, (train, test) in zip(scores, folds_of(table, y)):
        _, said, decision = direct(table, y, train, test)
        metric = get_scorer(scoring)._score_func
        assert score == pytest.approx(metric(y.to_numpy()[test], decision if scoring == "roc_auc" else said), abs=0)


@pytest.mark.parametrize("how", ["predict", "decision_function"])
def test_cross_val_predict(frame, how):
    table, y = frame
    found = cross_val_predict(CoterieClassifier(task_column="site"), table, y, cv=FOLDS, method=how)
    for train, test in folds_of(table, y):
        np.testing.assert_array_equal(found[test], direct(table, y, train, test)[1 if how == "predict" else 2])


def test_pipeline_with_a_column_transformer(frame):
    table, y = frame
    transform = ColumnTransformer([("site", "passthrough", ["site"]), ("scale", StandardScaler(), make_column_selector(dtype_include=float))])
    model = Pipeline([("columns", transform), ("classify", CoterieClassifier(task_column=0, C=2))]).fit(table, y)
    rows = StandardScaler().fit_transform(table.drop(columns="site"))
    expected = CoterieClassifier(C=2).fit(rows, y, tasks=table["site"])
    np.testing.assert_array_equal(model.predict(table), expected.predict(rows, tasks=table["site"]))
    np.testing.assert_array_equal(model.decision_function(table), expected.decision_function(rows, tasks=table["site"]))
    transform.set_output(transform="pandas")
    named = Pipeline([("columns", transform), ("classify", CoterieClassifier(task_column="site__site", C=2))]).fit(table, y)
    np.testing.assert_array_equal(named.decision_function(table), model.decision_function(table))


def test_grid_search(frame):
    table, y = frame
    grid = {"C": [0.1, 10], "lam": ["0.1max", "inf", 0]}
    search = GridSearchCV(CoterieClassifier(task_column="site"), grid, cv=FOLDS).fit(table, y)
    best = -1.0
    for place, point in enumerate(search.cv_results_["params"]):
        mean = np.mean([np.mean(direct(table, y, train, test, **point)[1] == y.to_numpy()[test]) for train, test in folds_of(table, y)])
        assert search.cv_results_["mean_test_score"][place] == pytest.approx(mean, abs=1e-15)
        best = max(best, mean)
    assert search.best_score_ == pytest.approx(best, abs=1e-15) and best > 0.75
    everything = direct(table, y, np.arange(len(y)), np.arange(len(y)), **search.best_params_)
    np.testing.assert_array_equal(search.predict(table), everything[1])


def test_calibrated_classifier(frame):
    table, y = frame
    model = CalibratedClassifierCV(CoterieClassifier(task_column="site"), cv=KFold(3), method="sigmoid").fit(table, y)
    for (train, test), fitted in zip(KFold(3).split(table), model.calibrated_classifiers_):
        _, _, decision = direct(table, y, train, test)
        inner = getattr(fitted, "estimator", None) or fitted.base_estimator
        np.testing.assert_array_equal(inner.decision_function(table.iloc[test]), decision)
    probability = model.predict_proba(table)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert np.mean(model.predict(table) == y) > 0.8


def test_bagging_passes_arrays(frame):
    """Some meta-estimators drop the names of columns: a number finds the task all the same."""
    table, y = frame
    numbers = table.assign(site=[int(name[1:]) for name in table["site"]])
    model = BaggingClassifier(CoterieClassifier(task_column=2), n_estimators=2, max_samples=0.8, random_state=0).fit(numbers, y)
    assert np.mean(model.predict(numbers) == y) > 0.75


def test_own_probabilities(frame):
    table, y = frame
    model = CoterieClassifier(task_column="site", calibrate="platt").fit(table, y)
    probability = model.predict_proba(table)
    np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-15)
    decision = model.decision_function(table)
    for name in model.tasks_:
        rows = (table["site"] == name).to_numpy()
        order = np.argsort(decision[rows])
        assert (np.diff(probability[rows, 1][order]) >= 0).all()
    plain = CoterieClassifier(task_column="site").fit(table, y)
    np.testing.assert_array_equal(plain.decision_function(table), decision)
    with pytest.raises(AttributeError, match="calibrate='platt' or 'isotonic'"):
        plain.predict_proba(table)
    scores = cross_val_score(CoterieClassifier(task_column="site", calibrate="isotonic"), table, y, cv=FOLDS, scoring="neg_log_loss")
    assert np.mean(scores) > -0.65


def test_copies(frame, tmp_path):
    table, y = frame
    model = CoterieClassifier(task_column="site", C=3, calibrate="platt", new_task="common", random_state=5).fit(table, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert copy.get_params() == model.get_params()
        assert copy.model_ == model.model_
        np.testing.assert_array_equal(copy.decision_function(table), model.decision_function(table))
        np.testing.assert_array_equal(copy.predict_proba(table), model.predict_proba(table))
    fresh = clone(model)
    assert fresh.get_params() == model.get_params() and not hasattr(fresh, "model_") and not hasattr(fresh, "tasks_")
    np.testing.assert_array_equal(fresh.fit(table, y).decision_function(table), model.decision_function(table))
    model.save(tmp_path / "model.h5")
    loaded = load(tmp_path / "model.h5")
    np.testing.assert_array_equal(loaded.decision_function(table.iloc[:, ::-1]), model.decision_function(table))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert loaded.task_column == "site" and loaded.classes_.tolist() == [-1, 1] and loaded.n_features_in_ == 6


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(frame, backend):
    table, y = frame
    alone = cross_val_score(CoterieClassifier(task_column="site"), table, y, cv=FOLDS)
    with joblib.parallel_backend(backend, n_jobs=2):
        np.testing.assert_array_equal(cross_val_score(CoterieClassifier(task_column="site", n_jobs=-1), table, y, cv=FOLDS, n_jobs=2), alone)


def test_a_data_frame_may_have_other_types(frame):
    table, y = frame
    model = CoterieClassifier(task_column="site").fit(table, y)
    other = table.astype({"site": "category", "x0": "Float64"})
    np.testing.assert_array_equal(model.decision_function(other), model.decision_function(table))
    text = y.map({-1: "no", 1: "yes"}).astype("category")
    named = CoterieClassifier(task_column="site").fit(table, text)
    assert list(named.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(named.predict(table) == "yes", model.predict(table) == 1)


@pytest.mark.parametrize("labels", [["9", "10"], [True, False], [2.5, -1.0], ["b", "a"], [np.int8(3), np.int8(1)]])
def test_labels_of_all_kinds(tasks, labels):
    """classes_ is sorted as NumPy does, whatever the order of the core, and positive scores are for classes_[1]."""
    X, y, names = tasks
    mine = np.array(labels)[(y > 0).astype(int)]
    if mine.dtype.kind == "f":
        mine = np.where(mine == 2.5, 2.0, -1.0)
    model = CoterieClassifier().fit(X, mine, tasks=names)
    np.testing.assert_array_equal(model.classes_, np.unique(mine))
    said, decision = model.predict(X, tasks=names), model.decision_function(X, tasks=names)
    np.testing.assert_array_equal(said == model.classes_[1], decision > 0)
    assert np.mean(said == mine) > 0.9


def test_many_classes_vote(tasks):
    X, _, names = tasks
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])
    for multi_class in ("ovo", "ovr"):
        model = CoterieClassifier(C=10, multi_class=multi_class, calibrate="platt").fit(X, y)
        assert len(model.tasks_) == 3
        decision = model.decision_function(X)
        np.testing.assert_array_equal(model.classes_[decision.argmax(axis=1)], model.predict(X))
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        assert model.score(X, y) > 0.9


def test_tasks_need_not_have_all_classes(tasks):
    X, _, names = tasks
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])
    y[(names == "t0") & (y == 2)] = 1
    model = CoterieClassifier(C=10, calibrate="platt").fit(X, y, tasks=names)
    assert list(model.classes_) == [0, 1, 2]
    assert "t0:0|1" in model.tasks_ and "t0:0|2" not in model.tasks_
    decision = model.decision_function(X, tasks=names)
    np.testing.assert_array_equal(model.classes_[decision.argmax(axis=1)], model.predict(X, tasks=names))
    of_first = names == "t0"
    assert (decision[of_first, 2] == -np.inf).all() and (model.predict_proba(X, tasks=names)[of_first, 2] == 0).all()


def test_new_tasks(frame):
    table, y = frame
    model = CoterieClassifier(task_column="site", lam="0.3max").fit(table, y)
    other = table.assign(site="elsewhere")
    with pytest.raises(ValueError, match="has task 'elsewhere', which the model does not know. It knows: t"):
        model.predict(other)
    model.set_params(new_task="common")
    mean = np.mean([model.decision_function(table.assign(site=name)) for name in model.tasks_], axis=0)
    np.testing.assert_allclose(model.decision_function(other), mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(table), CoterieClassifier(task_column="site", lam="0.3max").fit(table, y).predict(table))
    group = model.groups_[0]
    in_group = np.mean([model.decision_function(table.assign(site=name)) for name in group], axis=0)
    for new_task in (1, "group:1", f"task:{group[0]}"):
        np.testing.assert_allclose(model.set_params(new_task=new_task).decision_function(other), in_group, rtol=1e-12, atol=1e-12)


def test_weights_of_rows_are_costs(tasks):
    X, y, names = tasks
    random = np.random.RandomState(3)
    weight = random.randint(0, 4, len(y)).astype(float)
    weighted = CoterieClassifier(lam=0.5, tol=1e-8).fit(X, y, tasks=names, sample_weight=weight)
    repeat = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = CoterieClassifier(lam=0.5, tol=1e-8).fit(X[repeat], y[repeat], tasks=names[repeat])
    assert weighted.certificate_.objective == pytest.approx(repeated.certificate_.objective, rel=2e-8)
    assert weighted.verify(X, y, tasks=names, sample_weight=weight).holds
    with pytest.raises(ValueError, match="not the training data"):
        weighted.verify(X, y, tasks=names)
    by_class = CoterieClassifier(class_weight={1: 3}).fit(X, y, tasks=names)
    by_row = CoterieClassifier().fit(X, y, tasks=names, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.kernel_weights_, by_row.kernel_weights_)


def test_make_pipeline_without_tasks(tasks):
    X, _, _ = tasks
    y = X[:, 0] > 0
    assert cross_val_score(make_pipeline(StandardScaler(), CoterieClassifier()), X, y).mean() > 0.85


def test_table_of_strings_is_data(frame):
    table, y = frame
    rows = table.astype(str).values.tolist()
    model = CoterieClassifier(task_column=2).fit(rows, list(y))
    np.testing.assert_array_equal(model.predict(rows), CoterieClassifier(task_column="site").fit(table, y).predict(table))


def test_wide_integer_types(frame):
    table, y = frame
    numbers = (table.drop(columns="site") * 10).round().astype("int16")
    wide = CoterieClassifier().fit(numbers, y, tasks=table["site"])
    assert wide.predict(pd.DataFrame(numbers, dtype="int64"), tasks=table["site"]).shape == y.shape


def test_a_fit_that_fails_leaves_no_model(tasks):
    X, y, names = tasks
    model = CoterieClassifier().fit(X, y, tasks=names)
    with pytest.raises(ValueError):
        model.fit(X[:, :3], np.ones(len(y)), tasks=names)
    with pytest.raises(NotFittedError):
        model.predict(X[:, :3], tasks=names)


def test_newer_versions_of_scikit_learn(frame, monkeypatch):
    """From 1.6 on there is a function for what estimators had as methods, and tags are objects: played here."""
    table, y = frame
    expected = CoterieClassifier(task_column="site").fit(table, y).decision_function(table)
    plain = CoterieClassifier().fit(table.drop(columns="site"), y).decision_function(table.drop(columns="site"))
    calls = []

    def validate_data(estimator, X, reset=True, skip_check_array=False, **how):
        calls.append(skip_check_array)
        if skip_check_array:
            BaseEstimator._check_feature_names(estimator, X, reset=reset)
            BaseEstimator._check_n_features(estimator, X, reset=reset)
            return X
        return BaseEstimator._validate_data(estimator, X, reset=reset, **how)

    monkeypatch.setattr(sklearn.utils.validation, "validate_data", validate_data, raising=False)
    monkeypatch.setattr(BaseEstimator, "__sklearn_tags__", lambda self: SimpleNamespace(input_tags=SimpleNamespace(pairwise=None)), raising=False)
    np.testing.assert_array_equal(CoterieClassifier(task_column="site").fit(table, y).decision_function(table), expected)
    assert calls == [True, True]
    np.testing.assert_array_equal(CoterieClassifier().fit(table.drop(columns="site"), y).decision_function(table.drop(columns="site")), plain)
    assert calls == [True, True, False, False]
    assert CoterieClassifier(kernels="precomputed").__sklearn_tags__().input_tags.pairwise is True
    assert CoterieClassifier().__sklearn_tags__().input_tags.pairwise is False
