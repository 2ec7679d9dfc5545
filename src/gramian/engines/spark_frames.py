"""Functions of rows over Spark frames: lazy, with a schema that is known before any job runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from pyspark.errors import AnalysisException
from pyspark.sql import Observation, functions, types

from gramian.engines.base import batch_rows
from gramian.engines.partitions import located
from gramian.engines.spark import running
from gramian.errors import DataError
from gramian.tables.distributed.spark import SparkPartition, SparkTable
from gramian.tables.stretches import stretches

_SPARK = {
    pa.bool_(): types.BooleanType(),
    pa.int8(): types.ByteType(),
    pa.int16(): types.ShortType(),
    pa.int32(): types.IntegerType(),
    pa.int64(): types.LongType(),
    pa.float32(): types.FloatType(),
    pa.float64(): types.DoubleType(),
    pa.string(): types.StringType(),
    pa.large_string(): types.StringType(),
    pa.date32(): types.DateType(),
}
"""What Spark calls the types of results."""


def map_frame(
    frame: Any, function: Callable[[Any], Any], names: Sequence[str], *, keep: Sequence[str] = (), dtype: Any = None
) -> Any:
    """Return a function of the rows of a Spark frame, as a lazy Spark frame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    function : callable
        From rows, an Arrow table, to an array or a table with one row for each of them; its `columns`, where it has some, are
        all that is read. It travels with the plan, and Spark sends a large one to each executor once.
    names : sequence of str
        Of the columns that it gives.
    keep : sequence of str
        Columns that are copied through, in front of them.
    dtype : numpy dtype, optional
        Of results that are floats; by default as they are.

    Returns
    -------
    pyspark.sql.DataFrame
        Rows in the order of the frame's; `keep`, then `names`.
    """
    table = SparkTable(frame)
    wanted = getattr(function, "columns", None)
    readable = wanted or [f.name for f in table.schema if not pt.is_nested(f.type)]
    table.require([*readable, *keep])
    results = _results(function, _example(table.schema, readable), list(names), dtype)
    fields = [*(frame.schema.fields[table.schema.names.index(name)] for name in keep)]
    fields += [types.StructField(f.name, _spark_type(f, frame, table.schema), True) for f in results.schema]
    columns = list(dict.fromkeys([*readable, *keep]))
    mapping = _Mapping(function, readable, list(keep), results.schema, dtype, len(results.schema.names))
    return table.mapped(columns, mapping, types.StructType(fields))


def _spark_type(field: pa.Field, frame: Any, schema: pa.Schema) -> Any:
    """Return Spark's type of a result: of a column that is handed through, the one it has."""
    if field.name in schema.names and schema.field(field.name).type == field.type:
        return frame.schema.fields[schema.names.index(field.name)].dataType
    kind = _SPARK.get(field.type)
    if kind is None:
        raise DataError(f"{field.name!r} is {field.type}, which has no column of Spark's; compute it on rows in memory")
    return kind


def _example(schema: pa.Schema, names: Sequence[str]) -> pa.Table:
    """Return two rows of some value, to see what a function makes of rows."""

    def column(kind: pa.DataType) -> pa.Array:
        if pt.is_string(kind):
            return pa.array(["a", "b"], kind)
        if pt.is_integer(kind) or pt.is_floating(kind):
            return pa.array([1, 1], kind)
        return pa.nulls(2, kind)

    return pa.table({name: column(schema.field(name).type) for name in names})


def _results(function: Callable[[Any], Any], rows: pa.Table, names: list[str], dtype: Any) -> pa.Table:
    """Return what a function gives for rows, as named columns."""
    answer = function(rows)
    if isinstance(answer, pa.RecordBatch | pa.Table):
        return pa.table({name: answer.column(k) for k, name in enumerate(names)})
    values = np.asarray(answer)
    values = values.reshape(len(values), -1)
    columns = {}
    for k, name in enumerate(names):
        column = values[:, k]
        if dtype is not None and column.dtype.kind == "f":
            column = column.astype(dtype, copy=False)
        columns[name] = pa.array(column)
    return pa.table(columns)


class _Mapping:
    """What a task does: a function of the rows of its partition, some of them at a time."""

    def __init__(
        self, function: Callable[[Any], Any], columns: list[str], keep: list[str], schema: pa.Schema, dtype: Any, width: int
    ) -> None:  # fmt: skip
        self._function, self._columns, self._keep = function, columns, keep
        self._schema, self._dtype, self._width = schema, dtype, width

    def __call__(self, part: SparkPartition) -> Iterator[pa.RecordBatch]:
        rows = batch_rows(len(self._columns) + self._width)
        with located(part.describe):
            for group in stretches(part.batches(), rows):
                whole = pa.Table.from_batches(group)
                results = _results(self._function, whole.select(self._columns), self._schema.names, self._dtype)
                kept = [whole.column(name) for name in self._keep]
                table = pa.table([*kept, *results.cast(self._schema).columns], names=[*self._keep, *self._schema.names])
                yield from table.combine_chunks().to_batches()


def with_missing(frame: Any, names: Sequence[str]) -> Any:
    """Return a frame with these columns, of missing values where it has none itself."""
    absent = [name for name in names if name not in frame.columns]
    return frame.withColumns({name: functions.lit(None) for name in absent}) if absent else frame


def write_parquet(frame: Any, out: str | os.PathLike[str]) -> int:
    """Have the executors write a frame to a new folder of Parquet files, and return the number of rows.

    Raises
    ------
    DataError
        Where the folder is there already: Spark would remove it before the new rows are written.
    """
    path = os.fspath(out)
    if not path.removesuffix("/").endswith(".parquet"):
        raise DataError(
            f"cannot write {path!r}: the executors of Spark write Parquet; name a folder that ends in .parquet"
        )
    counted = Observation()
    with running(frame.sparkSession, None):
        try:
            frame.observe(counted, functions.count(functions.lit(1)).alias("rows")).write.mode("error").parquet(path)
        except AnalysisException as error:
            if "PATH_ALREADY_EXISTS" not in str(error):
                raise
            raise DataError(f"cannot write {path!r}: it exists already; name another folder, or remove it") from None
        return int(counted.get["rows"])
