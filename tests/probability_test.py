"""Probabilities and scores: what predict and evaluate print, against numpy on the same rows.

Models are calibrated here by replacing the group /calibration in a file of `coterie train`, as docs/model-file.md describes it: the
program's arithmetic is compared with another one, and what the fit of a calibration gives is not asked.
"""

import csv
import io
import math
import zlib

import h5py
import numpy as np
import pytest

from support import csv_text, small_rows


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


# A model file with calibrations.


def add_list(group, name, values, kind):
    """A plain dataset: contiguous, without times and fill values."""
    if kind == "text":
        width = max(8, -(-max(map(len, values)) // 8) * 8)
        file_type = h5py.h5t.C_S1.copy()
        file_type.set_size(width)
        file_type.set_cset(h5py.h5t.CSET_UTF8)
        file_type.set_strpad(h5py.h5t.STR_NULLPAD)
        array = np.array([value.encode() for value in values], f"S{width}")
    else:
        file_type = {"real": h5py.h5t.IEEE_F64LE, "whole": h5py.h5t.STD_I64LE}[kind]
        array = np.array(values, {"real": "<f8", "whole": "<i8"}[kind])
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.CONTIGUOUS)
    properties.set_obj_track_times(False)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space = h5py.h5s.create_simple((len(array),), (len(array),))
    dataset = h5py.h5d.create(group, name.encode(), file_type, space, properties)
    if len(array):
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, array, file_type)


def seal(path):
    body = path.read_bytes()[512:]
    head = f"coterie model\nversion 7\nbytes {len(body)}\ncrc32 {zlib.crc32(body):08x}\n".encode()
    path.write_bytes(head.ljust(512, b"\0") + body)


def platt(slope, offset):
    return {"kind": "platt", "slope": slope, "offset": offset, "score": [], "probability": []}


def uncalibrated():
    return {**platt(1.0, 0.0), "kind": "none"}


def isotonic(score, probability):
    return {"kind": "isotonic", "slope": 1.0, "offset": 0.0, "score": score, "probability": probability}


def calibrate(path, calibrations):
    """Puts the calibrations, one per task, into a model file; the checksum is made to match."""
    with h5py.File(path, "r+", libver=("v108", "v108")) as file:
        properties = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        properties.set_obj_track_times(False)
        del file["calibration"]
        group = h5py.h5g.create(file.id, b"calibration", gcpl=properties)
        add_list(group, "kind", [c["kind"] for c in calibrations], "text")
        add_list(group, "slope", [c["slope"] for c in calibrations], "real")
        add_list(group, "offset", [c["offset"] for c in calibrations], "real")
        add_list(group, "knot_offsets", np.cumsum([0] + [len(c["score"]) for c in calibrations]), "whole")
        add_list(group, "knot_score", [x for c in calibrations for x in c["score"]], "real")
        add_list(group, "knot_probability", [p for c in calibrations for p in c["probability"]], "real")
    seal(path)


# The same arithmetic in numpy.


def probability(calibration, f):
    if calibration["kind"] == "isotonic":
        return np.interp(f, calibration["score"], calibration["probability"])
    return 1 / (1 + np.exp(-(calibration["slope"] * np.asarray(f) + calibration["offset"])))


def auc(f, y):
    f, y = np.asarray(f), np.asarray(y)
    difference = f[y > 0][:, None] - f[y < 0][None, :]
    return ((difference > 0) + 0.5 * (difference == 0)).mean()


def recall_mean(said, truth):
    said, truth = np.asarray(said), np.asarray(truth)
    return np.mean([(said[truth == label] == label).mean() for label in np.unique(truth)])


def log_loss(p_of_truth):
    return -np.log(np.clip(p_of_truth, 2 ** -52, 1 - 2 ** -52)).mean()


def coupled(r):
    """The minimum of sum_{i<j} (r_ji p_i - r_ij p_j)^2 over sum p = 1, from its stationarity conditions."""
    k = len(r)
    Q = -r * r.T
    np.fill_diagonal(Q, [sum(r[s, i] ** 2 for s in range(k) if s != i) for i in range(k)])
    system = np.block([[Q, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
    return np.linalg.solve(system, np.r_[np.zeros(k), 1])[:k]


# Binary models


TASKS = ("a", "b", "c")
BINARY = [platt(1.5, -0.4), isotonic([-1.0, 0.25, 0.5], [0.1, 0.4, 0.95]), platt(0.0, 0.3)]


@pytest.fixture
def binary(coterie):
    """Three tasks, of which the new rows have one without positives and one without rows."""
    coterie.write("d.csv", csv_text(small_rows(tasks=TASKS, n=20)))
    new = [row for row in small_rows(tasks=("a", "b"), n=40, seed=7) if row[-1] == "a" or row[-2] == "no"]
    coterie.write("new.csv", csv_text(new))
    coterie("train", "d.csv", "-o", "plain.h5", "--quiet")
    path = coterie.folder / "m.h5"
    path.write_bytes((coterie.folder / "plain.h5").read_bytes())
    calibrate(path, BINARY)
    coterie.truth = [row[-2] for row in new]
    return coterie


def test_labels_and_scores_do_not_depend_on_the_calibration(binary):
    plain, said = (rows_of(binary("predict", model, "new.csv").out) for model in ("plain.h5", "m.h5"))
    assert "probability" not in plain[0] and list(said[0]) == ["row", "task", "label", "score", "probability"]
    for before, after in zip(plain, said, strict=True):
        after.pop("probability")
        assert before == after


def test_a_probability_is_that_of_the_positive_label(binary):
    said = rows_of(binary("predict", "m.h5", "d.csv").out)
    assert {row["task"] for row in said} == set(TASKS)
    for row in said:
        expected = probability(BINARY[TASKS.index(row["task"])], float(row["score"]))
        assert float(row["probability"]) == pytest.approx(expected, abs=1e-12)
    document = binary("predict", "m.h5", "d.csv", "--json").json["predictions"]
    assert [row["probability"] for row in document] == [float(row["probability"]) for row in said]
    assert binary("predict", "m.h5", "d.csv", "--probabilities").out == binary("predict", "m.h5", "d.csv").out


def test_evaluate_scores_every_task(binary):
    said = rows_of(binary("predict", "m.h5", "new.csv").out)
    result = binary("evaluate", "m.h5", "new.csv", "--json").json
    assert [task["name"] for task in result["tasks"]] == list(TASKS) and result["calibrated"] is True
    for task, calibration in zip(result["tasks"], BINARY):
        mine = [i for i, row in enumerate(said) if row["task"] == task["name"]]
        assert task["n"] == len(mine)
        if not mine:
            assert all(task[key] is None for key in ("accuracy", "balanced_accuracy", "auc", "log_loss", "uncalibrated_log_loss", "brier_score"))
            continue
        f = np.array([float(said[i]["score"]) for i in mine])
        y = np.array([1 if binary.truth[i] == "yes" else -1 for i in mine])
        p = probability(calibration, f)
        assert task["errors"] == ((f > 0) != (y > 0)).sum()
        assert task["accuracy"] == pytest.approx(((f > 0) == (y > 0)).mean(), abs=1e-12)
        assert task["balanced_accuracy"] == pytest.approx(recall_mean(f > 0, y > 0), abs=1e-12)
        assert task["log_loss"] == pytest.approx(log_loss(np.where(y > 0, p, 1 - p)), abs=1e-12)
        assert task["uncalibrated_log_loss"] == pytest.approx(np.log1p(np.exp(-y * f)).mean(), abs=1e-12)
        assert task["brier_score"] == pytest.approx(((p - (y > 0)) ** 2).mean(), abs=1e-12)
        assert task["auc"] is None if (y < 0).all() else task["auc"] == pytest.approx(auc(f, y), abs=1e-12)
    a, b, _ = result["tasks"]
    assert result["mean_auc"] == a["auc"] and b["auc"] is None
    for key in ("accuracy", "balanced_accuracy", "log_loss", "uncalibrated_log_loss", "brier_score"):
        assert result["mean_" + key] == pytest.approx((a[key] + b[key]) / 2, abs=1e-12)


def test_evaluate_scores_all_rows(binary):
    said = rows_of(binary("predict", "m.h5", "new.csv").out)
    result = binary("evaluate", "m.h5", "new.csv", "--json").json
    labels, truth = np.array([row["label"] for row in said]), np.array(binary.truth)
    p = np.array([float(row["probability"]) for row in said])
    assert result["n"] == len(truth) and result["errors"] == (labels != truth).sum()
    assert result["accuracy"] == pytest.approx((labels == truth).mean(), abs=1e-12)
    assert result["balanced_accuracy"] == pytest.approx(recall_mean(labels, truth), abs=1e-12)
    assert result["log_loss"] == pytest.approx(log_loss(np.where(truth == "yes", p, 1 - p)), abs=1e-12)
    bins = result["reliability"]
    assert len(bins) == 10 and sum(each["count"] for each in bins) == len(truth)
    for each in bins:
        inside = (p >= each["low"]) & ((p < each["high"]) | (each["high"] == 1))
        assert each["count"] == inside.sum()
        if inside.any():
            assert each["mean_predicted"] == pytest.approx(p[inside].mean(), abs=1e-12)
            assert each["share_observed"] == pytest.approx((truth[inside] == "yes").mean(), abs=1e-12)
        else:
            assert each["mean_predicted"] is None and each["share_observed"] is None


def cells(text, start):
    """The cells of the line that starts so."""
    line = next(line for line in text.splitlines() if line.strip().startswith(start))
    return line.split()


def test_evaluate_in_words(binary):
    result = binary("evaluate", "m.h5", "new.csv", "--json").json
    text = binary("evaluate", "m.h5", "new.csv", "--quiet").out
    assert "AUC  log loss  uncalibrated" in text and "probability" not in text
    a, b, _ = result["tasks"]
    assert cells(text, "a ")[-3:] == [f"{a['auc']:.4f}", f"{a['log_loss']:.4f}", f"{a['uncalibrated_log_loss']:.4f}"]
    assert cells(text, "b ")[-3:] == ["-", f"{b['log_loss']:.4f}", f"{b['uncalibrated_log_loss']:.4f}"]
    assert cells(text, "c ")[1:] == ["0", "0", "-", "-", "-", "-", "-"]
    assert cells(text, "mean over tasks")[-2:] == [f"{result['mean_log_loss']:.4f}", f"{result['mean_uncalibrated_log_loss']:.4f}"]
    assert f"log loss {result['log_loss']:.4f}; {result['uncalibrated_log_loss']:.4f} without calibration" in text
    table = binary("evaluate", "m.h5", "new.csv", "--quiet", "--reliability").out
    assert cells(table, "probability") == ["probability", "n", "mean", "predicted", "share", "observed"]
    assert cells(table, "0.9 to 1.0")[3] == str(result["reliability"][9]["count"])


def test_uncalibrated_models_have_scores_but_no_probabilities(binary):
    result = binary("evaluate", "plain.h5", "new.csv", "--json").json
    calibrated = binary("evaluate", "m.h5", "new.csv", "--json").json
    assert result["calibrated"] is False and result["mean_auc"] == calibrated["mean_auc"]
    for key in ("log_loss", "uncalibrated_log_loss", "mean_log_loss", "mean_brier_score", "reliability"):
        assert result[key] is None, key
    text = binary("evaluate", "plain.h5", "new.csv", "--quiet").out
    assert "AUC" in text and "log loss" not in text
    for arguments in (["predict", "plain.h5", "new.csv", "--probabilities"], ["evaluate", "plain.h5", "new.csv", "--reliability"]):
        refused = binary(*arguments, code=2)
        assert refused.out == "" and refused.err.startswith(f"error: {arguments[-1]}: the model plain.h5 is not calibrated")
        assert "coterie train ... --calibrate platt" in refused.err


def test_inspect_shows_the_calibration(binary):
    tasks = binary("inspect", "m.h5", "--json").json["tasks"]
    for task, calibration in zip(tasks, BINARY, strict=True):
        shown = task["calibration"]
        expected = {key: value for key, value in calibration.items() if key in shown}
        assert shown == expected and len(shown) == 3
    assert all(task["calibration"] == {"kind": "none"} for task in binary("inspect", "plain.h5", "--json").json["tasks"])
    text = binary("inspect", "m.h5").out
    assert "slope 1.5, offset -0.4" in text and "3 knots" in text
    assert f"{probability(BINARY[0], 1.0):.3f}" in text
    assert "scores are not calibrated to probabilities" in binary("inspect", "plain.h5").out


def test_the_proof_does_not_depend_on_the_calibration(binary):
    plain, calibrated = (binary("verify", model, "d.csv", "--json").json for model in ("plain.h5", "m.h5"))
    assert calibrated["holds"] is True
    assert calibrated.pop("taken_from_model") == [*plain.pop("taken_from_model"), "the numbers that turn scores into probabilities"]
    assert calibrated == plain


@pytest.mark.parametrize("calibrations, finding", [
    (BINARY[:2], "/calibration/kind has 2 values, not 3"),
    ([*BINARY[:2], platt(-1.0, 0.0)], "/calibration/slope[2] is -1, not a number >= 0"),
    ([*BINARY[:2], platt(math.nan, 0.0)], "/calibration/slope[2] is nan, not a number >= 0"),
    ([*BINARY[:2], {**platt(2.0, 0.0), "kind": "none"}], "task 'c' has a sigmoid that nothing uses"),
    ([*BINARY[:2], {**platt(1.0, 0.0), "kind": "magic"}], "/calibration/kind is unknown"),
    ([*BINARY[:2], isotonic([0.0, 0.0], [0.1, 0.2])], "task 'c' has knots whose scores do not increase"),
    ([*BINARY[:2], isotonic([0.0, 1.0], [0.3, 0.2])], "task 'c' has knots whose probabilities fall"),
    ([*BINARY[:2], isotonic([0.0, 1.0], [0.3, 1.2])], "/calibration/knot_probability[4] is 1.2, not from 0 to 1"),
    ([*BINARY[:2], isotonic([], [])], "the calibration of task 'c' is isotonic, with 0 knots"),
    ([*BINARY[:2], isotonic([0.0], [])], "/calibration/knot_probability has 3 values, not 4"),
])
def test_unsound_calibrations_are_refused(binary, calibrations, finding):
    path = binary.folder / "bad.h5"
    path.write_bytes((binary.folder / "plain.h5").read_bytes())
    calibrate(path, calibrations)
    refused = binary("predict", "bad.h5", "new.csv", code=2)
    assert f"error: bad.h5: is damaged: {finding}" in refused.err and refused.out == ""


def test_tasks_without_calibration_have_no_probabilities(binary):
    path = binary.folder / "some.h5"
    path.write_bytes((binary.folder / "plain.h5").read_bytes())
    calibrate(path, [uncalibrated(), *BINARY[1:]])
    full, some = (rows_of(binary("predict", model, "new.csv").out) for model in ("m.h5", "some.h5"))
    assert some == [{**row, "probability": ""} if row["task"] == "a" else row for row in full]
    document = binary("predict", "some.h5", "new.csv", "--json").json["predictions"]
    assert [row["probability"] is None for row in document] == [row["task"] == "a" for row in some]
    result = binary("evaluate", "some.h5", "new.csv", "--json").json
    of_all = binary("evaluate", "m.h5", "new.csv", "--json").json
    a, b, _ = result["tasks"]
    assert a["auc"] is not None and a["log_loss"] is None and b == of_all["tasks"][1]
    assert result["calibrated"] is False and of_all["calibrated"] is True and of_all["rows_with_probability"] == of_all["n"]
    assert result["rows_with_probability"] == b["n"] == sum(each["count"] for each in result["reliability"])
    assert result["log_loss"] == pytest.approx(b["log_loss"], abs=1e-12) and result["mean_log_loss"] == b["log_loss"]
    text = binary("evaluate", "some.h5", "new.csv", "--quiet", "--reliability").out
    assert cells(text, "a ")[-2:] == ["-", "-"]
    assert f"{b['n']} of {result['n']} rows have a probability: the others are of tasks without calibration" in text
    assert "have a probability" not in binary("evaluate", "m.h5", "new.csv", "--quiet").out
    assert cells(binary("inspect", "some.h5").out.split("calibration: probability")[1], "a ")[1:] == ["none", "-", "-", "-"]


def test_new_tasks_have_the_mean_of_probabilities(binary):
    rows = small_rows(tasks=("z",), n=40, seed=9)
    binary.write("z.csv", csv_text(rows))
    each = []
    for task in TASKS:
        binary.write("as.csv", csv_text([[*row[:-1], task] for row in rows]))
        each.append([float(row["probability"]) for row in rows_of(binary("predict", "m.h5", "as.csv").out)])
    p = np.mean(each, axis=0)
    said = rows_of(binary("predict", "m.h5", "z.csv", "--new-task", "common").out)
    assert [float(row["probability"]) for row in said] == pytest.approx(p, abs=1e-12)
    y = np.array([row[-2] == "yes" for row in rows])
    result = binary("evaluate", "m.h5", "z.csv", "--new-task", "common", "--json").json
    f = np.array([float(row["score"]) for row in said])
    task = result["tasks"][-1]
    assert task["name"] == "z" and task["n"] == len(rows) and task["auc"] == pytest.approx(auc(f, np.where(y, 1, -1)), abs=1e-12)
    assert task["log_loss"] == pytest.approx(log_loss(np.where(y, p, 1 - p)), abs=1e-12)
    assert task["brier_score"] == pytest.approx(((p - y) ** 2).mean(), abs=1e-12)
    assert task["uncalibrated_log_loss"] == pytest.approx(np.log1p(np.exp(-np.where(y, f, -f))).mean(), abs=1e-12)
    assert result["log_loss"] == task["log_loss"] and result["rows_with_probability"] == len(rows)
    path = binary.folder / "some.h5"
    path.write_bytes((binary.folder / "plain.h5").read_bytes())
    calibrate(path, [*BINARY[:2], uncalibrated()])
    missing = rows_of(binary("predict", "some.h5", "z.csv", "--new-task", "common").out)
    assert missing == [{**row, "probability": ""} for row in said]


# Models of several classes


CLASSES = ["p", "q", "r", "s"]


def many_rows(tasks, seed, n=32):
    """Rows [x..., label, task] of four classes around four points."""
    source = np.random.default_rng(seed)
    rows = []
    for task in tasks:
        for i in range(n):
            x = source.normal(size=3) + 1.2 * np.array([i % 2, i // 2 % 2, 0.5 * (i % 4 == 3)])
            rows.append([*(round(float(value), 6) for value in x), CLASSES[i % 4], task])
    return rows


@pytest.fixture(params=["one-vs-one", "one-vs-rest", "one-vs-one of parts"])
def many(request, coterie):
    """A model of four classes; in the third case of two parts, of which the second lacks a class."""
    parts = ("u", "v") if request.param.endswith("parts") else ("u",)
    train = [row for row in many_rows(parts, 1) if row[-1] == "u" or row[-2] != "q"]
    new = many_rows(parts, 2)
    coterie.casting = request.param.split()[0]
    header = None if len(parts) > 1 else ["f1", "f2", "f3", "label", "unused"]  # one part: no task column
    coterie.write("d.csv", csv_text(train, header=header))
    coterie.write("new.csv", csv_text(new, header=header))
    drop = [] if len(parts) > 1 else ["--drop", "unused"]
    coterie("train", "d.csv", *drop, f"--{coterie.casting}", "-o", "plain.h5", "--quiet")
    path = coterie.folder / "m.h5"
    path.write_bytes((coterie.folder / "plain.h5").read_bytes())
    with h5py.File(path) as file:
        coterie.names = list(file["tasks/name"].asstr()[:])
    source = np.random.default_rng(3)
    coterie.calibrations = [platt(source.uniform(0.5, 3), source.normal()) if t % 3 else isotonic([-0.5, 0.8], [0.1, 0.9])
                            for t in range(len(coterie.names))]
    calibrate(path, coterie.calibrations)
    coterie.new, coterie.parts = new, parts
    return coterie


def expected_probabilities(many, said, calibrations):
    """Of every class at every row, from the scores that predict prints."""
    out = []
    for row in said:
        r, alone = {}, {}
        for name, calibration in zip(many.names, calibrations):
            part, pair = name.split(":") if ":" in name else (row.get("task", ""), name)
            if part != row.get("task", ""):
                assert row[name] == ""
                continue
            first, second = pair.split("|")
            p = probability(calibration, float(row[name]))
            if many.casting == "one-vs-rest":
                alone[first] = p
            else:
                r[second, first], r[first, second] = p, 1 - p
        if many.casting == "one-vs-rest":
            out.append([alone[name] / sum(alone.values()) for name in CLASSES])
        else:
            known = [name for name in CLASSES if any(name in pair for pair in r)]
            p = coupled(np.array([[r.get((i, j), 0.5) for j in known] for i in known]))
            out.append([dict(zip(known, p)).get(name, 0.0) for name in CLASSES])
    return np.array(out)


def test_probabilities_of_classes(many):
    said = rows_of(many("predict", "m.h5", "new.csv", "--scores", "--probabilities").out)
    found = np.array([[float(row[f"probability:{name}"]) for name in CLASSES] for row in said])
    assert np.abs(found - expected_probabilities(many, said, many.calibrations)).max() < 1e-8
    assert np.abs(found.sum(1) - 1).max() < 1e-12 and found.min() >= 0
    assert [float(row["probability"]) for row in said] == [p[CLASSES.index(row["label"])] for p, row in zip(found, said)]
    assert any(CLASSES[p.argmax()] != row["label"] for p, row in zip(found, said))  # the vote has the last word
    plain = rows_of(many("predict", "plain.h5", "new.csv").out)
    assert [row["label"] for row in plain] == [row["label"] for row in said]
    columns = list(rows_of(many("predict", "m.h5", "new.csv").out)[0])
    assert columns == list(plain[0]) + ["probability"]
    document = many("predict", "m.h5", "new.csv", "--probabilities", "--json").json["predictions"]
    assert [[row["probabilities"][name] for name in CLASSES] for row in document] == found.tolist()
    assert "probabilities" not in many("predict", "m.h5", "new.csv", "--json").json["predictions"][0]


def test_evaluate_several_classes(many):
    said = rows_of(many("predict", "m.h5", "new.csv", "--scores").out)
    truth = np.array([row[-2] for row in many.new])
    labels = np.array([row["label"] for row in said])
    p = expected_probabilities(many, said, many.calibrations)
    plain = expected_probabilities(many, said, [platt(1.0, 0.0)] * len(many.names))
    column = [CLASSES.index(label) for label in truth]
    result = many("evaluate", "m.h5", "new.csv", "--json").json
    assert result["errors"] == (labels != truth).sum()
    assert result["balanced_accuracy"] == pytest.approx(recall_mean(labels, truth), abs=1e-12)
    assert result["log_loss"] == pytest.approx(log_loss(p[range(len(p)), column]), abs=1e-7)
    assert result["uncalibrated_log_loss"] == pytest.approx(log_loss(plain[range(len(p)), column]), abs=1e-7)
    assert sum(each["count"] for each in result["reliability"]) == p.size
    assert np.array(result["confusion"]).sum() == len(truth)
    for task, calibration in zip(result["tasks"], many.calibrations):
        part, pair = task["name"].split(":") if ":" in task["name"] else ("u", task["name"])
        first, second = pair.split("|")
        positive = first if many.casting == "one-vs-rest" else second
        mine = [i for i, row in enumerate(many.new) if row[-1] == part and (many.casting == "one-vs-rest" or row[-2] in (first, second))]
        f = np.array([float(said[i][task["name"]]) for i in mine])
        y = np.where(truth[mine] == positive, 1, -1)
        q = probability(calibration, f)
        assert task["n"] == len(mine) and task["auc"] == pytest.approx(auc(f, y), abs=1e-12)
        assert task["balanced_accuracy"] == pytest.approx(recall_mean(f > 0, y > 0), abs=1e-12)
        assert task["log_loss"] == pytest.approx(log_loss(np.where(y > 0, q, 1 - q)), abs=1e-12)
    for key in ("auc", "log_loss"):
        assert result["mean_" + key] == pytest.approx(np.mean([task[key] for task in result["tasks"]]), abs=1e-12)
    text = many("evaluate", "m.h5", "new.csv", "--quiet").out
    assert f"balanced {100 * result['balanced_accuracy']:.2f} %" in text and f"log loss {result['log_loss']:.4f};" in text


def test_help_says_what_the_label_is(coterie):
    text = " ".join(coterie("predict", "--help").out.split())
    assert "the label stays that of the vote, even if another class is more probable" in text
