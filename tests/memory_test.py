"""The limit of --memory is kept: the smallest that is accepted, and twice it, on shapes that need memory for different things."""

import re
import subprocess
import sys

import numpy as np
import pytest


def table(path, X, tasks, seed=0):
    source = np.random.default_rng(seed)
    labels = np.where(X[:, 0] - X[:, 0].mean() + source.normal(size=len(X)) > 0, "a", "b")
    labels[:tasks], labels[tasks : 2 * tasks] = "a", "b"  # both in every task
    with open(path, "w") as file:
        file.write(",".join(f"f{k + 1}" for k in range(X.shape[1])) + ",label,task\n")
        for row, label, number in zip(X, labels, range(len(X))):
            file.write(",".join(f"{x:.5g}" for x in row) + f",{label},t{number % tasks}\n")


def many_samples(folder, source):
    table(folder / "d.csv", source.normal(size=(4000, 10)), 2)
    return []


def many_features_far_away(folder, source):
    table(folder / "d.csv", 1000 + source.normal(size=(600, 2000)), 2)
    return ["--kernels", "linear gauss:40,80", "--scale", "none"]


def many_tasks(folder, source):
    table(folder / "d.csv", source.normal(size=(12000, 5)), 400)
    return []


def many_free_vectors(folder, source):
    table(folder / "d.csv", source.normal(size=(30000, 6)), 120)
    return ["--kernels", "gauss:1,2,4 linear", "-C", "1000"]


def many_pairs(folder, source):
    table(folder / "d.csv", source.normal(size=(12000, 3)), 1500)
    return ["--kernels", "linear gauss:2"]


def few_samples(folder, source):
    table(folder / "d.csv", source.normal(size=(240, 6)), 4)
    return []


def few_samples_of_many_tasks(folder, source):
    table(folder / "d.csv", source.normal(size=(3000, 10)), 150)
    return []


def a_given_matrix(folder, source):
    X = source.normal(size=(1500, 8))
    table(folder / "d.csv", X, 3)
    np.savetxt(folder / "k.csv", np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 8), fmt="%.17g", delimiter=",")
    return ["--kernels", "linear precomputed:k.csv"]


def divisors(folder, source):
    table(folder / "d.csv", source.normal(size=(2400, 8)), 2)
    return ["--normalise", "tail:3"]


def scores_of_a_pool(folder, source):
    table(folder / "d.csv", source.normal(size=(3000, 5)), 40)
    return ["--kernels", "linear gauss:2,4 linear:raw@pooled", "--first-stage", "C=1 folds=2"]


def scores_of_many_models(folder, source):
    table(folder / "d.csv", source.normal(size=(3000, 5)), 60)
    return ["--kernels", "linear gauss:2,4 gauss:1@others linear:raw@group", "--first-stage", "C=1 folds=2 restarts=1"]


def groups(folder, source):
    table(folder / "d.csv", source.normal(size=(3000, 5)), 100)
    return ["--method", "groups", "--kernels", "linear gauss:2,4", "--parameters", "restarts=2"]


def own_parts(folder, source):
    table(folder / "d.csv", source.normal(size=(4000, 4)), 600)
    return ["--method", "joint", "--kernels", "linear gauss:2,4", "-C", "0.1"]


def bytes_of(text):
    number, unit = re.fullmatch(r"([0-9.]+) ([KMG]B)", text).groups()
    return float(number) * {"KB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


# A process counts what its parent had when it was started: so a small parent measures.
MEASURE = """
import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(process, 0)
print(1024 * usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


TRAIN = ["train", "d.csv", "--lambda", "0.3max", "-o", "m.h5"]


def run(program, folder, command, options, memory):
    """Exit code, standard error and peak bytes of one run."""
    command = [str(program), *command, "--json", "--memory", str(int(memory)), *options]
    done = subprocess.run([sys.executable, "-c", MEASURE, *command], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stderr, float(done.stdout.splitlines()[-1])


def expect_limit_kept(what, program, folder, command, options):
    """Refused below the least that it names, and within it from there on. The command ends with its output. Returns the least and its peak."""
    code, errors, _ = run(program, folder, command, options, 1e6)
    assert code == 2 and not (folder / command[-1]).exists()
    least = bytes_of(re.search(r"the fit may need ([0-9.]+ [KMG]B) of memory", errors).group(1))
    peaks = []
    for budget in (least, 2 * least):
        code, errors, peak = run(program, folder, command, options, budget)
        assert code == 0, errors
        print(f"{what}: budget {budget / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB")
        assert peak <= budget
        peaks.append(peak)
    return least, peaks[0]


@pytest.mark.parametrize("shape", [many_samples, many_features_far_away, many_tasks, many_free_vectors, many_pairs, a_given_matrix, divisors])
def test_the_limit_is_kept(program_path, tmp_path, shape):
    options = [*shape(tmp_path, np.random.default_rng(1)), "--threads", "2"]
    expect_limit_kept(shape.__name__, program_path, tmp_path, TRAIN, options)


@pytest.mark.parametrize("shape", [scores_of_a_pool, scores_of_many_models, groups, own_parts])
def test_it_is_kept_by_what_looks_at_all_tasks(program_path, tmp_path, shape):
    options = [*shape(tmp_path, np.random.default_rng(1)), "--threads", "2"]
    expect_limit_kept(shape.__name__, program_path, tmp_path, ["train", "d.csv", "-o", "m.h5"], options)


@pytest.mark.parametrize("shape", [few_samples, few_samples_of_many_tasks])
def test_the_estimate_is_close_for_few_samples(program_path, tmp_path, shape):
    options = [*shape(tmp_path, np.random.default_rng(1)), "--threads", "2"]
    least, peak = expect_limit_kept(shape.__name__, program_path, tmp_path, TRAIN, options)
    assert least <= 1.4 * peak


@pytest.mark.parametrize("shape", [many_samples, many_features_far_away, many_tasks])
def test_extend_keeps_it_too(program_path, tmp_path, shape):
    options = shape(tmp_path, np.random.default_rng(1))
    lines = (tmp_path / "d.csv").read_text().splitlines(keepends=True)
    new = [line.replace(",t", ",new") for line in lines[1:]]
    (tmp_path / "new.csv").write_text(lines[0] + "".join(new))
    subprocess.run([str(program_path), *TRAIN, *options], cwd=tmp_path, check=True, capture_output=True)
    expect_limit_kept(shape.__name__, program_path, tmp_path, ["extend", "m.h5", "new.csv", "-o", "e.h5"], ["--threads", "2"])


def test_resamples_of_a_path_keep_it_too(program_path, tmp_path):
    table(tmp_path / "d.csv", np.random.default_rng(1).normal(size=(2000, 10)), 1)
    command = ["path", "d.csv", "--bootstrap", "2", "--tolerance", "1e-3", "-o", "p"]
    code, errors, _ = run(program_path, tmp_path, command, ["--threads", "2"], 1e6)
    assert code == 2 and not (tmp_path / "p").exists()
    least = bytes_of(re.search(r"the fit may need ([0-9.]+ [KMG]B) of memory", errors).group(1))
    budget = 1.05 * least  # a path keeps its points as well
    code, errors, peak = run(program_path, tmp_path, command, ["--threads", "2"], budget)
    assert code == 0, errors
    print(f"resamples: budget {budget / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB")
    assert peak <= budget
