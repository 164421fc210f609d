"""Objectives of the convex linear methods against an interior-point cone solver, on small random problems.

The problems are those of docs/methods.md, written from their definitions: squared hinge or square loss, averaged per task, free biases.

    metag      lambda sum_{s<t} ||w_s - w_t|| + ridge/2 ||W||^2                                        second-order cones
    flexclus   W = U + V,  lambda1 sum_j sum_{s<t} |U_sj - U_tj| + lambda2 ||U||^2 + lambda3 ||V||^2    a quadratic program
    cmtl       lambda (mean T ||w_bar||^2 + min_S tr(W~ S^-1 W~')),  alpha I <= S <= beta I, tr S = (T-r+1) alpha + (r-1) beta
    whom       lambda ||W||_*^2 = lambda min_{D, tr D <= 1} tr(W' D^-1 W), one group                    semidefinite cones

The matrix S of cmtl is T x T here, with the trace as in the article; the program eliminates it on the T - 1 centred directions.
"""

import itertools

import numpy as np
import pytest
from cvxopt import matrix, solvers

from support import csv_text

solvers.options.update(show_progress=False, abstol=1e-10, reltol=1e-10, feastol=1e-10, maxiters=200)


class Quadratic:
    """minimise 1/2 x'Px + q'x subject to h - Gx in a product of cones and Ax = b, built piece by piece."""

    def __init__(self, size):
        self.size = size
        self.P, self.q = np.zeros((size, size)), np.zeros(size)
        self.linear, self.cones, self.semidefinite, self.equal = [], [], [], []

    def row(self, entries):
        values = np.zeros(self.size)
        for index, value in entries:
            values[index] += value
        return values

    def at_least(self, entries, bound):
        self.linear.append((-self.row(entries), -bound))

    def equals(self, entries, value):
        self.equal.append((self.row(entries), value))

    def norm_at_most(self, vectors, bound):
        """||(entries_1 x, entries_2 x, ..)|| <= bound entry"""
        self.cones.append(np.array([-self.row(bound)] + [-self.row(entries) for entries in vectors]))

    def positive(self, cells, constant):
        """constant + sum of entries, a symmetric matrix of cells[i][j], is positive semidefinite."""
        n = len(cells)
        block = np.zeros((n * n, self.size))
        for i, j in itertools.product(range(n), range(n)):
            block[i * n + j] = -self.row(cells[i][j])
        self.semidefinite.append((block, np.asarray(constant, float)))

    def minimum(self):
        G = [row for row, _ in self.linear] + [row for cone in self.cones for row in cone] + [row for block, _ in self.semidefinite for row in block]
        h = [bound for _, bound in self.linear] + [0.0] * sum(map(len, self.cones))
        for _, constant in self.semidefinite:
            h += list(constant.reshape(-1))
        dims = {"l": len(self.linear), "q": [len(cone) for cone in self.cones], "s": [len(c) for _, c in self.semidefinite]}
        extra = {}
        if self.equal:
            extra = {"A": matrix(np.array([row for row, _ in self.equal])), "b": matrix(np.array([value for _, value in self.equal], float))}
        solved = solvers.coneqp(matrix(self.P), matrix(self.q), matrix(np.array(G)), matrix(np.array(h, float)), dims, **extra)
        assert solved["status"] == "optimal" or solved["relative gap"] <= 1e-7, solved  # it may give up just short of what it was asked for
        return solved["primal objective"]


class Layout:
    """Places of named blocks in the vector of variables."""

    def __init__(self):
        self.size = 0

    def block(self, *shape):
        places = np.arange(self.size, self.size + int(np.prod(shape))).reshape(shape)
        self.size += places.size
        return places


def random_tasks(seed, T, n, d):
    random = np.random.default_rng(seed)
    common = random.normal(size=d)
    tasks = []
    for _ in range(T):
        X = random.normal(size=(n, d))
        y = np.where(X @ (common + 0.7 * random.normal(size=d)) + 0.3 * random.normal(size=n) > 0, 1.0, -1.0)
        y[:2] = 1, -1
        tasks.append((X, y))
    return tasks


def add_losses(program, tasks, loss, W, b, slack):
    """1/2 mean of slack^2, slack >= 1 - margin >= 0 (or = for the square loss). W[t]: entries of every weight."""
    at = 0
    for t, (X, y) in enumerate(tasks):
        for x, label in zip(X, y):
            margin = [(index, value * label * x[j]) for j in range(X.shape[1]) for index, value in W[t][j]] + [(b[t], label)]
            if loss == "square":
                program.equals(margin + [(slack[at], 1)], 1)
            else:
                program.at_least(margin + [(slack[at], 1)], 1)
                program.at_least([(slack[at], 1)], 0)
            program.P[slack[at], slack[at]] += 1 / len(y)
            at += 1


def add_ridge(program, places, factor):
    for index in np.ravel(places):
        program.P[index, index] += 2 * factor


def metag(tasks, loss, p):
    T, d = len(tasks), tasks[0][0].shape[1]
    layout = Layout()
    w, b, slack = layout.block(T, d), layout.block(T), layout.block(sum(len(y) for _, y in tasks))
    pairs = list(itertools.combinations(range(T), 2))
    length = layout.block(len(pairs))
    program = Quadratic(layout.size)
    add_losses(program, tasks, loss, [[[(w[t, j], 1)] for j in range(d)] for t in range(T)], b, slack)
    add_ridge(program, w, p["ridge"] / 2)
    for k, (s, t) in enumerate(pairs):
        program.norm_at_most([[(w[s, j], 1), (w[t, j], -1)] for j in range(d)], [(length[k], 1)])
        program.q[length[k]] += p["lambda"]
    return program.minimum()


def flexclus(tasks, loss, p):
    T, d = len(tasks), tasks[0][0].shape[1]
    layout = Layout()
    u, v, b = layout.block(T, d), layout.block(T, d), layout.block(T)
    slack = layout.block(sum(len(y) for _, y in tasks))
    pairs = list(itertools.combinations(range(T), 2))
    length = layout.block(len(pairs), d)
    program = Quadratic(layout.size)
    add_losses(program, tasks, loss, [[[(u[t, j], 1), (v[t, j], 1)] for j in range(d)] for t in range(T)], b, slack)
    add_ridge(program, u, p["lambda2"])
    add_ridge(program, v, p["lambda3"])
    for (k, (s, t)), j in itertools.product(enumerate(pairs), range(d)):
        for sign in (1, -1):
            program.at_least([(length[k, j], 1), (u[s, j], -sign), (u[t, j], sign)], 0)
        program.q[length[k, j]] += p["lambda1"]
    return program.minimum()


def schur(program, S, W, Z, d, T):
    """[S W; W' Z] is positive semidefinite: tr Z >= tr(W' S^-1 W). S, W, Z: functions from (i, j) to entries."""
    n = T + d
    program.positive([[S(i, j) if i < T and j < T else W(i, j - T) if i < T else W(j, i - T) if j < T else Z(i - T, j - T) for j in range(n)]
                      for i in range(n)], np.zeros((n, n)))


def symmetric(layout, n):
    places = np.empty((n, n), int)
    for i in range(n):
        for j in range(i + 1):
            places[i, j] = places[j, i] = layout.block(1)[0]
    return places


def cmtl(tasks, loss, p):
    T, d = len(tasks), tasks[0][0].shape[1]
    r, alpha, beta = int(p["clusters"]), 1 / p["within"], 1 / p["between"]
    layout = Layout()
    w, b, slack = layout.block(T, d), layout.block(T), layout.block(sum(len(y) for _, y in tasks))
    S, Z = symmetric(layout, T), symmetric(layout, d)
    program = Quadratic(layout.size)
    add_losses(program, tasks, loss, [[[(w[t, j], 1)] for j in range(d)] for t in range(T)], b, slack)
    for j, s, t in itertools.product(range(d), range(T), range(T)):  # T ||w_bar||^2
        program.P[w[s, j], w[t, j]] += 2 * p["lambda"] * p["mean"] / T
    whole = p.get("centred", 1) == 0
    if whole:
        program.P[np.ix_(np.ravel(w), np.ravel(w))] = 0
    centred = lambda t, j: [(w[t, j], 1)] + ([] if whole else [(w[s, j], -1 / T) for s in range(T)])
    schur(program, lambda i, j: [(S[i, j], 1)], centred, lambda i, j: [(Z[i, j], 1)], d, T)
    program.positive([[[(S[i, j], 1)] for j in range(T)] for i in range(T)], -alpha * np.eye(T))
    program.positive([[[(S[i, j], -1)] for j in range(T)] for i in range(T)], beta * np.eye(T))
    budget = (T - r) * alpha + r * beta if whole else (T - r + 1) * alpha + (r - 1) * beta
    program.equals([(S[t, t], 1) for t in range(T)], budget)
    for j in range(d):
        program.q[Z[j, j]] += p["lambda"]
    return program.minimum()


def whom(tasks, loss, p):
    T, d = len(tasks), tasks[0][0].shape[1]
    layout = Layout()
    w, b, slack = layout.block(T, d), layout.block(T), layout.block(sum(len(y) for _, y in tasks))
    S, Z = symmetric(layout, T), symmetric(layout, d)
    program = Quadratic(layout.size)
    add_losses(program, tasks, loss, [[[(w[t, j], 1)] for j in range(d)] for t in range(T)], b, slack)
    schur(program, lambda i, j: [(S[i, j], 1)], lambda t, j: [(w[t, j], 1)], lambda i, j: [(Z[i, j], 1)], d, T)
    program.equals([(S[t, t], 1) for t in range(T)], 1)
    for j in range(d):
        program.q[Z[j, j]] += p["lambda"]
    return program.minimum()


CASES = [
    (metag, {"lambda": 0.02, "ridge": 0.05}), (metag, {"lambda": 0.1, "ridge": 0.01}),
    (flexclus, {"lambda1": 0.02, "lambda2": 0.05, "lambda3": 0.1}), (flexclus, {"lambda1": 0.004, "lambda2": 0.3, "lambda3": 0.02}),
    (cmtl, {"lambda": 0.05, "clusters": 2, "mean": 1, "between": 1, "within": 10}),
    (cmtl, {"lambda": 0.3, "clusters": 3, "mean": 0.2, "between": 0.5, "within": 3}),
    (cmtl, {"lambda": 0.1, "clusters": 2, "mean": 1, "between": 0.5, "within": 5, "centred": 0}),
    (whom, {"lambda": 0.05, "clusters": 1}), (whom, {"lambda": 0.5, "clusters": 1}),
]


SHAPES = [(4, 14, 3), (6, 8, 2), (3, 6, 8)]  # tasks, samples, features: also fewer features than directions, and more than samples


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("loss", ["squared-hinge", "square"])
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda k: f"{CASES[k][0].__name__}-{k}")
def test_objective_is_that_of_the_cone_solver(coterie, number, loss, shape):
    method, parameters = CASES[number]
    tasks = random_tasks(20 + number, *shape)
    rows = [[*x, int(y), f"t{t}"] for t, (X, labels) in enumerate(tasks) for x, y in zip(X, labels)]
    coterie.write("d.csv", csv_text(rows))
    text = " ".join(f"{name}={value}" for name, value in parameters.items())
    fit = coterie("train", "d.csv", "-o", "m.h5", "--method", method.__name__, "--parameters", text, "--loss", loss, "--scale", "none",
                       "--tolerance", "1e-9", "--json").json
    reference = method(tasks, loss, parameters)
    print(f"{method.__name__} {loss}: {fit['objective']:.10g} and {reference:.10g}, relative difference {abs(fit['objective'] - reference) / reference:.1e}")
    assert fit["status"] == "converged"
    assert fit["objective"] == pytest.approx(reference, rel=1e-6)
    assert fit["dual"] <= reference * (1 + 1e-7)
