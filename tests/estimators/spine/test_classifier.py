"""The score of a classifier: the share of rows that it gets right, by weight, whatever holds the classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, is_classifier

from gramian.estimators.spine.estimator import Classifier


class Told(Classifier, BaseEstimator):
    """Predicts what it is given."""

    def predict(self, X):
        return np.asarray(X)


def test_a_score_is_the_share_of_rows_by_weight():
    predicted, y, weight = ["a", "b", "b", "a"], ["a", "b", "a", "b"], [3.0, 1.0, 2.0, 4.0]
    assert Told().score(predicted, y) == 0.5
    assert Told().score(predicted, y, weight) == pytest.approx(4.0 / 10.0)
    assert isinstance(Told().score(predicted, y), float)
    assert is_classifier(Told())


@pytest.mark.parametrize("kind", ["Int64", "UInt64", "int64[pyarrow]", "int64"])
def test_classes_that_floats_would_round_are_told_apart(kind):
    base = 2**60
    y = pd.Series([base, base + 1, base + 1], dtype=kind)
    assert Told().score(np.array([base, base, base + 1]), y) == pytest.approx(2 / 3)


def test_a_list_of_integers_on_both_sides_of_int64_is_exact():
    y = [1, 2**63, 2**63 + 1]
    assert Told().score(np.array([1, 2**63, 2**63], dtype=np.uint64), y) == pytest.approx(2 / 3)
