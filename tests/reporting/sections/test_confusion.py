"""Confusion: counts of pairs, and what they come to."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.reporting.sections.supervised import CLASSES_SHOWN, confusion


def test_counts_and_rates_are_those_of_the_pairs(rng: np.random.Generator) -> None:
    actual, predicted = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    actual[:5] = -1
    found = confusion(predicted, actual, ["a", "b", "c"], "200 rows")
    known = actual >= 0
    for i in range(3):
        for j in range(3):
            assert found["counts"][i][j] == int((known & (actual == i) & (predicted == j)).sum())
    assert found["accuracy"] == pytest.approx((actual == predicted)[known].mean(), abs=1e-4)
    recall = np.mean([(predicted[actual == k] == k).mean() for k in range(3)])
    assert found["balanced_accuracy"] == pytest.approx(recall, abs=1e-4)
    assert found["largest_class"] == pytest.approx(np.bincount(actual[known]).max() / known.sum(), abs=1e-4)


def test_many_classes_are_cut_and_counted_still() -> None:
    codes = np.repeat(np.arange(CLASSES_SHOWN + 3), 2)
    found = confusion(codes, codes, [str(k) for k in range(CLASSES_SHOWN + 3)], "")
    assert found["left_out"] == 3
    assert len(found["counts"]) == CLASSES_SHOWN
    assert found["accuracy"] == 1
