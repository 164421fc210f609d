"""Arrays and data frames as the core wants them: numbers, and names for labels and tasks."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names, column_or_1d

from . import _core


def text_of(value: Any, what: str) -> str:
    """The name of a label or task, as a table would have it: 1 and 1.0 are both '1'."""
    if isinstance(value, str):
        if not value:
            raise ValueError(f"a {what} is an empty text; give it a name.")
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        if not np.isfinite(number):
            raise ValueError(f"a {what} is {number}; every row needs one.")
        return str(int(number)) if number.is_integer() else repr(number)
    if value is None or value != value:
        raise ValueError(f"a {what} is missing ({value!r}); every row needs one.")
    return str(value)


def coded(values: np.ndarray, what: str) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Per value the number of its name, the names, and the distinct values, sorted."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"a {what} is {values[~np.isfinite(values)][0]}; every row needs one.")
    if values.dtype.kind == "O":
        for value in values:
            text_of(value, what)
    try:
        distinct, codes = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(f"{what}s are of several types ({', '.join(kinds)}); give them one.") from None
    names = [text_of(value, what) for value in distinct.tolist()]
    if len(set(names)) < len(names):
        raise ValueError(f"two {what}s have the same name as text; rename one of them.")
    return codes.astype(np.intp), names, distinct


def values_from(names: list[str]) -> np.ndarray:
    """The labels behind names in a file: whole numbers where all of them read so, other numbers, or the texts."""
    for convert in (int, float):
        try:
            values = [convert(name) for name in names]
            if [text_of(value, "label") for value in values] == names:
                return np.array(values)
        except ValueError:  # no numbers, or none that a label can be, such as 'inf'
            continue
    return np.array(names)


def texts_of(values: Any, what: str) -> np.ndarray:
    """The name of every value."""
    codes, names, _ = coded(column_or_1d(values), what)
    return np.array(names, dtype=object)[codes]


def check_name(name: str, what: str) -> None:
    """Names go into messages and files, so they must be printable."""
    if any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in name):
        raise ValueError(f"a {what} is called {name!r}, which has a line break or another character that cannot be printed; rename it.")


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas, or behaves like one."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def place_of_task(X: Any, task_column: Any) -> int:
    """The number of the task column in X."""
    shape = getattr(X, "shape", None)
    width = shape[1] if shape is not None and len(shape) == 2 else 0
    if isinstance(task_column, str):
        if not is_frame(X):
            raise ValueError(f"task_column is {task_column!r}, but X has no names of columns; give the number of the column.")
        found = [place for place, name in enumerate(X.columns) if name == task_column]
        if len(found) != 1:
            state = "has no column of that name" if not found else f"has {len(found)} of them"
            raise ValueError(f"task_column is {task_column!r}, but X {state}. Its columns: {', '.join(map(str, list(X.columns)[:10]))}.")
        return found[0]
    if isinstance(task_column, bool) or not isinstance(task_column, numbers.Integral):
        raise TypeError(f"task_column is {task_column!r}; it must be the name or the number of a column, or None.")
    if not -width <= task_column < width:
        raise ValueError(f"task_column is {task_column}, but X has {width} columns.")
    return int(task_column) % width


def as_table(X: Any) -> Any:
    """X with a shape and columns: lists become arrays."""
    if hasattr(X, "toarray") or hasattr(X, "shape"):
        return X
    return np.asarray(X, dtype=object)


def without_task(X: Any, task_column: Any) -> tuple[Any, np.ndarray]:
    """X without its task column, and that."""
    if hasattr(X, "toarray"):
        raise TypeError("X is a sparse matrix; coterie needs dense data. Give X.toarray().")
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(f"X has the shape {getattr(X, 'shape', ())}; it must have rows and columns. Reshape your data to 2D.")
    place = place_of_task(X, task_column)
    if is_frame(X):
        tasks = X.iloc[:, place].astype(object).to_numpy()
        rest = X.iloc[:, [k for k in range(X.shape[1]) if k != place]]
    else:
        X = np.asarray(X)
        tasks = X[:, place]
        rest = np.delete(X, place, axis=1)
    if rest.shape[1] == 0:
        raise ValueError("X has no column but that of tasks; there is nothing to learn from. Found array with 0 feature(s) (minimum 1 is required).")
    return rest, tasks


def numbers_of(X: Any, estimator: Any) -> np.ndarray:
    """X as doubles, row after row; what is not finite, dense or two-dimensional is refused."""
    return check_array(X, dtype=np.float64, order="C", estimator=estimator)


def task_values(tasks: Any, rows: int) -> np.ndarray:
    """The tasks given for the rows."""
    values = column_or_1d(np.asarray(tasks, dtype=object) if not hasattr(tasks, "dtype") else np.asarray(tasks))
    if len(values) != rows:
        raise ValueError(f"tasks has {len(values)} values, but X has {rows} rows; give one per row.")
    return values


def matrices_of(X: Any, rows: int | None = None, columns: int | None = None, count: int | None = None) -> list[np.ndarray]:
    """Matrices of precomputed kernels: one, or a list of them. Training: square. Otherwise a row per new and a column per training row."""
    if hasattr(X, "toarray"):
        raise TypeError("X is a sparse matrix; coterie needs dense data. Give X.toarray().")
    if not isinstance(X, (list, tuple)) or (X and np.ndim(X[0]) != 2):
        X = np.asarray(X)
        X = list(X) if X.ndim == 3 else [X]
    if not X:
        raise ValueError("kernels is 'precomputed' and X is empty; give a kernel matrix, or a list of them.")
    if count is not None and len(X) != count:
        raise ValueError(f"X holds {len(X)} kernel matrices, but the model was fitted with {count}.")
    out: list[np.ndarray] = []
    for number, K in enumerate(X, 1):
        if np.ndim(K) != 2:
            raise ValueError(f"kernel matrix {number} has the shape {np.shape(K)}; it must have rows and columns. Reshape your data to 2D.")
        K = check_array(K, dtype=np.float64, order="C")
        if columns is None and K.shape[0] != K.shape[1]:
            raise ValueError(f"kernel matrix {number} is {K.shape[0]} x {K.shape[1]}; to fit, it must be n_train x n_train: should be a square kernel matrix.")
        if columns is not None and K.shape[1] != columns:
            raise ValueError(
                f"kernel matrix {number} is {K.shape[0]} x {K.shape[1]}; it must be n_test x n_train: a row for each new sample and a column "
                f"for each of the {columns} training samples."
            )
        if K.shape != out[0].shape if out else rows is not None and K.shape[0] != rows:
            expected = out[0].shape if out else (rows, K.shape[1])
            raise ValueError(f"kernel matrix {number} is {K.shape[0]} x {K.shape[1]}; it must be {expected[0]} x {expected[1]}.")
        out.append(K)
    return out


def names_of_columns(X: Any) -> list[str] | None:
    """The names of the columns of a data frame, if all are texts."""
    names = _get_feature_names(X) if is_frame(X) else None
    return None if names is None else [str(name) for name in names]


def make_rows(
    X: np.ndarray,
    features: list[str] | None,
    y: tuple[np.ndarray, list[str]] | None = None,
    tasks: tuple[np.ndarray, list[str]] | None = None,
    columns: tuple[str, str] = ("", ""),
) -> _core.Rows:
    """Rows of the core; features without names are f1, f2, .., as in files without a header."""
    names = features if features is not None else [f"f{j + 1}" for j in range(X.shape[1])]
    label, labels = y if y is not None else (None, [])
    task, task_names = tasks if tasks is not None else (None, [])
    for what, several in (("column", [*names, *columns]), ("label", labels), ("task", task_names)):
        for name in several:
            check_name(name, what)
    return _core.Rows(X, names, label, labels, task, task_names, columns)
