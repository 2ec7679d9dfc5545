"""A weight means repeated rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import Recipe, assert_same, by_label, collected, in_name_order, pairs_by_label, recipes


def assert_same_but_rows(a: gm.Moments, b: gm.Moments) -> None:
    """Assert the same answers of two moments that saw another number of rows of the same weight."""
    assert float(a.total_weight) == pytest.approx(float(b.total_weight), rel=1e-13)
    for name in a.coded:
        assert by_label(a, name) == by_label(b, name)
        for other in a.coded:
            if other < name:
                assert pairs_by_label(a, name, other) == pairs_by_label(b, name, other)
    names, mean, covariance = in_name_order(a)
    names_b, mean_b, covariance_b = in_name_order(b)
    assert names == names_b
    np.testing.assert_allclose(mean, mean_b, rtol=1e-14, atol=1e-14)
    spread = np.sqrt(np.diagonal(covariance))
    assert (np.abs(covariance - covariance_b) <= 1e-12 * np.outer(spread, spread) + 1e-24).all()


@given(recipes(), st.sampled_from([0, 2]))
def test_whole_weights_equal_repeated_rows(recipe: Recipe, folds: int) -> None:
    table = recipe.table()
    repeated = table.take(np.repeat(np.arange(recipe.n_rows), np.array(table["weight"]).astype(int)))
    arguments = {"folds": folds, "fold_by": "color"} if folds else {}
    weighted = collected(table, sample_weight="weight", **arguments)
    plain = collected(repeated, **arguments)
    if weighted.schema == plain.schema:
        assert_same_but_rows(weighted, plain)
    assert weighted.n_rows == recipe.n_rows
    assert weighted.total_weight == plain.n_rows
    for mine, theirs in zip(weighted.folds, plain.folds, strict=True):
        assert mine.total_weight == theirs.n_rows


@given(recipes(min_rows=2))
def test_rows_of_weight_zero_are_not_seen(recipe: Recipe) -> None:
    table = recipe.table()
    rng = np.random.default_rng(recipe.seed)
    weights = rng.integers(0, 2, recipe.n_rows) * rng.integers(1, 5, recipe.n_rows)
    weights[0] = 1
    table = table.set_column(7, "weight", pa.array(weights.astype(float)))
    seen = table.filter(pa.array(weights > 0))
    with_zeros = collected(table, sample_weight="weight")
    assert with_zeros.n_rows == seen.num_rows
    assert_same(with_zeros, collected(seen, sample_weight="weight"))


@given(recipes())
def test_weights_of_one_equal_no_weights(recipe: Recipe) -> None:
    table = recipe.table()
    ones = table.set_column(7, "weight", pa.array(np.ones(recipe.n_rows)))
    assert_same(collected(ones, sample_weight="weight"), collected(table))


@given(recipes())
def test_an_array_of_weights_equals_a_column(recipe: Recipe) -> None:
    table = recipe.table()
    weights = np.array(table["weight"])
    by_array = gm.collect(table.drop(["weight"]), sample_weight=weights)
    assert by_array == collected(table, sample_weight="weight")


def test_a_weight_column_is_not_a_feature_unless_asked_for() -> None:
    table = pa.table({"x": [1.0, 2.0], "w": [1.0, 3.0]})
    assert gm.collect(table, sample_weight="w").columns == ["x"]
    assert gm.collect(table, columns=["x", "w"], sample_weight="w").columns == ["x", "w"]


def test_integer_weight_columns_weigh() -> None:
    m = gm.collect(pa.table({"c": ["a", "b"], "w": [2, 3]}), sample_weight="w")
    assert m.counts("c").tolist() == [2.0, 3.0]
    assert m.counts("c").dtype == np.float64


@pytest.mark.parametrize("levels", [2, 70, 3000])
def test_fractional_weights_add_up_by_level(levels: int, rng: np.random.Generator) -> None:
    """Few, many and very many levels: each is counted by another kernel."""
    n = 20_000
    codes, other, weights = rng.integers(0, levels, n), rng.integers(0, 5, n), rng.random(n)
    x = rng.normal(size=n)
    table = pa.table({"c": pa.array(codes.astype(str)), "d": pa.array(other.astype(str)), "x": x, "w": weights})
    m = gm.collect(table, sample_weight="w")
    order = [int(k) for k in m.levels("c")]
    # Sums of 20,000 weights in another order.
    np.testing.assert_allclose(m.counts("c"), np.bincount(codes, weights)[order], rtol=1e-12)
    cross = np.zeros((codes.max() + 1, 5))
    np.add.at(cross, (codes, other), weights)
    found = m.crosstab("c", "d")
    np.testing.assert_allclose(found, cross[order][:, [int(k) for k in m.levels("d")]], rtol=1e-12)
    assert m.mean("x")[0] == pytest.approx(np.average(x, weights=weights), abs=1e-13)


def test_weights_for_arrays(rng: np.random.Generator) -> None:
    values, weights = rng.normal(size=(100, 3)), rng.integers(0, 3, 100)
    m = gm.collect(values, sample_weight=weights)
    np.testing.assert_allclose(m.covariance(), np.cov(values.T, fweights=weights), rtol=1e-12, atol=1e-14)


NORMALISED = [
    lambda m: m.covariance(),
    lambda m: gm.PCA().fit(m),
    lambda m: gm.PCA(ddof=1, scale=True).fit(m),
    lambda m: gm.Whitening().fit(m),
    lambda m: gm.DensityEmbedding().fit(m).transform(np.zeros((1, 3))),
    lambda m: gm.MahalanobisFeatures().fit(m, "x2"),
    lambda m: gm.independence_test(m, ["x0", "x1"], "x2"),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("use", NORMALISED)
def test_weights_that_add_up_to_one_are_one_row(use, dtype) -> None:
    """Whatever their sum rounds to, 1 less 1 is no number of rows to divide by."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 400))
        w = rng.uniform(0.1, 1.0, n).astype(dtype)
        w /= w.sum(dtype=dtype)
        m = gm.collect(rng.normal(size=(n, 3)), sample_weight=w)
        with pytest.raises(ValueError, match=r"a weight means repeated rows"):
            use(m)


def test_normalised_weights_work_where_nothing_is_subtracted() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(50, 3)), rng.uniform(0.1, 1.0, 50)
    one, many = (gm.collect(x, sample_weight=v) for v in (w / w.sum(), 50 * w / w.sum()))
    np.testing.assert_allclose(one.covariance(ddof=0), many.covariance(ddof=0), rtol=1e-12)
    np.testing.assert_allclose(one.correlation(), many.correlation(), rtol=1e-12)
    np.testing.assert_allclose(
        gm.PCA(ddof=0).fit(one).explained_variance_, gm.PCA(ddof=0).fit(many).explained_variance_, rtol=1e-12
    )
