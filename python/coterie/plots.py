"""Pictures of models, paths and searches, on matplotlib. Each draws into an Axes and returns it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._path import LambdaPath


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib; install python3-matplotlib.") from None
    return plt.subplots()[1]


def _shares(path: LambdaPath) -> np.ndarray:
    """Lambdas as shares of the largest, the ends moved to where the picture has room."""
    lam = np.array(path.lam)
    inside = (lam > 0) & np.isfinite(lam)
    if not inside.any() or not path.lam_max > 0:
        return np.linspace(1, 0.1, len(lam))
    lam[np.isinf(lam)] = 2 * max(lam[inside].max(), path.lam_max)
    lam[lam == 0] = lam[inside].min() / 2
    return lam / path.lam_max


def plot_weights(path: LambdaPath, kernel: Any = 0, ax: Any = None) -> Any:
    """Draw the weight of a kernel in every task along lambda.

    Parameters
    ----------
    path : LambdaPath
        Of `coterie.path`.
    kernel : str or int, default=0
        Which kernel, by name or number.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; a new figure unless given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With a line per task.
    """
    number = _kernel_number(kernel, path.kernels)
    ax = _axes(ax)
    shares = _shares(path)
    for t, name in enumerate(path.tasks):
        ax.plot(shares, path.weights[:, t, number], label=name, linewidth=1)
    ax.set_xscale("log")
    ax.set_xlabel("lambda, as a share of the largest")
    ax.set_ylabel(f"weight of {path.kernels[number]}")
    if len(path.tasks) <= 12:
        ax.legend(fontsize="small")
    return ax


def plot_tree(path: LambdaPath, ax: Any = None) -> Any:
    """Draw the tree of which tasks join when, as lambda grows.

    Parameters
    ----------
    path : LambdaPath
        Of `coterie.path`.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; a new figure unless given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        Tasks on the left; a bar where some join, dotted where they part again at a larger lambda.
    """
    ax = _axes(ax)
    count = len(path.tasks)
    order = _leaf_order(path)
    height = {task: float(place) for place, task in enumerate(order)}
    start = {task: 0.0 for task in range(count)}
    largest = max([path.lam_max, *(node["lam"] for node in path.nodes if np.isfinite(node["lam"]))], default=1.0) or 1.0
    for number, node in enumerate(path.nodes, count):
        x = (node["lam"] if np.isfinite(node["lam"]) else largest) / largest
        x = max(x, *(start[child] for child in node["children"]))
        heights = [height[child] for child in node["children"]]
        for child in node["children"]:
            ax.plot([start[child], x], [height[child]] * 2, color="black", linewidth=1)
        ax.plot([x, x], [min(heights), max(heights)], color="black", linewidth=1, linestyle="-" if node["for_good"] else ":")
        height[number], start[number] = float(np.mean(heights)), x
    for top in set(height) - {child for node in path.nodes for child in node["children"]}:
        ax.plot([start[top], 1.05], [height[top]] * 2, color="black", linewidth=1)
    ax.set_yticks(range(count), [path.tasks[task] for task in order])
    ax.invert_yaxis()
    ax.set_xlabel("lambda, as a share of the largest")
    return ax


def _leaf_order(path: LambdaPath) -> list[int]:
    """The tasks so that those of a node are neighbours."""
    count = len(path.tasks)
    inner = {child for node in path.nodes for child in node["children"]}
    order: list[int] = []

    def visit(number: int) -> None:
        if number < count:
            order.append(number)
            return
        for child in path.nodes[number - count]["children"]:
            visit(child)

    for number in reversed(range(count + len(path.nodes))):
        if number not in inner:
            visit(number)
    return order


def plot_affinity(path: LambdaPath, ax: Any = None) -> Any:
    """Draw for how much of the path every two tasks share a kernel.

    Parameters
    ----------
    path : LambdaPath
        Of `coterie.path`.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; a new figure unless given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A square of cells, dark where tasks are together; tasks of a group are neighbours.
    """
    ax = _axes(ax)
    order = _leaf_order(path)
    names = [path.tasks[task] for task in order]
    image = ax.imshow(path.together[np.ix_(order, order)], cmap="Greys", vmin=0, vmax=1)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(names)), names)
    ax.figure.colorbar(image, ax=ax, label="share of the path in one group")
    return ax


def _kernel_number(kernel: Any, names: list[str]) -> int:
    if isinstance(kernel, str):
        if kernel not in names:
            raise ValueError(f"there is no kernel {kernel!r}; there are {', '.join(names[:10])}.")
        return names.index(kernel)
    if isinstance(kernel, bool) or not isinstance(kernel, (int, np.integer)) or not 0 <= kernel < len(names):
        raise ValueError(f"kernel is {kernel!r}; it must be a name, or a number from 0 to {len(names) - 1}.")
    return int(kernel)


def plot_weight_plane(model: Any, x: Any = 0, y: Any = 1, ax: Any = None) -> Any:
    """Draw the weights of two kernels in every task, a colour for each group.

    Parameters
    ----------
    model : CoterieClassifier
        Fitted.
    x, y : str or int, default=0 and 1
        Which kernels, by name or number.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; a new figure unless given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A point per task; tasks of a group share theirs.
    """
    check_is_fitted(model, "model_")
    names = model.kernel_names_
    across, up = _kernel_number(x, names), _kernel_number(y, names)
    ax = _axes(ax)
    weights, tasks = model.kernel_weights_, list(model.tasks_)
    for number, group in enumerate(model.groups_, 1):
        rows = [tasks.index(name) for name in group]
        alone = len(group) == 1
        ax.scatter(weights[rows, across], weights[rows, up], color="grey" if alone else None, label=None if alone else f"group {number}")
    ax.set_xlabel(f"weight of {names[across]}")
    ax.set_ylabel(f"weight of {names[up]}")
    if any(len(group) > 1 for group in model.groups_):
        ax.legend(fontsize="small")
    return ax


def plot_grid(search: Any, ax: Any = None) -> Any:
    """Draw the scores of a search over C and lambda, the best over other lists.

    Parameters
    ----------
    search : CoterieClassifierCV
        Fitted.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; a new figure unless given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        A heat map; a ring marks the choice.
    """
    check_is_fitted(search, "model_")
    results = search.cv_results_
    if "param_lam" not in results or "param_C" not in results:
        raise ValueError(f"the method {search.method!r} was not searched over C and lambda.")
    ax = _axes(ax)

    def strength(value: Any) -> float:
        return float(value[:-3]) if isinstance(value, str) and value.endswith("max") else float(value)

    costs = sorted(set(results["param_C"]), key=float)
    lambdas = sorted(set(results["param_lam"]), key=strength)
    image = np.full((len(lambdas), len(costs)), np.nan)
    for C, lam, score in zip(results["param_C"], results["param_lam"], results["mean_test_score"]):
        cell = (lambdas.index(lam), costs.index(C))
        image[cell] = np.nanmax([image[cell], score])
    drawn = ax.imshow(image, origin="lower", aspect="auto", cmap="viridis")
    ax.set_xticks(range(len(costs)), [f"{float(C):.3g}" for C in costs], rotation=90)
    ax.set_yticks(range(len(lambdas)), [str(lam) for lam in lambdas])
    ax.plot(costs.index(search.best_params_["C"]), lambdas.index(search.best_params_["lam"]), marker="o", markersize=12, markerfacecolor="none", color="white")
    ax.set_xlabel("C")
    ax.set_ylabel("lambda")
    ax.figure.colorbar(drawn, ax=ax, label=search.scoring)
    return ax
