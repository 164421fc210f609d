"""Pages: what stands in the file. How it looks and works in a browser is for page_browser_test.py."""

import base64
import csv
import hashlib
import io
import json
import os
import re
import shlex

import pytest

from support import csv_text, small_csv, small_rows

FAST = ["--kernels", "linear gauss:1,4"]
HOSTILE = ["</script><img src=x onerror=alert(1)>", "quote\"'`&amp;<!--", "\U0001f600 Δ ‮right to left", "x" * 300, "{{title}} $& \\u003c"]
BLOCK = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def page_of(coterie, name):
    """(text, data) of a page, which must be sound whatever is in it."""
    text = (coterie.folder / name).read_bytes().decode("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(script) == len(style) == 1
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def allowed(content):
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    assert rules == {"default-src": "'none'", "script-src": allowed(script[0]), "style-src": allowed(style[0]), "base-uri": "'none'", "form-action": "'none'"}
    assert len(BLOCK.findall(text)) == 1
    # Whatever names hold, there are the two scripts, and no tag that loads anything.
    assert len(re.findall(r"<script", text)) == len(re.findall(r"</script", text)) == 2
    around = BLOCK.sub("", text).replace(script[0], "").replace(style[0], "")
    assert not re.search(r"<(img|link|iframe|object|embed|base|form|audio|video|source)\b|\b(src|href|action)=", around)
    return text, json.loads(BLOCK.search(text)[1])


def weights(data, point=0):
    of = data["points"][point]
    return [of["weights"][row] for row in of["row"]]


def test_a_model_page_has_what_inspect_says(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c")))
    coterie("train", "d.csv", "--lambda", "0.3max", *FAST, "-o", "m.h5")
    said = coterie("page", "m.h5", "-o", "m.html", "--json").json
    assert said == {"page": "m.html", "bytes": (coterie.folder / "m.html").stat().st_size, "tasks": 3}
    text, data = page_of(coterie, "m.html")
    model = coterie("inspect", "m.h5", "--json").json
    assert data["kind"] == "model" and data["title"] == "m.h5" and "<title>m.h5</title>" in text
    for name in ("name", "n", "support_vectors", "objective", "bias"):
        assert data["tasks"][name] == [task[name] for task in model["tasks"]]
    assert weights(data) == [task["theta"] for task in model["tasks"]]
    assert data["kernels"] == model["kernels"]
    point = data["points"][0]
    assert [point[name] for name in ("objective", "dual", "gap", "lambda", "status")] == [model[name] for name in ("objective", "dual", "gap", "lambda", "status")]
    assert point["group"] == [task["group"] for task in model["tasks"]] and point["groups"] == len(model["groups"])
    assert dict(map(tuple, data["facts"]))["kernels"] == model["settings"]["kernels"]
    assert f"{model['objective']:.8g}" in data["certificate"] and "Certified" in data["certificate"]
    assert "scores" not in data["tasks"]


def test_scores_are_those_of_evaluate(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c")))
    coterie.write("test.csv", small_csv(tasks=("a", "b"), seed=9))  # nothing about c
    coterie("train", "d.csv", *FAST, "--calibrate", "platt", "-o", "m.h5")
    coterie("page", "m.h5", "test.csv", "-o", "m.html")
    _, data = page_of(coterie, "m.html")
    found = {task["name"]: task for task in coterie("evaluate", "m.h5", "test.csv", "--json").json["tasks"]}
    scores = data["tasks"]["scores"]
    assert {"n", "errors", "accuracy", "auc", "log_loss"} <= set(scores)
    for name, column in scores.items():
        assert column[:2] == [found[task][name] for task in "ab"], name
    assert scores["accuracy"][2] is None
    assert data["held_out"]["name"] == "test.csv" and data["held_out"]["n"] == 28


def test_a_path_page_has_what_path_says(coterie):
    coterie("data", "generate", "-o", "p.csv", "--tasks", 6, "--groups", 2, "--samples", 30, "--seed", 7)
    command = ["path", "p.csv", "-C", "0.5", *FAST, "--hold-out", "0.3", "--bootstrap", 3, "-o", "folder", "--page", "p.html", "--json"]
    path = coterie(*command).json
    _, data = page_of(coterie, "p.html")
    assert data["kind"] == "path" and data["tasks"]["name"] == path["tasks"] and data["lambda_max"] == path["lambda_max"]
    assert len(data["points"]) == len(path["points"]) > 10
    for k, (ours, theirs) in enumerate(zip(data["points"], path["points"])):
        for name in ("lambda", "objective", "dual", "gap", "status", "train_accuracy", "held_out_accuracy"):
            assert ours[name] == theirs[name]
        assert weights(data, k) == theirs["theta"]
        members = {}
        for task, group in zip(path["tasks"], ours["group"]):
            members.setdefault(group, []).append(task)
        assert [members[group] for group in sorted(members)] == theirs["groups"]
    rows = list(csv.DictReader(io.StringIO((coterie.folder / "folder" / "path.csv").read_text())))
    assert [float(row["share_of_lambda_max"]) for row in rows] == [float(point["share"]) for point in data["points"]]
    assert [node["children"] for node in data["tree"]] == [node["children"] for node in path["tree"]]
    assert all(0 <= node["support"] <= 1 for node in data["tree"]) and data["resamples"] == 3
    assert sorted(data["order"]) == list(range(6))
    together = path["time_together"]
    for i, row in enumerate(data["affinity"]["rows"]):
        assert row == [pytest.approx(together[data["order"][i]][data["order"][j]], abs=6e-5) for j in range(i + 1)]
    assert data["points"][data["best"]]["lambda"] == path["best"]["lambda"]


def test_the_command_for_k_groups_makes_them(coterie):
    coterie("data", "generate", "-o", "p q.csv", "--tasks", 6, "--groups", 2, "--samples", 40, "--seed", 7)
    kernels = "gauss:2@f1-f4 gauss:2@f5-f8"
    coterie("path", "p q.csv", "-C", "0.5", "--kernels", kernels, "--page", "p.html", "--scale", "standard", "--seed", 3, "--quiet")
    _, data = page_of(coterie, "p.html")
    words = shlex.split(data["command"])
    assert words[:3] == ["coterie", "train", "p q.csv"] and kernels in words and "--page" not in words
    numbers = [entry[0] for entry in data["by_groups"]]
    assert numbers == sorted(numbers) and 1 in numbers and len(numbers) > 2
    for groups, lamb, place in data["by_groups"]:
        assert data["points"][place]["lambda"] == lamb and data["points"][place]["groups"] == groups
        model = coterie(*words[1:], "--lambda", lamb, "-o", "k.h5", "--json").json
        assert len(model["groups"]) == groups
        coterie("path", "p q.csv", "-C", "0.5", "--kernels", kernels, "--scale", "standard", "--groups", groups, "--model", "same.h5")
        same = coterie("inspect", "same.h5", "--json").json
        assert same["lambda"] == model["lambda"] and same["groups"] == model["groups"]


def test_a_page_of_a_search(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c")))
    found = coterie("select", "d.csv", *FAST, "-C", "0.5,1,2", "--lambda", "0,0.1max,inf", "--norm", "1,inf", "--folds", 3, "--page", "s.html", "-o", "s.h5", "--json").json
    _, data = page_of(coterie, "s.html")
    grid = data["selection"]
    assert data["kind"] == "selection" and grid["score"] == found["score"]
    columns = [column["name"] for column in grid["columns"]]
    for point, row in zip(grid["points"], found["grid"], strict=True):
        assert point["score"] == row["score"] and point["standard_error"] == row["standard_error"]
        values = {name: column["values"][place] for name, column, place in zip(columns, grid["columns"], point["at"])}
        assert float(values["C"]) == row["C"] and values["lambda"] == row["lambda"] and values["normalise"] == row["normalise"]
    assert sum(point["within"] for point in grid["points"]) == grid["within"] == found["confidence"]["within_one_standard_error"]
    assert found["grid"][grid["chosen"]]["chosen"]
    assert grid["methods"] == []
    assert data["points"][0]["objective"] == found["fit"]["objective"]


def test_a_page_of_several_methods(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c")))
    found = coterie("select", "d.csv", *FAST, "--method", "coterie,cmtl", "-C", "1", "--lambda", "0,inf", "--folds", 3, "--page", "s.html", "-o", "s.h5", "--json").json
    _, data = page_of(coterie, "s.html")
    assert [(one["name"], one["value"], one["best"]) for one in data["selection"]["methods"]] == [(one["name"], one["value"], one["best"]) for one in found["methods"]]


PLAN = """repetitions = 3
shares = [0.3, 0.5]
[[dataset]]
name = "one"
files = "p.csv"
[[dataset]]
name = "two </script>"
files = "q.csv"
[[method]]
name = "ours"
kernels = "linear gauss:1,4"
C = [1]
lambda = "0.1max"
[[method]]
name = "stl"
method = "stl"
kernels = "linear"
C = [1]
[[method]]
name = "mtl"
method = "mtl"
kernels = "linear"
C = [1]
"""


def test_a_page_of_a_study(coterie):
    for name, seed in (("p.csv", 1), ("q.csv", 2)):
        coterie("data", "generate", "-o", name, "--tasks", 4, "--groups", 2, "--samples", 40, "--seed", seed)
    coterie.write("plan.toml", PLAN)
    coterie("experiment", "plan.toml", "-o", "out", "--page", "study.html", "--quiet", environment={"COTERIE_DATA": ""})
    _, data = page_of(coterie, "study.html")
    found = json.loads((coterie.folder / "out" / "statistics.json").read_text())
    assert data["kind"] == "study" and data["study"]["cells"] == found["cells"] == 36
    for ours, theirs in zip(data["study"]["blocks"], found["blocks"], strict=True):
        assert {one["method"]: one["rank"] for one in ours["ranks"]} == theirs["average_ranks"]
        assert {one["method"]: one["adjusted_p"] for one in ours["ranks"] if one["adjusted_p"] is not None} == {one["method"]: one["adjusted_p"] for one in theirs["holm"]}
        assert [one["p"] for one in ours["differences"]] == [one["p"] for one in theirs["differences"]]
    differences = list(csv.DictReader(io.StringIO((coterie.folder / "out" / "differences.csv").read_text())))
    shown = [one for block in data["study"]["blocks"] for one in block["differences"]]
    assert [one["mean"] for one in shown] == pytest.approx([100 * float(row["gain"]) for row in differences])
    assert [table["methods"] for table in data["study"]["tables"]] == [["ours", "stl", "mtl"]] * 2


def test_names_can_hold_anything(coterie):
    rows = small_rows(tasks=HOSTILE)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["f1", "f2", "f3", "label", "task"])
    writer.writerows(rows)
    coterie.write("d.csv", out.getvalue())
    coterie("path", "d.csv", *FAST, "--page", "p.html", "--quiet")
    _, data = page_of(coterie, "p.html")
    assert data["tasks"]["name"] == HOSTILE
    coterie("train", "d.csv", *FAST, "-o", "<b>&.h5")
    coterie("page", "<b>&.h5", "d.csv", "-o", "m.html")
    text, data = page_of(coterie, "m.html")
    assert data["title"] == "<b>&.h5" and "<title>&lt;b&gt;&amp;.h5</title>" in text and data["tasks"]["name"] == HOSTILE


def test_file_names_that_are_no_text_are_replaced(coterie):
    coterie.write("d.csv", small_csv())
    coterie("train", "d.csv", *FAST, "-o", "m.h5")
    odd = os.fsdecode(b"a\xff\xfe.h5")
    (coterie.folder / "m.h5").rename(coterie.folder / odd)
    coterie("page", odd, "-o", "m.html")
    text, data = page_of(coterie, "m.html")
    assert data["title"] == "a\ufffd\ufffd.h5" and "<title>a\ufffd\ufffd.h5</title>" in text


@pytest.mark.parametrize("options", [["--method", "cmtl"], ["--method", "coclus"], ["--method", "pooled"], ["--method", "whom"], ["--norm", "inf"], ["--lambda", "inf"],
                                     ["--method", "cmtl", "--map", "kernels:8"], ["--max-steps", "1", "--lambda", "0.2max", "--tolerance", "1e-12"]], ids=" ".join)
def test_models_of_all_kinds(coterie, options):
    coterie.write("d.csv", small_csv(tasks=("a", "b", "c", "d")))
    kernels = [] if "cmtl" in options and "--map" not in options or "coclus" in options or "whom" in options else FAST
    trained = coterie("train", "d.csv", *kernels, *options, "-o", "m.h5", "--json", code=None).json
    coterie("page", "m.h5", "d.csv", "-o", "m.html")
    _, data = page_of(coterie, "m.html")
    assert data["method"] == trained["method"] and len(weights(data)) == 4
    assert len(data["kernels"]) == len(weights(data)[0]) and all(any(row) for row in weights(data))
    assert ("ended short" in data["certificate"]) == (trained["status"] != "converged")


def test_many_kernels_are_summed_up(coterie):
    coterie.write("d.csv", small_csv(features=20))
    coterie("train", "d.csv", "--kernels", " ".join(f"gauss:1,2@f{j}" for j in range(1, 21)), "-o", "m.h5")
    coterie("page", "m.h5", "-o", "m.html")
    _, data = page_of(coterie, "m.html")
    theta = [task["theta"] for task in coterie("inspect", "m.h5", "--json").json["tasks"]]
    assert len(data["kernels"]) == 20 and data["kernels"][-1] == "21 others" and "Of 40 kernels" in " ".join(data["notes"])
    assert [sum(row) for row in weights(data)] == pytest.approx([sum(row) for row in theta])


def test_tasks_that_were_added_later_have_their_own_certificate(coterie):
    coterie.write("d.csv", small_csv(tasks=("a", "b")))
    coterie.write("new.csv", small_csv(tasks=("c",), seed=4))
    coterie("train", "d.csv", *FAST, "-o", "m.h5")
    coterie("extend", "m.h5", "new.csv", "-o", "more.h5")
    coterie("page", "more.h5", "-o", "m.html")
    _, data = page_of(coterie, "m.html")
    model = coterie("inspect", "more.h5", "--json").json
    assert data["tasks"]["gap"] == [model["gap"], model["gap"], model["extensions"][0]["gap"]]
    assert data["notes"][0].startswith("Tasks added to the 2 that were there: 1. Of them: Certified: ")


def test_one_task(coterie):
    coterie.write("d.csv", small_csv(tasks=("only",)))
    coterie("path", "d.csv", *FAST, "--page", "p.html", "--quiet")
    assert page_of(coterie, "p.html")[1]["tree"] == []
    coterie("train", "d.csv", *FAST, "-o", "m.h5")
    coterie("page", "m.h5", "-o", "m.html")
    assert page_of(coterie, "m.html")[1]["affinity"]["rows"] == [[1]]


def test_threads_change_no_byte(coterie):
    coterie("data", "generate", "-o", "p.csv", "--tasks", 5, "--groups", 2, "--samples", 30, "--seed", 7)
    pages = []
    for threads in (1, 3):
        coterie("path", "p.csv", "-C", 1, *FAST, "--bootstrap", 2, "--page", "p.html", "--quiet", "--threads", threads)
        data = page_of(coterie, "p.html")[1]
        data["command"] = data["command"].replace(f" --threads {threads}", "")
        pages.append(data)
    assert pages[0] == pages[1]
