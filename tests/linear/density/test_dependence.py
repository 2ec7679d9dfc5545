"""Mutual information of pairs of columns, from its definition over the rows."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.density.dependence import dependence
from gramian.linear.layout import layout_of
from gramian.linear.scatter.dense import RowScatter


def of_categories(a, b):
    """Mutual information of the table of two columns, less its bias."""
    table = pd.crosstab(a, b).to_numpy(float)
    share = table / table.sum()
    expected = np.outer(share.sum(axis=1), share.sum(axis=0))
    seen = share > 0
    bias = (table.shape[0] - 1) * (table.shape[1] - 1) / (2 * table.sum())
    return max((share[seen] * np.log(share[seen] / expected[seen])).sum() - bias, 0.0)


def of_explained(eta, n, levels):
    return max(-0.5 * np.log((n * (1 - eta) + 1) / (n - levels + 1)), 0.0)


@pytest.fixture
def frame(rng):
    n = 300
    a = rng.integers(0, 4, n)
    x = a + rng.standard_normal(n)
    frame = pd.DataFrame({"a": a.astype(str), "b": np.where(rng.random(n) < 0.5, a % 2, 1).astype(str)})
    frame["x"], frame["z"] = x, 10 * x + 8 * rng.standard_normal(n)
    return frame


def test_pairs_of_all_kinds_have_the_information_of_the_rows(frame):
    m = gm.collect(frame)
    found = dependence(m, layout_of(m, None))
    assert not found.bend.any(), "normal numbers are read as they are"
    n = len(frame)
    assert found.information[0, 1] == pytest.approx(of_categories(frame["a"], frame["b"]), rel=1e-10)
    z = (frame[["x", "z"]] - frame[["x", "z"]].mean()) / frame[["x", "z"]].std(ddof=0)
    for j, (column, levels) in enumerate([("a", 4), ("b", 2)]):
        means = z.groupby(frame[column]).transform("mean")
        for i, name in enumerate(["x", "z"]):
            eta = np.square(means[name]).mean()
            assert found.information[j, 2 + i] == pytest.approx(of_explained(eta, n, levels), rel=1e-9)
    r = float(z["x"] @ z["z"]) / n
    assert found.correlation[0, 1] == pytest.approx(r, rel=1e-10)
    assert found.information[2, 3] == pytest.approx(of_explained(r**2, n, 2), rel=1e-9)
    np.testing.assert_allclose(found.information, found.information.T, rtol=1e-12)
    np.testing.assert_array_equal(np.diagonal(found.information), np.zeros(4))
    np.testing.assert_allclose(found.weights, np.square(found.information))


def test_level_means_have_one_row_at_the_mean_added(frame):
    m = gm.collect(frame)
    found = dependence(m, layout_of(m, None))
    z = (frame["x"] - frame["x"].mean()) / frame["x"].std(ddof=0)
    for level, mean in zip(m.levels("a"), found.level_means[0][:, 0], strict=True):
        at = frame["a"] == level
        assert mean == pytest.approx(z[at].sum() / (at.sum() + 1), rel=1e-9)


def test_missing_numbers_are_not_counted(frame, rng):
    frame.loc[rng.random(len(frame)) < 0.3, "x"] = np.nan
    m = gm.collect(frame)
    found = dependence(m, layout_of(m, None))
    seen = frame["x"].notna()
    np.testing.assert_allclose(found.observed, [seen.sum(), len(frame)])
    np.testing.assert_allclose(found.centre, frame[["x", "z"]].mean())
    np.testing.assert_allclose(found.scale, frame[["x", "z"]].std(ddof=0))


def test_numbers_kept_as_few_rows_depend_as_their_scatter_says(rng, monkeypatch):
    x = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 600)) + rng.standard_normal((30, 600))
    x[:, :50] = np.exp(x[:, :50])
    x[rng.random(x.shape) < 0.02] = np.nan
    m = gm.collect(x)
    assert m.numbers.rows is not None
    found = dependence(m, layout_of(m, None))
    monkeypatch.setattr(RowScatter, "are_few", staticmethod(lambda *_: False))
    expected = dependence(m, layout_of(m, None))
    for name in ("information", "scale", "correlation", "left", "excess_left"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9)


def test_numbers_that_no_row_has_together_do_not_correlate(rng):
    values = 1e13 * (3 + rng.random((60, 2)))
    values[:25, 0] = values[25:, 1] = np.nan
    m = gm.collect(values)
    found = dependence(m, layout_of(m, None))
    assert found.correlation[0, 1] == 0
    assert found.information[0, 1] == 0
