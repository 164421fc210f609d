"""Every method through the program: train, predict, evaluate, inspect, verify; what its model file holds; what it refuses."""

import csv
import gzip
import io
import json
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from support import csv_text, small_csv, small_rows

KERNEL = ["stl", "mtl", "uniform", "pooled", "groups", "joint", "tang", "pareto"]
LINEAR = ["cmtl", "whom", "flexclus", "coclus", "metag"]
TASKS = ("a", "b", "c", "d")


def options_of(method):
    return ["--kernels", "linear gauss:1,4"] if method in KERNEL else []


def train(coterie, method, *arguments, code=0, data="d.csv", model="m.h5"):
    return coterie("train", data, "-o", model, "--json", "--method", method, *options_of(method), *arguments, code=code).json


def decisions(coterie, *arguments, data="d.csv", model="m.h5"):
    return np.array([float(row["score"]) for row in csv.DictReader(io.StringIO(coterie("predict", model, data, *arguments).out))])


def reseal(path, change):
    """Changes a model file and gives it a checksum that fits."""
    head = path.read_bytes()[:512].rstrip(b"\0").decode().splitlines()
    with h5py.File(path, "r+") as file:
        change(file)
    body = path.read_bytes()[512:]
    head[2], head[3] = f"bytes {len(body)}", f"crc32 {zlib.crc32(body):08x}"
    path.write_bytes(("\n".join(head) + "\n").encode().ljust(512, b"\0") + body)


@pytest.fixture
def data(coterie):
    coterie.write("d.csv", small_csv(tasks=TASKS, n=20))
    return coterie


def test_methods_are_listed_with_their_parameters(coterie):
    listed = coterie("methods", "--json").json
    assert [method["name"] for method in listed] == ["coterie", *KERNEL, *LINEAR]
    text = coterie("methods").out
    for method in listed:
        assert method["name"] in text and method["title"] in text
        about = coterie("methods", method["name"]).out
        assert method["source"] in about and all(parameter["name"] in about for parameter in method["parameters"])
        assert coterie("methods", method["name"], "--json").json == [method]
    assert [method["name"] for method in listed if not method["convex"]] == ["groups", "pareto", "whom", "coclus"]


@pytest.mark.parametrize("method", KERNEL + LINEAR)
def test_a_model_goes_all_the_way(data, method):
    fit = train(data, method)
    assert fit["status"] == "converged" and fit["method"] == method and 0 <= fit["gap"] <= 1e-4
    assert 0 < fit["bound"] <= 1e-9 and fit["gap"] + fit["bound"] <= 1e-4
    assert fit["claim"] == {"whom": "given clusters", "groups": "given clusters", "coclus": "stationary"}.get(method, "optimum")
    assert sorted(name for group in fit["groups"] for name in group) == list(TASKS)
    for task in fit["tasks"]:
        assert task["name"] in fit["groups"][task["group"] - 1]

    model = data("inspect", "m.h5", "--json").json
    assert model["settings"]["method"] == method and model["objective"] == fit["objective"] and model["bound"] == fit["bound"]
    text = data("inspect", "m.h5").out
    assert method in text and "certificate" in text

    score = decisions(data)
    rows = [row for row in csv.reader(io.StringIO((data.folder / "d.csv").read_text()))][1:]
    X, label, name = np.array([[float(v) for v in row[:3]] for row in rows]), [row[3] for row in rows], [row[4] for row in rows]
    if method in LINEAR:
        X = (X - X.mean(axis=0)) / X.std(axis=0)  # the default
        by_hand = [np.dot(task["w"], x) + task["bias"] for x, task in zip(X, (model["tasks"][TASKS.index(t)] for t in name))]
        np.testing.assert_allclose(score, by_hand, atol=1e-12)
    evaluation = data("evaluate", "m.h5", "d.csv", "--json").json
    correct = np.array([(s > 0) == (y == "yes") for s, y in zip(score, label)])
    for task in evaluation["tasks"]:
        assert task["accuracy"] == pytest.approx(correct[[t == task["name"] for t in name]].mean())

    check = data("verify", "m.h5", "d.csv", "--json").json
    assert check["holds"] and check["objective"] == pytest.approx(fit["objective"], rel=1e-9)


@pytest.mark.parametrize("method", KERNEL + LINEAR)
def test_threads_change_no_bit_and_a_second_run_is_the_same(data, method):
    files = []
    for number, threads in enumerate(["1", "2", "2"]):
        train(data, method, "--threads", threads, model=f"m{number}.h5")
        files.append((data.folder / f"m{number}.h5").read_bytes())
    assert files[0] == files[1] == files[2]


def test_names_for_what_the_main_method_does_too(data):
    assert train(data, "stl")["objective"] == train(data, "coterie", "--lambda", "0", *options_of("stl"))["objective"]
    assert train(data, "mtl")["objective"] == train(data, "coterie", "--lambda", "inf", *options_of("stl"))["objective"]


@pytest.mark.parametrize("method, without, among", [
    ("coterie", {"parameters", "loss", "map"}, {"C", "lambda", "norm", "kernels", "solver"}),
    ("tang", {"lambda", "norm", "solver", "loss", "map"}, {"C", "kernels", "parameters"}),
    ("cmtl", {"C", "lambda", "norm", "solver", "kernels", "normalise"}, {"loss", "map", "parameters", "scale"}),
])
def test_inspect_shows_the_settings_that_mean_something(data, method, without, among):
    train(data, method)
    lines = data("inspect", "m.h5").out.split("settings\n")[1].split("\n\n")[0].splitlines()
    shown = {line.split()[0] for line in lines[1:]}
    assert among <= shown and not without & shown


def test_resamples_show_how_stable_groups_are(coterie):
    coterie("data", "generate", "-o", "d.csv", "--structure", "weights", "--tasks", "8", "--groups", "2", "--samples", "30", "--features", "5", "--seed", "2")
    command = ["train", "d.csv", "--method", "groups", "--kernels", "linear gauss:2"]
    coterie(*command, "-o", "without.h5")
    runs = [coterie(*command, "-o", "m.h5", "--bootstrap", "12", "--threads", threads, "--json").json for threads in ("1", "2")]
    found = runs[0]["bootstrap"]
    assert found == runs[1]["bootstrap"] and found["resamples"] == 12
    assert (coterie.folder / "m.h5").read_bytes() == (coterie.folder / "without.h5").read_bytes()
    together = np.array(found["together"])
    assert (together == together.T).all() and (together.diagonal() == 1).all()
    place = {task["name"]: i for i, task in enumerate(runs[0]["tasks"])}
    groups = [[place[name] for name in group] for group in runs[0]["groups"]]
    assert len(groups) == 2 and len(found["support"]) == 2 and min(found["support"]) > 0.8
    for one in groups:
        for other in groups:
            share = together[np.ix_(one, other)]
            assert share.min() > 0.6 if one is other else share.max() < 0.4
    text = coterie(*command, "-o", "m.h5", "--bootstrap", "3").out
    assert "groups in 3 resamples of the data" in text and "least sure: t" in text
    # Labels by chance have no groups that are found again.
    coterie("data", "generate", "-o", "d.csv", "--structure", "weights", "--tasks", "8", "--groups", "2", "--samples", "30", "--features", "5", "--seed", "2",
            "--noise", "0.49")
    assert np.mean(coterie(*command, "-o", "m.h5", "--bootstrap", "12", "--json").json["bootstrap"]["support"]) < 0.8
    assert "--method pooled searches for none" in coterie("train", "d.csv", "-o", "p.h5", "--method", "pooled", "--bootstrap", "2", code=2).err


def test_pooled_gives_every_task_the_same_decisions(data):
    train(data, "pooled")
    rows = small_rows(tasks=("x",), n=9, seed=5)
    data.write("e.csv", csv_text([[*row[:-1], task] for task in TASKS for row in rows]))
    score = decisions(data, data="e.csv").reshape(len(TASKS), -1)
    assert (score == score[0]).all()


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic", "square"])
@pytest.mark.parametrize("method", LINEAR)
def test_losses_and_class_weights(data, method, loss):
    rows = small_rows(tasks=TASKS, n=24)
    data.write("e.csv", csv_text([row for i, row in enumerate(rows) if row[3] == "no" or i % 3 == 0]))  # three times as many of one class
    fits = []
    for weight in ("none", "balanced"):
        fits.append(train(data, method, "--loss", loss, "--class-weight", weight, "--scale", "none", data="e.csv"))
        check = data("verify", "m.h5", "e.csv", "--json").json  # which weighs the samples itself
        assert check["holds"] and check["objective"] == pytest.approx(fits[-1]["objective"], rel=1e-9)
    assert abs(fits[0]["objective"] - fits[1]["objective"]) > 1e-3 * fits[0]["objective"]  # ten times what the gaps leave open


@pytest.mark.parametrize("method", LINEAR)
def test_mapped_features_stand_for_kernels(data, method):
    """On the map of the linear kernel alone, without its norms, a method that does not care for rotations finds the same decisions."""
    mapped = ["--map", "kernels", "--kernels", "linear:raw", "--normalise", "none", "--scale", "standard", "--tolerance", "1e-8"]
    direct = train(data, method, "--tolerance", "1e-8", code=None)
    score = decisions(data)
    through = train(data, method, *mapped, code=None)
    assert data("inspect", "m.h5", "--json").json["kernels"] == ["linear:raw"]
    if method in ("cmtl", "whom", "metag", "coclus"):
        assert through["objective"] == pytest.approx(direct["objective"], rel=1e-6)
        np.testing.assert_allclose(decisions(data), score, atol=1e-3)
    gauss = train(data, method, "--map", "kernels:15", "--kernels", "gauss:1,2")
    assert len(data("inspect", "m.h5", "--json").json["support_vectors"]) <= 15
    assert gauss["status"] == "converged" and data("evaluate", "m.h5", "d.csv", "--json").json
    assert data("verify", "m.h5", "d.csv", "--json").json["holds"]


@pytest.mark.parametrize("method", ["uniform", "pooled", "tang", "cmtl", "metag"])
def test_classes_by_pairs(coterie, method):
    rows = small_rows(tasks=("a", "b", "c"), n=12)
    coterie.write("d.csv", csv_text([[*row[:3], row[4]] for row in rows], header=["f1", "f2", "f3", "label"]))
    train(coterie, method, "--one-vs-one")
    out = coterie("evaluate", "m.h5", "d.csv", "--json").json
    assert coterie("verify", "m.h5", "d.csv", "--json").json["holds"]
    assert len(out["tasks"]) == 3


def test_the_model_file_says_what_the_method_is(data):
    train(data, "flexclus", "--parameters", "lambda1=0.05")
    head = (data.folder / "m.h5").read_bytes()[:60]
    assert b"version 7\n" in head
    with h5py.File(data.folder / "m.h5") as file:
        assert file["/settings/method"][()] == b"flexclus" and file["/settings/parameters"][()] == b"lambda1=0.05 lambda2=0.1 lambda3=0.1"
        w, shared = file["/tasks/w"][()], file["/tasks/shared"][()]
        assert w.shape == shared.shape == (4, 3) and list(file["/certificates/claim"][()]) == [b"optimum"]
        assert "theta" not in file["/tasks"] and "alpha" not in file["/tasks"]
    train(data, "coterie", "--kernels", "linear")
    with h5py.File(data.folder / "m.h5") as file:
        assert file["/settings/method"][()] == b"coterie" and "w" not in file["/tasks"] and file["/tasks/theta"].shape == (4, 1)


def test_tampering_is_found(data):
    train(data, "metag", "--tolerance", "1e-8")

    def change(file):
        file["/tasks/w"][0, 0] += 0.5
    reseal(data.folder / "m.h5", change)
    result = data("verify", "m.h5", "d.csv", code=1)
    assert "the certificate does not hold" in result.err


@pytest.mark.parametrize("method", LINEAR)
def test_small_forgeries_of_linear_models_are_found(data, method):
    """A millionth of the objective, and a bound that would hide it."""
    train(data, method)
    path = data.folder / "m.h5"
    sound = path.read_bytes()

    def change(name, factor):
        reseal(path, lambda file: file["/certificates/" + name].__setitem__(0, file["/certificates/" + name][0] * factor))
    change("primal", 1 + 1e-6)
    assert "the objective is" in data("verify", "m.h5", "d.csv", code=1).err
    change("bound", 1e12)
    assert "though the status is converged" in data("verify", "m.h5", "d.csv", code=1).err
    path.write_bytes(sound)
    assert data("verify", "m.h5", "d.csv", "--json").json["holds"]


def test_swapped_labels_are_found(data):
    train(data, "cmtl")
    path = data.folder / "m.h5"
    reseal(path, lambda file: [file["/tasks/" + name].__setitem__(Ellipsis, np.array([text] * 4, h5py.string_dtype("utf-8", len(text)))) for name, text in
                               (("negative", b"yes"), ("positive", b"no"))])
    assert "has the labels" in data("verify", "m.h5", "d.csv", code=2).err


@pytest.mark.parametrize("parameters, says", [("between=5 within=5", "the certificate does not hold"), ("lambda=0.05", "the certificate does not hold")])
def test_other_parameters_are_found(data, parameters, says):
    train(data, "cmtl", "--parameters", "lambda=0.1")
    text = data("inspect", "m.h5", "--json").json["settings"]["parameters"]
    values = dict(part.split("=") for part in text.split()) | dict(part.split("=") for part in parameters.split())
    changed = " ".join(f"{name}={value}" for name, value in values.items()).encode()

    def change(file):
        del file["/settings/parameters"]
        file["/settings/parameters"] = np.array(changed, h5py.string_dtype("utf-8", len(changed)))
    reseal(data.folder / "m.h5", change)
    assert says in data("verify", "m.h5", "d.csv", code=1).err


def test_co_clusters_have_features(data):
    train(data, "coclus")
    model = data("inspect", "m.h5", "--json").json
    assert len(model["feature_clusters"]) == 3 and set(model["feature_clusters"]) <= set(range(len(model["groups"]) + 1))
    assert "features of the co-clusters" in data("inspect", "m.h5").out


@pytest.mark.parametrize("method", LINEAR + ["tang", "pareto", "pooled"])
def test_a_single_task(coterie, method):
    coterie.write("d.csv", small_csv(tasks=("a",)))
    assert train(coterie, method)["status"] == "converged"
    assert coterie("verify", "m.h5", "d.csv", "--json").json["holds"]


@pytest.mark.parametrize("method", LINEAR)
def test_the_gap_is_relative_to_a_small_objective(coterie, method):
    """More features than samples and little regularisation: objectives far below 1, which a looser and a tighter fit must agree on."""
    coterie.write("d.csv", small_csv(tasks=TASKS, n=8, features=25))
    small = {"cmtl": "lambda=1e-4", "whom": "lambda=1e-4", "flexclus": "lambda1=1e-3 lambda2=1e-3 lambda3=1e-3", "coclus": "ridge=1e-3",
             "metag": "lambda=1e-4 ridge=1e-4"}[method]
    loose, tight = (train(coterie, method, "--parameters", small, "--tolerance", tolerance, code=None) for tolerance in ("1e-3", "1e-7"))
    assert loose["status"] == "converged" and loose["objective"] < 0.1
    assert loose["objective"] == pytest.approx(tight["objective"], rel=2e-3)


@pytest.mark.parametrize("method", LINEAR)
def test_rounding_in_the_way_is_said(coterie, method):
    """One column times 1e9, not scaled: what is stated holds, and is not called converged where doubles cannot tell."""
    rows = small_rows(tasks=TASKS, n=20)
    coterie.write("d.csv", csv_text([[1e9 * float(row[0]), *row[1:]] for row in rows]))
    small = {"coclus": "ridge=1e-3", "flexclus": "lambda2=1e-3"}.get(method, "lambda=1e-3")
    fit = train(coterie, method, "--scale", "none", "--parameters", small, "--tolerance", "1e-9", "--max-steps", "10", code=None)
    if fit["status"] == "converged":
        assert fit["gap"] + fit["bound"] <= 1e-9
    assert fit["bound"] > 0
    assert coterie("verify", "m.h5", "d.csv", "--json", code=None).json["holds"]


def test_models_of_other_methods_are_not_extended(data):
    train(data, "stl")
    data.write("new.csv", small_csv(tasks=("z",)))
    assert "tasks can be added to models of --method coterie only" in data("extend", "m.h5", "new.csv", "-o", "e.h5", code=2).err


def test_stopping_short_is_said(data):
    fit = data("train", "d.csv", "-o", "m.h5", "--method", "cmtl", "--tolerance", "1e-14", "--max-steps", "1", code=3)
    assert "asked for 1.0e-14" in fit.err
    assert json.loads(data("inspect", "m.h5", "--json").out)["status"] != "converged"


@pytest.mark.parametrize("method", LINEAR)
def test_a_map_whose_pivots_are_equally_good_verifies(coterie, method):
    """One positive column: every row has the same kernel values with itself, and rounding must not choose among them."""
    random = np.random.default_rng(3)
    x = random.uniform(1, 200, 60)
    rows = [f"{value},{'a' if value + random.normal(0, 30) > 100 else 'b'},t{k % 3}" for k, value in enumerate(x)]
    (coterie.folder / "d.csv").write_text("f1,label,task\n" + "\n".join(rows) + "\n")
    for kernels in ("paper", "linear gauss:1,4"):
        coterie("train", "d.csv", "-o", "m.h5", "--method", method, "--map", "kernels:20", "--kernels", kernels, code=None)
        coterie("verify", "m.h5", "d.csv")


@pytest.mark.parametrize("method", LINEAR)
@pytest.mark.parametrize("kernels", ["linear:raw gauss:1", "poly:2:raw", "poly:3:1:raw"])
def test_maps_of_raw_kernels_verify_whatever_the_units(coterie, method, kernels):
    """Columns from 1 to 1e6: what a fit says of its certificate holds for the features that the model states, not only for those of the solver."""
    rows = small_rows(tasks=TASKS, n=16)
    coterie.write("d.csv", csv_text([[1e6 * float(row[0]), 1e3 * float(row[1]), *row[2:]] for row in rows]))
    for tolerance in ("1e-4", "1e-8"):
        fit = train(coterie, method, "--map", "kernels:12", "--kernels", kernels, "--normalise", "none", "--tolerance", tolerance, "--max-steps", "20", code=None)
        assert fit["status"] != "converged" or fit["gap"] + fit["bound"] <= float(tolerance)
        assert coterie("verify", "m.h5", "d.csv", "--json", code=None).json["findings"] == []


def test_a_map_of_other_features_is_found(data):
    """Features that are not the root of the kernels, and a model that does not hold them."""
    train(data, "cmtl", "--map", "kernels:6", "--kernels", "gauss:1")
    path = data.folder / "m.h5"
    sound = path.read_bytes()

    def change(file):
        file["/support_vectors/map"][0, 0] *= 1 + 1e-8
    reseal(path, change)
    assert "the map is not the root of the kernels at its pivots" in data("verify", "m.h5", "d.csv", code=1).err
    models = Path(__file__).parent / "models"
    path.write_bytes(gzip.decompress((models / "version4map.h5.gz").read_bytes()))
    reseal(path, lambda file: file.__delitem__("/method/map"))
    assert "does not hold the map of its features" in data("verify", "m.h5", models / "pairs.csv", code=2).err
    assert data("predict", "m.h5", models / "pairs.csv").out
    path.write_bytes(sound)
    assert "which rows are the pivots of the map" in data("verify", "m.h5", "d.csv", "--json").json["taken_from_model"]


def set_groups(path, groups):
    reseal(path, lambda file: file["/tasks/group"].__setitem__(Ellipsis, groups))


@pytest.mark.parametrize("map_", [[], ["--map", "kernels:8", "--kernels", "gauss:1"]])
def test_groups_of_metag_are_the_tasks_of_equal_weights(data, map_):
    path = data.folder / "m.h5"
    assert len(train(data, "metag", "--parameters", "lambda=10", *map_)["groups"]) == 1
    data("verify", "m.h5", "d.csv")
    set_groups(path, [0, 0, 1, 1])
    assert "task 'c' has the weights of another group, but is not listed there" in data("verify", "m.h5", "d.csv", code=1).err
    assert len(train(data, "metag", "--parameters", "lambda=1e-6", *map_)["groups"]) == 4
    set_groups(path, [0, 1, 2, 2])
    assert "the weights of a group are not equal" in data("verify", "m.h5", "d.csv", code=1).err


@pytest.mark.parametrize("method", ["stl", "uniform", "tang", "pareto"])
def test_equal_kernel_weights_listed_apart_are_found(coterie, method):
    rows = small_rows(tasks=("a",), n=20)
    coterie.write("d.csv", csv_text([[*row[:-1], task] for task in TASKS for row in rows]))
    assert len(train(coterie, method)["groups"]) == 1
    coterie("verify", "m.h5", "d.csv")
    set_groups(coterie.folder / "m.h5", [0, 0, 1, 1])
    assert "tasks 'a' and 'c' have equal weights, but are not listed as one group" in coterie("verify", "m.h5", "d.csv", code=1).err


def test_clusters_that_nothing_proves_are_listed(data):
    path = data.folder / "m.h5"
    for method, says in (("cmtl", "the clusters, which are read off the weights"), ("whom", "the clusters, for which the weights are optimal"),
                         ("coclus", "the clusters, which are read off the weights")):
        train(data, method, "--parameters", "clusters=2")
        assert says in data("verify", "m.h5", "d.csv", "--json").json["taken_from_model"]
        set_groups(path, [0, 1, 2, 2])
        assert "there are 3 groups, more than the 2 of the settings" in data("verify", "m.h5", "d.csv", code=1).err
    train(data, "flexclus")
    assert "clusters" not in str(data("verify", "m.h5", "d.csv", "--json").json["taken_from_model"])


@pytest.mark.parametrize("method", LINEAR)
def test_one_column_of_large_numbers_does_not_stop_the_others(coterie, method):
    """Not scaled, one column has a curvature a billion times that of the others. The optimum is still found, in the steps that scaled data takes."""
    rows = small_rows(tasks=TASKS, n=20, features=5)
    coterie.write("d.csv", csv_text([[3e4 * float(row[0]), *row[1:]] for row in rows]))
    parameters = {"coclus": "lambda2=10 ridge=1e-4", "metag": "lambda=1 ridge=0.1", "flexclus": "lambda1=1 lambda3=10"}.get(method, "lambda=0.01")
    fit = train(coterie, method, "--scale", "none", "--parameters", parameters, code=None)
    assert fit["status"] == "converged"
    coterie("verify", "m.h5", "d.csv")


@pytest.mark.parametrize("lambda2", ["1e-11", "1e-12", "1e-14", "1e-16", "1"])
def test_coclus_of_one_column_verifies(coterie, lambda2):
    """Two more columns are constant: Q has one direction, and the others that the measure counts are any; `verify` took rounding for one of them."""
    rows = small_rows(tasks=TASKS[:3], n=12, features=1)
    coterie.write("d.csv", csv_text([[row[0], 1, 2, *row[1:]] for row in rows]))
    train(coterie, "coclus", "--parameters", f"lambda2={lambda2}")
    coterie("verify", "m.h5", "d.csv")


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_coclus_takes_few_steps_whatever_the_units(coterie, loss):
    """Its convex problems used to take thousands of iterations each where one column is large, and none of them ended."""
    rows = small_rows(tasks=TASKS, n=24, features=3)
    coterie.write("d.csv", csv_text([[1e6 * float(row[0]), *row[1:]] for row in rows]))
    fit = train(coterie, "coclus", "--scale", "none", "--loss", loss, "--parameters", "lambda1=10 lambda2=10 ridge=1e-4", "--max-steps", "30", code=None)
    assert fit["status"] == "converged"
    coterie("verify", "m.h5", "d.csv")


@pytest.mark.parametrize("method, path, value, says", [
    ("coclus", "/certificates/dual", 0.1, "the dual value 0.1 is stated, and there is none"),
    ("metag", "/tasks/C", 2, "has C = 2, and metag has no C"),
    ("whom", "/certificates/lambda", 0.5, "states a lambda or lambda_max, which whom has not"),
    ("stl", "/certificates/lambda_max", 0.5, "states a lambda or lambda_max, which stl has not"),
    ("uniform", "/training_data/rows", 81, "the training data has 80 rows, not 81 as stated"),
])
def test_numbers_that_no_proof_needs_are_checked(data, method, path, value, says):
    train(data, method)
    reseal(data.folder / "m.h5", lambda file: file[path].__setitem__(..., value))
    assert says in data("verify", "m.h5", "d.csv", code=1).err
