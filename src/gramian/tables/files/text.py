"""What CSV and JSON lines share: types that only the text shows, looked for before the rows are read.

Arrow infers the types of a text file from its first block and fails later where they do not hold. Here the
first block is large, and blocks from the middle and the end of an uncompressed file are looked at as well;
then all files are read with the types that hold in all of them.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gramian.errors import Argument, DataError, FileFormatError, type_words
from gramian.tables.base import iterate_ahead
from gramian.tables.files.conventions import UnreadableError, leading_zero, values_of_texts
from gramian.tables.files.file_table import FileTable, Rows
from gramian.tables.files.paths import split_suffix
from gramian.tables.files.remote import is_remote, look_at, open_file, open_stream
from gramian.tables.schemas import as_numbers, common_type, is_text, one_line, reading

#: Bytes from the beginning of a file in which types are looked for: about 100,000 rows of a dozen columns. No line is longer.
BLOCK_BYTES = 16 * 2**20
#: Bytes looked at in the later files of a call and in the middle and at the end of each.
SAMPLE_BYTES = 2**20
#: Bytes of the blocks in which rows are read, where nothing asks for smaller ones. Parsing costs the same from 256 kB to
#: 16 MB, and Arrow holds up to 32 blocks of text ahead of the one it parses, whatever it is asked for.
READ_BYTES = 2 * 2**20
_LEAST_READ_BYTES = 2**16
#: Bytes of the pieces in which the first block is looked at. Three of them are there as columns at a time, which may take five
#: times their text; and a type that the first of them does not show has the whole block read at once.
LOOKED_BYTES = 2**20
#: Rows of the first block that are kept, for whoever counts what is distinct in them.
COUNTED_ROWS = 50_000

CSV_VALUE = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (.+?): invalid value '(.*)'")
_CSV_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
_TOO_LONG = re.compile(r"straddling object|Could not skip initial")
_JSON_VALUE = re.compile(r"Failed to convert JSON to (.+?), couldn't parse: ?(.*)")
JSON_CHANGE = re.compile(r"Column\(/(.+?)\) changed from (\S+) to (\S+)")


class TextTable(FileTable):
    """Files of one text format, each read by one sequential reader a few blocks ahead."""

    format_name: str
    _as_written = False
    """Whether any column can be read as text."""

    def _schemas(self, paths: list[str]) -> list[pa.Schema]:
        schemas = []
        for i, path in enumerate(paths):
            with self._reading(path):
                self._long: dict[str, pa.DataType] = {}
                schema = self._infer(path, BLOCK_BYTES if i == 0 else SAMPLE_BYTES)
                kept = pa.schema([pa.field(f.name, self._long.get(f.name, f.type)) for f in schema])
                schemas.append(as_numbers(kept, set(self._numeric) - set(self._long)))
        # What the first block took would stay with the process, and what is read later come on top.
        pa.default_memory_pool().release_unused()
        return schemas

    def _keep_long(self, first: FirstBlock, parses: Callable[[str, pa.DataType], bool]) -> None:
        """Note the columns that hold whole numbers beyond 2^53, which floats would round.

        Parameters
        ----------
        first : FirstBlock
            Of a file, with the types that Arrow infers.
        parses : callable
            Whether the text of a column in that block can be read as another type.
        """
        for name, largest in first.largest.items():
            # As a float 2^53 + 1 is 2^53.
            if largest >= 2.0**53:
                known = first.schema.field(name).type
                kinds = [kind for kind in (pa.int64(), pa.uint64()) if known == kind or parses(name, kind)]
                self._long |= {name: kinds[0]} if kinds else {}

    @property
    def _block_bytes(self) -> int:
        """Bytes of text that are read at a time, unless a line is longer."""
        # Of these 32 wait as text, and a few as columns.
        return READ_BYTES if self.read_bytes is None else max(_LEAST_READ_BYTES, min(READ_BYTES, self.read_bytes // 4))

    @abstractmethod
    def _infer(self, path: str, block_bytes: int) -> pa.Schema:
        """Return names and types of one file."""

    @abstractmethod
    def _open(self, path: str, schema: pa.Schema, block_bytes: int) -> Iterator[pa.RecordBatch]:
        """Return a sequential reader of the columns of `schema` with these types, so many bytes of text at a time."""

    def _read_files(self, schema: pa.Schema, first: int, skip: int) -> Rows:
        return iterate_ahead(self._blocks(schema, first))

    def _blocks(self, schema: pa.Schema, first: int) -> Rows:
        for index, path in enumerate(self.files[first:], start=first):
            row = 0
            with self._reading(path):
                for batch in self._batches(path, schema):
                    yield index, row, batch
                    row += batch.num_rows

    def _batches(self, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file, in larger blocks from the first line on that is too long for one.

        What was read before is read again and left out; so it is where a value needs another way of reading.
        """
        block_bytes, done = self._block_bytes, 0
        while True:
            row = 0
            try:
                for batch in self._open(path, schema, block_bytes):
                    row += batch.num_rows
                    if row > done:
                        yield batch.slice(max(0, batch.num_rows - (row - done)))
                        done = row
                    del batch
                return
            except pa.ArrowInvalid as error:
                if self._adapted(path, str(error)):
                    continue
                if block_bytes >= BLOCK_BYTES or not _TOO_LONG.search(str(error)):
                    raise
            block_bytes = min(BLOCK_BYTES, 8 * block_bytes)

    def _adapted(self, path: str, message: str) -> bool:
        """Whether a file can be read in another way where Arrow could not read a value."""
        return False

    def _converted(
        self, column: pa.Array, kind: pa.DataType, name: str, path: str, row: int, **written: Any
    ) -> pa.Array:
        """Return a column that was read as text, `row` rows into its file, as what it holds."""
        try:
            return values_of_texts(column, kind, words=self._words, **written)
        except UnreadableError as error:
            value = str(error)
            place = pc.index(pc.utf8_trim_whitespace(column), value).as_py()
            raise DataError(
                f"column {name!r} of {path} holds {value!r}{f' in row {row + place + 1}' if place >= 0 else ''} among "
                f"{'dates' if pt.is_temporal(kind) else 'numbers' if not pt.is_null(kind) else 'missing values'}; "
                "leave it out with ",
                Argument("exclude", [name]),
                *((", or read it as text with ", Argument("categorical", [name])) if self._as_written else ()),
            ) from error

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        with reading(path, self.format_name):
            try:
                yield
            except UnicodeError as error:
                raise self._not_utf8(path) from error
            except pa.ArrowInvalid as error:
                raise self._explain(path, one_line(error)) from error

    def _not_utf8(self, path: str) -> FileFormatError:
        """Return the error for text in another encoding."""
        return not_utf8(path)

    def _explain(self, path: str, message: str) -> DataError:
        """Return the error that names file, column, value and next step where Arrow's message holds them."""
        if "UTF8" in message:
            return self._not_utf8(path)
        if match := CSV_VALUE.search(message):
            column = self._column(path, int(match[1]))
            return self._wrong_value(path, match[3], match[4], column, row=match[2])
        if match := _JSON_VALUE.search(message):
            return self._wrong_value(path, match[1], match[2], None)
        if match := JSON_CHANGE.search(message):
            name = match[1]
            return DataError(
                f"column {name!r} of {path} holds a {match[3]} after values of type {match[2]}; write it with "
                "one type, leave it out with ",
                Argument("exclude", [name]),
                ", or name a word that is a missing value, such as ",
                Argument("csv", {"na": ["unknown"]}),
            )
        if match := _CSV_RAGGED.search(message):
            row = f"row {match[1]}" if match[1] else "a row"
            return FileFormatError(
                f"{path}: {row} has {match[3]} fields where the header has {match[2]}; repair or remove it"
            )
        return FileFormatError(f"{path} cannot be read as {self.format_name}: {message}")

    def _column(self, path: str, number: int) -> str | None:
        """Return the name of a column that Arrow's message only numbers."""
        return None

    def _wrong_value(
        self, path: str, kind: str, value: str, column: str | None, *, row: str | None = None
    ) -> DataError:
        among = ""
        if column is None:
            # Arrow does not say which: all columns of that type are candidates.
            known = getattr(self, "_file_schema", None)
            names = [f.name for f in known if str(f.type) == kind] if known else self._numeric
            column = names[0] if len(names) == 1 else None
            among = f" (one of {', '.join(map(repr, names[:8]))})" if len(names) > 1 else ""
        where = f"column {column!r}" if column is not None else f"a column{among}"
        named = (lambda name: Argument(name, [column])) if column is not None else Argument
        # Only a number can be rescued by reading the column as numbers.
        step = ("pass ", named("numeric"), ", or ") if _is_number(value) else ()
        return DataError(
            f"{where} of {path} holds {value!r}{f' in row {row}' if row else ''} where {type_words(kind)} were expected; ",
            *step,
            "leave it out with ",
            named("exclude"),
        )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def refuse_zeros(column: pa.Array, name: str, path: str, row: int) -> None:
    """Raise where a number in a column of texts, `row` rows into its file, begins with a zero that no sample showed."""
    place = leading_zero(column)
    if place is not None:
        raise DataError(
            f"column {name!r} of {path} holds {column[place]} in row {row + place + 1}, a number with a leading zero, and "
            "numbers without before it; read it as text with ",
            Argument("categorical", [name]),
            ", or as numbers with ",
            Argument("numeric", [name]),
        )


def not_utf8(path: str) -> FileFormatError:
    """Return the error for text in another encoding."""
    return FileFormatError(f"{path} is not UTF-8 text; convert it to UTF-8 first (it may be latin-1 or UTF-16)")


def open_text(path: str) -> pa.NativeFile:
    """Open `path` for reading, decompressed; gzip is known by its first bytes, others by their suffix."""
    away = is_remote(path)
    with open_stream(path) if away else open(path, "rb") as file:
        head = file.read(4)
    if head == b"PAR1":
        raise FileFormatError(f"{path} is a Parquet file; rename it to .parquet")
    compression = "gzip" if head[:2] == b"\x1f\x8b" else split_suffix(path)[1]
    if compression == "gzip" and head[:2] != b"\x1f\x8b":
        raise FileFormatError(f"{path} is not gzip-compressed, as its suffix says; rename it")
    return open_stream(path, compression) if away else pa.input_stream(path, compression=compression)


def first_bytes(stream: pa.NativeFile, block_bytes: int) -> pa.Buffer:
    """Return the first block of a file and the beginning of the next: what follows, Arrow would read ahead and nobody uses."""
    return stream.read_buffer(block_bytes + min(block_bytes, SAMPLE_BYTES))


@dataclass(frozen=True)
class FirstBlock:
    """What the lines that end in the first block of a file show, without the values: as columns they may take five times it.

    Attributes
    ----------
    schema : Schema
        The types that Arrow infers from them.
    num_rows : int
    head : Table
        The first rows, `COUNTED_ROWS` of them.
    largest : dict of float
        The largest magnitude in each column of integers or floats that holds any.
    line_breaks : bool
        Whether a text holds one.
    """

    schema: pa.Schema
    num_rows: int
    head: pa.Table
    largest: dict[str, float]
    line_breaks: bool

    @classmethod
    def of(cls, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> FirstBlock:
        """Return what some batches of these types show, each let go before the next is read."""
        wide = [f.name for f in schema if pt.is_float64(f.type) or pt.is_int64(f.type)]
        text = [f.name for f in schema if is_text(f.type)]
        n_rows, line_breaks = 0, False
        head: list[pa.RecordBatch] = []
        largest: dict[str, float] = {}
        for batch in batches:
            if n_rows < COUNTED_ROWS:
                head.append(batch.slice(0, COUNTED_ROWS - n_rows))
            n_rows += batch.num_rows
            for name in wide:
                most = pc.max(pc.abs(batch.column(name).cast(pa.float64(), safe=False))).as_py()
                if most is not None:
                    largest[name] = max(most, largest.get(name, 0.0))
            columns = (batch.column(name) for name in text)
            broken = (pt.is_string(c.type) and pc.any(pc.match_substring(c, "\n")).as_py() for c in columns)
            line_breaks = line_breaks or any(broken)
            del batch
        return cls(schema, n_rows, pa.Table.from_batches(head, schema), largest, line_breaks)


def first_block(
    open_reader: Callable[[pa.NativeFile, int], pa.RecordBatchReader], data: pa.Buffer, block_bytes: int
) -> FirstBlock:
    """Return what the lines that end in the first block of a file show, with the types that Arrow infers from them.

    Arrow infers the first kind, in a fixed order, that all values of a block can be read as, and reads what follows as that. So
    where everything can be read with the types of a smaller block, these are the types of the whole, and the memory of one
    large block is saved. Where something cannot, the block is read at once.

    Parameters
    ----------
    open_reader : callable
        Gives a reader of a stream by blocks of so many bytes.
    data : Buffer
        The block, and the beginning of the next.
    block_bytes : int
        Bytes of the block.
    """
    if block_bytes > LOOKED_BYTES:
        try:
            reader = open_reader(pa.BufferReader(data), LOOKED_BYTES)
            return FirstBlock.of(reader.schema, islice(reader, block_bytes // LOOKED_BYTES))
        except pa.ArrowInvalid:
            pass
    reader = open_reader(pa.BufferReader(data), block_bytes)
    return FirstBlock.of(reader.schema, islice(reader, 1))


def sample_blocks(path: str) -> Iterator[bytes]:
    """Yield whole lines from the middle and the end of an uncompressed file larger than one block."""
    if split_suffix(path)[1] is not None:
        return
    size = look_at(path).size if is_remote(path) else os.path.getsize(path)
    if size is None or size <= BLOCK_BYTES:
        return
    with open_file(path) as file:
        if file.read(2) == b"\x1f\x8b":
            return
        for start in (size // 2, size * 3 // 4, size - SAMPLE_BYTES):
            file.seek(start)
            lines = file.read(SAMPLE_BYTES)
            first, last = lines.find(b"\n") + 1, lines.rfind(b"\n") + 1
            if 0 < first < last:
                yield lines[first:last]


def widen(first: pa.Schema, other: pa.Schema) -> pa.Schema:
    """Return the types of `first` widened to what a later block of the file shows: days to times, anything to text."""
    fields = []
    for f in first:
        place = other.get_field_index(f.name)
        merged = f.type if place < 0 else common_type(f.type, other.field(place).type)
        if merged is None and pt.is_date(f.type) and pt.is_timestamp(other.field(place).type):
            merged = other.field(place).type
        elif merged is None and pt.is_timestamp(f.type) and pt.is_date(other.field(place).type):
            merged = f.type
        if merged is None:
            merged = f.type if pt.is_nested(f.type) else pa.string()
        fields.append(pa.field(f.name, merged))
    return pa.schema(fields)
