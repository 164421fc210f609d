"""experiment: studies by plan, as users run them."""

import csv
import io
import json
import re
import signal
import subprocess
import time
import xml.etree.ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUICK = ROOT / "experiments" / "quick.toml"
TABLES = ["results.csv", "tasks.csv", "table.md", "table.tex", "statistics.md", "statistics.csv", "statistics.json", "differences.csv",
          "index.html"]

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
    result = coterie.interrupt("experiment", "plan.toml", "-o", "out", after="s left")
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


def test_the_published_protocol_is_read_in_several_ways(coterie):
    plan = QUICK.read_text()
    plan = plan[:plan.index("[[method]]")].replace("shares", 'protocol = "published"\nshares', 1)
    coterie.write("plan.toml", plan + '[[method]]\nname = "ours"\nC = "2^-4..2^6"\nlambda = "2^-6,1,2^6"\n')
    result = coterie("experiment", "plan.toml", "-o", "out", "--threads", 2)
    assert "flattered" in result.out and (coterie.folder / "out" / "readings.md").read_text() in result.out
    results, readings = rows_of(coterie.folder / "out" / "results.csv"), rows_of(coterie.folder / "out" / "readings.csv")
    assert len(results) == 6 and len(readings) == 6 * 6 and all(row["protocol"] == "published" and row["gap"] == "" for row in results)
    cell = lambda row: (row["share"], row["repetition"])
    score = {(cell(row), row["reading"]): float(row["score"]) for row in readings}
    assert all(score[cell(row), "script"] == float(row["score"]) for row in results)
    assert all(score[cell(row), "largest"] >= float(row["score"]) for row in readings)
    coterie("experiment", "plan.toml", "-o", "one", "--threads", 1)
    assert same_tables(coterie.folder / "out", coterie.folder / "one")
    assert (coterie.folder / "out" / "readings.csv").read_bytes() == (coterie.folder / "one" / "readings.csv").read_bytes()
    assert "Friedman" in coterie("stats", "out/readings.csv", "--method", "reading", "--block", "share", "--dataset", "repetition", "--control", "last").out


FIGURE = """[[figure]]
name = "two kernels"
repetition = 2
shares = 0.4
kernels = "gauss:1,8"
C = [0.1, 1]
lambda = "0,1,inf"
"""


def test_figures_show_weights_and_groups(coterie):
    planted(coterie, PLAN + FIGURE)
    coterie("experiment", "plan.toml", "-o", "out", "--only", "40 % #2")
    names = ["journal", "results.csv", "two-kernels-planted-40.csv", "two-kernels-planted-40.svg"]
    assert all((coterie.folder / "out" / name).exists() for name in names)
    weights = rows_of(coterie.folder / "out" / names[2])
    assert sorted(row["task"] for row in weights) == [f"t0{i}" for i in range(1, 7)]
    assert all(abs(float(row["gauss:1"]) + float(row["gauss:8"]) - 1) < 1e-9 for row in weights)
    by_group = {row["group"]: (row["gauss:1"], row["gauss:8"]) for row in weights}
    assert all(by_group[row["group"]] == (row["gauss:1"], row["gauss:8"]) for row in weights)
    picture = (coterie.folder / "out" / names[3]).read_text()
    assert all(row["task"] in picture for row in weights) and "lambda=" in picture
    # Alone, to the same bytes; and not in a trial.
    coterie("experiment", "plan.toml", "-o", "alone", "--only", "#2 two kernels", "--threads", 1)
    assert (coterie.folder / "alone" / names[3]).read_text() == picture
    coterie("experiment", "plan.toml", "-o", "quick", "--quick")
    assert not list((coterie.folder / "quick").glob("two-kernels*.svg"))


def test_every_method_meets_the_same_split(coterie):
    planted(coterie)
    coterie("experiment", "plan.toml", "-o", "all")
    coterie("experiment", "plan.toml", "-o", "some", "--only", "#2 cmtl")
    some = rows_of(coterie.folder / "some" / "results.csv")
    assert len(some) == 2
    assert all(row in rows_of(coterie.folder / "all" / "results.csv") for row in some)


def several(coterie, plan=PLAN):
    """Three data sets of one file, at two shares; `cmtl` only on two of them."""
    for name in ("<second> & co", "third"):
        plan = plan.replace('[[method]]', f'[[dataset]]\nname = "{name}"\nfiles = "p.csv"\n[[method]]', 1)
    planted(coterie, plan.replace('method = "cmtl"\n', 'method = "cmtl"\ndatasets = ["planted", "third"]\n'))


def test_statistics_are_those_of_the_table(coterie):
    several(coterie)
    coterie("experiment", "plan.toml", "-o", "out")
    out = coterie.folder / "out"
    blocks = json.loads((out / "statistics.json").read_text())["blocks"]
    assert [block["block"] for block in blocks] == ["20 %", "40 %", "all shares"]
    assert all(block["control"] == "ours" and block["methods"] == ["ours", "one kernel, chosen"] for block in blocks)
    assert all(block["notes"] == ["cmtl is not ranked: it is run on planted, third only."] for block in blocks)
    assert blocks[0]["repetitions"] == [[4]] * 3 and blocks[2]["repetitions"] == [[4, 4]] * 3
    # The same from results.csv by `coterie stats`.
    lines = (out / "results.csv").read_text().splitlines()
    coterie.write("ranked.csv", "\n".join(line for line in lines if ",cmtl," not in line) + "\n")
    again = coterie("stats", "ranked.csv", "--block", "share", "--repetition", "repetition", "--control", "ours", "--json").json["blocks"]
    for block, other in zip(blocks, again):
        assert all(block[key] == other[key] for key in ("average_ranks", "friedman", "holm", "nemenyi"))
    # A difference by hand, with its interval (Student, 3 degrees of freedom).
    for row in rows_of(out / "differences.csv"):
        own = {m: [float(r["score"]) for r in rows_of(out / "results.csv")
                   if (r["dataset"], r["share"], r["method"]) == (row["dataset"], row["share"], m)] for m in ("ours", row["method"])}
        gains = [a - b for a, b in zip(own["ours"], own[row["method"]])]
        mean = sum(gains) / 4
        error = ((1 / 4 + float(row["test_train_ratio"])) * sum((g - mean) ** 2 for g in gains) / 3) ** 0.5
        assert abs(float(row["gain"]) - mean) < 1e-12 and abs(float(row["high"]) - mean - 3.182446305 * error) < 1e-8
    assert len(rows_of(out / "differences.csv")) == 2 * (3 + 2)


def test_the_page_stands_alone(coterie):
    several(coterie)
    coterie("experiment", "plan.toml", "-o", "out")
    out = coterie.folder / "out"
    page = (out / "index.html").read_text()
    assert page.count("<svg") == 5 and "&lt;second&gt; &amp; co" in page and "<second>" not in page
    assert not re.search(r"<script|<link|<img|\ssrc=|\shref=|url\(|@import", page)
    assert "default-src 'none'" in page
    pictures = {"ranks-20.svg", "ranks-40.svg", "ranks-all.svg", "scores-20.svg", "scores-40.svg"}
    assert {path.name for path in out.glob("*.svg")} == pictures
    for name in pictures:
        text = (out / name).read_text()
        xml.etree.ElementTree.fromstring(text)
        assert text.strip() in page
    # One data set: no ranks, and no picture of earlier ones.
    coterie("experiment", "plan.toml", "-o", "out", "--only", "third 20 %")
    assert not (out / "ranks-20.svg").exists() and (out / "scores-20.svg").exists()
    assert "No ranks: they need two data sets" in (out / "statistics.md").read_text()


def test_tables_of_a_study_that_is_not_finished(coterie):
    several(coterie)
    coterie("experiment", "plan.toml", "-o", "out", "--only", "20 % #1")
    coterie("experiment", "plan.toml", "-o", "out", "--only", "planted 20 % #2")
    before = (coterie.folder / "out" / "journal").read_bytes()
    result = coterie("experiment", "plan.toml", "-o", "out", "--tables-only")
    assert "11 of 64 cells done" in result.out
    assert (coterie.folder / "out" / "journal").read_bytes() == before
    text = (coterie.folder / "out" / "statistics.md").read_text()
    assert "have: planted 2, <second> & co 1, third 1." in text
    assert "third is not ranked: there are no results yet of ours, one kernel, chosen." in text
    assert "Not finished: 11 of 64 cells are done." in (coterie.folder / "out" / "index.html").read_text()


def test_the_control_of_a_plan(coterie):
    several(coterie, 'control = "one kernel, chosen"\n' + PLAN)
    coterie("experiment", "plan.toml", "-o", "out", "--only", "20 % #1")
    assert json.loads((coterie.folder / "out" / "statistics.json").read_text())["blocks"][0]["control"] == "one kernel, chosen"


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
    (("[[dataset]]", "[[=dataset]]"), 4, "not TOML: a name is missing here."),
    (("seed = 3", "séed = 3"), 1, "not TOML: a character that is not ASCII stands outside of strings"),
    (("seed = 3", "seed = 3 # \x01"), 1, "not TOML: there is a control character."),
    (("[[dataset]]", "[?]"), 4, "not TOML: a name is missing here."),
    (("seed = 3", 'protocol = "fair"'), 1, "'protocol' is 'fair'; it must be 'clean' or 'published'."),
    (("seed = 3", 'control = "none"'), 1, "'control' is 'none'; it must be the name of a method of this plan."),
    (("repetitions = 4", "repetitions = 1000000"), 2, "'repetitions' is 1000000; it must be a whole number from 1 to 100000."),
    (("seed = 3", 'control = "\\u001b[31m"'), 1, "'control' is '\\x1b[31m'; it must be"),
    (('C = [0.1, 1, 10]', f"max_steps = {list(range(1, 102))}\ntolerance = {[10**-k for k in range(1, 10)] * 12}"), 19, "have more than 10000 combinations"),
    (("seed = 3", 'protocol = "published"'), 1, "'protocol' is 'published', under which 'norm' must be 1 (method 'ours')."),
    (("[0.2, 0.4]", "[0.2, 1.4]"), 3, "'shares' is 1.4; it must be a share between 0 and 1"),
    (("[0.2, 0.4]", "[0.2, 0.2]"), 3, "without repeated values"),
    (("[0.2, 0.4]", "[]"), 3, "'shares' is a list; it must be a share"),
    (("[[method]]", '[[figure]]\nname = "f"\nkernels = "linear gauss:1,4"\n[[method]]'), 9, "figure 'f': a figure is of the weights of two kernels"),
    (("[[method]]", '[[figure]]\nname = "f"\nmethod = "cmtl"\n[[method]]'), 9, "figure 'f': a figure is of the weights of two kernels"),
    (("[[method]]", '[[figure]]\nname = "f"\nrepetitions = 2\n[[method]]'), 10, "there is no key 'repetitions' here"),
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
    for path in ("none.toml", "/dev"):
        assert "the plan cannot be read" in coterie("experiment", path, "-o", "out", code=2).err
    assert "/dev/zero: has more than 16 MB, which no plan has." in coterie("experiment", "/dev/zero", "-o", "out", code=2).err
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


def test_messages_about_files_speak_of_keys_of_the_plan(coterie):
    planted(coterie)
    lines = (coterie.folder / "p.csv").read_text().splitlines()
    coterie.write("p.csv", "\n".join([lines[0], lines[1], "tall" + lines[2][lines[2].index(","):], *lines[3:]]) + "\n")
    result = coterie("experiment", "plan.toml", "-o", "out", code=2)
    assert "p.csv:3:1: column 'f1' holds 'tall', which is not a number. Correct it, or leave the column out with 'drop' f1." in result.err
