"""The Arrow type of a column of Python objects: one kind of value, or an error that names the two found."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pyarrow as pa

from gramian.errors import Argument, DataError
from gramian.tables.failures import one_line

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
