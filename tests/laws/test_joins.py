"""Attaching tables to moments gives the moments of the joined table; the brute force joins, and collects."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import assert_same, cuts, examples, random_table

KEYS = ["shop", "item"]


@dataclass(frozen=True)
class Star:
    """Facts with two keys, a table for each, and a table for a column of the first."""

    facts: pa.Table
    shops: pa.Table
    items: pa.Table
    regions: pa.Table


def attributes(seed: int, keys: pa.Array, name: str, missing: float, n_large: int) -> pa.Table:
    """Return a table of a row for each of the keys, its columns named after the key."""
    table = random_table(seed, len(keys), missing, 1e8, n_large).drop_columns("weight")
    table = table.rename_columns([f"{name}_{column}" for column in table.schema.names])
    return table.append_column(name, keys)


def star(seed: int, n_rows: int, missing: float, unmatched: float, n_keys: int, n_large: int = 500) -> Star:
    rng = np.random.default_rng(seed)

    def some(keys: list) -> pa.Array:
        """Return keys that a table has, in an order of its own, with keys that no fact has and a null."""
        kept = [key for key in keys if rng.random() >= unmatched]
        more = [None, f"x{len(keys)}" if isinstance(keys[0], str) else 10_000]
        return pa.array([(kept + more)[k] for k in rng.permutation(len(kept) + len(more))])

    def drawn(keys: list, n: int) -> pa.Array:
        return pa.array([None if rng.random() < missing / 2 else keys[k] for k in rng.integers(0, len(keys), n)])

    shops, items = [f"s{k}" for k in range(n_keys)], list(range(max(1, n_keys // 2)))
    facts = random_table(seed + 1, n_rows, missing)
    facts = facts.append_column("shop", drawn(shops, n_rows).cast(pa.string())).append_column(
        "item", drawn(items, n_rows).cast(pa.int64())
    )
    of_shops = attributes(seed + 2, some(shops), "shop", missing, n_large)
    regions = ["north", "south", "west"]
    of_shops = of_shops.append_column("region", drawn(regions, of_shops.num_rows).cast(pa.string()))
    return Star(
        facts=facts,
        shops=of_shops,
        items=attributes(seed + 3, some(items), "item", missing, n_large),
        regions=attributes(seed + 4, some(regions), "region", missing, n_large),
    )


def left_join(facts: pa.Table, table: pa.Table, key: str) -> pa.Table:
    """Return the facts in their order, with the columns of a table; null matches nothing."""
    numbered = facts.append_column("row", pa.array(np.arange(facts.num_rows)))
    return numbered.join(table, key, join_type="left outer").sort_by("row").drop_columns("row")


def collected(table: pa.Table, keys: list[str] | None = None, **arguments) -> gm.Moments:
    if "sample_weight" not in arguments:
        table = table.drop_columns("weight")
    return gm.collect(table, categorical=KEYS if keys is None else keys, **arguments)


stars = st.builds(
    star,
    seed=st.integers(0, 2**31),
    n_rows=st.integers(1, 200),
    missing=st.sampled_from([0.0, 0.2, 0.9, 1.0]),
    unmatched=st.sampled_from([0.0, 0.3, 1.0]),
    n_keys=st.sampled_from([1, 5, 80]),
    n_large=st.sampled_from([1, 60, 1000]),
)
PASSES = [{}, {"sample_weight": "weight"}, {"folds": 3}, {"folds": 2, "fold_by": "shop", "sample_weight": "weight"}]


@given(stars, st.sampled_from(PASSES), st.booleans())
@examples(30)
def test_attached_equals_joined(given_star: Star, options: dict, keep: bool) -> None:
    joined = collected(left_join(given_star.facts, given_star.shops, "shop"), **options)
    attached = collected(given_star.facts, **options).attach("shop", given_star.shops, keep_key=keep)
    assert_same(attached, joined if keep else joined.drop("shop"), rtol=1e-10)
    assert attached.columns[-len(given_star.shops.schema) :] == joined.columns[-len(given_star.shops.schema) :]


@given(stars, st.sampled_from(PASSES), st.booleans())
@examples(20)
def test_two_tables_in_either_order(given_star: Star, options: dict, other_way: bool) -> None:
    joined = left_join(left_join(given_star.facts, given_star.shops, "shop"), given_star.items, "item")
    attached = collected(given_star.facts, **options)
    steps = [("shop", given_star.shops), ("item", given_star.items)]
    for key, table in steps[::-1] if other_way else steps:
        attached = attached.attach(key, table)
    assert_same(attached, collected(joined, **options).drop(KEYS), rtol=1e-10)


@given(stars, st.sampled_from(PASSES))
@examples(20)
def test_a_snowflake_equals_joined(given_star: Star, options: dict) -> None:
    inner = left_join(given_star.facts, given_star.shops, "shop")
    joined = left_join(left_join(inner, given_star.items, "item"), given_star.regions, "region")
    attached = collected(given_star.facts, **options).attach("shop", given_star.shops)
    attached = attached.attach("region", given_star.regions).attach("item", given_star.items)
    assert_same(attached, collected(joined, **options).drop([*KEYS, "region"]), rtol=1e-10)


@given(st.data(), stars)
def test_attaching_commutes_with_merging_facts(data: st.DataObject, given_star: Star) -> None:
    edges = data.draw(cuts(given_star.facts.num_rows))
    parts = [collected(given_star.facts.slice(a, b - a)) for a, b in pairwise(edges) if b > a]
    apart = gm.merge([part.attach("shop", given_star.shops) for part in parts])
    assert_same(apart, gm.merge(parts).attach("shop", given_star.shops), rtol=1e-10)


@given(stars)
def test_attached_moments_take_part_in_all_algebra(given_star: Star) -> None:
    """They subtract, fold, pool and travel as those of the joined table do."""
    half = given_star.facts.num_rows // 2
    whole, part = collected(given_star.facts), collected(given_star.facts.slice(0, max(half, 1)))
    a, b = whole.attach("shop", given_star.shops), part.attach("shop", given_star.shops)
    joined = collected(left_join(given_star.facts, given_star.shops, "shop")).drop("shop")
    assert_same(a.as_categorical("shop_small"), joined.as_categorical("shop_small"), rtol=1e-10)
    assert_same(a.pool(max_levels=3), joined.pool(max_levels=3), rtol=1e-10)
    assert_same((a - b) + b, joined, rtol=1e-7)  # what is left of a difference may be few rows of many


@pytest.mark.parametrize("wide", [30, 5000])
def test_wide_keys_and_wide_attributes(wide: int) -> None:
    """Pairs of wide columns have tables of their own, dense or sparse."""
    rng = np.random.default_rng(7)
    n = 20_000
    facts = pa.table({"a": rng.integers(0, wide, n), "b": rng.integers(0, 3000, n), "x": rng.normal(size=n)})
    keys = np.arange(wide)
    table = pa.table({"a": keys, "town": [f"t{k // 2}" for k in keys], "kind": keys % 3, "y": rng.normal(size=wide)})
    joined = gm.collect(left_join(facts, table, "a"), categorical=["a", "b"])
    attached = gm.collect(facts, categorical=["a", "b"]).attach("a", table, keep_key=True)
    assert attached.isclose(joined, rtol=1e-10)
    assert attached.pairs.nbytes == joined.pairs.nbytes
    assert (attached.crosstab("town", "b", sparse=True) != joined.crosstab("town", "b", sparse=True)).nnz == 0
