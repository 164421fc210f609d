"""Numbers from the smallest doubles to the largest, in features, kernels, C, lambda and weights: a clear error or a sound result.

Hundreds of combinations, drawn by a fixed seed. The exit code is 0, 2 or 3, never a signal; a result is valid JSON of finite numbers, and
its model predicts finite scores.
"""

import json
import math
import random

import pytest

from support import csv_text, small_rows

# Most are too much for something; the others are around the limits, where all must work.
WILD = {
    "magnitude": [1e-320, 1e-300, 1e-200, 1e-155, 1e-150, 1e-100, 1e-50, 1.0, 1e50, 1e77, 1e100, 1e150, 1e154, 1e200, 1e300, 1e307, "rows", "columns"],
    "kernels": ["linear", "linear:raw", "poly:2", "poly:2:raw", "poly:1000", "poly:1000:raw", "poly:3:1e300", "poly:2:1e-300:raw", "gauss:1", "gauss:1e-100",
                "gauss:1e100", "laplace:1", "laplace:1e-100", "laplace:1e100", "chi2", "chi2:raw", "laplace:1 linear:raw", "linear:raw gauss:1", "paper", "cauchy:1", "cauchy:1e-100", "cauchy:1e100"],
    "C": ["1", "1", "1", "10", "1e-300", "1e-100", "1e-50", "1e50", "1e100", "1e300"],
    "lambda": ["0.1max", "0.1max", "0", "inf", "1", "1e9", "1e308", "1e-300", "1e-320max", "1e300max"],
    "weights": [None, None, None, ("1e-300", "1e300"), ("1e-320", "1"), ("1e300", "1e300"), ("1e-100", "1e100")],
}
NEAR = {
    "magnitude": [1e-45, 1e-39, 1e-20, 1e-5, 1.0, 1e5, 1e20, 1e38, 1e39, 1e100, 1e135, 1e-135],
    "kernels": ["linear", "linear:raw", "poly:2", "poly:2:raw", "poly:1000", "gauss:1", "gauss:1e-30", "gauss:1e30", "laplace:1", "chi2", "chi2:raw",
                "laplace:1 linear:raw", "linear:raw gauss:1", "paper"],
    "C": ["1", "1", "1", "10", "1e-39", "1e-20", "1e20", "1e38"],
    "lambda": ["0.1max", "0.1max", "0", "inf", "1", "1e79", "1e-79", "1e-30max"],
    "weights": [None, None, None, ("1e-30", "1e30"), ("1e-79", "1"), ("1e79", "1")],
}
MORE = [[], [], ["--class-weight", "balanced"], ["--norm", "2"], ["--norm", "inf"]]


def table(magnitude, positive, source):
    scales = [1e-300, 1e-100, 1.0, 1e100, 1e200]
    rows = []
    for line in small_rows(tasks=("a", "b", "c"), n=8):
        factor = source.choice(scales) if magnitude == "rows" else magnitude
        values = []
        for j, x in enumerate(line[:-2]):
            x = abs(x) if positive else x
            x *= [1e-200, 1.0, 1e150][j] if magnitude == "columns" else factor
            values.append(repr(max(-1.7e308, min(x, 1.7e308))))
        rows.append(values + line[-2:])
    return csv_text(rows)


def not_finite(value, name=""):
    if isinstance(value, dict):
        return [bad for key, part in value.items() for bad in not_finite(part, key)]
    if isinstance(value, list):
        return [bad for part in value for bad in not_finite(part, name)]
    bad = value is None or (isinstance(value, float) and not math.isfinite(value)) or (value in ("inf", "-inf") and name not in ("lambda", "norm"))
    return [name] if bad else []


@pytest.mark.parametrize("choices, least_results, seed", [(WILD, 10, 1), (NEAR, 60, 2)], ids=["wild", "near"])
def test_an_error_or_a_sound_result(coterie, choices, least_results, seed):
    source = random.Random(seed)
    results = 0
    for _ in range(150):
        pick = {name: source.choice(values) for name, values in choices.items()}
        coterie.write("d.csv", table(pick["magnitude"], "chi2" in pick["kernels"] or source.random() < 0.3, source))
        command = ["train", "d.csv", "-o", "m.h5", "--json", "--quiet", "--kernels", pick["kernels"], "-C", pick["C"], "--lambda", pick["lambda"],
                   "--normalise", source.choice(["cosine", "variance", "tail:2", "none"]), "--scale", source.choice(["none", "none", "standard", "minmax"]),
                   *source.choice(MORE)]
        if pick["weights"]:
            coterie.write("g.csv", "task_a,task_b,weight\na,b,{}\nb,c,{}\n".format(*pick["weights"]))
            command += ["--task-graph", "g.csv"]
        result = coterie(*command, code=None)
        assert result.code in (0, 2, 3), result.describe()
        if result.code == 2:
            assert result.err.startswith("error: ") and result.err.count("\n") == 1, result.describe()
            continue
        results += 1
        assert not_finite(json.loads(result.out)) == [], result.describe()
        predicted = coterie("predict", "m.h5", "d.csv", "--json", "--quiet")
        assert not_finite(predicted.json["predictions"]) == [], result.describe()
    assert results >= least_results
