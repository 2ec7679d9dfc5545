"""CSV and tab-separated files, text columns dictionary-encoded as they are parsed.

Measured on a million rows of ten text and two float columns, against reading all text as plain strings:
dictionaries asked for by type 1.1 to 1.2, plain strings encoded afterwards 1.35, Arrow's automatic encoding (whose
type may change from block to block) 1.6 to 1.7. So text is asked for as dictionaries, except where the first block
shows mostly distinct values. Parsing in one thread with row numbers costs nothing over Arrow's threaded
streaming, nor do line breaks in quotes.

How a file is written (separator, decimal point, encoding, dates) is found by `dialect`; what it found beyond a plain file goes
to the log of the package. Numbers whose digits are grouped are text to Arrow, and made numbers here.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.types as pt

from gramian.errors import Argument, DataError, FileFormatError, Message
from gramian.tables.files.dialect import SAMPLE_BYTES, Dialect, checked, sniff
from gramian.tables.files.paths import Files, split_suffix
from gramian.tables.files.text import (
    BLOCK_BYTES,
    FirstBlock,
    TextTable,
    first_block,
    first_bytes,
    open_text,
    sample_blocks,
    widen,
)
from gramian.tables.schemas import is_text

_LOG = logging.getLogger("gramian")


class CsvTable(TextTable):
    """One or more CSV or TSV files with a header row.

    Parameters
    ----------
    files, numeric, describe
        As for every table of files.
    categorical
        Columns to be read as text, as it is written.
    csv
        What the user says of the files: `delimiter`, `decimal`, `thousands`, `encoding`, `date_format`.
    """

    format_name = "CSV"
    _known_by_path = ("_dialects",)

    def __init__(
        self,
        files: Files,
        *,
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        csv: Mapping[str, Any] | None = None,
        describe: str | None = None,
    ) -> None:
        self._categorical, self._given = set(categorical), checked(csv)
        super().__init__(files, numeric=numeric, describe=describe)

    def _schemas(self, paths: list[str]) -> list[pa.Schema]:
        self._dialects: dict[str, Dialect] = {}
        return super()._schemas(paths)

    def identity(self) -> dict[str, Any]:
        """Return what tells the files from others, and how they are written."""
        return {**super().identity(), "csv": {key: str(value) for key, value in self._given.items()}}

    def _not_utf8(self, path: str) -> FileFormatError:
        return FileFormatError(
            f"{path} is not {self._dialects[path].encoding} text throughout; name its encoding with ",
            Argument("csv", {"encoding": "latin-1"}),
        )

    def _column(self, path: str, number: int) -> str | None:
        return self._dialects[path].names[number] if path in self._dialects else None

    def _infer(self, path: str, block_bytes: int) -> pa.Schema:
        dialect = self._dialects[path] = _dialect(path, self._given)
        names = list(dialect.names)
        if len(set(names)) < len(names):
            return pa.schema([pa.field(name, pa.null()) for name in names])
        declared = dict.fromkeys(self._numeric, pa.float64())
        declared |= dict.fromkeys(dialect.grouped, pa.string())
        declared |= {name: pa.string() for name in dialect.as_written if name not in self._numeric}
        declared |= {name: pa.string() for name in names if name in self._categorical}
        first = _first_block(path, block_bytes, dialect, declared)
        unread = {f.name for f in first.schema if is_text(f.type)} & dialect.typed - set(declared)
        if unread and not dialect.quoted_missing and "empty" not in self._given:
            # Numbers and dates are text to the parser where a missing one is a quoted empty field.
            again = replace(dialect, quoted_missing=True)
            other = _first_block(path, block_bytes, again, declared)
            before, after = ({f.name for f in r.schema if not is_text(f.type)} for r in (first, other))
            if before < after:
                first = other
                dialect = self._dialects[path] = again
                _say(path, dialect)
        if any(pt.is_binary(f.type) for f in first.schema):
            raise self._not_utf8(path)
        schema = first.schema
        if first.num_rows:
            self._keep_long(first, lambda name, kind: _parses(path, block_bytes, dialect, {name: kind}))
            # A sample that begins inside a quoted value with line breaks would be misread, and one cut out of another
            # encoding than UTF-8 is not text.
            if dialect.encoding == "utf-8" and not first.line_breaks:
                for block in sample_blocks(path):
                    schema = widen(schema, _infer_block(block, path, dialect, declared) or schema)
            schema = pa.schema([pa.field(f.name, _text_type(f, first.head)) for f in schema])
        grouped = dialect.grouped - self._categorical
        fields = [pa.field(f.name, pa.float64()) if f.name in grouped else f for f in schema]
        # A day has no hour, also where it is not written as ISO 8601 has it and so a timestamp to Arrow.
        days = {f.name for f in fields if pt.is_timestamp(f.type)} & dialect.days
        fields = [pa.field(f.name, pa.date32()) if f.name in days else f for f in fields]
        return pa.schema([f for f in fields if f.name not in dialect.empty])

    def _open(self, path: str, schema: pa.Schema, block_bytes: int) -> Iterator[pa.RecordBatch]:
        dialect = self._dialects[path]
        types = {f.name: f.type for f in schema}
        grouped = [name for name in schema.names if name in dialect.grouped and not is_text(types[name])]
        # A column that showed no value is read as one of none: whatever turns up in it after all is an error.
        read = types | dict.fromkeys(grouped, pa.string()) | dict.fromkeys(dialect.empty, pa.null())
        days = [name for name in dialect.days if pt.is_date(types.get(name, pa.null()))]
        read |= dict.fromkeys(days, pa.timestamp("s"))
        with _open(path, dialect) as stream:
            for batch in _reader(stream, path, block_bytes, dialect, read, include=list(read)):
                columns = [
                    _ungrouped(batch.column(name), types[name], dialect, name, path)
                    if name in grouped
                    else batch.column(name).cast(types[name])
                    if name in days
                    else batch.column(name)
                    for name in schema.names
                ]
                yield pa.record_batch(columns, schema=schema)


def _dialect(path: str, given: Mapping[str, Any]) -> Dialect:
    with open_text(path) as stream:
        sample, whole = _sample(stream)
    tabs = split_suffix(path)[0] == ".tsv"
    dialect = sniff(sample, path, whole=whole, given=given, tabs=tabs)
    if not dialect.names:
        raise FileFormatError(f"{path} has no header row")
    _say(path, dialect)
    return dialect


def _sample(stream: pa.NativeFile) -> tuple[bytes, bool]:
    """Return the beginning of a file, more of it where a header of many columns is not all, and whether it is the whole."""
    sample, wanted = b"", SAMPLE_BYTES
    while True:
        sample += stream.read(wanted - len(sample))
        if len(sample) < wanted:
            return sample, True
        # A header, a row, and what follows: the last line may be cut.
        if wanted >= BLOCK_BYTES or len(re.findall(rb"[\r\n]+", sample)) > 2:
            return sample, False
        wanted *= 4


def _say(path: str, dialect: Dialect) -> None:
    """Log how a file is read, where that is not as a plain one is."""
    tabs = split_suffix(path)[0] == ".tsv"
    words = [phrase for phrase in dialect.in_words() if not (tabs and "tabs" in phrase)]
    if words:
        parts = [part for phrase in words for part in ("; ", phrase)]
        _LOG.info(Message(f"{path} is read with ", *parts[1:]))


def _first_block(path: str, block_bytes: int, dialect: Dialect, declared: dict[str, pa.DataType]) -> FirstBlock:
    """Return what the first block of a file shows."""
    with _open(path, dialect) as stream:
        data = first_bytes(stream, block_bytes)
    return first_block(lambda stream, n: _reader(stream, path, n, dialect, declared), data, block_bytes)


def _open(path: str, dialect: Dialect) -> pa.NativeFile:
    stream = open_text(path)
    # Arrow reads UTF-8, and leaves out its mark by itself.
    if dialect.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
        return stream
    return pa.transcoding_input_stream(stream, dialect.encoding, "utf-8")


def _reader(
    stream: Any,
    path: str,
    block_bytes: int,
    dialect: Dialect,
    types: dict[str, pa.DataType],
    *,
    above: bool = True,
    include: list[str] | None = None,
) -> csv.CSVStreamingReader:
    # Without threads Arrow counts rows, so that an error can say which; reading ahead is done by the caller.
    read = csv.ReadOptions(
        block_size=block_bytes,
        use_threads=False,
        column_names=list(dialect.names),
        skip_rows=dialect.skipped + dialect.header if above else 0,
    )
    parse = csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    convert = csv.ConvertOptions(
        column_types=types,
        include_columns=include,
        strings_can_be_null=True,
        quoted_strings_can_be_null=dialect.quoted_missing,
        null_values=[""] if dialect.quoted_missing else None,
        decimal_point=dialect.decimal,
        timestamp_parsers=[csv.ISO8601, *dialect.date_formats],
    )
    return csv.open_csv(stream, read_options=read, parse_options=parse, convert_options=convert)


def _ungrouped(column: pa.Array, kind: pa.DataType, dialect: Dialect, name: str, path: str) -> pa.Array:
    """Return a column of numbers whose digits are grouped."""
    plain = pc.utf8_trim_whitespace(column)
    for sign in dialect.thousands:
        plain = pc.replace_substring(plain, sign, "")
    plain = pc.replace_substring(plain, dialect.decimal, ".") if dialect.decimal != "." else plain
    plain = pc.if_else(pc.equal(plain, ""), None, plain)
    try:
        return plain.cast(kind)
    except pa.ArrowInvalid as error:
        value = str(error).rpartition("string: '")[2].partition("'")[0]
        raise DataError(
            f"column {name!r} of {path} holds {value!r} among numbers; leave it out with ",
            Argument("exclude", [name]),
            ", or read it as text with ",
            Argument("categorical", [name]),
        ) from error


def _parses(path: str, block_bytes: int, dialect: Dialect, types: dict[str, pa.DataType]) -> bool:
    """Whether the first block of a file can be read with these types."""
    try:
        with _open(path, dialect) as stream:
            first = pa.BufferReader(first_bytes(stream, block_bytes))
            reader = _reader(first, path, block_bytes, dialect, types, include=list(types))
            return next(iter(reader), None) is not None
    except pa.ArrowInvalid:
        return False


def _infer_block(block: bytes, path: str, dialect: Dialect, declared: dict[str, pa.DataType]) -> pa.Schema | None:
    try:
        return _reader(io.BytesIO(block), path, len(block) + 1, dialect, declared, above=False).schema
    except pa.ArrowInvalid:
        # The first block decides; whatever is wrong here is reported with its row when the row is reached.
        return None


def _text_type(field: pa.Field, head: pa.Table) -> pa.DataType:
    if not is_text(field.type):
        return field.type
    values = head.column(field.name)
    mostly_distinct = len(values) > 1000 and 2 * pc.count_distinct(values).as_py() > len(values)
    return pa.string() if mostly_distinct else pa.dictionary(pa.int32(), pa.string())
