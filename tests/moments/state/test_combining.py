"""Numbers of two sets of rows are those of all rows, and one set taken away leaves the other: both from the definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.moments.state.numbers import WIDE_COLUMNS, Numbers, merge, refuse_overflow, subtract, without_dust


def numbers_of(values: np.ndarray, anchors: np.ndarray, *, as_rows: bool = False) -> Numbers:
    """Return the moments from their definition: deviations from anchors, indicators of what is missing, power sums."""
    gone = np.isnan(values)
    missing = tuple(np.flatnonzero(gone.any(axis=0)).tolist())
    extended = np.hstack([np.where(gone, 0.0, values - anchors), gone[:, list(missing)]])
    centred = extended - extended.mean(axis=0)
    deviations = values - anchors
    deviations -= np.nanmean(deviations, axis=0)
    return Numbers(
        names=tuple(f"x{k}" for k in range(values.shape[1])),
        anchors=anchors,
        missing=missing,
        sums=extended.sum(axis=0),
        powers=np.array([np.nansum(deviations**k, axis=0) for k in (3, 4, 5, 6)]),
        scatter=None if as_rows else centred.T @ centred,
        rows=centred if as_rows else None,
    )


@pytest.fixture
def values(rng: np.random.Generator) -> np.ndarray:
    out = rng.normal(size=(200, 4)) + np.array([0, 10, 1e8, -5])
    out[rng.random(out.shape) < 0.2] = np.nan
    out[:, 0] = np.nan_to_num(out[:, 0])
    # Missing in the second part only.
    out[:70, 3] = 1.0 + rng.random(70)
    return out


ANCHORS = np.array([0.0, 8.0, 1e8, -4.0])
SHIFTS = np.array([1.0, -2.0, 4.0, 0.5])


def test_two_sets_of_rows_together_are_all_rows(values: np.ndarray) -> None:
    a, b = numbers_of(values[:70], ANCHORS), numbers_of(values[70:], ANCHORS + SHIFTS)
    whole, expected = merge(a, 70.0, b, 130.0), numbers_of(values, ANCHORS)
    assert whole.missing == expected.missing
    # Anchors differ by up to four spreads, whose square is lost of the last digits.
    np.testing.assert_allclose(whole.sums, expected.sums, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(whole.dense(), expected.dense(), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(whole.powers, expected.powers, rtol=1e-10, atol=1e-9)


def test_merge_and_subtract_undo_each_other(values: np.ndarray) -> None:
    a, b = numbers_of(values[:70], ANCHORS), numbers_of(values[70:], ANCHORS)
    back = subtract(merge(a, 70.0, b, 130.0), 200.0, b, 130.0, 70.0)
    scale = np.sqrt(np.diagonal(numbers_of(values, ANCHORS).imputed_scatter(200.0)))
    difference = np.abs(back.imputed_scatter(70.0) - a.imputed_scatter(70.0))
    assert (difference < 1e-13 * np.outer(scale, scale)).all()


def test_merge_with_nothing_is_the_other() -> None:
    some, none = numbers_of(np.ones((3, 2)), np.ones(2)), Numbers.empty(("x0", "x1"))
    assert merge(some, 3.0, none, 0.0) is some
    assert merge(none, 0.0, some, 3.0) is some


def test_rows_stay_rows_until_they_outgrow_the_columns(rng: np.random.Generator) -> None:
    values, zero = rng.normal(size=(400, WIDE_COLUMNS)), np.zeros(WIDE_COLUMNS)
    one, two = numbers_of(values[:200], zero, as_rows=True), numbers_of(values[200:], zero, as_rows=True)
    whole = merge(one, 200.0, two, 200.0)
    assert whole.rows is not None
    np.testing.assert_allclose(whole.dense(), numbers_of(values, zero).dense(), atol=1e-11)
    more = merge(whole, 400.0, one, 200.0)
    assert more.rows is None
    repeated = np.concatenate([values, values[:200]])
    np.testing.assert_allclose(more.dense(), numbers_of(repeated, zero).dense(), atol=1e-11)


def test_squares_beyond_floating_point_are_refused_by_name() -> None:
    some = replace(Numbers.empty(("x0", "x1")), scatter=np.diag([1.0, 1e300]))
    assert refuse_overflow(some) is some
    with pytest.raises(DataError, match="column 'x1' holds a value beyond"):
        refuse_overflow(replace(some, scatter=np.diag([1.0, np.inf])))


@pytest.mark.parametrize(("cross", "own"), [(1e-7, 0.0), (0.5, 0.125)])
def test_a_column_is_constant_where_no_cross_scatter_stands_above_rounding(cross, own):
    """Rounding is 1e-3 x 1e-3 here: below it the column has gone, above it C_jk^2 / C_kk is what it varies at least."""
    rest = replace(
        Numbers.empty(["x", "y"]),
        anchors=np.zeros(2),
        sums=np.array([3.0, 4.0]),
        scatter=np.array([[-1e-9, cross], [cross, 2.0]]),
        powers=np.ones((4, 2)),
    )
    left = without_dust(rest, 10.0, 5.0, np.array([1e-3, 1e-3]))
    kept = cross if own else 0.0
    np.testing.assert_array_equal(left.dense(), [[own, kept], [kept, 2.0]])
    np.testing.assert_array_equal(left.powers[:, 0], 1.0 if own else 0.0)
