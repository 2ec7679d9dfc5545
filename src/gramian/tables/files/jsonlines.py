"""JSON lines: one object a line, a missing key is a null.

Names and types come from the first block and from samples further on. A key that first appears beyond them
raises where all columns are read; where columns were chosen, it was not among them and is passed over.

Arrow's parser calls itself for every level of nesting, and ends the process where the stack does (20,000 levels). So the text
is looked at before it is parsed (`Shallow`), at about a nanosecond a byte where parsing takes ten. And every key is a column
of every line, so that a table has the square of as many cells where each line has a key of its own. So keys are counted before
the first block is parsed (`keys_and_lines`).

Dates are texts in JSON, and Arrow takes whole seconds alone for dates, days for midnights. So columns that look like dates are
read as text and made dates here. A word such as "NA" among numbers is made a null in the text, before it is parsed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from json import dumps as json_text
from json import loads as parsed_text
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as json
import pyarrow.types as pt
from numba import njit, types

from gramian.compiling import kernel
from gramian.errors import Argument, DataError, FileFormatError, NoRowsError, PythonOnly
from gramian.tables.files.conventions import WORDS, checked_words, kind_of_texts, texts_without, without_words
from gramian.tables.files.text import (
    BLOCK_BYTES,
    JSON_CHANGE,
    FirstBlock,
    TextTable,
    first_block,
    first_bytes,
    not_utf8,
    open_text,
    sample_blocks,
    widen,
)
from gramian.tables.schemas import is_text

MOST_LEVELS = 256
"""Nesting that is read."""

FEW_KEYS = 4096
"""Keys that are columns, however many lines there are."""

_COUNTED_KEYS = 2**17

MOST_CELLS = 2**29
"""Cells of lines and keys together that a block may have beyond that: Arrow takes half a minute to fill them with nulls."""


_LOG = logging.getLogger("gramian")

_text = types.Array(types.uint8, 1, "C", readonly=True)


@njit(nogil=True, error_model="numpy")
def _after(letter, depth, inside):  # type: ignore[no-untyped-def]
    """Return how deep brackets are nested after one more letter, and whether it is in a string: 1, or 2 behind a backslash.

    A string ends with its line, as for a parser, which refuses the file there; so no quote can hide brackets.
    """
    if inside == 2:
        return depth, 1
    if inside == 1:
        if letter == 92:
            return depth, 2
        return depth, 0 if letter == 34 or letter == 10 else 1
    if letter == 34:
        return depth, 1
    if letter == 91 or letter == 123:
        return depth + 1, 0
    if (letter == 93 or letter == 125) and depth > 0:
        return depth - 1, 0
    return depth, 0


@kernel(types.int64(_text, types.int64[::1]))
def deepest(text, state):  # type: ignore[no-untyped-def]
    """Return the deepest nesting of brackets; `state`, depth and whether it is in a string, goes on to what follows."""
    depth, inside = state[0], state[1]
    most = depth
    for letter in text:
        depth, inside = _after(letter, depth, inside)
        most = max(most, depth)
    state[0], state[1] = depth, inside
    return most


@kernel(types.UniTuple(types.int64, 2)(_text, types.int64))
def keys_and_lines(text, most):  # type: ignore[no-untyped-def]
    """Return the different keys of the objects that lines hold, at most so many, and the lines."""
    room = 1
    while room < 4 * most:
        room *= 2
    slots, mask = np.zeros(room, np.uint64), np.uint64(room - 1)
    depth, inside, lines, keys = 0, 0, 0, 0
    name = np.uint64(0)
    for letter in text:
        before = inside
        depth, inside = _after(letter, depth, inside)
        if letter == 10:
            lines += 1
        elif before and inside:
            # A hash of 64 bits (FNV-1a) stands for the key; 0 is an empty slot.
            name = (name ^ np.uint64(letter)) * np.uint64(0x100000001B3)
        elif inside:
            name = np.uint64(0xCBF29CE484222325)
        elif letter == 58 and depth == 1 and keys < most:
            slot = (name ^ (name >> np.uint64(32))) & mask
            while slots[slot] and slots[slot] != name:
                slot = (slot + np.uint64(1)) & mask
            if slots[slot] == 0:
                slots[slot] = name
                keys += 1
    if text.size and text[-1] != 10:
        lines += 1
    return keys, lines


class Shallow:
    """Looks at text, piece after piece, before it is parsed: brackets too deep are refused.

    Examples
    --------
    >>> Shallow().check(b'{"a": "[[["}')
    b'{"a": "[[["}'
    >>> Shallow().check(b"[" * 1000)
    Traceback (most recent call last):
    pyarrow.lib.ArrowInvalid: a line nests its values 1000 levels deep, and 256 are read
    """

    def __init__(self) -> None:
        self._state = np.zeros(2, dtype=np.int64)

    def check(self, text: Any) -> Any:
        """Return the text that follows what was looked at before."""
        if (levels := deepest(np.frombuffer(text, dtype=np.uint8), self._state)) > MOST_LEVELS:
            raise pa.ArrowInvalid(f"a line nests its values {levels} levels deep, and {MOST_LEVELS} are read")
        return text


class JsonLinesTable(TextTable):
    """One or more JSON-lines files."""

    format_name = "JSON lines"
    _known_by_path = ("_rows", "_worded")
    _worded: dict[str, frozenset[str]]

    def _checked(self, csv: Mapping[str, Any]) -> dict[str, Any]:
        return {"na": words} if (words := checked_words(csv.get("na"))) else {}

    def _infer(self, path: str, block_bytes: int) -> pa.Schema:
        with open_text(path) as stream:
            if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                raise not_utf8(path)
        with open_text(path) as stream:
            data = first_bytes(stream, block_bytes)
        first, text = self._look(path, data, block_bytes)
        schema = first.schema
        self._keep_long(first, lambda name, kind: _parses(text, block_bytes, name, kind))
        for block in sample_blocks(path):
            later = self._look(path, block, len(block) + 1)[0].schema
            known = set(schema.names)
            new = [f for f in later if f.name not in known]
            schema = pa.schema([*widen(schema, later), *new])
        return schema

    def _look(self, path: str, data: pa.Buffer | bytes, block_bytes: int) -> tuple[FirstBlock, pa.Buffer | bytes]:
        """Return what a block shows, and its text with words among numbers as nulls."""
        _refuse_scattered(path, data)
        Shallow().check(data)
        text = self._mended(path, data)
        while True:
            try:
                first = first_block(lambda stream, n: _reader(stream, n, None, "infer"), text, block_bytes)
                break
            except pa.ArrowInvalid as error:
                if not JSON_CHANGE.search(str(error)):
                    raise _not_lines(path, error) from error
                worded, whole = self._worded.get(path, frozenset()), bytes(data)
                found = _words_among_numbers(whole, self._words)
                if found.keys() <= worded:
                    raise
                self._worded[path] = worded.union(found)
                text = self._mended(path, whole)
                if taken := sorted(set().union(*found.values()).difference(self._words)):
                    names = ", ".join(map(repr, found))
                    _LOG.info("%s: %s taken as missing in %s", path, ", ".join(map(repr, taken)), names)
        likely = [f.name for f in first.schema if pt.is_timestamp(f.type) or self._may_be_dates(first.head, f)]
        if not likely:
            return first, text
        strings = pa.schema([(name, pa.string()) for name in likely])
        block: pa.RecordBatch = next(iter(_reader(pa.BufferReader(text), block_bytes, strings, "ignore")), None)
        kinds = {}
        for name in likely if block is not None else ():
            # A number in quotes is a text, as it was written.
            kind = kind_of_texts(block.column(name).unique(), words=self._words)
            known = first.schema.field(name).type
            typed = kind is not None and (pt.is_null(kind) or pt.is_date(kind) or pt.is_timestamp(kind))
            kinds[name] = kind if typed else pa.string() if pt.is_timestamp(known) else known
        schema = pa.schema([pa.field(f.name, kinds.get(f.name, f.type)) for f in first.schema])
        return replace(first, schema=schema), text

    def _may_be_dates(self, head: pa.Table, field: pa.Field) -> bool:
        """Whether the first texts of a column look like dates, but for words that stand for a missing value."""
        if not is_text(field.type):
            return False
        some = [value.strip() for value in head.column(field.name).unique().slice(0, 1000).to_pylist() if value]
        return all(_ISO.match(value) for value in without_words(some, self._words))

    def _mended(self, path: str, text: Any) -> Any:
        """Return text in which words among numbers are nulls."""
        names = self._worded.get(path)
        return text if not names else _word_of(names, self._words).sub(rb"\1null", bytes(text))

    def _open(self, path: str, schema: pa.Schema, block_bytes: int) -> Iterator[pa.RecordBatch]:
        everything = len(schema) == len(self._file_schema)
        types = {f.name: f.type for f in schema}
        turned = {name for name, kind in types.items() if pt.is_timestamp(kind) or pt.is_date(kind) or pt.is_null(kind)}
        read = pa.schema([(name, pa.string() if name in turned else kind) for name, kind in types.items()])
        row = 0
        with open_text(path) as stream:
            try:
                for batch in self._parsed(path, stream, block_bytes, read, "error" if everything else "ignore"):
                    columns = []
                    for name in schema.names:
                        column = batch.column(name)
                        # Arrow's JSON reader lets bytes through that are not UTF-8; they would fail far from
                        # here.
                        if is_text(column.type):
                            column.validate(full=True)
                        if name in turned:
                            column = self._converted(column, types[name], name, path, row)
                        elif self._words and is_text(column.type):
                            column = texts_without(column, self._words)
                        columns.append(column)
                    row += batch.num_rows
                    yield pa.record_batch(columns, schema=schema)
            except pa.ArrowInvalid as error:
                if "unexpected field" not in str(error):
                    raise
                raise DataError(
                    f"{path} has a key beyond its first {BLOCK_BYTES >> 20} MB that no earlier row has; ",
                    PythonOnly("choose others with ", Argument("columns"), ", or "),
                    "write every key in the first row",
                ) from error

    def _parsed(
        self, path: str, stream: pa.NativeFile, block_bytes: int, schema: pa.Schema, unexpected: str
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a stream, block by block: whole lines, looked at and then parsed.

        A reader of Arrow's own that is given a stream of Python reads it ahead in threads of its own, and ends the process
        where that ends while they do.
        """
        shallow = Shallow()
        numbers = frozenset(f.name for f in schema if not is_text(f.type) and not pt.is_nested(f.type))
        for lines in _whole_lines(stream, block_bytes):
            shallow.check(lines)
            try:
                table = _table(self._mended(path, lines), schema, unexpected)
            except pa.ArrowInvalid as error:
                if not JSON_CHANGE.search(str(error)) or self._worded.get(path, frozenset()) >= numbers:
                    raise
                # A word among numbers that no sample showed.
                self._worded[path] = self._worded.get(path, frozenset()) | numbers
                table = _table(self._mended(path, lines), schema, unexpected)
            yield from table.to_batches()


_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


def _word_of(names: Iterable[str], words: Iterable[str]) -> re.Pattern[bytes]:
    """Return what finds a word as the value of one of these keys: up to the word, then the word."""
    keys = {json_text(name, ensure_ascii=escaped) for name in names for escaped in (True, False)}
    return re.compile(b"(%s\\s*:\\s*)%s" % (_either(keys), _either(map(json_text, WORDS.union(words)))))


def _either(texts: Iterable[str]) -> bytes:
    # A slash may be written behind a backslash.
    return b"(?:%s)" % b"|".join(re.escape(text).replace("/", r"\\?/").encode() for text in sorted(texts))


def _words_among_numbers(text: bytes, words: Iterable[str]) -> dict[str, set[str]]:
    """Return the keys whose values are words and otherwise numbers, true or false, with the words."""
    key = rb'("(?:[^"\\]|\\.){1,500}+")\s*:\s*'
    found = set(re.findall(b"%s(%s)" % (key, _either(map(json_text, WORDS.union(words)))), text))
    others = set(re.findall(key + b"[-0-9tf]", text)) if found else set()
    out: dict[str, set[str]] = {}
    for name, word in sorted(found):
        if name in others:
            with suppress(ValueError):
                out.setdefault(str(parsed_text(name)), set()).add(str(parsed_text(word)))
    return out


def _refuse_scattered(path: str, data: pa.Buffer | bytes) -> None:
    """Raise where the lines of a block have so many keys, most of them in few lines, that a table of them is mostly nulls."""
    keys, lines = keys_and_lines(np.frombuffer(data, dtype=np.uint8), _COUNTED_KEYS)
    if keys > FEW_KEYS and keys * lines > MOST_CELLS:
        raise DataError(
            f"{path} has {keys:,} different keys in {lines:,} lines, and each is a column of all of them; write what "
            "differs from line to line as values: one key for the name, one for the value"
        )


def _options(block_bytes: int, schema: pa.Schema | None, unexpected: str) -> dict[str, Any]:
    return {
        "read_options": json.ReadOptions(block_size=block_bytes, use_threads=False),
        "parse_options": json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
    }


def _reader(stream: Any, block_bytes: int, schema: pa.Schema | None, unexpected: str) -> json.JSONStreamingReader:
    return json.open_json(stream, **_options(block_bytes, schema, unexpected))


def _table(lines: bytes, schema: pa.Schema, unexpected: str) -> pa.Table:
    try:
        return json.read_json(pa.BufferReader(lines), **_options(len(lines) + 1, schema, unexpected))
    except pa.ArrowInvalid as error:
        # Nothing but empty lines.
        if "Empty JSON" not in str(error):
            raise
        return schema.empty_table()


def _whole_lines(stream: pa.NativeFile, block_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a stream, as many at a time as end within so many bytes."""
    begun = b""
    while piece := stream.read(block_bytes - len(begun)):
        end = piece.rfind(b"\n") + 1
        if end:
            yield begun + piece[:end]
            begun = piece[end:]
        else:
            begun += piece
        if len(begun) >= block_bytes:
            # In Arrow's words, by which whoever reads tries longer blocks.
            raise pa.ArrowInvalid("straddling object straddles two block boundaries (try to increase block size?)")
    if begun:
        yield begun


def _parses(text: pa.Buffer | bytes, block_bytes: int, name: str, kind: pa.DataType) -> bool:
    """Whether a column of the first block of a file can be read as a type."""
    try:
        first = pa.BufferReader(text)
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
