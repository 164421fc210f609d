"""select among methods and sets of kernels, and the cheap alternatives that plain select looks at."""

import csv
import io
import os
import random
import signal
import subprocess
import time

import pytest

from support import csv_text, small_csv

TASKS = ("a", "b", "c", "d")
LISTS = ["--kernels", "linear gauss:1,4", "-C", "0.5,4", "--lambda", "0,0.1max,inf", "--folds", "3"]


@pytest.fixture
def data(coterie):
    coterie.write("d.csv", small_csv(tasks=TASKS, n=16))
    return coterie


def test_scores_side_by_side_are_those_of_each_alone(data):
    out = data("select", "d.csv", "--method", "coterie,stl,pooled,cmtl", *LISTS, "-o", "s.h5", "--table", "t.csv", "--picture", "p.svg",
               "--json").json
    assert [one["name"] for one in out["methods"]] == ["coterie", "stl", "pooled", "cmtl"] and out["left_out"] == []
    for one in out["methods"]:
        lists = [] if one["method"] == "cmtl" else LISTS[:4] + (LISTS[4:6] if one["method"] == "coterie" else [])
        alone = data("select", "d.csv", "--method", one["method"], *lists, "--folds", "3", "-o", "one.h5", "--json").json
        assert (one["value"], one["standard_error"], one["chosen"]) == (alone["value"], alone["standard_error"], alone["chosen"])
        if one["best"]:
            assert out["method"] == one["method"] and out["value"] == one["value"] and out["chosen"] == one["chosen"]
            assert (data.folder / "s.h5").read_bytes() == (data.folder / "one.h5").read_bytes()
    best = max(one["value"] for one in out["methods"])
    assert out["value"] == best and [one["best"] for one in out["methods"]].count(True) == 1
    for one in out["methods"]:
        assert one["behind"] == pytest.approx(best - one["value"], abs=1e-12)
    table = list(csv.DictReader(io.StringIO((data.folder / "t.csv").read_text())))
    assert [row["method"] for row in table] == ["coterie", "stl", "pooled", "cmtl"]
    assert [float(row["score"]) for row in table] == [one["value"] for one in out["methods"]]


def test_methods_that_do_not_apply_are_left_out(coterie):
    rows = [[*row[:-2], "xyz"[i % 3], "all"] for i, row in enumerate(row.split(",") for row in small_csv(tasks=("a",), n=45).splitlines()[1:])]
    coterie.write("d.csv", csv_text(rows))
    command = ["select", "d.csv", "--drop", "task", "--one-vs-one", "--method", "stl,pooled", "--kernels", "gauss:2", "-C", "1,4", "--folds", "3"]
    text = coterie(*command, "-o", "s.h5").out
    assert "left out: pooled: one model for all tasks asks that a positive label means the same in each, which pairs of classes do not grant" in text
    out = coterie(*command, "-o", "s.h5", "--json").json
    assert [one["method"] for one in out["left_out"]] == ["pooled"] and out["method"] == "stl"


def test_all_is_every_method(data):
    out = data("select", "d.csv", "--method", "all", *LISTS, "--parameters",
               "lambda=0.1 lambda1=0.1 lambda2=0.1 lambda3=0.1 clusters=1 share=0.5 power=2 restarts=2", "-o", "s.h5", "--json").json
    assert [one["method"] for one in out["methods"]] == [one["name"] for one in data("methods", "--json").json]


def test_sets_of_kernels_are_candidates(data):
    out = data("select", "d.csv", "--kernels", "gauss:2 | gauss:2 gauss:1@each", "-C", "1,4", "--lambda", "0,inf", "--folds", "3", "-o", "s.h5",
               "--json").json
    assert [one["name"] for one in out["methods"]] == ["coterie, gauss:2", "coterie, gauss:2 gauss:1@each"]
    best = next(one for one in out["methods"] if one["best"])
    assert data("inspect", "s.h5", "--json").json["settings"]["kernels"] == best["kernels"]


def test_killed_and_resumed_gives_the_same_bytes(coterie):
    coterie("data", "generate", "-o", "p.csv", "--tasks", "8", "--groups", "2", "--samples", "60", "--seed", "7")
    command = ["select", "p.csv", "--method", "stl,tang,cmtl", "--folds", "3", "--seed", "5", "-C", "2^-4..2^6"]

    def outputs(stem):
        return ["-o", f"{stem}.h5", "--table", f"{stem}.json", "--picture", f"{stem}.svg"]

    coterie(*command, *outputs("whole"))
    process = subprocess.Popen([coterie.path, *command, *outputs("cut")], cwd=coterie.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = coterie.folder / "cut.h5.journal"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size >= 8_000):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and not (coterie.folder / "cut.h5").exists()
    others = [*command[:3], "stl,mtl,cmtl", *command[4:]]
    assert "other data, options" in coterie(*others, *outputs("cut"), "--resume", code=2).err
    assert "going on after" in coterie(*command, *outputs("cut"), "--resume").err
    for ending in ("h5", "json", "svg"):
        assert (coterie.folder / f"cut.{ending}").read_bytes() == (coterie.folder / f"whole.{ending}").read_bytes(), ending
    assert not os.path.exists(journal)


@pytest.mark.parametrize("arguments, message", [
    (["--method", "stl,nosuch"], "--method is 'nosuch'; it must be one of coterie, stl"),
    (["--method", "stl,stl"], "--method lists 'stl' twice."),
    (["--method", "stl,mtl", "--loss", "square"], "--loss has no meaning for any of the methods."),
    (["--method", "cmtl,metag", "--parameters", "power=2"], "--parameters names 'power', which none of the methods has."),
    (["--method", "cmtl,metag", "--preset", "best"], "--preset has no meaning for --method cmtl"),
    (["--kernels", "gauss:1 | gauss:1"], "--kernels lists the set 'gauss:1' twice."),
    (["--kernels", "gauss:1 |"], "the list of kernels is empty."),
    (["--alternatives", "all"], "--alternatives is 'all'; it must be 'cheap' or 'none'."),
])
def test_what_is_wrong_is_said(data, arguments, message):
    before = data.files()
    result = data("select", "d.csv", *arguments, "-o", "s.h5", code=2)
    assert message in result.err, result.describe()
    assert data.files() == before


def rows_of_one_model(tasks, n, columns=8, seed=1):
    """The same linear rule in every task, with far too few rows to learn it from one."""
    source = random.Random(seed)
    weights = [source.gauss(0, 1) for _ in range(columns)]
    rows = []
    for task in range(tasks):
        points = [[round(source.gauss(0, 1), 4) for _ in range(columns)] for _ in range(n)]
        points.sort(key=lambda x: sum(w * v for w, v in zip(weights, x)))
        rows += [[*x, "yes" if i >= n // 2 else "no", f"t{task:02}"] for i, x in enumerate(points)]  # both classes in every task
    return rows


def test_says_when_a_pooled_model_would_do_better(coterie):
    coterie.write("d.csv", csv_text(rows_of_one_model(tasks=20, n=10)))
    command = ["select", "d.csv", "--kernels", "linear gauss:2", "-C", "2^-7..2^7", "--lambda", "0,0.01max,0.1max,0.3max,inf", "--folds", "3"]
    out = coterie(*command, "-o", "a.h5", "--json").json
    by_name = {one["method"]: one for one in out["alternatives"]}
    assert set(by_name) >= {"cmtl", "uniform", "pooled"}
    pooled = by_name["pooled"]
    assert pooled["would_do_better"] and pooled["value"] > out["value"] + 0.05
    assert pooled["better"] == pytest.approx(pooled["value"] - out["value"], abs=1e-12)
    text = coterie(*command, "-o", "b.h5").out
    assert f"pooled would score {100 * pooled['value']:.2f} %, this model {100 * out['value']:.2f} %: try --method pooled" in text
    # They change nothing, and can be switched off.
    quiet = coterie(*command, "--alternatives", "none", "-o", "c.h5", "--json").json
    assert quiet["alternatives"] == [] and quiet["chosen"] == out["chosen"]
    assert (coterie.folder / "a.h5").read_bytes() == (coterie.folder / "c.h5").read_bytes()
    # A small search has no time for them.
    assert coterie(*command[:5], "2,4", *command[6:], "-o", "d.h5", "--json").json["alternatives"] == []
    # What it says is what the pooled method gets where its rows are as few.
    alone = coterie("select", "d.csv", "--method", "pooled", "--norm", "inf", *command[2:4], "-C", f"{out['chosen']['C']}", "--folds", "3",
                    "-o", "p.h5", "--json").json
    assert alone["value"] <= pooled["value"]


def test_says_when_single_columns_would_do_better(coterie):
    """Labels are a function of one column of twelve that is far from linear."""
    source = random.Random(5)
    rows = []
    for task in TASKS:
        points = sorted(([round(source.gauss(0, 1), 4) for _ in range(12)] for _ in range(30)), key=lambda x: abs(x[3]))
        rows += [[*x, "yes" if i >= 15 else "no", task] for i, x in enumerate(points)]
    coterie.write("d.csv", csv_text(rows))
    command = ["select", "d.csv", "--kernels", "linear gauss:1,2,4,8", "-C", "2^-7..2^7", "--lambda", "0,0.001max..1max:9,inf", "--folds", "3"]
    out = coterie(*command, "-o", "a.h5", "--json").json
    columns = next(one for one in out["alternatives"] if one["method"] == "coterie")
    assert columns["kernels"] == "linear gauss:1,2,4,8 gauss:0.5,1@each" and columns["would_do_better"] and columns["value"] > out["value"] + 0.05
    text = coterie(*command, "-o", "b.h5").out
    assert 'try --kernels "linear gauss:1,2,4,8 gauss:0.5,1@each"' in text
    # It is what a search of that one point gives.
    alone = coterie("select", "d.csv", "--kernels", columns["kernels"], "-C", out["chosen"]["C"], "--lambda", out["chosen"]["lambda"],
                    "--folds", "3", "-o", "c.h5", "--json").json
    assert alone["value"] == columns["value"]


def test_is_quiet_where_tasks_differ(coterie):
    """Labels are turned over in every second task: nothing common can be learnt."""
    rows = rows_of_one_model(tasks=6, n=40, columns=2)
    turned = {"yes": "no", "no": "yes"}
    for row in rows:
        if int(row[-1][1:]) % 2:
            row[-2] = turned[row[-2]]
    coterie.write("d.csv", csv_text(rows))
    command = ["select", "d.csv", "--kernels", "linear gauss:2", "-C", "2^-7..2^7", "--lambda", "0,0.01max,0.1max,0.3max,inf", "--folds", "3"]
    out = coterie(*command, "-o", "a.h5", "--json").json
    assert not next(one for one in out["alternatives"] if one["method"] == "pooled")["would_do_better"]
    assert "pooled would score" not in coterie(*command, "-o", "b.h5").out
