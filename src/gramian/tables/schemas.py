"""One schema for many files or batches, checks of data from other libraries, and failures in one line.

What goes wrong while a file is read, in one line that names the file.

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

One schema for many files or batches, and every batch brought to it.

Two files of one call agree where their values mean the same thing: a column without any value (Arrow's null
type) agrees with anything, integers of different width widen to int64, an integer and a float to float64, and
text is text whether it is plain, large, or dictionary-encoded. All else (a date and a timestamp, text and a
number) is an error that names both.

The Arrow type of a column of Python objects: one kind of value, or an error that names the two found.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gramian.errors import (
    Argument,
    DataError,
    FileFormatError,
    GramianError,
    MemoryLimitError,
    SourceNotFoundError,
    type_words,
)


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
        if self._dictionaries.get(place) is None or not same_memory(self._dictionaries[place], entries):
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


def same_memory(a: pa.Array, b: pa.Array) -> bool:
    """Whether two arrays are the same memory, so that what is known of one is true of the other."""
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


def offsets_and_letters(texts: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
    """Return where texts begin and end among their letters, and these, as they lie in memory.

    Examples
    --------
    >>> offsets, letters = offsets_and_letters(pa.array(["red", "blue"])[1:])
    >>> offsets, bytes(letters[offsets[0] : offsets[1]])
    (array([3, 7], dtype=int32), b'blue')
    """
    kind: Any = np.int64 if pt.is_large_string(texts.type) else np.int32
    _, offsets, letters = texts.buffers()
    if not len(texts):
        return np.zeros(1, kind), np.empty(0, np.uint8)
    places = np.frombuffer(offsets, kind, len(texts) + 1, np.dtype(kind).itemsize * texts.offset)
    return places, np.frombuffer(b"" if letters is None else letters, np.uint8)


_NEXT_STEP = "leave it out with exclude=[{name!r}], choose others with columns=, or fix its type{numeric}"


def is_text(kind: pa.DataType) -> bool:
    """Whether values are text, plain or dictionary-encoded."""
    if pt.is_dictionary(kind):
        kind = kind.value_type
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def observed(values: pa.Array) -> bool:
    """Whether any value is there: neither null nor NaN. Where none is, the type says nothing.

    Examples
    --------
    >>> observed(pa.array([float("nan"), None])), observed(pa.array([None, "red"]))
    (False, True)
    """
    if values.null_count == len(values):
        return False
    return not (pt.is_floating(values.type) and pc.all(pc.is_null(values, nan_is_null=True)).as_py())


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return `kind` without what kernels downstream do not take: views and run ends become plain."""
    if pt.is_string_view(kind):
        return pa.large_string()
    if pt.is_binary_view(kind):
        return pa.large_binary()
    if pt.is_dictionary(kind):
        return pa.dictionary(kind.index_type, plain_type(kind.value_type), kind.ordered)
    if pt.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    return kind


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return `schema` with `plain_type` applied to every field, and without metadata."""
    try:
        return pa.schema([pa.field(f.name, plain_type(f.type)) for f in schema])
    except UnicodeDecodeError as error:
        raise DataError("the name of a column is not UTF-8 text; rename it") from error


def as_numbers(schema: pa.Schema, numeric: Iterable[str]) -> pa.Schema:
    """Return `schema` with the integer, boolean and empty columns named in `numeric` as float64.

    A stream declares its types before the later batches are seen: a column that starts with integers and goes
    on with fractions is kept whole by saying so.
    """
    chosen = set(numeric)
    fields = []
    for f in schema:
        if f.name in chosen and (pt.is_integer(f.type) or pt.is_null(f.type) or pt.is_floating(f.type)):
            f = pa.field(f.name, pa.float64())
        fields.append(pa.field(f.name, f.type))
    return pa.schema(fields)


def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the type that holds the values of both, or None where they do not mean the same.

    Examples
    --------
    >>> import pyarrow as pa
    >>> common_type(pa.int32(), pa.float32())
    DataType(double)
    >>> common_type(pa.date32(), pa.timestamp("us")) is None
    True
    """
    if a.equals(b) or pt.is_null(b):
        return a
    if pt.is_null(a):
        return b
    if is_text(a) and is_text(b):
        plain = [kind.value_type if pt.is_dictionary(kind) else kind for kind in (a, b)]
        text = pa.string() if all(pt.is_string(kind) for kind in plain) else pa.large_string()
        encoded = pt.is_dictionary(a) or pt.is_dictionary(b)
        return pa.dictionary(pa.int32(), text) if encoded else text
    if pt.is_integer(a) and pt.is_integer(b):
        return pa.uint64() if pt.is_unsigned_integer(a) and pt.is_unsigned_integer(b) else pa.int64()
    if (pt.is_integer(a) or pt.is_floating(a)) and (pt.is_integer(b) or pt.is_floating(b)):
        return pa.float64()
    if pt.is_dictionary(a) and pt.is_dictionary(b):
        values = common_type(a.value_type, b.value_type)
        return None if values is None else pa.dictionary(pa.int32(), values)
    if pt.is_timestamp(a) and pt.is_timestamp(b) and a.tz == b.tz:
        return _finer(a, b)
    if (pt.is_duration(a) and pt.is_duration(b)) or (pt.is_time(a) and pt.is_time(b)):
        return _finer(a, b)
    if pt.is_decimal(a) and pt.is_decimal(b):
        scale = max(a.scale, b.scale)
        return pa.decimal256(min(76, max(a.precision - a.scale, b.precision - b.scale) + scale), scale)
    return None


def _finer(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    units = ["s", "ms", "us", "ns"]
    return a if units.index(a.unit) >= units.index(b.unit) else b


def merge_schemas(
    schemas: Iterable[tuple[str, pa.Schema]], *, numeric: Iterable[str] = (), fill: bool = False
) -> tuple[pa.Schema, dict[str, DataError]]:
    """Return one schema for all, in the column order of the first, and what is wrong with columns that do not agree.

    Such a column has the null type. It matters only to those who read it: others leave it out.

    Parameters
    ----------
    schemas
        Pairs of a name for error messages (a file, ``"batch 3"``) and a schema.
    numeric
        Columns that are read as float64 whatever the single schemas say, where that is possible.
    fill
        Whether a column that some lack is one of all, after those of the first.
    """
    named = list(schemas)
    first_name, first = named[0]
    kinds = {f.name: f.type for f in first}
    origin = dict.fromkeys(kinds, first_name)
    disputed: dict[str, DataError] = {}
    for name, schema in named[1:]:
        if not fill:
            for column, error in differing_columns(first.names, schema.names, first_name, name).items():
                disputed.setdefault(column, error)
        for f in schema:
            if f.name in disputed:
                continue
            known = kinds.setdefault(f.name, pa.null())
            origin.setdefault(f.name, name)
            merged = common_type(known, f.type)
            if merged is None:
                disputed[f.name] = type_conflict(f.name, name, f.type, origin[f.name], known)
                continue
            if pt.is_null(known) and not pt.is_null(merged):
                origin[f.name] = name
            kinds[f.name] = merged
    kinds |= dict.fromkeys(disputed, pa.null())
    return as_numbers(pa.schema(list(kinds.items())), set(numeric) - set(disputed)), disputed


def differing_columns(first: list[str], other: list[str], first_name: str, other_name: str) -> dict[str, DataError]:
    """Return an error for each column that only one of two lists has."""
    if first == other:
        return {}
    here, there = set(first), set(other)

    def differs(name: str, words: str) -> DataError:
        step = ("; leave it out with ", Argument("exclude", [name]), ", or take it as missing there with ")
        return DataError(words, *step, Argument("missing", "fill"))

    lacking = {
        name: differs(name, f"{other_name} has no column {name!r}, which {first_name} has")
        for name in first
        if name not in there
    }
    return lacking | {
        name: differs(name, f"{other_name} has a column {name!r}, which {first_name} has not")
        for name in other
        if name not in here
    }


def require_same_columns(first: list[str], other: list[str], first_name: str, other_name: str) -> None:
    """Raise `DataError` where two column lists differ as sets."""
    for error in differing_columns(first, other, first_name, other_name).values():
        raise error


def type_conflict(column: str, name: str, kind: pa.DataType, first_name: str, first_kind: pa.DataType) -> DataError:
    """Return the error for one column of two types."""
    numbers = all(pt.is_integer(k) or pt.is_floating(k) for k in (kind, first_kind))
    step = _NEXT_STEP.format(name=column, numeric=f" (numeric=[{column!r}] for numbers)" if numbers else "")
    said, first_said = (type_words(k) for k in (kind, first_kind))
    return DataError(f"column {column!r} holds {said} in {name} but {first_said} in {first_name}; {step}")


def cast_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return `array` as `kind`; the pairs that Arrow's own cast does not know go through the plain type."""
    if array.type.equals(kind):
        return array
    if pt.is_dictionary(kind):
        if pt.is_dictionary(array.type):
            # Cast the few values, not the many codes: the codes stay as they are.
            values = cast_array(array.dictionary, kind.value_type)
            codes = array.indices.cast(kind.index_type)
            return pa.DictionaryArray.from_arrays(codes, values, ordered=kind.ordered, safe=False)
        return cast_array(cast_array(array, kind.value_type).dictionary_encode(), kind)
    if pt.is_run_end_encoded(array.type):
        return cast_array(pc.run_end_decode(array), kind)
    if isinstance(array, pa.ExtensionArray):
        return cast_array(array.storage, kind)
    return array.cast(kind)


def conform(batch: pa.RecordBatch, schema: pa.Schema, name: str, *, fill: bool = False) -> pa.RecordBatch:
    """Return the columns of `schema` from `batch`, in its order and types; other columns are left out.

    Where `fill` is set, a column that the batch lacks is missing values.
    """
    if batch.schema.equals(schema, check_metadata=False):
        return batch
    arrays = []
    there = set(batch.schema.names)
    for f in schema:
        if fill and f.name not in there:
            arrays.append(pa.nulls(batch.num_rows, f.type))
            continue
        array = batch.column(f.name)
        if common_type(array.type, f.type) is None and not observed(array):
            # pandas makes floats of a column without values.
            array = pa.nulls(len(array))
        try:
            arrays.append(cast_array(array, f.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            message = " ".join(str(error).split())
            raise DataError(
                f"column {f.name!r} of {name} cannot be read as {type_words(f.type)} ({message}); leave it out with ",
                Argument("exclude", [f.name]),
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def subset(schema: pa.Schema, columns: Iterable[str]) -> pa.Schema:
    """Return the fields of `schema` named in `columns`, in that order."""
    return pa.schema([schema.field(name) for name in columns])


_MISSING = {"NoneType", "NAType", "NaTType"}


def type_of_objects(values: np.ndarray, column: str, describe: str) -> pa.DataType:
    """Return the one Arrow type of `values`, missing ones (None, NaN, NA, NaT) left aside.

    Whole and fractional numbers together are float64. Anything else of two kinds raises `DataError`: Arrow's
    own message names neither the column nor both kinds.
    """
    kinds = {t for t in set(map(type, values)) if t.__name__ not in _MISSING}
    floats = {t for t in kinds if issubclass(t, float | np.floating)}
    families: dict[str, type] = {}
    for kind in sorted(kinds - floats, key=lambda t: t.__name__):
        families.setdefault(_family(kind), kind)
    # NaN is a float that means "missing" in columns of other values.
    if floats and (not families or set(families) == {"int"} or _has_number(values, floats)):
        families["float"] = next(iter(floats))
    if set(families) == {"int", "float"}:
        return pa.float64()
    if len(families) > 1:
        a, b = sorted(kind.__name__ for kind in list(families.values())[:2])
        raise DataError(
            f"column {column!r} of {describe} mixes {a} and {b}; convert it to one type, or leave it out with ",
            Argument("exclude", [column]),
        )
    known = {"str": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "float": pa.float64()}
    family = next(iter(families), None)
    if family == "int" and any(not isinstance(v, float) and 2**63 <= v < 2**64 for v in values if type(v) in kinds):
        known["int"] = pa.uint64()
    if family is None:
        return pa.null()
    return known[family] if family in known else arrow_array(values, None, column, describe).type


def _family(kind: type) -> str:
    if issubclass(kind, bool | np.bool_):
        return "bool"
    if issubclass(kind, numbers.Integral):
        return "int"
    if issubclass(kind, str):
        return "str"
    if issubclass(kind, complex | np.complexfloating):
        return "complex"
    return kind.__name__


def _has_number(values: np.ndarray, floats: set[type]) -> bool:
    return any(type(value) in floats and value == value for value in values)


def arrow_array(values: Any, kind: pa.DataType | None, column: str, describe: str) -> pa.Array:
    """Return Python objects as an Arrow array with None, NaN, NA and NaT as nulls."""
    try:
        return pa.array(values, type=kind, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(
            f"column {column!r} of {describe} cannot be used: {one_line(error)}; leave it out with ",
            Argument("exclude", [column]),
        ) from error
