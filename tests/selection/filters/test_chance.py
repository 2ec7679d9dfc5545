"""The mean information of unrelated columns, against every permutation and against simulation."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information

from gramian.selection.filters.chance import mean_gaussian_information, mean_information


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
