"""--method joint through the program: its optimum by a cone solver, decisions by hand, what it shares with other methods."""

import csv
import io

import h5py
import numpy as np
import pytest
from cvxopt import matrix, solvers

from support import csv_text

solvers.options.update(show_progress=False, abstol=1e-8, reltol=1e-8, feastol=1e-8, maxiters=200)
TASKS = ("a", "b", "c")
WIDTHS = (1, 3)


def table(seed, n=9, tasks=TASKS, turn=0.7):
    """Tasks with a common direction and one of their own."""
    random = np.random.default_rng(seed)
    common = random.normal(size=3)
    X, y, task = [], [], []
    for t, _ in enumerate(tasks):
        own = common + turn * random.normal(size=3)
        for i in range(n):
            x = random.normal(size=3).round(3)
            X.append(x)
            y.append(-1 if i == 0 else 1 if i == 1 else np.sign(x @ own + 0.3 * random.normal()))
            task.append(t)
    return np.array(X), np.array(y), np.array(task)


def write(coterie, name, X, y, task, tasks=TASKS):
    rows = [[*(f"{v:.3f}" for v in x), "yes" if label > 0 else "no", tasks[t]] for x, label, t in zip(X, y, task)]
    coterie.write(name, csv_text(rows, header=["f1", "f2", "f3", "label", "task"]))


def kernels(A, B):
    squares = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
    return [np.exp(-squares / (2 * s * s)) for s in WIDTHS]


def optimum(K, y, C):
    """max sum alpha - 1/2 max_m alpha'Y K_m Y alpha: the value of the SVM with the best weights of its kernels."""
    n = len(y)
    G, h = [np.column_stack([-np.eye(n), np.zeros(n)]), np.column_stack([np.eye(n), np.zeros(n)])], [np.zeros(n), np.full(n, C)]
    for one in K:  # |2 L'Y alpha, z - 1| <= z + 1, so that |L'Y alpha|^2 <= z
        values, vectors = np.linalg.eigh(one)
        root = (vectors * np.sqrt(np.maximum(values, 0))).T * y
        last = np.zeros((1, n + 1))
        last[0, n] = 1
        G.append(np.vstack([-last, np.column_stack([-2 * root, np.zeros(n)]), -last]))
        h.append(np.concatenate([[1], np.zeros(n), [-1]]))
    solved = solvers.conelp(matrix(np.concatenate([-np.ones(n), [0.5]])), matrix(np.vstack(G)), matrix(np.concatenate(h)),
                            {"l": 2 * n, "q": [n + 2] * len(K), "s": []}, A=matrix(np.concatenate([y, [0]])[None, :]), b=matrix([0.0]))
    return -solved["primal objective"]


def train(coterie, own, *more, method="joint", model="m.h5"):
    parameters = ["--parameters", f"own={own}"] if method == "joint" else []
    return coterie("train", "d.csv", "-o", model, "--method", method, *parameters, "--kernels", "gauss:1,3", "-C", "2", "--tolerance", "1e-8",
                   *more, "--json").json


@pytest.mark.parametrize("own", [0, 0.3, 1])
def test_the_optimum_is_that_of_a_cone_solver(coterie, own):
    X, y, task = table(1)
    write(coterie, "d.csv", X, y, task)
    fit = train(coterie, own)
    across = np.where(task[:, None] == task[None, :], 1, 1 - own)
    assert fit["objective"] == pytest.approx(optimum([K * across for K in kernels(X, X)], y, 2), rel=1e-6)
    assert fit["claim"] == "optimum" and 0 <= fit["gap"] <= 1e-8
    assert coterie("verify", "m.h5", "d.csv", "--json").json["holds"]


def test_decisions_follow_from_the_pool(coterie):
    """Every task's function by numpy: the alphas of its own samples in whole, others' 1 - own times."""
    X, y, task = table(2)
    write(coterie, "d.csv", X, y, task)
    train(coterie, 0.4)
    model = coterie("inspect", "m.h5", "--json").json
    assert len({one["bias"] for one in model["tasks"]}) == 1 and len({tuple(one["theta"]) for one in model["tasks"]}) == 1
    assert len(model["groups"]) == 1
    new, _, _ = table(3)
    write(coterie, "new.csv", new, y, task)
    score = np.array([float(row["score"]) for row in csv.DictReader(io.StringIO(coterie("predict", "m.h5", "new.csv").out))])
    with h5py.File(coterie.folder / "m.h5") as file:
        ends = file["tasks/support_offsets"][:]
        beta = np.zeros(len(y))
        for t in range(3):
            place = slice(ends[t], ends[t + 1])
            sample = file["tasks/sample"][place]
            own = task[sample] == t
            beta[sample[own]] = (file["tasks/alpha"][place] * file["tasks/y"][place])[own]
    K = sum(weight * one for weight, one in zip(model["tasks"][0]["theta"], kernels(new, X)))
    expected = (K * np.where(task[:, None] == task[None, :], 1, 0.6)) @ beta + model["tasks"][0]["bias"]
    np.testing.assert_allclose(score, expected, atol=1e-9)


def test_without_own_parts_it_is_pooled(coterie):
    write(coterie, "d.csv", *table(4))
    assert train(coterie, 0)["objective"] == train(coterie, 0, method="pooled", model="p.h5")["objective"]


def test_tasks_that_differ_a_little_gain_by_both_parts(coterie):
    """One rule, turned a little for every task: neither one model for all nor a part for each alone is best."""
    names = tuple("abcdef")
    accuracy = {0: 0, 0.5: 0, 1: 0}
    for seed in (1, 2, 3):
        X, y, task = table(seed, n=320, tasks=names, turn=0.3)
        few = np.tile(np.arange(320) < 20, len(names))
        write(coterie, "d.csv", X[few], y[few], task[few], names)
        write(coterie, "new.csv", X[~few], y[~few], task[~few], names)
        for own in accuracy:
            train(coterie, own)
            accuracy[own] += coterie("evaluate", "m.h5", "new.csv", "--json").json["accuracy"] / 3
    assert accuracy[0.5] > max(accuracy[0], accuracy[1]) + 0.01


def test_select_searches_the_share(coterie):
    write(coterie, "d.csv", *table(5, n=20))
    out = coterie("select", "d.csv", "-o", "s.h5", "--method", "joint", "--kernels", "gauss:1,3", "-C", "2", "--folds", "3", "--json").json
    assert {row["own"] for row in out["grid"]} == {0, 0.2, 0.5} and out["chosen"]["own"] in {0, 0.2, 0.5}
    assert coterie("verify", "s.h5", "d.csv", "--json").json["holds"]


@pytest.mark.parametrize("arguments, says", [
    (["--parameters", "own=1.5"], "a number between 0 and 1"),
    (["--parameters", "share=0.5"], "which --method joint does not have"),
    (["--kernels", "linear linear:raw@pooled"], "needs a method with an SVM for every task"),
])
def test_what_makes_no_sense_is_said(coterie, arguments, says):
    write(coterie, "d.csv", *table(6))
    assert says in coterie("train", "d.csv", "-o", "m.h5", "--method", "joint", *arguments, code=2).err


def test_new_tasks(coterie):
    X, y, task = table(7)
    write(coterie, "d.csv", X, y, task)
    train(coterie, 0.3)
    write(coterie, "new.csv", X, y, task, tasks=("d", "e", "f"))
    assert "coterie" in coterie("extend", "m.h5", "new.csv", "-o", "e.h5", code=2).err
    each = [coterie("predict", "m.h5", "new.csv", "--new-task", f"task:{name}").out for name in TASKS]
    assert coterie("predict", "m.h5", "new.csv", "--new-task", "common").out == each[0] == each[1]  # a group of all tasks
