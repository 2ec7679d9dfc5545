"""Means, covariances and correlations against numpy on the dense one-hot matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm


def mixed_frame(rng: np.random.Generator, n: int = 2000) -> pd.DataFrame:
    text = pd.Series(rng.choice(["red", "blue", "green"], n), dtype=object)
    text[rng.random(n) < 0.1] = None
    x = rng.normal(size=n)
    x[rng.random(n) < 0.2] = np.nan
    return pd.DataFrame(
        {
            "color": text,
            "flag": rng.random(n) < 0.3,
            "count": rng.integers(0, 9, n),
            "x": x,
            "y": 3.0 + 2.0 * np.nan_to_num(x) + rng.normal(size=n),
            "many": rng.integers(0, 10_000, n),
        }
    )


def one_hot(frame: pd.DataFrame, m: gm.Moments) -> np.ndarray:
    """Return the dense design matrix in the order of `m`, numbers imputed at their means."""
    columns = []
    for name in m.columns:
        if m.kind(name) == "numeric":
            values = frame[name].to_numpy(dtype=float)
            columns.append(np.where(np.isnan(values), np.nanmean(values), values))
            continue
        for label in m.levels(name):
            hit = frame[name].isna() if label is None else frame[name] == label
            columns.append(hit.to_numpy(dtype=float))
    return np.column_stack(columns)


def assert_covariance(found: np.ndarray, expected: np.ndarray, rtol: float = 1e-12) -> None:
    """Assert entries equal to `rtol` of the product of the two spreads: an entry may be 0 by cancellation."""
    spread = np.sqrt(np.diagonal(expected))
    assert found.shape == expected.shape
    assert (np.abs(found - expected) <= rtol * np.outer(spread, spread)).all()


@pytest.mark.parametrize("ddof", [0, 1])
def test_covariance_and_mean_equal_numpys_on_the_one_hot(rng: np.random.Generator, ddof: int) -> None:
    frame = mixed_frame(rng)
    m = gm.collect(frame)
    dense = one_hot(frame, m)
    assert len(m.design_names) == dense.shape[1]
    assert_covariance(m.covariance(ddof=ddof), np.cov(dense.T, ddof=ddof))
    np.testing.assert_allclose(m.mean(), dense.mean(axis=0), rtol=1e-12)


def test_correlation_equals_numpys(rng: np.random.Generator) -> None:
    frame = mixed_frame(rng)
    m = gm.collect(frame)
    np.testing.assert_allclose(m.correlation(), np.corrcoef(one_hot(frame, m).T), atol=1e-12)


def test_correlation_of_a_constant_is_nan_as_in_numpy(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"x": rng.normal(size=50), "one": np.full(50, 0.1), "c": ["a"] * 50})
    found = gm.collect(frame).correlation()
    assert np.isnan(found[1]).all()
    assert np.isnan(found[2]).all()
    assert found[0, 0] == 1.0


def test_a_subset_of_columns_is_the_same_subset(rng: np.random.Generator) -> None:
    frame = mixed_frame(rng)
    m = gm.collect(frame)
    chosen = ["y", "color", "count"]
    dense = one_hot(frame, m.select(chosen))
    assert_covariance(m.covariance(chosen), np.cov(dense.T))


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_offset_1e8_keeps_six_digits(rng: np.random.Generator, spread: float) -> None:
    n = 100_000
    near, other = spread * rng.normal(size=n), rng.normal(size=n)
    x, y = 1e8 + near, other + near / spread
    # What float64 keeps of x is the data; the exact moments are those of its deviations from 1e8, which are exact.
    expected = np.cov(np.stack([x - 1e8, y]))
    table = pa.table({"x": x, "y": y, "c": pa.array(other > 0)})
    found = gm.collect(table).covariance(["x", "y"])
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    split = gm.collect(table.slice(0, 77)) + gm.collect(table.slice(77))
    np.testing.assert_allclose(split.covariance(["x", "y"]), expected, rtol=1e-10)
    by_level = np.cov(x - 1e8, other > 0)[0, 1]
    m = gm.collect(table)
    at = m.design_names.index("c_True")
    assert m.covariance()[0, at] == pytest.approx(by_level, rel=1e-9)


def test_values_that_drift_away_from_the_first_rows(rng: np.random.Generator) -> None:
    """Anchors are chosen from the first rows: a column that moves far from them keeps its digits."""
    x = np.concatenate([np.zeros(5000), 1e8 + rng.normal(size=200_000)])
    m = gm.collect(pa.table({"x": x})).covariance("x")[0, 0]
    np.testing.assert_allclose(m, np.var(x, ddof=1), rtol=1e-11)
    # The tail alone, by subtraction: 1e-13 of a scatter 2.4e14 times larger than its own cannot keep digits, but the
    # tail collected alone must.
    tail = gm.collect(pa.table({"x": x[5000:]})).covariance("x")[0, 0]
    np.testing.assert_allclose(tail, np.var(x[5000:] - 1e8, ddof=1), rtol=1e-9)


def test_a_trend_keeps_its_digits(rng: np.random.Generator) -> None:
    x = 1e6 + np.linspace(0, 1e7, 300_000)
    m = gm.collect(pa.table({"x": x}))
    np.testing.assert_allclose(m.covariance()[0, 0], np.var(x, ddof=1), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30, 1e140])
def test_any_scale_of_numbers(rng: np.random.Generator, scale: float) -> None:
    values = rng.normal(size=(500, 2)) * scale
    found = gm.collect(values)
    np.testing.assert_allclose(found.mean(), values.mean(axis=0), rtol=1e-10)
    if scale > 1e-150:
        np.testing.assert_allclose(found.covariance() / scale / scale, np.cov(values.T / scale), rtol=1e-10, atol=1e-12)


def test_weighted_covariance_equals_numpys_aweights(rng: np.random.Generator) -> None:
    frame = mixed_frame(rng).drop(columns="x")
    weights = rng.random(len(frame)) * 3
    m = gm.collect(frame, sample_weight=weights)
    dense = one_hot(frame, m)
    # numpy's aweights with ddof=0 divide by the total weight: a weight as repeated rows with ddof=0.
    assert_covariance(m.covariance(ddof=0), np.cov(dense.T, aweights=weights, ddof=0))
    np.testing.assert_allclose(m.mean(), np.average(dense, axis=0, weights=weights), rtol=1e-12)


def test_weighted_covariance_equals_numpys_fweights(rng: np.random.Generator) -> None:
    frame = mixed_frame(rng).drop(columns="x")
    weights = rng.integers(0, 4, len(frame))
    m = gm.collect(frame, sample_weight=weights)
    dense = one_hot(frame, m)
    assert_covariance(m.covariance(), np.cov(dense.T, fweights=weights))


@pytest.mark.parametrize("missing", [False, True])
def test_more_columns_than_rows_equal_numpys(rng: np.random.Generator, missing: bool) -> None:
    values = 5.0 + rng.normal(size=(50, 2000))
    if missing:
        values[rng.random(values.shape) < 0.02] = np.nan
    imputed = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    m = gm.collect(values)
    assert m.nbytes < 8 * 2000 * 2000 / 4
    assert_covariance(m.covariance(), np.cov(imputed.T))
    np.testing.assert_allclose(m.mean(), imputed.mean(axis=0), rtol=1e-12)
    parts = gm.collect(values[:20]) + gm.collect(values[20:])
    assert_covariance(parts.covariance(), np.cov(imputed.T))


def test_rows_that_outgrow_their_columns_equal_numpys(rng: np.random.Generator) -> None:
    values = rng.normal(size=(900, 600))
    parts = [values[k : k + 100] for k in range(0, 900, 100)]
    assert_covariance(gm.collect(parts).covariance(), np.cov(values.T))
    assert_covariance(gm.merge([gm.collect(part) for part in parts]).covariance(), np.cov(values.T))


def test_more_columns_than_rows_beside_a_category(rng: np.random.Generator) -> None:
    values = rng.normal(size=(40, 700))
    frame = pd.DataFrame(values, columns=[f"v{k}" for k in range(700)]).assign(c=["a", "b"] * 20)
    m = gm.collect(frame)
    assert_covariance(m.covariance(), np.cov(one_hot(frame, m).T))
    rest = m - gm.collect(frame[:10])
    assert_covariance(rest.covariance(), np.cov(one_hot(frame[10:], rest).T), rtol=1e-11)


def test_wide_categories_equal_numpys(rng: np.random.Generator) -> None:
    n = 3000
    frame = pd.DataFrame(
        {"u": [f"u{k}" for k in rng.integers(0, 2500, n)], "c": rng.choice(["a", "b"], n), "k": rng.integers(0, 3, n),
         "x": rng.normal(size=n)}
    )  # fmt: skip
    frame = pd.concat([frame, pd.DataFrame({"u": [f"u{k}" for k in range(2500)], "c": "a", "k": 1, "x": 0.5})])
    m = gm.collect(frame)
    assert_covariance(m.covariance(), np.cov(one_hot(frame, m).T))


def test_covariance_is_symmetric_to_the_bit(rng: np.random.Generator) -> None:
    covariance = gm.collect(mixed_frame(rng)).covariance()
    np.testing.assert_array_equal(covariance, covariance.T)


def test_rank_deficit_is_the_number_of_categories(rng: np.random.Generator) -> None:
    m = gm.collect(mixed_frame(rng))
    values = np.linalg.eigvalsh(m.correlation())
    # `color` and `flag`: each block of levels sums to one. Relative cut-off.
    assert (values < 1e-10 * values[-1]).sum() == 2


@pytest.mark.parametrize("density", [0.01, 0.3])
def test_sparse_matrices_equal_numpys(rng: np.random.Generator, density: float) -> None:
    import scipy.sparse as sp

    matrix = sp.csr_array(rng.random((3000, 60)) * (rng.random((3000, 60)) < density))
    assert_covariance(gm.collect(matrix).covariance(), np.cov(matrix.toarray().T))
    weights = rng.integers(1, 4, 3000)
    weighted = gm.collect(matrix, sample_weight=weights)
    assert_covariance(weighted.covariance(), np.cov(matrix.toarray().T, fweights=weights))
