"""The optimum along lambda: which tasks share a kernel, and from where on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._progress import ProgressOption, Running
from ._settings import number_text, plain_errors, seed_of
from .classifier import CoterieClassifier


@dataclass
class LambdaPath:
    """Optima from lambda = inf, where all tasks share a kernel, down to 0, where each has its own.

    Attributes
    ----------
    tasks, kernels : list of str
        Names.
    lam_max : float
        The smallest lambda for which all tasks share one kernel.
    lam : ndarray of shape (n_points,)
        Falls from inf to 0.
    weights : ndarray of shape (n_points, n_tasks, n_kernels)
        Kernel weights at every point.
    groups : list of list of list of int
        Tasks that share a kernel, at every point.
    objective, gap : ndarray of shape (n_points,)
        With the certificate of every point.
    train_accuracy, held_out_accuracy : ndarray of shape (n_points,)
        Means over tasks; NaN where no rows were held out.
    together : ndarray of shape (n_tasks, n_tasks)
        The share of the path, in log lambda, on which two tasks share a kernel.
    merges : list of dict
        Where tasks join for good: `members`, and `lower` and `upper` bounds of lambda.
    nodes : list of dict
        The tree that pictures show: `children` (tasks, then nodes), `members`, `lam`, `together`, `for_good`.
    resolved : bool
        Whether every merge was located.
    """

    tasks: list[str]
    kernels: list[str]
    lam_max: float
    lam: np.ndarray
    weights: np.ndarray
    groups: list[list[list[int]]]
    objective: np.ndarray
    gap: np.ndarray
    train_accuracy: np.ndarray
    held_out_accuracy: np.ndarray
    together: np.ndarray
    merges: list[dict[str, Any]]
    nodes: list[dict[str, Any]]
    resolved: bool

    def groups_at(self, number: int) -> list[list[str]]:
        """Names of the tasks of every group, at the point that has so many groups on the longest stretch.

        Parameters
        ----------
        number : int
            How many groups.

        Returns
        -------
        groups : list of list of str
            The groups; a ValueError where no point has so many.
        """
        places = [place for place, groups in enumerate(self.groups) if len(groups) == number and 0 < self.lam[place]]
        if not places:
            counts = sorted({len(groups) for groups in self.groups})
            raise ValueError(f"no point of the path has {number} groups; there are points with {', '.join(map(str, counts))}.")
        middle = places[len(places) // 2]
        return [[self.tasks[t] for t in group] for group in self.groups[middle]]


def path(
    X: Any,
    y: Any,
    tasks: Any = None,
    *,
    smallest: float = 1e-4,
    ratio: float = 1.25,
    resolution: float = 0.02,
    hold_out: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: ProgressOption = None,
    **settings: Any,
) -> LambdaPath:
    """Trace the optimum along lambda.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, with the column of tasks where `task_column` says so.
    y : array-like of shape (n_samples,)
        Labels.
    tasks : array-like of shape (n_samples,), default=None
        The task of every row, where X has no task column.
    smallest : float, default=0.0001
        Where the path ends when tasks still share, as a share of the largest lambda.
    ratio : float, default=1.25
        Between neighbouring lambdas, before merges are located.
    resolution : float, default=0.02
        A merge is located to this share of its lambda.
    hold_out : float, default=None
        Share of the rows on which points are judged.
    random_state : int, default=None
        Seed of the rows held out.
    n_jobs : int, default=None
        Threads: None is 1, -1 all cores.
    progress : bool or callable, default=None
        As of `CoterieClassifier`.
    **settings : dict
        Other parameters of `CoterieClassifier`, such as C and kernels.

    Returns
    -------
    path : LambdaPath
        Points, groups, and the tree of which tasks join when.

    Examples
    --------
    >>> import coterie
    >>> from sklearn.datasets import load_iris
    >>> found = coterie.path(*load_iris(return_X_y=True), C=10)
    >>> len(found.groups[0]), len(found.groups[-1]) > 1
    (1, True)
    """
    if "lam" in settings:
        raise TypeError("path goes along lam; it takes none.")
    estimator = CoterieClassifier(n_jobs=n_jobs, progress=progress, **settings)
    data, matrices = estimator._training_data(X, y, tasks, None)
    with plain_errors(), Running(progress, n_jobs, estimator.memory) as resources:
        found = _core.trace_path(
            data,
            estimator._settings(matrices),
            float(number_text(smallest, "smallest")),
            float(number_text(ratio, "ratio")),
            float(number_text(resolution, "resolution")),
            None if hold_out is None else float(number_text(hold_out, "hold_out")),
            seed_of(random_state),
            estimator._more(matrices),
            resources,
        )
    if found is None:
        raise RuntimeError("stopped before the path was done")
    return LambdaPath(**found)
