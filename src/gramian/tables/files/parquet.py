"""Parquet files: the sizes of their columns from the footer, then rows, with text kept as dictionary codes.

The sizes of column chunks, read off the footer of a Parquet file by a loop of our own.

pyarrow offers them one chunk at a time, and builds each with everything that the footer says of it. Where one of those
statements contradicts another (a histogram of levels that has more entries than there are levels), that throws a C++ exception
which pyarrow does not catch, and the process ends. Reading the rows is not harmed: there the same exception is an error like
any other. So the few numbers that are wanted before rows are read are taken from the bytes; of 400 columns that is 35 times as
quick, too.

The footer is a struct in Thrift's compact protocol: a field is a byte with its type and the distance of its number from the
last one, integers are variable in length (zigzag), a struct ends with a zero byte, a list begins with its length and the type
of its entries. All fields but those wanted are passed over, whatever they are:

    FileMetaData.4 row_groups: RowGroup.1 columns: ColumnChunk.3 meta_data: ColumnMetaData
    .2 encodings  .5 num_values  .6 total_uncompressed_size  .7 total_compressed_size
    .9 data_page_offset  .11 dictionary_page_offset

Parquet files, with text kept as the codes of their dictionary pages.

A row group is decoded at a time, up to two ahead of its use, columns in parallel by Arrow's threads; small
groups are joined and large ones read in steps, so that memory follows neither the number of files nor how they
were written. On 5,000,000 rows of ten text columns (2 to 500 levels) and two floats, in units of reading the whole
file into one table with dictionaries:

======================================================== =========
row groups one by one, bare                                    1.1
`iter_batches`, threads on / off                     1.1-1.3 / 2.0
dataset scanner, by batch size and readahead               1.0-1.6
text as plain strings                                          6.3
this module, against the bare loop over row groups       1.03-1.08
======================================================== =========

All that use threads are alike; row groups are chosen because slices of one share one dictionary in memory,
where every batch of `iter_batches` brings a dictionary of its own (39 of 39; equal ones are made the same), and
because what is in flight is three units and no more: the same file listed 1, 20 and 60 times allocates 65, 80 and
78 MB at the peak. Joining groups of 250,000 rows adds 0.3 to 1.5 of what reading them takes, by how dear fresh
memory is at the time.

**Text that does not fit its dictionary page** (200,000 levels: the writer falls back to plain text) takes 2.9
times as long to read as codes as it does to read as strings, and 1.1 times as long as strings encoded
afterwards; 8,000 levels that do fit take 0.2 and 0.12. The footer does not say which pages overflowed, but a
code has at most four bytes: a column with more bytes a value, outside its dictionary page, is read as strings.

A sample of rows comes from a few row groups: a row group can be entered only at its beginning, so stretches begin there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from copy import copy
from functools import partial
from itertools import groupby, pairwise
from threading import Event
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt
from pyarrow.fs import LocalFileSystem

from gramian.compiling import Inlined, kernel
from gramian.errors import FileFormatError
from gramian.tables.base import ArrowTable, View, decoded, decoded_schema, run_ahead
from gramian.tables.files.file_table import FileTable, Rows
from gramian.tables.files.paths import Files
from gramian.tables.files.remote import is_remote, open_file, readable
from gramian.tables.schemas import cast_array, check_indices, conform, is_text, plain_schema, reading, subset

_MAGIC = b"PAR1"
_DEPTH = 64
#: Bytes of footers that are walked before the loop is compiled: on a new machine that takes a second, and these some ms.
_PLAIN_BYTES_WALKED = 2**14
_walked = 0

# What a list or a struct on the way down to a column chunk is; everything else is passed over.
_OTHER, _FILE, _GROUPS, _GROUP, _CHUNKS, _CHUNK, _CONTENT, _ENCODINGS = range(8)
#: What lies in each of them, by the number of a field, 0 for the entries of a list.
_INSIDE = np.zeros((8, 16), dtype=np.int64)
_INSIDE[_FILE, 4], _INSIDE[_GROUPS, 0], _INSIDE[_GROUP, 1] = _GROUPS, _GROUP, _CHUNKS
_INSIDE[_CHUNKS, 0], _INSIDE[_CHUNK, 3], _INSIDE[_CONTENT, 2] = _CHUNK, _CONTENT, _ENCODINGS
#: Where the numbers of a column chunk are written, by the number of a field; those that are not wanted behind all others.
_PLACES = np.full(16, 6)
_PLACES[[5, 6, 7, 9, 11]] = 0, 1, 2, 3, 5


class ChunkSizes(NamedTuple):
    """Numbers of every column chunk, row groups down and leaf columns across.

    Attributes
    ----------
    values : int array
        Values in a chunk, nulls included.
    decompressed, compressed : int array
        Bytes of its pages.
    dictionary : int array
        Compressed bytes of its dictionary page.
    coded : bool array
        Whether any page is encoded by a dictionary.
    """

    values: npt.NDArray[np.int64]
    decompressed: npt.NDArray[np.int64]
    compressed: npt.NDArray[np.int64]
    dictionary: npt.NDArray[np.int64]
    coded: npt.NDArray[np.bool_]


def chunk_sizes(path: str, n_groups: int, n_columns: int) -> ChunkSizes | None:
    """Return the sizes of the column chunks of a file; None where its footer has another form than expected.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     pq.write_table(pa.table({"a": ["x", "y", "x"], "b": [1, 2, 3]}), file.name)
    ...     chunk_sizes(file.name, 1, 2).values
    array([[3, 3]])
    """
    with open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MAGIC or length > size - 8:
            return None
        file.seek(size - 8 - length)
        footer = np.frombuffer(file.read(length), dtype=np.uint8)
    # A chunk takes more bytes than one: a footer of more chunks than bytes is damaged.
    if n_groups * n_columns > length:
        return None
    sizes = np.zeros((n_groups * n_columns, 7), dtype=np.int64)
    sizes[:, 5] = -1
    global _walked
    _walked += length
    walk = _walk if _walked > _PLAIN_BYTES_WALKED else _walk.function
    if walk(footer, sizes, np.zeros((4, _DEPTH), dtype=np.int64)) != len(sizes):
        return None
    numbers = sizes.reshape(n_groups, n_columns, 7).transpose(2, 0, 1)
    values, decompressed, compressed, data_at, coded, dictionary_at, _ = numbers
    dictionary = np.where(dictionary_at >= 0, np.maximum(0, data_at - dictionary_at), 0)
    return ChunkSizes(values, decompressed, compressed, dictionary, coded.astype(bool))


@Inlined
def _varint(footer, at):  # type: ignore[no-untyped-def]
    """Return an unsigned integer and where the next byte is; that is -1 where the bytes end before it does."""
    value, shift = np.uint64(0), np.uint64(0)
    while 0 <= at < footer.size and shift < 64:
        byte = np.uint64(footer[at])
        at += 1
        value |= (byte & np.uint64(127)) << shift
        if byte < 128:
            return value, at
        shift += np.uint64(7)
    return np.uint64(0), np.int64(-1)


@Inlined
def _list(footer, at):  # type: ignore[no-untyped-def]
    """Return the length of a list, the type of its entries and where they begin."""
    head = footer[at]
    size, after = np.uint64(head >> 4), at + 1
    if size == 15:
        size, after = _varint(footer, after)
    return np.int64(min(size, np.uint64(footer.size))), head & 15, after


@kernel("int64(Array(uint8, 1, 'C', readonly=True), int64[:, ::1], int64[:, ::1])")
def _walk(footer, sizes, stack):  # type: ignore[no-untyped-def]
    """Write values, sizes, offsets and whether there is a dictionary of each chunk; return how many chunks there are, or -1.

    `stack` (4, `_DEPTH`) is what the walk remembers of each struct and list it is in.
    """
    # Entries of a list that are to come, and their type; -1 for a struct.
    role, field, left, entry = stack[0], stack[1], stack[2], stack[3]
    role[0], left[0], depth, chunk, at = _FILE, -1, 0, -1, 0
    while depth >= 0:
        if left[depth] == 0:
            depth -= 1
            continue
        if at < 0 or at >= footer.size:
            return -1
        if left[depth] > 0:
            left[depth] -= 1
            kind = entry[depth]
        else:
            head = footer[at]
            at += 1
            if head == 0:
                depth -= 1
                continue
            kind = head & 15
            if head >> 4:
                field[depth] += head >> 4
            else:
                number, at = _varint(footer, at)
                if at < 0:
                    return -1
                field[depth] = np.int64(number >> np.uint64(1))
        which = field[depth] if left[depth] < 0 and 0 <= field[depth] < 16 else 0
        if kind == 1 or kind == 2:
            # Of a field the type is the value; in a list it is a byte.
            at += left[depth] >= 0
        elif kind == 3:
            at += 1
        elif kind == 7:
            at += 8
        elif 4 <= kind <= 6:
            number, at = _varint(footer, at)
            value = np.int64(number >> np.uint64(1)) ^ -np.int64(number & np.uint64(1))
            if role[depth] == _ENCODINGS and (value == 2 or value == 8):
                sizes[chunk, 4] = 1
            elif role[depth] == _CONTENT:
                sizes[chunk, _PLACES[which]] = value
        elif kind == 8:
            number, at = _varint(footer, at)
            if number > np.uint64(footer.size):
                return -1
            at += np.int64(number)
        elif kind == 9 or kind == 10 or kind == 12:
            role[depth + 1] = _INSIDE[role[depth], which]
            depth += 1
            if depth == _DEPTH - 1 or at < 0 or at >= footer.size:
                return -1
            field[depth], left[depth] = 0, -1
            if kind != 12:
                left[depth], entry[depth], at = _list(footer, at)
            elif role[depth] == _CHUNK:
                chunk += 1
                if chunk == len(sizes):
                    return -1
        else:
            return -1
    return chunk + 1


#: A row group of more than twice this many rows is read in steps of this many: the first of them are counted while the
#: next are read, and their memory is used again.
_UNIT_ROWS = 262_144
#: Row groups are read together up to this many rows. To join them is to copy them: dearer than to read them, once they
#: are long enough to be worth a call.
_JOINED_ROWS = 65_536
#: Decoded bytes of one unit, so that a thousand columns do not multiply what a million rows allow.
_UNIT_BYTES = 256 * 2**20
_LEAST_ROWS = 16_384
#: Below this many bytes of one unit memory is short: Arrow decodes pages in its own memory, and each thread keeps about 10 MB.
_TIGHT_BYTES = 2**20
#: What is read of a column at a time where memory is bounded.
_PAGE_BYTES = 2**16
#: Text chunks above this many bytes a value hold text that did not fit the dictionary page: a code is four at
#: most.
_CODE_BYTES = 4.0
#: Page headers and statistics of one chunk, which would outweigh the codes of a few rows.
_HEADER_BYTES = 512
#: Files whose footers, or rows where they are few, are read by one task. Handing over a task costs more than reading 20 rows.
_TOGETHER = 64
#: Decompressed bytes of a file that is read together with others.
_SMALL_BYTES = 2**18
#: What the texts of files that are read together may take, were each of them in every row.
_PLAIN_BYTES = 2**25
#: Footers kept between the check of all schemas and the reading, so that few files are not opened twice.
_KEPT_FOOTERS = 64
#: How text is read.
_TEXT = pa.dictionary(pa.int32(), pa.string())

_Footer = tuple[pq.FileMetaData, pa.Schema, int, int]
_Unit = tuple[int, int, list[pa.RecordBatch]]
"""The place of a file among the paths, that of the first row in the file, and rows of it."""


class ParquetTable(FileTable):
    """One or more Parquet files."""

    _known_by_path = ("_rows", "_bytes")
    _rows: dict[str, int]  # type: ignore[assignment]
    _bytes: dict[str, int]
    _groups: range | None = None
    """The row groups to read of the only file, None for all."""

    @classmethod
    def of_dataset(cls, dataset: Any, describe: str) -> ArrowTable | None:
        """Return the files behind a Dataset of Arrow that shows columns of them as they are, all rows; None for any other.

        Its scanner decodes row groups whole, two at once, and Arrow keeps the memory: twice what steps of them take.
        """
        local = type(dataset.filesystem) is LocalFileSystem
        # A filter is kept among the options of a scan.
        if not local or not dataset.files or dataset._scan_options:
            return None
        whole, parts = pc.scalar(True), list(dataset.get_fragments())
        if not all(part.partition_expression.equals(whole) for part in parts):
            return None
        table = cls(Files(list(dataset.files), "parquet", describe))
        shown = decoded_schema(plain_schema(dataset.schema))
        if not set(shown.names) <= set(table.schema.names).difference(table._disputed):
            return None
        own = subset(table.schema, shown.names)
        # Columns may be cast, and fragments be some of the row groups; `count_rows` counts those left out too.
        alike = decoded_schema(own).equals(shown)
        alike = alike and all(part.num_row_groups == part.metadata.num_row_groups for part in parts)
        return View(table, own) if alike else None

    def _schemas(self, paths: list[str]) -> list[pa.Schema]:
        self._footers: dict[str, pq.FileMetaData] = {}
        self._sizes: dict[str, ChunkSizes | None] = {}
        text_bytes: dict[str, int] = {}
        text_values: dict[str, int] = {}
        schemas: list[pa.Schema] = []
        # A few files are opened at once, many in turns: over the network each waits for an answer.
        together = min(_TOGETHER, -(-len(paths) // 8))
        turns = [paths[k : k + together] for k in range(0, len(paths), together)]
        with ThreadPoolExecutor(max_workers=min(8, len(paths))) as pool:
            footers = (found for turn in pool.map(_footers, turns) for found in turn)
            for path, (footer, schema, n_rows, n_bytes) in zip(paths, footers, strict=True):
                self._rows[path], self._bytes[path] = n_rows, n_bytes
                if schemas and schema.equals(schemas[-1]):
                    schema = schemas[-1]
                if len(self._footers) < _KEPT_FOOTERS:
                    self._footers[path] = footer
                    if any(is_text(f.type) for f in schema):
                        sizes = self._sizes[path] = chunk_sizes(path, footer.num_row_groups, footer.num_columns)
                        _add_text_sizes(footer, sizes, schema, text_bytes, text_values)
                schemas.append(schema)
        self._dictionary_columns = [
            name for name, n_bytes in text_bytes.items() if n_bytes <= _CODE_BYTES * text_values[name]
        ]
        as_read: list[pa.Schema] = []
        for k, schema in enumerate(schemas):
            as_read.append(as_read[-1] if k and schema is schemas[k - 1] else self._as_read(schema))
        return as_read

    def _size(self, path: str) -> float:
        return float(self._rows[path])

    def _of(self, chosen: Sequence[int]) -> ParquetTable:
        part = cast(ParquetTable, super()._of(chosen))
        # A footer is as long as its file has row groups: it does not travel, and is read again.
        part._footers, part._sizes = {}, {}
        return part

    def _pieces(self, n_pieces: int) -> list[ArrowTable]:
        (path,) = self._files.paths
        footer = _footer(path, [])[0]
        rows = [footer.row_group(k).num_rows for k in range(footer.num_row_groups)]
        ends, n_pieces = np.cumsum(rows), min(n_pieces, len(rows))
        # Cut where a group ends nearest to each share of the rows.
        shares = ends[-1] * np.arange(1, n_pieces) / n_pieces if rows else []
        cuts = sorted({int(np.abs(ends - share).argmin()) + 1 for share in shares} - {len(rows)}) if rows else []
        pieces: list[ArrowTable] = []
        if not cuts:
            return pieces
        for start, stop in pairwise([0, *cuts, len(rows)]):
            piece = copy(self)
            piece._groups, piece.n_rows = range(start, stop), sum(rows[start:stop])
            piece.describe = f"{self.describe}, row groups {start} to {stop - 1}"
            pieces.append(piece)
        return pieces

    def _as_read(self, schema: pa.Schema) -> pa.Schema:
        coded = set(self._dictionary_columns)
        return pa.schema([pa.field(f.name, _TEXT) if f.name in coded and is_text(f.type) else f for f in schema])

    def _read_files(self, schema: pa.Schema, first: int, skip: int) -> Rows:
        with closing(run_ahead(self._tasks(schema, first, skip), ahead=2)) as results:
            for units in results:
                for index, row, batches in units:
                    while batches:
                        batch = batches.pop(0)
                        yield index, row, batch
                        row += batch.num_rows
                        del batch

    @property
    def _tight(self) -> bool:
        """Whether memory is so short that what decoding leaves free must not stay with several threads of Arrow's."""
        return self.read_bytes is not None and self.read_bytes < _TIGHT_BYTES

    def _opened(self, path: str, coded: list[str]) -> pq.ParquetFile:
        """Return a file whose columns are read in full, or, where memory is bounded, some pages at a time."""
        far = is_remote(path)
        return pq.ParquetFile(
            readable(path),
            metadata=self._footers.get(path),
            read_dictionary=coded,
            # Many small reads of a file far away cost a journey each: they are made at once.
            pre_buffer=far,
            buffer_size=0 if far or self.read_bytes is None else _PAGE_BYTES,
        )

    def _tasks(self, schema: pa.Schema, first: int, skip: int) -> Iterator[Callable[[], list[_Unit]]]:
        """Yield one task per unit: some small files or row groups, one of the usual size, or a part of a large one."""
        there = set(schema.names)
        coded = [name for name in self._dictionary_columns if name in there]
        small: list[int] = []
        held = 0
        most_held = _UNIT_BYTES // _TOGETHER if self.read_bytes is None else self.read_bytes
        for index, path in enumerate(self.files[first:], start=first):
            is_small = self._is_small(path) and not (index == first and skip)
            if small and not (is_small and len(small) < _TOGETHER and held + self._bytes[path] <= most_held):
                yield partial(self._read_small, small, coded, schema.names)
                small, held = [], 0
            if is_small:
                small.append(index)
                held += self._bytes[path]
                continue
            with reading(path, "Parquet"):
                file = self._opened(path, coded)
                # Only text and nested values are of a width that must be looked up.
                fixed = all(pt.is_dictionary(f.type) or pt.is_primitive(f.type) for f in schema)
                sizes = self._sizes.get(path)
                if sizes is None and not fixed:
                    sizes = chunk_sizes(path, file.metadata.num_row_groups, file.metadata.num_columns)
            most = _unit_rows(file.metadata, schema, sizes, self.read_bytes)
            row = 0
            for groups, n_rows in _units(file.metadata, min(most, _JOINED_ROWS), self._groups):
                # A row group can be entered only at its beginning.
                if index == first and row + n_rows <= skip:
                    pass
                elif n_rows <= 2 * most:
                    yield partial(self._read_groups, index, row, file, groups, schema.names)
                else:
                    steps = file.iter_batches(
                        batch_size=most, row_groups=groups, columns=schema.names, use_threads=not self._tight
                    )
                    last: dict[str, pa.Array] = {}
                    ended = Event()
                    for step in range(-(-n_rows // most)):
                        yield partial(self._read_step, index, row + step * most, steps, last, ended)
                        # A footer may count more rows than there are.
                        if ended.is_set():
                            break
                row += n_rows
        if small:
            yield partial(self._read_small, small, coded, schema.names)

    def _is_small(self, path: str) -> bool:
        """Whether a file is so short that it is read together with others."""
        short = self._groups is None and self._rows[path] <= _JOINED_ROWS // _TOGETHER
        return short and 0 <= self._bytes[path] <= _SMALL_BYTES

    def _read_small(self, chosen: list[int], coded: list[str], columns: list[str]) -> list[_Unit]:
        """Return the rows of some small files."""
        units: list[_Unit] = []
        # A text may stand in every row.
        at_most = sum(self._bytes[path] * self._rows[path] for path in (self.files[k] for k in chosen))
        if at_most <= (self.read_bytes or _PLAIN_BYTES):
            # What is wrong with a file is said below, where they are read one by one.
            with suppress(FileFormatError):
                units = self._read_joined(chosen, coded, columns)
        if units:
            return units
        for index in chosen:
            with reading(self.files[index], "Parquet"), self._opened(self.files[index], coded) as file:
                groups = list(range(file.num_row_groups))
                units += self._read_groups(index, 0, file, groups, columns, threads=False)
        self._give_back()
        return units

    def _read_joined(self, chosen: list[int], coded: list[str], columns: list[str]) -> list[_Unit]:
        """Return the rows of some small files, nothing where one has not as many as its footer says.

        Texts are read as they are and encoded for many files at once: a dictionary takes longer to build than 20 rows to read.
        """
        tables = []
        for path in (self.files[index] for index in chosen):
            with reading(path, "Parquet"), self._opened(path, []) as file:
                table = file.read_row_groups(list(range(file.num_row_groups)), columns=columns, use_threads=False)
                # Several dictionaries are made one by following the indices.
                check_indices(table, path, FileFormatError)
            if table.num_rows != self._rows[path]:
                return []
            tables.append(table)
        self._give_back()
        alike = groupby(zip(chosen, tables, strict=True), key=lambda pair: pair[1].schema)
        return [unit for _, pairs in alike for unit in _slices_of_one(dict(pairs), coded)]

    def _read_groups(
        self, index: int, row: int, file: pq.ParquetFile, groups: list[int], columns: list[str], *, threads: bool = True
    ) -> list[_Unit]:
        """Return the rows of some row groups; threads of Arrow's are for those that are long enough."""
        path = self.files[index]
        with reading(path, "Parquet"):
            table = file.read_row_groups(groups, columns=columns, use_threads=threads and not self._tight)
            if threads:
                self._give_back()
            # Several dictionaries are made one by following the indices.
            unlooked = self._unlooked if len(groups) == 1 else frozenset()
            check_indices(table, path, FileFormatError, unlooked=unlooked)
            if len(groups) > 1:
                # One dictionary and one batch for many small groups: a batch of a thousand rows costs more to
                # hand over than to count.
                table = table.unify_dictionaries().combine_chunks()
            return [(index, row, table.to_batches())]

    def _read_step(
        self, index: int, row: int, steps: Iterator[pa.RecordBatch], last: dict[str, pa.Array], ended: Event
    ) -> list[_Unit]:
        """Return the next rows of a large row group."""
        path = self.files[index]
        with reading(path, "Parquet"):
            batch = next(steps, None)
            self._give_back()
            if batch is None:
                ended.set()
                return []
            check_indices(batch, path, FileFormatError, unlooked=self._unlooked)
            return [(index, row, [_share_dictionaries(batch, last)])]

    def _give_back(self) -> None:
        """Give back what Arrow's allocator keeps for this thread, in which pages were decoded, where memory is short."""
        if self._tight and "mimalloc" in pa.supported_memory_backends():
            pa.mimalloc_memory_pool().release_unused()


def _slices_of_one(tables: dict[int, pa.Table], coded: list[str]) -> Iterator[_Unit]:
    """Yield the rows of files of the same columns as slices of one batch, some columns of text as codes."""
    row = 0
    # One batch, or none where there are no rows: they are few.
    for whole in pa.concat_tables(tables.values()).unify_dictionaries().combine_chunks().to_batches():
        as_codes = [f.name in coded and is_text(f.type) for f in whole.schema]
        arrays = [cast_array(c, _TEXT) if code else c for c, code in zip(whole.columns, as_codes, strict=True)]
        joined = pa.RecordBatch.from_arrays(arrays, names=whole.schema.names)
        for index, table in tables.items():
            yield index, 0, [joined.slice(row, table.num_rows)]
            row += table.num_rows


def _footers(paths: list[str]) -> list[_Footer]:
    known: list[pa.Schema] = []
    return [_footer(path, known) for path in paths]


def _footer(path: str, known: list[pa.Schema]) -> _Footer:
    """Return the footer of a file, its schema, and the rows and decompressed bytes of its row groups.

    `known` keeps the last schema, as Arrow has it and as it is returned, for the next file: most are the same.
    """
    with reading(path, "Parquet"), pq.ParquetFile(readable(path)) as file:
        groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
        rows = [group.num_rows for group in groups]
        if min(rows, default=0) < 0 or sum(rows) >= 2**63:
            raise FileFormatError(f"{path} is damaged: a row group of it counts {min(rows)} rows; write it again")
        if sum(rows) != file.metadata.num_rows:
            # Which rows are then read depends on how they are asked for.
            raise FileFormatError(
                f"{path} is damaged: it counts {file.metadata.num_rows:,} rows, and its row groups {sum(rows):,}; "
                f"write it again"
            )
        written = file.schema_arrow
        if not (known and written.equals(known[0])):
            # Names are texts of the file, which may be none.
            known[:] = written, pa.schema([(f.name, f.type) for f in written if str(f.type)])
        return file.metadata, known[1], sum(rows), sum(group.total_byte_size for group in groups)


def _leaves(footer: pq.FileMetaData, chosen: set[str]) -> list[int]:
    """Return the places of the leaf columns under the columns chosen, by the first part of their paths."""
    paths = (footer.schema.column(j).path for j in range(footer.num_columns))
    return [j for j, path in enumerate(paths) if path in chosen or path.split(".")[0] in chosen]


def _add_text_sizes(
    footer: pq.FileMetaData,
    sizes: ChunkSizes | None,
    schema: pa.Schema,
    n_bytes: dict[str, int],
    n_values: dict[str, int],
) -> None:
    """Add up values, and bytes outside the dictionary page, of every text column: none where they are not known."""
    n = footer.num_columns
    inside = np.zeros(n) if sizes is None else _bytes_of_values(sizes).sum(axis=0)
    values = np.zeros(n) if sizes is None else sizes.values.sum(axis=0)
    text = {f.name for f in schema if is_text(f.type)}
    for j in range(footer.num_columns):
        name = footer.schema.column(j).path
        if name in text:
            n_bytes[name] = n_bytes.get(name, 0) + int(inside[j])
            n_values[name] = n_values.get(name, 0) + int(values[j])


def _bytes_of_values(sizes: ChunkSizes) -> npt.NDArray[np.float64]:
    """Return the decompressed bytes of text chunks without their dictionary pages and headers, about."""
    # The footer has the compressed size of a dictionary only; its ratio is taken to be that of the whole chunk.
    ratio = sizes.decompressed / np.maximum(1, sizes.compressed)
    inside = np.maximum(0, sizes.decompressed - ratio * sizes.dictionary - _HEADER_BYTES)
    return np.where(sizes.coded, inside, (_CODE_BYTES + 1) * sizes.values)


def _unit_rows(footer: pq.FileMetaData, schema: pa.Schema, sizes: ChunkSizes | None, n_bytes: int | None = None) -> int:
    """Return how many rows of these columns make a unit, of so many bytes at most where that is given."""
    varying = {f.name for f in schema if not (pt.is_dictionary(f.type) or pt.is_primitive(f.type))}
    width = sum(4 if pt.is_dictionary(f.type) else f.type.bit_width / 8 for f in schema if f.name not in varying)
    if varying:
        # Plain text and nested values: as wide as the file says, and an offset each.
        size = 0 if sizes is None else int(sizes.decompressed[:, _leaves(footer, varying)].sum())
        width += max(0, size) / max(1, footer.num_rows) + 8 * len(varying)
    if n_bytes is not None:
        return int(max(_LEAST_ROWS // 16, min(_UNIT_ROWS, n_bytes / max(width, 1))))
    return int(max(_LEAST_ROWS, min(_UNIT_ROWS, _UNIT_BYTES / max(width, 1))))


def _units(footer: pq.FileMetaData, most: int, chosen: range | None = None) -> Iterator[tuple[list[int], int]]:
    """Yield (row groups, rows), of all groups or of those chosen, joining small neighbours up to `most` rows."""
    groups: list[int] = []
    rows = 0
    for group in range(footer.num_row_groups) if chosen is None else chosen:
        n = footer.row_group(group).num_rows
        if groups and rows + n > most:
            yield groups, rows
            groups, rows = [], 0
        groups.append(group)
        rows += n
    if groups:
        yield groups, rows


def _share_dictionaries(batch: pa.RecordBatch, last: dict[str, pa.Array]) -> pa.RecordBatch:
    """Give equal dictionaries of successive batches the same memory, which the stepwise reader does not."""
    arrays = []
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if pt.is_dictionary(array.type):
            known = last.get(name)
            if known is not None and known.equals(array.dictionary):
                array = pa.DictionaryArray.from_arrays(array.indices, known, safe=False)
            else:
                last[name] = array.dictionary
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


class RowGroupSample(NamedTuple):
    """Some rows, where they stand among all, how many there are in all, and of how many row groups these are."""

    rows: pa.Table
    positions: npt.NDArray[np.int64]
    n_rows: int
    n_groups: int


def sample_row_groups(
    table: ParquetTable, columns: list[str], limit: int, n_groups: int, rng: np.random.Generator
) -> RowGroupSample:
    """Return up to `limit` rows from the beginnings of a few row groups, in the order of the files, without dictionaries."""
    paths = table._files.paths
    sizes = np.array([table._rows[path] for path in paths])
    total = int(sizes.sum())
    # Files first: the footers of a thousand files are not read again to find eight stretches.
    likely = sizes / total
    files = np.sort(rng.choice(len(paths), min(n_groups, int((sizes > 0).sum())), replace=False, p=likely))
    groups: list[tuple[int, int, int, int]] = []
    for f in files:
        with reading(paths[f], "Parquet"):
            footer = table._footers.get(paths[f]) or pq.read_metadata(readable(paths[f]))
        start = int(sizes[:f].sum())
        for g in range(footer.num_row_groups):
            n = footer.row_group(g).num_rows
            groups.append((int(f), g, start, n))
            start += n
    groups = [group for group in groups if group[3]]
    weights = np.array([n for *_, n in groups], dtype=np.float64)
    count = min(len(groups), n_groups)
    chosen = np.sort(rng.choice(len(groups), count, replace=False, p=weights / weights.sum()))
    parts, positions, left = [], [], limit
    for turn, k in enumerate(chosen):
        f, g, start, n = groups[k]
        rows, places = _stretch(table, f, g, columns, -(-left // (count - turn)), n, rng)
        parts.append(rows)
        positions.append(start + places)
        left -= len(places)
    return RowGroupSample(pa.concat_tables(parts), np.concatenate(positions), total, count)


def _stretch(
    table: ParquetTable, f: int, group: int, columns: list[str], wanted: int, n: int, rng: np.random.Generator
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Return up to `wanted` rows of a row group and their positions in it: at random where it is small."""
    path = table._files.paths[f]
    inside = [name for name in columns if name not in table._keys] or table.stand_in
    coded = [name for name in table._dictionary_columns if name in inside]
    take = n if n <= 4 * wanted else wanted
    known = table._footers.get(path)
    with reading(path, "Parquet"), pq.ParquetFile(readable(path), metadata=known, read_dictionary=coded) as file:
        batches, n_read = [], 0
        # Batches as long as what is wanted: a longer one would be decoded to be thrown away.
        for batch in file.iter_batches(batch_size=min(take, 65_536), row_groups=[group], columns=inside):
            check_indices(batch, path, FileFormatError)
            batch = conform(batch, subset(table._file_schema, inside), path)
            batch = table._with_keys(batch, f, subset(table.schema, columns))
            batches.append(decoded(batch.slice(0, take - n_read)))
            n_read += batches[-1].num_rows
            if n_read >= take:
                break
    rows = pa.Table.from_batches(batches)
    positions = np.arange(rows.num_rows)
    if rows.num_rows > wanted:
        positions = np.sort(rng.choice(rows.num_rows, wanted, replace=False))
        rows = rows.take(pa.array(positions))
    return rows, positions
