"""A table in any partitions has the moments of the whole, whichever engine adds them up."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.engines.base import CollectOptions
from gramian.engines.collect import planned
from gramian.engines.partitions import Part, PassPlan, added, finish
from gramian.moments.file import to_bytes
from gramian.tables import open_table

from .tables import Recipe, assert_same, cuts, examples, recipes


def in_partitions(parts: list[pa.Table], **options: Any) -> gm.Moments:
    """Collect each part by itself, as a worker does, and add the parts up in pairs of neighbours."""
    plan = PassPlan.of(planned(parts[0], {}, CollectOptions(**options))[1])
    sums = [Part(plan.reduce(open_table(part))) for part in parts]
    while len(sums) > 2:
        sums = [added(map(sent, sums[k : k + 2])) for k in range(0, len(sums), 2)]
    return finish([to_bytes(part.moments) for part in sums], "the table")


def sent(part: Part) -> Part:
    """Return what arrives in another process."""
    return pickle.loads(pickle.dumps(part))


def split(table: pa.Table, edges: list[int]) -> list[pa.Table]:
    return [table.slice(a, b - a) for a, b in pairwise(edges)]


def as_a_partition_has_it(part: pa.Table, k: int) -> pa.Table:
    """Return a part with dictionaries and types of its own: what another file, or pandas, makes of the same values."""
    columns = {}
    for name in part.schema.names:
        column = part[name]
        if name == "color" and k % 2:
            column = column.dictionary_encode()
        if name in ("color", "height") and column.null_count == len(column):
            column = pa.chunked_array([pa.nulls(len(column), [pa.null(), pa.float64(), pa.string()][k % 3])])
        columns[name] = column
    return pa.table(columns)


OPTIONS: list[dict[str, Any]] = [
    {"exclude": "weight"},
    {"sample_weight": "weight"},
    {"sample_weight": "weight", "folds": 3, "fold_by": "small", "random_state": 5},
    {"exclude": "weight", "folds": 2, "fold_by": "color"},
]


@examples(12)
@given(st.sampled_from(OPTIONS), st.data(), recipes(max_rows=80))
def test_any_partitions_equal_the_whole(options: dict[str, Any], data: Any, recipe: Recipe) -> None:
    table = recipe.table()
    parts = [as_a_partition_has_it(p, k) for k, p in enumerate(split(table, data.draw(cuts(table.num_rows))))]
    parts = [parts[0].cast(table.schema), *parts[1:]]
    found, whole = in_partitions(parts, **options), gm.collect(table, **options)
    assert_same(found, whole)
    for name in whole.coded:
        if name in found.coded:
            assert found.levels(name) == whole.levels(name)


@pytest.mark.parametrize("few", [1, 63])
@pytest.mark.parametrize("many", [65, 90])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("folded", [False, True])
def test_integers_may_pass_64_levels_in_one_partition_only(few: int, many: int, first: bool, folded: bool) -> None:
    rng = np.random.default_rng(few)

    def part(n_levels: int) -> pa.Table:
        n = np.append(np.arange(n_levels), rng.integers(0, n_levels, 40))
        return pa.table({"n": n, "c": [f"c{k % 3}" for k in n], "x": rng.normal(size=len(n)), "g": n % 7})

    parts = [part(few), part(many), part(few)][:: 1 if first else -1]
    options: dict[str, Any] = {"folds": 2, "fold_by": "g"} if folded else {}
    found, whole = in_partitions(parts, **options), gm.collect(pa.concat_tables(parts), **options)
    assert found.schema == whole.schema
    assert_same(found, whole)


def test_integers_may_pass_64_levels_in_the_sum_only() -> None:
    parts = [pa.table({"n": np.arange(k, k + 40), "g": np.arange(40) % 5}) for k in (0, 20, 40)]
    found = in_partitions(parts, folds=2, fold_by="g")
    whole = gm.collect(pa.concat_tables(parts), folds=2, fold_by="g")
    assert found.schema == whole.schema
    assert [fold.schema for fold in found.folds] == [fold.schema for fold in whole.folds]
    assert_same(found, whole)


@pytest.mark.parametrize(
    "empty", [pa.null(), pa.float64(), pa.string(), pa.dictionary(pa.int8(), pa.string())], ids=str
)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_column_may_be_missing_throughout_one_partition(empty: pa.DataType, at: int) -> None:
    texts = [["a", "b"], ["b", None], ["c", "a"]]
    parts = [pa.table({"c": pa.array(text), "x": [1.0, 2.0]}) for text in texts]
    whole = pa.concat_tables(
        [p if k != at else p.set_column(0, "c", pa.nulls(2, pa.string())) for k, p in enumerate(parts)]
    )
    parts[at] = pa.table({"c": pa.nulls(2, empty), "x": [1.0, 2.0]})
    plan = PassPlan.of(planned(whole, {}, CollectOptions())[1])
    found = finish([plan.reduce(open_table(part)) for part in parts], "it")
    assert_same(found, gm.collect(whole))
    assert found.levels("c") == gm.collect(whole).levels("c")
