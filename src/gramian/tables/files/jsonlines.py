"""JSON lines: one object a line, a missing key is a null.

Names and types come from the first block and from samples further on. A key that first appears beyond them
raises where all columns are read; where columns were chosen, it was not among them and is passed over.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.json as json

from gramian.errors import Argument, DataError, FileFormatError, NoRowsError, PythonOnly
from gramian.tables.files.text import (
    BLOCK_BYTES,
    TextTable,
    first_bytes,
    first_table,
    not_utf8,
    open_text,
    sample_blocks,
    widen,
)
from gramian.tables.schemas import is_text


class JsonLinesTable(TextTable):
    """One or more JSON-lines files."""

    format_name = "JSON lines"

    def _infer(self, path: str, block_bytes: int) -> pa.Schema:
        with open_text(path) as stream:
            if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                raise not_utf8(path)
        with open_text(path) as stream:
            data = first_bytes(stream, block_bytes)
        try:
            first = first_table(lambda stream, n: _reader(stream, n, None, "infer"), data, block_bytes)
            schema = first.schema
            self._keep_long(first, lambda name, kind: _parses(path, block_bytes, name, kind))
        except pa.ArrowInvalid as error:
            raise _not_lines(path, error) from error
        for block in sample_blocks(path):
            later = _reader(io.BytesIO(block), len(block) + 1, None, "infer").schema
            known = set(schema.names)
            new = [f for f in later if f.name not in known]
            schema = pa.schema([*widen(schema, later), *new])
        return schema

    def _open(self, path: str, schema: pa.Schema, block_bytes: int) -> Iterator[pa.RecordBatch]:
        everything = len(schema) == len(self._file_schema)
        with open_text(path) as stream:
            try:
                for batch in _reader(stream, block_bytes, schema, "error" if everything else "ignore"):
                    for column in batch.columns:
                        # Arrow's JSON reader lets bytes through that are not UTF-8; they would fail far from
                        # here.
                        if is_text(column.type):
                            column.validate(full=True)
                    yield batch
            except pa.ArrowInvalid as error:
                if "unexpected field" not in str(error):
                    raise
                raise DataError(
                    f"{path} has a key beyond its first {BLOCK_BYTES >> 20} MB that no earlier row has; ",
                    PythonOnly("choose others with ", Argument("columns"), ", or "),
                    "write every key in the first row",
                ) from error


def _reader(stream: Any, block_bytes: int, schema: pa.Schema | None, unexpected: str) -> json.JSONStreamingReader:
    return json.open_json(
        stream,
        read_options=json.ReadOptions(block_size=block_bytes, use_threads=False),
        parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
    )


def _parses(path: str, block_bytes: int, name: str, kind: pa.DataType) -> bool:
    """Whether a column of the first block of a file can be read as a type."""
    try:
        with open_text(path) as stream:
            first = pa.BufferReader(first_bytes(stream, block_bytes))
            return next(iter(_reader(first, block_bytes, pa.schema([(name, kind)]), "ignore")), None) is not None
    except pa.ArrowInvalid:
        return False


def _not_lines(path: str, error: pa.ArrowInvalid) -> Exception:
    text = str(error)
    if "Empty JSON" in text:
        return NoRowsError(f"{path} holds no rows")
    if "from object to array" in text:
        return FileFormatError(f"{path} is one JSON array; JSON lines are needed, one object a line")
    return error
