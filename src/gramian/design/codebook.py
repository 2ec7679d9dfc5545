"""Distinct texts numbered in order of first sight: a hash table over Arrow's own bytes.

Text columns that do not come as dictionaries (wide Parquet columns, CSV, frames of strings) need a hash a row, whoever
computes it. Arrow's `dictionary_encode` hashes each batch afresh and its result must then be matched with the labels
already known; one table that lives as long as the pass does both in one go. What it gains a whole `collect` of 1,000,000
rows, two columns of so many labels and one of nine: with Arrow's hashing in its place the same pass takes 0.9 of the time
at 100 labels, 1.1 at 1,000, 1.25 at 20,000 and 4.9 at 200,000 (processor time, medians of five).

Codebooks: the labels of a column, growing in order of first sight while its values are turned into codes.

Text arrives from Parquet as dictionary indices: only the dictionary is matched against the labels, each row costs one
gather. Entries of a dictionary that no row uses never become labels. A dictionary that comes again (the batches of one
row group share theirs) is not matched again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.design import kernels
from gramian.design.schema import MAX_INTEGER_LEVELS, Labels, canonical, join_labels, label_family, positions
from gramian.errors import DataError
from gramian.tables.schemas import offsets_and_letters, same_memory

_MOST_LETTERS = 2**31 - 1


class TextIndex:
    """Codes of texts; the missing value has a code of its own once it is seen.

    Examples
    --------
    >>> index = TextIndex()
    >>> index.codes(pa.array(["b", "a", None, "b"]))
    array([0, 1, 2, 0], dtype=int32)
    >>> index.codes(pa.array(["c", "a"]), insert=False)
    array([-1,  1], dtype=int32)
    >>> index.labels().to_pylist()
    ['b', 'a', None]
    """

    def __init__(self) -> None:
        self._n_labels = 0
        self._null_code = -1
        # Label k lies at starts[k] : starts[k + 1] of the letters.
        self._starts = np.zeros(65, dtype=np.int64)
        self._letters = np.zeros(1024, dtype=np.uint8)
        self._ends = np.zeros((64, 2), dtype=np.uint64)
        self._lengths = np.zeros(64, dtype=np.uint8)
        self._slots = np.zeros(128, dtype=np.uint32)

    def __len__(self) -> int:
        return self._n_labels

    @property
    def nbytes(self) -> int:
        """Bytes used: room that no label has come to yet is not memory."""
        n = self._n_labels
        return int(self._starts[n]) + n * (8 + self._ends.itemsize * 2 + 1) + self._slots.nbytes

    @property
    def label_bytes(self) -> int:
        """Bytes of what `labels` returns."""
        return int(self._starts[self._n_labels]) + 8 * self._n_labels

    def codes(self, texts: pa.Array, *, insert: bool = True) -> npt.NDArray[np.int32]:
        """Return the code of each text; one not seen before is added, or gets -1 where `insert` is False."""
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            texts = texts.cast(pa.large_string())
        out = np.empty(len(texts), dtype=np.int32)
        if not len(texts):
            return out
        offsets, letters = offsets_and_letters(texts)
        if offsets.dtype == np.int64:
            if offsets[-1] - offsets[0] > _MOST_LETTERS:
                middle = len(texts) // 2
                return np.concatenate([self.codes(part, insert=insert) for part in (texts[:middle], texts[middle:])])
            letters, offsets = letters[offsets[0] :], (offsets - offsets[0]).astype(np.int32)
        bits, first_bit = validity(texts)
        row = 0
        while row < len(texts):
            row, self._n_labels, self._null_code = kernels.text_codes(
                offsets, letters, bits, first_bit, row, insert, self._null_code, self._n_labels,
                self._starts, self._letters, self._ends, self._lengths, self._slots, out,
            )  # fmt: skip
            if row < len(texts):
                self._room_for(int(offsets[row + 1] - offsets[row]))
        return out

    def _room_for(self, n_letters: int) -> None:
        """Make room for one more label of so many letters: twice what there is, so that growing costs little in all."""
        used = int(self._starts[self._n_labels])
        if used + n_letters > len(self._letters):
            self._letters = _longer(self._letters, used, 2 * len(self._letters) + n_letters)
        if self._n_labels + 1 == len(self._starts):
            n, room = self._n_labels, 2 * len(self._ends)
            self._starts = _longer(self._starts, n + 1, room + 1)
            self._ends = _longer(self._ends, n, room)
            self._lengths = _longer(self._lengths, n, room)
            self._slots = np.zeros(2 * len(self._slots), dtype=np.uint32)
            kernels.fill_slots(self._starts, self._letters, self._ends, self._n_labels, self._null_code, self._slots)

    def labels(self) -> pa.Array:
        """Return the texts in code order."""
        # Looked at once: another thread may be adding labels, after these.
        n, null_code = self._n_labels, self._null_code
        offsets = self._starts[: n + 1].copy()
        letters = self._letters[: int(offsets[-1])].copy()
        plain = pa.LargeStringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(letters))
        if not 0 <= null_code < n:
            return plain
        missing = np.arange(n) == null_code
        return pa.compute.if_else(pa.array(missing), pa.scalar(None, pa.large_string()), plain)


def _longer(array: npt.NDArray[Any], used: int, room: int) -> npt.NDArray[Any]:
    """Return the array with room for more; what is not used is not written to, so that it takes no memory yet."""
    longer = np.empty((room, *array.shape[1:]), array.dtype)
    longer[:used] = array[:used]
    return longer


Codes = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]

_BOOLEANS = pa.Array.from_buffers(pa.bool_(), 2, [None, pa.py_buffer(b"\x02")])
"""False, True."""
_ALL_VALID = np.empty(0, dtype=np.uint8)
_CODES_16 = 2**16


def validity(array: pa.Array) -> tuple[npt.NDArray[np.uint8], int]:
    """Return an array's validity bitmap and the first bit to read, an empty one where every row is valid."""
    if array.null_count == 0:
        return _ALL_VALID, 0
    return np.frombuffer(array.buffers()[0], dtype=np.uint8), array.offset


def index_values(indices: pa.Array) -> npt.NDArray[np.int32]:
    """Return int32 indices as they lie in memory, whatever they are where not valid."""
    return np.frombuffer(indices.buffers()[1], dtype=np.int32, count=len(indices), offset=4 * indices.offset)


def as_indices(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return a column of labels as int32 indices into a dictionary; NaN labels are null entries of it."""
    if pa.types.is_boolean(column.type):
        # Bits are indices of a fixed dictionary already; no row is hashed.
        values = np.frombuffer(column.buffers()[1] or b"", dtype=np.uint8)
        bits = np.unpackbits(values, count=column.offset + len(column), bitorder="little")
        indices = bits[column.offset :].astype(np.int32)
        # Put together from buffers: pa.array() would import pandas to see whether it was given something of it.
        valid = column.is_valid().buffers()[1] if column.null_count else None
        return pa.Array.from_buffers(pa.int32(), len(column), [valid, pa.py_buffer(indices)]), _BOOLEANS
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.int32()), pa.nulls(0)
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
            column = canonical(column)
        column = column.dictionary_encode()
    indices = column.indices
    return indices if indices.type == pa.int32() else indices.cast(pa.int32()), column.dictionary


def code_dtype(n_levels: int) -> type[np.uint16] | type[np.uint32]:
    """Return the smallest code type that holds this many levels."""
    return np.uint16 if n_levels <= _CODES_16 else np.uint32


class OutsideDictionary(DataError):
    """A row's index leads outside the dictionary of its column: the data is damaged."""


class TooManyLevels(Exception):
    """An integer column showed more distinct values than are kept by level: it is a number."""


class Codebook:
    """Labels of a categorical column, of any type, in order of first sight."""

    def __init__(self) -> None:
        self._text: TextIndex | None = None
        self._labels: pa.Array = pa.nulls(0)
        self._dictionary: pa.Array | None = None
        self._dictionary_codes: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._labels) if self._text is None else len(self._text)

    @property
    def nbytes(self) -> int:
        """Bytes that the labels take, with what finds them."""
        return int(self._labels.nbytes if self._text is None else self._text.nbytes) + self._dictionary_codes.nbytes

    @property
    def label_bytes(self) -> int:
        """Bytes of what `labels` returns beside that."""
        return 0 if self._text is None else self._text.label_bytes

    def labels(self) -> Labels:
        """Return the labels seen so far."""
        return Labels(self._labels if self._text is None else self._text.labels())

    def encode(self, column: pa.Array) -> Codes:
        """Return the code of every row, adding labels seen for the first time."""
        if label_family(column.type) == "text" and not pa.types.is_dictionary(column.type):
            codes = self._text_index().codes(column)
            # A view where it can be: int32 codes are never negative here.
            return codes.astype(np.uint16) if code_dtype(len(self)) is np.uint16 else codes.view(np.uint32)
        indices, dictionary = as_indices(column)
        self._match(dictionary)
        bits, first_bit = validity(indices)
        before = len(self)
        null_code = self._code_of_missing() if indices.null_count else 0
        fresh = np.empty(len(dictionary) + 1, dtype=np.int32)
        dtype = code_dtype(before + len(dictionary) + 1)
        out: Any = np.empty(len(indices), dtype=dtype)
        n_fresh = kernels.assign_codes(
            index_values(indices), bits, first_bit, self._dictionary_codes, null_code, before, fresh, out
        )
        if n_fresh < 0:
            raise OutsideDictionary(f"an index leads outside its dictionary of {len(dictionary)}")
        if n_fresh:
            self._add(canonical(dictionary), fresh[:n_fresh])
            if len(self) != before + n_fresh:
                # Two entries were one label: 0.0 and -0.0, or a null and a NaN. Now that all are known, match afresh.
                self._dictionary = None
                return self.encode(column)
        return out

    def _text_index(self) -> TextIndex:
        """Return the hash table of a text column, which may have begun as a column of nothing but missing values."""
        if self._text is None:
            index = TextIndex()
            index.codes(self._labels)
            self._text = index
        return self._text

    def _match(self, dictionary: pa.Array) -> None:
        """Find the codes of a dictionary's entries, -1 for labels not seen yet."""
        if self._dictionary is not None and same_memory(self._dictionary, dictionary):
            return
        self._dictionary = dictionary
        if label_family(dictionary.type) == "text":
            self._dictionary_codes = self._text_index().codes(dictionary, insert=False)
        else:
            self._dictionary_codes = positions(canonical(dictionary), self._labels).astype(np.int32)

    def _add(self, entries: pa.Array, fresh: npt.NDArray[np.int32]) -> None:
        """Add entries of a dictionary as labels, in the order given; the entry past the last is the missing value."""
        labels = entries.take(pa.array(fresh, mask=fresh == len(entries)))
        if label_family(labels.type) == "text":
            self._text_index().codes(labels)
        else:
            distinct = labels.unique()
            new = distinct.filter(pa.array(positions(distinct, self._labels) < 0))
            self._labels = join_labels(self._labels, new)

    def _code_of_missing(self) -> int:
        """Return the missing value's code, -1 where it was not seen yet."""
        if self._text is not None:
            return int(self._text.codes(pa.nulls(1, pa.large_string()), insert=False)[0])
        return int(positions(pa.nulls(1), self._labels)[0]) if self._labels.null_count else -1


class IntegerCodebook:
    """Levels of a column of small integers, at most `MAX_INTEGER_LEVELS` of them besides the missing one."""

    def __init__(self) -> None:
        self._levels = np.zeros(MAX_INTEGER_LEVELS + 1, dtype=np.int64)
        self._n_codes = 0
        self._null_code = -1
        self._unsigned = False
        self._slots = np.zeros(4 * MAX_INTEGER_LEVELS + 1, dtype=np.int64)
        self._slot_codes = np.full(4 * MAX_INTEGER_LEVELS, -1, dtype=np.int16)

    def __len__(self) -> int:
        return self._n_codes

    @property
    def nbytes(self) -> int:
        """Bytes of the levels, of which there are never many."""
        return self._levels.nbytes + self._slots.nbytes + self._slot_codes.nbytes

    @property
    def label_bytes(self) -> int:
        """Bytes of what `labels` returns beside that."""
        return 8 * self._n_codes

    def labels(self) -> Labels:
        """Return the levels seen so far."""
        # Looked at once: another thread may be adding levels, after these.
        n = self._n_codes
        missing = np.arange(n) == self._null_code
        levels = self._levels[:n]
        return Labels(canonical(pa.array(levels.view(np.uint64) if self._unsigned else levels, mask=missing)))

    def encode(self, column: pa.Array) -> Codes:
        """Return the code of every row.

        Raises
        ------
        TooManyLevels
            As soon as one more distinct value turns up than are kept by level.
        """
        # The bits of unsigned integers tell them apart as well.
        self._unsigned = self._unsigned or pa.types.is_uint64(column.type)
        try:
            whole = column.cast(pa.uint64() if self._unsigned else pa.int64())
        except pa.ArrowInvalid:
            raise TooManyLevels from None
        bits, first_bit = validity(whole)
        values = np.frombuffer(whole.buffers()[1], dtype=np.int64, count=len(whole), offset=8 * whole.offset)
        codes = np.empty(len(whole), dtype=np.uint16)
        count = kernels.integer_codes(
            values, bits, first_bit, self._levels, self._n_codes, self._null_code, self._slots, self._slot_codes, codes
        )
        if count < 0:
            raise TooManyLevels
        if self._null_code < 0 and whole.null_count:
            self._null_code = int(self._slots[-1])
        self._n_codes = int(count)
        return codes


class FrozenCodebook:
    """Labels of a fitted column: codes for values that may be new.

    Parameters
    ----------
    labels : Labels
        What was seen, pooled labels included. The code of everything else is `len(labels)`.
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        at = positions(pa.nulls(1), labels.values) if labels.values.null_count else np.array([-1])
        pooled = bool(labels.pooled.null_count and labels.rare)
        self._null_code = int(at[0]) if at[0] >= 0 else len(labels.values) if pooled else len(labels)

    def encode(self, column: pa.Array, out: Codes) -> None:
        """Write the code of every row; unseen values get `len(labels)`."""
        indices, dictionary = as_indices(column)
        codes = self.labels.codes(dictionary).astype(np.int32)
        codes[codes < 0] = len(self.labels)
        bits, first_bit = validity(indices)
        if not kernels.gather_codes(index_values(indices), bits, first_bit, codes, self._null_code, out):
            raise OutsideDictionary(f"an index leads outside its dictionary of {len(dictionary)}")
