"""Dask frames and arrays as tables: names and types from their meta, rows one partition at a time.

The engine of the same name has the partitions read where they lie. Whatever else reads rows (`preview`, methods that learn
row by row) gets them here, one partition after the other, each computed by Dask when its turn comes.

A meta knows less than a frame. Objects are taken to be text, which is checked in every partition; the labels of a category
are whatever its partitions show, known to Dask or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from gramian.errors import DataError, type_words
from gramian.tables.base import ArrayTable, ArrowTable, typed
from gramian.tables.memory.arrays import column_names, open_array
from gramian.tables.memory.pandas import open_pandas
from gramian.tables.schemas import common_type, conform, is_text, observed, subset


def open_dask(source: Any, *, describe: str | None = None) -> ArrowTable | ArrayTable:
    """Return a Dask DataFrame, or a 2-d Dask Array of numbers, as a table."""
    if hasattr(source, "map_partitions") and getattr(source, "ndim", 0) == 2:
        return DaskFrame(source, describe=describe or "a Dask frame")
    if hasattr(source, "map_blocks") and hasattr(source, "chunks"):
        return open_dask_array(source, describe or "a Dask array")
    kind = type(source).__name__
    raise DataError(f"a Dask {kind} is not a source of rows; pass a Dask DataFrame or a 2-d Dask Array")


def example_rows(frame: Any) -> Any:
    """Return two made-up rows of the types of a Dask frame, with text for objects."""
    rows = frame._meta_nonempty.copy()
    for place, dtype in enumerate(rows.dtypes):
        if isinstance(dtype, np.dtype) and dtype.kind == "O":
            rows.isetitem(place, ["a"] * len(rows))
    return rows


class DaskFrame(ArrowTable):
    """A Dask DataFrame.

    Attributes
    ----------
    frame : dask.dataframe.DataFrame
    """

    home = "dask"

    def __init__(self, frame: Any, *, describe: str) -> None:
        meta = example_rows(frame)
        if not hasattr(meta, "iloc") or not type(meta).__module__.startswith("pandas"):
            raise DataError(f"{describe} holds {type(meta).__module__} partitions; partitions of pandas are needed")
        self.frame = frame
        schema = typed(open_pandas(meta, describe=describe)).schema
        super().__init__(schema, describe=describe)

    def picked(self, columns: list[str]) -> Any:
        """Return the Dask frame of these columns alone, so that Dask reads no other."""
        places = {str(name): name for name in self.frame.columns}
        return self.frame[[places[name] for name in columns]]

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        frame = self.picked(columns)
        schema = subset(self.schema, columns)
        for k in range(frame.npartitions):
            part = FramePartition(frame.partitions[k].compute(), schema, describe=f"partition {k} of {self.describe}")
            yield from part.batches(columns)


class FramePartition(ArrowTable):
    """A pandas frame that is one partition of a Dask frame, with the types that its meta says."""

    def __init__(self, frame: Any, schema: pa.Schema, *, describe: str) -> None:
        super().__init__(schema, describe=describe, n_rows=len(frame))
        self._rows = typed(open_pandas(frame, describe=describe))

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        for batch in self._rows.batches(columns):
            yield _as_said(batch, schema, self.describe)


def _as_said(batch: pa.RecordBatch, schema: pa.Schema, where: str) -> pa.RecordBatch:
    """Return a batch with the types of `schema`; categories keep the labels that they have."""
    fields, arrays = [], []
    for said, array in zip(schema, batch.columns, strict=True):
        kind = array.type
        if not observed(array):
            array = pa.nulls(len(array), said.type)
        elif pt.is_dictionary(said.type) and (pt.is_dictionary(kind) or is_text(kind)):
            said = pa.field(said.name, kind)
        elif (is_text(said.type) and not is_text(kind)) or common_type(said.type, kind) is None:
            found, promised = type_words(kind), type_words(said.type)
            raise DataError(
                f"column {said.name!r} holds {found} in {where}, and {promised} by the meta of the frame; "
                "give it one type with astype first"
            )
        fields.append(said)
        arrays.append(array)
    return conform(pa.record_batch(arrays, names=schema.names), pa.schema(fields), where)


def open_dask_array(array: Any, describe: str) -> ArrowTable | ArrayTable:
    """Return a 2-d Dask Array as a table: of floats a matrix, of other values named columns, as of a numpy array."""
    if array.ndim != 2:
        raise DataError(f"{describe} has {array.ndim} dimensions; 2 are needed: rows and columns")
    if array.dtype.kind not in "fiub":
        raise DataError(f"{describe} holds {array.dtype}; numbers are needed, or a Dask frame of named columns")
    if array.shape[1] != array.shape[1]:
        raise DataError(f"{describe} has an unknown number of columns; give it known chunks with compute_chunk_sizes()")
    if array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    n_rows = int(array.shape[0]) if array.shape[0] == array.shape[0] else None
    if array.dtype.kind == "f":
        return DaskFloats(array, describe=describe, n_rows=n_rows)
    return DaskIntegers(array, describe=describe, n_rows=n_rows)


def with_target(array: Any, target: Any, name: str) -> DaskFrame | None:
    """Return a Dask Array and target values in another one as one table, None where they are no two such arrays.

    Blocks of both are put side by side; where their lengths are known those of the target are cut as those of the rows.
    """
    if not all(hasattr(each, "map_blocks") and hasattr(each, "chunks") for each in (array, target)):
        return None
    if array.ndim != 2 or target.ndim not in (1, 2) or (target.ndim == 2 and target.shape[1] != 1):
        raise DataError(
            f"Dask arrays of shapes {array.shape} and {target.shape} are not rows and their target; one value per row is needed"
        )
    import dask.dataframe as dd
    from dask.delayed import delayed

    rows = array.rechunk({1: -1})
    target = target if target.ndim == 1 else target[:, 0]
    known = not any(length != length for length in (*rows.chunks[0], *target.chunks[0]))
    if known and rows.shape[0] != target.shape[0]:
        raise DataError(f"y has {target.shape[0]} values for {rows.shape[0]} rows; give one value per row")
    target = target.rechunk((rows.chunks[0],)) if known else target
    if rows.numblocks[0] != target.numblocks[0]:
        raise DataError(
            "X and y have blocks of unknown lengths, and not as many; call compute_chunk_sizes() on both first"
        )
    names = column_names(rows.shape[1])
    meta = _beside(np.ones((0, len(names)), rows.dtype), np.ones(0, target.dtype), names, name)
    parts = zip(rows.to_delayed().ravel(), target.to_delayed().ravel(), strict=True)
    frame = dd.from_delayed([delayed(_beside)(block, values, names, name) for block, values in parts], meta=meta)
    return DaskFrame(frame, describe="a Dask array")


def _beside(rows: Any, values: Any, names: list[str], name: str) -> Any:
    import pandas as pd

    if len(rows) != len(values):
        raise DataError(f"a block of X has {len(rows)} rows and that of y {len(values)} values; give one value per row")
    return pd.DataFrame(rows, columns=names).assign(**{name: values})


class DaskFloats(ArrayTable):
    """A Dask Array of floats, whole rows in each block.

    Attributes
    ----------
    array : dask.array.Array
    """

    home = "dask"

    def __init__(self, array: Any, *, describe: str, n_rows: int | None) -> None:
        self.array = array
        super().__init__(column_names(array.shape[1]), dtype=array.dtype, describe=describe, n_rows=n_rows)

    def _chunks(self) -> Iterator[Any]:
        for k in range(self.array.numblocks[0]):
            yield self.array.blocks[k, 0].compute()


class DaskIntegers(ArrowTable):
    """A Dask Array of integers or booleans, whole rows in each block.

    Attributes
    ----------
    array : dask.array.Array
    """

    home = "dask"

    def __init__(self, array: Any, *, describe: str, n_rows: int | None) -> None:
        self.array = array
        kind = pa.from_numpy_dtype(array.dtype)
        schema = pa.schema([(name, kind) for name in column_names(array.shape[1])])
        super().__init__(schema, describe=describe, n_rows=n_rows)

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        for k in range(self.array.numblocks[0]):
            block = open_array(self.array.blocks[k, 0].compute(), describe=self.describe)
            yield from typed(block).batches(columns)
