"""What goes wrong while a file is read, in one line that names the file.

Whether Arrow data handed over by others is what it says: offsets inside their text, indices inside their dictionary.

Arrow and the loops of this package trust both, and read past the end of a buffer where they are wrong. Readers of Parquet, CSV
and JSON check while they decode, but for one thing: indices of a Parquet file into its own dictionary page, kept as codes, may
lead outside it (`check_indices`). An IPC file, a stream of another library or a table in memory is taken as it is. So these are
looked at once, before anything else: all that `validate(full=True)` looks at, except whether dates stand at midnight and
times within a day, which harms nothing.

`validate(full=True)` itself takes 1.3 ns a row for a dictionary's indices and 4.7 ns for short texts, where all pairs of a
column among twenty are counted in 5. Two passes of numpy see the usual case, indices all inside and text all ASCII, in 0.1 to
0.4 ns; only what they cannot vouch for is handed to Arrow. A pass that reads codes at the speed of memory would still notice a
second reading of them: it looks at them in the loop that encodes them (`unlooked`, `gramian.design.kernels`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from gramian.errors import DataError, FileFormatError, GramianError, MemoryLimitError, SourceNotFoundError


def one_line(error: BaseException, limit: int = 240) -> str:
    """Return the message of `error` on one line, cut where Arrow appends pages of detail."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


@contextmanager
def reading(path: str, kind: str) -> Iterator[None]:
    """Turn what Arrow and the system raise while `path` is read as `kind` into this package's errors."""
    try:
        yield
    except GramianError:
        raise
    except MemoryError as error:
        # Sizes in a damaged file are any number.
        words = f"{path} asks for more memory than there is: it is damaged, or too large ({one_line(error)})"
        raise MemoryLimitError(words) from error
    except PermissionError:
        raise DataError(f"{path} cannot be read: permission denied") from None
    except FileNotFoundError:
        raise SourceNotFoundError(f"{path} does not exist") from None
    except (pa.ArrowException, OSError, UnicodeError, EOFError) as error:
        raise FileFormatError(f"{path} cannot be read as {kind}: {one_line(error)}") from error


_INTEGERS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Inspector:
    """Looks at the batches of one source, and at a dictionary that they share once.

    Parameters
    ----------
    describe : str
        The source, for the message.
    error : type of DataError
        What is raised.
    unlooked : set of str
        Columns whose indices are looked at by whoever follows them (`ArrowTable.leaving_indices`).

    Examples
    --------
    >>> wild = pa.DictionaryArray.from_arrays(pa.array([0, 9]), pa.array(["red"]), safe=False)
    >>> Inspector("a table").check(pa.record_batch({"color": wild}))
    Traceback (most recent call last):
    gramian.errors.DataError: column 'color' of a table is damaged: an index leads outside its dictionary of 1; write it again
    """

    def __init__(
        self, describe: str, error: type[DataError] = DataError, *, unlooked: frozenset[str] = frozenset()
    ) -> None:
        self._describe, self._error, self._unlooked = describe, error, unlooked
        self._dictionaries: dict[int, Any] = {}

    def check(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch; raise where a column of it cannot be read without harm."""
        for place, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
            try:
                if len(column) != batch.num_rows:
                    raise pa.ArrowInvalid(f"it has {len(column)} rows, and others {batch.num_rows}")
                self._check(column, place, name in self._unlooked)
            except (pa.ArrowInvalid, pa.ArrowIndexError, pa.ArrowTypeError) as error:
                raise self._error(_words(name, self._describe, error)) from error
        return batch

    def _check(self, column: pa.Array, place: int, unlooked: bool = False) -> None:
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        kind = column.type
        if pt.is_dictionary(kind):
            # Sizes of buffers, which costs nothing: what follows reads them.
            column.validate()
            self._check_dictionary(column, place, unlooked)
        elif pt.is_string(kind) or pt.is_large_string(kind):
            column.validate()
            if not _plain_text(column):
                column.validate(full=True)
        elif pt.is_date64(kind) or pt.is_time64(kind):
            column.validate()
            column.view(pa.int64()).validate(full=True)
        elif pt.is_time32(kind):
            column.validate()
            column.view(pa.int32()).validate(full=True)
        else:
            column.validate(full=True)

    def _check_dictionary(self, column: pa.Array, place: int, unlooked: bool) -> None:
        entries, indices = column.dictionary, column.indices
        # Held, so that its memory is not given to another meanwhile.
        if self._dictionaries.get(place) is None or not _same(self._dictionaries[place], entries):
            self._check(entries, -1)
            self._dictionaries[place] = entries
        # The number of nulls against the bits that say which.
        indices.validate(full=True)
        if not unlooked:
            _check_inside(indices, len(entries))


def check_indices(
    table: pa.Table | pa.RecordBatch,
    describe: str,
    error: type[DataError] = DataError,
    *,
    unlooked: frozenset[str] = frozenset(),
) -> None:
    """Raise where an index of a column of codes leads outside its dictionary; nothing else is looked at.

    The columns `unlooked` are left to whoever follows their indices.

    Examples
    --------
    >>> wild = pa.DictionaryArray.from_arrays(pa.array([0, 9]), pa.array(["red"]), safe=False)
    >>> check_indices(pa.table({"color": wild}), "a.parquet")
    Traceback (most recent call last):
    gramian.errors.DataError: column 'color' of a.parquet is damaged: an index leads outside its dictionary of 1; write it again
    """
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if pt.is_dictionary(column.type) and name not in unlooked:
            for part in getattr(column, "chunks", [column]):
                try:
                    _check_inside(part.indices, len(part.dictionary))
                except pa.ArrowInvalid as wrong:
                    raise error(_words(name, describe, wrong)) from wrong


def _words(name: str, describe: str, error: Exception) -> str:
    return f"column {name!r} of {describe} is damaged: {one_line(error)}; write it again"


def _check_inside(indices: pa.Array, n_entries: int) -> None:
    """Raise where an index that is not null leads outside a dictionary of so many entries."""
    if not len(indices):
        return
    width = indices.type.bit_width // 8
    values = np.frombuffer(indices.buffers()[1], _INTEGERS[width], len(indices), width * indices.offset)
    # Read as unsigned, what is negative is too large. Behind a null there may stand anything.
    if int(values.max()) >= n_entries:
        there = values if not indices.null_count else values[indices.is_valid().to_numpy(zero_copy_only=False)]
        if len(there) and int(there.max()) >= n_entries:
            raise pa.ArrowInvalid(f"an index leads outside its dictionary of {n_entries}")


def _same(a: pa.Array, b: pa.Array) -> bool:
    """Whether two arrays are the same memory."""
    if len(a) != len(b) or a.offset != b.offset or a.type != b.type:
        return False
    places = [[0 if each is None else each.address for each in array.buffers()] for array in (a, b)]
    return places[0] == places[1]


def _plain_text(column: pa.Array) -> bool:
    """Whether text is ASCII within buffers that fit: False where that is not certain."""
    bits, offset_buffer, data = column.buffers()
    n = len(column)
    if not n or offset_buffer is None:
        return False
    if bits is not None:
        # As booleans, of which only the nulls are looked at.
        pa.Array.from_buffers(pa.bool_(), n, [bits, bits], column.null_count, column.offset).validate(full=True)
    kind: Any = np.int64 if pt.is_large_string(column.type) else np.int32
    offsets = np.frombuffer(offset_buffer, kind, n + 1, np.dtype(kind).itemsize * column.offset)
    first, last = int(offsets[0]), int(offsets[-1])
    if not 0 <= first <= last <= (0 if data is None else data.size):
        return False
    if not bool((offsets[1:] >= offsets[:-1]).all()):
        return False
    text: npt.NDArray[np.int8] = (
        np.frombuffer(data, np.int8, last - first, first) if last > first else np.zeros(1, np.int8)
    )
    return int(text.min()) >= 0
