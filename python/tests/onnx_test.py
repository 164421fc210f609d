"""Exported decision functions give the scores of the estimator, by onnx's own reference of every operator."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import planted

from coterie import CoterieClassifier
from evaluate_onnx import run

X, Y, NAMES = planted()
NEW = planted(seed=9)[0]
MANY = np.digitize(X[:, 0], [-0.4, 0.4])

KINDS = {
    "mix": {"kernels": "linear poly:3:1 gauss:1,3 laplace:2 cauchy:1"},
    "raw": {"kernels": "linear:raw poly:2:0.5:raw gauss:2", "normalise": "none"},
    "equal weights": {"kernels": "linear poly:2 gauss:1,2 laplace:1 cauchy:3", "norm": float("inf")},
    "blocks and divisors": {"kernels": "linear@f1-f3 gauss:1@f2+f5 poly:2:1@f4", "norm": 2, "normalise": "variance"},
    "scaled": {"kernels": "linear gauss:1", "scale": "standard"},
    "smoothed": {"kernels": "gauss:1 poly:1:1", "scale": "minmax", "smooth": 2},
    "linear": {"method": "cmtl"},
}


def check(path, rows, scores, labels):
    model = onnx.load(path)
    onnx.checker.check_model(model)
    assert all(node.domain == "" for node in model.graph.node)
    found = run(model, {"X": rows})
    assert found["scores"].dtype == np.float64
    np.testing.assert_allclose(found["scores"], scores, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(found["labels"], labels)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_every_task(kind, tmp_path):
    model = CoterieClassifier(**KINDS[kind]).fit(X, Y, tasks=NAMES)
    for task in model.tasks_:
        model.export_onnx(tmp_path / "model.onnx", task=task)
        tasks = np.full(len(NEW), task)
        labels = (model.predict(NEW, tasks=tasks) == model.classes_[1]).astype(int)
        check(tmp_path / "model.onnx", NEW, model.decision_function(NEW, tasks=tasks)[:, None], labels)


@pytest.mark.parametrize("labels", [["9", "10"], ["10", "9"], ["a", "b"]])
def test_signs_are_those_of_classes(labels, tmp_path):
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    model = CoterieClassifier().fit(X, y)
    model.export_onnx(tmp_path / "model.onnx")
    check(tmp_path / "model.onnx", NEW, model.decision_function(NEW)[:, None], (model.predict(NEW) == model.classes_[1]).astype(int))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes(multi_class, tmp_path):
    model = CoterieClassifier(multi_class=multi_class).fit(X, MANY)
    model.export_onnx(tmp_path / "model.onnx")
    found = run(onnx.load(tmp_path / "model.onnx"), {"X": NEW})
    np.testing.assert_array_equal(model.classes_[found["labels"]], model.predict(NEW))
    by_task = model.fit(X, MANY, tasks=NAMES)
    by_task.export_onnx(tmp_path / "task.onnx", task="t2")
    found = run(onnx.load(tmp_path / "task.onnx"), {"X": NEW})
    np.testing.assert_array_equal(by_task.classes_[found["labels"]], by_task.predict(NEW, tasks=np.full(len(NEW), "t2")))


@pytest.mark.parametrize(
    "parameters, text",
    [
        ({"kernels": "chi2 linear:raw"}, "the kernel chi2 cannot be exported; those that can are linear, poly, gauss"),
        ({"kernels": "linear gauss:1@pooled"}, "scores of other models"),
        ({"method": "cmtl", "map": "kernels:20"}, "mapped kernels"),
    ],
)
def test_the_rest_is_refused(parameters, text, tmp_path):
    model = CoterieClassifier(**parameters).fit(np.abs(X), Y, tasks=NAMES)
    with pytest.raises(ValueError, match=text):
        model.export_onnx(tmp_path / "model.onnx", task="t0")
    assert not (tmp_path / "model.onnx").exists()


def test_a_task_is_needed(tmp_path):
    model = CoterieClassifier().fit(X, Y, tasks=NAMES)
    for task in (None, "t9"):
        with pytest.raises(ValueError, match="the model has several: choose one of t"):
            model.export_onnx(tmp_path / "model.onnx", task=task)
    with pytest.raises(ValueError, match="the kernel precomputed"):
        CoterieClassifier(kernels="precomputed").fit(X @ X.T, X[:, 0] > 0).export_onnx(tmp_path / "model.onnx")


def test_scores_do_not_depend_on_classes_that_vote(tmp_path):
    model = CoterieClassifier().fit(X, MANY)
    model.export_onnx(tmp_path / "model.onnx")
    found = run(onnx.load(tmp_path / "model.onnx"), {"X": NEW})
    pairs = [CoterieClassifier().fit(X, MANY).model_.parts()["tasks"][t]["name"] for t in range(3)]
    assert found["scores"].shape == (len(NEW), 3) and pairs == ["0|1", "0|2", "1|2"]


def test_a_script_of_its_own(tmp_path):
    """Nothing but coterie is imported before."""
    script = "import coterie; X, y, *_ = coterie.plant_groups(tasks=2, groups=1, samples=20); coterie.CoterieClassifier().fit(X, y).export_onnx('model.onnx')"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(onnx.load(tmp_path / "model.onnx"))


def has_runtime():
    probe = subprocess.run(["node", "-e", "require.resolve('onnxruntime-web')"], capture_output=True) if shutil.which("node") else None
    return probe is not None and probe.returncode == 0


@pytest.mark.skipif(not has_runtime(), reason="node finds no onnxruntime-web (npm install onnxruntime-web, and NODE_PATH)")
@pytest.mark.parametrize("kind", KINDS)
def test_a_runtime_gives_the_same(kind, tmp_path):
    model = CoterieClassifier(**KINDS[kind]).fit(X, Y, tasks=NAMES)
    model.export_onnx(tmp_path / "model.onnx", task="t1")
    (tmp_path / "rows.json").write_text(json.dumps(NEW.tolist()))
    script = Path(__file__).with_name("run_onnx.js")
    done = subprocess.run(["node", str(script), tmp_path / "model.onnx", tmp_path / "rows.json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    tasks = np.full(len(NEW), "t1")
    np.testing.assert_allclose(found["scores"], model.decision_function(NEW, tasks=tasks), rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(model.classes_[found["labels"]], model.predict(NEW, tasks=tasks))
