"""What the tests of the package share."""

import numpy as np
import pandas as pd
import pytest


def planted(tasks=4, rows=30, features=5, seed=0):
    """Tasks in two groups: the first half look at one block of features, the others at another; (X, y, task of every row)."""
    random = np.random.RandomState(seed)
    X, y, names = [], [], []
    for t in range(tasks):
        own = random.randn(rows, features)
        block = own[:, :2] if 2 * t < tasks else own[:, 2:4]
        X.append(own)
        y.append(np.where(block @ random.randn(2) + 0.2 * random.randn(rows) > 0, 1, -1))
        names += [f"t{t}"] * rows
    order = random.permutation(tasks * rows)
    return np.vstack(X)[order], np.concatenate(y)[order], np.array(names, dtype=object)[order]


@pytest.fixture(scope="session")
def tasks():
    return planted()


@pytest.fixture(scope="session")
def frame(tasks):
    """The same as a data frame with a column of tasks in the middle."""
    X, y, names = tasks
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    table.insert(2, "site", names)
    return table, pd.Series(y, name="label")
