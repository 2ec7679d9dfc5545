"""The law of the independence statistic against every permutation there is."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gramian as gm
from gramian.linear.regression.permutation import NullLaw, Side, null_law


def hat(columns: np.ndarray) -> np.ndarray:
    centred = columns - columns.mean(axis=0)
    return centred @ np.linalg.pinv(centred)


def side_by_definition(a: np.ndarray) -> Side:
    h = np.diagonal(a)
    return Side(float(np.trace(a)), float((h**2).sum()), float((h**3).sum()), float((a**3).sum()), float(h @ a @ h))


def indicators(labels: np.ndarray) -> np.ndarray:
    return (labels[:, None] == np.unique(labels)).astype(float)


SIDES = {
    "skew number": lambda rng, n: rng.standard_normal((n, 1)) ** 3,
    "category": lambda rng, n: indicators(rng.permutation(np.arange(n) % 3)),
    "rare level": lambda rng, n: indicators(rng.permutation(np.arange(n) == 0)),
    "mixed": lambda rng, n: np.column_stack([rng.standard_normal(n), indicators(rng.permutation(np.arange(n) % 2))]),
}


def all_statistics(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    n = len(a)
    return np.array([(n - 1) * (a * b[np.ix_(p, p)]).sum() for p in map(list, permutations(range(n)))])


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("left", SIDES)
@pytest.mark.parametrize("right", ["skew number", "rare level", "category"])
def test_moments_are_those_of_all_permutations(rng, n, left, right):
    a, b = hat(SIDES[left](rng, n)), hat(SIDES[right](rng, n))
    every = all_statistics(a, b)
    law = null_law(n, side_by_definition(a), side_by_definition(b))
    assert law.mean == pytest.approx(every.mean(), rel=1e-10)
    assert law.variance == pytest.approx(every.var(), rel=1e-9, abs=1e-10)
    if n >= 6 and every.var() > 1e-9:
        assert law.skewness == pytest.approx(stats.skew(every), rel=1e-7, abs=1e-7)
    else:
        assert np.isnan(law.skewness)


def test_moments_are_those_of_many_permutations(rng):
    # 300 rows cannot be enumerated: 20,000 draws know a variance to 2% and a skewness of 3 to about 5%.
    n = 300
    label = rng.choice(40, n, p=np.array([1 / k for k in range(1, 41)]) / sum(1 / k for k in range(1, 41)))
    y = np.exp(1.5 * rng.standard_normal(n))
    frame = pd.DataFrame({"x": np.char.add("l", label.astype(str)), "y": y})
    test = gm.independence_test(gm.collect(frame), "x", "y")
    z = (y - y.mean()) / y.std() / np.sqrt(n)
    counts = np.maximum(np.bincount(label, minlength=40), 1)
    drawn = [(n - 1) * (np.bincount(label, rng.permutation(z), 40) ** 2 / counts).sum() for _ in range(20_000)]
    assert np.mean(drawn) == pytest.approx(test.df, rel=0.02)
    assert np.var(drawn) == pytest.approx(test.null_variance, rel=0.1)
    assert stats.skew(drawn) == pytest.approx(test.null_skewness, rel=0.2)
    # Chi-squared is far off: that is why.
    assert test.null_variance > 3 * 2 * test.df


def test_without_leverages_chi_squared_stands_in():
    law = null_law(100.0, Side(3.0), Side(2.0, 0.05, 0.01, 0.01, 0.0))
    assert np.isnan(law.variance)
    assert law.upper_tail(9.0) == pytest.approx(stats.chi2.sf(9.0, 6))


def test_a_statistic_that_no_permutation_changes_says_nothing():
    # A level of its own for each row: every permutation gives the same.
    n = 12
    all_rows = side_by_definition(np.eye(n) - 1 / n)
    other = side_by_definition(hat(np.arange(float(n))[:, None]))
    law = null_law(n, all_rows, other)
    assert law.upper_tail(n - 1.0) == 1.0
    assert null_law(1.0, Side(0.0, 0.0, 0.0, 0.0, 0.0), other).upper_tail(0.0) == 1.0


@pytest.mark.parametrize("skewness", [float("nan"), -1.0, 0.0, 0.5, 3.0, 40.0])
@pytest.mark.parametrize("variance", [0.1, 2.0, 10.0, 5000.0])
def test_tails_fall_from_one_and_stay_above_zero_where_they_can(variance, skewness):
    law = NullLaw(4.0, variance, skewness)
    tails = [law.upper_tail(t) for t in np.linspace(0.0, 40.0, 200)]
    assert tails[0] == pytest.approx(1.0, abs=0.2)
    assert (np.diff(tails) <= 1e-15).all()
    assert 0 < tails[-1] < 0.05 or variance == 0.1


def test_the_tail_has_the_moments_it_was_given():
    law = NullLaw(30.0, 50.0, 0.9)
    t = np.linspace(0.0, 200.0, 20_001)
    tail = np.array([law.upper_tail(x) for x in t])
    # E T = int P(T > t) dt, E T^2 = int 2 t P(T > t) dt, and so on.
    first, second, third = (np.trapezoid(k * t ** (k - 1) * tail, t) for k in (1, 2, 3))
    assert first == pytest.approx(30.0, rel=1e-6)
    assert second - first**2 == pytest.approx(50.0, rel=1e-4)
    assert (third - 3 * first * 50.0 - first**3) / 50.0**1.5 == pytest.approx(0.9, rel=1e-2)


def test_a_variance_beyond_chi_squared_never_makes_ordinary_values_rare():
    # Two heavy tails: a gamma law of variance 500 and mean 1 has 97% of its mass below 0.5.
    law = NullLaw(1.0, 500.0, float("nan"))
    assert law.upper_tail(1.0) >= stats.chi2.sf(1.0, 1)
    assert law.upper_tail(60.0) > stats.chi2.sf(60.0, 1)


def test_a_billion_rows_neither_overflow_nor_round_to_nothing():
    n = 1e9
    counts = np.array([n - 1e4, 1e4])
    two = Side(
        1.0, float((counts * (1 / counts - 1 / n) ** 2).sum()), float((counts * (1 / counts - 1 / n) ** 3).sum())
    )
    third = (1 - 2e-5) / np.sqrt(1e-5 * (1 - 1e-5) * n)
    two = Side(1.0, two.squares, two.cubes, third**2, third**2)
    law = null_law(n, two, two)
    # Ten thousand rows of either class meet in 0.1: the statistic is about Poisson, not chi-squared.
    m = 0.1
    poisson = stats.poisson(m)
    k = np.arange(12)
    squared = (k - m) ** 2 / m
    mean = (squared * poisson.pmf(k)).sum()
    assert law.variance == pytest.approx(((squared - mean) ** 2 * poisson.pmf(k)).sum(), rel=1e-2)
