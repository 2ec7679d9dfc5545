"""A few rows given as Python values, encoded by dictionaries that are made once per fitted model.

One row through Arrow takes a millisecond, of which next to nothing is spent on the row. Here a value is looked up in a dict by
its label, and nothing else is called. A value that is not plainly what the column holds (another type, an infinite number, a
time with a zone, a number of numpy's other types) gives None for all rows: the general path then answers, or raises its error.
"""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.design.bins import Bins
from gramian.design.schema import Column, Labels

if TYPE_CHECKING:
    from gramian.maps.projection import Design

MOST = 64
"""Rows from which the general path is as fast."""

_PLAIN = frozenset({str, int, float, bool, type(None), datetime.datetime, datetime.date})
_KINDS: dict[str, frozenset[type]] = {
    "text": frozenset({str}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
}
_LONG = 2**63
_EXACT = 2**53


class NotPlain(Exception):
    """A value that the general path has to look at."""


def rows_in(X: Any, origins: list[str]) -> list[Mapping[str, Any]] | None:
    """Return X as a few rows by column name; None where it is anything else than dicts, or a frame of one row."""
    if type(X) is dict:
        return [X] if _has(X, origins, alone=True) else None
    if type(X) is list:
        fine = 0 < len(X) <= MOST and all(type(row) is dict and _has(row, origins, alone=len(X) == 1) for row in X)
        return X if fine else None
    library = type(X).__module__.partition(".")[0]
    if library in ("pandas", "polars") and type(X).__name__ == "DataFrame" and len(X) == 1:
        return _of_frame(X, library, origins)
    return None


def _has(row: dict[Any, Any], origins: list[str], *, alone: bool) -> bool:
    """Whether a row has the columns, and beside them nothing that could be refused."""
    if not all(name in row for name in origins):
        return False
    if len(row) == len(origins):
        return True
    return alone and all(type(name) is str and type(value) in _PLAIN for name, value in row.items())


def _of_frame(frame: Any, library: str, origins: list[str]) -> list[Mapping[str, Any]] | None:
    names = list(frame.columns)
    if any(type(name) is not str for name in names) or len(set(names)) < len(names) or not set(origins) <= set(names):
        return None
    if library == "polars":
        return None if "Float32" in map(str, frame.dtypes) else [frame.row(0, named=True)]
    row, at = {}, {name: place for place, name in enumerate(names)}
    for name in origins:
        value = frame.iat[0, at[name]]
        if isinstance(value, np.generic):
            if value.dtype == np.float32:
                # Float32 throughout gives float32.
                return None
            value = value.item()
        row[name] = value
    return [row]


class FewRows:
    """The plan of a design: a function per column from a value to its code, or its number."""

    def __init__(self, design: Design) -> None:
        self._origins = design.origins
        pairs = zip(design.categorical, design.labels, strict=True)
        self._codes = [(column.origin, _coder(column, labels)) for column, labels in pairs]
        offsets = np.zeros(len(design.numeric)) if design.offsets is None else design.offsets
        self._numbers = [(column.origin, int(offset)) for column, offset in zip(design.numeric, offsets, strict=True)]
        self._dtype = design.code_dtype

    def encode(self, X: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]] | None:
        """Return codes, (columns, n), and numbers, (n, columns), of a few rows; None where X is something else."""
        rows = rows_in(X, self._origins)
        if rows is None:
            return None
        try:
            codes = [[code(row[origin]) for row in rows] for origin, code in self._codes]
            numbers = [[_number(row[origin], offset) for origin, offset in self._numbers] for row in rows]
            if len(rows) > 1:
                _refuse_mixtures(rows, self._origins)
        except NotPlain:
            return None
        shape = (len(self._codes), len(rows))
        read = np.array(numbers, dtype=np.float64, order="F").reshape(len(rows), len(self._numbers))
        return np.array(codes, dtype=self._dtype).reshape(shape), read


def _refuse_mixtures(rows: list[Mapping[str, Any]], origins: list[str]) -> None:
    """Raise where rows together hold values that Arrow would read in one type, and each row alone in another."""
    for name in origins:
        kinds = {type(row[name]) for row in rows} - {type(None)}
        if len(kinds) > 1 and (kinds != {int, float} or any(abs(row[name] or 0) > _EXACT for row in rows)):
            raise NotPlain


def _number(value: Any, offset: int) -> float:
    kind = type(value)
    if kind is float:
        if value - value == 0.0:
            return value - offset if offset else value
        if value != value:
            return value
        raise NotPlain
    if kind is int and -_LONG <= value < _LONG:
        return float(value - offset)
    if value is None:
        return float("nan")
    raise NotPlain


def _coder(column: Column, labels: Labels) -> Callable[[Any], int]:
    """Return a function from a value of a column to its code."""
    unseen = len(labels)
    known = _known(labels)
    missing = known.pop(None, unseen)
    find = known.get
    if isinstance(column.part, Bins):
        return _of_bins(column.part, labels, missing)
    if isinstance(column.part, str):
        return _of_dates(column.part, known, missing, unseen)
    kinds = _KINDS.get(labels.family, frozenset())

    def code(value: Any) -> int:
        kind = type(value)
        if kind in kinds:
            found = find(value)
            if found is not None:
                return found
            if value == value:
                return unseen if _readable(kind, value) else _give_up()
            return missing
        if value is None or (kind is float and value != value):
            return missing
        raise NotPlain

    return code


def _readable(kind: type, value: Any) -> bool:
    """Whether Arrow can hold a value: not a whole number beyond 64 bits, or half a character."""
    if kind is int:
        return -_LONG <= value < _LONG
    return kind is not str or value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _give_up() -> NoReturn:
    raise NotPlain


def _known(labels: Labels) -> dict[Any, int]:
    """Return the code of each label, those that were pooled too; of None that of a missing value."""
    known: dict[Any, int] = {}
    for values in (labels.pooled, labels.values):
        codes = labels.codes(values).tolist() if len(values) else []
        known |= {key: code for key, code in zip(values.to_pylist(), codes, strict=True) if code >= 0}
    return known


def _of_bins(bins: Bins, labels: Labels, missing: int) -> Callable[[Any], int]:
    unseen, edges, m = len(labels), list(bins.edges), len(bins.edges)
    codes = [code if code >= 0 else unseen for code in labels.codes(pa.array(bins.names)).tolist()]
    own: dict[float, int] = dict(zip(bins.own, codes[m + 1 :], strict=True))

    def code(value: Any) -> int:
        number = _number(value, 0)
        if number != number:
            return missing
        return own[number] if number in own else codes[bisect_right(edges, number)]

    return code


def _of_dates(part: str, known: dict[Any, int], missing: int, unseen: int) -> Callable[[Any], int]:
    day, hour = part == "dayofweek", part == "hour"

    def code(value: Any) -> int:
        if value is None or value != value:
            return missing
        if isinstance(value, datetime.datetime):
            if value.tzinfo is not None:
                raise NotPlain
        elif hour or type(value) is not datetime.date:
            raise NotPlain
        return known.get(value.weekday() if day else value.hour if hour else value.month, unseen)

    return code
