"""Tables written batch by batch, in the format that a file's suffix names.

A CSV file holds text as it is. A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula, also one that came
with the data; where a file is made to be opened in one, such text is written behind an apostrophe, which a spreadsheet takes to
mean text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gramian.errors import DataError
from gramian.storage.atomic import WRITTEN_AS, written_as
from gramian.tables.base import decoded, decoded_schema

_RUNS = r"\A[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""What begins a formula, by itself or once a spreadsheet has taken away what stands before it; also in full width."""
_NUMBER = r"\A[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?\z"

_for_spreadsheets: ContextVar[bool] = ContextVar("spreadsheet_safe", default=False)


@contextmanager
def spreadsheet_safety(safe: bool) -> Iterator[None]:
    """Within the block CSV files are written for spreadsheets where `table_writer` is told nothing: a program says it once."""
    before = _for_spreadsheets.set(safe)
    try:
        yield
    finally:
        _for_spreadsheets.reset(before)


def without_formulas(column: pa.Array) -> pa.Array:
    """Return text with an apostrophe before what a spreadsheet would run as a formula; numbers stay, also those in text.

    Examples
    --------
    >>> without_formulas(pa.array(["=1+1", "+1", "@SUM(A1)", "a=b", "-5.0", None])).to_pylist()
    ["'=1+1", '+1', "'@SUM(A1)", 'a=b', '-5.0', None]
    """
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    runs = pc.and_(pc.match_substring_regex(column, _RUNS), pc.invert(pc.match_substring_regex(column, _NUMBER)))
    mark, nothing = (pa.scalar(text, column.type) for text in ("'", ""))
    return pc.if_else(pc.fill_null(runs, False), pc.binary_join_element_wise(mark, column, nothing), column)


def _safe_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([without_formulas(column) for column in batch.columns], schema=schema)


@contextmanager
def table_writer(
    path: str | Path, where: str, schema: pa.Schema, *, spreadsheet_safe: bool | None = None
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Give a function that writes a batch; everything is on disk when the block has ended.

    Parameters
    ----------
    path : path
        Whose suffix names the format.
    where : str
        The file to write, which may have another name until it is whole.
    schema : pyarrow.Schema
        Of the batches. Dictionaries are written as what they stand for: their entries differ from batch to batch.
    spreadsheet_safe : bool, optional
        Whether texts (and names of columns) of a CSV file that a spreadsheet would run as a formula get an apostrophe.
    """
    kind, plain = written_as(Path(path).name), decoded_schema(schema)
    safe = kind == "csv" and (_for_spreadsheets.get() if spreadsheet_safe is None else spreadsheet_safe)
    if safe:
        plain = pa.schema(list(zip(without_formulas(pa.array(plain.names)).to_pylist(), plain.types, strict=True)))
    with ExitStack() as closing:
        writer: Any
        if kind == "parquet":
            import pyarrow.parquet as pq

            # Features hardly repeat: a dictionary of them is work for nothing.
            texts = [f.name for f in plain if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
            writer = closing.enter_context(pq.ParquetWriter(where, plain, use_dictionary=texts or False))
        elif kind == "csv":
            import pyarrow.csv as csv

            # The writer does not close what it writes to, and a compressed file is not whole before it is closed.
            compression = "gzip" if Path(path).name.lower().endswith(".gz") else None
            sink = closing.enter_context(pa.output_stream(where, compression=compression))
            writer = closing.enter_context(csv.CSVWriter(sink, plain))
        elif kind == "ipc":
            writer = closing.enter_context(pa.ipc.new_file(where, plain))
        else:
            raise DataError(f"{Path(path).name!r}: tables are written as {', '.join(WRITTEN_AS)}; choose one of these")
        yield lambda batch: writer.write_batch(_safe_batch(decoded(batch), plain) if safe else decoded(batch))
