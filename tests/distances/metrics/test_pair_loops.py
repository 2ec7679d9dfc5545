"""Compiled loops against the definition, row by row."""

from __future__ import annotations

import numpy as np

from gramian.distances.metrics.pair_loops import gower, warp


def test_gower_of_numbers_categories_and_gaps(rng):
    a, b = rng.random((4, 3)), rng.random((5, 3))
    a[:, 2], b[:, 2] = rng.integers(0, 3, 4), rng.integers(0, 3, 5)
    a[1, 0] = b[1, 1] = np.nan
    ranges = np.array([0.5, 2.0, np.nan])
    out = np.empty((2, 5))
    gower(a, b, ranges, 1, 3, out)
    for i in (1, 2):
        for j in range(5):
            parts = [
                (x != y if np.isnan(r) else min(1, abs(x - y) / r))
                for x, y, r in zip(a[i], b[j], ranges, strict=True)
                if not (np.isnan(x) or np.isnan(y))
            ]
            np.testing.assert_allclose(out[i - 1, j], np.mean(parts), rtol=1e-12)


def test_a_pair_without_a_common_column_has_no_distance():
    out = np.empty((1, 1))
    gower(np.array([[1.0, np.nan]]), np.array([[np.nan, 1.0]]), np.ones(2), 0, 1, out)
    assert np.isnan(out[0, 0])


def test_warping_writes_the_rows_asked_for():
    series = np.array([[0.0], [1.0], [5.0]])
    starts = np.array([0, 2, 3])
    out = np.full((1, 2), -1.0)
    warp(series, starts, series, starts, 2.0**40, 1, 2, out)
    # (5 - 0)^2 + (5 - 1)^2: one moment is matched with both.
    np.testing.assert_allclose(out, [[np.sqrt(41.0), 0.0]])
