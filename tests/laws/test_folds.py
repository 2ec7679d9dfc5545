"""Folds add up to the whole; by value they do not depend on files, by position not on batches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import Recipe, assert_same, collected, cuts, parts_of, random_table, recipes

FOLD_BY = ["color", "flag", "small", "large", "height", "when"]


@given(recipes(), st.integers(2, 5), st.sampled_from([None, *FOLD_BY]), st.booleans())
def test_folds_add_up_to_the_whole(recipe: Recipe, k: int, fold_by: str | None, weighted: bool) -> None:
    arguments = {"sample_weight": "weight"} if weighted else {}
    table = recipe.table()
    m = collected(table, folds=k, fold_by=fold_by, **arguments)
    assert len(m.folds) == k
    assert_same(gm.merge(m.folds), m, folds=False)
    assert_same(m, collected(table, **arguments), folds=False)


@given(recipes(min_rows=4), st.integers(2, 4), st.integers(0, 1))
def test_without_fold_and_the_fold_add_up(recipe: Recipe, k: int, fold: int) -> None:
    m = collected(recipe.table(), folds=k)
    assert_same(m.without_fold(fold) + m.folds[fold], m, folds=False)


@given(st.data(), recipes(min_rows=2), st.sampled_from(FOLD_BY), st.integers(0, 3))
def test_folds_by_value_do_not_depend_on_files(data: st.DataObject, recipe: Recipe, fold_by: str, seed: int) -> None:
    arguments = {"folds": 3, "fold_by": fold_by, "random_state": seed}
    table = recipe.table()
    parts = parts_of(table, data.draw(cuts(recipe.n_rows)))
    order = data.draw(st.permutations(parts))
    whole = collected(table, **arguments)
    assert_same(gm.merge([collected(part, **arguments) for part in order]), whole)
    assert_same(collected(order, **arguments), whole)


def test_folds_by_value_do_not_depend_on_files_on_disk(tmp_path) -> None:
    table = random_table(3, 200)
    arguments = {"folds": 4, "fold_by": "color"}
    paths = []
    for k, part in enumerate(parts_of(table, [0, 3, 90, 91, 200])):
        paths.append(str(tmp_path / f"{k}.parquet"))
        pyarrow.parquet.write_table(part, paths[-1])
    whole = collected(table, **arguments)
    assert_same(collected(paths, **arguments), whole)
    assert_same(collected(paths[::-1], **arguments), whole)


@pytest.mark.parametrize("fold_by", FOLD_BY)
def test_equal_values_share_a_fold(fold_by: str) -> None:
    table = random_table(5, 300, n_large=20)
    m = collected(
        table, folds=3, fold_by=fold_by, columns=[fold_by], categorical=fold_by if fold_by != "when" else None
    )
    for name in m.coded:
        if m.schema[name].part is not None:
            continue
        homes: dict = {}
        for k, fold in enumerate(m.folds):
            for label in fold.levels(name):
                homes.setdefault(label, set()).add(k)
        assert all(len(folds) == 1 for folds in homes.values())


def test_whole_numbers_share_a_fold_with_equal_floats() -> None:
    whole = gm.collect(pa.table({"g": list(range(50)), "x": list(range(50))}), folds=3, fold_by="g", columns="x")
    floats = gm.collect(
        pa.table({"g": [float(k) for k in range(50)], "x": list(range(50))}), folds=3, fold_by="g", columns="x"
    )
    assert_same(whole, floats)


def test_text_and_dictionaries_share_folds() -> None:
    values = [f"g{k % 7}" for k in range(60)] + [None]
    plain = pa.table({"g": values, "x": list(range(61))})
    coded = plain.set_column(0, "g", plain["g"].dictionary_encode())
    assert_same(gm.collect(plain, folds=3, fold_by="g"), gm.collect(coded, folds=3, fold_by="g"))


def test_dates_share_folds_whatever_their_unit() -> None:
    table = random_table(8, 100)
    fine = table.set_column(6, "when", table["when"].cast(pa.timestamp("ns")))
    assert_same(collected(table, folds=3, fold_by="when"), collected(fine, folds=3, fold_by="when"))


@pytest.mark.parametrize("k", [2, 3, 5, 7])
def test_every_k_consecutive_rows_hit_each_fold_once(k: int) -> None:
    n = 10 * k
    table = pa.table({"row": pa.array(np.arange(n))})
    m = gm.collect(table, folds=k, categorical="row")
    home = {row: j for j, fold in enumerate(m.folds) for row in fold.levels("row")}
    assert sorted(home) == list(range(n))
    orders = set()
    for start in range(0, n, k):
        order = tuple(home[row] for row in range(start, start + k))
        assert sorted(order) == list(range(k))
        orders.add(order)
    # An order drawn for each group, not one for all: ten draws from k! agree with probability (1/k!)^9.
    assert len(orders) > 1


@given(st.data(), st.integers(1, 100), st.integers(2, 5))
def test_folds_by_position_do_not_depend_on_batches(data: st.DataObject, n_rows: int, k: int) -> None:
    table = random_table(1, n_rows)
    parts = parts_of(table, data.draw(cuts(n_rows, at_most=6)))
    assert_same(collected(parts, folds=k), collected(table, folds=k))


def test_folds_by_position_count_rows_of_weight_zero() -> None:
    rows = pa.table({"row": list(range(12)), "w": [1.0, 0.0] * 6})
    weighted = gm.collect(rows, folds=3, categorical="row", sample_weight="w")
    plain = gm.collect(rows, folds=3, categorical="row", exclude="w")
    for mine, theirs in zip(weighted.folds, plain.folds, strict=True):
        assert set(mine.levels("row")) == {row for row in theirs.levels("row") if row % 2 == 0}


def test_the_seed_decides_the_folds() -> None:
    table = random_table(1, 200)
    for fold_by in (None, "large"):
        first = collected(table, folds=3, fold_by=fold_by, random_state=1)
        assert collected(table, folds=3, fold_by=fold_by, random_state=1) == first
        assert collected(table, folds=3, fold_by=fold_by, random_state=2) != first


def test_folds_by_value_are_of_similar_size() -> None:
    m = gm.collect(pa.table({"g": [f"user{k}" for k in range(3000)]}), folds=5, fold_by="g")
    # 600 expected; the binomial spread is 22: five spreads.
    assert all(abs(fold.n_rows - 600) < 110 for fold in m.folds)


def test_folds_merge_fold_by_fold() -> None:
    a, b = (collected(random_table(s, 80), folds=3, fold_by="color") for s in (1, 2))
    for mine, x, y in zip((a + b).folds, a.folds, b.folds, strict=True):
        assert_same(mine, x + y)
