"""scikit-learn's own checks: none is left out but those that scikit-learn skips by itself."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie import CoterieClassifier

# One check compares fits of the same rows in another order to seven digits: where scaling makes them differ, fits must be that precise.
ESTIMATORS = [
    CoterieClassifier(),
    CoterieClassifier(multi_class="ovr", class_weight="balanced", scale="standard", tol=1e-9),
    CoterieClassifier(method="stl"),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_nothing_is_skipped_by_us():
    for estimator in ESTIMATORS:
        assert not estimator._get_tags()["_skip_test"]
        assert not estimator._get_tags()["_xfail_checks"]
