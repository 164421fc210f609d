"""Many related classifiers that learn which kernels they share, with a certificate for every answer."""

from ._core import version as __version__
from ._settings import Note
from .classifier import Certificate, CoterieClassifier, Verification, load, save

__all__ = ["Certificate", "CoterieClassifier", "Note", "Verification", "__version__", "load", "save"]
