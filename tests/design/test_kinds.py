from __future__ import annotations

import pyarrow as pa
import pytest

from gramian.design.kinds import inferred_form, plan_columns, types_of
from gramian.errors import ColumnError, DataError

SCHEMA = pa.schema(
    [("c", pa.string()), ("k", pa.int16()), ("x", pa.float32()), ("d", pa.date32()), ("t", pa.timestamp("us", "UTC"))]
)


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (pa.string(), "category"),
        (pa.bool_(), "category"),
        (pa.null(), "category"),
        (pa.dictionary(pa.int8(), pa.int64()), "category"),
        (pa.uint64(), "integer"),
        (pa.float16(), "number"),
        (pa.decimal128(9, 2), "number"),
        (pa.duration("ms"), "number"),
    ],
    ids=str,
)
def test_forms_of_types(kind: pa.DataType, form: str) -> None:
    assert inferred_form("a", kind) == form


def test_dates_become_parts() -> None:
    assert plan_columns(types_of(SCHEMA)).names == [
        "c", "k", "x", "d_dayofweek", "d_month", "t_dayofweek", "t_month", "t_hour",
    ]  # fmt: skip


def test_columns_order_and_exclude() -> None:
    assert plan_columns(types_of(SCHEMA), columns=["x", "c"]).names == ["x", "c"]
    assert plan_columns(types_of(SCHEMA), exclude=["d", "t"]).names == ["c", "k", "x"]
    assert plan_columns(types_of(SCHEMA), columns="x", targets="k").names == ["x", "k"]
    assert plan_columns(types_of(SCHEMA), exclude=["d", "t"], reserved=["x"]).names == ["c", "k"]


def test_overrides() -> None:
    schema = plan_columns(types_of(SCHEMA), categorical=["k", "x"])
    assert schema["k"].form == schema["x"].form == "category"
    assert plan_columns(types_of(SCHEMA), numeric="k")["k"].form == "number"


def test_like_takes_kinds_and_order() -> None:
    like = plan_columns(types_of(SCHEMA), columns=["x", "k"], categorical="k")
    assert plan_columns(types_of(SCHEMA), like=like) == like
    with pytest.raises(ColumnError, match="'k'"):
        plan_columns(types_of(SCHEMA.remove(1)), like=like)


def test_nothing_left_to_collect() -> None:
    with pytest.raises(DataError, match="no columns"):
        plan_columns(types_of(SCHEMA), exclude=SCHEMA.names)


def test_a_time_zone_that_is_not_known_is_named_with_its_column() -> None:
    kind = pa.timestamp("us", tz="Mars/Phobos")
    with pytest.raises(ColumnError, match=r"column 'w' is in the time zone 'Mars/Phobos'.*exclude=\['w'\]"):
        plan_columns({"w": kind, "a": pa.string()})
    assert len(plan_columns({"w": kind, "a": pa.string()}, exclude="w")) == 1
    assert len(plan_columns({"w": pa.timestamp("us", tz="Europe/Madrid")})) == 3


def test_a_part_of_a_date_may_be_a_target() -> None:
    schema = plan_columns(types_of(SCHEMA), targets=["t_month"])
    assert [column.name for column in schema if column.target] == ["t_month"]
    assert plan_columns(types_of(SCHEMA), columns=["c"], targets=["d_month"]).features == ["c", "d_dayofweek"]
    assert plan_columns(types_of(SCHEMA), targets=["t_month"], like=plan_columns(types_of(SCHEMA))) == schema
    with pytest.raises(ColumnError, match="column 'd_hour' is not in the table"):
        plan_columns(types_of(SCHEMA), targets=["d_hour"])
    with pytest.raises(ColumnError, match="column 't' is named in targets= and in exclude="):
        plan_columns(types_of(SCHEMA), targets=["t_month"], exclude=["t"])
