"""The learnt kernel as a step before other estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _data
from .classifier import CoterieClassifier


class CoterieKernel(TransformerMixin, BaseEstimator):
    """The kernel that a classifier learns, as a transformer: from rows to values between them and the training rows.

    For estimators that take precomputed kernels, such as `SVC(kernel="precomputed")` or `KernelPCA(kernel="precomputed")`. Of several
    tasks it is the mean of their kernels, or that of one.

    Parameters
    ----------
    classifier : CoterieClassifier, default=None
        What learns the kernel; one with its defaults unless given. Its task column is left out of the kernel.
    task : str or int, default=None
        Whose kernel; the mean of all tasks unless given.

    Attributes
    ----------
    classifier_ : CoterieClassifier
        The fitted classifier.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The training rows, without tasks.
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from coterie import CoterieKernel
    >>> X, y = load_iris(return_X_y=True)
    >>> make_pipeline(CoterieKernel(), SVC(kernel="precomputed")).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(self, classifier: Any = None, task: Any = None) -> None:
        self.classifier = classifier
        self.task = task

    def fit(self, X: Any, y: Any = None, tasks: Any = None) -> CoterieKernel:
        """Learn the kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,), default=None
            Their labels; they are needed.
        tasks : array-like of shape (n_samples,), default=None
            The task of every row, where X has no task column.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        from sklearn.base import clone

        own = CoterieClassifier() if self.classifier is None else clone(self.classifier)
        self.classifier_ = own.fit(X, y, tasks=tasks)
        self.X_fit_ = self._rows(X)
        self.n_features_in_ = own.n_features_in_
        if hasattr(own, "feature_names_in_"):
            self.feature_names_in_ = own.feature_names_in_
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Give kernel values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as in `fit`.

        Returns
        -------
        K : ndarray of shape (n_samples, n_training_rows)
            Values between these rows and the training rows.
        """
        check_is_fitted(self)
        return self.classifier_.combined_kernel(self._rows(X), self.X_fit_, task=self.task)

    def _rows(self, X: Any) -> np.ndarray:
        own = self.classifier_
        if own.task_column is None:
            return own._check_numbers(X, reset=False)
        X = _data.as_table(X)
        own._check_columns(X, reset=False)
        return _data.numbers_of(_data.without_task(X, own.task_column)[0], own)

    def _more_tags(self) -> dict[str, Any]:
        return {"requires_y": True}

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect, from 1.6 on."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        return tags
