"""The mean information of unrelated columns, against every permutation and against simulation."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information

from gramian.selection.filters.chance import MeanInformation, mean_gaussian_information


def mean_information(rows, cols):
    """Return the mean of two columns with these level counts."""
    return MeanInformation([rows, cols]).row(0)[1]


@pytest.mark.parametrize(("a", "b"), [([0, 0, 1, 1, 2], [0, 0, 0, 1, 1]), ([0, 1, 2, 3, 4], [0, 0, 1, 1, 1])])
def test_the_mean_is_that_over_every_permutation(a, b):
    every = np.mean([mutual_info_score(a, list(order)) for order in permutations(b)])
    assert mean_information(np.bincount(a), np.bincount(b)) == pytest.approx(every, rel=1e-12)


def test_large_tables_agree_with_scikit_learn(rng):
    a, b = rng.integers(0, 30, 5000), rng.integers(0, 4, 5000) ** 2 // 3
    table = np.array([[((a == i) & (b == j)).sum() for j in np.unique(b)] for i in range(30)])
    assert mean_information(table.sum(axis=1), table.sum(axis=0)) == pytest.approx(
        expected_mutual_information(table, 5000), rel=1e-9
    )


def test_an_identifier_shows_all_the_entropy_by_chance():
    share = np.array([30, 70]) / 100
    assert mean_information(np.ones(100), [30, 70]) == pytest.approx(-(share @ np.log(share)), rel=1e-12)


def test_counts_in_the_millions_are_near_the_classical_term():
    n, k = 4_000_000, 8
    found = mean_information(np.full(k, n / k), [n / 4, n / 4, n / 2])
    assert found == pytest.approx((k - 1) * 2 / (2 * n), rel=1e-4)


def test_weights_are_rounded_to_rows():
    assert mean_information([2.0, 2.0], [2.0, 2.0]) == mean_information([2.2, 1.8], [1.9, 2.1])
    assert mean_information([0.1, 0.1], [0.2]) == 0.0


def test_a_normal_number_shows_the_mean_of_a_beta_law(rng):
    n, d = 30, 4
    share = rng.beta(d / 2, (n - 1 - d) / 2, 200_000)
    simulated = -np.log1p(-share) / 2
    found = mean_gaussian_information(float(n), np.array([float(d)]))[0]
    assert found == pytest.approx(simulated.mean(), abs=4 * simulated.std() / np.sqrt(200_000))


def test_directions_that_exhaust_the_rows_show_anything():
    assert mean_gaussian_information(10.0, np.array([9.0]))[0] == np.inf


@pytest.mark.parametrize(("n", "a", "b"), [(50_000, 15_000, 9_000), (1_000_000, 990_000, 20_000)])
def test_the_series_of_a_narrow_law_is_the_sum_over_its_values(n, a, b):
    expected = 0.0
    for rows in (a, n - a):
        for cols in (b, n - b):
            law, mean = hypergeom(n, rows, cols), rows * cols / n
            x = np.arange(max(0, int(mean) - 3000), min(rows, cols, int(mean) + 3000) + 1) + 0.0
            x = x[x >= rows + cols - n]
            apart = x - mean
            # Less the deviation itself, whose mean is zero: otherwise it cancels nearly all of the sum.
            term = np.where(x > 0, x * np.log1p(np.where(x > 0, apart / mean, 0.0)), 0.0) - apart
            expected += law.pmf(x) @ term / n
    # Logarithms of factorials of a million leave nine digits of a probability.
    assert mean_information([a, n - a], [b, n - b]) == pytest.approx(expected, rel=1e-8)


def test_one_sweep_equals_single_tables(rng):
    counts = [rng.integers(1, 300, k) for k in (2, 9, 4, 30)]
    counts = [np.append(own, 9000 - own.sum()) for own in counts]
    every = MeanInformation([*counts, np.zeros(0)])
    for j in range(4):
        expected = [mean_information(counts[j], other) for other in counts]
        np.testing.assert_allclose(every.row(j), [*expected, 0.0], rtol=1e-12)
    np.testing.assert_array_equal(every.row(4), 0.0)
