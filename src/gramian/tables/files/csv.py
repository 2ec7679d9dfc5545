"""CSV and tab-separated files, text columns dictionary-encoded as they are parsed.

Measured on a million rows of ten text and two float columns, against reading all text as plain strings:
dictionaries asked for by type 1.1 to 1.2, plain strings encoded afterwards 1.35, Arrow's automatic encoding (whose
type may change from block to block) 1.6 to 1.7. So text is asked for as dictionaries, except where the first block
shows mostly distinct values. Parsing in one thread with row numbers costs nothing over Arrow's threaded
streaming, nor do line breaks in quotes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.types as pt

from gramian.errors import FileFormatError
from gramian.tables.files.paths import split_suffix
from gramian.tables.files.text import BLOCK_BYTES, TextTable, not_utf8, open_text, sample_blocks, widen
from gramian.tables.schemas import is_text

#: Rows of the first block in which distinct text is counted.
_COUNTED_ROWS = 50_000


class CsvTable(TextTable):
    """One or more CSV or TSV files with a header row."""

    format_name = "CSV"

    def _schemas(self, paths: list[str]) -> list[pa.Schema]:
        self._headers: dict[str, list[str]] = {}
        return super()._schemas(paths)

    def _column(self, path: str, number: int) -> str | None:
        return self._headers[path][number] if path in self._headers else None

    def _infer(self, path: str, block_bytes: int) -> pa.Schema:
        declared = dict.fromkeys(self._numeric, pa.float64())
        with open_text(path) as stream:
            reader = _reader(stream, path, block_bytes, declared)
            names = self._headers[path] = reader.schema.names
            first = next(iter(reader), None)
        if any(pt.is_binary(f.type) for f in reader.schema):
            raise not_utf8(path)
        schema = reader.schema
        if first is None or len(set(names)) < len(names):
            return schema
        self._keep_long(first, lambda name, kind: _parses(path, block_bytes, {name: kind}))
        # A sample that begins inside a quoted value with line breaks would be misread.
        if not any(_has_line_breaks(column) for column in first.columns):
            for block in sample_blocks(path):
                schema = widen(schema, _infer_block(block, path, names, declared) or schema)
        return pa.schema([pa.field(f.name, _text_type(f, first)) for f in schema])

    def _open(self, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        types = {f.name: f.type for f in schema}
        with open_text(path) as stream:
            yield from _reader(stream, path, BLOCK_BYTES, types, include=schema.names)


def _reader(
    stream: pa.NativeFile,
    path: str,
    block_bytes: int,
    types: dict[str, pa.DataType],
    *,
    names: list[str] | None = None,
    include: list[str] | None = None,
) -> csv.CSVStreamingReader:
    # Without threads Arrow counts rows, so that an error can say which; reading ahead is done by the caller.
    read = csv.ReadOptions(block_size=block_bytes, use_threads=False, column_names=names)
    parse = csv.ParseOptions(delimiter="\t" if split_suffix(path)[0] == ".tsv" else ",", newlines_in_values=True)
    convert = csv.ConvertOptions(
        column_types=types,
        include_columns=include,
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        return csv.open_csv(stream, read_options=read, parse_options=parse, convert_options=convert)
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            raise FileFormatError(f"{path} has no header row") from error
        raise


def _parses(path: str, block_bytes: int, types: dict[str, pa.DataType]) -> bool:
    """Whether the first block of a file can be read with these types."""
    try:
        with open_text(path) as stream:
            return next(iter(_reader(stream, path, block_bytes, types, include=list(types))), None) is not None
    except pa.ArrowInvalid:
        return False


def _infer_block(block: bytes, path: str, names: list[str], declared: dict[str, pa.DataType]) -> pa.Schema | None:
    try:
        return _reader(io.BytesIO(block), path, len(block) + 1, declared, names=names).schema
    except pa.ArrowInvalid:
        # The first block decides; whatever is wrong here is reported with its row when the row is reached.
        return None


def _has_line_breaks(column: pa.Array) -> bool:
    return pt.is_string(column.type) and bool(pc.any(pc.match_substring(column, "\n")).as_py())


def _text_type(field: pa.Field, first: pa.RecordBatch) -> pa.DataType:
    if not is_text(field.type):
        return field.type
    values = first.column(field.name).slice(0, _COUNTED_ROWS)
    mostly_distinct = len(values) > 1000 and 2 * pc.count_distinct(values).as_py() > len(values)
    return pa.string() if mostly_distinct else pa.dictionary(pa.int32(), pa.string())
