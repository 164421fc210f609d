"""Pictures: what they draw is what there is."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import planted

import coterie

X, Y, NAMES = planted(tasks=6)


@pytest.fixture(scope="module")
def found():
    return coterie.path(X, Y, tasks=NAMES, kernels="linear gauss:1,4")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(ax):
    ax.figure.canvas.draw()
    assert isinstance(ax, plt.Axes)
    return ax


def test_weights(found):
    ax = drawn(coterie.plot_weights(found, kernel="gauss:1"))
    assert len(ax.lines) == 6 and ax.get_xscale() == "log" and "gauss:1" in ax.get_ylabel()
    for t, line in enumerate(ax.lines):
        np.testing.assert_array_equal(line.get_ydata(), found.weights[:, t, 1])
        assert (np.diff(line.get_xdata()) < 0).all() and np.isfinite(line.get_xdata()).all()
    with pytest.raises(ValueError, match="there is no kernel 'cauchy:1'; there are linear, gauss:1, gauss:4"):
        coterie.plot_weights(found, kernel="cauchy:1")
    with pytest.raises(ValueError, match="kernel is 3; it must be a name, or a number from 0 to 2"):
        coterie.plot_weights(found, kernel=3)


def test_tree(found):
    ax = drawn(coterie.plot_tree(found))
    assert sorted(label.get_text() for label in ax.get_yticklabels()) == sorted(found.tasks)
    bars = [line for line in ax.lines if line.get_xdata()[0] == line.get_xdata()[1]]
    assert len(bars) == len(found.nodes) > 0
    # Tasks of a node are neighbours.
    order = [label.get_text() for label in ax.get_yticklabels()]
    for node in found.nodes:
        places = sorted(order.index(found.tasks[task]) for task in node["members"])
        assert places[-1] - places[0] == len(places) - 1


def test_affinity(found):
    ax = drawn(coterie.plot_affinity(found))
    shown = ax.images[0].get_array()
    order = [found.tasks.index(label.get_text()) for label in ax.get_yticklabels()]
    np.testing.assert_array_equal(shown, found.together[np.ix_(order, order)])
    np.testing.assert_array_equal(shown, shown.T)


def test_weight_plane():
    model = coterie.CoterieClassifier(kernels="linear gauss:1,4", lam="0.5max").fit(X, Y, tasks=NAMES)
    ax = drawn(coterie.plot_weight_plane(model, "linear", "gauss:4"))
    points = np.vstack([group.get_offsets() for group in ax.collections])
    assert len(ax.collections) == len(model.groups_)
    np.testing.assert_array_equal(points[np.lexsort(points.T)], model.kernel_weights_[:, [0, 2]][np.lexsort(model.kernel_weights_[:, [0, 2]].T)])
    with pytest.raises(coterie.classifier.check_is_fitted.__globals__["NotFittedError"]):
        coterie.plot_weight_plane(coterie.CoterieClassifier())


def test_grid():
    search = coterie.CoterieClassifierCV(C=[0.1, 1, 10], lam=["0.1max", "1max"], cv=3).fit(X, Y, tasks=NAMES)
    own = plt.subplots()[1]
    ax = drawn(coterie.plot_grid(search, ax=own))
    assert ax is own
    shown = np.asarray(ax.images[0].get_array())
    assert shown.shape == (2, 3) and np.nanmax(shown) == search.best_score_
    ring = ax.lines[0]
    assert shown[int(ring.get_ydata()[0]), int(ring.get_xdata()[0])] == search.best_score_
