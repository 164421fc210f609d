"""Solves a problem written by `./run bench cone` with CVXOPT's interior-point cone solver, and prints seconds and value as JSON.

usage: cone.py PROBLEM RELATIVE_GAP LIMIT_SECONDS

The dual (5) of docs/maths.md for p = 1, in units of C as in tests/cone_solver_test.py:

    maximise   sum_t [ 1'alpha_t + u_t ],     0 <= alpha <= 1,   y'alpha = 0
    u_t <= -q_t^m + c_t^m,    C ||F_t^m' Y alpha_t||^2 <= 2 q_t^m,    K_t^m = F F'
    c_t = sum_{s>t} nu_ts - sum_{s<t} nu_st,   ||nu_ts|| <= lambda / C

Only the solver is timed: stating the program and factoring the matrices is not. The constraint matrix is sparse.
"""

import itertools
import json
import math
import signal
import sys
import time

import numpy as np
from cvxopt import matrix, solvers, spmatrix


def read_problem(path):
    values = np.fromfile(path)
    T, M, C, lam = int(values[0]), int(values[1]), values[2], values[3]
    at, tasks = 4, []
    for _ in range(T):
        n = int(values[at])
        y = values[at + 1:at + 1 + n]
        at += 1 + n
        tasks.append((y, values[at:at + M * n * n].reshape(M, n, n)))
        at += M * n * n
    return tasks, M, C, lam


def factor(K):
    """F with K = F F'."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * values.max()
    return vectors[:, kept] * np.sqrt(values[kept])


class Rows:
    """h - G x, row by row, G sparse."""

    def __init__(self):
        self.i, self.j, self.v, self.h = [], [], [], []

    def add(self, columns=(), values=(), constant=0.0):
        """The affine function sum values x[columns] + constant."""
        self.i.extend([len(self.h)] * len(columns))
        self.j.extend(map(int, columns))
        self.v.extend(-float(value) for value in values)
        self.h.append(float(constant))


def state(tasks, M, C, lam):
    T = len(tasks)
    sizes = [len(y) for y, _ in tasks]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    pairs = list(itertools.combinations(range(T), 2))
    u_at = starts[-1]
    nu_at = u_at + T
    q_at = nu_at + len(pairs) * M
    size = q_at + T * M
    c = np.zeros(size)
    c[:nu_at] = -1
    linear, cones, dims = Rows(), Rows(), []
    for i in range(u_at):
        linear.add([i], [1])
        linear.add([i], [-1], 1)
    for t in range(T):
        for m in range(M):
            columns, signs = [u_at + t, q_at + t * M + m], [-1, -1]
            for e, pair in enumerate(pairs):
                if t in pair:
                    columns.append(nu_at + e * M + m)
                    signs.append(1 if pair[0] == t else -1)
            linear.add(columns, signs)
    for t, (y, grams) in enumerate(tasks):
        span = range(starts[t], starts[t + 1])
        for m in range(M):
            # C ||F'Y alpha||^2 <= 2 q  as  ||(sqrt(2 C) F'Y alpha, q - 1)|| <= q + 1
            q = [q_at + t * M + m]
            F = factor(grams[m])
            cones.add(q, [1], 1)
            for column in F.T:
                cones.add(span, math.sqrt(2 * C) * column * y)
            cones.add(q, [1], -1)
            dims.append(F.shape[1] + 2)
    for e in range(len(pairs)):
        cones.add(constant=lam / C)
        for m in range(M):
            cones.add([nu_at + e * M + m], [1])
        dims.append(M + 1)
    below = len(linear.h)
    G = spmatrix(linear.v + cones.v, linear.i + [below + i for i in cones.i], linear.j + cones.j, (below + len(cones.h), size))
    A = spmatrix(np.concatenate([y for y, _ in tasks]), np.repeat(np.arange(T), sizes).tolist(), list(range(u_at)), (T, size))
    return matrix(c), G, matrix(linear.h + cones.h), {"l": below, "q": dims, "s": []}, A, matrix(0.0, (T, 1))


def main():
    path, gap, limit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    tasks, M, C, lam = read_problem(path)
    program = state(tasks, M, C, lam)

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    start = time.perf_counter()
    try:
        solution = solvers.conelp(*program, options={"show_progress": False, "abstol": 1e-12, "reltol": gap, "feastol": gap, "maxiters": 200})
    except TimeoutError:
        print(json.dumps({"seconds": None}))
        return
    seconds = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    value = -solution["primal objective"]
    print(json.dumps({"seconds": seconds, "value": C * value, "gap": abs(solution["gap"]) / max(1e-300, abs(value)),
                      "iterations": solution["iterations"], "status": solution["status"]}))


if __name__ == "__main__":
    main()
