"""One schema for many files or batches, and every batch brought to it.

Two files of one call agree where their values mean the same thing: a column without any value (Arrow's null
type) agrees with anything, integers of different width widen to int64, an integer and a float to float64, and
text is text whether it is plain, large, or dictionary-encoded. All else (a date and a timestamp, text and a
number) is an error that names both.

The Arrow type of a column of Python objects: one kind of value, or an error that names the two found.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from gramian.errors import Argument, DataError
from gramian.tables.failures import one_line

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
    said, first_said = ("text" if is_text(k) else str(k) for k in (kind, first_kind))
    return DataError(f"column {column!r} is {said} in {name} but {first_said} in {first_name}; {step}")


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
                f"column {f.name!r} of {name} cannot be read as {f.type} ({message}); leave it out with ",
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
