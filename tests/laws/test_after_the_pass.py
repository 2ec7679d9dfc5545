"""`pool`, `select`, `drop`, `as_categorical` and scaling after the pass equal doing it to the data before."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import Recipe, assert_same, by_label, collected, random_table, recipes

RARE = "(rare)"
CATEGORIES = ["color", "city"]


def text_table(seed: int, n_rows: int) -> pd.DataFrame:
    """Return a frame of two texts with uneven levels, a boolean target, and numbers."""
    frame = random_table(seed, n_rows, missing=0.1).to_pandas(types_mapper=pd.ArrowDtype)
    cube = np.abs(np.random.default_rng(seed).normal(size=n_rows)) ** 3
    frame["city"] = pd.array([f"c{int(k)}" for k in cube], dtype=frame["color"].dtype)
    # "(rare)" stands for the pooled level below: here it must not be a label of the data.
    frame["color"] = frame["color"].replace({RARE: "violet"})
    return frame[["color", "city", "height", "small"]]


def pooled_by_hand(frame: pd.DataFrame, rare: dict[str, set]) -> pd.DataFrame:
    out = frame.copy()
    for name, labels in rare.items():
        absent = frame[name].isna()
        swallowed = frame[name].isin([label for label in labels if label is not None])
        if None in labels:
            swallowed |= absent
        out[name] = frame[name].mask(swallowed, RARE)
    return out


def rare_by_count(frame: pd.DataFrame, min_count: int) -> dict[str, set]:
    rare = {}
    for name in CATEGORIES:
        counts = frame[name].value_counts(dropna=False)
        rare[name] = {None if pd.isna(k) else k for k, c in counts.items() if c < min_count}
    return rare


def answers_alike(pooled: gm.Moments, by_hand: gm.Moments) -> None:
    """Assert the same answers; a pooled value remembers which labels it swallowed, a hand-made one does not."""
    assert sorted(pooled.design_names) == sorted(by_hand.design_names)
    for name in CATEGORIES:
        assert by_label(pooled, name) == by_label(by_hand, name)
    left, right = pooled, by_hand
    names = left.design_names
    place = [right.design_names.index(name) for name in names]
    # Pooling adds counts (exact) and sums of numbers (a few roundings): 1e-12 of entries of order one.
    assert abs(left.covariance(ddof=0) - right.covariance(ddof=0)[place][:, place]).max() < 1e-12
    assert abs(left.mean() - right.mean()[place]).max() < 1e-12


@given(st.integers(0, 2**31), st.integers(5, 150), st.integers(1, 12))
def test_pool_by_count_equals_pooling_the_data(seed: int, n_rows: int, min_count: int) -> None:
    frame = text_table(seed, n_rows)
    by_hand = gm.collect(pooled_by_hand(frame, rare_by_count(frame, min_count)))
    answers_alike(gm.collect(frame).pool(min_count=min_count), by_hand)


@given(st.integers(0, 2**31), st.integers(5, 150), st.integers(1, 6))
def test_pool_by_levels_leaves_the_most_frequent(seed: int, n_rows: int, max_levels: int) -> None:
    frame = text_table(seed, n_rows)
    m = gm.collect(frame)
    pooled = m.pool(max_levels=max_levels)
    rare = {}
    for name in CATEGORIES:
        assert len(pooled.levels(name)) <= max_levels
        kept = set(pooled.levels(name)) - {RARE}
        counts = dict(zip(m.levels(name), m.counts(name), strict=True))
        rare[name] = set(counts) - kept
        if rare[name] and kept:
            assert max(counts[k] for k in rare[name]) <= min(counts[k] for k in kept)
        if len(counts) <= max_levels:
            assert rare[name] == set()
    answers_alike(pooled, gm.collect(pooled_by_hand(frame, rare)))


def test_ties_are_pooled_by_label_not_by_order_of_sight() -> None:
    for values in (["b", "a", "c", "d"], ["d", "c", "b", "a"]):
        assert set(gm.collect(pa.table({"c": values})).pool(max_levels=3).levels("c")) == {"a", "b", RARE}


@given(recipes(max_rows=120), recipes(max_rows=120), st.integers(1, 8))
def test_pooled_labels_are_pooled_in_what_is_added(a: Recipe, b: Recipe, min_count: int) -> None:
    x, y = collected(a.table()), collected(b.table())
    pooled = x.pool(min_count=min_count)
    together = pooled + y
    assert_same(together, y + pooled)
    for name in x.coded:
        if x.kind(name) != "categorical":
            continue
        swallowed = set(x.levels(name)) - set(pooled.levels(name))
        assert not swallowed & set(together.levels(name)) - {RARE}
        assert sum(together.counts(name)) == x.n_rows + y.n_rows


def test_pooled_labels_stay_pooled_when_they_come_again() -> None:
    day = gm.collect(pa.table({"c": ["a", "a", "b"]})).pool(min_count=2)
    later = day + gm.collect(pa.table({"c": ["b", "b", "b", "z"]}))
    assert dict(zip(later.levels("c"), later.counts("c"), strict=True)) == {"a": 2, "z": 1, RARE: 4}


def test_pooling_twice_equals_pooling_once() -> None:
    m = gm.collect(text_table(3, 150))
    twice = m.pool(min_count=3).pool(min_count=9)
    once = m.pool(min_count=9)
    for name in CATEGORIES:
        kept = set(once.levels(name)) - {RARE}
        assert kept == set(twice.levels(name)) - {RARE}
    assert_same(twice, once)


@given(st.integers(0, 2**31), st.integers(5, 100), st.integers(1, 40), st.integers(1, 6))
def test_pool_counts_a_weight_as_repeated_rows(seed: int, n_rows: int, min_count: int, max_levels: int) -> None:
    frame = text_table(seed, n_rows)
    w = np.random.default_rng(seed).integers(1, 20, n_rows)
    weighted = gm.collect(frame.assign(w=w), sample_weight="w")
    repeated = gm.collect(frame.loc[frame.index.repeat(w)])
    for rule in ({"min_count": min_count}, {"max_levels": max_levels}):
        assert_same_levels(weighted.pool(**rule), repeated.pool(**rule))


def assert_same_levels(a: gm.Moments, b: gm.Moments) -> None:
    for name in CATEGORIES:
        assert by_label(a, name) == by_label(b, name)


def test_one_row_of_a_large_weight_is_not_rare() -> None:
    table = pa.table({"c": ["a", "b", "b", "b"], "w": [100.0, 0.1, 0.1, 0.1]})
    pooled = gm.collect(table, sample_weight="w").pool(min_count=2)
    assert set(pooled.levels("c")) == {"a", RARE}
    m = gm.collect(pa.table({"c": ["a", "b", "b", "b"]}))
    assert set((m * 10).pool(min_count=5).levels("c")) == {"a", "b"}
    assert set((m * 0.5).pool(min_count=2).levels("c")) == {RARE}


def test_rounding_of_weights_decides_nothing_when_levels_are_pooled() -> None:
    # Ten times 0.1 is 0.9999999999999999, and 1 where it is added up pair by pair.
    table = pa.table({"c": ["b"] * 10 + ["a"] + ["d"] * 3 + ["c"], "w": [0.1] * 10 + [1.0] + [0.1] * 3 + [0.3]})
    m = gm.collect(table, sample_weight="w")
    assert set(m.pool(min_count=1).levels("c")) == {"a", "b", RARE}
    # Of equal weights the labels that sort first stay.
    assert set(m.pool(max_levels=2).levels("c")) == {"a", RARE}
    assert set(m.pool(max_levels=4).levels("c")) == {"a", "b", "c", "d"}
    swapped = gm.collect(table.append_column("e", table["c"]).take([*range(14, -1, -1)]), sample_weight="w")
    assert set(swapped.pool(max_levels=3).levels("c")) == {"a", "b", RARE}


def test_pool_leaves_targets_and_numbers_alone() -> None:
    table = pa.table({"c": ["a", "b", "b"], "y": ["u", "v", "v"], "k": [1, 2, 2]})
    pooled = gm.collect(table, targets="y").pool(min_count=2)
    assert set(pooled.levels("y")) == {"u", "v"}
    assert sorted(pooled.levels("k")) == [1, 2]
    assert set(pooled.levels("c")) == {"b", RARE}


def test_pool_pools_folds_alike() -> None:
    m = gm.collect(text_table(5, 120), folds=3).pool(min_count=6)
    assert_same(gm.merge(m.folds), m, folds=False)


COLUMNS = ["color", "flag", "small", "large", "height", "far", "when"]


@given(recipes(), st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True), st.booleans())
def test_select_equals_collecting_those_columns(recipe: Recipe, names: list[str], weighted: bool) -> None:
    table = recipe.table()
    arguments = {"sample_weight": "weight"} if weighted else {}
    selected = collected(table, folds=2, **arguments).select(names)
    direct = gm.collect(table, columns=names, folds=2, **arguments)
    assert selected.columns == direct.columns
    assert selected.design_names == direct.design_names
    assert_same(selected, direct)


@given(recipes(), st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=6, unique=True))
def test_drop_equals_excluding_those_columns(recipe: Recipe, names: list[str]) -> None:
    table = recipe.table()
    assert_same(collected(table).drop(names), gm.collect(table, exclude=[*names, "weight"]))


@given(recipes())
def test_as_categorical_equals_collecting_as_categories(recipe: Recipe) -> None:
    table = recipe.table()
    direct = collected(table, categorical=["small"])
    assert_same(collected(table).as_categorical("small"), direct)


def test_select_of_every_column_is_the_whole() -> None:
    m = collected(random_table(1, 50))
    assert m.select(m.columns) == m


@given(recipes(), st.sampled_from([0.5, 2, 3.25, 1e-3]))
def test_scaling_scales_every_weight(recipe: Recipe, factor: float) -> None:
    m = collected(recipe.table(), folds=2)
    scaled = m * factor
    assert scaled.n_rows == m.n_rows
    assert scaled.total_weight == pytest.approx(m.total_weight * factor, rel=1e-14)
    for name in m.coded:
        assert scaled.counts(name).tolist() == pytest.approx((m.counts(name) * factor).tolist(), rel=1e-14)
    # Means and covariances with ddof=0 do not depend on the scale of weights: one rounding of each sum.
    assert abs(scaled.covariance(ddof=0) - m.covariance(ddof=0)).max() <= 1e-13 * abs(m.covariance(ddof=0)).max()
    assert_same(factor * m, scaled)


def test_scaling_by_whole_numbers_equals_adding_as_often() -> None:
    m = collected(random_table(1, 60, offset=1e8))
    left, right = m * 3, m + m + m
    assert left.total_weight == right.total_weight
    names = m.columns
    scale = abs(left.covariance(names)).max()
    assert abs(left.covariance(names) - right.covariance(names)).max() < 1e-13 * scale


def test_scaling_by_zero_leaves_no_rows() -> None:
    m = collected(random_table(1, 20)) * 0
    assert m.n_rows == 0
    assert m.total_weight == 0


@pytest.mark.parametrize("factor", [-1, float("nan"), float("inf")])
def test_scaling_by_no_weight_is_refused(factor: float) -> None:
    with pytest.raises(ValueError, match="finite number"):
        collected(random_table(1, 20)) * factor
