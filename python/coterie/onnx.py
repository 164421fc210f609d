"""Decision functions as ONNX: basic operators, in double precision."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _data


class _Graph:
    """Nodes and constants of a graph that grows."""

    def __init__(self) -> None:
        import onnx.helper
        import onnx.numpy_helper  # onnx does not always bring its parts

        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._names = 0

    def constant(self, value: Any) -> str:
        """The name of an array."""
        name = self._name()
        array = np.ascontiguousarray(value) if np.ndim(value) else np.array(value)
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The name of what an operator gives."""
        name = attributes.pop("output", None) or self._name()
        self.nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"


def _columns(graph: _Graph, X: str, kernel: dict[str, Any]) -> str:
    if not kernel["columns"]:
        return X
    return graph.node("Gather", X, graph.constant(np.array(kernel["columns"], dtype=np.int64)), axis=1)


def _squared_norms(graph: _Graph, X: str) -> str:
    return graph.node("ReduceSum", graph.node("Mul", X, X), graph.constant(np.array([1], dtype=np.int64)), keepdims=1)


def _kernel(graph: _Graph, kernel: dict[str, Any], X: str, Z: np.ndarray) -> str:
    """Values between the rows of X and those of Z, a constant."""
    x = _columns(graph, X, kernel)
    z = Z[:, kernel["columns"]] if kernel["columns"] else Z
    base, width = kernel["base"], kernel["parameter"]
    if base in ("gauss", "laplace", "cauchy"):
        distance = _distance(graph, x, z, squared=base != "laplace")
        if base == "cauchy":
            one = graph.constant(np.float64(1))
            return graph.node("Div", one, graph.node("Add", one, graph.node("Mul", distance, graph.constant(np.float64(width**-2)))))
        factor = -1 / (2 * width**2) if base == "gauss" else -1 / width
        return graph.node("Exp", graph.node("Mul", distance, graph.constant(np.float64(factor))))
    offset, degree = kernel["offset"], kernel["parameter"] if base == "poly" else 1.0
    values = graph.node("MatMul", x, graph.constant(z.T))
    squares = (z * z).sum(axis=1)
    values = graph.node("Add", values, graph.constant(np.float64(offset)))
    if not kernel["raw"]:
        own = graph.node("Sqrt", graph.node("Add", _squared_norms(graph, x), graph.constant(np.float64(offset))))
        values = graph.node("Div", graph.node("Div", values, own), graph.constant(np.sqrt(squares + offset)[None, :]))
    return graph.node("Pow", values, graph.constant(np.float64(degree))) if degree != 1 else values


def _distance(graph: _Graph, x: str, z: np.ndarray, squared: bool) -> str:
    """Of every two rows, from their differences: products would lose digits."""
    axes = graph.constant(np.array([1], dtype=np.int64))
    difference = graph.node("Sub", graph.node("Unsqueeze", x, axes), graph.constant(z[None, :, :]))
    size = graph.node("Mul", difference, difference) if squared else graph.node("Abs", difference)
    return graph.node("ReduceSum", size, graph.constant(np.array([2], dtype=np.int64)), keepdims=0)


def _scaled(graph: _Graph, parts: dict[str, Any], X: str) -> str:
    if len(parts["shift"]):
        X = graph.node("Mul", graph.node("Sub", X, graph.constant(parts["shift"][None, :])), graph.constant(parts["factor"][None, :]))
    if parts["smooth"] > 1:
        neighbours = np.array(parts["neighbours"]).reshape(-1, parts["smooth"])
        mean = np.zeros((len(neighbours), len(neighbours)))
        for column, of in enumerate(neighbours):
            np.add.at(mean[:, column], of, 1 / parts["smooth"])
        X = graph.node("MatMul", X, graph.constant(mean))
    return X


def _check(model: Any, parts: dict[str, Any]) -> None:
    if parts["first_stage"]:
        raise ValueError("kernels on scores of other models (@pooled, @others, @group) cannot be exported.")
    if parts["mapped"]:
        raise ValueError("linear methods on mapped kernels (map='kernels') cannot be exported.")
    known = ("linear", "poly", "gauss", "laplace", "cauchy")
    for kernel in parts["kernels"]:
        if kernel["base"] not in known:
            raise ValueError(f"the kernel {kernel['name']} cannot be exported; those that can are {', '.join(known)}.")


def _chosen_tasks(estimator: Any, task: Any) -> list[int]:
    tasks = estimator.model_.tasks
    if estimator.model_.casting != "binary":
        parts = list(dict.fromkeys(one["part"] for one in tasks))
        part = parts[0] if task is None and len(parts) == 1 else None if task is None else _data.text_of(task, "task")
        found = [t for t, one in enumerate(tasks) if one["part"] == part]
    else:
        name = tasks[0]["name"] if task is None and len(tasks) == 1 else None if task is None else _data.text_of(task, "task")
        found = [t for t, one in enumerate(tasks) if one["name"] == name]
    if not found:
        names = ", ".join(estimator._parts()[:10])
        raise ValueError(f"task is {task!r}; the model has several: choose one of {names}.")
    return found


def export_onnx(estimator: Any, path: str | os.PathLike[str], task: Any = None) -> None:
    """Write the decision function of an estimator.

    The graph has the input `X`, rows of features without the column of tasks, in double precision; the output `scores`, a column for
    every binary task: of two classes positive for `classes_[1]`, of more the tasks that vote; and the output `labels`, numbers of
    `classes_`.

    Parameters
    ----------
    estimator : CoterieClassifier or CoterieClassifierCV
        Fitted; of mixes of linear, polynomial, Gaussian, Laplace and Cauchy kernels, or linear.
    path : str or path
        Where it goes.
    task : str or int, default=None
        Of which task; models of several need one.
    """
    check_is_fitted(estimator, "model_")
    try:
        import onnx.checker
        from onnx import helper
    except ImportError:
        raise ImportError("export_onnx needs the package onnx; install python3-onnx.") from None
    parts = estimator.model_.parts()
    _check(estimator.model_, parts)
    chosen = _chosen_tasks(estimator, task)
    graph = _Graph()
    X = _scaled(graph, parts, "X")
    scores = _linear_scores(graph, estimator, chosen, X) if estimator.model_.is_linear else _kernel_scores(graph, estimator, parts, chosen, X)
    _labels(graph, estimator, parts, chosen, scores)
    features = len(estimator.model_.features)
    double, whole = onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64
    made = helper.make_graph(
        graph.nodes,
        "coterie",
        [helper.make_tensor_value_info("X", double, ["rows", features])],
        [helper.make_tensor_value_info("scores", double, ["rows", len(chosen)]), helper.make_tensor_value_info("labels", whole, ["rows"])],
        graph.constants,
    )
    model = helper.make_model(made, producer_name="coterie", opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, os.fspath(path))


def _signs(estimator: Any, parts: dict[str, Any], chosen: list[int]) -> np.ndarray:
    """Scores of two classes are positive for classes_[1]."""
    if len(estimator.classes_) != 2:
        return np.ones(len(chosen))
    return np.array([1.0 if parts["tasks"][t]["positive"] == estimator._class_names[1] else -1.0 for t in chosen])


def _linear_scores(graph: _Graph, estimator: Any, chosen: list[int], X: str) -> str:
    parts = estimator.model_.parts()
    signs = _signs(estimator, parts, chosen)
    weights = estimator.coef_[chosen].T * signs
    bias = estimator.intercept_[chosen] * signs
    return graph.node("Add", graph.node("MatMul", X, graph.constant(weights)), graph.constant(bias[None, :]), output="scores")


def _kernel_scores(graph: _Graph, estimator: Any, parts: dict[str, Any], chosen: list[int], X: str) -> str:
    weights = estimator.kernel_weights_
    signs = _signs(estimator, parts, chosen)
    used = sorted({s for t in chosen for s in parts["tasks"][t]["support"]})
    place = {s: k for k, s in enumerate(used)}
    coefficients = np.zeros((len(used), len(chosen)))
    for column, t in enumerate(chosen):
        for s, value in zip(parts["tasks"][t]["support"], parts["tasks"][t]["coefficients"]):
            coefficients[place[s], column] = signs[column] * value
    total = graph.constant((signs * estimator.intercept_[chosen])[None, :])
    Z = parts["support_vectors"][used]
    for m, kernel in enumerate(parts["kernels"]):
        factors = weights[chosen, m] / parts["divisors"][m]
        if used and factors.any():
            values = _kernel(graph, kernel, X, Z)
            total = graph.node("Add", graph.node("MatMul", values, graph.constant(coefficients * factors)), total)
    rows = graph.node("Gather", graph.node("Shape", X), graph.constant(np.array([0], dtype=np.int64)))
    shape = graph.node("Concat", rows, graph.constant(np.array([len(chosen)], dtype=np.int64)), axis=0)
    return graph.node("Expand", total, shape, output="scores")


def _labels(graph: _Graph, estimator: Any, parts: dict[str, Any], chosen: list[int], scores: str) -> None:
    if len(estimator.classes_) == 2:
        positive = graph.node("Greater", scores, graph.constant(np.float64(0)))
        flat = graph.node("Squeeze", positive, graph.constant(np.array([1], dtype=np.int64)))
        graph.node("Cast", flat, to=7, output="labels")
        return
    names = list(estimator._class_names)
    plus, minus = np.zeros((len(chosen), len(names))), np.zeros((len(chosen), len(names)))
    one_vs_one = estimator.model_.casting == "one-vs-one"
    for row, t in enumerate(chosen):
        task = parts["tasks"][t]
        plus[row, names.index(task["positive"])] = 1
        if one_vs_one:
            minus[row, names.index(task["negative"])] = 1
    sums = graph.node("MatMul", scores, graph.constant(plus - minus))
    if one_vs_one:
        said = graph.node("Cast", graph.node("Greater", scores, graph.constant(np.float64(0))), to=11)
        other = graph.node("Sub", graph.constant(np.float64(1)), said)
        votes = graph.node("Add", graph.node("MatMul", said, graph.constant(plus)), graph.node("MatMul", other, graph.constant(minus)))
        size = graph.node("Mul", graph.node("Add", graph.node("Abs", sums), graph.constant(np.float64(1))), graph.constant(np.float64(3)))
        sums = graph.node("Add", votes, graph.node("Div", sums, size))
    absent = np.where((plus + minus).any(axis=0), 0.0, -np.inf)
    graph.node("ArgMax", graph.node("Add", sums, graph.constant(absent[None, :])), axis=1, keepdims=0, output="labels")
