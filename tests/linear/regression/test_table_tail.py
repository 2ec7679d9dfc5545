"""The tail of sparse tables against all permutations, and against many."""

from itertools import combinations, permutations
from math import comb

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.regression import permutation as module
from gramian.linear.regression.permutation import FLOOR, Side, null_law, table_tail


def statistic(x, y):
    """Return (n - 1)/n times Pearson's chi-squared of two columns, from the table."""
    table = np.zeros((x.max() + 1, y.max() + 1))
    np.add.at(table, (x, y), 1)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(x)
    some = expected > 0
    return (len(x) - 1) / len(x) * (np.square(table - expected)[some] / expected[some]).sum()


def counts_of(codes):
    return np.bincount(codes).astype(float)


SMALL = {
    "two by two": ([0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]),
    "rare class": ([0, 0, 1, 1, 2, 2, 3], [0, 0, 1, 1, 1, 1, 1]),
    "three classes": ([0, 0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 2, 2]),
    "one row a level": ([0, 1, 2, 3, 4, 5, 5], [0, 0, 1, 1, 2, 2, 2]),
    "a level without rows": ([0, 0, 2, 2, 2, 3, 3], [0, 1, 1, 3, 3, 3, 3]),
}


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("case", SMALL)
def test_every_value_has_the_share_of_all_permutations(case, drawn, monkeypatch):
    if drawn:
        monkeypatch.setattr(module, "ENUMERATED", 0)
    x, y = map(np.array, SMALL[case])
    every = np.array([statistic(x, y[list(p)]) for p in permutations(range(7))])
    for value in np.unique(every.round(9)):
        exact = (every >= value - 1e-9).mean()
        found = table_tail(counts_of(x), counts_of(y), value).probability
        # Four standard errors of a share of 2,048 tables, or of a product of such; none where tables are enumerated.
        error = 4 * np.sqrt(max(1 / exact - 1, 0) / 2048) if drawn and case != "two by two" else 0.0
        assert found == pytest.approx(exact, rel=error + 1e-12)


@pytest.mark.parametrize("rare", [(1,), (2,), (3,), (2, 1)])
@pytest.mark.parametrize("levels", [(16, 11, 11), (30, 5, 3), (19, 19), (2,) * 19, (20, *[1] * 18)])
def test_classes_of_one_to_three_rows_have_exact_p_values(rare, levels):
    # All ways to choose the rows of the rare classes; those of the other class are the rest.
    n, x = 38, np.repeat(np.arange(len(levels)), levels)
    chosen = [
        (*first, *second)
        for first in combinations(range(n), rare[0])
        for second in (combinations(set(range(n)) - set(first), rare[1]) if len(rare) > 1 else [()])
    ]
    classes = np.repeat(np.arange(1, len(rare) + 1), rare)
    size = np.array([n - sum(rare), *rare])
    # sum of N_uv^2 / (a_u b_v), which grows with the statistic, for many choices at once
    table = np.zeros((len(chosen), len(levels), len(size)))
    for k, v in enumerate(classes):
        np.add.at(table, (np.arange(len(chosen)), x[[rows[k] for rows in chosen]], v), 1)
    table[:, :, 0] = np.array(levels) - table.sum(axis=2)
    every = (n - 1) * (np.einsum("kuv,u,v->k", table**2, 1 / np.array(levels), 1 / size) - 1)
    some = np.random.default_rng(0).integers(0, len(chosen), 8)
    for rows, value in zip([chosen[k] for k in some], every[some], strict=True):
        y = np.zeros(n, dtype=int)
        y[list(rows)] = classes
        frame = pd.DataFrame({"x": np.char.add("l", x.astype(str)), "y": np.char.add("c", y.astype(str))})
        found = gm.independence_test(gm.collect(frame), "x", "y")
        assert found.statistic == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert found.p_value == pytest.approx((every >= value - 1e-9).mean(), rel=1e-9)


def test_a_class_of_one_row_against_three_levels():
    assert null_law(38.0, of(np.array([16.0, 11, 11])), of(np.array([37.0, 1]))).upper_tail(
        37 / 38 * (38**2 / (11 * 37) - 38 / 37)
    ) == pytest.approx(22 / 38)


def test_tables_that_are_too_many_to_enumerate_are_drawn_whatever_the_p_value(rng):
    # Levels of two rows and a class of 20: the statistic has five values, and the moments alone were off by half.
    a, b = np.full(205, 2.0), np.array([390.0, 20])
    law = null_law(410.0, of(a), of(b))
    drawn = np.sort(permuted_statistics(np.repeat(np.arange(205), 2), np.repeat([0, 1], [390, 20]), 20_000, rng))
    for share in (0.99, 0.5, 0.15):
        value = drawn[int((1 - share) * len(drawn))]
        exact = (drawn >= value - 1e-6).mean()
        # Four standard errors of some 2,000 tables, and of the permutations.
        assert law.upper_tail(value) == pytest.approx(exact, rel=5 * np.sqrt((1 / exact - 1) / 2000) + 1e-3)


def zipf(k, n, rng):
    share = 1 / np.arange(1, k + 1)
    return rng.choice(k, n, p=share / share.sum())


NULLS = {
    "2% class, 30 even levels": lambda rng, n: (rng.integers(0, 30, n), np.arange(n) >= 0.02 * n),
    "2% class, 60 Zipf levels": lambda rng, n: (zipf(60, n, rng), np.arange(n) >= 0.02 * n),
    "0.2% class, 10 Zipf levels": lambda rng, n: (zipf(10, n, rng), np.arange(n) >= max(0.002 * n, 2)),
    "a near-identifier, 2%": lambda rng, n: (np.where(rng.random(n) < 0.2, 0, np.arange(n)), np.arange(n) >= 0.02 * n),
    "classes of 60, 38 and 2%": lambda rng, n: (
        zipf(40, n, rng),
        np.digitize(np.arange(n), [0.02 * n, 0.4 * n]),
    ),
}


@pytest.mark.parametrize("case", NULLS)
def test_p_values_keep_their_word_far_out(case, rng):
    # Real permutations, a hundred thousand: at 1e-4 ten of them are beyond, give or take three.
    n, draws = 300, 100_000
    x, y = NULLS[case](rng, n)
    y = y.astype(int)
    frame = pd.DataFrame({"x": np.char.add("l", x.astype(str)), "y": np.char.add("c", y.astype(str))})
    law = gm.independence_test(gm.collect(frame), "x", "y").null_law
    drawn = np.sort(permuted_statistics(x, y, draws, rng))
    for level, most in ((1e-2, 1.15), (1e-3, 1.5), (1e-4, 2.2)):
        # P(p <= level): p falls with the statistic, so the least statistic of such a p-value is found by halving.
        assert share_below(law.upper_tail, drawn, level) <= most * level


def test_three_moments_alone_are_too_light(rng):
    # The rows of a class of two are a draw without replacement from the levels: ten of shares 1, 1/2, 1/3 ...
    a = np.array([341.0, 171, 114, 85, 68, 57, 49, 43, 38, 34])
    law = null_law(1000.0, of(a), of(np.array([980.0, 20.0])))
    rare = rng.multivariate_hypergeometric(a.astype(int), 20, size=200_000, method="marginals")
    drawn = np.sort(999 * 1000 / (20 * 980) * (np.square(rare - a * 0.02) / a).sum(axis=1))
    # 200 beyond 1e-3, give or take 14.
    assert share_below(law.gamma_tail, drawn, 1e-3) > 1.2e-3
    assert share_below(law.upper_tail, drawn, 1e-3) <= 1.15e-3


def permuted_statistics(x, y, draws, rng):
    n, levels, classes = len(x), x.max() + 1, y.max() + 1
    a, b = counts_of(x), counts_of(y)
    out = np.empty(draws)
    for start in range(0, draws, 5_000):
        rows = rng.permuted(np.tile(y, (5_000, 1)), axis=1)
        total = np.zeros(5_000)
        for v in range(classes):
            # Rows of class v, the level of each: sum over levels of count^2 / (a b).
            found = np.bincount(
                (np.arange(5_000)[:, None] * levels + x).ravel(), (rows == v).ravel(), minlength=5_000 * levels
            ).reshape(5_000, levels)
            total += (found**2 / np.where(a > 0, a, np.inf)).sum(axis=1) / b[v]
        out[start : start + 5_000] = (n - 1) * (total - 1)
    return out


def share_below(tail, drawn, level):
    low, high = 0, len(drawn)
    while low < high:
        middle = (low + high) // 2
        if tail(float(drawn[middle])) <= level:
            high = middle
        else:
            low = middle + 1
    return (len(drawn) - np.searchsorted(drawn, drawn[low] - 1e-9)) / len(drawn) if low < len(drawn) else 0.0


A, B = np.array([50.0, 30, 12, 5, 2, 1]), np.array([80.0, 15, 5])


def test_the_tail_falls_and_goes_on_beyond_what_is_drawn():
    law = null_law(100.0, of(A), of(B))
    t = np.linspace(10.0, 190.0, 61)
    tail = np.array([law.upper_tail(x) for x in t])
    assert (np.diff(tail) <= 0).all()
    assert 0 < tail[-1] < 1e-12
    # No step where drawing ends.
    end = table_tail(A, B, 190.0)
    assert end.probability < FLOOR
    assert law.upper_tail(end.statistic * (1 + 1e-6)) == pytest.approx(end.probability, rel=0.01)


def of(counts):
    from gramian.linear.regression.independence import of_category

    return of_category(counts).side


def test_neither_sides_nor_labels_have_an_order():
    one = table_tail(A, B, 22.0)
    assert table_tail(B, A, 22.0) == one
    assert table_tail(A[::-1].copy(), B[[1, 2, 0]], 22.0) == one


def test_large_tables_are_left_to_the_moments():
    assert table_tail(np.full(20, 1e4), np.array([1e5, 1e5]), 60.0) is None
    assert table_tail(np.full(3, 1e9), np.array([1e9, 1e9, 1e9]), 9.0) is None
    # One level is no table at all.
    assert table_tail(np.array([10.0]), np.array([4.0, 6.0]), 0.0) is None


def test_shares_of_rows_are_left_to_the_moments(monkeypatch):
    # Weights that are no whole numbers make no table of rows.
    monkeypatch.setattr(module, "_draw", None)
    side = Side(1.0, 0.5, 0.2, 0.1, 0.1, counts=np.array([2.5, 7.5]))
    law = null_law(10.0, side, side)
    assert law.upper_tail(8.0) == law.gamma_tail(8.0)


def test_the_same_table_has_the_same_p_value_in_every_run():
    assert table_tail(A, B, 25.0) == table_tail(A, B, 25.0)


@pytest.mark.parametrize(("a", "b", "both"), [(2, 2, 1), (1, 3, 0), (3, 4, 2), (4, 5, 1)])
def test_two_by_two_is_exact_however_large_the_p_value(a, b, both):
    n = 12
    x, y = np.arange(n) < a, (np.arange(n) < both) | (np.arange(n) >= n - (b - both))
    got = gm.IndependenceFilter(control="none").fit(pd.DataFrame({"x": x}), np.where(y, "yes", "no")).p_values_
    # Of all choices of b rows, those whose table is as far from independence.
    shared = np.array([comb(a, k) * comb(n - a, b - k) for k in range(min(a, b) + 1)])
    far = np.abs(np.arange(len(shared)) - a * b / n) >= abs(both - a * b / n) - 1e-9
    np.testing.assert_allclose(got, shared[far].sum() / comb(n, b), rtol=1e-9)
