"""Many related classifiers that learn which kernels they share, with a certificate for every answer."""

from ._core import version as __version__
from ._settings import Note
from .classifier import Certificate, CoterieClassifier, Verification, load, save
from .datasets import plant_groups
from .kernel import CoterieKernel
from ._methods import Method, methods
from .model_selection import TaskStratifiedKFold
from ._page import Page
from ._path import LambdaPath, path
from .plots import plot_affinity, plot_grid, plot_tree, plot_weight_plane, plot_weights
from .search import CoterieClassifierCV

__all__ = [
    "Certificate",
    "CoterieClassifier",
    "CoterieClassifierCV",
    "CoterieKernel",
    "LambdaPath",
    "Method",
    "Note",
    "Page",
    "TaskStratifiedKFold",
    "Verification",
    "__version__",
    "load",
    "methods",
    "path",
    "plant_groups",
    "plot_affinity",
    "plot_grid",
    "plot_tree",
    "plot_weight_plane",
    "plot_weights",
    "save",
]
