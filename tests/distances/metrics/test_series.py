"""Dynamic time warping against its dynamic programme."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gramian.distances.metrics.pairwise import pairwise_distances
from gramian.distances.metrics.vectors import WarpingMetric


def warped(a: np.ndarray, b: np.ndarray, window: int) -> float:
    table = np.full((len(a) + 1, len(b) + 1), np.inf)
    table[0, 0] = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if abs(i - j) <= max(window, abs(len(a) - len(b))):
                cost = np.sum((a[i - 1] - b[j - 1]) ** 2)
                table[i, j] = cost + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return float(np.sqrt(table[-1, -1]))


@pytest.mark.parametrize("window", [None, 2, 0.2])
def test_dtw_is_the_dynamic_programme(rng: np.random.Generator, window: float | None) -> None:
    series = [rng.normal(size=n) for n in (12, 9, 12, 15)]
    found = pairwise_distances(series, metric="dtw", window=window)

    def width(a: np.ndarray, b: np.ndarray) -> int:
        longest = max(len(a), len(b))
        return longest if window is None else int(window) if window >= 1 else int(np.ceil(window * longest))

    expected = [[warped(a, b, width(a, b)) for b in series] for a in series]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_dtw_of_channels_and_window_zero(rng: np.random.Generator) -> None:
    series = rng.normal(size=(5, 8, 3))
    plain = cdist(series.reshape(5, -1), series.reshape(5, -1))
    np.testing.assert_allclose(pairwise_distances(series, metric="dtw", window=0), plain, atol=1e-12)
    free = pairwise_distances(series, metric="dtw", window=None)
    assert free[0, 1] == pytest.approx(warped(series[0], series[1], 8))


def test_series_become_channels_and_shifts_are_free():
    metric = WarpingMetric("dtw", {"window": None})
    series = metric.prepare([[0.0, 1.0], [0.0, 0.0, 1.0]])
    assert [item.shape for item in series] == [(2, 1), (3, 1)]
    np.testing.assert_array_equal(metric.block(series, series, 1), np.zeros((2, 2)))
