"""experiment: studies by plan, as users run them."""

import csv
import io
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUICK = ROOT / "experiments" / "quick.toml"
TABLES = ["results.csv", "tasks.csv", "table.md", "table.tex"]

PLAN = """seed = 3
repetitions = 4
shares = [0.2, 0.4]
[[dataset]]
name = "planted"
files = "p.csv"
score = "auc"
[[method]]
name = "ours"
kernels = "linear gauss:1,4"
C = "2^-2..2^4"
lambda = "0,0.01max..1max:4,inf"
norm = [1, 2]
[[method]]
name = "one kernel, chosen"
method = "stl"
kernels = ["linear", "gauss:1", "gauss:4"]
class_weight = ["none", "balanced"]
C = [0.1, 1, 10]
[[method]]
name = "cmtl"
method = "cmtl"
parameters = { lambda = "2^-8..2^2", clusters = "1,2" }
"""


@pytest.fixture(autouse=True)
def data_beside_the_plan(monkeypatch):
    monkeypatch.delenv("COTERIE_DATA", raising=False)


def planted(coterie, plan=PLAN, samples=60):
    coterie("data", "generate", "-o", "p.csv", "--tasks", 6, "--groups", 2, "--samples", samples, "--seed", 7)
    coterie.write("plan.toml", plan)


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def same_tables(a, b):
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in TABLES)


def test_the_quick_plan_runs_and_its_tables_agree(coterie):
    result = coterie("experiment", QUICK, "-o", "out")
    results = rows_of(coterie.folder / "out" / "results.csv")
    assert len(results) == 2 * 3 * 5 and "30 of 30 cells done" in result.out
    assert all(row["status"] == "converged" and float(row["gap"]) < 1e-3 and row["measure"] == "accuracy" for row in results)
    assert all(row["train_rows"] == ("60" if row["share"] == "0.1" else "120") for row in results)
    assert min(float(row["score"]) for row in results) > 0.8
    tasks = rows_of(coterie.folder / "out" / "tasks.csv")
    assert len(tasks) == 30 * 5
    for row in results:
        own = [float(t["score"]) for t in tasks if all(t[key] == row[key] for key in ("dataset", "share", "repetition", "method"))]
        assert abs(sum(own) / 5 - float(row["score"])) < 1e-12
    assert len(rows_of(coterie.folder / "out" / "timings.csv")) == 30
    assert "seconds" not in (coterie.folder / "out" / "results.csv").read_text()
    # The Markdown table: a mean by hand, of the chosen kernel too.
    mean = sum(float(row["score"]) for row in results if row["share"] == "0.1" and row["method"] == "CMTL") / 3
    assert f" {100 * mean:.2f}" in (coterie.folder / "out" / "table.md").read_text()
    assert all(row["chosen"].startswith("kernels=gauss:") for row in results if row["method"] == "one Gaussian")


def test_threads_change_no_byte(coterie):
    planted(coterie)
    coterie("experiment", "plan.toml", "-o", "one", "--threads", 1)
    coterie("experiment", "plan.toml", "-o", "two", "--threads", 2)
    assert same_tables(coterie.folder / "one", coterie.folder / "two")


def test_killed_and_run_again_gives_the_same_bytes(coterie):
    planted(coterie, PLAN.replace("repetitions = 4", "repetitions = 20"), samples=100)
    command = ["experiment", "plan.toml", "--threads", "2"]
    coterie(*command, "-o", "whole")
    path = coterie.folder / "cut" / "journal"
    size = (coterie.folder / "whole" / "journal").stat().st_size
    for part in (0.2, 0.6):  # twice
        process = subprocess.Popen([coterie.path, *command, "-o", "cut"], cwd=coterie.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while not (path.exists() and path.stat().st_size >= part * size):
            assert process.poll() is None, "ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (coterie.folder / "cut" / "results.csv").exists()
    out = coterie(*command, "-o", "cut", "--json").json
    assert 0 < out["earlier"] < out["cells"] == out["done"] == 120
    assert same_tables(coterie.folder / "whole", coterie.folder / "cut")


def test_ctrl_c_keeps_the_cells(coterie):
    planted(coterie, PLAN.replace("repetitions = 4", "repetitions = 400"), samples=100)
    result = coterie.interrupt("experiment", "plan.toml", "-o", "out", after="cells,")
    assert result.code == 3 and "stopped" in result.err and "Go on with the same command" in result.err
    assert (coterie.folder / "out" / "journal").exists()


def test_a_longer_plan_keeps_what_is_done(coterie):
    planted(coterie)
    coterie("experiment", "plan.toml", "-o", "out")
    first = rows_of(coterie.folder / "out" / "results.csv")
    coterie.write("plan.toml", PLAN.replace("repetitions = 4", "repetitions = 5").replace('name = "cmtl"', 'name = "CMTL"'))
    out = coterie("experiment", "plan.toml", "-o", "out", "--json").json
    assert (out["earlier"], out["cells"]) == (24, 30)
    again = [row for row in rows_of(coterie.folder / "out" / "results.csv") if row["repetition"] != "5"]
    assert [row["score"] for row in again] == [row["score"] for row in first]
    # A different grid is another cell, and so are other data.
    coterie.write("plan.toml", PLAN.replace("C = [0.1, 1, 10]", "C = [0.1, 1]"))
    result = coterie("experiment", "plan.toml", "-o", "out")
    assert "16 by earlier runs" in result.out and "14 cell(s) that this run does not ask for" in result.err
    coterie("data", "generate", "-o", "p.csv", "--tasks", 6, "--groups", 2, "--samples", 60, "--seed", 8)
    assert coterie("experiment", "plan.toml", "-o", "out", "--json").json["earlier"] == 0


def test_every_method_meets_the_same_split(coterie):
    planted(coterie)
    coterie("experiment", "plan.toml", "-o", "all")
    coterie("experiment", "plan.toml", "-o", "some", "--only", "#2 cmtl")
    some = rows_of(coterie.folder / "some" / "results.csv")
    assert len(some) == 2
    assert all(row in rows_of(coterie.folder / "all" / "results.csv") for row in some)


def test_dry_run_and_quick(coterie):
    planted(coterie)
    names = coterie("experiment", "plan.toml", "--dry-run", "--json").json["cells"]
    assert len(names) == 24 and names[0] == "planted 20 % #1 ours"
    assert len(coterie("experiment", "plan.toml", "--dry-run", "--quick", "--json").json["cells"]) == 6
    coterie.write("quick.toml", PLAN + '[quick]\nshares = 0.4\nmethods = "cmtl"\nrepetitions = 2\nthin = 2\n')
    out = coterie("experiment", "quick.toml", "--quick", "-o", "out", "--json").json
    assert out["cells"] == 2 and all(row["method"] == "cmtl" and row["share"] == 0.4 for row in out["results"])
    assert rows_of(coterie.folder / "out" / "results.csv")[0]["fits"] == "4"


def test_a_method_may_have_other_lists_on_some_data_sets(coterie):
    other = '[[dataset]]\nname = "again"\nfiles = "p.csv"\n'
    plan = PLAN.replace('[[method]]\nname = "ours"', other + '[[method]]\nname = "ours"')
    plan = plan.replace('method = "cmtl"\n', 'method = "cmtl"\ndatasets = "planted"\n')
    planted(coterie, plan + '[[method]]\nname = "cmtl"\nmethod = "cmtl"\ndatasets = ["again"]\nparameters = "lambda=1 clusters=1"\n')
    out = coterie("experiment", "plan.toml", "-o", "out", "--only", "20 % #1", "--json").json
    assert out["cells"] == 6
    assert {(row["dataset"], row["chosen"] == "lambda=1 clusters=1") for row in out["results"] if row["method"] == "cmtl"} == {("planted", False), ("again", True)}
    table = (coterie.folder / "out" / "table.md").read_text()
    assert table.count("cmtl") == 1


@pytest.mark.parametrize("change, line, message", [
    (("seed = 3", "seed = -1"), 1, "'seed' is -1; it must be a whole number >= 0."),
    (("seed = 3", "sead = 3"), 1, "there is no key 'sead' here; the keys are seed, repetitions,"),
    (("seed = 3", "seed = "), 1, "not TOML"),
    (("seed = 3", 'protocol = "fair"'), 1, "'protocol' is 'fair'; it must be 'clean' or 'published'."),
    (("[0.2, 0.4]", "[0.2, 1.4]"), 3, "'shares' is 1.4; it must be a share between 0 and 1"),
    (("[0.2, 0.4]", "[0.2, 0.2]"), 3, "without repeated values"),
    (("[0.2, 0.4]", "[]"), 3, "'shares' is a list; it must be a share"),
    (('score = "auc"', 'score = "acc"'), 7, "dataset 'planted': 'score' is 'acc'; it must be 'accuracy', 'balanced', 'auc' or 'logloss'."),
    (('score = "auc"', 'casting = "pairs"'), 7, "'casting' is 'pairs'; it must be 'binary', 'one-vs-one' or 'one-vs-rest'."),
    (('score = "auc"', 'pairs = [["a", "b"]]'), 7, "left out unless 'casting' is 'one-vs-one'"),
    (('score = "auc"', "per_class = 2"), 7, "'per_class' is 2; it must be a whole number >= 3."),
    (('score = "auc"', "equal_classes = 1"), 7, "'equal_classes' is 1; it must be true or false."),
    (('files = "p.csv"\n', ""), 4, "'files' is missing"),
    (('C = "2^-2..2^4"', 'C = "0,1"'), 11, "method 'ours': 'C' has 0; every C must be a number > 0."),
    (('C = "2^-2..2^4"', "C = true"), 11, "'C' is true; it must be a number, a text"),
    (('kernels = "linear gauss:1,4"', 'kernels = "liner"'), 10, "liner"),
    (('"none", "balanced"', '"none", "even"'), 18, "method 'one kernel, chosen': 'class_weight' is 'even'; it must be 'none' or 'balanced'."),
    (('method = "stl"', 'method = "slt"'), 16, "slt"),
    (('method = "stl"', 'method = "stl"\nlambda = 1'), 17, "'lambda' has no meaning for the method stl."),
    (('method = "cmtl"', 'method = "cmtl"\nkernels = "linear"'), 23, "'kernels' has no meaning for the method cmtl without map"),
    (('method = "cmtl"', 'method = "cmtl"\npreset = "best"'), 23, "'preset' has no meaning for the method cmtl"),
    (("clusters = ", "custers = "), 23, "custers"),
    (('name = "cmtl"', 'name = "ours"'), 20, "there are two methods 'ours'"),
    (('method = "cmtl"', 'method = "cmtl"\ndatasets = "other"'), 23, "'datasets' is 'other'; it must be"),
    (('method = "cmtl"', 'method = "cmtl"\nsolver = "published"'), 23, "'solver' has no meaning"),
    (('name = "ours"', 'name = "ours"\nsolver = "published"'), 9, "it needs 'newton'"),
    (('name = "ours"', 'name = "ours"\nsearch = "fine"'), 10, "'search' is 'fine'; it must be 'grid' or 'coarse'."),
])
def test_bad_plans(coterie, change, line, message):
    assert change[0] in PLAN
    planted(coterie, PLAN.replace(*change, 1))
    result = coterie("experiment", "plan.toml", "-o", "out", code=2)
    assert f"error: plan.toml:{line}:" in result.err and message in result.err, result.err
    assert not (coterie.folder / "out").exists()


def test_other_bad_input(coterie):
    planted(coterie)
    assert "the plan cannot be read" in coterie("experiment", "none.toml", "-o", "out", code=2).err
    assert "--output is missing" in coterie("experiment", "plan.toml", code=2).err
    assert "which no cell has in its name" in coterie("experiment", "plan.toml", "-o", "out", "--only", "nothing", code=2).err
    assert "cannot be made a folder" in coterie("experiment", "plan.toml", "-o", "p.csv", code=2).err
    coterie.write("plan.toml", PLAN.replace("p.csv", "gone.csv"))
    result = coterie("experiment", "plan.toml", "-o", "out", code=2)
    assert "data set 'planted': there is no file gone.csv" in result.err and "COTERIE_DATA" in result.err
    coterie.write("plan.toml", PLAN.replace('score = "auc"', 'casting = "one-vs-one"\npairs = [["1", "7"]]'))
    assert "'pairs' has the class '7'" in coterie("experiment", "plan.toml", "-o", "out", code=2).err


def test_a_damaged_journal_is_refused(coterie):
    planted(coterie)
    coterie("experiment", "plan.toml", "-o", "out")
    path = coterie.folder / "out" / "journal"
    whole = path.read_bytes()
    path.write_bytes(whole[:700] + b"x" + whole[701:])
    assert "the journal is damaged" in coterie("experiment", "plan.toml", "-o", "out", code=2).err
    path.write_bytes(whole[:-10])  # cut off: the last cell is run again
    assert coterie("experiment", "plan.toml", "-o", "out", "--json").json["earlier"] == 23
