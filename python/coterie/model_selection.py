"""Folds that keep the share of every class in every task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, column_or_1d

from . import _data


class TaskStratifiedKFold(BaseCrossValidator):
    """Folds in which every class of every task is spread as evenly as it can be.

    Parameters
    ----------
    n_splits : int, default=5
        Folds, at least two.
    task_column : str or int, default=None
        The column of X that names the task of every row; else `groups` does.
    shuffle : bool, default=False
        Whether rows of a class and task are shuffled first.
    random_state : int or RandomState, default=None
        Seed of the shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import TaskStratifiedKFold
    >>> X, y, tasks = np.zeros((8, 1)), np.tile([0, 1], 4), np.repeat(["a", "b"], 4)
    >>> for train, test in TaskStratifiedKFold(2).split(X, y, tasks):
    ...     print(test)
    [0 1 4 5]
    [2 3 6 7]
    """

    def __init__(self, n_splits: int = 5, *, task_column: Any = None, shuffle: bool = False, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.task_column = task_column
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds there are.

        Parameters
        ----------
        X, y, groups : object, default=None
            Not looked at.

        Returns
        -------
        n_splits : int
            The folds.
        """
        if isinstance(self.n_splits, bool) or not isinstance(self.n_splits, (int, np.integer)) or self.n_splits < 2:
            raise ValueError(f"n_splits is {self.n_splits!r}; it must be a whole number >= 2.")
        return int(self.n_splits)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the rows of every fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their labels; they are needed.
        groups : array-like of shape (n_samples,), default=None
            Their tasks, where X has no task column.

        Yields
        ------
        train : ndarray
            Rows to train on.
        test : ndarray
            Rows to test on.
        """
        if y is None:
            raise ValueError("y is None; the folds keep the share of every class, so the labels are needed.")
        yield from super().split(X, y, groups)

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[np.ndarray]:
        folds = self.get_n_splits()
        labels = _data.coded(column_or_1d(y), "label")[0]
        tasks = groups
        if self.task_column is not None:
            if groups is not None:
                raise ValueError("groups are given, and task_column says that X has the tasks; choose one.")
            tasks = _data.without_task(_data.as_table(X), self.task_column)[1]
        task = np.zeros(_num_samples(X), dtype=np.intp) if tasks is None else _data.coded(_data.task_values(tasks, _num_samples(X)), "task")[0]
        random = check_random_state(self.random_state)
        fold = np.empty(len(labels), dtype=np.intp)
        begin = 0  # the next part goes on where the last one ended, so that folds are of even size
        for kind in np.unique(np.column_stack([task, labels]), axis=0):
            rows = np.flatnonzero((task == kind[0]) & (labels == kind[1]))
            if len(rows) < 2:
                raise ValueError(f"a class has a single row in a task (row {rows[0]} of X), which could not be trained on and held out; leave it out.")
            if self.shuffle:
                rows = random.permutation(rows)
            places = (begin + np.arange(len(rows)) * min(folds, len(rows)) // len(rows)) % folds
            fold[rows] = places
            begin = (begin + min(folds, len(rows))) % folds if len(rows) < folds else begin
        for number in range(folds):
            yield fold == number
