"""Rows drawn from the model have its margins, its pairs and its numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.density.detector import Detector
from gramian.linear.density.sampling import draw_rows
from gramian.tables import open_table

N = 60_000


def drawn(frame: pd.DataFrame, seed: int = 1):
    moments = gm.collect(frame)
    found = Detector(moments, tuple(moments.columns), "trees", None, None)
    return found, draw_rows(moments, found.design, found.depends, N, seed)


def test_drawn_codes_are_of_the_type_of_rows_that_are_scored(rng):
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 300), "b": rng.choice(list("pq"), 300)})
    found, rows = drawn(frame)
    # Loops that fit compiled are then those that the first scored row needs.
    assert rows.codes.dtype == found.design.encode(next(open_table(frame).batches(["a", "b"]))).codes.dtype == np.uint16


def test_pairs_are_drawn_as_the_smoothed_counts_say(rng):
    n = 300
    a = rng.choice(list("xyz"), n, p=[0.6, 0.3, 0.1])
    b = np.where(rng.random(n) < 0.8, np.where(a == "x", "p", "q"), rng.choice(list("pqr"), n))
    frame = pd.DataFrame({"a": a, "b": b})
    _, rows = drawn(frame)
    counts = gm.collect(frame).crosstab("a", "b").astype(float)
    f = counts.sum(axis=0) / n
    own = counts.sum(axis=1)
    # The tree begins at one of two equally wide columns; given it the other follows the smoothed conditional.
    even = np.outer(own, f)
    added = max(1.0, np.square(even).sum() / (np.square(counts - even).sum() - n))
    lift = f * (counts + added) / (even + added)
    given = lift / lift.sum(axis=1, keepdims=True)
    for u in range(3):
        here = rows.codes[0] == u
        share = np.bincount(rows.codes[1][here], minlength=3) / here.sum()
        # Five standard errors.
        np.testing.assert_allclose(share, given[u], atol=5 * 0.5 / np.sqrt(here.sum()))
    np.testing.assert_allclose(np.bincount(rows.codes[0]) / N, own / n, atol=0.03)


def test_a_wide_column_is_drawn_as_a_narrow_one_is(rng):
    n = 40_000
    shop = np.minimum(rng.zipf(1.4, n), 2500)
    frame = pd.DataFrame({"shop": shop.astype(str), "city": (shop % 90).astype(str), "kind": (shop % 7).astype(str)})
    found, rows = drawn(frame)
    assert len(found.moments.levels("shop")) > 500
    city = np.array(found.moments.levels("city"))[rows.codes[1]].astype(int)
    kind = np.array(found.moments.levels("kind"))[rows.codes[2]].astype(int)
    held = np.array(found.moments.levels("shop"))[rows.codes[0]].astype(int)
    # Shops of few rows are smoothed towards the margin.
    often = np.isin(held, np.flatnonzero(np.bincount(shop) > 100))
    assert (city == held % 90)[often].mean() > 0.9
    assert (kind == held % 7)[often].mean() > 0.9


def test_rows_of_independent_columns_are_independent_however_few_the_counts(rng):
    frame = pd.DataFrame({"a": rng.integers(0, 100, 1500).astype(str), "b": rng.integers(0, 40, 1500).astype(str)})
    found, rows = drawn(frame)
    counts = np.zeros((100, 40))
    np.add.at(counts, (rows.codes[0], rows.codes[1]), 1)
    table = found.moments.crosstab("a", "b")
    # Cells that chance left empty, one in two, are drawn like the others.
    assert counts[table == 0].mean() > 0.9 * counts.mean()


def test_numbers_are_drawn_with_their_means_spreads_and_dependences(rng):
    n = 5000
    kind = rng.choice(list("ab"), n)
    x = rng.normal(100.0, 5.0, n) + 20.0 * (kind == "a")
    frame = pd.DataFrame({"kind": kind, "x": x, "y": 3.0 * x + rng.normal(0, 10, n)})
    frame.loc[rng.random(n) < 0.25, "y"] = np.nan
    _, rows = drawn(frame)
    numbers = pd.DataFrame(rows.numbers, columns=["x", "y"])
    np.testing.assert_allclose(numbers.mean(), frame[["x", "y"]].mean(), rtol=0.01)
    np.testing.assert_allclose(numbers.std(), frame[["x", "y"]].std(), rtol=0.05)
    np.testing.assert_allclose(numbers["y"].isna().mean(), frame["y"].isna().mean(), atol=0.01)
    np.testing.assert_allclose(numbers.corr().iloc[0, 1], frame[["x", "y"]].corr().iloc[0, 1], atol=0.01)
    first = "a" if kind[0] == "a" else "b"
    high = numbers["x"][rows.codes[0] == (0 if first == "a" else 1)]
    np.testing.assert_allclose(high.mean(), x[kind == "a"].mean(), rtol=0.01)


@pytest.mark.parametrize(
    "table", [{"a": ["x"] * 4}, {"b": [1.0, 1.0]}, {"b": [np.nan, 2.0]}, {"a": ["x", "y"], "b": [1.0, 2.0]}]
)
def test_small_tables_can_be_drawn_from(table):
    _, rows = drawn(pd.DataFrame(table))
    assert len(rows) == N


def test_the_same_seed_draws_the_same_rows(rng):
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 100), "b": rng.normal(size=100)})
    (_, one), (_, two), (_, three) = drawn(frame), drawn(frame), drawn(frame, seed=2)
    assert (one.codes == two.codes).all()
    assert (one.numbers == two.numbers).all()
    assert (one.codes != three.codes).any()


def test_numbers_that_no_tree_describes_are_drawn_with_all_their_correlations(rng):
    """Six numbers mixed densely, one direction of nearly no variance: a tree keeps five of fifteen correlations."""
    frame = pd.DataFrame(rng.normal(size=(4000, 6)) @ rng.normal(size=(6, 6)), columns=list("abcdef"))
    frame["f"] = frame["a"] - frame["b"] + 1e-3 * rng.normal(size=len(frame))
    _, rows = drawn(frame)
    np.testing.assert_allclose(np.corrcoef(rows.numbers, rowvar=False), frame.corr().to_numpy(), atol=1e-9)
