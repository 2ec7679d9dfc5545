"""Arrow IPC files (Feather) and streams, read a record batch at a time: only the columns asked for.

A file is read and not mapped: a map of a file that another program shortens meanwhile ends the process. What was read is
looked at (`tables.validity`) before anything relies on it, because a record batch is taken from the file as it stands there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pyarrow as pa

from gramian.errors import FileFormatError
from gramian.tables.base import iterate_ahead
from gramian.tables.files.file_table import FileTable, Rows
from gramian.tables.files.remote import is_remote, open_file
from gramian.tables.schemas import Inspector, reading

_FILE_MAGIC = b"ARROW1"


class IpcTable(FileTable):
    """One or more Arrow IPC files or streams."""

    def _schemas(self, paths: list[str]) -> list[pa.Schema]:
        schemas = []
        for path in paths:
            with _opened(path, None) as reader:
                # Names and time zones are texts of the file, which may be none.
                schemas.append(pa.schema([(f.name, f.type) for f in reader.schema if str(f.type)]))
                counted = isinstance(reader, pa.RecordBatchFileReader) and not is_remote(path)
            self._rows[path] = _count_rows(path, schemas[-1]) if counted else None
        return schemas

    def _read_files(self, schema: pa.Schema, first: int, skip: int) -> Rows:
        # A record batch is read whole, however long it is: where memory is bounded, fewer of them are there at a time.
        ahead = 2 if self.read_bytes is None else 1
        return iterate_ahead(self._batches(schema.names, first), ahead=ahead)

    def _batches(self, columns: list[str], first: int) -> Rows:
        for index, path in enumerate(self.files[first:], start=first):
            inspector = Inspector(path, FileFormatError, unlooked=self._unlooked)
            with _opened(path, columns) as reader:
                counted = isinstance(reader, pa.RecordBatchFileReader)
                row = 0
                for batch in map(reader.get_batch, range(reader.num_record_batches)) if counted else reader:
                    yield index, row, inspector.check(batch)
                    row += batch.num_rows


def _count_rows(path: str, schema: pa.Schema) -> int | None:
    """Return the rows of a file: of its narrowest column, since Arrow's own count follows damaged places out of memory."""
    if not len(schema):
        return None
    narrow = min(schema, key=_width).name
    with _opened(path, [narrow]) as reader:
        return sum(reader.get_batch(k).num_rows for k in range(reader.num_record_batches))


def _width(field: pa.Field) -> int:
    """Return the bits of a value, many where they differ."""
    try:
        return int(field.type.bit_width)
    except ValueError:
        return 1 << 16


@contextmanager
def _opened(path: str, columns: list[str] | None) -> Iterator[pa.RecordBatchFileReader | pa.RecordBatchStreamReader]:
    """Open the file or stream at `path`, decoding only `columns`."""
    with ExitStack() as stack:
        stack.enter_context(reading(path, "Arrow IPC"))
        file = None if is_remote(path) else stack.enter_context(open(path, "rb"))
        source = stack.enter_context(open_file(path) if file is None else pa.OSFile(path))
        is_file = source.read(len(_FILE_MAGIC)) == _FILE_MAGIC
        source.seek(0)
        opener = pa.ipc.open_file if is_file else pa.ipc.open_stream
        if source.read(4) == b"FEA1":
            raise FileFormatError(f"{path} is in the old Feather format; write it again with pyarrow.feather")
        source.seek(0)
        options = None
        if columns is not None:
            with opener(source) as reader:
                at = {name: k for k, name in enumerate(reader.schema.names)}
            source.seek(0)
            options = pa.ipc.IpcReadOptions(included_fields=[at[name] for name in columns])
        with opener(source, options=options) as reader:
            yield reader
        # A stream may end anywhere between two batches: that it was cut there meanwhile is seen by its length alone.
        if file is not None and os.fstat(file.fileno()).st_size < source.tell():
            raise FileFormatError(f"{path} became shorter while it was read; write it again")
