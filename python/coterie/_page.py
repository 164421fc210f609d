"""A page to look at: one HTML file, shown inline in notebooks."""

from __future__ import annotations

import html
import os

from . import _core
from ._settings import plain_errors


class Page:
    """A page to look at: one HTML file that any browser opens without a network.

    A notebook shows it where a cell ends with it.

    Parameters
    ----------
    text : str
        The whole file.

    Attributes
    ----------
    text : str
        The whole file.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path
            Where it goes, such as `report.html`; written whole or not at all.
        """
        with plain_errors():
            _core.write_file(os.fspath(path), self.text)

    def __repr__(self) -> str:
        return f"<page of {len(self.text)} characters: save(path) writes it, a notebook shows it>"

    def _repr_html_(self) -> str:
        # In a frame of its own, whose scripts can reach nothing of the notebook.
        return f'<iframe sandbox="allow-scripts allow-downloads" style="width:100%;height:800px;border:0" srcdoc="{html.escape(self.text)}"></iframe>'
