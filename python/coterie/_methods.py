"""The methods that can be chosen by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import _core


@dataclass(frozen=True)
class Method:
    """A method: the one of this package, or one to compare it with.

    Attributes
    ----------
    name : str
        What `method=` takes.
    title, source, about : str
        What it is, where it comes from, and what an honest person says of it.
    linear : bool
        Whether it learns weights of features, not of kernels.
    parameters : list of dict
        What `method_params=` takes: `name`, `default`, `help`, `rule`.
    """

    name: str
    title: str
    source: str
    about: str
    linear: bool
    parameters: list[dict[str, Any]] = field(default_factory=list)


def methods() -> list[Method]:
    """All methods.

    Returns
    -------
    methods : list of Method
        The one of this package first.

    Examples
    --------
    >>> from coterie import methods
    >>> [method.name for method in methods()][:3]
    ['coterie', 'stl', 'mtl']
    """
    return [Method(**one) for one in _core.methods()]
