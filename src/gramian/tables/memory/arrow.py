"""Arrow's own values: tables, record batches, datasets, readers, and whatever exports an Arrow stream.

Rows given as dicts, by the names of their columns: one, or a list of them; or one dict of whole columns.

A key that a row lacks is a missing value there. Columns come in the order in which their names first turn up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa

from gramian.errors import DataError
from gramian.tables.base import BATCH_ROWS, ArrowTable, iterate_ahead
from gramian.tables.schemas import Inspector, arrow_array, conform, one_line, plain_schema, subset, type_of_objects


class MemoryTable(ArrowTable):
    """A pyarrow Table or RecordBatch, sliced without a copy."""

    _leaves_indices = True

    def __init__(self, table: pa.Table | pa.RecordBatch, *, describe: str) -> None:
        super().__init__(plain_schema(table.schema), describe=describe, n_rows=table.num_rows)
        self._rows = table

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        chosen = self._rows.select(columns)
        if isinstance(chosen, pa.RecordBatch):
            chosen = pa.Table.from_batches([chosen])
        inspector = Inspector(self.describe, unlooked=self._unlooked)
        for batch in chosen.to_batches(max_chunksize=self._batch_rows(len(columns))):
            yield conform(inspector.check(batch), schema, self.describe)


class StreamTable(ArrowTable):
    """A RecordBatchReader, or an object that exports one Arrow stream: read once."""

    def __init__(self, source: Any, *, describe: str) -> None:
        if not isinstance(source, pa.RecordBatchReader):
            source = _stream_of(source, describe)
        super().__init__(plain_schema(source.schema), describe=describe, one_shot=True)
        self._reader = source

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        # Not ahead in a thread: what stands behind a foreign stream may belong to the thread that opened it.
        return _pull(self._reader, subset(self.schema, columns), self.describe, ahead=0)


class DatasetTable(ArrowTable):
    """A pyarrow Dataset (or Scanner-like object): columns are pruned and rows read ahead by Arrow itself."""

    def __init__(self, dataset: Any, *, describe: str) -> None:
        super().__init__(plain_schema(dataset.schema), describe=describe)
        self._dataset = dataset
        # Arrow checks these formats while it decodes them; IPC files and tables in memory it takes as they are.
        format = getattr(dataset, "format", None)
        self._sound = type(format).__name__ in ("ParquetFileFormat", "CsvFileFormat", "JsonFileFormat")

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        # Arrow's default of 16 batches x 4 files ahead would hold tens of millions of rows.
        rows = self._batch_rows(len(columns))
        scanner = self._dataset.scanner(columns=columns, batch_size=rows, batch_readahead=2, fragment_readahead=1)
        return _pull(scanner.to_reader(), subset(self.schema, columns), self.describe, sound=self._sound)


class RelationTable(ArrowTable):
    """A DuckDB relation: columns are chosen in the query, which runs anew at every reading."""

    def __init__(self, relation: Any, *, describe: str) -> None:
        super().__init__(plain_schema(_stream_of(relation.limit(0), describe).schema), describe=describe)
        self._relation = relation

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        reader = _stream_of(self._relation.project(quoted), self.describe)
        return _pull(reader, subset(self.schema, columns), self.describe)


def _stream_of(source: Any, describe: str) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(source)
    except MemoryError:
        raise
    except Exception as error:
        # The other library's own exception types are not known here; all of them mean that there is no
        # stream.
        raise DataError(f"{describe} gave no Arrow stream: {one_line(error)}") from error


def _pull(
    reader: pa.RecordBatchReader, schema: pa.Schema, describe: str, *, ahead: int = 2, sound: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of `reader` with the columns of `schema`, `ahead` of them read in the background.

    Where it is not known that they are `sound`, they are looked at first.
    """
    batches = (batch for batch in reader)
    inspector = None if sound else Inspector(describe)
    with closing(reader), closing(iterate_ahead(batches, ahead=ahead) if ahead else batches) as source:
        try:
            for batch in source:
                if inspector is not None:
                    batch = inspector.check(batch.select(schema.names))
                for start in range(0, batch.num_rows, BATCH_ROWS):
                    yield conform(batch.slice(start, BATCH_ROWS), schema, describe)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, MemoryError):
                raise
            raise DataError(f"reading {describe} failed: {one_line(error)}") from error


def open_dicts(source: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, describe: str) -> MemoryTable:
    """Return rows given as dicts as a table.

    Parameters
    ----------
    source
        One row, a list of rows, or one dict whose values are columns: lists or arrays, all of one length.
    describe
        Words for error messages.

    Examples
    --------
    >>> open_dicts([{"color": "red", "age": 3}, {"color": "blue"}], describe="rows")._rows.to_pydict()
    {'color': ['red', 'blue'], 'age': [3, None]}
    >>> open_dicts({"color": "red", "age": 3}, describe="a row").n_rows
    1
    """
    columns = _columns(source, describe) if isinstance(source, Mapping) else _collected(source, describe)
    if not columns:
        raise DataError(f"{describe} has no columns; give each row as names and values")
    arrays = []
    for name, values in columns.items():
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        arrays.append(arrow_array(objects, type_of_objects(objects, name, describe), name, describe))
    return MemoryTable(pa.table(arrays, names=list(columns)), describe=describe)


def _columns(source: Mapping[str, Any], describe: str) -> dict[str, list[Any]]:
    """Return one dict as columns: those that it holds, or of one row."""
    _require_names(source, describe)
    lengths = {name: len(value) for name, value in source.items() if _is_column(value)}
    if not lengths:
        return {name: [value] for name, value in source.items()}
    single = [name for name in source if name not in lengths]
    if single:
        raise DataError(
            f"{describe} holds one value for {single[0]!r} and {lengths[min(lengths)]} for {min(lengths)!r}; give a row of "
            "single values, or columns of one length"
        )
    if len(set(lengths.values())) > 1:
        first, other = next((a, b) for a in lengths for b in lengths if lengths[a] != lengths[b])
        raise DataError(
            f"{describe} has {lengths[first]} values for {first!r} and {lengths[other]} for {other!r}; give one per row"
        )
    return {name: list(values) for name, values in source.items()}


def _collected(rows: Sequence[Mapping[str, Any]], describe: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for k, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"row {k} of {describe} is a {type(row).__qualname__}; give every row as a dict")
        _require_names(row, describe)
        for name, value in row.items():
            columns.setdefault(name, [None] * k).append(value)
        for values in columns.values():
            if len(values) == k:
                values.append(None)
    return columns


def _is_column(value: Any) -> bool:
    return isinstance(value, list | tuple) or (
        hasattr(value, "__len__") and hasattr(value, "dtype") and value.ndim == 1
    )


def _require_names(row: Mapping[str, Any], describe: str) -> None:
    for name in row:
        if not isinstance(name, str):
            raise DataError(f"{describe} has a key {name!r}; columns are named by text")
