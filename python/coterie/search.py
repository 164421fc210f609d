"""The classifier that chooses its settings by cross-validation, with the kernels of all folds computed once."""

from __future__ import annotations

import inspect
import numbers
from typing import Any

import numpy as np

from . import _core
from ._progress import ProgressOption, Running
from ._settings import calibration_of, number_text, plain_errors, seed_of
from .classifier import KERNELS, CoterieClassifier, _Fitted

_SCORES = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "roc_auc": "auc", "neg_log_loss": "logloss"}


def _list_text(values: Any, name: str) -> str:
    """A list to search, as the core reads it."""
    if isinstance(values, str):
        return values
    if isinstance(values, numbers.Real) and not isinstance(values, bool):
        return number_text(values, name)
    if isinstance(values, (list, tuple, np.ndarray)) and len(values) > 0:
        return ",".join(value if isinstance(value, str) else number_text(value, name) for value in values)
    raise TypeError(f"{name} is {values!r}; it must be a list of values, or a text such as '2^-3..2^5'.")


def _value(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and abs(number) < 1e15 and "e" not in text.lower() and "." not in text else number


class CoterieClassifierCV(_Fitted):
    """A classifier whose C, lambda, norm and normalisation are chosen by cross-validation.

    Like `GridSearchCV` around `CoterieClassifier`, in a small part of its time: kernels are computed once for all folds, and every fit
    begins where its neighbour ended. Folds are stratified by task and class.

    Parameters
    ----------
    C : list of float or str, default='0.01,0.1,1,10,100'
        Costs to choose from: a list, or a text such as '0.1,1,10' or '2^-4..2^10'.
    lam : list or str, default='0,0.1max,1max'
        Lambdas: all numbers, or all shares of the largest; 0 and 'inf' go with both.
    norm : list or str, default=1
        Norms of the kernel weights.
    normalise : list or str, default='cosine'
        Scales of the kernels.
    kernels : str or list of str, default='poly:1:1 poly:2:1 gauss:1,2,4,8,16,32,64,128'
        Base kernels, as of `CoterieClassifier`.
    cv : int or float, default=5
        Folds, or the share of the rows that is held out.
    scoring : {'accuracy', 'balanced_accuracy', 'roc_auc', 'neg_log_loss'}, default='accuracy'
        What is best, as a mean over tasks.
    search : {'grid', 'coarse'}, default='grid'
        All points, or from coarse to fine along C and lambda.
    one_se : bool, default=False
        Chooses the strongest sharing within one standard error of the best.
    alternatives : bool, default=False
        Whether cheap methods are looked at too; the choice does not depend on them.
    scale : {'none', 'standard', 'minmax'}, default=None
        Scaling of the features, learnt in every fold anew.
    smooth : int, default=1
        Every feature becomes the mean of so many.
    class_weight : 'balanced' or dict, default=None
        Factors of C for the classes.
    tol : float, default=0.0001
        Relative duality gap at which a fit is done.
    max_steps : int, default=100
        Outer steps after which the solver gives up.
    task_column : str or int, default=None
        The column of X that names the task of every row.
    new_task : str or int, default='error'
        What becomes of rows of unknown tasks.
    multi_class : {'ovo', 'ovr'}, default='ovo'
        More than two classes: a task per pair of classes, or per class.
    task_C : dict, default=None
        C of single tasks, by name.
    task_graph : list of tuple, default=None
        Pairs of tasks that are drawn together; all unless given.
    calibrate : {'platt', 'isotonic'}, default=None
        Learns probabilities by cross-validation.
    method : str, default='coterie'
        What is learnt.
    method_params : dict, default=None
        Lists to search of parameters of other methods; those not given are searched as the method suggests.
    loss : {'squared-hinge', 'logistic', 'square'}, default='squared-hinge'
        Loss of linear methods.
    map : str, default='none'
        What linear methods are linear in.
    first_stage : dict, default=None
        Parameters of the models behind kernels on @pooled, @others and @group.
    n_jobs : int, default=None
        Threads: None is 1, -1 all cores.
    memory : int, float or str, default=None
        Memory to stay within.
    random_state : int, RandomState or Generator, default=None
        Seed of the folds.
    progress : bool or callable, default=None
        True draws a line on standard error; a function gets a dict now and then, and may return False to stop.

    Attributes
    ----------
    best_params_ : dict
        What was chosen.
    best_score_ : float
        Its mean score.
    cv_results_ : dict
        As of `GridSearchCV`: `params`, `mean_test_score`, `standard_error`, `rank_test_score`, a `param_` array for every list, and
        `cells`, the scores of folds x tasks.
    selection_ : dict
        How sure the choice is: `within` (points within one standard error), `chosen_again` (share of resamples that choose it),
        `optimism` (by how much the score flatters), `judged_by`, `fits`, `alternatives`.
    classes_ : ndarray of shape (n_classes,)
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from coterie import CoterieClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CoterieClassifierCV(C=[1, 10], lam=["0.1max", "1max"]).fit(X, y)
    >>> model.best_score_ > 0.95
    True
    >>> len(model.cv_results_["params"])
    4
    """

    def __init__(
        self,
        C: Any = "0.01,0.1,1,10,100",
        lam: Any = "0,0.1max,1max",
        norm: Any = 1,
        normalise: Any = "cosine",
        kernels: Any = KERNELS,
        cv: Any = 5,
        scoring: str = "accuracy",
        search: str = "grid",
        one_se: bool = False,
        alternatives: bool = False,
        scale: str | None = None,
        smooth: int = 1,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_steps: int = 100,
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
        self.normalise = normalise
        self.kernels = kernels
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.one_se = one_se
        self.alternatives = alternatives
        self.scale = scale
        self.smooth = smooth
        self.class_weight = class_weight
        self.tol = tol
        self.max_steps = max_steps
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

    def fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> CoterieClassifierCV:
        """Choose, then fit the choice on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A row per sample, with the column of tasks where `task_column` says so.
        y : array-like of shape (n_samples,)
            Labels.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for every row; scores do not weigh rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._new_task_text()
        data, matrices = self._training_data(X, y, tasks, sample_weight)
        base = self._base()
        lists = {"C": _list_text(self.C, "C"), "lambda": _list_text(self.lam, "lam"), "norm": _list_text(self.norm, "norm"), "normalise": _list_text(self.normalise, "normalise")}
        with plain_errors(), Running(self.progress, self.n_jobs, self.memory) as resources:
            found = _core.select(
                data, base._settings(matrices), lists, self._parameter_lists(), self._how(), self._more(matrices), calibration_of(self.calibrate), resources
            )
        if found is None:
            raise RuntimeError("stopped before anything was chosen")
        self._report(found[0])
        self._keep(found[1])
        return self

    def _base(self) -> CoterieClassifier:
        """The settings that are not searched."""
        mine = self.get_params(deep=False)
        searched = {"C", "lam", "norm", "normalise", "method_params"}
        names = set(inspect.signature(CoterieClassifier).parameters) - searched
        return CoterieClassifier(**{name: mine[name] for name in names & set(mine)})

    def _parameter_lists(self) -> str:
        if self.method_params is None:
            return ""
        if isinstance(self.method_params, str):
            return self.method_params
        return " ".join(f"{name}={_list_text(values, name)}" for name, values in self.method_params.items())

    def _how(self) -> _core.Search:
        if self.scoring not in _SCORES:
            raise ValueError(f"scoring is {self.scoring!r}; it must be one of {', '.join(map(repr, _SCORES))}.")
        if self.search not in ("grid", "coarse"):
            raise ValueError(f"search is {self.search!r}; it must be 'grid' or 'coarse'.")
        folds, hold_out = 5, None
        if isinstance(self.cv, numbers.Integral) and not isinstance(self.cv, bool):
            folds = int(self.cv)
        elif isinstance(self.cv, float):
            hold_out = self.cv
        else:
            raise TypeError(f"cv is {self.cv!r}; it must be a number of folds, or a share between 0 and 1.")
        return _core.Search(folds, hold_out, _SCORES[self.scoring], self.search == "coarse", bool(self.one_se), seed_of(self.random_state), bool(self.alternatives))

    def _report(self, found: dict[str, Any]) -> None:
        columns = found["columns"]
        own = {parameter["name"] for one in _core.methods() if one["name"] == self.method for parameter in one["parameters"]}
        sign = -1.0 if self.scoring == "neg_log_loss" else 1.0

        def params_of(row: dict[str, Any]) -> dict[str, Any]:
            return {"lam" if name == "lambda" and name not in own else name: _value(row[name]) for name in columns}

        table = found["table"]
        scores = sign * np.array([row["score"] for row in table])
        params = [params_of(row) for row in table]
        self.cv_results_ = {
            "params": params,
            "mean_test_score": scores,
            "standard_error": np.array([row["standard_error"] for row in table]),
            "rank_test_score": np.array([1 + int((scores > score).sum()) for score in scores], dtype=np.int32),
            "cells": [sign * row["cells"] for row in table],
        }
        for name in params[0]:
            self.cv_results_[f"param_{name}"] = np.array([point[name] for point in params], dtype=object)
        self.best_params_ = params_of(found["chosen"])
        self.best_score_ = sign * found["score"]
        self.selection_ = {name: found[name] for name in ("judged_by", "standard_error", "fits", "within", "chosen_again", "optimism", "alternatives")}
