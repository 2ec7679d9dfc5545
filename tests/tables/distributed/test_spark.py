from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError
from gramian.tables import open_table
from gramian.tables.distributed.spark import SparkTable, arrow_schema

types = pytest.importorskip("pyspark.sql.types", reason="pyspark is not installed")


def test_types_of_spark_are_those_of_arrow() -> None:
    kinds = {
        types.StringType(): pa.string(), types.VarcharType(3): pa.string(), types.BooleanType(): pa.bool_(),
        types.ByteType(): pa.int8(), types.ShortType(): pa.int16(), types.IntegerType(): pa.int32(),
        types.LongType(): pa.int64(), types.FloatType(): pa.float32(), types.DoubleType(): pa.float64(),
        types.DecimalType(9, 2): pa.decimal128(9, 2), types.DateType(): pa.date32(),
        types.TimestampType(): pa.timestamp("us", tz="UTC"), types.TimestampNTZType(): pa.timestamp("us"),
        types.DayTimeIntervalType(): pa.duration("us"), types.BinaryType(): pa.binary(), types.NullType(): pa.null(),
        types.ArrayType(types.LongType()): pa.list_(pa.int64()), types.VariantType(): pa.struct([]),
    }  # fmt: skip
    found = arrow_schema([types.StructField(f"c{k}", kind) for k, kind in enumerate(kinds)])
    assert found.types == list(kinds.values())


def test_names_may_hold_anything_that_differs(spark_stand_in: Any) -> None:
    rows = pa.table({"a.b": [1.0, 2.0], "`": ["x", None], "A": [True, False], "a": [3.0, 4.0]})
    table = open_table(spark_stand_in([rows.slice(0, 1), rows.slice(1)]))
    assert isinstance(table, SparkTable)
    assert pa.Table.from_batches(table.batches(["a", "`", "a.b"])).equals(rows.select(["a", "`", "a.b"]))
    assert table.home == "spark"


def test_a_name_that_occurs_twice_is_told(spark_stand_in: Any) -> None:
    frame = spark_stand_in([pa.table({"k": [1.0], "x": [1.0]})])
    frame.schema = types.StructType([types.StructField("k", types.DoubleType())] * 2)
    with pytest.raises(ColumnError, match="'k' occurs 2 times in a Spark frame"):
        gm.collect(frame)


def test_an_instant_is_read_in_utc_whatever_the_session_says(spark_stand_in: Any) -> None:
    instants = pa.table({"t": pa.array([0, 3_600_000_000], pa.timestamp("us", tz="UTC"))})
    frame = spark_stand_in([instants])
    # As Spark hands it out where the session is elsewhere.
    frame.parts = [instants.cast(pa.schema([("t", pa.timestamp("us", tz="Asia/Tokyo"))]))]
    assert gm.collect(frame).levels("t_hour") == gm.collect(instants).levels("t_hour") == [0, 1]
