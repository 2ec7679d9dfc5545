"""Products through one matrix of pair counts; that they are the scatter's is held by tests/laws/test_scatter.py."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.layout import layout_of
from gramian.linear.scatter import sparse as narrow
from gramian.linear.scatter.sparse import NarrowScatter


@pytest.mark.parametrize(
    "columns", [["color", "shape"], ["size", "color", "grade", "shape", "cost"], ["shape", "cost"]]
)
def test_columns_in_any_order_and_beside_others_have_their_own_products(mixed, rng, columns):
    m = gm.collect(mixed)
    layout = layout_of(m, columns)
    assert NarrowScatter.suits(m, layout)
    expected = (m.n_rows - 1) * m.covariance(columns)
    v = rng.standard_normal((layout.width, 4))
    scale = np.abs(expected @ v).max(axis=0)
    np.testing.assert_allclose((NarrowScatter(m, layout) @ v) / scale, expected @ v / scale, atol=1e-12)


def test_counts_become_floats_some_rows_at_a_time(mixed, rng, monkeypatch):
    m = gm.collect(mixed)
    layout = layout_of(m, ["color", "shape"])
    v = rng.standard_normal((layout.width, 3))
    assert m.pairs.matrix.dtype == np.int64
    whole = NarrowScatter(m, layout) @ v
    monkeypatch.setattr("gramian.linear.scatter.sparse.SMALL_BYTES", 0)
    monkeypatch.setattr(narrow, "CACHED_BYTES", 8 * 2 * len(m.pairs.matrix))
    np.testing.assert_allclose(NarrowScatter(m, layout) @ v, whole, rtol=0, atol=1e-12 * np.abs(whole).max())


def test_wide_categories_and_many_numbers_are_left_to_others(rng, monkeypatch):
    n = 5000
    frame = pd.DataFrame({"id": np.char.add("i", np.arange(n).astype(str)), "few": rng.choice(["a", "b"], n)})
    frame["x"], frame["z"] = rng.standard_normal(n), rng.standard_normal(n)
    m = gm.collect(frame)
    assert not NarrowScatter.suits(m, layout_of(m, ["id", "few"]))
    assert not NarrowScatter.suits(m, layout_of(m, ["x", "z"]))
    assert NarrowScatter.suits(m, layout_of(m, ["few", "x", "z"]))
    monkeypatch.setattr(narrow, "NUMBERS", 1)
    assert not NarrowScatter.suits(m, layout_of(m, ["few", "x", "z"]))
