"""Wrong calls: each has its exception and a text that says what was found and what to do. What only looks wrong is accepted, at the end."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from conftest import planted
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import coterie
from coterie import CoterieClassifier, CoterieClassifierCV, Note, load, path

X, Y, NAMES = planted()
FRAME = pd.DataFrame(X, columns=list("abcde"))
SITES = FRAME.assign(site=NAMES)
BROKEN = X.copy()
BROKEN[3, 1] = np.nan
ENDLESS = X.copy()
ENDLESS[5, 2] = np.inf
ZEROS = X.copy()
ZEROS[7] = 0
KERNEL = X @ X.T
MANY = np.digitize(X[:, 0], [-0.5, 0.5])


def new(**parameters):
    return CoterieClassifier(**parameters)


def fitted(**parameters):
    return new(**parameters).fit(X, Y, tasks=NAMES)


def single():
    return new().fit(X, MANY > 0)


def one_class_in(task):
    y = Y.copy()
    y[NAMES == task] = 1
    return y


WRONG = {
    # What X must be.
    "a missing value": (lambda: new().fit(BROKEN, Y), ValueError, "Input X contains NaN"),
    "an infinite value": (lambda: new().fit(ENDLESS, Y), ValueError, "Input X contains infinity"),
    "one dimension": (lambda: new().fit(X[:, 0], Y), ValueError, "Expected 2D array, got 1D array instead"),
    "three dimensions": (lambda: new().fit(X.reshape(-1, 5, 1), Y), ValueError, "Found array with dim 3"),
    "no rows": (lambda: new().fit(X[:0], Y[:0]), ValueError, "0 sample"),
    "no columns": (lambda: new().fit(X[:, :0], Y), ValueError, "0 feature"),
    "words": (lambda: new().fit(np.full((120, 2), "word"), Y), ValueError, "could not convert string to float"),
    "a column of objects": (lambda: new().fit(SITES, Y), ValueError, "could not convert string to float: 't"),
    "complex numbers": (lambda: new().fit(X + 1j, Y), ValueError, "Complex data not supported"),
    "a sparse matrix": (lambda: new().fit(scipy.sparse.csr_matrix(X), Y), TypeError, "A sparse matrix was passed, but dense data is required"),
    "a sparse matrix with tasks": (lambda: new(task_column=0).fit(scipy.sparse.csr_matrix(X), Y), TypeError, "coterie needs dense data. Give X.toarray()"),
    "a row of zeros under a cosine": (lambda: new(kernels="linear").fit(ZEROS, Y), ValueError, r"row 8 of the data .* is a zero vector, .* Use 'linear:raw'"),
    "negative features under chi2": (lambda: new(kernels="chi2").fit(X, Y), ValueError, "chi2"),
    "numbers that are too large": (lambda: new(kernels="linear:raw", C=1e200).fit(X * 1e150, Y), ValueError, "too large"),
    # What y must be.
    "no labels": (lambda: new().fit(X, None), ValueError, "requires y to be passed, but the target y is None"),
    "too few labels": (lambda: new().fit(X, Y[:-1]), ValueError, r"inconsistent numbers of samples: \[120, 119\]"),
    "one class": (lambda: new().fit(X, np.ones(120)), ValueError, "has only one class"),
    "one class in a task": (lambda: new().fit(X, one_class_in("t2"), tasks=NAMES), ValueError, "task 't2' has only one class"),
    "labels with a gap": (lambda: new().fit(X, np.where(Y > 0, 1, np.nan)), ValueError, "NaN"),
    "continuous labels": (lambda: new().fit(X, X[:, 0]), ValueError, "Unknown label type"),
    "several outputs": (lambda: new().fit(X, np.column_stack([Y, Y])), ValueError, "y should be a 1d array"),
    "labels of mixed types": (lambda: new().fit(X, np.where(Y > 0, "a", 1).astype(object) if False else np.array([1, "a"] * 60, dtype=object)), (TypeError, ValueError), "label"),
    "an empty label": (lambda: new().fit(X, np.where(Y > 0, "a", "")), ValueError, "a label is an empty text"),
    # Tasks.
    "too few tasks": (lambda: new().fit(X, Y, tasks=NAMES[:-1]), ValueError, "tasks has 119 values, but X has 120 rows"),
    "a missing task": (lambda: new().fit(X, Y, tasks=np.where(NAMES == "t1", None, NAMES)), ValueError, "a task is missing"),
    "a task that is not a number": (lambda: new().fit(X, Y, tasks=np.where(NAMES == "t1", np.nan, 2.0)), ValueError, "a task is nan; every row needs one"),
    "tasks twice": (lambda: new(task_column="site").fit(SITES, Y, tasks=NAMES), ValueError, "choose one"),
    "a column of tasks that is not there": (lambda: new(task_column="place").fit(SITES, Y), ValueError, "'place', but X has no column of that name. Its columns: a, b, c, d, e, site"),
    "a name for an array": (lambda: new(task_column="site").fit(X, Y), ValueError, "X has no names of columns; give the number"),
    "a number beyond the columns": (lambda: new(task_column=9).fit(X, Y), ValueError, "task_column is 9, but X has 5 columns"),
    "a column that is neither": (lambda: new(task_column=1.5).fit(X, Y), TypeError, "must be the name or the number of a column"),
    "nothing but tasks": (lambda: new(task_column=0).fit(X[:, :1], Y), ValueError, "X has no column but that of tasks"),
    "predicting without tasks": (lambda: fitted().predict(X), ValueError, "several tasks .* give tasks= for these rows"),
    "an unknown task": (lambda: fitted().predict(X, tasks=np.full(120, "t9")), ValueError, "row 1 has task 't9', which the model does not know. It knows: t"),
    "tasks for a model without": (lambda: single().predict(X, tasks=NAMES), ValueError, "fitted without; leave them out"),
    "a policy that is none": (lambda: new(new_task="guess").fit(X, Y, tasks=NAMES).predict(X, tasks=NAMES), ValueError, "new_task is 'guess'; it must be 'error', 'common', 'group:N'"),
    "a group that is not there": (lambda: fitted(new_task=99).predict(X, tasks=NAMES), ValueError, "the model has the groups 1 to"),
    "a task of two lines": (lambda: new().fit(X, Y, tasks=np.where(NAMES == "t1", "one\ntwo", NAMES)), ValueError, r"a task is called 'one\\ntwo', which has a line break"),
    "a column of tasks with two lines": (lambda: new(task_column="site").fit(FRAME.assign(site=np.where(NAMES == "t1", "one\r", NAMES)), Y), ValueError, r"a task is called 'one\\r', which has a line break"),
    "a label that cannot be printed": (lambda: new().fit(X, np.where(Y > 0, "a", "b\x07")), ValueError, r"a label is called 'b\\x07', which has a line break or another character that cannot be printed; rename it"),
    "a column of half a character": (lambda: new().fit(FRAME.rename(columns={"a": "\ud800"}), Y), ValueError, r"a column is called '\\ud800'"),
    "a new task for many classes": (lambda: new(new_task="common").fit(X, MANY, tasks=NAMES).predict(X, tasks=np.full(120, "t9")), ValueError, "new_task is 'common'; it is for binary models"),
    "C of an unknown task": (lambda: fitted(task_C={"t9": 2}), ValueError, "task_C names the task 't9', which the data does not have"),
    "a graph with an unknown task": (lambda: fitted(task_graph=[("t0", "t9")]), ValueError, "task_graph names the task 't9'"),
    "a graph of something else": (lambda: fitted(task_graph=["t0"]), TypeError, r"it must hold \(task, task\)"),
    # Settings.
    "C of zero": (lambda: new(C=0).fit(X, Y), ValueError, "C is '0'; it must be a number > 0"),
    "C as a text": (lambda: new(C="1").fit(X, Y), TypeError, "C is '1'; it must be a number"),
    "a negative lambda": (lambda: new(lam=-1).fit(X, Y), ValueError, "lam is '-1'; it must be a number >= 0"),
    "a lambda without meaning": (lambda: new(lam="much").fit(X, Y), ValueError, "lam is 'much'; it must be"),
    "a norm below one": (lambda: new(norm=0.5).fit(X, Y), ValueError, "norm is '0.5'; it must be a number >= 1, or inf"),
    "an unknown kernel": (lambda: new(kernels="gaus:1").fit(X, Y), ValueError, "gaus:1.*Kernels are linear"),
    "kernels of a wrong type": (lambda: new(kernels=3).fit(X, Y), TypeError, "kernels is 3; it must be a text"),
    "a kernel of an unknown column": (lambda: new(kernels="linear@z").fit(FRAME, Y), ValueError, "'z'"),
    "an unknown normalisation": (lambda: new(normalise="unit").fit(X, Y), ValueError, "normalise is 'unit'; it must be 'cosine', 'variance'"),
    "an unknown scaling": (lambda: new(scale="robust").fit(X, Y), ValueError, "scale is 'robust'; it must be"),
    "an unknown class weight": (lambda: new(class_weight="fair").fit(X, Y), ValueError, "class_weight is 'fair'; it must be 'none' or 'balanced'"),
    "a class weight of zero": (lambda: new(class_weight={1: 0}).fit(X, Y), ValueError, r"class_weight\[1\] is 0; it must be a number > 0"),
    "a class weight of another type": (lambda: new(class_weight={"1": 20.0}).fit(X, Y), ValueError, "class_weight has '1', which y does not, and says nothing of -1, 1. The labels are -1, 1"),
    "a class weight of an absent label": (lambda: new(class_weight={1: 2.0, 7: 3.0}).fit(X, Y), ValueError, "class_weight has 7, which y does not, and says nothing of -1. The labels are -1, 1"),
    "C of tasks in one pool": (lambda: fitted(method="joint", task_C={"t1": 3.0}), ValueError, "task_C has no meaning for the method 'joint'; leave it out"),
    "lambda of one pool": (lambda: fitted(method="joint", lam=5), ValueError, "lam has no meaning for the method 'joint'; leave it out"),
    "kernels of a linear method": (lambda: fitted(method="cmtl", kernels=["linear"]), ValueError, "kernels has no meaning for the method 'cmtl' without map='kernels'; leave it out"),
    "a first stage of no kernel": (lambda: fitted(first_stage={"C": 2}), ValueError, "first_stage has no meaning for kernels without @pooled, @others and @group; leave it out"),
    "a list to search without meaning": (lambda: CoterieClassifierCV(method="pooled", lam=[0.1, 1]).fit(X, Y, tasks=NAMES), ValueError, "lam has no meaning for the method 'pooled'"),
    "a path of what has none": (lambda: path(X, Y, NAMES, loss="logistic"), ValueError, "loss has no meaning for the method 'coterie'"),
    "a method that is no text": (lambda: new(method=["stl"]).fit(X, Y), TypeError, r"method is \['stl'\]; it must be a text"),
    "a tolerance of zero": (lambda: new(tol=0).fit(X, Y), ValueError, "tol is '0'; it must be a number > 0"),
    "half a step": (lambda: new(max_steps=1.5).fit(X, Y), ValueError, "max_steps is '1.5'; it must be a whole number >= 1"),
    "an unknown method": (lambda: new(method="best").fit(X, Y), ValueError, "best"),
    "parameters of another method": (lambda: new(method="cmtl", method_params={"rank": 3}).fit(X, Y), ValueError, "rank"),
    "no threads": (lambda: new(n_jobs=0).fit(X, Y), ValueError, "n_jobs is 0; it must be a whole number other than 0, or None"),
    "too little memory": (lambda: new(memory="1KB").fit(X, Y), ValueError, "memory"),
    "memory without a size": (lambda: new(memory="lots").fit(X, Y), ValueError, "memory is 'lots'; it must be a size > 0 such as '512MB'"),
    "an unknown calibration": (lambda: new(calibrate="sigmoid").fit(X, Y), ValueError, "calibrate is 'sigmoid'; it must be 'platt' or 'isotonic', or None"),
    "an unknown casting": (lambda: new(multi_class="all").fit(X, MANY), ValueError, "multi_class is 'all'; it must be 'ovo' or 'ovr'"),
    "a seed that is none": (lambda: new(calibrate="platt", random_state=-1).fit(X, Y), ValueError, "random_state is -1"),
    "progress that cannot be called": (lambda: new(progress="bar").fit(X, Y), TypeError, "progress is 'bar'"),
    "negative weights": (lambda: new().fit(X, Y, sample_weight=-np.ones(120)), ValueError, "sample_weight has negative numbers"),
    "no weight at all": (lambda: new().fit(X, Y, sample_weight=np.zeros(120)), ValueError, "sample_weight is zero everywhere"),
    "weights of a linear method": (lambda: new(method="cmtl").fit(X, Y, sample_weight=np.arange(1, 121)), ValueError, "sample_weight: the method cmtl has no weights of rows"),
    # After the fit.
    "predicting before": (lambda: new().predict(X), NotFittedError, "not fitted yet"),
    "weights before": (lambda: new().kernel_weights_, NotFittedError, "not fitted yet"),
    "other columns": (lambda: single().predict(X[:, :4]), ValueError, "X has 4 features, but CoterieClassifier is expecting 5 features"),
    "names in another order": (lambda: new().fit(FRAME, Y).predict(FRAME[list("bacde")]), ValueError, "The feature names should match"),
    "a missing value to predict": (lambda: single().predict(BROKEN), ValueError, "Input X contains NaN"),
    "numbers far away": (lambda: new(kernels="poly:9:raw").fit(X, Y).predict(X * 1e300), ValueError, "kernel 'poly:9:raw' is too large for a number on these samples. Use scale standard"),
    "probabilities that were not learnt": (lambda: single().predict_proba(X), AttributeError, "fit with calibrate='platt' or 'isotonic'"),
    "kernel weights of a linear method": (lambda: new(method="cmtl").fit(X, Y).kernel_weights_, AttributeError, "has no kernel weights; see coef_"),
    "verifying with other data": (lambda: single().verify(X + 1, MANY > 0), ValueError, "this is not the training data of the model"),
    "verifying with an unknown label": (lambda: single().verify(X, MANY), ValueError, "y has the label '0', which the model does not know"),
    "a kernel of an unknown task": (lambda: fitted().combined_kernel(X, task="t9"), ValueError, "task is 't9', which the model does not know"),
    "a kernel of other columns": (lambda: fitted().combined_kernel(X[:, :3]), ValueError, "X has 3 columns, but the model has 5 features"),
    "extending a model without tasks": (lambda: single().extend(X, MANY > 0), ValueError, "fitted without tasks"),
    "extending by a task it has": (lambda: fitted().extend(X, Y, tasks=NAMES), ValueError, "t"),
    "extending by other labels": (lambda: fitted().extend(X, MANY, tasks=np.full(120, "t9")), ValueError, "y has the label '0'"),
    "a file that is not there": (lambda: load("/nowhere/model.h5"), ValueError, "/nowhere/model.h5"),
    "a file that is no model": (lambda: load(__file__), ValueError, "wrong_calls_test.py"),
    "a folder that is not there": (lambda: single().save("/nowhere/model.h5"), (ValueError, OSError), "/nowhere"),
    # Kernels at hand.
    "a kernel that is not square": (lambda: new(kernels="precomputed").fit(KERNEL[:, :100], Y), ValueError, "to fit, it must be n_train x n_train"),
    "a kernel to predict of the wrong shape": (lambda: new(kernels="precomputed").fit(KERNEL, Y).predict(KERNEL[:, :10]), ValueError, "it must be n_test x n_train: a row for each new sample and a column for each of the 120"),
    "a kernel the wrong way round": (lambda: new(kernels="precomputed").fit(KERNEL, Y).predict(KERNEL[:, :7].T.T), ValueError, "is 120 x 7; it must be n_test x n_train"),
    "too few kernels": (lambda: new(kernels="precomputed").fit([KERNEL, KERNEL**2], Y).predict(KERNEL), ValueError, "X holds 1 kernel matrices, but the model was fitted with 2"),
    "kernels of unlike sizes": (lambda: new(kernels="precomputed").fit([KERNEL, KERNEL[:9, :9]], Y), ValueError, "kernel matrix 2 is 9 x 9; it must be 120 x 120"),
    "a kernel that is not symmetric": (lambda: new(kernels="precomputed").fit(X @ np.diag([1, 2, 3, 4, 5.0]) @ np.roll(X, 1, axis=1).T, Y), ValueError, "symmetric"),
    "a kernel that is not positive": (lambda: new(kernels="precomputed").fit(-KERNEL, Y), ValueError, "positive semidefinite"),
    "a kernel with a column of tasks": (lambda: new(kernels="precomputed", task_column=0).fit(KERNEL, Y), ValueError, "X has kernel values and no task column"),
    "mixing precomputed with others": (lambda: new(kernels="linear precomputed:K").fit(X, Y), ValueError, "precomputed:K"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_say_what_is_wrong(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text) as caught:
        call()
    message = str(caught.value)
    assert "`" not in message and "--" not in message, message  # names of Python, not of the core or of the program


def test_there_are_many():
    assert len(WRONG) >= 40


ODD = {
    "fortran order": np.asfortranarray(X),
    "every other row of twice as many": np.repeat(X, 2, axis=0)[::2],
    "a list of lists": X.tolist(),
    "big endian": X.astype(">f8"),
    "objects that are numbers": X.astype(object),
    "a read-only view": np.lib.stride_tricks.as_strided(X, writeable=False),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_arrays_are_the_same_numbers(name):
    expected = single()
    model = new().fit(ODD[name], MANY > 0)
    np.testing.assert_array_equal(model.kernel_weights_, expected.kernel_weights_)
    np.testing.assert_array_equal(model.decision_function(ODD[name]), expected.decision_function(X))


def test_weights_of_classes_that_are_not_there():
    """With a weight for every label, others do no harm, as a fold may lack a class."""
    some, more = ({-1: 2.0, 1: 0.5}, {-1: 2.0, 1: 0.5, 7: 3.0})
    np.testing.assert_array_equal(new(class_weight=more).fit(X, Y).decision_function(X), new(class_weight=some).fit(X, Y).decision_function(X))
    half = new(class_weight={1: 0.5}).fit(X, Y)  # the others count as 1
    np.testing.assert_array_equal(half.decision_function(X), new(class_weight={-1: 1.0, 1: 0.5}).fit(X, Y).decision_function(X))


def test_parameters_at_their_defaults_are_never_refused():
    for method in coterie.methods():
        given = {name: value for name, value in new().get_params().items() if name != "method"}
        new(method=method.name, **given)._training_data(X, Y, NAMES, None)


def test_memory_maps_and_types(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(new().fit(mapped, MANY > 0).decision_function(mapped), single().decision_function(X))
    for kind in ("float32", "int8", "uint16", "bool", "float16"):
        some = (np.abs(X) * 10).astype(kind)
        np.testing.assert_array_equal(
            new().fit(some, MANY > 0).decision_function(some), new().fit(some.astype(float), MANY > 0).decision_function(some.astype(float))
        )


def test_the_data_is_left_alone():
    before, labels = X.copy(), Y.copy()
    model = new(scale="standard").fit(X, Y, tasks=NAMES)
    model.predict(X, tasks=NAMES)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(Y, labels)


def test_a_fit_that_ends_early_says_so():
    with pytest.warns(ConvergenceWarning, match="ended with status 'step limit' at a relative gap of .*; raise tol or max_steps"):
        model = fitted(max_steps=1, tol=1e-12, lam=0.3)
    assert not model.certificate_.converged


def test_notes_are_warnings():
    constant = np.column_stack([X, np.ones(120)])
    with pytest.warns(Note, match="@each in kernels leaves out the column f6, constant in every task"):
        new(kernels="gauss:1@each").fit(constant, Y)


def test_what_rounding_hides_is_said():
    random = np.random.RandomState(0)
    X = 1e12 * random.randn(40, 3)
    y = np.where(random.rand(40) > 0.5, 1, -1)
    with pytest.warns(ConvergenceWarning, match="status 'precision' .*; rounding hides the rest: scale the features, take a smaller C"):
        coterie.CoterieClassifier(kernels="linear:raw").fit(X, y)
