"""CSV and tab-separated files, text columns dictionary-encoded as they are parsed.

Measured on a million rows of ten text and two float columns, against reading all text as plain strings:
dictionaries asked for by type 1.1 to 1.2, plain strings encoded afterwards 1.35, Arrow's automatic encoding (whose
type may change from block to block) 1.6 to 1.7. So text is asked for as dictionaries, except where the first block
shows mostly distinct values. Parsing in one thread with row numbers costs nothing over Arrow's threaded
streaming, nor do line breaks in quotes.

How a file is written (separator, decimal point, encoding, dates) is found by `dialect`; what it found beyond a plain file goes
to the log of the package. Numbers whose digits are grouped, dates that are not written as ISO 8601 has them, and numbers and
dates beside words that stand for a missing value are text to Arrow, and made what they are here.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gramian.errors import Argument, DataError, FileFormatError, Message
from gramian.tables.files.conventions import (
    CLEAR_WORDS,
    WORDS,
    grouping_sign,
    kind_of_texts,
    leading_zero,
    may_be_typed,
    may_have_leading_zeros,
    refuse_either,
    spoiling_words,
    texts_without,
    without_words,
)
from gramian.tables.files.dialect import SAMPLE_BYTES, Dialect, checked, open_rows, sniff, texts_of, with_late
from gramian.tables.files.paths import split_suffix
from gramian.tables.files.text import (
    BLOCK_BYTES,
    CSV_VALUE,
    FirstBlock,
    TextTable,
    first_block,
    first_bytes,
    open_text,
    refuse_zeros,
    sample_blocks,
    widen,
)
from gramian.tables.schemas import is_text

_LOG = logging.getLogger("gramian")


class CsvTable(TextTable):
    """One or more CSV or TSV files with a header row."""

    format_name = "CSV"
    _as_written = True
    _known_by_path = ("_rows", "_dialects")
    _dialects: dict[str, Dialect]
    _sampled: list[bytes]

    def _checked(self, csv: Mapping[str, Any]) -> dict[str, Any]:
        return checked(csv)

    def typed_by_values(self, column: str) -> bool:
        """Whether a column was not asked to be text, and holds no numbers with leading zeros."""
        return column not in self._categorical and not any(
            column in each.as_written for each in self._dialects.values()
        )

    def _not_utf8(self, path: str) -> FileFormatError:
        return FileFormatError(
            f"{path} is not {self._dialects[path].encoding} text throughout; name its encoding with ",
            Argument("csv", {"encoding": "latin-1"}),
        )

    def _column(self, path: str, number: int) -> str | None:
        return self._dialects[path].names[number] if path in self._dialects else None

    def _infer(self, path: str, block_bytes: int) -> pa.Schema:
        dialect, failed = _dialect(path, self._given), None
        try:
            schema = self._infer_as(path, block_bytes, dialect)
            changed = {f.name for f in schema if is_text(f.type) or pt.is_floating(f.type)}
        except pa.ArrowInvalid as error:
            failed, changed = error, set(self._numeric)
        # Whole numbers of which a later one has a sign: it may show another convention than the first rows.
        names = dialect.whole & changed - self._categorical
        blocks = [_first_lines(path, block_bytes, dialect), *map(pa.py_buffer, self._sampled)] if names else []
        late = with_late(dialect, blocks, names, self._given, path)
        if late != dialect:
            schema = self._infer_as(path, block_bytes, late)
        elif failed is not None:
            raise failed
        self._sampled = []
        dated = any(pt.is_temporal(f.type) for f in schema)
        _say(path, self._dialects[path] if dated else replace(self._dialects[path], date_formats=()))
        return schema

    def _infer_as(self, path: str, block_bytes: int, dialect: Dialect) -> pa.Schema:
        self._dialects[path], self._long, self._sampled = dialect, {}, []
        names = list(dialect.names)
        if len(set(names)) < len(names):
            return pa.schema([pa.field(name, pa.null()) for name in names])
        declared = dict.fromkeys(self._numeric, pa.float64())
        declared |= dict.fromkeys(dialect.grouped, pa.string())
        declared |= {name: pa.string() for name in dialect.as_written if name not in self._numeric}
        declared |= {name: pa.string() for name in names if name in self._categorical}
        first, dialect, kinds = self._first(path, block_bytes, dialect, declared)
        unread = {f.name for f in first.schema if is_text(f.type)} & dialect.typed - set(declared) - set(kinds)
        if unread and not dialect.quoted_missing and "empty" not in self._given:
            # Numbers and dates are text to the parser where a missing one is a quoted empty field.
            again = self._first(path, block_bytes, replace(dialect, quoted_missing=True), declared)
            before, after = (
                {f.name for f in r.schema if not is_text(f.type)} | set(k) for r, _, k in ((first, 0, kinds), again)
            )
            if before < after:
                first, dialect, kinds = again
        self._dialects[path] = dialect
        if any(pt.is_binary(f.type) for f in first.schema):
            raise self._not_utf8(path)
        schema = first.schema
        if first.num_rows:
            self._keep_long(first, lambda name, kind: _parses(path, block_bytes, dialect, {name: kind}))
            # A sample that begins inside a quoted value with line breaks would be misread, and one cut out of another
            # encoding than UTF-8 is not text.
            zeros = self._zeros(_first_lines(path, block_bytes, dialect), path, schema, declared)
            if dialect.encoding == "utf-8" and not first.line_breaks:
                self._sampled = list(sample_blocks(path))
                for block in self._sampled:
                    schema = widen(schema, self._infer_block(block, path, declared, kinds) or schema)
                    zeros |= self._zeros(pa.py_buffer(block), path, schema, declared, above=False)
            # Numbers of which one begins with a zero are codes, wherever it stands.
            schema = pa.schema([pa.field(f.name, pa.string()) if f.name in zeros else f for f in schema])
            self._long = {name: kind for name, kind in self._long.items() if name not in zeros}
            dialect = self._dialects[path]
            dialect = self._dialects[path] = replace(dialect, as_written=dialect.as_written | zeros)
            schema = pa.schema([pa.field(f.name, _text_type(f, first.head)) for f in schema])
        grouped = dialect.grouped - self._categorical
        fields = [pa.field(f.name, pa.float64()) if f.name in grouped else f for f in schema]
        return pa.schema([f for f in fields if f.name not in dialect.empty])

    def _open(self, path: str, schema: pa.Schema, block_bytes: int) -> Iterator[pa.RecordBatch]:
        dialect = self._dialects[path]
        types = {f.name: f.type for f in schema}
        unsure_floats = {name for name in dialect.unsure if pt.is_floating(types.get(name, pa.null()))}
        as_text = dialect.grouped | dialect.converted | unsure_floats
        turned = {name for name in as_text if not is_text(types.get(name, pa.string()))}
        # As numbers they would have lost the zeros they begin with. A code has no fraction: floats are not looked at.
        whole = [name for name, kind in types.items() if pt.is_integer(kind) and name not in {*turned, *self._numeric}]
        # A column that showed no value is read as one of none: whatever turns up in it after all is an error.
        read = types | dict.fromkeys([*turned, *whole], pa.string()) | dict.fromkeys(dialect.empty, pa.null())
        row = dialect.skipped + dialect.header
        with _open(path, dialect) as stream:
            for batch in open_rows(stream, block_bytes, dialect, read, include=list(read)):
                columns = []
                for name in schema.names:
                    column = batch.column(name)
                    if name in whole:
                        column = self._whole_numbers(column, types[name], name, path, row)
                    elif name in turned:
                        if name in dialect.unsure:
                            refuse_either(column, name, path, row)
                        if pt.is_integer(types[name]) and name not in self._numeric:
                            refuse_zeros(column, name, path, row)
                        groups = name in dialect.grouped or "thousands" in self._given
                        signs = {"decimal": dialect.decimal, "thousands": dialect.thousands * groups}
                        column = self._converted(
                            column, types[name], name, path, row, formats=dialect.date_formats, **signs
                        )
                    elif self._words and is_text(column.type):
                        column = texts_without(column, self._words)
                    columns.append(column)
                row += batch.num_rows
                yield pa.record_batch(columns, schema=schema)

    def _whole_numbers(self, column: pa.Array, kind: pa.DataType, name: str, path: str, row: int) -> pa.Array:
        """Return a column of whole numbers that was read as text, `row` rows into its file."""
        refuse_zeros(column, name, path, row)
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            plain = pc.utf8_trim_whitespace(column)
        try:
            return plain.cast(kind)
        except pa.ArrowInvalid as error:
            if name in self._dialects[path].unsure:
                refuse_either(plain, name, path, row)
            place = pc.index(plain, str(error).rpartition("string: '")[2].partition("' as a")[0]).as_py()
            # In the words of Arrow's own parser, which the rest of this module follows.
            at = f"In CSV column #{self._dialects[path].names.index(name)}: Row #{row + place + 1}"
            raise pa.ArrowInvalid(f"{at}: CSV conversion error to {kind}: invalid value '{column[place]}'") from error

    def _zeros(
        self, data: pa.Buffer, path: str, schema: pa.Schema, declared: Mapping[str, pa.DataType], *, above: bool = True
    ) -> set[str]:
        """Return the columns of whole numbers in some lines of a file of which one begins with a zero."""
        dialect, found = self._dialects[path], set()
        names = [f.name for f in schema if pt.is_integer(f.type) and f.name not in declared]
        if names and may_have_leading_zeros(data, dialect.delimiter):
            for batch in texts_of(dialect, data, names, above=above):
                found |= {name for name in names if leading_zero(batch.column(name)) is not None}
        return found

    def _first(
        self, path: str, block_bytes: int, dialect: Dialect, declared: dict[str, pa.DataType]
    ) -> tuple[FirstBlock, Dialect, dict[str, pa.DataType]]:
        """Return what the first block shows, how it is read, and the types of columns that are text to Arrow and are not."""
        kinds: dict[str, pa.DataType] = {}
        data = _first_bytes(path, block_bytes, dialect)
        while True:
            types = declared | dict.fromkeys(kinds, pa.string())
            try:
                first = first_block(partial(open_rows, dialect=dialect, types=types), data, block_bytes)
                break
            except pa.ArrowInvalid as error:
                match = CSV_VALUE.search(str(error))
                name = dialect.names[int(match[1])] if match else None
                # A column that is to be read as numbers, and has a word in it.
                if (
                    match is None
                    or name not in declared
                    or name in kinds
                    or without_words([match[4].strip()], self._words)
                ):
                    raise
                kinds[name] = declared[name]
        texts = {f.name for f in first.schema if is_text(f.type)} - set(declared)
        heads = {name: first.head.column(name).unique() for name in texts}
        likely = [name for name, head in heads.items() if self._may_be_typed(head, dialect)]
        # To Arrow NaN is a float, which makes floats of whole numbers.
        floats = {f.name for f in first.schema if pt.is_float64(f.type)} - set(declared)
        likely += [name for name in floats if pc.any(pc.is_nan(first.head.column(name))).as_py()]
        taken: dict[str, tuple[str, ...]] = {}
        spoilt: dict[str, tuple[str, ...]] = {}
        if likely or kinds:
            wanted = [*likely, *kinds]
            block: Any = _one_block(data, block_bytes, dialect, dict.fromkeys(wanted, pa.string()))
            for name in wanted if block is not None else ():
                values = block.column(name).unique()
                kind = kinds.get(name) or self._kind(values, dialect)
                if kind is not None:
                    kinds[name] = kind
                    taken |= {name: found} if (found := self._found(values)) else {}
                elif (why := spoiling_words(pa.chunked_array([block.column(name)]))) and why[0] == "dates":
                    spoilt[name] = tuple(why[2])
        clear = pa.array(CLEAR_WORDS.difference(self._words), pa.string())
        kept = {
            name: tuple(head.filter(pc.is_in(head, value_set=clear)).to_pylist())
            for name, head in heads.items()
            if name not in kinds
        }
        schema = pa.schema([pa.field(f.name, kinds.get(f.name, f.type)) for f in first.schema])
        dialect = replace(
            dialect,
            converted=frozenset(kinds),
            taken=taken,
            spoilt=spoilt,
            kept={name: found for name, found in kept.items() if found},
        )
        return replace(first, schema=schema), dialect, kinds

    def _may_be_typed(self, head: pa.Array, dialect: Dialect) -> bool:
        return may_be_typed(head, dialect.decimal, self._words, self._given.get("date_format"))

    def _kind(self, values: pa.Array, dialect: Dialect) -> pa.DataType | None:
        return kind_of_texts(
            values,
            words=self._words,
            formats=dialect.date_formats,
            decimal=dialect.decimal,
            empty=dialect.quoted_missing,
        )

    def _found(self, values: pa.Array) -> tuple[str, ...]:
        return tuple(sorted({v.strip() for v in values.to_pylist() if v} & WORDS.union(self._words)))

    def _adapted(self, path: str, message: str) -> bool:
        # A word among numbers that no sample showed: from here on their columns are read as text first. So are grouped digits.
        match, dialect = CSV_VALUE.search(message), self._dialects[path]
        every = frozenset(dialect.names)
        if match and (sign := grouping_sign(match[4].strip(), dialect.decimal)) and sign in dialect.thousands:
            name = dialect.names[int(match[1])]
            self._dialects[path] = replace(dialect, grouped=dialect.grouped | {name})
            return name not in dialect.grouped
        if match is None or without_words([match[4].strip()], self._words) or dialect.converted == every:
            return False
        self._dialects[path] = replace(dialect, converted=every)
        return True

    def _wrong_value(
        self, path: str, kind: str, value: str, column: str | None, *, row: str | None = None
    ) -> DataError:
        sign = grouping_sign(value.strip(), self._dialects[path].decimal) if path in self._dialects else ""
        if column is None or not sign:
            return super()._wrong_value(path, kind, value, column, row=row)
        return DataError(
            f"column {column!r} of {path} holds {value!r}{f' in row {row}' if row else ''}, a number with grouped digits, and "
            "numbers without before it; read them with ",
            Argument("csv", {"thousands": sign[0]}),
        )

    def _infer_block(
        self, block: bytes, path: str, declared: dict[str, pa.DataType], kinds: dict[str, pa.DataType]
    ) -> pa.Schema | None:
        """Return the types of a block from further on in a file, None where it cannot be read."""
        dialect = self._dialects[path]
        types = {name: kind for name, kind in declared.items() if name not in kinds} | dict.fromkeys(kinds, pa.string())
        try:
            table = open_rows(io.BytesIO(block), len(block) + 1, dialect, types, above=False).read_all()
        except pa.ArrowInvalid:
            # The first block decides; whatever is wrong here is reported with its row when the row is reached.
            return None
        found = {}
        for f in table.schema:
            if not is_text(f.type) or f.name in types.keys() - kinds.keys():
                continue
            values = table.column(f.name).unique()
            if self._may_be_typed(values, dialect):
                found[f.name] = self._kind(values, dialect) or f.type
        more = frozenset(name for name, kind in found.items() if not is_text(kind))
        self._dialects[path] = replace(dialect, converted=dialect.converted | more)
        return pa.schema([pa.field(f.name, found.get(f.name, f.type)) for f in table.schema])


def _dialect(path: str, given: Mapping[str, Any]) -> Dialect:
    with open_text(path) as stream:
        sample, whole = _sample(stream)
    tabs = split_suffix(path)[0] == ".tsv"
    dialect = sniff(sample, path, whole=whole, given=given, tabs=tabs)
    if not dialect.names:
        raise FileFormatError(f"{path} has no header row")
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


def _first_bytes(path: str, block_bytes: int, dialect: Dialect) -> pa.Buffer:
    """Return the first block of a file and the beginning of the next."""
    with _open(path, dialect) as stream:
        return first_bytes(stream, block_bytes)


def _one_block(
    data: pa.Buffer, block_bytes: int, dialect: Dialect, types: dict[str, pa.DataType]
) -> pa.RecordBatch | None:
    """Return some columns of the lines that end in the first block of a file."""
    return next(iter(open_rows(pa.BufferReader(data), block_bytes, dialect, types, include=list(types))), None)


def _first_lines(path: str, block_bytes: int, dialect: Dialect) -> pa.Buffer:
    """Return the lines that end in the first block of a file, or a little after it."""
    data = _first_bytes(path, block_bytes, dialect)
    if data.size <= block_bytes:
        return data
    return data.slice(0, data.to_pybytes().rfind(b"\n") + 1)


def _open(path: str, dialect: Dialect) -> pa.NativeFile:
    stream = open_text(path)
    # Arrow reads UTF-8, and leaves out its mark by itself.
    if dialect.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
        return stream
    return pa.transcoding_input_stream(stream, dialect.encoding, "utf-8")


def _parses(path: str, block_bytes: int, dialect: Dialect, types: dict[str, pa.DataType]) -> bool:
    """Whether the first block of a file can be read with these types."""
    try:
        return _one_block(_first_bytes(path, block_bytes, dialect), block_bytes, dialect, types) is not None
    except pa.ArrowInvalid:
        return False


def _text_type(field: pa.Field, head: pa.Table) -> pa.DataType:
    if not is_text(field.type):
        return field.type
    values = head.column(field.name)
    mostly_distinct = len(values) > 1000 and 2 * pc.count_distinct(values).as_py() > len(values)
    return pa.string() if mostly_distinct else pa.dictionary(pa.int32(), pa.string())
