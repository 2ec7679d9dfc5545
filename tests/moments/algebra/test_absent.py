"""Moments of different columns add up as if one pass had read all rows, absent columns being missing values."""

from __future__ import annotations

import datetime as dt
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.schema import Column
from gramian.errors import DataError
from gramian.moments.algebra.missing_columns import agreed, with_absent, without_kind

DAYS = [
    pa.table({"color": ["red", "blue", "red"], "size": [1.0, None, 2.5], "rooms": [1, 2, 2]}),
    pa.table({"color": ["red", "green"], "weight": [1.5, 2.0], "shop": ["a", None], "floor": [3, 4]}),
    pa.table({"color": ["red"], "when": [dt.date(2024, 2, 29)], "rooms": [1.5], "size": [4.0]}),
    pa.table({"color": ["grey", None], "when": pa.nulls(2), "shop": pa.nulls(2), "size": pa.nulls(2)}),
]


def brute_force(tables):
    """Write every column into every table, null where it has none, and collect the rows together."""
    names = list(dict.fromkeys(name for table in tables for name in table.schema.names))
    rows = {name: [v for t in tables for v in (t[name].to_pylist() if name in t.schema.names else [None] * len(t))]
            for name in names}  # fmt: skip
    return gm.collect(pa.table(rows))


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_merged_with_fill_is_collected_together(order):
    tables = [DAYS[k] for k in order]
    merged = gm.merge(map(gm.collect, tables), missing="fill")
    assert merged.isclose(gm.collect(tables, missing="fill"))
    assert merged.isclose(brute_force(tables))
    np.testing.assert_array_equal(
        np.sort(merged.crosstab("color", "shop"), axis=None),
        np.sort(brute_force(tables).crosstab("color", "shop"), axis=None),
    )


def test_folds_are_filled_too():
    parts = [gm.collect(day, folds=2, fold_by="color") for day in DAYS]
    whole = gm.collect(DAYS, missing="fill", folds=2, fold_by="color")
    merged = gm.merge(parts, missing="fill")
    assert merged.isclose(whole)
    assert all(a.isclose(b) for a, b in zip(merged.folds, whole.folds, strict=True))


def test_weights_are_filled_too():
    tables = [day.append_column("w", pa.array(np.arange(1.0, len(day) + 1))) for day in DAYS[:2]]
    parts = [gm.collect(table, sample_weight="w") for table in tables]
    assert gm.merge(parts, missing="fill").isclose(gm.collect(tables, sample_weight="w", missing="fill"))


def test_numbers_alone_are_filled():
    tables = [pa.table({"x": [1.0, 2.0, 4.0]}), pa.table({"y": [5.0, 6.0], "k": ["a", "b"]})]
    assert gm.merge(map(gm.collect, tables), missing="fill").isclose(brute_force(tables))


def test_many_numbers_kept_as_rows_are_filled():
    rng = np.random.default_rng(0)
    wide = pa.table({f"x{j}": rng.normal(size=3) for j in range(600)})
    other = pa.table({f"y{j}": rng.normal(size=4) for j in range(5)} | {"x0": rng.normal(size=4)})
    merged = gm.merge([gm.collect(wide), gm.collect(other)], missing="fill")
    assert merged.isclose(brute_force([wide, other]))


def test_columns_that_one_part_lacks_are_refused_by_default_with_the_option_named():
    with pytest.raises(DataError, match=r"'shop' is missing on the left.*merge\(missing='fill'\)"):
        gm.merge([gm.collect(DAYS[1].select(["color"])), gm.collect(DAYS[1].select(["color", "shop"]))])
    with pytest.raises(DataError, match="missing is 'raise' or 'fill'; got 'zero'"):
        gm.merge([], missing="zero")


def test_a_target_that_rows_lack_is_refused():
    a, b = (gm.collect(pa.table({"x": ["a", "b"], "y": [0, 1]}), targets=t) for t in ("y", None))
    with pytest.raises(DataError, match="column 'y' is a target, and 2 rows lack it"):
        gm.merge([a, b.drop("y")], missing="fill")


def test_kinds_that_differ_are_refused_still():
    a, b = gm.collect(pa.table({"x": ["a", "b"]})), gm.collect(pa.table({"x": [1.5, 2.5], "y": [1, 2]}))
    with pytest.raises(DataError, match="column 'x' is categorical on the left and numeric on the right"):
        gm.merge([a, b], missing="fill")


@pytest.mark.parametrize("values", [[1.5, 2.5], [1, 2], ["a", "b"], [True, None], [dt.date(2024, 1, 1)] * 2])
def test_a_column_without_values_has_the_kind_that_others_know(values):
    known, empty = pa.table({"k": ["u", "v"], "x": values}), pa.table({"k": ["u"], "x": pa.nulls(1)})
    both = gm.collect([known, empty])
    assert (gm.collect(known) + gm.collect(empty)).isclose(both)
    assert (gm.collect(empty) + gm.collect(known)).isclose(both)
    assert (both - gm.collect(empty)).isclose(gm.collect(known))


def test_a_day_of_fewer_columns_can_be_taken_away():
    parts = [gm.collect(day) for day in DAYS[:2]]
    week = gm.merge(parts, missing="fill")
    rest = week - parts[0]
    assert rest.n_rows == 2
    assert rest.counts("shop").tolist() == [1, 1]
    with pytest.raises(DataError, match="different columns"):
        gm.collect(DAYS[1].select(["color", "weight"])) - gm.collect(DAYS[1].select(["color"]))


def test_a_day_without_rows_is_the_identity():
    nothing = DAYS[0].slice(0, 0)
    assert gm.collect(nothing, missing="fill") == gm.Moments.empty()
    assert gm.collect([DAYS[0], nothing, DAYS[0]]) == gm.collect([DAYS[0], DAYS[0]])
    first = gm.collect(DAYS[0])
    assert gm.merge([first, gm.Moments.empty()], missing="fill") == first
    assert gm.merge([], missing="fill") == gm.Moments.empty()


def test_moments_of_no_rows_gain_columns_without_levels():
    none = gm.collect(DAYS[0]) - gm.collect(DAYS[0])
    more = with_absent(none, [Column("shop", "category", "shop"), Column("weight", "number", "weight")])
    assert more.levels("shop") == []
    other = pa.table({"color": ["red"], "shop": ["a"], "weight": [2.0], "size": pa.nulls(1), "rooms": [1]})
    total = more + gm.collect(other)
    assert (total.n_rows, total.kind("size"), total.counts("shop").tolist()) == (1, "numeric", [1])


def test_which_columns_have_no_kind():
    m = gm.collect(
        pa.table({"a": pa.nulls(2), "b": pa.array([None, None], pa.float64()), "c": ["x", None], "d": [1, 2]})
    )
    assert without_kind(m) == {"a", "b"}
    assert agreed([m])[0] is m or agreed([m])[0] == m
