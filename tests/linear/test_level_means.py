"""Means over spans of rows, all at once."""

import numpy as np

from gramian.linear.layout import LevelMeans

SPANS = [slice(1, 4), slice(4, 6), slice(8, 9)]


def test_each_span_loses_its_own_mean_and_other_rows_nothing(rng):
    v = rng.standard_normal((10, 3))
    expected = v.copy()
    for span in SPANS:
        expected[span] -= v[span].mean(axis=0)
    np.testing.assert_allclose(LevelMeans(SPANS, 10).removed(v), expected, atol=1e-15)


def test_weights_are_shares_of_each_span(rng):
    v, weights = rng.standard_normal((10, 2)), rng.random(10)
    for span in SPANS:
        weights[span] /= weights[span].sum()
    found = LevelMeans(SPANS, 10, weights).removed(v)
    for span in SPANS:
        np.testing.assert_allclose(weights[span] @ found[span], 0.0, atol=1e-15)
    np.testing.assert_array_equal(found[[0, 6, 7, 9]], v[[0, 6, 7, 9]])


def test_without_spans_nothing_changes(rng):
    v = rng.standard_normal((4, 2))
    np.testing.assert_array_equal(LevelMeans([], 4).removed(v), v)
    assert LevelMeans([], 0).removed(np.empty((0, 2))).shape == (0, 2)
