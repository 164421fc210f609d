"""The objective of `coterie train` against an interior-point cone solver, on random problems.

Gram matrices are computed here, from their definitions. Problem (1) of docs/maths.md is solved in its dual form (5):

    maximise   sum_t [ 1'alpha_t + u_t ]
    u_t <= -1/2 S_t^m(alpha_t) + c_t^m                for every kernel m         (p = 1)
    u_t <= -||r_t||,   r_t^m >= 1/2 S_t^m - c_t^m     for every kernel m         (p = 2)
    c_t = sum_{s>t} nu_ts - sum_{s<t} nu_st,   ||nu_ts|| <= lambda w_ts,   0 <= alpha <= C_i,   y'alpha = 0.

For lambda = 0 there is no nu; for lambda = inf the tasks of a part of the graph share one u, or r. All is in units of C.
"""

import itertools
import math

import numpy as np
import pytest
from cvxopt import matrix, solvers

from support import csv_text

PROBLEMS = 32
KERNELS = [["gauss:1", "linear", "poly:2", "gauss:4"], ["linear:raw", "gauss:0.5", "poly:3:1", "gauss:2@f1-f2"],
           ["poly:2:raw", "gauss:2", "linear@f2-f3", "gauss:8"]]


# Kernels by their definitions, docs/maths.md (6)-(8)


def gram(name, X):
    name, _, block = name.partition("@")
    if block:
        first, last = (int(column[1:]) for column in block.split("-"))
        X = X[:, first - 1:last]
    kind, *parameters = name.split(":")
    raw = parameters[-1:] == ["raw"]
    K = np.empty((len(X), len(X)))
    for i, x in enumerate(X):
        for j, z in enumerate(X):
            if kind == "gauss":
                K[i, j] = math.exp(-sum((x - z) ** 2) / (2 * float(parameters[0]) ** 2))
            elif kind == "linear":
                K[i, j] = sum(x * z)
            else:
                offset = float(parameters[1]) if len(parameters) > 1 and parameters[1] != "raw" else 0
                K[i, j] = (sum(x * z) + offset) ** int(parameters[0])
    if not raw:
        norm = np.sqrt(np.diag(K))
        K /= np.outer(norm, norm)
    return K


def factor(K):
    """F with K = F F'."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * values.max()
    return vectors[:, kept] * np.sqrt(values[kept])


def parts_of(T, edges):
    """The connected part of every task."""
    part = list(range(T))
    for t, s, weight in edges:
        if weight > 0:
            part = [part[t] if p == part[s] else p for p in part]
    return part


class ConeProgram:
    """minimise c'x subject to h - G x in a product of cones, A x = b, built row by row."""

    def __init__(self, size):
        self.size = size
        self.c = np.zeros(size)
        self.linear, self.cones, self.equal = [], [], []

    def row(self, entries=()):
        values = np.zeros(self.size)
        for index, value in entries:
            values[index] += value
        return values

    def at_least_zero(self, values, constant=0.0):
        self.linear.append((values, constant))

    def in_cone(self, head, tail):
        """||tail|| <= head, each an affine function (row, constant)."""
        self.cones.append([head, *tail])

    def solve(self):
        blocks = [*self.linear, *itertools.chain(*self.cones)]
        G, h = -np.array([row for row, _ in blocks]), np.array([constant for _, constant in blocks])
        A = np.array([row for row, _ in self.equal])
        b = np.array([value for _, value in self.equal])
        dims = {"l": len(self.linear), "q": [len(cone) for cone in self.cones], "s": []}
        options = {"show_progress": False, "abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9, "maxiters": 200}
        return solvers.conelp(matrix(self.c), matrix(G), matrix(h), dims, matrix(A), matrix(b), options=options)


def solve_by_cones(grams, labels, C, bounds, lam, edges, norm):
    """The optimal value of (1). grams[t][m], labels[t] in {-1, 1}, bounds[t] = C_i / C."""
    T, M = len(grams), len(grams[0])
    shared = math.isinf(lam)
    part = parts_of(T, edges) if shared else list(range(T))
    numbers = {p: k for k, p in enumerate(dict.fromkeys(part))}
    units = [numbers[p] for p in part]  # tasks with one u
    pairs = [] if shared or lam == 0 else [edge for edge in edges if edge[2] > 0]

    sizes = [len(y) for y in labels]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    u_at = starts[-1]
    r_at = u_at + len(numbers)
    nu_at = r_at + (len(numbers) * M if norm == 2 else 0)
    q_at = nu_at + len(pairs) * M  # q_tm >= 1/2 S_t^m
    program = ConeProgram(q_at + T * M)
    program.c[:u_at] = -1
    program.c[u_at:r_at] = -1

    for t, y in enumerate(labels):
        span = range(starts[t], starts[t + 1])
        program.equal.append((program.row(zip(span, y)), 0.0))
        for i, bound in zip(span, bounds[t]):
            program.at_least_zero(program.row([(i, 1)]))
            program.at_least_zero(program.row([(i, -1)]), bound)
        for m, K in enumerate(grams[t]):
            # C ||F'Y alpha||^2 <= 2 q  as  ||(sqrt(2 C) F'Y alpha, q - 1)|| <= q + 1
            q = program.row([(q_at + t * M + m, 1)])
            tail = [(program.row(zip(span, math.sqrt(2 * C) * column * y)), 0.0) for column in factor(K).T]
            program.in_cone((q, 1.0), [*tail, (q, -1.0)])

    for k in range(len(numbers)):
        for m in range(M):
            slack = program.row()  # c - 1/2 S - u >= 0, or r + c - 1/2 S >= 0
            for t in range(T):
                if units[t] != k:
                    continue
                slack += program.row([(q_at + t * M + m, -1)])
                for e, (a, b, _) in enumerate(pairs):
                    sign = (a == t) - (b == t)
                    slack += program.row([(nu_at + e * M + m, sign)])
            slack += program.row([(u_at + k, -1)] if norm == 1 else [(r_at + k * M + m, 1)])
            program.at_least_zero(slack)
        if norm == 2:
            program.in_cone((program.row([(u_at + k, -1)]), 0.0), [(program.row([(r_at + k * M + m, 1)]), 0.0) for m in range(M)])
    for e, (_, _, weight) in enumerate(pairs):
        program.in_cone((program.row(), lam * weight / C), [(program.row([(nu_at + e * M + m, 1)]), 0.0) for m in range(M)])

    solution = program.solve()
    # The solver may say "unknown" when it cannot reach its tolerance to the last digit; its own bounds then must do.
    lower, upper = -solution["primal objective"], -solution["dual objective"]
    assert abs(upper - lower) <= 2e-7 * max(1 / C, abs(lower)), solution
    assert solution["primal infeasibility"] < 1e-7 and solution["dual infeasibility"] < 1e-7, solution
    return C * lower


def random_problem(seed):
    source = np.random.default_rng(1000 + seed)
    T, M = 1 + seed % 4, 1 + (seed // 4) % 4
    rows, features = [], 3
    for t in range(T):
        n = int(source.integers(6, 21))
        for i in range(n):
            y = 1 if i in (0, 2) else -1 if i in (1, 3) else int(source.choice([-1, 1], p=[0.6, 0.4]))
            x = source.normal(size=features) + [0.8 * y if (j + t) % 3 == 0 else 0.3 for j in range(features)]
            rows.append([*(float(value) for value in x), y, f"t{t + 1}"])
    edges = None
    if T > 2 and seed % 8 in (2, 7):
        edges = [(0, 1, 1.5), (1, 2, 0.25)] if seed % 8 == 7 else [(0, 2, 0.5), (0, 1, 0.0)]
    return {
        "rows": rows,
        "kernels": KERNELS[seed % 3][:M],
        "C": float(10.0 ** source.integers(-2, 4)) * float(source.uniform(0.5, 2)),
        "lambda": ["0.2max", "0", "inf", "0.6max", "0.05max", "0.3", "0.9max"][seed % 7],
        "norm": 2 if seed % 5 in (1, 3) else 1,
        "balanced": seed % 3 == 2,
        "edges": edges,
    }


DIFFERENCES = {}


def train(coterie, problem):
    coterie.write("d.csv", csv_text(problem["rows"]))
    options = ["--class-weight", "balanced"] if problem["balanced"] else []
    if problem["edges"] is not None:
        coterie.write("g.csv", "task_a,task_b,weight\n" + "".join(f"t{t + 1},t{s + 1},{w}\n" for t, s, w in problem["edges"]))
        options += ["--task-graph", "g.csv"]
    document = coterie("train", "d.csv", "-o", "m.h5", "--json", "--quiet", "--tolerance", "1e-8", "-C", repr(problem["C"]),
                       "--lambda", problem["lambda"], "--norm", problem["norm"], "--kernels", " ".join(problem["kernels"]), *options).json
    assert document["kernels"] == problem["kernels"] and document["C"] == problem["C"]
    return document


def solve(problem, lam):
    names = list(dict.fromkeys(row[-1] for row in problem["rows"]))
    grams, labels, bounds = [], [], []
    for name in names:
        mine = [row for row in problem["rows"] if row[-1] == name]
        X, y = np.array([row[:-2] for row in mine]), np.array([row[-2] for row in mine], float)
        grams.append([gram(kernel, X) for kernel in problem["kernels"]])
        labels.append(y)
        bounds.append(np.array([len(y) / (2 * sum(y == label)) for label in y]) if problem["balanced"] else np.ones(len(y)))
    edges = problem["edges"] if problem["edges"] is not None else [(t, s, 1.0) for t, s in itertools.combinations(range(len(names)), 2)]
    return solve_by_cones(grams, labels, problem["C"], bounds, lam, edges, problem["norm"])


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_objective_equals_that_of_the_cone_solver(coterie, seed):
    problem = random_problem(seed)
    document = train(coterie, problem)
    value = solve(problem, float(document["lambda"]))
    difference = abs(document["objective"] - value) / max(1, abs(value))
    DIFFERENCES[seed] = difference
    assert difference <= 1e-6, (document["objective"], document["dual"], value, problem)
    assert document["dual"] <= value + 1e-6 * max(1, abs(value))


@pytest.mark.parametrize("change", [{"balanced": True}, {"norm": 2}, {"edges": None}, {"C": 1.0}, {}], ids=str)
def test_the_comparison_sees_a_changed_problem(coterie, change):
    """Were the program to forget class weights, the norm, the graph, C or a tenth of lambda, the values would part."""
    problem = {**random_problem(7), "C": 0.3}  # small: many alphas at their bounds
    document = train(coterie, problem)
    assert 0 < document["lambda"] < math.inf and not problem["balanced"] and problem["norm"] == 1 and problem["edges"]
    value = solve({**problem, **change}, document["lambda"] * (1 if change else 1.1))
    assert abs(document["objective"] - value) > 1e-5 * max(1, abs(value))


def test_the_problems_cover_what_they_should(capsys):
    problems = [random_problem(seed) for seed in range(PROBLEMS)]
    assert {problem["lambda"] for problem in problems} >= {"0", "inf", "0.2max", "0.3"}
    assert {problem["norm"] for problem in problems} == {1, 2}
    assert {problem["balanced"] for problem in problems} == {True, False}
    assert {len(set(row[-1] for row in problem["rows"])) for problem in problems} == {1, 2, 3, 4}
    assert {len(problem["kernels"]) for problem in problems} == {1, 2, 3, 4}
    assert min(problem["C"] for problem in problems) < 0.1 and max(problem["C"] for problem in problems) > 100
    assert any(problem["edges"] for problem in problems)
    with capsys.disabled():
        if DIFFERENCES:
            print(f"\n{len(DIFFERENCES)} problems against the cone solver: largest relative difference {max(DIFFERENCES.values()):.1e}, "
                  f"median {np.median(list(DIFFERENCES.values())):.1e}")
