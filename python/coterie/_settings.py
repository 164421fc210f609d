"""Parameters of estimators as the settings of the core, and messages of the core in the words of Python."""

from __future__ import annotations

import contextlib
import inspect
import math
import numbers
import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core

# What the core calls a setting, and what the estimators call it.
NAMES = {
    "C": "C",
    "lambda": "lam",
    "norm": "norm",
    "kernels": "kernels",
    "normalise": "normalise",
    "scale": "scale",
    "smooth": "smooth",
    "class_weight": "class_weight",
    "tolerance": "tol",
    "solver": "solver",
    "max_steps": "max_steps",
    "method": "method",
    "parameters": "method_params",
    "loss": "loss",
    "map": "map",
    "first_stage": "first_stage",
}
_IN_MESSAGES = {**NAMES, "threads": "n_jobs", "folds": "cv", "seed": "random_state", "score": "scoring", "weight": "sample_weight"}


class Note(UserWarning):
    """What a fit has to say that is not an error, such as columns that are left out."""


def in_python(message: str) -> str:
    """The message with Python's names of settings."""
    message = re.sub(r"`(\w+)`", lambda found: _IN_MESSAGES.get(found[1], found[1]), message)
    message = message.replace("Add the task with: coterie extend, or score", "Add the task with extend, or score")
    message = message.replace("`coterie methods`", "coterie.methods()").replace(" (see: coterie inspect)", "")
    return message.replace("choose one_vs_one or one_vs_rest", "they need a multi-class problem")


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Errors of the core as ValueError and OSError."""
    try:
        yield
    except _core.InputError as error:
        raise ValueError(in_python(str(error))) from None
    except _core.OutputError as error:
        raise OSError(in_python(str(error))) from None


def number_text(value: Any, name: str) -> str:
    """A number as the core reads it, to the last bit."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; it must be a number.")
    return str(int(value)) if isinstance(value, numbers.Integral) else repr(float(value))


def _lambda_text(value: Any) -> str:
    return value if isinstance(value, str) else number_text(value, "lam")


def _kernels_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, str) for one in value):
        return " ".join(value)
    raise TypeError(f"kernels is {value!r}; it must be a text such as 'linear gauss:1,2', a list of such texts, or 'precomputed'.")


def _assignments(value: Any, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(f"{key}={number_text(one, f'{name}[{key!r}]')}" for key, one in value.items())
    raise TypeError(f"{name} is {value!r}; it must be a dict of numbers, such as {{'lambda': 0.1}}, or None.")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; it must be a text.")
    return value


def settings_of(estimator: Any) -> dict[str, str]:
    """The settings of an estimator that are not at their defaults, as texts that the core reads."""
    given: dict[str, str] = {}
    for core_name, name in NAMES.items():
        if not hasattr(estimator, name):
            continue
        value = getattr(estimator, name)
        if name == "lam":
            text = _lambda_text(value)
        elif name == "kernels":
            text = _kernels_text(value)
            if text == "precomputed":
                continue
        elif name == "scale":
            if value is None:
                continue
            text = _text(value, name)
        elif name == "class_weight":
            if value is None or isinstance(value, dict):
                continue
            text = _text(value, name)
        elif name in ("method_params", "first_stage"):
            text = _assignments(value, name)
            if not text:
                continue
        elif name in ("C", "norm", "smooth", "tol", "max_steps"):
            text = "inf" if isinstance(value, str) and value == "inf" else number_text(value, name)
        else:
            text = _text(value, name)
        given[core_name] = text
    return given


_LEARN_JOINTLY = ("coterie", "stl", "mtl", "pooled", "groups", "joint")  # with any norm
_POOL = ("pooled", "groups", "joint")  # one model for many tasks
_SCORES_OF_MODELS = re.compile(r"[@+](pooled|others|group)\b")


def without_use(estimator: Any) -> dict[str, str]:
    """The parameters that mean nothing for the method of an estimator, or for its kernels, and for which: as the program has it."""
    method = _text(estimator.method, "method")
    kernels = _kernels_text(estimator.kernels)
    unused = {} if _SCORES_OF_MODELS.search(kernels) else {"first_stage": "kernels without @pooled, @others and @group"}
    linear = {one["name"]: one["linear"] for one in _core.methods()}
    if method not in linear:
        return {}  # refused by the core
    names = ["loss", "map"]
    if method != "coterie":
        names = ["lam", "solver", "task_graph"]
        names += ["C"] if linear[method] else ["loss", "map"]
        names += [] if method in _LEARN_JOINTLY else ["norm"]
        names += ["task_C"] if linear[method] or method in _POOL else []
    unused |= {name: f"the method {method!r}" for name in names}
    if linear[method] and estimator.map == "none":
        unused |= {name: f"the method {method!r} without map='kernels'" for name in ("kernels", "normalise")}
    return unused


def defaults_of(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator, as they are unless given."""
    return {name: one.default for name, one in inspect.signature(type(estimator)).parameters.items()}


def changed_without_use(estimator: Any) -> dict[str, str]:
    """What `without_use` lists, where it is neither at its default nor at the program's."""
    defaults = defaults_of(estimator)

    def is_default(name: str) -> bool:
        value = getattr(estimator, name)
        if isinstance(value, (list, tuple, np.ndarray)):
            return False
        return bool(value == defaults[name]) or (name == "kernels" and value == "paper")

    return {name: of_what for name, of_what in without_use(estimator).items() if name in defaults and not is_default(name)}


def check_given(estimator: Any) -> None:
    """Refuses what was changed without having a meaning."""
    for name, of_what in changed_without_use(estimator).items():
        raise ValueError(f"{name} has no meaning for {of_what}; leave it out.")


def threads_of(n_jobs: Any) -> int:
    """As scikit-learn counts: None is 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}; it must be a whole number other than 0, or None.")
    count = int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return count if count > 0 else max(1, cores + 1 + count)


_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def memory_of(memory: Any) -> float:
    """Bytes; 0 for None, which stands for nine tenths of the machine's."""
    if memory is None:
        return 0.0
    value = math.nan
    if isinstance(memory, str):
        found = re.fullmatch(r"([0-9.]+(?:e[0-9]+)?) ?([kmgt]?)(?:i?b)?", memory.strip().lower())
        if found:
            with contextlib.suppress(ValueError):
                value = float(found[1]) * _UNITS[found[2]]
    elif isinstance(memory, numbers.Real) and not isinstance(memory, bool):
        value = float(memory)
    if not (0 < value < math.inf):
        raise ValueError(f"memory is {memory!r}; it must be a size > 0 such as '512MB', '1.5GB' or a number of bytes, or None.")
    return value


def seed_of(random_state: Any) -> int:
    """A seed of the core; None is 1, so that the same call gives the same answer."""
    if random_state is None:
        return 1
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(1, 2**31 - 1))
    raise ValueError(f"random_state is {random_state!r}; it must be a whole number >= 0, a RandomState, a Generator, or None.")


def calibration_of(calibrate: Any) -> str:
    """The kind of calibration as the core names it; none is empty."""
    return "" if calibrate is None else _text(calibrate, "calibrate")


def note(text: str) -> None:
    """Passes on a note of the core."""
    warnings.warn(in_python(text), Note, stacklevel=3)


def task_costs_of(task_C: Any) -> dict[str, float]:
    """C of single tasks, by name."""
    if task_C is None:
        return {}
    if not isinstance(task_C, dict):
        raise TypeError(f"task_C is {task_C!r}; it must be a dict of C by task, or None.")
    from ._data import text_of

    return {text_of(task, "task"): float(number_text(C, f"task_C[{task!r}]")) for task, C in task_C.items()}


def links_of(links: Any, name: str) -> list[tuple[str, str, float]] | None:
    """Pairs of tasks with their weights, 1 unless given."""
    if links is None:
        return None
    from ._data import text_of

    out = []
    for link in links:
        if not isinstance(link, (list, tuple)) or len(link) not in (2, 3):
            raise TypeError(f"{name} has {link!r}; it must hold (task, task) or (task, task, weight).")
        weight = 1.0 if len(link) == 2 else float(number_text(link[2], f"a weight of {name}"))
        out.append((text_of(link[0], "task"), text_of(link[1], "task"), weight))
    return out
