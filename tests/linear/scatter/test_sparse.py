import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.layout import layout_of
from gramian.linear.scatter.sparse import ScatterOperator, as_linear_operator
from gramian.moments import covariance as dense


def assert_equals_dense(moments, columns=None, metric=None):
    layout = layout_of(moments, columns)
    expected = dense.scatter(moments, layout.columns)
    operator = ScatterOperator(moments, layout).scaled(metric)
    if metric is not None:
        expected = expected * np.outer(metric, metric)
    # Entries are sums of the same products in another order.
    scale = np.sqrt(np.outer(np.diagonal(expected), np.diagonal(expected))) + 1e-300
    found = operator @ np.eye(layout.width)
    assert (np.abs(found - expected) <= 1e-11 * scale + 1e-11).all()
    np.testing.assert_allclose(operator.diagonal(), np.diagonal(expected), rtol=1e-11, atol=1e-9)
    v = np.random.default_rng(1).standard_normal(layout.width)
    np.testing.assert_allclose(
        as_linear_operator(operator) @ v, expected @ v, rtol=1e-9, atol=1e-9 * np.abs(expected @ v).max()
    )


@pytest.mark.parametrize(
    "columns", [None, ["size"], ["kind", "cost", "color"], ["grade", "shape"], ["cost", "size", "grade"]]
)
def test_operator_equals_dense_scatter(mixed, columns):
    assert_equals_dense(gm.collect(mixed), columns)


def test_operator_in_a_metric(mixed, rng):
    m = gm.collect(mixed)
    assert_equals_dense(m, metric=np.exp(rng.standard_normal(layout_of(m, None).width)))


def test_operator_with_weights(mixed, rng):
    assert_equals_dense(gm.collect(mixed, sample_weight=rng.random(len(mixed))))


def test_operator_with_wide_sparse_columns(rng):
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
    expected = dense.scatter(m, layout.columns) @ v
    np.testing.assert_allclose(ScatterOperator(m, layout) @ v, expected, atol=1e-10 * np.abs(expected).max())


def test_operator_over_kept_rows_with_missing_values(rng):
    x = rng.standard_normal((30, 600))
    x[rng.random(x.shape) < 0.05] = np.nan
    frame = pd.DataFrame(x).add_prefix("g")
    frame["batch"] = rng.choice(list("ab"), 30)
    m = gm.collect(frame)
    assert m.numbers.rows is not None
    assert_equals_dense(m)
