"""Features as means of those that rise and fall with them: train, select, verify, extend."""

import random

import h5py
import numpy as np
import pytest

NAMES = [f"x{j}" for j in range(20)]


def rows_of_noisy_copies(tasks, n=20, seed=1):
    """Four numbers, each in five columns with much noise; the label is the sign of the first two's sum."""
    source = random.Random(seed)
    rows = []
    for task in tasks:
        hidden = sorted(([source.gauss(0, 1) for _ in range(4)] for _ in range(n)), key=lambda h: h[0] + h[1])
        for i, h in enumerate(hidden):
            rows.append([*(round(h[j % 4] + source.gauss(0, 0.9), 4) for j in range(20)), "yes" if i >= n // 2 else "no", task])
    return rows


def table(rows):
    return ",".join([*NAMES, "label", "task"]) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


@pytest.fixture
def data(coterie):
    coterie.write("d.csv", table(rows_of_noisy_copies([f"t{t}" for t in range(6)])))
    coterie.write("new.csv", table(rows_of_noisy_copies(["t0", "t5"], n=100, seed=2)))
    return coterie


def test_means_are_of_the_columns_that_rise_together(data):
    data("train", "d.csv", "-o", "m.h5", "--smooth", "5", "--scale", "standard")
    with h5py.File(data.folder / "m.h5") as file:
        neighbours = file["features/neighbours"][:].reshape(20, 5)
    assert [sorted(row) for row in neighbours.tolist()] == [[k for k in range(20) if k % 4 == j % 4] for j in range(20)]
    X = np.array([[float(x) for x in line.split(",")[:20]] for line in (data.folder / "d.csv").read_text().splitlines()[1:]])
    R = np.corrcoef(X.T)
    for j, row in enumerate(neighbours):
        assert row[0] == j and set(row) == set(np.argsort(-R[j])[:5])
    assert data("verify", "m.h5", "d.csv", "--json").json["holds"]
    assert data("inspect", "m.h5", "--json").json["scaling"]["neighbours"] == neighbours.ravel().tolist()
    assert "every feature is the mean of 5, itself and" in data("inspect", "m.h5").out


def test_the_model_is_that_of_smoothed_columns(data):
    """The same as a table of means, made by hand."""
    data("train", "d.csv", "-o", "m.h5", "--smooth", "5")
    with h5py.File(data.folder / "m.h5") as file:
        neighbours = file["features/neighbours"][:].reshape(20, 5)
    for name in ("d", "new"):
        lines = [line.split(",") for line in (data.folder / f"{name}.csv").read_text().splitlines()]
        means = [[repr(float(np.mean([float(line[k]) for k in row]))) for row in neighbours] + line[20:] for line in lines[1:]]
        data.write(f"{name}_means.csv", "\n".join(",".join(line) for line in [lines[0], *means]) + "\n")
    data("train", "d_means.csv", "-o", "means.h5")
    scores = [[float(line.split(",")[-1]) for line in data("predict", *files, "--scores").out.splitlines()[1:]] for files in (("m.h5", "new.csv"), ("means.h5", "new_means.csv"))]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_select_finds_out_that_smoothing_helps(data):
    command = ["select", "d.csv", "-C", "2^-6..2^3", "--lambda", "0,0.01max,0.1max,inf", "--kernels", "linear gauss:2,4,8", "--folds", "3"]
    both = data(*command, "--smooth", "1,5", "-o", "a.h5", "--json").json
    by_name = {one["name"]: one for one in both["methods"]}
    assert set(by_name) == {"coterie, smooth 1", "coterie, smooth 5"}
    assert by_name["coterie, smooth 5"]["best"] and by_name["coterie, smooth 5"]["value"] > by_name["coterie, smooth 1"]["value"]
    # Plain select says so, and changes nothing.
    command[3] = "2^-10..2^9"  # a tenth of the time is for such looks
    plain = data(*command, "-o", "b.h5", "--json").json
    smooth = next(one for one in plain["alternatives"] if one["smooth"] == 5)
    assert smooth["would_do_better"] and smooth["value"] > plain["value"]
    assert "try --smooth 5" in data(*command, "-o", "c.h5").out
    # The preset looks at both where there are many features, and not among few.
    lists = command[2:]
    assert "methods" in data("select", "d.csv", "--preset", "best", *lists, "-o", "e.h5", "--json").json
    assert "methods" not in data("select", "d.csv", "--drop", ",".join(NAMES[:5]), "--preset", "best", *lists, "-o", "f.h5", "--json").json


def test_new_tasks_are_smoothed_as_the_model_says(data):
    data("train", "d.csv", "-o", "m.h5", "--smooth", "3")
    data.write("more.csv", table(rows_of_noisy_copies(["u"], seed=5)))
    data("extend", "m.h5", "more.csv", "-o", "n.h5")
    assert data("verify", "n.h5", "more.csv", "--json").json["holds"]


def test_labels_and_other_rows_have_no_part_in_it(data):
    data("train", "d.csv", "-o", "a.h5", "--smooth", "4")
    turned = (data.folder / "d.csv").read_text().replace("yes", "-").replace("no", "yes").replace("-,t", "no,t")
    data.write("turned.csv", turned)
    data("train", "turned.csv", "-o", "b.h5", "--smooth", "4")
    with h5py.File(data.folder / "a.h5") as one, h5py.File(data.folder / "b.h5") as other:
        assert (one["features/neighbours"][:] == other["features/neighbours"][:]).all()


@pytest.mark.parametrize("command, what", [
    (["train", "d.csv", "-o", "m.h5", "--smooth", "0"], "--smooth is '0'; it must be a whole number from 1 to 1000."),
    (["select", "d.csv", "-o", "m.h5", "--smooth", "1,1"], "--smooth is '1,1'; it must be a list of different whole numbers >= 1."),
    (["select", "d.csv", "-o", "m.h5", "--smooth", "1,x"], "--smooth is '1,x'; it must be a list of different whole numbers >= 1."),
])
def test_wrong_numbers(data, command, what):
    result = data(*command, code=2)
    assert what in result.err
