"""A Spark frame as a table: its schema as Arrow has it, and its rows where somebody wants them on this machine.

Spark's own types say what a column is; no job runs to find out. A timestamp is an instant, which Spark shows in the time zone
of the session. Here it is read in UTC, as it is from the Parquet files that Spark writes and in `frame.toArrow()`: moments must
not depend on a setting of whoever collects them. Whoever means the hours of a place makes a `timestamp_ntz` of the column.

Columns go by position under names of our own (`c0`, `c1`...) while Spark has them: dots, back-ticks and names that differ in
case only would each need a rule otherwise.

Nothing here imports pyspark: a frame that is given brings what is needed.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from gramian.errors import DataError
from gramian.tables.base import ArrowTable
from gramian.tables.schemas import conform, subset

_PLAIN = {
    "string": pa.string(),
    "char": pa.string(),
    "varchar": pa.string(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "daytimeinterval": pa.duration("us"),
    "time": pa.time64("ns"),
    "binary": pa.binary(),
    "void": pa.null(),
}
"""The Arrow type of what Spark calls by these names, where the name says all."""


def arrow_schema(fields: Iterable[Any]) -> pa.Schema:
    """Return the Arrow schema of the fields of a Spark schema.

    What Arrow has no type for (variants, intervals of months) is a struct without members: refused by whoever reads it, of
    no concern to others.
    """
    return pa.schema([pa.field(field.name, _arrow_type(field.dataType)) for field in fields])


def _arrow_type(kind: Any) -> pa.DataType:
    name = type(kind).typeName()
    if name in _PLAIN:
        return _PLAIN[name]
    if name == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    if name == "array":
        return pa.list_(_arrow_type(kind.elementType))
    if name == "struct":
        return pa.struct([pa.field(f.name, _arrow_type(f.dataType)) for f in kind.fields])
    return pa.struct([])


def open_spark(source: Any, *, describe: str | None = None) -> ArrowTable:
    """Return a Spark DataFrame as a table."""
    if not hasattr(source, "mapInArrow"):
        raise DataError(f"a Spark {type(source).__name__} is not a source of rows; pass a Spark DataFrame")
    return SparkTable(source, describe=describe or "a Spark frame")


class SparkTable(ArrowTable):
    """The rows of a Spark frame, of a classic session or of Spark Connect.

    Attributes
    ----------
    frame : pyspark.sql.DataFrame
    """

    home = "spark"

    def __init__(self, frame: Any, *, describe: str = "a Spark frame") -> None:
        self.frame = frame
        super().__init__(arrow_schema(frame.schema.fields), describe=describe)

    def mapped(self, columns: Sequence[str], function: Callable[[SparkPartition], Iterator[Any]], schema: Any) -> Any:
        """Return a lazy Spark frame: a function of each partition, run where the partition is.

        Parameters
        ----------
        columns : sequence of str
            Those that partitions have; the others are never read.
        function : callable
            Of a `SparkPartition`; it gives record batches of `schema`.
        schema : str or pyspark StructType
        """
        self.require(columns)
        places = [f"c{self.schema.names.index(name)}" for name in columns]
        named = self.frame.toDF(*(f"c{k}" for k in range(len(self.schema.names)))).select(*places)
        return named.mapInArrow(partial(_on_partition, function, subset(self.schema, columns), self.describe), schema)

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        frame = self.mapped(columns, _as_bytes, "batch binary")
        # A partition at a time, so that neither the first rows wait for the last nor all of them lie here.
        for row in frame.toLocalIterator():
            with pa.ipc.open_stream(row[0]) as stream:
                yield from stream


class SparkPartition(ArrowTable):
    """The batches that Spark gives a task, under the names and with the types of the frame; read once."""

    def __init__(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, describe: str) -> None:
        super().__init__(schema, describe=describe, one_shot=True)
        self._batches = batches

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        for batch in self._batches:
            yield conform(batch.rename_columns(self.schema.names), schema, self.describe)


def _on_partition(
    function: Callable[[SparkPartition], Iterator[Any]],
    schema: pa.Schema,
    describe: str,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[Any]:
    """Return a function of the batches of a partition: what Spark calls."""
    return function(SparkPartition(batches, schema, describe))


def _as_bytes(part: SparkPartition) -> Iterator[pa.RecordBatch]:
    for batch in part.batches():
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.record_batch([pa.array([sink.getvalue()], pa.binary())], names=["batch"])
