"""select, path and probabilities, as users run them."""

import csv
import io
import math
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from support import small_csv, small_rows

FAST = ["--kernels", "linear gauss:1,4"]
GRID = ["--C", "0.25,1,4", "--lambda", "0,0.1max,0.5max,inf", "--norm", "1,2,inf", "--normalise", "cosine,tail:2", "--folds", "3"]


def planted(coterie, name="p.csv", tasks=6, samples=40, seed=7, groups=2, **more):
    options = [word for key, value in more.items() for word in (f"--{key}", value)]
    coterie("data", "generate", "-o", name, "--tasks", tasks, "--groups", groups, "--samples", samples, "--seed", seed, *options)
    return name


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


@pytest.fixture
def data(coterie):
    planted(coterie)
    return coterie


def select(coterie, *more, data="p.csv", model="s.h5", code=0):
    return coterie("select", data, *FAST, *more, "-o", model, "--json", code=code).json


# select


def test_the_model_is_that_of_train_with_the_choice(data):
    chosen = select(data, *GRID)["chosen"]
    data("train", "p.csv", *FAST, "-C", chosen["C"], "--lambda", chosen["lambda"], "--norm", chosen["norm"], "--normalise", chosen["normalise"],
         "-o", "t.h5")
    assert (data.folder / "s.h5").read_bytes() == (data.folder / "t.h5").read_bytes()
    assert not (data.folder / "s.h5.journal").exists()
    data("verify", "s.h5", "p.csv")


def test_the_table_holds_the_whole_grid_and_the_best_is_chosen(data):
    out = select(data, *GRID, "--table", "grid.csv", "--picture", "grid.svg")
    table = rows_of(data.folder / "grid.csv")
    assert len(table) == 2 * (2 * 3 * 4 + 3)  # norm inf has no lambda
    scores = [float(row["score"]) for row in table]
    assert scores == sorted(scores, reverse=True)
    assert [int(row["rank"]) for row in table] == list(range(1, len(table) + 1))
    assert [row["chosen"] for row in table].count("1") == 1 and table[0]["chosen"] == "1"
    for row, same in zip(table, out["grid"]):
        assert float(row["score"]) == same["score"] and row["lambda"] == same["lambda"] and float(row["C"]) == same["C"]
        folds = [float(row[f"fold{k}"]) for k in (1, 2, 3)]
        assert float(row["score"]) == pytest.approx(np.mean(folds), abs=0.02)  # folds of unequal tasks weigh a little differently
        assert float(row["standard_error"]) == pytest.approx(np.std(folds, ddof=1) / math.sqrt(3), abs=1e-12)
    assert out["value"] == scores[0] and out["fits_short"] == 0
    picture = ElementTree.parse(data.folder / "grid.svg").getroot()
    assert picture.tag.endswith("svg") and picture.get("viewBox")


def test_the_score_is_what_cross_validation_by_hand_gives(coterie):
    """One task, one setting: the mean of the folds is the accuracy of predictions on rows that their fit did not see. Rows are held out one by
    one, so that there is only one way to fold."""
    coterie.write("d.csv", small_csv(tasks=("a",), n=12))
    lines = (coterie.folder / "d.csv").read_text().splitlines()
    out = coterie("select", "d.csv", *FAST, "--C", "1", "--lambda", "0", "--folds", "12", "-o", "m.h5", "--json").json
    right = 0
    for held in range(1, 13):
        coterie.write("train.csv", "\n".join(lines[:held] + lines[held + 1:]) + "\n")
        coterie.write("test.csv", "\n".join([lines[0], lines[held]]) + "\n")
        coterie("train", "train.csv", *FAST, "-C", "1", "--lambda", "0", "-o", "one.h5")
        right += coterie("evaluate", "one.h5", "test.csv", "--json").json["errors"] == 0
    assert out["value"] == pytest.approx(right / 12, abs=1e-12)


@pytest.mark.parametrize("more", [["--score", "auc"], ["--score", "balanced"], ["--score", "logloss"], ["--hold-out", "0.3"], ["--one-se"],
                                  ["--scale", "standard"], ["--scale", "minmax", "--score", "logloss", "--hold-out", "0.4"]], ids=" ".join)
def test_ways_to_judge(data, more):
    grid = [word for word in GRID if word not in ("--folds", "3")] if "--hold-out" in more else GRID
    out = select(data, *grid, *more)
    order = [row["score"] for row in out["grid"]]
    assert order == sorted(order, reverse="logloss" not in more)
    assert out["score"] == (more[more.index("--score") + 1] if "--score" in more else "accuracy")
    if "--one-se" in more:
        best = out["grid"][0]
        assert out["value"] >= best["score"] - best["standard_error"]
    assert data("select", "p.csv", *FAST, *grid, *more, "-o", "again.h5", "--threads", "1").code == 0
    assert (data.folder / "again.h5").read_bytes() == (data.folder / "s.h5").read_bytes()


def test_coarse_to_fine_looks_at_fewer_points(data):
    grid = ["--C", "2^-6..2^6", "--lambda", "2^-6..2^6", "--folds", "3"]
    full = select(data, *grid)
    coarse = select(data, *grid, "--search", "coarse", model="c.h5")
    assert coarse["points_saved"] > 169 // 3 and len(coarse["grid"]) + coarse["points_saved"] == 169
    assert coarse["chosen"] == full["chosen"] and coarse["fits"] < full["fits"]
    text = data("select", "p.csv", *FAST, *grid, "--search", "coarse", "-o", "c.h5").out
    assert f"{coarse['points_saved']} points saved" in text


@pytest.mark.parametrize("method", ["coterie", "pooled", "cmtl"])
def test_rows_to_judge_on_from_a_file(data, method):
    lines = (data.folder / "p.csv").read_text().splitlines()
    data.write("train.csv", "\n".join([lines[0], *lines[1::2]]) + "\n")
    data.write("judge.csv", "\n".join([lines[0], *lines[2::2]]) + "\n")
    common = ["--method", method, *([] if method == "cmtl" else FAST), "--tolerance", "1e-7"]
    lists = {"coterie": ["-C", "0.5,4", "--lambda", "0.1max,inf"], "pooled": ["-C", "0.5,4"], "cmtl": ["--parameters", "lambda=0.01,1 clusters=2"]}[method]
    out = data("select", "train.csv", *common, *lists, "--validation", "judge.csv", "-o", "s.h5", "--json").json
    for row in out["grid"]:
        at = {"coterie": ["-C", row.get("C"), "--lambda", row.get("lambda")], "pooled": ["-C", row.get("C")],
              "cmtl": ["--parameters", f"lambda={row.get('lambda')} clusters=2"]}[method]
        data("train", "train.csv", *common, *at, "-o", "t.h5")
        tasks = data("evaluate", "t.h5", "judge.csv", "--json").json["tasks"]
        assert row["score"] == pytest.approx(np.mean([task["accuracy"] for task in tasks]), abs=1e-12)
    data("verify", "s.h5", "train.csv")
    text = data("select", "train.csv", *common, *lists, "--validation", "judge.csv", "--score", "logloss", "-o", "s.h5").out
    assert f"{len(lines[2::2])} rows to judge on" in text


@pytest.mark.parametrize("arguments, message", [
    (["--validation", "judge.csv", "--folds", "3"], "--folds and --validation are both given; choose one."),
    (["--validation", "judge.csv", "--hold-out", "0.3"], "--hold-out and --validation are both given; choose one."),
    (["--validation", "none.csv"], "none.csv"),
    (["--validation", "p.csv", "--table", "p.csv"], "p.csv is also an input"),
    (["--validation", "judge.csv"], "--validation has the task 'new', which the data does not have."),
    (["--validation", "columns.csv"], "columns.csv"),
])
def test_rows_to_judge_on_that_cannot_be_used(data, arguments, message):
    lines = (data.folder / "p.csv").read_text().splitlines()
    task = lines[1].split(",")[lines[0].split(",").index("task")]
    data.write("judge.csv", "\n".join([lines[0], lines[1].replace(task, "new")]) + "\n")
    data.write("columns.csv", "label,task,f1\n1,t01,2\n")
    before = data.files()
    assert message in data("select", "p.csv", *FAST, *GRID[:-2], *arguments, "-o", "s.h5", code=2).err
    assert data.files() == before


def test_counts_are_explained(data):
    """Points, rows and fits: a row is one fold at one C (norm, normalisation), and begins with a fit at lambda = inf."""
    out = select(data, *GRID)
    points, folds = len(out["grid"]), 3
    assert out["rows"] == 3 * 3 * 2 * folds  # C, norms, normalisations
    assert out["fits"] == out["rows"] + points * folds - out["fits_reused"]
    text = data("select", "p.csv", *FAST, *GRID, "-o", "s.h5").out
    assert f"{points} points x 3 folds = {points * folds} scores from {out['fits']} fits, in {out['rows']} rows (one fold at one C, along lambda)" in text
    assert f"the answer at the {out['fits_reused']} scores with lambda >= lambda_max" in text
    text = data("select", "p.csv", "--method", "cmtl", "--parameters", "lambda=1,2,4 clusters=1,2", "--folds", "2", "-o", "s.h5").out
    assert "6 points x 2 folds = 12 scores, a fit each, in 4 rows" in text


def test_presets(data):
    out = coterie_json = data("select", "p.csv", *FAST, "--preset", "best", "--folds", "2", "-o", "b.h5", "--json").json
    assert {row["norm"] for row in out["grid"]} == {1.0, 2.0, "inf"} and coterie_json["fit"]["status"] == "converged"
    out = data("select", "p.csv", *FAST, "--preset", "paper", "--C", "1", "--folds", "2", "-o", "b.h5", "--json").json
    assert len(out["grid"]) == 21 and {row["normalise"] for row in out["grid"]} == {"cosine"}


@pytest.mark.parametrize("arguments, message", [
    (["--C", "a"], "--C has 'a'"),
    (["--lambda", "1,0.5max"], "--lambda mixes numbers and shares of lambda_max"),
    (["--norm", "0"], "--norm has 0; every norm must be a number >= 1, or inf."),
    (["--score", "f1"], "--score is 'f1'; it must be 'accuracy', 'balanced', 'auc' or 'logloss'."),
    (["--search", "random"], "--search is 'random'; it must be 'grid' or 'coarse'."),
    (["--preset", "worst"], "--preset is 'worst'; it must be 'paper' or 'best'."),
    (["--folds", "1"], "--folds is '1'; it must be a whole number >= 2."),
    (["--folds", "3", "--hold-out", "0.2"], "--folds and --hold-out are both given; choose one."),
    (["--hold-out", "1.5"], "--hold-out is 1.5; it must be between 0 and 1."),
    (["--table", "grid.txt"], "--table is 'grid.txt'; the name must end in .csv or .json."),
    (["--picture", "grid.png"], "--picture is 'grid.png'; the name must end in .svg."),
    (["--solver", "published"], "--solver: select compares optima"),
    (["--table", "no/grid.csv"], "--table: the folder no does not exist"),
    (["--table", "s.csv", "--picture", "./s.svg", "-o", "s.svg"], "two outputs would go to ./s.svg"),
    (["--calibrate", "beta"], "--calibrate is 'beta'; it must be 'none', 'platt' or 'isotonic'."),
])
def test_select_says_what_is_wrong(data, arguments, message):
    before = data.files()
    place = [] if "-o" in arguments else ["-o", "s.h5"]
    result = data("select", "p.csv", *FAST, *arguments, *place, code=2)
    assert message in result.err, result.describe()
    assert data.files() == before


def test_a_class_of_one_row_cannot_be_held_out(coterie):
    lines = small_csv(tasks=("a", "b"), n=6).splitlines()
    coterie.write("d.csv", "\n".join(line for i, line in enumerate(lines) if i not in (2, 4)) + "\n")
    result = coterie("select", "d.csv", *FAST, "--folds", "2", "-o", "s.h5", code=2)
    assert "task 'a' has too few rows of class 'yes' to hold some out" in result.err


# Interruption


def kill_when(coterie, arguments, journal, size, timeout=120):
    """Starts the program, and kills it as a power cut would once the journal has grown to `size` bytes."""
    process = subprocess.Popen([coterie.path, *map(str, arguments)], cwd=coterie.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + timeout
    path = coterie.folder / journal
    while not (path.exists() and path.stat().st_size >= size):
        assert process.poll() is None, "ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    return path.stat().st_size


def test_select_killed_and_resumed_gives_the_same_bytes(coterie):
    planted(coterie, tasks=8, samples=60)
    command = ["select", "p.csv", "--folds", "3", "--norm", "1,2", "--seed", "5"]

    def outputs(stem):
        return ["-o", f"{stem}.h5", "--table", f"{stem}.csv", "--picture", f"{stem}.svg"]

    coterie(*command, *outputs("whole"))
    kept = 0
    for size in (3_000, 12_000):  # twice
        kept = kill_when(coterie, [*command, *outputs("cut"), "--resume"], "cut.h5.journal", max(size, kept + 1))
        assert not (coterie.folder / "cut.h5").exists()
    result = coterie(*command, *outputs("cut"), "--resume")
    assert "going on after" in result.err
    for ending in ("h5", "csv", "svg"):
        assert (coterie.folder / f"cut.{ending}").read_bytes() == (coterie.folder / f"whole.{ending}").read_bytes(), ending
    assert not (coterie.folder / "cut.h5.journal").exists()


def test_path_killed_and_resumed_gives_the_same_bytes(coterie):
    planted(coterie, tasks=8, samples=60)
    command = ["path", "p.csv", "--hold-out", "0.2", "--bootstrap", "3"]
    coterie(*command, "-o", "whole")
    size = sum(path.stat().st_size for path in (coterie.folder / "whole").iterdir())
    assert size > 1000
    kill_when(coterie, [*command, "-o", "cut"], "cut/journal", 100_000)
    result = coterie(*command, "-o", "cut", "--resume")
    assert "going on after" in result.err
    names = sorted(path.name for path in (coterie.folder / "whole").iterdir())
    assert names == sorted(path.name for path in (coterie.folder / "cut").iterdir())
    assert names == ["affinity.svg", "merges.csv", "path.csv", "tree.svg", "weights.csv", "weights.svg"]
    for name in names:
        assert (coterie.folder / "cut" / name).read_bytes() == (coterie.folder / "whole" / name).read_bytes(), name


def test_ctrl_c_keeps_the_rows_and_says_how_to_go_on(coterie):
    planted(coterie, tasks=8, samples=60)
    result = coterie.interrupt("select", "p.csv", "--norm", "1,1.5,2,4", "--normalise", "cosine,variance", "--folds", "10", "-o", "s.h5", after="s left")
    assert result.code == 1 and "stopped: no model was written" in result.err and "--resume" in result.err
    assert (coterie.folder / "s.h5.journal").exists() and not (coterie.folder / "s.h5").exists()


def test_a_journal_of_another_run_is_refused(data):
    data.write("s.h5.journal", "notes of mine")
    assert "is needed for the journal of the run, but the file is something else" in data("select", "p.csv", *FAST, *GRID, "-o", "s.h5", code=2).err
    (data.folder / "s.h5.journal").unlink()
    kill_when(data, ["select", "p.csv", "-o", "s.h5"], "s.h5.journal", 1_000)
    before = (data.folder / "s.h5.journal").read_bytes()
    result = data("select", "p.csv", "-o", "s.h5", "--seed", "9", "--resume", code=2)
    assert "it holds a run with other data, options or another version" in result.err
    assert (data.folder / "s.h5.journal").read_bytes() == before
    assert "an interrupted run is forgotten" in data("select", "p.csv", *FAST, *GRID, "-o", "s.h5").err


def test_resume_without_an_interrupted_run_starts_from_the_beginning(data):
    result = data("select", "p.csv", *FAST, *GRID, "-o", "s.h5", "--resume")
    assert "nothing to resume" in result.err and (data.folder / "s.h5").exists()


def test_ctrl_c_while_calibrating_keeps_the_search(coterie):
    planted(coterie, tasks=6, samples=500, noise=0.3)
    command = ["select", "p.csv", "--C", "64", "--lambda", "0.1max", "--hold-out", "0.5", "--calibrate", "platt", "--kernels", "paper", "-o", "s.h5"]
    result = coterie.interrupt(*command, after="calibrating")
    assert result.code == 1 and "the search is kept in s.h5.journal" in result.err, result.describe()
    assert not (coterie.folder / "s.h5").exists() and (coterie.folder / "s.h5.journal").exists()
    train = ["train", "p.csv", "-C", "64", "--calibrate", "platt", "-o", "t.h5"]
    result = coterie.interrupt(*train, after="calibrating")
    assert result.code == 3 and "the model has none" in result.err and (coterie.folder / "t.h5").exists(), result.describe()


def test_another_task_graph_is_another_run(data):
    data.write("none.csv", "task_a,task_b,weight\nt01,t02,0\n")
    kill_when(data, ["select", "p.csv", "-o", "s.h5", "--task-graph", "none.csv"], "s.h5.journal", 1_000)
    assert "other data, options" in data("select", "p.csv", "-o", "s.h5", "--resume", code=2).err


def test_what_cannot_be_calibrated_is_said_before_the_search(coterie):
    lines = small_csv(tasks=("a", "b"), n=8).splitlines()
    coterie.write("d.csv", "\n".join(line for i, line in enumerate(lines) if i not in (2, 4, 6)) + "\n")
    for command in (["select", "--hold-out", "0.3"], ["train"]):
        result = coterie(command[0], "d.csv", *FAST, *command[1:], "--calibrate", "platt", "-o", "s.h5", code=2)
        assert "too few rows of class 'yes'" in result.err and "searching" not in result.err and "fitting" not in result.err


# path


def test_the_optimal_value_is_nondecreasing_and_concave_and_every_point_proved(data):
    data("path", "p.csv", *FAST, "-o", "out", "--tolerance", "1e-9")
    points = rows_of(data.folder / "out" / "path.csv")
    assert points[0]["lambda"] == "inf" and points[-1]["lambda"] == "0"
    assert all(row["status"] == "converged" and float(row["gap"]) <= 1e-9 for row in points)
    finite = points[1:]
    lam = np.array([float(row["lambda"]) for row in finite])
    upper, lower = (np.array([float(row[name]) for row in finite]) for name in ("objective", "dual"))
    assert np.all(np.diff(lam) < 0) and np.all(lower[1:] <= upper[:-1])
    for k in range(1, len(lam) - 1):
        chord = ((lam[k] - lam[k + 1]) * lower[k - 1] + (lam[k - 1] - lam[k]) * lower[k + 1]) / (lam[k - 1] - lam[k + 1])
        assert upper[k] >= chord - 1e-12 * abs(chord)
    # Tasks may come to equal weights by themselves: then they share a kernel at lambda 0 too.
    weights = [tuple(row[name] for name in row if name not in ("lambda", "share", "task", "group")) for row in rows_of(data.folder / "out" / "weights.csv") if row["lambda"] == "0"]
    assert int(points[0]["groups"]) == 1 and int(points[-1]["groups"]) == len(set(weights)) > 1


def test_path_and_its_files_agree(data):
    out = data("path", "p.csv", *FAST, "-o", "out", "--hold-out", "0.25", "--json").json
    points = rows_of(data.folder / "out" / "path.csv")
    weights = rows_of(data.folder / "out" / "weights.csv")
    assert len(out["points"]) == len(points) and len(weights) == 6 * len(points)
    for point, row in zip(out["points"], points):
        assert float(row["objective"]) == point["objective"] and int(row["groups"]) == len(point["groups"])
        assert 0 <= point["held_out_accuracy"] <= 1
        mine = [w for w in weights if w["lambda"] == row["lambda"]]
        theta = np.array([[float(w[name]) for name in out["kernels"]] for w in mine])
        assert np.array_equal(theta, np.array(point["theta"]))
        for group in point["groups"]:  # one group, one theta, to the last bit
            members = [out["tasks"].index(name) for name in group]
            assert all(np.array_equal(theta[members[0]], theta[t]) for t in members)
    for name in ("tree.svg", "weights.svg", "affinity.svg"):
        assert ElementTree.parse(data.folder / "out" / name).getroot().get("viewBox")
    joined = [row for row in rows_of(data.folder / "out" / "merges.csv") if row["kind"] == "merge"]
    last = [row["task"] for row in joined if row["event"] == joined[-1]["event"]]
    assert sorted(last) == sorted(out["tasks"])
    for row, point in zip(weights, (point for point in out["points"] for _ in out["tasks"])):
        assert row["task"] in point["groups"][int(row["group"]) - 1]


def test_the_tree_and_the_time_together_agree(data):
    out = data("path", "p.csv", *FAST, "--json").json
    together, tasks = np.array(out["time_together"]), out["tasks"]
    inner = [(point["lambda"], point["groups"]) for point in out["points"] if point["lambda"] not in ("inf", 0)]
    for t in range(6):
        for s in range(6):  # what happens between two points happens half-way
            one = [any({tasks[t], tasks[s]} <= set(group) for group in groups) for _, groups in inner]
            time = sum(np.log(inner[k][0] / inner[k + 1][0]) * (one[k] + one[k + 1]) / 2 for k in range(len(inner) - 1))
            assert together[t, s] == pytest.approx(time / np.log(inner[0][0] / inner[-1][0]), abs=1e-9)
    nodes = [[t] for t in range(6)]
    for node in out["tree"]:
        parts = [nodes[child] for child in node["children"]]
        pairs = [together[t, s] for a in parts for b in parts if a is not b for t in a for s in b]
        assert node["together"] == pytest.approx(np.mean(pairs), abs=1e-8)
        assert not node["for_good"] or node["tasks"] in [merge["tasks"] for merge in out["merges"]]
        nodes.append(sum(parts, []))
    if not out["splits"]:
        assert all(node["for_good"] for node in out["tree"])
    assert len(nodes[-1]) == 6


def test_the_best_held_out_point_is_named(data):
    out = data("path", "p.csv", *FAST, "-o", "out", "--hold-out", "0.25", "--json").json
    best = max(out["points"], key=lambda point: point["held_out_accuracy"])  # the first, that of the largest lambda
    assert out["best"] == {"lambda": best["lambda"], "held_out_accuracy": best["held_out_accuracy"], "groups": len(best["groups"])}
    words = f"best held-out accuracy {100 * best['held_out_accuracy']:.2f} %: {len(best['groups'])} group"
    assert words in data("path", "p.csv", *FAST, "--hold-out", "0.25").out
    for picture in ("tree.svg", "weights.svg"):
        assert words in (data.folder / "out" / picture).read_text()
    assert "best" not in data("path", "p.csv", *FAST, "--json").json


@pytest.mark.parametrize("groups", [1, 3, 6])
def test_a_model_with_so_many_groups(data, groups):
    out = data("path", "p.csv", *FAST, "--groups", groups, "--model", "g.h5", "--json").json
    counts = {len(point["groups"]) for point in out["points"]}
    nearest = min(counts, key=lambda count: (abs(count - groups), count))
    assert out["model_groups"] == nearest and out["groups_asked"] == groups
    model = data("inspect", "g.h5", "--json").json
    assert len(model["groups"]) == nearest
    data("verify", "g.h5", "p.csv")
    text = data("path", "p.csv", *FAST, "--groups", groups, "--model", "g.h5").out
    assert ("is the nearest number" in text) == (nearest != groups)


@pytest.mark.parametrize("arguments, message", [
    (["--groups", "2"], "--groups and --model belong together"),
    (["--groups", "x", "--model", "g.h5"], "--groups is 'x'; it must be a whole number >= 1"),
    (["--groups", "7", "--model", "g.h5"], "--groups is 7, but there are only 6 tasks."),
    (["--norm", "inf"], "--norm is inf: with equal weights there is nothing to share, and no path."),
    (["--resume"], "--resume needs -o FOLDER"),
    (["--smallest", "2"], "--smallest is 2; it must be above 0 and below 1."),
    (["--hold-out", "0"], "--hold-out is 0; it must be above 0 and below 1."),
    (["-o", "p.csv"], "--output: p.csv is a file; path writes a folder."),
    (["-o", "no/such"], "the folder no/such does not exist and cannot be made"),
])
def test_path_says_what_is_wrong(data, arguments, message):
    before = data.files()
    result = data("path", "p.csv", *FAST, *arguments, code=2)
    assert message in result.err, result.describe()
    assert data.files() == before


@pytest.mark.parametrize("arguments, message", [
    (["--groups", "30", "--model", "g.h5"], "--groups is 30, but there are only 6 tasks."),
    (["--kernels", "linear@f99"], "f99"),
    (["--kernels", "chi2"], "chi2"),  # needs numbers >= 0, which is seen when kernels are computed
    (["--memory", "1MB"], "Raise --memory"),
])
def test_what_fails_leaves_no_folder_behind(data, arguments, message):
    before = data.files()
    assert message in data("path", "p.csv", *arguments, "-o", "out", code=2).err
    assert data.files() == before and not (data.folder / "out").exists()
    (data.folder / "out").mkdir()
    data("path", "p.csv", *arguments, "-o", "out", code=2)
    assert list((data.folder / "out").iterdir()) == []  # it was there before


def test_a_single_task_has_no_tree(coterie):
    planted(coterie, tasks=1, groups=1)
    result = coterie("path", "p.csv", *FAST, "-o", "out")
    assert "no tasks join" in result.out and "tree.svg" not in result.out
    assert sorted(path.name for path in (coterie.folder / "out").iterdir()) == ["merges.csv", "path.csv", "weights.csv"]


def test_stability_of_groups(data):
    first = data("path", "p.csv", *FAST, "--bootstrap", "4", "--json", "--threads", "1").json
    second = data("path", "p.csv", *FAST, "--bootstrap", "4", "--json", "--threads", "2").json
    assert first["merges"] == second["merges"] and first["time_together"] == second["time_together"]
    assert first["merges"][-1]["support"] == 1 and first["resamples"] == 4
    together = np.array(first["time_together"])
    assert np.all((0 <= together) & (together <= 1)) and np.array_equal(together, together.T) and np.all(np.diag(together) == 1)


# Probabilities


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_calibration_improves_log_loss_and_leaves_labels_alone(coterie, method):
    # A monotone curve has as many freedoms as it likes: with few samples it learns them by heart.
    tasks, samples = (4, 300) if method == "platt" else (2, 1400)
    planted(coterie, "p.csv", tasks=tasks, samples=samples, noise=0.25)
    lines = (coterie.folder / "p.csv").read_text().splitlines()
    coterie.write("train.csv", "\n".join([lines[0], *lines[1::2]]) + "\n")
    coterie.write("test.csv", "\n".join([lines[0], *lines[2::2]]) + "\n")
    coterie("train", "train.csv", "--kernels", "linear gauss:2", "-C", "10", "-o", "plain.h5")
    coterie("train", "train.csv", "--kernels", "linear gauss:2", "-C", "10", "--calibrate", method, "-o", "c.h5")
    scores = coterie("evaluate", "c.h5", "test.csv", "--json").json
    assert scores["mean_log_loss"] < scores["mean_uncalibrated_log_loss"]
    plain, said = (coterie("predict", name, "test.csv").out for name in ("plain.h5", "c.h5"))
    plain, said = (list(csv.DictReader(io.StringIO(text))) for text in (plain, said))
    assert [(row["label"], row["score"]) for row in plain] == [(row["label"], row["score"]) for row in said]
    coterie("train", "train.csv", "--kernels", "linear gauss:2", "-C", "10", "--calibrate", method, "-o", "d.h5", "--threads", "1")
    assert (coterie.folder / "c.h5").read_bytes() == (coterie.folder / "d.h5").read_bytes()
    coterie("train", "train.csv", "--kernels", "linear gauss:2", "-C", "10", "--calibrate", method, "--seed", "2", "-o", "d.h5")
    assert (coterie.folder / "c.h5").read_bytes() != (coterie.folder / "d.h5").read_bytes()


def test_select_calibrates_too(data):
    select(data, *GRID, "--calibrate", "platt")
    rows = list(csv.DictReader(io.StringIO(data("predict", "s.h5", "p.csv").out)))
    assert all(0 < float(row["probability"]) < 1 for row in rows)


# Progress


def test_long_commands_say_how_long_they_will_take(coterie):
    planted(coterie, tasks=8, samples=60)
    result = coterie("select", "p.csv", "--norm", "1,1.5,2,4", "--normalise", "cosine,variance", "--folds", "10", "-o", "s.h5")
    assert "rows," in result.err and " s left" in result.err, result.describe()  # it takes seconds
    quiet = coterie("select", "p.csv", *FAST, *GRID, "-o", "s.h5", "--quiet")
    assert quiet.err == ""


# What is printed


@pytest.mark.parametrize("method, says", [
    ("stl", "2 points x 2 folds = 4 scores, in 4 rows (one fold at one C) from 8 fits: one with the same kernel for all tasks, and from there that of the method\n"),
    ("mtl", "2 points x 2 folds = 4 scores, in 4 rows (one fold at one C), a fit each\n"),
    ("uniform", "2 points x 2 folds = 4 scores, a fit each, in 2 rows (fits one after the other in one fold)\n"),
])
def test_counts_of_methods_without_lambda(coterie, method, says):
    coterie.write("d.csv", small_csv())
    out = coterie("select", "d.csv", "--method", method, "--C", "1,2", "--folds", "2", "-o", "s.h5").out
    assert says in out and "lambda_max" not in out


def test_names_with_blanks_are_told_apart(coterie):
    coterie.write("d.csv", small_csv(tasks=("ward one", "icu")))
    out = coterie("train", "d.csv", "--lambda", "inf", "-o", "m.h5").out
    assert '    "ward one" icu\n' in out


def test_validation_rows_of_numpy_have_labels_of_their_own(coterie):
    rows = np.array([row[:3] for row in small_rows()], dtype=float)
    for name, values in {"X": rows, "y": [row[3] for row in small_rows()], "t": [row[4] for row in small_rows()],
                         "V": rows[::2], "V-labels": [row[3] for row in small_rows()[::2]], "V-tasks": [row[4] for row in small_rows()[::2]],
                         "U": rows[::2]}.items():
        np.save(coterie.folder / f"{name}.npy", values)
    command = ["select", "X.npy", "--label", "y.npy", "--task", "t.npy", *FAST, "--C", "1", "--lambda", "0", "-o", "s.h5", "--validation"]
    assert "14 rows to judge on" in coterie(*command, "V.npy").out
    assert "--validation: U.npy: a .npy file holds features only. Put the labels beside it, as U-labels.npy." in coterie(*command, "U.npy", code=2).err
