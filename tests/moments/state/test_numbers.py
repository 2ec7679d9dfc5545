from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gramian.moments.counting.scatter_counter import ScatterCounter, choose_anchors
from gramian.moments.state.numbers import WIDE_COLUMNS, Numbers, anchor_near, merge


def numbers_of(values: np.ndarray, weights: np.ndarray | None = None, n_threads: int = 1) -> Numbers:
    with ThreadPoolExecutor(n_threads) as pool:
        names = [f"x{k}" for k in range(values.shape[1])]
        counter = ScatterCounter(names, executor=pool, n_threads=n_threads, reserve=lambda _: None)
        counter.add(values, weights)
        return counter.result()[0]


def imputed(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), np.nanmean(values, axis=0), values)


@pytest.fixture
def values(rng: np.random.Generator) -> np.ndarray:
    out = rng.normal(size=(200, 4)) + np.array([0, 10, 1e8, -5])
    out[rng.random(out.shape) < 0.2] = np.nan
    out[:, 0] = np.nan_to_num(out[:, 0])
    return out


def test_an_anchor_is_a_multiple_of_a_power_of_two_near_the_spread() -> None:
    mean, spread = np.array([1e8 + 0.3, -3.7, 5e-9, 1e300]), np.array([1.0, 0.3, 1e-9, 1e299])
    anchors = anchor_near(mean, spread)
    step = np.exp2(np.floor(np.log2(spread)))
    np.testing.assert_array_equal(anchors / step, np.rint(anchors / step))
    assert (np.abs(anchors - mean) <= spread).all()


def test_a_constant_is_its_own_anchor() -> None:
    values = np.full((100, 1), 0.1)
    found = numbers_of(values)
    assert found.anchors[0] == 0.1
    assert found.sums[0] == 0.0
    assert found.dense()[0, 0] == 0.0


def test_anchors_skip_missing_values() -> None:
    values = np.full((10_000, 2), np.nan)
    values[9000:, 0] = 1e8
    anchors = choose_anchors(values, np.full(2, np.nan))
    assert anchors[0] == 1e8
    assert np.isnan(anchors[1])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_imputed_scatter_is_that_of_imputed_columns(values: np.ndarray, n_threads: int) -> None:
    found = numbers_of(values, n_threads=n_threads)
    shifted = imputed(values - [0, 10, 1e8, -5])
    expected = np.cov(shifted.T, ddof=0) * len(values)
    spread = np.sqrt(np.diagonal(expected))
    assert (np.abs(found.imputed_scatter(200.0) - expected) < 1e-12 * np.outer(spread, spread)).all()
    mean, _ = found.imputed_mean(200.0)
    np.testing.assert_allclose(mean, np.nanmean(values, axis=0), rtol=1e-14, atol=1e-14)


def test_select_keeps_indicators_with_their_columns(values: np.ndarray) -> None:
    picked = numbers_of(values).select([3, 0, 1])
    direct = numbers_of(values[:, [3, 0, 1]])
    np.testing.assert_array_equal(picked.missing, direct.missing)
    np.testing.assert_allclose(picked.dense(), direct.dense(), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(picked.sums, direct.sums, rtol=1e-12)


def test_moving_anchors_moves_no_moment(values: np.ndarray) -> None:
    found = numbers_of(values)
    moved = found.anchored_at(found.anchors + np.array([1.0, -2.0, 64.0, 0.5]), 200.0)
    np.testing.assert_allclose(moved.imputed_mean(200.0)[0], found.imputed_mean(200.0)[0], rtol=1e-14)
    # Shifts of 64 spreads cost their square of the last digits.
    np.testing.assert_allclose(moved.imputed_scatter(200.0), found.imputed_scatter(200.0), rtol=1e-9, atol=1e-9)


def test_few_rows_of_many_columns_stay_rows(rng: np.random.Generator) -> None:
    values = rng.normal(size=(20, WIDE_COLUMNS + 88))
    found = numbers_of(values)
    assert found.scatter is None
    assert found.rows is not None
    assert found.nbytes < values.shape[1] ** 2
    np.testing.assert_allclose(found.dense(), np.cov(values.T, ddof=0) * 20, atol=1e-12)
    np.testing.assert_allclose(found.diagonal(), np.diagonal(found.dense()), rtol=1e-12)
    whole = merge(found, 20.0, numbers_of(values + 1), 20.0)
    assert whole.rows is not None
    both = np.concatenate([values, values + 1])
    np.testing.assert_allclose(whole.dense(), np.cov(both.T, ddof=0) * 40, atol=1e-11)


def test_rows_are_multiplied_out_when_they_outgrow_the_columns(rng: np.random.Generator) -> None:
    values = rng.normal(size=(WIDE_COLUMNS - 12, WIDE_COLUMNS))
    one = numbers_of(values)
    assert one.rows is not None
    both = merge(one, float(len(values)), one, float(len(values)))
    assert both.scatter is not None
    np.testing.assert_allclose(both.dense(), 2 * one.dense(), atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_wide_rows_with_missing_values(rng: np.random.Generator, weighted: bool) -> None:
    values = rng.normal(size=(30, WIDE_COLUMNS))
    values[rng.random(values.shape) < 0.05] = np.nan
    weights = rng.integers(1, 4, 30).astype(float) if weighted else None
    repeats = np.ones(30, int) if weights is None else weights.astype(int)
    found = numbers_of(values, weights)
    total = float(repeats.sum())
    np.testing.assert_allclose(
        found.imputed_scatter(total), np.cov(imputed(np.repeat(values, repeats, axis=0)).T, ddof=0) * total, atol=1e-11
    )


def test_scaling_scales_sums_and_scatter(values: np.ndarray) -> None:
    found = numbers_of(values)
    np.testing.assert_array_equal(found.scale(2.0).dense(), 2 * found.dense())
    np.testing.assert_array_equal(found.scale(2.0).sums, 2 * found.sums)


def test_isclose_tells_small_from_real_differences(values: np.ndarray) -> None:
    found = numbers_of(values)
    assert found.isclose(numbers_of(values[::-1]), 200.0, 1e-9)
    moved = values.copy()
    moved[0, 2] += 0.01
    assert not found.isclose(numbers_of(moved), 200.0, 1e-9)
    assert not found.equals(numbers_of(moved))
