"""Data to try things on."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._settings import number_text, plain_errors, seed_of


def plant_groups(
    tasks: int = 12,
    groups: int = 3,
    samples: int = 60,
    features_per_block: int = 4,
    noise: float = 0.1,
    positive_share: float = 0.5,
    size_spread: float = 0.0,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Make tasks in groups that need the same kernel, but not the same classifier.

    Every group owns a block of features. The tasks of even groups are linear in theirs, those of odd groups radial; all other blocks are
    noise to them.

    Parameters
    ----------
    tasks : int, default=12
        How many.
    groups : int, default=3
        They take turns.
    samples : int, default=60
        Per task.
    features_per_block : int, default=4
        Columns of a group.
    noise : float, default=0.1
        Share of labels that are flipped.
    positive_share : float, default=0.5
        Share of positive labels, before they are flipped.
    size_spread : float, default=0.0
        By how much, as a share, tasks differ in size.
    random_state : int, RandomState or Generator, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Labels, -1 and 1.
    tasks : ndarray of shape (n_samples,)
        The task of every row: 't01', 't02', ...
    group : ndarray of shape (n_tasks,)
        The group of every task.

    Examples
    --------
    >>> from coterie import plant_groups
    >>> X, y, tasks, group = plant_groups(tasks=4, groups=2, samples=10)
    >>> X.shape, group.tolist()
    ((40, 8), [0, 1, 0, 1])
    """
    for name, value in (("tasks", tasks), ("groups", groups), ("samples", samples), ("features_per_block", features_per_block)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name} is {value!r}; it must be a whole number.")
    with plain_errors():
        X, y, names, group = _core.plant_groups(
            int(tasks),
            int(groups),
            int(samples),
            int(features_per_block),
            float(number_text(noise, "noise")),
            float(number_text(positive_share, "positive_share")),
            float(number_text(size_spread, "size_spread")),
            seed_of(random_state),
        )
    return X, np.array([int(label) for label in y]), np.array(names, dtype=object), np.array(group)
