"""The program in normal use, end to end."""

import csv
import gzip
import hashlib
import io
import json
import math
import os
import re
import subprocess
import zlib

import h5py
import numpy as np
import pytest

from support import csv_text, gzipped, libsvm_text, small_csv, small_rows

COMMANDS = [["train"], ["select"], ["path"], ["predict"], ["evaluate"], ["extend"], ["inspect"], ["page"], ["stats"], ["verify"], ["demo"], ["data"], ["data", "list"], ["data", "describe"],
            ["data", "generate"], ["data", "convert"], ["data", "fetch"]]
FAST = ["--kernels", "linear gauss:1,4"]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def train(coterie, *arguments, model="m.h5", code=0):
    return coterie("train", *arguments, "-o", model, "--json", code=code).json


@pytest.fixture
def trained(coterie):
    """The folder holds d.csv and its model m.h5."""
    coterie.write("d.csv", small_csv())
    train(coterie, "d.csv", *FAST)
    return coterie


# Help and version


def test_help_lists_every_command(coterie):
    text = coterie("--help").out
    for name in ("train", "select", "path", "predict", "evaluate", "extend", "inspect", "page", "verify", "data", "demo"):
        assert f"\n  {name} " in text, text


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(coterie, command):
    result = coterie(*command, "--help")
    assert "Example:\n" in result.out and "coterie " in result.out.split("Example:\n")[1]
    assert result.err == ""


def test_version(coterie):
    name, number = coterie("--version").out.split()
    assert name == "coterie" and len(number.split(".")) == 3 and all(part.isdigit() for part in number.split("."))


# Formats


def test_formats_give_the_same_objective(coterie):
    rows = small_rows()
    coterie.write("d.csv", csv_text(rows))
    coterie.write("d.tsv", csv_text(rows, "\t"))
    coterie.write("d.csv.gz", gzipped(csv_text(rows)))
    coterie.write("disguised.csv", gzipped(csv_text(rows)))
    for task in ("a", "b"):
        coterie.write(f"{task}.svm", libsvm_text([row for row in rows if row[-1] == task]))
    documents = [train(coterie, *files, *FAST) for files in
                 (["d.csv"], ["d.tsv"], ["d.csv.gz"], ["disguised.csv"], ["a.svm", "b.svm"], ["a.svm:a", "b.svm:b"])]
    assert documents[0]["objective"] > 1
    for document in documents[1:]:
        assert document["objective"] == documents[0]["objective"]
        assert [task["name"] for task in document["tasks"]] == ["a", "b"]


def test_columns_can_be_named_dropped_and_chosen(coterie):
    rows = small_rows()
    coterie.write("d.csv", csv_text([row[:2] + row[3:] for row in rows], header=["f1", "f2", "label", "task"]))
    coterie.write("e.csv", csv_text(rows, header=["f1", "f2", "noise", "class", "site"]))
    plain = train(coterie, "d.csv", *FAST)
    named = ["e.csv", "--label", "class", "--task", "site", *FAST]
    assert train(coterie, *named, "--drop", "noise")["objective"] == plain["objective"]
    assert train(coterie, *named, "--features", "f1,f2")["objective"] == plain["objective"]
    assert train(coterie, *named)["objective"] != plain["objective"]


# train


def test_train_json_holds_what_is_promised(coterie):
    coterie.write("d.csv", small_csv())
    result = coterie("train", "d.csv", "-o", "m.h5", "--json", "-C", "2", "--lambda", "0.3", *FAST)
    document = result.json
    promised = {"status", "objective", "dual", "gap", "outer_steps", "seconds", "phases", "C", "lambda", "norm", "solver", "kernels",
                "tasks", "groups"}
    assert promised <= document.keys()
    assert set(document["phases"]) == {"read", "gram", "fit", "write"}
    assert document["status"] == "converged" and document["solver"] == "newton"
    assert (document["C"], document["lambda"], document["norm"]) == (2, 0.3, 1)
    assert document["kernels"] == ["linear", "gauss:1", "gauss:4"]
    assert 0 <= document["gap"] <= 1e-4
    assert document["gap"] == pytest.approx((document["objective"] - document["dual"]) / max(1, document["objective"]), abs=1e-12)
    assert sum(document["phases"].values()) <= document["seconds"] * 1.01 + 1e-3
    for task in document["tasks"]:
        assert {"name", "n", "theta", "bias", "support_vectors", "objective", "group"} <= task.keys()
        assert task["n"] == 14 and 1 <= task["support_vectors"] <= 14
        assert len(task["theta"]) == 3 and min(task["theta"]) >= 0 and sum(task["theta"]) == pytest.approx(1, abs=1e-9)
    assert sorted(name for group in document["groups"] for name in group) == ["a", "b"]
    for number, group in enumerate(document["groups"], 1):
        assert {task["name"] for task in document["tasks"] if task["group"] == number} == set(group)
    penalty = 0.3 * math.dist(*(task["theta"] for task in document["tasks"]))
    assert sum(task["objective"] for task in document["tasks"]) + penalty == pytest.approx(document["objective"], rel=1e-9)


def test_progress_goes_to_standard_error_and_quiet_silences_it(coterie):
    coterie.write("d.csv", small_csv())
    noisy = coterie("train", "d.csv", "-o", "m.h5", "--lambda", "inf", *FAST)
    assert "fitting" in noisy.err and "fitting" not in noisy.out
    assert "certified within" in noisy.out and "model: m.h5" in noisy.out and "group 1" in noisy.out and " a b" in noisy.out
    quiet = coterie("train", "d.csv", "-o", "m.h5", "--quiet", *FAST)
    assert quiet.err == "" and "certified within" in quiet.out


def test_progress_on_a_terminal_is_one_line_that_is_cleared(coterie):
    coterie.write("d.csv", small_csv())
    terminal, end = os.openpty()
    done = subprocess.run([coterie.path, "train", "d.csv", "-o", "m.h5", "--json", *FAST], cwd=coterie.folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=end, timeout=120)
    os.close(end)
    shown = os.read(terminal, 100000).decode()
    os.close(terminal)
    assert done.returncode == 0 and json.loads(done.stdout)["status"] == "converged"
    assert "\r\x1b[Kfitting" in shown and shown.endswith("\r\x1b[K") and "\n" not in shown, repr(shown)


def test_same_bytes_for_every_run_and_number_of_threads(coterie):
    coterie("data", "generate", "-o", "p.csv", "--tasks", "5", "--groups", "2", "--samples", "16")
    before = coterie.files()
    sums = set()
    for number, threads in enumerate(("1", "2", "1", "0")):
        train(coterie, "p.csv", "--threads", threads, "--tolerance", "1e-6", model=f"m{number}.h5")
        sums.add(sha256(coterie.folder / f"m{number}.h5"))
    assert len(sums) == 1
    train(coterie, "p.csv", "-C", "3", "--tolerance", "1e-6", model="m0.h5")  # overwrites
    assert sha256(coterie.folder / "m0.h5") not in sums
    assert set(coterie.files()) == set(before) | {"m0.h5", "m1.h5", "m2.h5", "m3.h5"}


def test_predictions_never_overwrite_the_model(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c")))
    train(coterie, "d.csv", *FAST, model="m.h5")
    before = sha256(coterie.folder / "m.h5")
    run = coterie("predict", "m.h5", "d.csv", "-o", "m.h5", code=2)
    assert "is also an input" in run.err
    assert sha256(coterie.folder / "m.h5") == before


def test_little_memory_changes_no_byte(coterie):
    coterie("data", "generate", "-o", "p.csv", "--tasks", "2", "--groups", "2", "--samples", "900", "--noise", "0.2")
    common = ["p.csv", "--lambda", "0.3max", "--threads", "1"]
    train(coterie, *common, model="much.h5")
    little = coterie("train", *common, "--memory", "75MB", "-o", "little.h5")
    assert "note: the kernel values of all samples would take" in little.err
    assert sha256(coterie.folder / "much.h5") == sha256(coterie.folder / "little.h5")


def test_lambda_zero_infinite_and_relative(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c")))
    common = ["d.csv", "--tolerance", "1e-8", *FAST]
    separate, shared = train(coterie, *common, "--lambda", "0"), train(coterie, *common, "--lambda", "inf")
    relative, fused = train(coterie, *common, "--lambda", "0.2max"), train(coterie, *common, "--lambda", "1.01max")
    single = []
    for task in "abc":
        coterie.write(f"{task}.csv", csv_text([row for row in small_rows(tasks=("a", "b", "c")) if row[-1] == task]))
        single.append(train(coterie, f"{task}.csv", "--tolerance", "1e-8", *FAST)["objective"])
    assert separate["objective"] == pytest.approx(sum(single), rel=1e-7)
    assert separate["lambda"] == 0 and shared["lambda"] == "inf"
    assert shared["groups"] == [["a", "b", "c"]] == fused["groups"]
    assert shared["tasks"][0]["theta"] == shared["tasks"][2]["theta"]
    assert fused["objective"] == pytest.approx(shared["objective"], rel=1e-7)
    assert relative["lambda"] == pytest.approx(0.2 * relative["lambda_max"], rel=1e-12)
    assert separate["dual"] < relative["objective"] and relative["dual"] < shared["objective"]


def test_norms(coterie):
    coterie.write("d.csv", small_csv())
    thetas = {norm: np.array(train(coterie, "d.csv", "--norm", norm, *FAST)["tasks"][0]["theta"]) for norm in ("1", "2", "inf")}
    assert thetas["1"].sum() == pytest.approx(1, abs=1e-9)
    assert np.linalg.norm(thetas["2"]) == pytest.approx(1, abs=1e-6)
    assert (thetas["inf"] == 1).all()


@pytest.mark.parametrize("norm", ["20", "1000", "1e6", "1e300"])
def test_large_norms(coterie, norm):
    coterie.write("d.csv", small_csv())
    document = coterie("train", "d.csv", "-o", "m.h5", "--json", "--norm", norm, "--time-limit", "10", timeout=20).json
    for task in document["tasks"]:
        assert np.linalg.norm(task["theta"], float(norm)) == pytest.approx(1, abs=1e-6)
    coterie("verify", "m.h5", "d.csv")


def test_groups_are_numbered_without_gaps(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c", "d", "e", "f")))
    coterie.write("g.csv", "task_a,task_b\nb,d\nc,e\ne,f\n")
    document = train(coterie, "d.csv", "--task-graph", "g.csv", "--lambda", "inf", *FAST)
    assert document["groups"] == [["c", "e", "f"], ["b", "d"], ["a"]]
    assert [task["group"] for task in document["tasks"]] == [3, 2, 1, 2, 1, 1]
    text = coterie("inspect", "m.h5").out
    assert re.findall(r"group (\d), (\d) tasks", text) == [("1", "3"), ("2", "2")]
    coterie.write("new.csv", small_csv(tasks=("new",)))
    by_number, by_name, other = (coterie("predict", "m.h5", "new.csv", "--new-task", name).out for name in ("group:1", "task:e", "group:2"))
    assert by_number == by_name != other


def test_task_graph_draws_only_its_pairs_together(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c")))
    coterie.write("g.csv", "task_a,task_b,weight\nc,a,2\na,b,0\n")
    document = train(coterie, "d.csv", "--task-graph", "g.csv", "--lambda", "inf", *FAST)
    assert document["groups"] == [["a", "c"], ["b"]]
    edges = coterie("inspect", "m.h5", "--json").json["graph"]
    assert edges == [[0, 2, 2.0]]
    coterie("verify", "m.h5", "d.csv")
    half = train(coterie, "d.csv", "--task-graph", "g.csv", "--lambda", "0.1", "--tolerance", "1e-8", *FAST)
    coterie.write("g.csv", "task_a,task_b\na,c\n")
    whole = train(coterie, "d.csv", "--task-graph", "g.csv", "--lambda", "0.2", "--tolerance", "1e-8", *FAST)
    assert half["objective"] == pytest.approx(whole["objective"], rel=1e-7)


def test_task_C_gives_single_tasks_their_own(coterie):
    coterie.write("d.csv", small_csv())
    coterie.write("c.csv", "task,C\nb,5\n")
    mixed = train(coterie, "d.csv", "--task-C", "c.csv", "--lambda", "0", "--tolerance", "1e-8", *FAST)
    at_1, at_5 = (train(coterie, "d.csv", "-C", C, "--lambda", "0", "--tolerance", "1e-8", *FAST) for C in ("1", "5"))
    assert mixed["tasks"][0]["objective"] == pytest.approx(at_1["tasks"][0]["objective"], rel=1e-6)
    assert mixed["tasks"][1]["objective"] == pytest.approx(at_5["tasks"][1]["objective"], rel=1e-6)
    assert at_1["tasks"][1]["objective"] < at_5["tasks"][1]["objective"]


def test_scaling_is_learnt_in_training_and_stored(coterie):
    rows = small_rows()
    stretched = [[row[0] * 1000 + 5, row[1] / 100, *row[2:]] for row in rows]
    coterie.write("d.csv", csv_text(rows))
    coterie.write("e.csv", csv_text(stretched))
    for scale in ("standard", "minmax"):
        plain = train(coterie, "d.csv", "--scale", scale, *FAST)
        assert train(coterie, "e.csv", "--scale", scale, *FAST)["objective"] == pytest.approx(plain["objective"], rel=1e-4)
        scaling = coterie("inspect", "m.h5", "--json").json["scaling"]
        assert scaling["kind"] == scale
        X = np.array([row[:3] for row in stretched])
        shift = X.mean(0) if scale == "standard" else X.min(0)
        factor = 1 / (X.std(0) if scale == "standard" else np.ptp(X, axis=0))
        assert scaling["shift"] == pytest.approx(shift.tolist(), rel=1e-9)
        assert scaling["factor"] == pytest.approx(factor.tolist(), rel=1e-9)
        one_row = coterie.write("one.csv", csv_text(stretched[:1]))
        alone = rows_of(coterie("predict", "m.h5", one_row).out)[0]
        among = rows_of(coterie("predict", "m.h5", "e.csv").out)[0]
        assert float(alone["score"]) == pytest.approx(float(among["score"]), rel=1e-9)


def test_published_solver_says_that_it_did_not_converge(coterie):
    coterie("data", "generate", "-o", "p.csv", "--tasks", "4", "--groups", "2", "--samples", "20")
    arguments = ["train", "p.csv", "-o", "m.h5", "--lambda", "0.1", "--solver", "published", "--json"]
    result = coterie(*arguments, "--max-steps", "30", code=3)
    assert result.json["gap"] > 0.01 and result.json["status"] != "converged" and result.json["outer_steps"] == 30
    assert "warning: " in result.err and "published algorithm does not converge" in result.err and "--solver newton" in result.err
    assert f"relative gap {result.json['gap']:.1e}" in result.err and "Written to m.h5" in result.err
    assert coterie("inspect", "m.h5", "--json").json["gap"] == result.json["gap"]
    longer = coterie(*arguments, "--max-steps", "60", code=3)
    assert longer.json["gap"] > 0.01
    newton = train(coterie, "p.csv", "--lambda", "0.1")
    assert newton["gap"] <= 1e-4 and newton["objective"] < longer.json["objective"]


# Stopping


def test_time_limit_keeps_the_model_reached(coterie):
    coterie.write("d.csv", small_csv())
    before = coterie.files()
    result = coterie("train", "d.csv", "-o", "m.h5", "--lambda", "0.1", "--time-limit", "0.0001", "--json", code=3)
    assert result.json["status"] == "stopped"
    assert "stopped at the time limit" in result.err and "Written to m.h5 with status 'stopped'" in result.err
    assert set(coterie.files()) == set(before) | {"m.h5"}
    assert coterie("inspect", "m.h5", "--json").json["status"] == "stopped"
    coterie("verify", "m.h5", "d.csv")  # its certificate states the large gap truthfully
    assert len(rows_of(coterie("predict", "m.h5", "d.csv").out)) == 28


# The published algorithm goes round for ever: a fit as long as one likes.
ENDLESS = ["--lambda", "0.1", "--solver", "published", "--max-steps", "1000000000"]


@pytest.mark.parametrize("name", ["new", "overwritten"])
def test_interrupt_keeps_the_model_reached(coterie, name):
    coterie("data", "generate", "-o", "p.csv", "--tasks", "4", "--groups", "2", "--samples", "20")
    if name == "overwritten":
        coterie.write("m.h5", "old")
    before = set(coterie.files())
    result = coterie.interrupt("train", "p.csv", "-o", "m.h5", *ENDLESS, "--json", after="fitting: step ")
    assert result.code == 3, result.describe()
    assert result.json["status"] == "stopped" and result.json["outer_steps"] > 1
    assert "stopping after this step" in result.err
    assert "warning: stopped by a signal" in result.err and "kept" in result.err and "Written to m.h5" in result.err
    assert set(coterie.files()) == before | {"m.h5"}
    stored = coterie("inspect", "m.h5", "--json").json
    assert stored["status"] == "stopped" and stored["objective"] == result.json["objective"]
    coterie("verify", "m.h5", "p.csv")


def test_interrupt_before_the_fit_says_that_nothing_was_written(coterie):
    os.mkfifo(coterie.folder / "pipe.csv")  # nobody writes into it: the program waits for data
    result = coterie.interrupt("train", "pipe.csv", "-o", "m.h5", after="reading pipe.csv")
    assert result.code == 1, result.describe()
    assert "stopped; nothing was written" in result.err and result.out == ""
    assert set(coterie.files()) == {"pipe.csv"}


# predict and evaluate


def test_predictions(trained):
    printed = trained("predict", "m.h5", "d.csv").out
    rows = rows_of(printed)
    assert list(rows[0]) == ["row", "task", "label", "score"] and len(rows) == 28
    assert [int(row["row"]) for row in rows] == list(range(1, 29))
    for row in rows:
        assert row["label"] == ("yes" if float(row["score"]) > 0 else "no")
    written = trained("predict", "m.h5", "d.csv", "-o", "out.csv")
    assert (trained.folder / "out.csv").read_text() == printed and "28 predictions in out.csv" in written.out
    document = trained("predict", "m.h5", "d.csv", "--json").json
    assert [str(row["score"]) for row in document["predictions"]] == [str(float(row["score"])) for row in rows]
    assert trained("predict", "m.h5", "d.csv", "--threads", "1").out == trained("predict", "m.h5", "d.csv", "--threads", "2").out


def test_predictions_need_no_labels_and_no_order_of_columns(trained):
    rows = small_rows()
    plain = trained("predict", "m.h5", "d.csv").out
    trained.write("e.csv", csv_text([[row[4], "x", row[2], row[0], row[1]] for row in rows], header=["task", "other", "f3", "f1", "f2"]))
    assert trained("predict", "m.h5", "e.csv").out == plain


def test_scores_follow_their_definition(trained):
    """docs/maths.md (47), from the numbers of `inspect` alone."""
    model = trained("inspect", "m.h5", "--json").json
    rows = small_rows()
    Z = np.array(model["support_vectors"])
    said = rows_of(trained("predict", "m.h5", "d.csv").out)
    for row, line in zip(rows, said):
        task = next(task for task in model["tasks"] if task["name"] == row[-1])
        x, S = np.array(row[:3]), Z[task["support"]]
        distance = ((S - x) ** 2).sum(1)
        k = [S @ x / np.linalg.norm(x) / np.linalg.norm(S, axis=1), np.exp(-distance / 2), np.exp(-distance / 32)]
        beta = np.array(task["alpha"]) * np.array(task["y"])
        f = sum(theta * (beta @ values) for theta, values in zip(task["theta"], k)) + task["bias"]
        assert float(line["score"]) == pytest.approx(f, abs=1e-9)


def test_evaluation_counts_what_predict_says(trained):
    said = rows_of(trained("predict", "m.h5", "d.csv").out)
    errors = sum(row[-2] != line["label"] for row, line in zip(small_rows(), said))
    document = trained("evaluate", "m.h5", "d.csv", "--json").json
    assert document["n"] == 28 and document["errors"] == errors
    assert document["accuracy"] == pytest.approx(1 - errors / 28)
    assert [task["n"] for task in document["tasks"]] == [14, 14]
    assert sum(task["errors"] for task in document["tasks"]) == errors
    assert f"{28 - errors} of 28 rows right" in trained("evaluate", "m.h5", "d.csv").out


# inspect and verify


def test_inspect_shows_the_model(trained):
    document = trained("inspect", "m.h5", "--json").json
    for field in ("status", "objective", "dual", "gap", "C", "lambda", "kernels", "tasks", "groups", "settings", "features", "scaling",
                  "fingerprint", "divisors", "nu", "graph", "support_vectors", "training_rows"):
        assert field in document
    assert document["features"] == ["f1", "f2", "f3"] and document["training_rows"] == 28
    text = trained("inspect", "m.h5").out
    for part in ("settings", "kernels", "tasks", "certificate", "gauss:4", document["fingerprint"]):
        assert part in text


def test_other_languages_can_read_the_model(trained):
    document = trained("inspect", "m.h5", "--json").json
    with h5py.File(trained.folder / "m.h5") as file:
        assert list(file["tasks/name"].asstr()[:]) == ["a", "b"]
        assert file["tasks/theta"][:].tolist() == [task["theta"] for task in document["tasks"]]
        assert file["certificates/primal"][0] == document["objective"]


def test_verify_agrees_with_a_sound_model(trained):
    document = trained("verify", "m.h5", "d.csv", "--json").json
    assert document["holds"] is True and document["findings"] == [] and document["groups_exact"] is True
    assert document["objective_difference"] < 1e-9 and document["dual_difference"] < 1e-9 and document["infeasibility"] < 1e-9
    assert document["gap"] <= 1e-4
    assert "the certificate holds" in trained("verify", "m.h5", "d.csv").out


def test_verify_agrees_at_a_very_large_c(coterie):
    coterie("data", "generate", "-o", "d.csv", "--tasks", "5", "--groups", "5", "--samples", "100", "--noise", "0.1", "--spread", "0.5",
            "--positive", "0.9", "--block", "1", "--seed", "223115")
    coterie("train", "d.csv", "-C", "288471", "--lambda", "0.1max", "--norm", "4", "--tolerance", "3e-4", "-o", "m.h5")
    coterie("verify", "m.h5", "d.csv")


def test_verify_refuses_other_data(trained):
    rows = small_rows()
    rows[3][0] += 1e-9
    trained.write("e.csv", csv_text(rows))
    result = trained("verify", "m.h5", "e.csv", code=2)
    assert "error: e.csv: this is not the training data of the model" in result.err and result.out == ""


def forge(path, change):
    """Changes a model's arrays in place and makes its size and checksum match again."""
    bytes_before = path.read_bytes()
    with h5py.File(path, "r") as file:
        place = change(file)
    body = bytearray(bytes_before[512:])
    offset, value = place
    body[offset - 512:offset - 512 + len(value)] = value
    head = f"coterie model\nversion 7\nbytes {len(body)}\ncrc32 {zlib.crc32(bytes(body)):08x}\n".encode()
    path.write_bytes(head.ljust(512, b"\0") + bytes(body))


def real_at(dataset, index, value):
    """Where a double of a contiguous dataset lies in the file, and its new bytes. (Addresses count from the user block.)"""
    return dataset.id.get_offset() + 8 * index, np.array([value], "<f8").tobytes()


@pytest.mark.parametrize("path, index, value, finding", [
    ("certificates/primal", 0, 1.0, "objective"),
    ("certificates/dual", 0, 9.0, "dual"),
    ("tasks/bias", 0, 3.0, "objective"),
    ("tasks/alpha", 0, 0.77, ""),
    ("tasks/theta", 0, 0.9, ""),
])
def test_verify_finds_a_forged_proof(trained, path, index, value, finding):
    model = trained.folder / "m.h5"
    forge(model, lambda file: real_at(file[path], index, value))
    stored = trained("inspect", "m.h5", "--json").json
    assert stored  # the file itself is in order
    result = trained("verify", "m.h5", "d.csv", "--json", code=1)
    assert result.json["holds"] is False and result.json["findings"]
    assert "error: the certificate does not hold" in result.err and finding in result.err


# More than two classes


@pytest.fixture
def digits(coterie):
    """A small share of the embedded digits: 8 rows of each in train.csv, 4 in test.csv."""
    coterie("data", "convert", "digits", "all.csv")
    lines = (coterie.folder / "all.csv").read_text().splitlines()
    column = lines[0].split(",").index("label")
    by_class = {}
    for line in lines[1:]:
        by_class.setdefault(line.split(",")[column], []).append(line)
    assert len(by_class) == 10
    coterie.write("train.csv", "\n".join([lines[0]] + [line for rows in by_class.values() for line in rows[:8]]) + "\n")
    coterie.write("test.csv", "\n".join([lines[0]] + [line for rows in by_class.values() for line in rows[8:12]]) + "\n")
    return coterie


@pytest.mark.parametrize("casting, tasks", [("--one-vs-one", 45), ("--one-vs-rest", 10)])
def test_multi_class(digits, casting, tasks):
    document = train(digits, "train.csv", casting, "-C", "10", "--kernels", "linear gauss:16,32")
    assert len(document["tasks"]) == tasks
    assert document["tasks"][0]["name"] == ("0|1" if tasks == 45 else "0|rest")
    result = digits("evaluate", "m.h5", "test.csv", "--json").json
    confusion = np.array(result["confusion"])
    assert confusion.shape == (10, 10) and confusion.sum() == 40 and (confusion.sum(1) == 4).all()
    assert result["errors"] == 40 - np.trace(confusion) and result["accuracy"] > 0.7
    said = rows_of(digits("predict", "m.h5", "test.csv", "--scores").out)
    names = [task["name"] for task in document["tasks"]]
    for line in said:
        points, sums = dict.fromkeys(map(str, range(10)), 0), dict.fromkeys(map(str, range(10)), 0.0)
        for name in names:
            first, second = name.split("|")
            score = float(line[name])
            if tasks == 10:
                sums[first] = score
                continue
            points[second if score > 0 else first] += 1
            sums[second] += score
            sums[first] -= score
        assert line["label"] == max(points, key=lambda name: (points[name], sums[name])), line
    digits("verify", "m.h5", "train.csv")


# data and demo


def test_data_list(coterie):
    document = coterie("data", "list", "--json", environment={"COTERIE_DATA": ""}).json
    assert [entry["name"] for entry in document["data"]] == ["digits"]
    assert (document["data"][0]["rows"], document["data"][0]["features"], document["data"][0]["classes"]) == (1797, 64, 10)
    (coterie.folder / "shelf" / "mine").mkdir(parents=True)
    coterie.write("shelf/mine/data.csv.gz", gzipped(small_csv()))
    document = coterie("data", "list", "--json", environment={"COTERIE_DATA": "shelf"}).json
    assert [(entry["name"], entry["rows"]) for entry in document["data"]][1:] == [("shelf/mine/data.csv.gz", 28)]
    assert "shelf/mine/data.csv.gz" in coterie("data", "list", environment={"COTERIE_DATA": "shelf"}).out


def test_data_describe(coterie):
    rows = small_rows()
    rows.append(list(rows[0]))
    coterie.write("d.csv", csv_text([[*row[:3], 7, *row[3:]] for row in rows]))
    document = coterie("data", "describe", "d.csv", "--json").json
    assert (document["rows"], document["features"]) == (29, 4)
    assert document["classes"] == {"no": 15, "yes": 14}
    assert [(task["name"], task["rows"]) for task in document["tasks"]] == [("a", 15), ("b", 14)]
    assert document["constant_columns"] == ["f4"] and document["duplicate_rows"] == 1
    first = document["columns"][0]
    values = [row[0] for row in rows]
    assert first["name"] == "f1" and first["min"] == min(values) and first["max"] == max(values)
    assert first["mean"] == pytest.approx(sum(values) / 29)
    assert "29 rows" in coterie("data", "describe", "d.csv").out


def test_data_generate_writes_data_and_true_groups(coterie):
    arguments = ["data", "generate", "--tasks", "5", "--groups", "2", "--samples", "12", "--seed", "7"]
    document = coterie(*arguments, "-o", "p.csv", "--json").json
    assert document["files"] == ["p.csv"] and document["groups_file"] == "p.groups.csv"
    rows = rows_of((coterie.folder / "p.csv").read_text())
    groups = rows_of((coterie.folder / "p.groups.csv").read_text())
    assert len(rows) == document["rows"] == 60
    assert [row["task"] for row in groups] == document["tasks"] and [int(row["group"]) for row in groups] == document["group"]
    assert set(document["group"]) == {1, 2}
    coterie(*arguments, "-o", "q.csv")
    assert (coterie.folder / "q.csv").read_bytes() == (coterie.folder / "p.csv").read_bytes()
    coterie(*arguments[:-1], "8", "-o", "q.csv")
    assert (coterie.folder / "q.csv").read_bytes() != (coterie.folder / "p.csv").read_bytes()


@pytest.mark.parametrize("structure", ["groups", "weights", "features", "coclusters", "subspaces"])
def test_data_generate_makes_no_more_groups_than_tasks(coterie, structure):
    for tasks in range(1, 5):
        document = coterie("data", "generate", "--structure", structure, "--tasks", tasks, "--samples", "4", "-o", "p.csv", "--json").json
        groups = [document["group"]] if structure != "features" else document["group_by_feature"].values()
        assert len(document["tasks"]) == tasks and max(max(of_tasks) for of_tasks in groups) == min(tasks, 3)
    error = coterie("data", "generate", "--structure", structure, "--tasks", "2", "--groups", "3", "-o", "q.csv", code=2).err
    assert error == "error: --groups is 3, but there are only 2 tasks (--tasks).\n"


@pytest.mark.parametrize("structure", ["weights", "coclusters", "subspaces"])
def test_data_generate_writes_what_it_planted(coterie, structure):
    arguments = ["data", "generate", "--structure", structure, "--tasks", "6", "--groups", "2", "--samples", "400", "--features", "5", "--noise", "0",
                 "--deviation", "0"]
    document = coterie(*arguments, "-o", "p.csv", "--json").json
    assert document["structure"] == structure and document["rows"] == 2400 and document["features"] == 5
    rows = rows_of((coterie.folder / "p.csv").read_text())
    groups = rows_of((coterie.folder / "p.groups.csv").read_text())
    assert [row["task"] for row in groups] == document["tasks"]
    # Least squares on labels without noise finds the direction of the weights: for normal features it is that of w, up to chance of 1/sqrt(n).
    W = []
    for task in document["tasks"]:
        own = [row for row in rows if row["task"] == task]
        X = np.array([[float(row[f"f{j + 1}"]) for j in range(5)] for row in own])
        w = np.linalg.lstsq(X, np.array([float(row["label"]) for row in own]), rcond=None)[0]
        W.append(w / np.linalg.norm(w))
    W = np.array(W)
    group = np.array([int(row["group"]) for row in groups])
    assert list(group) == document["group"] == [1, 2, 1, 2, 1, 2]
    for g in (1, 2):
        singular = np.linalg.svd(W[group == g], compute_uv=False)
        rank = 2 if structure == "subspaces" else 1
        assert singular[rank] < 0.25 and singular[0] > 1
        if structure == "coclusters":
            outside = [j for j in range(5) if document["feature_group"][j] != g]
            assert np.abs(W[group == g][:, outside]).max() < 0.15
    assert "6 tasks in 2 groups" in coterie(*arguments, "-o", "p.csv").out


def test_data_generate_writes_groups_of_every_feature(coterie):
    document = coterie("data", "generate", "--structure", "features", "--tasks", "6", "--groups", "2", "--features", "5", "-o", "p.csv", "--json").json
    groups = rows_of((coterie.folder / "p.groups.csv").read_text())
    assert list(groups[0]) == ["task", "f1", "f2", "f3", "f4", "f5"] and [row["task"] for row in groups] == document["tasks"]
    assert {name: [int(row[name]) for row in groups] for name in list(groups[0])[1:]} == document["group_by_feature"]
    assert all(sorted(numbers) == [1, 1, 1, 2, 2, 2] for numbers in document["group_by_feature"].values())
    assert "group" not in document


def test_planted_groups_are_found(coterie):
    coterie("data", "generate", "-o", "p.csv", "--tasks", "6", "--groups", "2", "--samples", "60", "--noise", "0", "--seed", "2")
    truth = {}
    for row in rows_of((coterie.folder / "p.groups.csv").read_text()):
        truth.setdefault(row["group"], []).append(row["task"])
    found = []
    for share in ("0.2max", "0.4max", "0.6max", "0.8max"):
        found.append(train(coterie, "p.csv", "--lambda", share, "-C", "1", "--tolerance", "1e-6",
                           "--kernels", "linear@f1-f4 gauss:2@f1-f4 linear@f5-f8 gauss:2@f5-f8")["groups"])
    assert sorted(truth.values()) in [sorted(groups) for groups in found], found


def test_convert_round_trips(coterie):
    rows = small_rows()
    coterie.write("d.csv", csv_text(rows))
    original = train(coterie, "d.csv", *FAST)
    coterie("data", "convert", "d.csv", "d.tsv.gz")
    assert gzip.decompress((coterie.folder / "d.tsv.gz").read_bytes()).decode().splitlines()[0] == "f1\tf2\tf3\tlabel\ttask"
    files = coterie("data", "convert", "d.tsv.gz", "e.svm", "--json").json["files"]
    assert files == ["e-a.svm", "e-b.svm"]
    coterie("data", "convert", "e-a.svm:a", "e-b.svm:b", "back.csv")
    assert (coterie.folder / "back.csv").read_text().splitlines()[1:] == csv_text(rows).splitlines()[1:]
    assert train(coterie, "back.csv", *FAST)["objective"] == original["objective"]
    coterie("verify", "m.h5", "d.csv")  # the same data by its fingerprint, whatever the format


def test_demo(coterie):
    document = coterie("demo", "--json", "--train-share", "0.04").json
    assert [method["name"] for method in document["methods"]] == ["STL", "MTL", "coterie"]
    assert document["train_rows"] + document["test_rows"] == 1797
    for method in document["methods"]:
        assert method["status"] == "converged" and len(method["tasks"]) == 45
        assert 0.9 < method["pair_accuracy"] <= 1 and 0.6 < method["vote_accuracy"] <= 1
    assert len(document["methods"][1]["groups"]) == 1
    objectives = [method["objective"] for method in document["methods"]]
    assert objectives[0] < objectives[2] < objectives[1]
    assert not coterie.files()


# Precomputed kernels


def test_precomputed_kernels_equal_computed_ones(coterie):
    rows = small_rows()
    coterie.write("d.csv", csv_text(rows))
    coterie.write("new.csv", csv_text(small_rows(seed=2)))
    X, Z = np.array([row[:3] for row in rows]), np.array([row[:3] for row in small_rows(seed=2)])
    gauss = lambda A, B: np.exp(-((A[:, None] - B[None]) ** 2).sum(2) / 2)
    np.savetxt(coterie.folder / "k.csv", gauss(X, X), delimiter=",", fmt="%.17g")
    np.savetxt(coterie.folder / "cross.csv", gauss(Z, X), delimiter=",", fmt="%.17g")
    computed = train(coterie, "d.csv", "--kernels", "gauss:1 linear", "--tolerance", "1e-8", model="c.h5")
    given = train(coterie, "d.csv", "--kernels", "precomputed:k.csv linear", "--tolerance", "1e-8", model="g.h5")
    assert given["kernels"] == ["precomputed:k.csv", "linear"]
    assert given["objective"] == pytest.approx(computed["objective"], rel=1e-7)
    expected = [float(row["score"]) for row in rows_of(coterie("predict", "c.h5", "new.csv").out)]
    said = [float(row["score"]) for row in rows_of(coterie("predict", "g.h5", "new.csv", "--precomputed", "k.csv=cross.csv").out)]
    assert said == pytest.approx(expected, abs=1e-3)
    coterie("evaluate", "g.h5", "new.csv", "--precomputed", "k.csv=cross.csv")
    coterie("verify", "g.h5", "d.csv")
    (coterie.folder / "k.csv").rename(coterie.folder / "moved.csv")
    coterie("verify", "g.h5", "d.csv", "--precomputed", "k.csv=moved.csv")


def test_every_json_document_is_alone_on_standard_output(trained):
    for arguments in (["inspect", "m.h5"], ["verify", "m.h5", "d.csv"], ["evaluate", "m.h5", "d.csv"], ["predict", "m.h5", "d.csv"],
                      ["predict", "m.h5", "d.csv", "-o", "out.csv"], ["data", "describe", "d.csv"],
                      ["data", "generate", "-o", "p.csv", "--samples", "4"], ["data", "convert", "d.csv", "e.csv"],
                      ["train", "d.csv", "-o", "m2.h5", *FAST], ["train", "d.csv", "-o", "m2.h5", "--quiet", *FAST]):
        document = json.loads(trained(*arguments, "--json").out)
        assert isinstance(document, dict) and document


def test_a_blank_column_of_labels_is_no_obstacle_to_prediction(coterie):
    coterie.write("train.csv", csv_text(small_rows()))
    lines = csv_text(small_rows()).splitlines()
    place = lines[0].split(",").index("label")
    blank = [",".join("" if k == place else field for k, field in enumerate(line.split(","))) for line in lines[1:]]
    coterie.write("blank.csv", "\n".join([lines[0], *blank]) + "\n")
    coterie("train", "train.csv", "-o", "m.h5")
    assert coterie("predict", "m.h5", "blank.csv").out == coterie("predict", "m.h5", "train.csv").out
    assert "column 'label' is empty" in coterie("train", "blank.csv", "-o", "n.h5", code=2).err


@pytest.mark.parametrize("method", ["pooled", "groups", "joint"])
def test_one_model_for_all_classes_is_trained_with_a_warning(coterie, method):
    coterie.write("classes.csv", csv_text(small_rows(tasks=("t",), labels=("x", "y", "z"))))
    result = coterie("train", "classes.csv", "--one-vs-rest", "--method", method, "-o", "m.h5")
    assert f"{method} suits this data badly: one model for all tasks asks that a positive label means the same in each, which classes against the rest do not grant." in result.err


@pytest.mark.parametrize("method, shares", [("groups", "one classifier"), ("pooled", "one classifier"), ("joint", "one kernel and a part of their classifiers"), ("coterie", "one kernel")])
def test_what_groups_share_is_said(coterie, method, shares):
    coterie.write("train.csv", csv_text(small_rows()))
    options = {"coterie": ["--lambda", "inf"], "groups": ["--parameters", "clusters=1"]}.get(method, [])
    assert f"tasks of a group share {shares}\n" in coterie("train", "train.csv", "--method", method, "-o", "m.h5", *options).out
