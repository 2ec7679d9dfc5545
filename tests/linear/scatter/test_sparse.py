"""Products and eigenpairs without a matrix; that products are the scatter's is held by tests/laws/test_scatter.py."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.layout import layout_of
from gramian.linear.scatter.dense import DenseScatter
from gramian.linear.scatter.sparse import BoundedScatter, SparseScatter, TriedScatter, cross_scatter
from gramian.moments import covariance


def test_columns_too_wide_for_one_matrix_of_counts(rng):
    n = 6000
    frame = pd.DataFrame(
        {
            "user": rng.integers(0, 2500, n).astype(str),
            "item": rng.integers(0, 1500, n).astype(str),
            "day": rng.choice(list("abc"), n),
            "x": rng.standard_normal(n),
        }
    )
    m = gm.collect(frame)
    assert m.pairs.blocks, "the table is meant to have columns too wide for the dense matrix of counts"
    layout = layout_of(m, None)
    v = rng.standard_normal((layout.width, 3))
    expected = covariance.scatter(m, layout.columns) @ v
    np.testing.assert_allclose(SparseScatter(m, layout) @ v, expected, atol=1e-10 * np.abs(expected).max())


def test_kept_rows_with_missing_values_beside_a_category(rng):
    x = rng.standard_normal((30, 600))
    x[rng.random(x.shape) < 0.05] = np.nan
    frame = pd.DataFrame(x).add_prefix("g").assign(batch=rng.choice(list("ab"), 30))
    m = gm.collect(frame)
    assert m.numbers.rows is not None
    layout = layout_of(m, None)
    expected = covariance.scatter(m, layout.columns)
    found = SparseScatter(m, layout)
    np.testing.assert_allclose(found @ np.eye(layout.width), expected, atol=1e-10 * np.abs(expected).max())
    # 29 directions of 602: one random block spans them all, whatever number is asked for.
    pairs = BoundedScatter(m, layout).eigenpairs(2)
    assert pairs.rank == found.bound == 29
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(expected)[::-1][:29], rtol=1e-9)


def test_iterations_that_do_not_settle_are_given_up(mixed, monkeypatch):
    m = gm.collect(mixed)
    layout = layout_of(m, ["color", "shape", "kind"])
    expected = DenseScatter(m, layout).eigenpairs(2)
    for representation in (SparseScatter, TriedScatter):
        found = representation(m, layout).eigenpairs(2)
        np.testing.assert_allclose(found.values, expected.values[:2], rtol=1e-10)
        assert found.rank == SparseScatter(m, layout).bound == 6
    monkeypatch.setattr("gramian.linear.scatter.sparse.SETTLED", -1.0)
    assert TriedScatter(m, layout).eigenpairs(2).vectors.shape == (9, 0)
    assert SparseScatter(m, layout).eigenpairs(2).vectors.shape == (9, 2)


@pytest.mark.parametrize("target", ["kind", "grade", "cost"])
def test_the_scatter_with_a_target_is_a_block_of_that_of_both(mixed, target):
    m = gm.collect(mixed)
    rows, columns = layout_of(m, ["shape", "size", "color"]), layout_of(m, [target])
    joint = (m.n_rows - 1) * m.covariance([*rows.columns, target])
    expected = joint[: rows.width, rows.width :]
    np.testing.assert_allclose(cross_scatter(m, rows, columns), expected, atol=1e-11 * np.abs(expected).max())
