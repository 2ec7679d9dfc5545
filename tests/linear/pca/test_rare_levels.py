"""Rows of rare levels, counted over every combination of levels."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from gramian.linear.parallel import SCATTER, excess_cumulants, rare_levels_share


def by_definition(counts, inner, z, rest, n_rows):
    """Sum over all combinations of levels of their share, times the chance that a row of them makes an eigenvalue above z."""
    total = 0.0
    for combination in product(
        *[list(zip(each, [w] * len(each), strict=True)) for each, w in zip(counts, inner, strict=True)]
    ):
        share = np.prod([n_u / n_rows for n_u, _ in combination])
        # h_u / n_u with the resolvent h_u = 1 / (z - (z / w) (1 - 1 / n_u)).
        reached = sum(1 / (z - (z / w) * (1 - 1 / n_u)) / n_u for n_u, w in combination) + rest / z
        total += share * norm.cdf((reached - 1) / SCATTER)
    return n_rows * total


@pytest.mark.parametrize("z", [1.6, 2.1, 2.9])
@pytest.mark.parametrize("rest", [0.0, 0.2])
def test_rows_are_counted_as_the_definition_has_them(z, rest):
    # Single rows in three columns reach 3 / z together: at z = 1.6 nearly twice what it takes, and not half a row each.
    counts = [np.array([60.0, 30.0, 4, 3, 1, 1, 1]), np.array([50.0, 45, 2, 1, 1, 1]), np.array([90.0, 5, 2, 1, 1, 1])]
    inner = np.array([1.4, 1.3, 1.25])
    expected = by_definition(counts, inner, z, rest, 100.0)
    # Sums are split over the points of a grid, a twentieth of `SCATTER` apart.
    assert rare_levels_share(counts, inner, z, rest, 100.0) == pytest.approx(expected, rel=1e-2)


def test_rows_that_pass_together_count_whole():
    """In two columns of singletons every row has eigenvalue 2: all of them lie above 1.5."""
    counts = [np.ones(50), np.ones(50)]
    assert rare_levels_share(counts, np.array([1.2, 1.2]), 1.5, 0.0, 50.0) == pytest.approx(50.0, rel=1e-9)


def test_even_margins_move_nothing_and_uneven_ones_do():
    even = [np.full(10, 50.0), np.full(25, 20.0)]
    np.testing.assert_allclose(excess_cumulants(even, 500.0), np.zeros((2, 2)), atol=1e-15)
    uneven = [np.array([1.0, 499.0]), np.full(25, 20.0)]
    found = excess_cumulants(uneven, 499.0)
    # Fourth cumulants 1 / (n n_u n_v) summed, weighted by themselves, less those of as many even levels.
    expected = (np.sqrt(2 * (1 + 1 / 499**2)) * np.sqrt(25 * 25 / 400) - 4 / 500 * 625 / 500) / 499
    np.testing.assert_allclose(found, [[0, expected], [expected, 0]], rtol=1e-12)
