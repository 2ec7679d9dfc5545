"""polars frames, eager and lazy.

An eager frame is handed on in slices, so that text, which polars keeps in a form of its own, is converted
slice by slice. A lazy one is asked for the columns needed and no others, and collected in batches by the
streaming engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gramian.errors import Argument, DataError
from gramian.tables.base import ArrayTable, ArrowTable, iterate_ahead
from gramian.tables.schemas import conform, one_line, plain_schema, subset

if TYPE_CHECKING:
    import polars as pl

_WIDE = {"Int128": "Int64", "UInt128": "UInt64"}
_FLOATS: dict[str, np.dtype[Any]] = {"Float32": np.dtype(np.float32), "Float64": np.dtype(np.float64)}


def open_polars(frame: Any, *, describe: str | None) -> ArrowTable | ArrayTable:
    """Return the rows of a polars DataFrame or LazyFrame."""
    kind = type(frame).__name__
    if kind == "LazyFrame":
        return LazyTable(frame, describe=describe or "a polars lazy frame")
    if kind != "DataFrame":
        raise DataError(f"a polars {kind} is not a table; pass a frame, such as series.to_frame()")
    describe = describe or "a polars frame"
    if frame.width and all(str(dtype) in _FLOATS for dtype in frame.dtypes):
        return PolarsFloats(frame, describe=describe)
    return PolarsTable(frame, describe=describe)


class PolarsFloats(ArrayTable):
    """A frame of floats; nulls become NaN."""

    def __init__(self, frame: pl.DataFrame, *, describe: str) -> None:
        dtype = np.result_type(*(_FLOATS[str(dtype)] for dtype in frame.dtypes))
        super().__init__(frame.columns, dtype=dtype, describe=describe, n_rows=frame.height)
        self._frame = frame

    def _chunks(self) -> Iterator[np.ndarray]:
        for part in self._frame.iter_slices(self._batch_rows(len(self.names))):
            yield part.to_numpy()


class PolarsTable(ArrowTable):
    """An eager frame with any columns."""

    def __init__(self, frame: pl.DataFrame, *, describe: str) -> None:
        schema, refused = _schema(frame, describe)
        super().__init__(schema, describe=describe, n_rows=frame.height, disputed=refused)
        self._frame = frame

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        for part in self._frame.select(columns).iter_slices(self._batch_rows(len(columns))):
            yield from _batches(part, schema, self.describe)


class LazyTable(ArrowTable):
    """A query that polars has not run yet; it runs anew at every reading."""

    def __init__(self, frame: pl.LazyFrame, *, describe: str) -> None:
        with _running(describe):
            empty = frame.collect_schema().to_frame()
        schema, refused = _schema(empty, describe)
        super().__init__(schema, describe=describe, disputed=refused)
        self._frame = frame

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        with closing(iterate_ahead(self._parts(columns), ahead=1)) as parts:
            for part in parts:
                yield from _batches(part, schema, self.describe)

    def _parts(self, columns: list[str]) -> Iterator[pl.DataFrame]:
        query = self._frame.select(columns)
        with _running(self.describe):
            if hasattr(query, "collect_batches"):
                yield from query.collect_batches(chunk_size=self._batch_rows(len(columns)), maintain_order=True)
            else:
                yield from query.collect().iter_slices(self._batch_rows(len(columns)))


@contextmanager
def _running(describe: str) -> Iterator[None]:
    """Turn what polars raises while a query runs into a `DataError`."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        # polars raises many types of its own, and they cannot be named without importing it.
        raise DataError(f"{describe} could not be collected: {one_line(error)}") from error


def _schema(frame: pl.DataFrame, describe: str) -> tuple[pa.Schema, dict[str, DataError]]:
    """Return what Arrow calls the columns, and why some of them (of the null type) cannot be read."""
    refused = {}
    for name, dtype in frame.schema.items():
        if str(dtype) == "Object":
            # polars exports these as the addresses of the objects.
            why = "Python objects; convert it"
        elif str(dtype) in _WIDE:
            # Arrow has no integers of this width.
            why = f"{dtype}, and integers are read up to 64 bits; cast it to {_WIDE[str(dtype)]}"
        else:
            continue
        refused[name] = DataError(
            f"column {name!r} of {describe} holds {why}, or leave it out with ", Argument("exclude", [name])
        )
    with _running(describe):
        known = plain_schema(frame.clear().drop(list(refused)).to_arrow().schema)
    kinds = {name: pa.null() if name in refused else known.field(name).type for name in frame.columns}
    return pa.schema(list(kinds.items())), refused


def _batches(part: pl.DataFrame, schema: pa.Schema, describe: str) -> Iterator[pa.RecordBatch]:
    for batch in part.to_arrow().to_batches():
        yield conform(batch, schema, describe)
