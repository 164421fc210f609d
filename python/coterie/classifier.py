"""The classifier: many related SVMs that learn which kernels they share."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_consistent_length, check_is_fitted, column_or_1d

from . import _core, _data
from ._page import Page
from ._progress import ProgressOption, Running
from ._settings import (
    calibration_of,
    changed_without_use,
    check_given,
    defaults_of,
    in_python,
    links_of,
    number_text,
    plain_errors,
    seed_of,
    settings_of,
    task_costs_of,
)


KERNELS = "poly:1:1 poly:2:1 gauss:1,2,4,8,16,32,64,128"


@dataclass(frozen=True)
class Certificate:
    """How far an answer can be from the optimum.

    Attributes
    ----------
    objective, dual : float
        The value reached, and a lower bound of the smallest there is.
    gap : float
        Their difference, relative to the objective.
    bound : float
        How far rounding can be off in the gap.
    lam, lam_max : float
        The lambda used, and the one of which it is a share, where it is one; else 0.
    claim : str
        What the gap means: 'optimum', 'given clusters' or 'stationary'.
    status : str
        'converged', or why the fit ended before.
    steps : int
        Outer steps of the solver.
    """

    objective: float
    dual: float
    gap: float
    bound: float
    lam: float
    lam_max: float
    claim: str
    status: str
    steps: int

    @property
    def converged(self) -> bool:
        """Whether the gap is within the tolerance that was asked for."""
        return self.status == "converged"


@dataclass(frozen=True)
class Verification:
    """A certificate recomputed from raw data by separate code.

    Attributes
    ----------
    holds : bool
        Whether nothing wrong was found.
    findings : list of str
        What is wrong, in words.
    objective, dual, gap, bound : float
        As recomputed; the true gap is at most `gap + bound`.
    infeasibility : float
        How far the numbers leave their sets; 0 to rounding for a sound model.
    groups_exact : bool
        Whether tasks of a group have the same weights, bit for bit.
    taken : list of str
        What was taken from the model without a check.
    """

    holds: bool
    findings: list[str]
    objective: float
    dual: float
    gap: float
    bound: float
    infeasibility: float
    groups_exact: bool
    taken: list[str] = field(default_factory=list)


def _can_tell_probabilities(estimator: Any) -> bool:
    model = getattr(estimator, "model_", None)
    calibrated = estimator.calibrate is not None if model is None else any(task["calibrated"] for task in model.tasks)
    if not calibrated:
        raise AttributeError("predict_proba needs a model with probabilities: fit with calibrate='platt' or 'isotonic'.")
    return True


class _Fitted(ClassifierMixin, BaseEstimator):
    """What estimators with a fitted model have in common: prediction, inspection, files, checks."""

    # Of every estimator: set by their __init__.
    task_column: Any
    kernels: Any
    new_task: Any
    calibrate: Any
    random_state: Any
    n_jobs: Any
    memory: Any
    progress: ProgressOption
    class_weight: Any
    multi_class: str
    task_C: Any
    task_graph: Any
    method: str
    _matrices: int

    # ---- what goes in ----

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    def _take(self, X: Any, tasks: Any, reset: bool) -> tuple[np.ndarray, np.ndarray | None, dict[str, np.ndarray]]:
        """Numbers, the task of every row where there are tasks, and precomputed matrices by their names."""
        if tasks is not None and self.task_column is not None:
            raise ValueError("tasks are given, and task_column says that X has them; choose one.")
        if self._is_precomputed():
            return self._take_matrices(X, tasks, reset)
        if self.task_column is None:
            rows = self._check_numbers(X, reset)
            return rows, None if tasks is None else _data.task_values(tasks, len(rows)), {}
        X = _data.as_table(X)
        if not reset and self._from_file and _data.is_frame(X):
            X = self._columns_of_model(X)
        else:
            self._check_columns(X, reset)
        rest, values = _data.without_task(X, self.task_column)
        return _data.numbers_of(rest, self), values, {}

    def _check_numbers(self, X: Any, reset: bool) -> np.ndarray:
        if not reset and self._from_file and _data.is_frame(X):
            return _data.numbers_of(self._columns_of_model(X), self)
        how = {"dtype": np.float64, "order": "C", "reset": reset}
        try:
            from sklearn.utils.validation import validate_data  # from 1.6 on
        except ImportError:
            return self._validate_data(X, **how)
        return validate_data(self, X, **how)

    def _check_columns(self, X: Any, reset: bool) -> None:
        if _num_samples(X) and len(getattr(X, "shape", ())) != 2:
            raise ValueError(f"X has the shape {getattr(X, 'shape', ())}; it must have rows and columns. Reshape your data to 2D.")
        try:
            from sklearn.utils.validation import validate_data
        except ImportError:
            self._check_feature_names(X, reset=reset)
            self._check_n_features(X, reset=reset)
            return
        validate_data(self, X, reset=reset, skip_check_array=True)

    def _columns_of_model(self, X: Any) -> Any:
        """Of a data frame what the model needs: a file says which columns, but not where they stood."""
        wanted = list(self.model_.features)
        if isinstance(self.task_column, str):
            wanted.append(self.task_column)
        missing = [name for name in wanted if name not in set(X.columns)]
        if missing:
            raise ValueError(f"X lacks the columns {', '.join(missing[:10])}, which the model needs.")
        return X[wanted]

    def _take_matrices(self, X: Any, tasks: Any, reset: bool) -> tuple[np.ndarray, np.ndarray | None, dict[str, np.ndarray]]:
        if self.task_column is not None:
            raise ValueError("kernels is 'precomputed': X has kernel values and no task column. Give tasks=.")
        columns, count = (None, None) if reset else (self.model_.training_rows, self._matrices)
        matrices = _data.matrices_of(X, columns=columns, count=count)
        if reset:
            self._matrices = len(matrices)
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = matrices[0].shape[1]
        rows = np.arange(1.0, len(matrices[0]) + 1).reshape(-1, 1)
        values = None if tasks is None else _data.task_values(tasks, len(rows))
        return rows, values, {f"K{k}": K for k, K in enumerate(matrices, 1)}

    def _feature_names(self) -> list[str] | None:
        """The names of the columns that the core sees."""
        if self._is_precomputed():
            return ["row"]
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return None
        names = [str(name) for name in names]
        if self.task_column is not None:
            place = names.index(self.task_column) if isinstance(self.task_column, str) else int(self.task_column)
            del names[place]
        return names

    def _training_data(self, X: Any, y: Any, tasks: Any, sample_weight: Any) -> tuple[_core.Dataset, dict[str, np.ndarray]]:
        """Checks and casts the data, and learns what the estimator needs to know of it."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self.__dict__.pop("model_", None)  # a fit that fails leaves none
        check_given(self)
        self._from_file = False
        rows, task, matrices = self._take(X, tasks, reset=True)
        label_name = y.name if isinstance(getattr(y, "name", None), str) else ""
        y = column_or_1d(y, warn=True)
        check_consistent_length(rows, y)
        check_classification_targets(y)
        codes, self._class_names, self.classes_ = _data.coded(y, "label")
        weight = self._row_weights(rows, codes, sample_weight)
        self._has_tasks = task is not None
        task_name = self.task_column if isinstance(self.task_column, str) else ""
        if isinstance(self.task_column, (int, np.integer)) and hasattr(self, "feature_names_in_"):
            task_name = str(self.feature_names_in_[self.task_column])
        casting = self._casting(len(self._class_names))
        labels = (codes, self._class_names)
        return self._dataset(rows, self._feature_names(), labels, task, weight, casting, matrices, (label_name, task_name)), matrices

    def _dataset(
        self,
        rows: np.ndarray,
        features: list[str] | None,
        labels: tuple[np.ndarray, list[str]],
        task: np.ndarray | None,
        weight: np.ndarray | None,
        casting: str,
        matrices: dict[str, np.ndarray],
        columns: tuple[str, str] = ("", ""),
    ) -> _core.Dataset:
        """Tasks of labelled rows, without those of weight zero."""
        coded_task = None if task is None else _data.coded(task, "task")[:2]
        if weight is not None and not (weight > 0).all():
            if matrices:
                raise ValueError("sample_weight has zeros; leave these rows and columns out of precomputed kernels.")
            kept = weight > 0
            rows, labels, weight = rows[kept], (labels[0][kept], labels[1]), weight[kept]
            coded_task = None if coded_task is None else (coded_task[0][kept], coded_task[1])
        if weight is not None and (weight == 1).all():
            weight = None
        with plain_errors():
            return _core.Dataset(_data.make_rows(rows, features, labels, coded_task, columns), casting, weight)

    def _casting(self, classes: int) -> str:
        known = {"ovo": "one-vs-one", "ovr": "one-vs-rest"}
        if self.multi_class not in known:
            raise ValueError(f"multi_class is {self.multi_class!r}; it must be 'ovo' or 'ovr'.")
        return known[self.multi_class] if classes > 2 else "binary"

    def _row_weights(self, rows: np.ndarray, codes: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        """What every row costs beside others, by its own weight and that of its class."""
        weight = None
        if sample_weight is not None:
            weight = np.array(_check_sample_weight(sample_weight, rows, dtype=np.float64))
            if (weight < 0).any():
                raise ValueError("sample_weight has negative numbers; weights are >= 0.")
            if not (weight > 0).any():
                raise ValueError("sample_weight is zero everywhere; there is nothing to learn from.")
        if isinstance(self.class_weight, dict):
            labels = self.classes_.tolist()
            of_class = np.ones(len(labels))
            unknown = [label for label in self.class_weight if label not in labels]
            without = [label for label in labels if label not in self.class_weight]
            if unknown and without:  # with a weight for every label, others do no harm
                raise ValueError(
                    f"class_weight has {', '.join(map(repr, unknown[:10]))}, which y does not, and says nothing of "
                    f"{', '.join(map(repr, without[:10]))}. The labels are {', '.join(map(repr, labels[:10]))}."
                )
            for label, value in self.class_weight.items():
                number = float(number_text(value, f"class_weight[{label!r}]"))
                if not (0 < number < np.inf):
                    raise ValueError(f"class_weight[{label!r}] is {value!r}; it must be a number > 0.")
                if label in labels:
                    of_class[labels.index(label)] = number
            weight = of_class[codes] if weight is None else weight * of_class[codes]
        return weight

    def _settings(self, matrices: dict[str, np.ndarray]) -> dict[str, str]:
        settings = settings_of(self)
        if matrices:
            settings["kernels"] = " ".join(f"precomputed:{name}:raw" for name in matrices)  # as they are: new rows have no diagonal to divide by
        return settings

    def _more(self, matrices: dict[str, np.ndarray], verifying: bool = False) -> _core.More:
        of_file = verifying and self._from_file  # what was read from it is no check of it
        costs = None if of_file and self.task_C is self._task_C_of_file else self.task_C
        graph = None if of_file and self.task_graph is self._graph_of_file else self.task_graph
        return _core.More(matrices, task_costs_of(costs), links_of(graph, "task_graph"))

    def _new_rows(self, X: Any, tasks: Any, y: Any = None) -> tuple[_core.Rows, dict[str, np.ndarray], int]:
        """Rows to predict."""
        check_is_fitted(self, "model_")
        rows, task, matrices = self._take(X, tasks, reset=False)
        if task is not None and not self._has_tasks:
            raise ValueError("tasks are given, but the model was fitted without; leave them out.")
        coded_task = None if task is None else _data.coded(task, "task")[:2]
        coded_y = None
        if y is not None:
            y = column_or_1d(y)
            check_consistent_length(rows, y)
            coded_y = _data.coded(y, "label")[:2]
        return _data.make_rows(rows, list(self.model_.features), coded_y, coded_task), matrices, len(rows)

    def _new_task_text(self) -> str:
        new_task = self.new_task
        if new_task == "error":
            return ""
        if isinstance(new_task, (int, np.integer)) and not isinstance(new_task, bool):
            return f"group:{new_task}"
        if isinstance(new_task, str) and new_task:
            return new_task
        raise ValueError(f"new_task is {new_task!r}; it must be 'error', 'common', the number of a group, 'group:N' or 'task:NAME'.")

    # ---- what comes out ----

    def _keep(self, model: _core.Model) -> None:
        self.model_ = model
        certificate = self.certificate_
        if not certificate.converged:
            rounding = certificate.status == "precision"
            advice = "rounding hides the rest: scale the features, take a smaller C or normalised kernels, or raise tol" if rounding else "raise tol or max_steps, or scale the features"
            warnings.warn(
                f"the fit ended with status '{certificate.status}' at a relative gap of {certificate.gap:.1e} (known to {certificate.bound:.1e}); {advice}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _predict_parts(self, X: Any, tasks: Any) -> tuple[list[dict[str, Any]], int]:
        rows, matrices, count = self._new_rows(X, tasks)
        with plain_errors(), Running(None, self.n_jobs, self.memory) as resources:
            try:
                return _core.predict(self.model_, rows, matrices, self._new_task_text(), resources), count
            except _core.InputError as error:
                if "there is no task column" not in str(error):
                    raise
                names = ", ".join(self._parts()[:10])
                raise ValueError(
                    f"the model has several tasks ({names}), but X does not say which; give tasks= for these rows, or set new_task='common'."
                ) from None

    def _parts(self) -> list[str]:
        """The values of the task column that the model knows."""
        return list(dict.fromkeys(task["part"] or task["name"] for task in self.model_.tasks))

    def _places(self, labels: list[str]) -> np.ndarray:
        """Where labels of the core stand in classes_."""
        return np.array([self._class_names.index(label) for label in labels])

    def _said(self, X: Any, tasks: Any) -> np.ndarray:
        """The number in classes_ of the label of every row."""
        parts, count = self._predict_parts(X, tasks)
        said = np.empty(count, dtype=np.intp)
        for part in parts:
            said[part["rows"]] = self._places(part["labels"])[part["said"]]
        return said

    def predict(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Predict labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as in `fit`; with precomputed kernels the values between these rows and the training rows.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Values of `classes_`.
        """
        said = self._said(X, tasks)
        return self.classes_[said]

    def decision_function(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as in `fit`.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive for `classes_[1]`. More: a column per class, whose largest is the class predicted; with one-vs-one the
            votes, and between -1/3 and 1/3 the summed scores that break ties.
        """
        parts, count = self._predict_parts(X, tasks)
        classes = len(self.classes_)
        if classes == 2:
            scores = np.empty(count)
            for part in parts:
                sign = 1.0 if self._class_names[1] == part["labels"][1] else -1.0
                scores[part["rows"]] = sign * part["scores"][:, 0]
            return scores
        out = np.full((count, classes), -np.inf)
        tasks_of_model = self.model_.tasks
        for part in parts:
            out[part["rows"]] = self._votes([tasks_of_model[t] for t in part["tasks"]], part["scores"])
        return out

    def _votes(self, tasks: list[dict[str, Any]], scores: np.ndarray) -> np.ndarray:
        places = {name: place for place, name in enumerate(self._class_names)}
        out = np.full((len(scores), len(places)), -np.inf)
        if self.model_.casting == "one-vs-rest":
            for task, score in zip(tasks, scores.T):
                out[:, places[task["positive"]]] = score
            return out
        votes, sums = np.zeros_like(out), np.zeros_like(out)
        known = sorted({places[task[side]] for task in tasks for side in ("positive", "negative")})
        for task, score in zip(tasks, scores.T):
            positive, negative = places[task["positive"]], places[task["negative"]]
            votes[score > 0, positive] += 1
            votes[score <= 0, negative] += 1
            sums[:, positive] += score
            sums[:, negative] -= score
        out[:, known] = (votes + sums / (3 * (np.abs(sums) + 1)))[:, known]
        return out

    @available_if(_can_tell_probabilities)  # type: ignore[misc]
    def predict_proba(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Probabilities of the classes, of models fitted with `calibrate`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as in `fit`.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            A column for every value of `classes_`.
        """
        parts, count = self._predict_parts(X, tasks)
        out = np.zeros((count, len(self.classes_)))
        for part in parts:
            if part["probability"] is None:
                raise ValueError(f"task '{part['name']}' has no probabilities; extend with calibrate=, or fit anew.")
            out[np.ix_(part["rows"], self._places(part["labels"]))] = part["probability"]
        return out

    def score(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> float:
        """Share of rows that are labelled right. Labels are compared by their names, so that 1, 1.0 and '1' are the same.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as in `fit`.
        y : array-like of shape (n_samples,)
            Their true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much every row counts.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.

        Returns
        -------
        accuracy : float
            Between 0 and 1.
        """
        if y is None:
            raise ValueError("y is None; score needs the true labels.")
        said = self._said(X, tasks)
        names = np.array(self._class_names, dtype=object)
        return float(accuracy_score(_data.texts_of(y, "label"), names[said], sample_weight=sample_weight))

    def evaluate(self, X: Any, y: Any, tasks: Any = None) -> dict[str, Any]:
        """Scores of every task, and of all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as in `fit`.
        y : array-like of shape (n_samples,)
            Their true labels.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.

        Returns
        -------
        scores : dict
            `n`, `errors`, `accuracy`, `balanced_accuracy`, `log_loss`, `confusion`; `tasks`, a list with the scores of each; `mean`, their
            means.
        """
        if y is None:
            raise ValueError("y is None; evaluate needs the true labels.")
        rows, matrices, _ = self._new_rows(X, tasks, y)
        with plain_errors(), Running(None, self.n_jobs, self.memory) as resources:
            return _core.evaluate(self.model_, rows, matrices, self._new_task_text(), resources)

    def page(self, X: Any = None, y: Any = None, tasks: Any = None, *, title: str = "model") -> Page:
        """A page to look at: tasks, groups, kernel weights and the certificate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Labelled rows that the model has not seen, for scores of its tasks.
        y : array-like of shape (n_samples,), default=None
            Their true labels.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.
        title : str, default='model'
            What stands at its top.

        Returns
        -------
        page : Page
            A notebook shows it; `page.save("report.html")` writes it.

        Examples
        --------
        >>> import coterie
        >>> from sklearn.datasets import load_wine
        >>> coterie.CoterieClassifier(scale="standard").fit(*load_wine(return_X_y=True)).page().text[:15]
        '<!DOCTYPE html>'
        """
        check_is_fitted(self, "model_")
        if X is None and (y is not None or tasks is not None):
            raise ValueError("X is None; scores need rows, their labels and, without a task column, their tasks.")
        if X is not None and y is None:
            raise ValueError("y is None; scores need the true labels.")
        rows: _core.Rows | None = None
        matrices: dict[str, np.ndarray] = {}
        if X is not None:
            rows, matrices, _ = self._new_rows(X, tasks, y)
        with plain_errors(), Running(None, self.n_jobs, self.memory) as resources:
            return Page(_core.page(self.model_, title, rows, matrices, self._new_task_text(), resources))

    def combined_kernel(self, X: Any, Z: Any = None, task: Any = None) -> np.ndarray:
        """Values of the kernel that was learnt, for use in other estimators.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, without a task column.
        Z : array-like of shape (m_samples, n_features), default=None
            Rows to compare with; X itself unless given.
        task : str or int, default=None
            Whose kernel, by name; the mean of all tasks unless given.

        Returns
        -------
        K : ndarray of shape (n_samples, m_samples)
            The mix of the base kernels, by the weights of the task.
        """
        check_is_fitted(self, "model_")
        weights = self.kernel_weights_
        if task is None:
            mix = weights.mean(axis=0)
        else:
            name = _data.text_of(task, "task")
            if name not in self.tasks_:
                raise ValueError(f"task is {task!r}, which the model does not know. It knows: {', '.join(self.tasks_[:10])}.")
            mix = weights[list(self.tasks_).index(name)]
        left = check_array(X, dtype=np.float64, order="C")
        right = left if Z is None else check_array(Z, dtype=np.float64, order="C")
        for name, rows in (("X", left), ("Z", right)):
            if rows.shape[1] != len(self.model_.features):
                raise ValueError(f"{name} has {rows.shape[1]} columns, but the model has {len(self.model_.features)} features.")
        with plain_errors(), Running(None, self.n_jobs) as resources:
            return self.model_.combined_kernel(mix, left, right, resources)

    # ---- what was learnt ----

    @property
    def tasks_(self) -> np.ndarray:
        """Names of the tasks, in the order of `kernel_weights_`."""
        check_is_fitted(self, "model_")
        return np.array([task["name"] for task in self.model_.tasks], dtype=object)

    @property
    def kernel_names_(self) -> list[str]:
        """Names of the base kernels, in the order of `kernel_weights_`."""
        check_is_fitted(self, "model_")
        return list(self.model_.kernels)

    @property
    def kernel_weights_(self) -> np.ndarray:
        """Weights of the base kernels in every task, of shape (n_tasks, n_kernels)."""
        check_is_fitted(self, "model_")
        if self.model_.is_linear:
            raise AttributeError(f"the method {self.method!r} has no kernel weights; see coef_.")
        return self.model_.weights

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the scaled features in every task, of linear methods."""
        check_is_fitted(self, "model_")
        if not self.model_.is_linear:
            raise AttributeError(f"the method {self.method!r} has no weights of features; see kernel_weights_.")
        return self.model_.weights

    @property
    def intercept_(self) -> np.ndarray:
        """What is added to the decision values of every task."""
        check_is_fitted(self, "model_")
        return np.array([task["bias"] for task in self.model_.tasks])

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of every task."""
        check_is_fitted(self, "model_")
        return np.array([task["support"] for task in self.model_.tasks])

    @property
    def groups_(self) -> list[list[str]]:
        """Names of tasks that share a kernel exactly, the largest group first."""
        check_is_fitted(self, "model_")
        return [list(group) for group in self.model_.groups]

    @property
    def certificate_(self) -> Certificate:
        """How far the answer can be from the optimum; after `extend`, of the tasks added last."""
        check_is_fitted(self, "model_")
        proof = dict(self.model_.extensions[-1] if self.model_.extensions else self.model_.certificate)
        proof.pop("base_tasks", None)
        proof.pop("tasks", None)
        return Certificate(**proof)

    # ---- more verbs ----

    def _labelled(self, X: Any, y: Any, tasks: Any, sample_weight: Any) -> tuple[_core.Dataset, dict[str, np.ndarray]]:
        """Labelled rows for a model that is there, which they do not change."""
        check_is_fitted(self, "model_")
        if y is None:
            raise ValueError("y is None; give the label of every row.")
        precomputed = self._is_precomputed()
        if precomputed:
            matrices = {f"K{k}": K for k, K in enumerate(_data.matrices_of(X, count=self._matrices), 1)}
            rows = np.arange(1.0, len(matrices["K1"]) + 1).reshape(-1, 1)
            task = None if tasks is None else _data.task_values(tasks, len(rows))
        else:
            rows, task, matrices = self._take(X, tasks, reset=False)
        y = column_or_1d(y, warn=True)
        check_consistent_length(rows, y)
        codes, names, _ = _data.coded(y, "label")
        unknown = [name for name in names if name not in self._class_names]
        if unknown:
            raise ValueError(f"y has the label {unknown[0]!r}, which the model does not know. It knows: {', '.join(self._class_names[:10])}.")
        places = self._places(names)
        weight = self._row_weights(rows, places[codes], sample_weight)
        return self._dataset(rows, list(self.model_.features), (codes, names), task, weight, self.model_.casting, matrices), matrices

    def verify(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> Verification:
        """Recompute the certificate from the training data, by separate code.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of `fit`, or of one `extend`, in the same order.
        y : array-like of shape (n_samples,)
            Their labels.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.

        Returns
        -------
        verification : Verification
            What was found; `holds` says whether all is well.
        """
        data, matrices = self._labelled(X, y, tasks, sample_weight)
        with plain_errors(), Running(self.progress, self.n_jobs) as resources:
            more = _core.More() if self.model_.extensions else self._more(matrices, verifying=True)
            found = _core.verify(self.model_, data, more, resources)
        found["findings"] = [in_python(text) for text in found["findings"]]
        return Verification(**found)

    def extend(
        self,
        X: Any,
        y: Any,
        tasks: Any = None,
        *,
        lam: float | None = None,
        C: float | None = None,
        tol: float = 1e-4,
        max_steps: int = 100,
        links: Any = None,
        calibrate: str | None = None,
    ) -> Any:
        """Add new tasks to the model; its own tasks stay as they are, to the last bit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the new tasks.
        y : array-like of shape (n_samples,)
            Their labels, which the model must know.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column; names that the model does not have.
        lam : float, default=None
            How strongly new tasks are drawn to the others; the model's unless given.
        C : float, default=None
            Cost of a training error of the new tasks; the model's unless given.
        tol : float, default=0.0001
            Relative gap at which the fit is done.
        max_steps : int, default=100
            Outer steps after which the solver gives up.
        links : list of tuple, default=None
            (task, task) or (task, task, weight): pairs that are drawn together, each with a new task; all unless given.
        calibrate : {'platt', 'isotonic'}, default=None
            Gives the new tasks probabilities.

        Returns
        -------
        self : object
            The estimator with more tasks; `certificate_` is now that of the new ones.
        """
        data, matrices = self._labelled(X, y, tasks, None)
        if matrices:
            raise ValueError("kernels is 'precomputed': new tasks have no values with the older ones. Use kernels of features to extend.")
        if not self._has_tasks:
            raise ValueError("the model was fitted without tasks; there is nothing to add new ones to.")
        with plain_errors(), Running(self.progress, self.n_jobs, self.memory) as resources:
            more = _core.extend(
                self.model_,
                data,
                None if lam is None else float(number_text(lam, "lam")),
                None if C is None else float(number_text(C, "C")),
                float(number_text(tol, "tol")),
                max_steps,
                links_of(links, "links"),
                calibration_of(calibrate),
                5,
                seed_of(self.random_state),
                resources,
            )
        self._keep(more)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that the program `coterie` reads too.

        Parameters
        ----------
        path : str or path
            Where it goes; written whole or not at all.
        """
        check_is_fitted(self, "model_")
        with plain_errors():
            self.model_.save(os.fspath(path))

    def export_onnx(self, path: str | os.PathLike[str], task: Any = None) -> None:
        """Write the decision function as basic operators of ONNX, in double precision.

        Parameters
        ----------
        path : str or path
            Where it goes.
        task : str or int, default=None
            Of which task; models of several tasks need one, those of many classes have all.
        """
        from .onnx import export_onnx

        export_onnx(self, path, task)

    # ---- scikit-learn ----

    def _more_tags(self) -> dict[str, Any]:
        return {"pairwise": self._is_precomputed()}

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect, from 1.6 on."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


class CoterieClassifier(_Fitted):
    """Related SVMs that learn a mix of kernels each, and which of them share one.

    Two classes without tasks are a single SVM with a learnt kernel. Several tasks, rows of which a column or `tasks=` names, are drawn
    together by `lam`. More than two classes are tasks against each other, one for each pair of classes. Every fit carries a certificate of
    how far it can be from the optimum.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a training error.
    lam : float or str, default='0.1max'
        How strongly tasks are drawn together: a number, 'inf' (one kernel for all tasks), or a share of the smallest value for which all
        share one kernel.
    norm : float, default=1
        p of the constraint on kernel weights; 1 gives few kernels, inf equal weights.
    kernels : str or list of str, default='poly:1:1 poly:2:1 gauss:1,2,4,8,16,32,64,128'
        Base kernels, such as 'linear poly:2 gauss:1,2,4'. The default is 'paper', the ten of the program, but with an offset in the linear and
        the quadratic one, so that a row of zeros has a direction. 'precomputed' takes kernel matrices in place of X.
    normalise : str, default='cosine'
        Scale of the kernels: 'cosine', 'variance', 'tail:h' or 'none'.
    scale : {'none', 'standard', 'minmax'}, default=None
        Scaling of the features, learnt on the training rows; None is what suits the method.
    smooth : int, default=1
        Every feature becomes the mean of so many that rise and fall with it.
    class_weight : 'balanced' or dict, default=None
        Factors of C for the classes; 'balanced' weighs the two sides of every task alike, and with the methods 'pooled', 'joint' and 'groups',
        which put the rows of tasks together, the two sides of all the rows that are together.
    tol : float, default=0.0001
        Relative duality gap at which the fit is done.
    max_steps : int, default=100
        Outer steps after which the solver gives up.
    solver : {'newton', 'published'}, default='newton'
        The algorithm; the published one does not converge.
    task_column : str or int, default=None
        The column of X that names the task of every row.
    new_task : str or int, default='error'
        Rows of tasks that the model does not know: 'error', 'common' (the mean of all tasks), the number of a group, or 'task:NAME'. With
        more than two classes 'error' alone.
    multi_class : {'ovo', 'ovr'}, default='ovo'
        More than two classes: a task per pair of classes, or per class.
    task_C : dict, default=None
        C of single tasks, by name.
    task_graph : list of tuple, default=None
        (task, task) or (task, task, weight): pairs that are drawn together; all unless given.
    calibrate : {'platt', 'isotonic'}, default=None
        Learns probabilities by cross-validation.
    method : str, default='coterie'
        What is learnt: the method of this package, or one to compare with (`coterie.methods()`).
    method_params : dict, default=None
        Parameters of other methods.
    loss : {'squared-hinge', 'logistic', 'square'}, default='squared-hinge'
        Loss of linear methods.
    map : str, default='none'
        What linear methods are linear in: 'none' (features), or 'kernels:rank'.
    first_stage : dict, default=None
        Parameters of the models behind kernels on @pooled, @others and @group.
    n_jobs : int, default=None
        Threads: None is 1, -1 all cores. Changes no bit of the result.
    memory : int, float or str, default=None
        Memory to stay within, such as '512MB'; with less it takes longer, and the answer is the same.
    random_state : int, RandomState or Generator, default=None
        Seed of the folds of `calibrate`.
    progress : bool or callable, default=None
        True draws a line on standard error; a function gets a dict now and then, and may return False to stop.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    tasks_ : ndarray of shape (n_tasks,)
        Names of the tasks.
    kernel_names_ : list of str
        Names of the base kernels.
    kernel_weights_ : ndarray of shape (n_tasks, n_kernels)
        Weights of the base kernels in every task.
    coef_ : ndarray of shape (n_tasks, n_features)
        Weights of scaled features, of linear methods.
    intercept_ : ndarray of shape (n_tasks,)
        What is added to decision values.
    n_support_ : ndarray of shape (n_tasks,)
        Support vectors of every task.
    groups_ : list of list of str
        Tasks that share a kernel exactly.
    certificate_ : Certificate
        How far the answer can be from the optimum.
    n_features_in_ : int
        Columns of X, that of tasks included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where X had some.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from coterie import CoterieClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CoterieClassifier(C=10, lam="0.3max").fit(X, y)
    >>> list(model.tasks_)
    ['0|1', '0|2', '1|2']
    >>> model.score(X, y) > 0.95
    True
    >>> model.verify(X, y).holds
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        lam: float | str = "0.1max",
        norm: float | str = 1,
        kernels: Any = KERNELS,
        normalise: str = "cosine",
        scale: str | None = None,
        smooth: int = 1,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_steps: int = 100,
        solver: str = "newton",
        task_column: Any = None,
        new_task: Any = "error",
        multi_class: str = "ovo",
        task_C: Any = None,
        task_graph: Any = None,
        calibrate: str | None = None,
        method: str = "coterie",
        method_params: Any = None,
        loss: str = "squared-hinge",
        map: str = "none",
        first_stage: Any = None,
        n_jobs: int | None = None,
        memory: Any = None,
        random_state: Any = None,
        progress: ProgressOption = None,
    ) -> None:
        self.C = C
        self.lam = lam
        self.norm = norm
        self.kernels = kernels
        self.normalise = normalise
        self.scale = scale
        self.smooth = smooth
        self.class_weight = class_weight
        self.tol = tol
        self.max_steps = max_steps
        self.solver = solver
        self.task_column = task_column
        self.new_task = new_task
        self.multi_class = multi_class
        self.task_C = task_C
        self.task_graph = task_graph
        self.calibrate = calibrate
        self.method = method
        self.method_params = method_params
        self.loss = loss
        self.map = map
        self.first_stage = first_stage
        self.n_jobs = n_jobs
        self.memory = memory
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> CoterieClassifier:
        """Fit all tasks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A row per sample, with the column of tasks where `task_column` says so. With kernels='precomputed' a kernel matrix of shape
            (n_samples, n_samples), or a list of them.
        y : array-like of shape (n_samples,)
            Labels.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for every row. They change costs alone: scaling and divisors are those of the rows. A row of weight 0 is left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._new_task_text()
        data, matrices = self._training_data(X, y, tasks, sample_weight)
        with plain_errors(), Running(self.progress, self.n_jobs, self.memory) as resources:
            model = _core.train(
                data, self._settings(matrices), self._more(matrices), calibration_of(self.calibrate), 5, seed_of(self.random_state), resources
            )
        self._keep(model)
        return self

    @classmethod
    def _from_model(cls, model: _core.Model) -> CoterieClassifier:
        """The estimator behind a model file."""
        settings = model.settings
        estimator = cls(
            C=float(settings["C"]),
            lam=settings["lambda"],
            norm=float(settings["norm"]),
            kernels=settings["kernels"],
            normalise=settings["normalise"],
            scale=settings["scale"] or None,
            smooth=int(settings["smooth"]),
            class_weight=None if settings["class_weight"] == "none" else settings["class_weight"],
            tol=float(settings["tolerance"]),
            max_steps=int(settings["max_steps"]),
            solver=settings["solver"],
            task_column=model.columns[1] or None,
            multi_class="ovr" if model.casting == "one-vs-rest" else "ovo",
            method=settings["method"],
            method_params=settings["parameters"] or None,
            loss=settings["loss"],
            map=settings["map"],
            first_stage=settings["first_stage"] or None,
        )
        tasks = model.tasks
        names = list(model.classes) or [tasks[0]["negative"], tasks[0]["positive"]]
        estimator.classes_ = _data.values_from(names)
        order = np.argsort(estimator.classes_, kind="stable")
        estimator.classes_ = estimator.classes_[order]
        estimator._class_names = [names[k] for k in order]
        estimator._has_tasks = any(task["part"] for task in tasks)
        estimator._from_file = True
        estimator._matrices = sum(kernel.startswith("precomputed:") for kernel in model.kernels)
        if estimator._matrices and estimator._matrices == len(model.kernels):
            estimator.kernels = "precomputed"
            estimator.task_column = None
            estimator.n_features_in_ = model.training_rows
        else:
            estimator.n_features_in_ = len(model.features) + (estimator.task_column is not None)
        estimator.model_ = model
        estimator._parameters_of_file()
        return estimator

    def _parameters_of_file(self) -> None:
        """What the settings of the file do not say; what has no meaning for the method is as if never given."""
        tasks = self.model_.tasks
        own = tasks[: self.model_.extensions[0]["base_tasks"]] if self.model_.extensions else tasks
        self.task_C = self._task_C_of_file = {task["name"]: task["C"] for task in own if task["C"] != self.C} or None
        self.task_graph = self._graph_of_file = self.model_.task_graph
        if tasks[0]["calibrated"]:
            self.calibrate = self.model_.parts()["tasks"][0]["calibration"]["kind"]
        for name in changed_without_use(self):
            setattr(self, name, defaults_of(self)[name])


def load(path: str | os.PathLike[str]) -> CoterieClassifier:
    """Read a model file of `save`, or of the program `coterie`.

    Labels come back as whole numbers where all of them read so, as other numbers where these do, else as texts. A data frame may have its
    columns in any order; an array has the features in the order of the file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator : CoterieClassifier
        Fitted, with the settings of the file.
    """
    with plain_errors():
        return CoterieClassifier._from_model(_core.Model.load(os.fspath(path)))


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write the model of an estimator to a file that the program `coterie` reads too.

    Parameters
    ----------
    estimator : CoterieClassifier or CoterieClassifierCV
        It must be fitted.
    path : str or path
        Where it goes; written whole or not at all.
    """
    estimator.save(path)
