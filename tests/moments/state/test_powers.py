"""Central power sums against their definition, from every kind of rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.moments.algebra.folds import filled_at
from gramian.moments.state.numbers import Powers

K = np.arange(3, 7)[:, None]


def by_definition(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return (4, p) sums of the third to sixth powers about the mean of what is observed, in extended precision."""
    values = np.asarray(values, dtype=np.longdouble)
    w = np.where(np.isnan(values), 0, 1) * (1 if weights is None else np.asarray(weights)[:, None])
    filled = np.where(np.isnan(values), 0, values)
    total = w.sum(axis=0)
    deviation = filled - (w * filled).sum(axis=0) / np.where(total > 0, total, 1)
    return np.array([(w * deviation ** int(k)).sum(axis=0) for k in K[:, 0]], dtype=np.float64)


def assert_powers(m: gm.Moments, values: np.ndarray, weights: np.ndarray | None = None, rtol: float = 1e-11) -> None:
    """Assert that the sums are those of the values, to `rtol` of the sum of |d|^k at most."""
    expected, weight = by_definition(values, weights), float(m.total_weight)
    # Odd sums may be near 0: the sixth mean bounds them all.
    scale = weight * (expected[-1] / weight) ** (K / 6)
    assert (np.abs(m.numbers.powers - expected) <= rtol * scale).all()


def heavy(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return np.exp(1.5 * rng.standard_normal((n, p))) * 10.0 ** (np.arange(p) % 5 - 2)


# Everything together at two shapes; at the others plain rows and the hardest.
CASES = [
    *product([(5000, 3), (40, 520)], [False, True], [0.0, 0.3], [0.0, 1e8]),
    *product([(1, 2), (700, 1), (70_000, 3), (700, 520)], [False], [0.0], [0.0]),
    *product([(1, 2), (700, 1), (70_000, 3), (700, 520)], [True], [0.3], [1e8]),
]


@pytest.mark.parametrize(("shape", "weighted", "missing", "offset"), CASES)
def test_sums_are_those_of_the_definition(rng, shape, weighted, missing, offset):
    n, p = shape
    values = heavy(rng, n, p) + offset * (np.arange(p) % 2)
    # What is left of 1e8 + x in a float is the value: the definition must see the same.
    values = np.where(rng.random((n, p)) < missing, np.nan, values)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    assert_powers(gm.collect(values, sample_weight=weights), values, weights, rtol=1e-9 if offset else 1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_after_a_constant_start_far_away(rng, weighted):
    # The anchor is chosen from the first rows: here 1e6 spreads from all that follow.
    values = np.concatenate([np.zeros(2000), 1e6 + rng.standard_normal(100_000)])[:, None]
    late = gm.collect(values[2000:], sample_weight=np.ones(100_000) if weighted else None)
    whole = gm.collect(values, sample_weight=np.ones(102_000) if weighted else None)
    assert_powers(whole, values)
    rest = whole - gm.collect(values[:2000], sample_weight=np.ones(2000) if weighted else None)
    # About 1e24 a row is taken from the fourth sum to leave 3: nothing of that is known, and the sums say so.
    assert np.isnan(rest.numbers.powers).all()
    assert_powers(late, values[2000:])


def test_sparse_rows_give_the_same_sums(rng):
    values = np.where(rng.random((3000, 40)) < 0.02, heavy(rng, 3000, 40), 0.0)
    assert_powers(gm.collect(sp.csr_array(values)), values)
    weights = rng.integers(1, 5, 3000).astype(float)
    assert_powers(gm.collect(sp.csr_array(values), sample_weight=weights), values, weights)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_merging_subtracting_and_folds_keep_the_sums(rng, missing):
    values = heavy(rng, 4000, 3)
    values[rng.random(values.shape) < missing] = np.nan
    a, b = gm.collect(values[:1500]), gm.collect(values[1500:])
    assert_powers(a + b, values)
    # Rounding is that of the whole, whose sixth sum may be a thousand times the part's.
    assert_powers((a + b) - b, values[:1500], rtol=1e-7)
    folded = gm.collect(values, folds=3)
    assert_powers(gm.merge(folded.folds), values)
    assert_powers(folded.without_fold(1) + folded.folds[1], values)
    assert_powers(a * 2.5, values[:1500], np.full(1500, 2.5))
    assert_powers(a.drop(a.columns[0]), values[:1500, 1:])
    chosen = [a.columns[2], a.columns[0]]
    assert_powers(a.select(chosen) + b.select(chosen), values[:, [2, 0]])


def test_integers_by_level_bring_their_sums_when_they_fold(rng):
    values = rng.integers(0, 40, 500)
    column = pa.array(np.where(rng.random(500) < 0.1, -1, values), mask=rng.random(500) < 0.2)
    by_level = gm.collect(pa.table({"k": column}))
    as_number = gm.collect(pa.table({"k": column}), numeric="k")
    wide = gm.collect(pa.table({"k": pa.array(np.arange(500))}))
    both = by_level + wide
    plain = np.concatenate([column.to_numpy(zero_copy_only=False).astype(float), np.arange(500.0)])[:, None]
    assert both.schema["k"].form == "number"
    assert_powers(both, plain)
    assert as_number.isclose(by_level)


def test_filling_missing_values_is_one_value_in_so_many_rows(rng):
    values = heavy(rng, 300, 2)
    values[rng.random(values.shape) < 0.3] = np.nan
    m = gm.collect(values)
    filled = filled_at(m, dict(zip(m.columns, [3.0, -2.0], strict=True)))
    assert_powers(filled, np.where(np.isnan(values), [3.0, -2.0], values))


def test_values_too_large_for_a_sixth_power_are_unknown_not_wrong():
    m = gm.collect(pa.table({"x": [1e60, -1e60, 3e60, 0.0]}))
    assert not np.isfinite(m.numbers.powers[-1]).any()
    assert m.numbers.powers[1] == pytest.approx(by_definition(np.array([[1], [-1], [3], [0.0]]))[1] * 1e240, rel=1e-12)
    assert not np.isfinite((m + m).numbers.powers[-1]).any()


def test_equality_and_closeness_see_them(rng):
    from dataclasses import replace

    values = heavy(rng, 200, 2)
    m = gm.collect(values)
    changed = replace(m, numbers=replace(m.numbers, powers=m.numbers.powers * 1.001))
    assert m == gm.collect(values)
    assert m != changed
    assert not m.isclose(changed)
    assert m.isclose(gm.collect(values[::-1]))
    unknown = replace(m, numbers=replace(m.numbers, powers=np.full((4, 2), np.nan)))
    assert unknown == unknown
    assert unknown != m
    assert unknown.isclose(m)
    assert np.isnan((unknown + m).numbers.powers).all()


def test_sums_about_another_point_and_of_two_sets_are_those_of_the_rows(rng):
    values = heavy(rng, 90, 3)
    parts = [values[:30], values[30:]]

    def of(rows):
        d = rows - rows.mean(axis=0)
        return Powers(
            np.full(3, float(len(rows))), rows.mean(axis=0), np.array([(d**k).sum(axis=0) for k in range(2, 7)])
        )

    both = of(parts[0]) + of(parts[1])
    expected = of(values)
    size = np.abs(values - values.mean(axis=0)).max(axis=0) ** np.arange(2, 7)[:, None] * 90
    assert (np.abs(both.sums - expected.sums) <= 1e-11 * size).all()
    point = np.array([1.0, -2.0, 0.5])
    about = np.array([((values - point) ** k).sum(axis=0) for k in range(2, 7)])
    np.testing.assert_allclose(expected.about(point), about, rtol=1e-9)
