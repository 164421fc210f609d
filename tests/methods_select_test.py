"""select for every method, and probabilities of all of them."""

import csv
import io
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from support import csv_text, small_csv, small_rows

KERNEL = ["stl", "mtl", "uniform", "pooled", "groups", "joint", "tang", "pareto"]
LINEAR = ["cmtl", "whom", "flexclus", "coclus", "metag"]
TASKS = ("a", "b", "c", "d")
LISTS = {"groups": "clusters=1,2", "joint": "own=0,0.5", "tang": "share=0,0.5,1", "pareto": "power=1,2", "cmtl": "lambda=2^-4..2^0 clusters=1..2", "whom": "lambda=0.1,1 clusters=1,2",
         "flexclus": "lambda1=0.01,0.1 lambda3=0.1,1", "coclus": "clusters=1 lambda1=0.1,1 lambda2=0.1", "metag": "lambda=2^-6..2^-2"}


def options_of(method):
    out = ["--kernels", "linear gauss:1,4", "-C", "0.5,4"] if method in KERNEL else []
    return out + (["--parameters", LISTS[method]] if method in LISTS else [])


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


@pytest.fixture
def data(coterie):
    coterie.write("d.csv", small_csv(tasks=TASKS, n=16))
    return coterie


def select(coterie, method, *more, data="d.csv", model="s.h5", code=0):
    return coterie("select", data, "--method", method, *options_of(method), "--folds", "3", *more, "-o", model, "--json", code=code)


def parameters_of(chosen):
    return " ".join(f"{name}={value:g}" for name, value in sorted(chosen.items()) if name not in ("C", "norm", "normalise"))


@pytest.mark.parametrize("method", KERNEL + LINEAR)
def test_the_model_is_that_of_train_with_the_choice(data, method):
    out = select(data, method, "--table", "grid.csv", "--picture", "grid.svg").json
    assert out["method"] == method and out["fit"]["method"] == method and out["fits_short"] == 0
    table = rows_of(data.folder / "grid.csv")
    scores = [float(row["score"]) for row in table]
    assert scores == sorted(scores, reverse=True) and table[0]["chosen"] == "1" and out["value"] == scores[0]
    for row, same in zip(table, out["grid"]):
        assert float(row["score"]) == same["score"] == pytest.approx(np.mean(same["folds"]), abs=0.05)
        assert all(str(row[name]) in (str(same[name]), f"{float(same[name]):g}") for name in out["chosen"] if name != "normalise")
    picture = ElementTree.parse(data.folder / "grid.svg").getroot()
    assert picture.tag.endswith("svg") and picture.get("viewBox")

    chosen, mine = out["chosen"], parameters_of(out["chosen"])
    options = ["--kernels", "linear gauss:1,4", "-C", chosen["C"]] if method in KERNEL else []
    data("train", "d.csv", "--method", method, *options, *(["--parameters", mine] if mine else []), "-o", "t.h5")
    assert (data.folder / "s.h5").read_bytes() == (data.folder / "t.h5").read_bytes()


@pytest.mark.parametrize("method, lists", [("tang", ["-C", "0.5,4", "--parameters", "share=0.5"]), ("pooled", ["-C", "0.5,4"]),
                                           ("cmtl", ["--parameters", "lambda=0.02,0.5 clusters=2"])])
def test_the_scores_are_those_of_cross_validation_by_hand(coterie, method, lists):
    """Rows are held out one by one, so that there is only one way to fold. The worst of two points is fitted fold by fold through files."""
    rows = small_rows(tasks=("a", "b"), n=8)
    coterie.write("d.csv", csv_text(rows))
    kernels = ["--kernels", "linear gauss:2"] if method in KERNEL else []
    coterie("select", "d.csv", "--method", method, *kernels, *lists, "--folds", len(rows), "-o", "m.h5", "--table", "grid.csv")
    point = rows_of(coterie.folder / "grid.csv")[-1]
    names = {"tang": ["share"], "pooled": [], "cmtl": ["lambda", "clusters"]}[method]
    settings = ["-C", point["C"]] if method in KERNEL else []
    settings += ["--parameters", " ".join(f"{name}={point[name]}" for name in names)] if names else []
    right = {"a": [], "b": []}
    for held, row in enumerate(rows):
        coterie.write("train.csv", csv_text(rows[:held] + rows[held + 1:]))
        coterie.write("test.csv", csv_text([row]))
        coterie("train", "train.csv", "--method", method, *kernels, *settings, "-o", "one.h5")
        right[row[-1]].append(coterie("evaluate", "one.h5", "test.csv", "--json").json["errors"] == 0)
        assert float(point[f"fold{held + 1}"]) in (0, 1)
    assert float(point["score"]) == pytest.approx(np.mean([np.mean(right[t]) for t in "ab"]), abs=1e-12)


@pytest.mark.parametrize("method", ["tang", "flexclus"])
@pytest.mark.parametrize("more", [["--score", "logloss"], ["--score", "auc", "--scale", "minmax"], ["--one-se"]], ids=" ".join)
def test_ways_to_judge_and_threads_change_no_bit(data, method, more):
    out = select(data, method, *more, "--table", "a.csv").json
    order = [row["score"] for row in out["grid"]]
    assert order == sorted(order, reverse="logloss" not in more)
    select(data, method, *more, "--table", "b.csv", "--threads", "1", model="again.h5")
    assert (data.folder / "again.h5").read_bytes() == (data.folder / "s.h5").read_bytes()
    assert (data.folder / "a.csv").read_bytes() == (data.folder / "b.csv").read_bytes()
    if "--one-se" in more:  # the simplest of those that are as good
        best = out["grid"][0]
        good = [row for row in out["grid"] if row["score"] >= best["score"] - best["standard_error"]]
        simplest = max(good, key=lambda row: (row["share"], -row["C"]) if method == "tang" else (row["lambda1"], row["lambda2"], row["lambda3"]))
        assert all(out["chosen"][name] == simplest[name] for name in out["chosen"])


def test_mapped_features_have_normalisations_too(data):
    out = data("select", "d.csv", "--method", "metag", "--map", "kernels:12", "--kernels", "linear gauss:2", "--normalise", "cosine,variance",
               "--parameters", "lambda=0.01,0.1", "--folds", "3", "-o", "s.h5", "--json").json
    assert {row["normalise"] for row in out["grid"]} == {"cosine", "variance"} and len(out["grid"]) == 4
    chosen = out["chosen"]
    data("train", "d.csv", "--method", "metag", "--map", "kernels:12", "--kernels", "linear gauss:2", "--normalise", chosen["normalise"],
         "--parameters", f"lambda={chosen['lambda']}", "-o", "t.h5")
    assert (data.folder / "s.h5").read_bytes() == (data.folder / "t.h5").read_bytes()


def test_clusters_end_at_half_the_tasks(data):
    out = data("select", "d.csv", "--method", "cmtl", "--parameters", "lambda=1", "--folds", "2", "-o", "s.h5", "--json").json
    assert sorted(row["clusters"] for row in out["grid"]) == [1, 2]  # of 4 tasks
    text = data("select", "d.csv", "--method", "cmtl", "--parameters", "lambda=1,2,4", "--folds", "2", "--one-se", "-o", "s.h5").out
    assert "3 lambda x 2 clusters" in text and "the largest lambda and smallest clusters within one standard error" in text


@pytest.mark.parametrize("method", ["pooled", "tang", "cmtl"])
def test_probabilities_of_every_method(data, method):
    select(data, method, "--calibrate", "platt")
    options = [word for word in options_of(method) if word not in ("-C", "0.5,4", "--parameters", LISTS.get(method))]
    data("train", "d.csv", "--method", method, *options, "--calibrate", "platt", "-o", "t.h5")
    for model in ("s.h5", "t.h5"):
        out = rows_of(data.write("out.csv", data("predict", model, "d.csv").out))
        score, share = (np.array([float(row[name]) for row in out]) for name in ("score", "probability"))
        assert np.all((0 < share) & (share < 1))
        for task in TASKS:  # a rising curve for each task
            mine = [row["task"] == task for row in out]
            assert np.all(np.diff(share[mine][np.argsort(score[mine])]) >= 0)


def test_killed_and_resumed_gives_the_same_bytes(coterie):
    coterie("data", "generate", "-o", "p.csv", "--tasks", "8", "--groups", "2", "--samples", "60", "--seed", "7")
    command = ["select", "p.csv", "--method", "tang", "--folds", "3", "--seed", "5", "-C", "2^-4..2^6"]

    def outputs(stem):
        return ["-o", f"{stem}.h5", "--table", f"{stem}.csv", "--picture", f"{stem}.svg"]

    coterie(*command, *outputs("whole"))
    process = subprocess.Popen([coterie.path, *command, *outputs("cut")], cwd=coterie.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = coterie.folder / "cut.h5.journal"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size >= 2_000):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and not (coterie.folder / "cut.h5").exists()
    kept = journal.read_bytes()
    assert "other data, options" in coterie(*command[:-1], "2^-4..2^5", *outputs("cut"), "--resume", code=2).err
    assert journal.read_bytes() == kept
    assert "going on after" in coterie(*command, *outputs("cut"), "--resume").err
    for ending in ("h5", "csv", "svg"):
        assert (coterie.folder / f"cut.{ending}").read_bytes() == (coterie.folder / f"whole.{ending}").read_bytes(), ending
    assert not os.path.exists(journal)


@pytest.mark.parametrize("method, arguments, message", [
    ("nosuch", [], "--method is 'nosuch'; it must be one of coterie, stl"),
    ("cmtl", ["--lambda", "1"], "--lambda has no meaning for --method cmtl; its --parameters are lambda, clusters"),
    ("cmtl", ["-C", "1"], "--C has no meaning for --method cmtl"),
    ("cmtl", ["--preset", "best"], "--preset has no meaning for --method cmtl; give lists in --parameters."),
    ("cmtl", ["--search", "coarse"], "--search coarse goes along C and lambda, which --method cmtl has not"),
    ("stl", ["--lambda", "0"], "--lambda has no meaning for --method stl"),
    ("tang", ["--norm", "1,2"], "--norm has no meaning for --method tang"),
    ("tang", ["--loss", "square"], "--loss has no meaning for --method tang"),
    ("coterie", ["--parameters", "lambda=1"], "--parameters has no meaning for --method coterie"),
    ("mtl", ["--parameters", "lambda=1"], "--parameters names 'lambda', but --method mtl has none."),
    ("cmtl", ["--parameters", "lambda=a"], "--parameters: lambda has 'a'; each entry must be a number"),
    ("cmtl", ["--parameters", "power=1"], "--parameters names 'power', which --method cmtl does not have. It has lambda, clusters"),
    ("cmtl", ["--parameters", "lambda=1 lambda=2"], "--parameters names 'lambda' twice."),
    ("cmtl", ["--parameters", "clusters=0..2"], "--parameters: clusters of --method cmtl is '0'; it must be a whole number from 1 to 1000000."),
    ("cmtl", ["--memory", "20000"], "the folds of --method cmtl need about"),
    ("tang", ["--parameters", "share=0..2:3"], "--parameters: share has '0..2:3'"),
])
def test_select_says_what_is_wrong(data, method, arguments, message):
    before = data.files()
    result = data("select", "d.csv", "--method", method, *arguments, "-o", "s.h5", code=2)
    assert message in result.err, result.describe()
    assert data.files() == before
