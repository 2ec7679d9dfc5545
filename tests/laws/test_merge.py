"""`+` is a commutative monoid up to the order of levels, and collecting apart equals collecting together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import Recipe, assert_same, collected, cuts, parts_of, random_table, recipes

FOLDED = {"folds": 3, "fold_by": "small"}
WEIGHTED = {"sample_weight": "weight"}
ARGUMENTS = st.sampled_from([{}, FOLDED, WEIGHTED, {**FOLDED, **WEIGHTED}])


@given(recipes(), recipes(), recipes(), ARGUMENTS)
def test_merge_is_associative(a: Recipe, b: Recipe, c: Recipe, arguments: dict) -> None:
    x, y, z = (collected(r.table(), **arguments) for r in (a, b, c))
    assert_same((x + y) + z, x + (y + z))


@given(recipes(), recipes(), ARGUMENTS)
def test_merge_is_commutative(a: Recipe, b: Recipe, arguments: dict) -> None:
    x, y = (collected(r.table(), **arguments) for r in (a, b))
    assert_same(x + y, y + x)


@given(recipes(), recipes(), ARGUMENTS)
def test_merge_equals_collecting_together(a: Recipe, b: Recipe, arguments: dict) -> None:
    left, right = a.table(), b.table()
    together = collected(pa.concat_tables([left, right]), **arguments)
    assert_same(collected(left, **arguments) + collected(right, **arguments), together)


@given(recipes(), ARGUMENTS)
def test_empty_is_the_identity(recipe: Recipe, arguments: dict) -> None:
    m = collected(recipe.table(), **arguments)
    assert gm.Moments.empty() + m == m
    assert m + gm.Moments.empty() == m
    assert m - gm.Moments.empty() == m


def test_empty_plus_empty_is_empty() -> None:
    both = gm.Moments.empty() + gm.Moments.empty()
    assert both == gm.Moments.empty()
    assert both.n_rows == 0
    assert both.columns == []


@given(recipes(), recipes(), ARGUMENTS)
def test_moments_without_rows_add_nothing(a: Recipe, b: Recipe, arguments: dict) -> None:
    x, y = collected(a.table(), **arguments), collected(b.table(), **arguments)
    nothing = y - y
    assert_same(x + nothing, x)
    assert_same(nothing + x, x)


@given(st.data(), recipes(), ARGUMENTS)
def test_merge_of_any_parts_equals_the_whole(data: st.DataObject, recipe: Recipe, arguments: dict) -> None:
    table = recipe.table()
    parts = parts_of(table, data.draw(cuts(recipe.n_rows)))
    assert_same(gm.merge([collected(part, **arguments) for part in parts]), collected(table, **arguments))


def test_merge_of_one_part_is_that_part() -> None:
    m = collected(random_table(1, 10))
    assert gm.merge([m]) == m


def test_merge_of_nothing_is_empty() -> None:
    assert gm.merge([]) == gm.Moments.empty()


def test_sum_adds_up_moments() -> None:
    parts = [collected(random_table(seed, 30)) for seed in range(4)]
    assert_same(sum(parts), gm.merge(parts))


def test_merge_changes_neither_side(tmp_path) -> None:
    a, b = collected(random_table(1, 40)), collected(random_table(2, 50, offset=1e8))
    a.save(tmp_path / "a")
    b.save(tmp_path / "b")
    _ = a + b
    _ = (a + b) - b
    assert a == gm.load(tmp_path / "a")
    assert b == gm.load(tmp_path / "b")


def test_columns_are_matched_by_name_not_by_position() -> None:
    table = random_table(3, 60)
    mirrored = table.select(table.column_names[::-1])
    assert_same(collected(table) + collected(mirrored), collected(pa.concat_tables([table, table])))


def test_merge_keeps_the_columns_order_of_the_left_side() -> None:
    table = random_table(3, 60)
    other = collected(table.select(table.column_names[::-1]))
    assert (collected(table) + other).columns == collected(table).columns


def test_dictionaries_of_files_may_differ() -> None:
    first = pa.table({"c": pa.DictionaryArray.from_arrays([0, 1, 1], ["a", "b", "never"])})
    second = pa.table({"c": pa.DictionaryArray.from_arrays([0, 2], ["z", "never", "b"])})
    m = gm.collect(first) + gm.collect(second)
    assert dict(zip(m.levels("c"), m.counts("c"), strict=True)) == {"a": 1, "b": 3, "z": 1}


def test_weighted_and_unweighted_parts_add() -> None:
    table = random_table(5, 40)
    ones = table.set_column(table.column_names.index("weight"), "weight", pa.array(np.ones(40)))
    both = collected(table) + collected(ones, sample_weight="weight")
    assert both.weighted
    assert_same(both, collected(pa.concat_tables([ones, ones]), sample_weight="weight"))


@pytest.mark.parametrize("folds", [(3, 4), (0, 3)])
def test_unequal_folds_are_dropped_on_merge(folds: tuple[int, int]) -> None:
    parts = [collected(random_table(k, 30), folds=k) for k in folds]
    assert (parts[0] + parts[1]).folds == ()
