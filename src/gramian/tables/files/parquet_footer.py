"""The sizes of column chunks, read off the footer of a Parquet file by a loop of our own.

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
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from gramian.compiling import kernel
from gramian.tables.files.remote import is_remote, open_file

_MAGIC = b"PAR1"
_DEPTH = 64

# What a list or a struct on the way down to a column chunk is; everything else is passed over.
_OTHER, _FILE, _GROUPS, _GROUP, _CHUNKS, _CHUNK, _CONTENT, _ENCODINGS = range(8)


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
    with open_file(path) if is_remote(path) else open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MAGIC or length > size - 8:
            return None
        file.seek(size - 8 - length)
        footer = np.frombuffer(file.read(length), dtype=np.uint8)
    # A chunk takes more bytes than one: a footer of more chunks than bytes is none.
    if n_groups * n_columns > length:
        return None
    sizes = np.zeros((n_groups * n_columns, 7), dtype=np.int64)
    sizes[:, 5] = -1
    if _walk(footer, sizes) != len(sizes):
        return None
    numbers = sizes.reshape(n_groups, n_columns, 7).transpose(2, 0, 1)
    values, decompressed, compressed, data_at, coded, dictionary_at, _ = numbers
    dictionary = np.where(dictionary_at >= 0, np.maximum(0, data_at - dictionary_at), 0)
    return ChunkSizes(values, decompressed, compressed, dictionary, coded.astype(bool))


@njit(nogil=True, error_model="numpy")
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


@njit(nogil=True, error_model="numpy")
def _list(footer, at):  # type: ignore[no-untyped-def]
    """Return the length of a list, the type of its entries and where they begin."""
    head = footer[at]
    size, after = np.uint64(head >> 4), at + 1
    if size == 15:
        size, after = _varint(footer, after)
    return np.int64(min(size, np.uint64(footer.size))), head & 15, after


@kernel(types.int64(types.Array(types.uint8, 1, "C", readonly=True), types.int64[:, ::1]))
def _walk(footer, sizes):  # type: ignore[no-untyped-def]
    """Write values, sizes, offsets and whether there is a dictionary of each chunk; return how many chunks there are, or -1."""
    role = np.zeros(_DEPTH, dtype=np.int64)
    field = np.zeros(_DEPTH, dtype=np.int64)
    # Entries of a list that are to come, and their type; -1 for a struct.
    left = np.full(_DEPTH, -1, dtype=np.int64)
    entry = np.zeros(_DEPTH, dtype=np.int64)
    role[0], depth, chunk, at = _FILE, 0, -1, 0
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
                field[depth] = np.int64(number >> np.uint64(1))
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
                which = field[depth]
                place = which - 5 if 5 <= which <= 7 else 3 if which == 9 else 5 if which == 11 else 6
                sizes[chunk, place] = value
        elif kind == 8:
            number, at = _varint(footer, at)
            if number > np.uint64(footer.size):
                return -1
            at += np.int64(number)
        elif kind == 9 or kind == 10 or kind == 12:
            above, which, inside = role[depth], field[depth], left[depth] >= 0
            depth += 1
            if depth == _DEPTH or at < 0 or at >= footer.size:
                return -1
            field[depth], role[depth] = 0, _OTHER
            if kind == 12:
                left[depth] = -1
                if above == _GROUPS:
                    role[depth] = _GROUP
                elif above == _CHUNKS:
                    role[depth] = _CHUNK
                    chunk += 1
                    if chunk == len(sizes):
                        return -1
                elif above == _CHUNK and which == 3 and not inside:
                    role[depth] = _CONTENT
            else:
                size, kind_of_entry, at = _list(footer, at)
                left[depth], entry[depth] = size, kind_of_entry
                if above == _FILE and which == 4:
                    role[depth] = _GROUPS
                elif above == _GROUP and which == 1:
                    role[depth] = _CHUNKS
                elif above == _CONTENT and which == 2:
                    role[depth] = _ENCODINGS
        else:
            return -1
    return chunk + 1
