"""What the tests of the package share."""

import os
import subprocess

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


@pytest.fixture
def program(tmp_path):
    """Runs the program in the folder of the test; returns what it prints."""

    def run(*arguments):
        done = subprocess.run([os.environ["COTERIE_PROGRAM"], *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
