"""New tasks against a fitted model, through the program."""

import csv
import io
import zlib

import h5py
import numpy as np
import pytest

from support import csv_text, small_csv, small_rows

FAST = ["--kernels", "linear gauss:1,4"]


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def reseal(path):
    """Size and checksum made to match what is in the file now."""
    bytes_ = path.read_bytes()
    body = bytes_[512:]
    version = bytes_.split(b"\n", 2)[1].decode()
    head = f"coterie model\n{version}\nbytes {len(body)}\ncrc32 {zlib.crc32(body):08x}\n".encode()
    path.write_bytes(head.ljust(512, b"\0") + body)


def change(path, dataset, index, value):
    """Overwrites one number of a model file."""
    with h5py.File(path) as file:
        place = file[dataset].id.get_offset() + 8 * index
    bytes_ = bytearray(path.read_bytes())
    bytes_[place:place + 8] = np.array(value, "<f8").tobytes()
    path.write_bytes(bytes_)
    reseal(path)


def split(coterie, name, new, source="all.csv"):
    """Writes old.csv without the tasks `new` and NAME with them alone."""
    lines = (coterie.folder / source).read_text().splitlines(keepends=True)
    is_new = [line.rstrip().rsplit(",", 1)[1] in new for line in lines[1:]]
    coterie.write("old.csv", lines[0] + "".join(line for line, yes in zip(lines[1:], is_new) if not yes))
    coterie.write(name, lines[0] + "".join(line for line, yes in zip(lines[1:], is_new) if yes))


@pytest.fixture
def planted(coterie):
    """old.csv with six tasks and its model m.h5, new.csv with two more; some groups."""
    coterie("data", "generate", "--tasks", "8", "--groups", "2", "--samples", "40", "-o", "all.csv")
    split(coterie, "new.csv", {"t07", "t08"})
    coterie("train", "old.csv", "-o", "m.h5", "--lambda", "0.4max", "--scale", "standard", "--normalise", "variance",
            "--kernels", "linear@f1-f4 gauss:2@f5-f8 gauss:1")
    return coterie


@pytest.fixture
def trained(coterie):
    """d.csv with the tasks a and b and its model m.h5, c.csv with the task c."""
    coterie.write("d.csv", small_csv())
    coterie.write("c.csv", small_csv(tasks=("c",), seed=3))
    coterie("train", "d.csv", "-o", "m.h5", *FAST)
    return coterie


def test_extends_verifies_and_leaves_old_tasks_alone(planted):
    before = planted.files()
    result = planted("extend", "m.h5", "new.csv", "-o", "e.h5", "--json", "--tolerance", "1e-8")
    document = result.json
    assert document["status"] == "converged" and document["gap"] <= 1e-8
    assert document["base_tasks"] == 6 and [task["name"] for task in document["tasks"]] == ["t07", "t08"]
    assert sorted(sum(document["groups"], [])) == [f"t0{k}" for k in range(1, 9)]
    after = planted.files()
    assert set(after) == set(before) | {"e.h5"} and all(after[name] == before[name] for name in before)

    check = planted("verify", "e.h5", "new.csv", "--json").json
    assert check["holds"] and check["extension"] == 1 and check["objective"] == pytest.approx(document["objective"], rel=1e-9)
    base = planted("verify", "e.h5", "old.csv", "--json").json
    assert base["holds"] and "extension" not in base
    assert planted("predict", "e.h5", "old.csv").out == planted("predict", "m.h5", "old.csv").out
    with h5py.File(planted.folder / "m.h5") as old, h5py.File(planted.folder / "e.h5") as new:
        for name in ("theta", "bias", "C", "objective"):
            assert (new[f"tasks/{name}"][:6] == old[f"tasks/{name}"][:]).all()
        for name in ("nu", "primal", "dual"):  # the certificate of the extension stands behind that of the training
            before = old[f"certificates/{name}"][:]
            assert (new[f"certificates/{name}"][:len(before)] == before).all()
        assert (new["kernels/divisors"][:] == old["kernels/divisors"][:]).all()
        assert (new["features/shift"][:] == old["features/shift"][:]).all()
        theta = new["tasks/theta"][:]
        for group in document["groups"]:
            members = [int(name[1:]) - 1 for name in group]
            assert (theta[members] == theta[members[0]]).all()
    assert planted("evaluate", "e.h5", "all.csv", "--json").json["accuracy"] > 0.8
    inspected = planted("inspect", "e.h5")
    assert "extension 1: 2 tasks behind the 6 tasks" in inspected.out and "t07 t08" in " ".join(inspected.out.split()).replace(",", "")
    extensions = planted("inspect", "e.h5", "--json").json["extensions"]
    assert len(extensions) == 1 and extensions[0]["tasks"] == 2 and len(extensions[0]["nu"]) == 6 + 7


def test_numpy_recomputes_the_objective(trained):
    """The penalty and the SVM values of the file add up to the objective, and the dual stays below it."""
    document = trained("extend", "m.h5", "c.csv", "-o", "e.h5", "--json", "--tolerance", "1e-8").json
    with h5py.File(trained.folder / "e.h5") as f:
        theta, objective = f["tasks/theta"][:], f["tasks/objective"][:]
        penalty = sum(np.linalg.norm(theta[2] - theta[t]) for t in range(2))
        trained_with, extended_with = f["certificates/lambda"][:]
        assert objective[2] + extended_with * penalty == pytest.approx(document["objective"], rel=1e-12)
        assert extended_with == trained_with
        nu = f["certificates/nu"][f["certificates/nu_offsets"][1]:]
        assert len(nu) == 2 and (np.linalg.norm(nu, axis=1) <= extended_with * (1 + 1e-12)).all()
    assert document["dual"] <= document["objective"]


def test_extended_models_can_be_extended(planted):
    planted("extend", "m.h5", "new.csv", "-o", "e.h5")
    split(planted, "x.csv", {"t01"})
    text = (planted.folder / "x.csv").read_text().replace(",t01", ",t09")
    planted.write("x.csv", text)
    planted("extend", "e.h5", "x.csv", "-o", "ee.h5", "-C", "3", "--lambda", "0.5")
    split(planted, "new.csv", {"t07", "t08"})  # old.csv as it was
    for data, number in (("x.csv", 2), ("new.csv", 1), ("old.csv", None)):
        check = planted("verify", "ee.h5", data, "--json").json
        assert check["holds"] and check.get("extension") == number
    document = planted("inspect", "ee.h5", "--json").json
    assert [extension["lambda"] for extension in document["extensions"]][1] == 0.5
    assert document["tasks"][8]["C"] == 3


def test_a_copy_of_a_task_joins_its_group(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c")))
    coterie("train", "d.csv", "-o", "m.h5", "--tolerance", "1e-8", *FAST)
    copy = [row[:-1] + ["a2"] for row in small_rows(tasks=("a", "b", "c")) if row[-1] == "a"]
    coterie.write("a2.csv", csv_text(copy))
    groups = coterie("extend", "m.h5", "a2.csv", "-o", "e.h5", "--tolerance", "1e-8", "--json").json["groups"]
    assert any({"a", "a2"} <= set(group) for group in groups)
    both = [rows_of(coterie("predict", "e.h5", data).out) for data in ("d.csv", "a2.csv")]
    old = [float(row["score"]) for row in both[0] if row["task"] == "a"]
    assert [float(row["score"]) for row in both[1]] == pytest.approx(old, abs=1e-3)


def test_lambda_zero_is_a_separate_fit_and_inf_shares(trained):
    alone = trained("train", "c.csv", "-o", "alone.h5", "--tolerance", "1e-8", "--json", *FAST).json
    separate = trained("extend", "m.h5", "c.csv", "-o", "e.h5", "--lambda", "0", "--tolerance", "1e-8", "--json").json
    assert separate["objective"] == pytest.approx(alone["objective"], rel=1e-7)
    trained("train", "d.csv", "-o", "common.h5", "--lambda", "inf", *FAST)
    for strength in ([], ["--lambda", "1e5"]):
        shared = trained("extend", "common.h5", "c.csv", "-o", "e.h5", "--json", *strength).json
        assert shared["groups"] == [["a", "b", "c"]]
        assert trained("verify", "e.h5", "c.csv", "--json").json["holds"]
    result = trained("extend", "m.h5", "c.csv", "-o", "x.h5", "--lambda", "inf", code=2)
    assert "must have the kernel of tasks 'a' and 'b', but these have different ones" in result.err


def test_little_memory_changes_no_byte(coterie):
    coterie("data", "generate", "-o", "all.csv", "--tasks", "3", "--groups", "2", "--samples", "900", "--noise", "0.2")
    split(coterie, "new.csv", {"t02", "t03"})
    coterie("train", "old.csv", "-o", "m.h5")
    extend = ["extend", "m.h5", "new.csv", "--lambda", "1", "--threads", "1"]
    coterie(*extend, "-o", "much.h5")
    little = coterie(*extend, "-o", "little.h5", "--memory", "75MB")
    assert "note: the kernel values of all samples would take" in little.err
    files = coterie.files()
    assert files["much.h5"] == files["little.h5"]
    assert "and may use 1 MB" in coterie(*extend, "-o", "none.h5", "--memory", "1MB", code=2).err
    assert "--memory is 'much'" in coterie(*extend, "-o", "none.h5", "--memory", "much", code=2).err
    assert set(coterie.files()) == set(files)


def test_threads_and_runs_give_the_same_bytes(planted):
    for number, threads in enumerate(("1", "2", "0")):
        planted("extend", "m.h5", "new.csv", "-o", f"e{number}.h5", "--threads", threads)
    files = planted.files()
    assert files["e0.h5"] == files["e1.h5"] == files["e2.h5"]


@pytest.mark.parametrize("dataset, index, value, says", [
    ("tasks/theta", 6 * 3, 0.123, "do not add up to 1"),      # of a new task
    ("tasks/theta", 0, 0.123, "the objective is"),            # of an anchor
    ("tasks/bias", 7, 3.0, "the objective is"),
    ("certificates/nu", 15 * 3, 77.0, "leaves its ball"),     # behind the 15 pairs of the six tasks before
    ("certificates/lambda", 1, 0.001, "the objective is"),
    ("certificates/dual", 1, 1.0, "the dual value is"),
])
def test_a_false_proof_is_refused(planted, dataset, index, value, says):
    planted("extend", "m.h5", "new.csv", "-o", "e.h5")
    change(planted.folder / "e.h5", dataset, index, value)
    assert says in planted("verify", "e.h5", "new.csv", code=1).err


def test_links(trained):
    trained.write("l.csv", "task_a,task_b,weight\nc,b,2\n")
    trained("extend", "m.h5", "c.csv", "-o", "e.h5", "--links", "l.csv", "--lambda", "1e5")
    assert trained("verify", "e.h5", "c.csv", "--json").json["holds"]
    groups = trained("inspect", "e.h5", "--json").json["groups"]
    assert ["b", "c"] in groups
    trained.write("l.csv", "task_a,task_b\na,b\n")
    result = trained("extend", "m.h5", "c.csv", "-o", "x.h5", "--links", "l.csv", code=2)
    assert "l.csv: 'a' and 'b' are both tasks of the model" in result.err
    trained.write("l.csv", "task_a,task_b\na,z\n")
    assert "'z'" in trained("extend", "m.h5", "c.csv", "-o", "x.h5", "--links", "l.csv", code=2).err
    trained.write("g.csv", "task_a,task_b\na,b\n")
    trained("train", "d.csv", "-o", "g.h5", "--task-graph", "g.csv", *FAST)
    result = trained("extend", "g.h5", "c.csv", "-o", "e.h5")
    assert "note: the model was trained with a task graph; the new tasks are drawn to all of its tasks alike" in result.err


def test_new_tasks_get_probabilities(trained):
    """Calibrated as by hand: extensions without a fold score it. Labels, weights and older tasks stay as they are."""
    trained("train", "d.csv", "-o", "p.h5", "--calibrate", "platt", *FAST)
    trained("extend", "p.h5", "c.csv", "-o", "e.h5")
    result = trained("extend", "p.h5", "c.csv", "-o", "f.h5", "--calibrate", "platt", "--folds", "4")
    assert "scores only" not in result.err
    plain, full = (trained("inspect", name, "--json").json for name in ("e.h5", "f.h5"))
    for before, after in zip(plain["tasks"], full["tasks"]):
        new = before["calibration"]["kind"] == "none"
        assert new == (after["name"] == "c") and after["calibration"]["kind"] == "platt"
        assert new or before["calibration"] == after["calibration"]
        assert {k: v for k, v in before.items() if k != "calibration"} == {k: v for k, v in after.items() if k != "calibration"}
    assert full["tasks"][-1]["calibration"]["slope"] != 0
    trained("verify", "f.h5", "c.csv")
    shown = trained("predict", "f.h5", "c.csv").out
    assert "probability" in shown.splitlines()[0] and shown == trained("predict", "f.h5", "c.csv").out
    again = trained("extend", "p.h5", "c.csv", "-o", "g.h5", "--calibrate", "platt", "--folds", "4", "--threads", "2", "--json")
    assert trained("inspect", "g.h5", "--json").json["tasks"] == full["tasks"]
    assert "--calibrate is 'x'" in trained("extend", "p.h5", "c.csv", "-o", "x.h5", "--calibrate", "x", code=2).err
    assert not (trained.folder / "x.h5").exists()


def test_calibrated_tasks_keep_their_probabilities(trained):
    trained("train", "d.csv", "-o", "p.h5", "--calibrate", "platt", *FAST)
    result = trained("extend", "p.h5", "c.csv", "-o", "e.h5")
    assert "note: the model is calibrated; its own tasks keep their probabilities, the new ones have scores only." in result.err
    assert "calibrated" not in trained("extend", "m.h5", "c.csv", "-o", "x.h5").err
    assert "note" not in trained("extend", "p.h5", "c.csv", "-o", "e.h5", "--quiet").err
    old = trained("predict", "p.h5", "d.csv").out
    assert trained("predict", "e.h5", "d.csv").out == old and "probability" in old
    rows = rows_of(trained("predict", "e.h5", "c.csv").out)
    assert all(row["probability"] == "" and row["score"] for row in rows)
    plain = rows_of(trained("predict", "x.h5", "c.csv").out)
    assert rows == [{**row, "probability": ""} for row in plain]
    kinds = [task["calibration"]["kind"] for task in trained("inspect", "e.h5", "--json").json["tasks"]]
    assert kinds == ["platt", "platt", "none"]
    for data in ("c.csv", "d.csv"):
        assert trained("verify", "e.h5", data, "--json").json["holds"]
    assert trained("evaluate", "e.h5", "c.csv", "--json").json["rows_with_probability"] == 0
    assert trained("predict", "e.h5", "c.csv", "--probabilities").out == trained("predict", "e.h5", "c.csv").out


def test_programs_that_know_no_extensions_refuse_them(trained):
    """They would take the proof of the first tasks for one of all; those of version 5 and later know them."""
    trained("extend", "m.h5", "c.csv", "-o", "e.h5")
    heads = [(trained.folder / name).read_bytes()[:24] for name in ("m.h5", "e.h5")]
    assert heads == [b"coterie model\nversion 7\n"] * 2


def classes(n=24, seed=5, names=("u", "v", "w"), task=None):
    import random
    source = random.Random(seed)
    rows = []
    for i in range(n):
        k = i % len(names)
        rows.append([round(source.gauss(2 * (k == j), 0.7), 6) for j in range(3)] + [names[k]] + ([task] if task else []))
    return csv_text(rows, header=["f1", "f2", "f3", "label"] + (["task"] if task else []))


@pytest.mark.parametrize("casting", ["--one-vs-one", "--one-vs-rest"])
def test_classes(coterie, casting):
    coterie.write("d.csv", classes())
    coterie("train", "d.csv", "-o", "m.h5", casting, *FAST)
    coterie.write("s.csv", classes(seed=6, task="s"))
    document = coterie("extend", "m.h5", "s.csv", "-o", "e.h5", "--json").json
    assert [task["name"] for task in document["tasks"]] == [f"s:{pair}" for pair in
           (["u|v", "u|w", "v|w"] if casting == "--one-vs-one" else ["u|rest", "v|rest", "w|rest"])]
    assert coterie("verify", "e.h5", "s.csv", "--json").json["holds"]
    assert coterie("verify", "e.h5", "d.csv", "--json").json["holds"]
    old = [row["label"] for row in rows_of(coterie("predict", "m.h5", "d.csv").out)]
    assert [row["label"] for row in rows_of(coterie("predict", "e.h5", "d.csv").out)] == old
    assert coterie("evaluate", "e.h5", "s.csv", "--json").json["accuracy"] > 0.8
    coterie.write("z.csv", classes(names=("u", "v", "z"), task="s"))
    result = coterie("extend", "m.h5", "z.csv", "-o", "x.h5", code=2)
    assert "z.csv: class 'z' is not one of the model's, which are u, v, w. Leave its rows out, or train anew" in result.err
    result = coterie("predict", "m.h5", "d.csv", "--new-task", "common", code=2)
    assert f"--new-task is 'common'; it is for binary models, but this one is {casting[2:]}." in result.err


def test_bad_input_is_said(trained):
    def error(*arguments):
        before = trained.files()
        result = trained("extend", *arguments, code=2)
        assert trained.files() == before
        return result.err

    assert "c.csv: task 'c' has the labels no and si, but all tasks of the model have no and yes. Rename the labels." in \
        (trained.write("c.csv", small_csv(tasks=("c",), labels=("no", "si"))), error("m.h5", "c.csv", "-o", "x.h5"))[1]
    assert "d.csv: task 'a' is in the model already" in error("m.h5", "d.csv", "-o", "x.h5")
    trained.write("c.csv", small_csv(tasks=("c",), seed=3))
    assert "--output is missing" in error("m.h5", "c.csv")
    assert "m.h5 is also an input" in error("m.h5", "c.csv", "-o", "m.h5")
    assert "--lambda is '0.1max'; for new tasks it must be a number >= 0, or inf." in error("m.h5", "c.csv", "-o", "x.h5", "--lambda", "0.1max")
    assert "--C is '0'; it must be a number > 0." in error("m.h5", "c.csv", "-o", "x.h5", "-C", "0")
    assert "--tolerance is '-1'" in error("m.h5", "c.csv", "-o", "x.h5", "--tolerance", "-1")
    assert "f3" in error("m.h5", trained.write("n.csv", "f1,f2,label,task\n1,2,no,c\n2,1,yes,c\n").name, "-o", "x.h5")
    trained.write("n.csv", "\n".join(line.rsplit(",", 1)[0] for line in small_csv(tasks=("c",)).splitlines()) + "\n")
    assert "n.csv: there is no task column, but new tasks need names" in error("m.h5", "n.csv", "-o", "x.h5")
    one = "".join(line for line in small_csv(tasks=("c",)).splitlines(keepends=True) if ",no," not in line)
    trained.write("n.csv", one)
    assert "task 'c' has only one class" in error("m.h5", "n.csv", "-o", "x.h5")
    K = np.eye(28) + 0.1
    trained.write("K.csv", "".join(",".join(map(str, row)) + "\n" for row in K))
    trained("train", "d.csv", "-o", "k.h5", "--kernels", "linear precomputed:K.csv")
    assert "the model has the kernel precomputed:K.csv, whose values are known between its training rows only" in \
        error("k.h5", "c.csv", "-o", "x.h5")


def test_an_unreachable_tolerance_is_exit_3_and_still_proved(trained):
    result = trained("extend", "m.h5", "c.csv", "-o", "e.h5", "--max-steps", "1", "--tolerance", "1e-13", code=3)
    assert "warning: stopped after 1 outer step" in result.err and "Written to e.h5 with status 'step limit'." in result.err
    assert trained("verify", "e.h5", "c.csv", "--json").json["holds"]


def test_verify_names_the_part_that_the_data_misses(planted):
    planted("extend", "m.h5", "new.csv", "-o", "e.h5")
    lines = (planted.folder / "new.csv").read_text().splitlines(keepends=True)
    planted.write("fewer.csv", "".join(lines[:-1]))
    assert "fewer.csv: this is not the data of extension 1 of the model" in planted("verify", "e.h5", "fewer.csv", code=2).err


# Tasks without data


def test_new_tasks_are_scored_by_those_like_them(planted):
    scores = {}
    old = rows_of((planted.folder / "new.csv").read_text())
    groups = planted("inspect", "m.h5", "--json").json["groups"]
    for task in sum(groups, []):
        planted.write("as.csv", (planted.folder / "new.csv").read_text().replace(",t07", f",{task}").replace(",t08", f",{task}"))
        scores[task] = [float(row["score"]) for row in rows_of(planted("predict", "m.h5", "as.csv").out)]
    choices = {"common": sum(groups, []), "task:t02": next(group for group in groups if "t02" in group)}
    choices.update({f"group:{number}": group for number, group in enumerate(groups, 1)})
    for choice, members in choices.items():
        rows = rows_of(planted("predict", "m.h5", "new.csv", "--new-task", choice).out)
        assert [row["task"] for row in rows] == [row["task"] for row in old]
        assert [float(row["score"]) for row in rows] == pytest.approx(np.mean([scores[name] for name in members], axis=0), abs=1e-12)
        assert all((row["label"] == "1") == (float(row["score"]) > 0) for row in rows)
        document = planted("evaluate", "m.h5", "all.csv", "--new-task", choice, "--json").json
        assert document["n"] == 320 and [task["name"] for task in document["tasks"]][6:] == ["t07", "t08"]
        right = sum(row["label"] == truth["label"] for row, truth in zip(rows, old))
        assert sum(task["errors"] for task in document["tasks"][6:]) == len(old) - right
    known = planted("predict", "m.h5", "old.csv")
    assert planted("predict", "m.h5", "old.csv", "--new-task", "common").out == known.out  # nothing is unknown


def test_new_task_errors(trained):
    def error(*arguments):
        return trained("predict", "m.h5", "c.csv", *arguments, code=2).err

    assert "c.csv: row 1 has task 'c', which the model does not know. It knows: a, b. " in error()
    assert "--new-task" in error() and "coterie extend" in error()
    assert "--new-task is 'b'; it must be group:N, task:NAME or common." in error("--new-task", "b")
    assert "--new-task is 'group:0'; the model has the groups 1 to " in error("--new-task", "group:0")
    assert "--new-task is 'task:z'; the model does not know that task. It knows: a, b." in error("--new-task", "task:z")
    assert trained("evaluate", "m.h5", "c.csv", "--new-task", "common", "--json").json["n"] == 14
    trained.write("n.csv", "\n".join(line.rsplit(",", 1)[0] for line in small_csv(tasks=("c",)).splitlines()) + "\n")
    rows = rows_of(trained("predict", "m.h5", "n.csv", "--new-task", "common").out)
    assert {row["task"] for row in rows} == {"new"}
    bytes_ = (trained.folder / "m.h5").read_bytes()
    with h5py.File(trained.folder / "m.h5") as file:
        place = file["tasks/negative"].id.get_offset()
    trained.write("m.h5", bytes_[:place] + b"on" + bytes_[place + 2:])
    reseal(trained.folder / "m.h5")
    assert "task 'a' has the labels on and yes, task 'b' has no and yes: their scores have no mean" in error("--new-task", "common")
