"""How far a fit is: a line that is drawn again and again, in terminals and notebooks, or a caller's own function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Union

from . import _core
from ._settings import memory_of, note, threads_of

State = dict[str, Any]
ProgressOption = Union[bool, None, Callable[[State], Any]]


class Bar:
    """A line on standard error, cleared at the end."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._width = 0

    def __call__(self, state: State) -> None:
        """Draws the state."""
        line = f"{state['phase']}: "
        if state.get("all"):
            filled = 20 * state["done"] // state["all"]
            line += f"[{'#' * filled}{'.' * (20 - filled)}] {state['done']} of {state['all']}, "
        elif state.get("groups"):
            line += f"step {state['step']}, objective {state['objective']:.6g}, gap {state['gap']:.1e}, {state['groups']} groups, "
        self._draw(line + f"{time.monotonic() - self._began:.0f} s")

    def clear(self) -> None:
        """Leaves nothing behind."""
        self._draw("")

    def _draw(self, line: str) -> None:
        print("\r" + line.ljust(self._width) + "\r" + line, end="", file=sys.stderr, flush=True)
        self._width = len(line)


class Running:
    """What a verb may use and whom it tells, while it runs."""

    def __init__(self, progress: ProgressOption, n_jobs: Any, memory: Any = None) -> None:
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise TypeError(f"progress is {progress!r}; it must be True, False, None, or a function of a dict.")
        self._bar = Bar() if progress is True else None
        told = self._bar if self._bar is not None else (progress if callable(progress) else None)
        self._resources = _core.Resources(threads_of(n_jobs), memory_of(memory), told, note)

    def __enter__(self) -> _core.Resources:
        """The resources, for the core."""
        return self._resources

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Clears the line."""
        if self._bar is not None:
            self._bar.clear()
