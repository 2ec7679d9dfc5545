"""Values as JSON has them, texts, finite numbers and lists; and figures as people read them, for templates."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import in_words
from gramian.design.schema import Column

MISSING = "(missing)"
_LONGEST = 80


def number(value: Any, digits: int = 6) -> float | int | None:
    """Return a number of a few significant digits, None where it is not finite.

    Examples
    --------
    >>> number(np.float64(3.14159265)), number(np.int64(7)), number(float("nan"))
    (3.14159, 7, None)
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    value = float(value)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def numbers(values: Iterable[Any] | npt.NDArray, digits: int = 4) -> list[float | int | None]:
    """Return numbers of a few significant digits, None where one is not finite."""
    return [number(value, digits) for value in np.asarray(values).tolist()]


def text(value: Any) -> str:
    """Return a label as text of bearable length.

    Examples
    --------
    >>> text(None), text("red"), text(2.0), len(text("x" * 500))
    ('(missing)', 'red', '2', 80)
    """
    if value is None:
        return MISSING
    if isinstance(value, float):
        shown = MISSING if np.isnan(value) else f"{value:.6g}"
    elif isinstance(value, datetime.datetime):
        shown = value.isoformat(sep=" ", timespec="seconds")
    else:
        shown = str(value)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def level_words(column: Column, label: Any) -> str:
    """Return a level as people say it: weekdays and months by name.

    Examples
    --------
    >>> day = Column("when_dayofweek", "category", "when", "dayofweek")
    >>> level_words(day, 0), level_words(day, None), level_words(Column("size", "category", "size"), "0")
    ('Monday', '(missing)', '0')
    """
    shown = text(label)
    if label is None or column.part not in ("dayofweek", "month", "hour") or not shown.isdigit():
        return shown
    if column.part == "hour":
        return f"{int(shown):02d}:00"
    names, first = (WEEKDAYS, 0) if column.part == "dayofweek" else (MONTHS, 1)
    at = int(shown) - first
    return names[at] if 0 <= at < len(names) else shown


def column_words(column: Column) -> str:
    """Return a column as people say it.

    Examples
    --------
    >>> column_words(Column("when_dayofweek", "category", "when", "dayofweek")), column_words(Column("size", "number", "size"))
    ('weekday of when', 'size')
    """
    words = {"dayofweek": "weekday", "month": "month", "hour": "hour"}
    return f"{words[column.part]} of {column.origin}" if isinstance(column.part, str) else column.name


def p_words(p: float | None) -> str:
    """Return a p-value as people write it.

    Examples
    --------
    >>> p_words(0.0), p_words(0.03214), p_words(2e-9), p_words(None)
    ('< 1e-300', '= 0.032', '= 2e-09', 'unknown')
    """
    if p is None:
        return "unknown"
    if p < 1e-300:
        return "< 1e-300"
    return f"= {p:.2g}"


# Filters of templates, each a function of its own name


def count(value: float | None) -> str:
    """Return a whole number with separators, a dash where there is none.

    Examples
    --------
    >>> count(1234567), count(None)
    ('1,234,567', '–')
    """
    return "–" if value is None else f"{value:,.0f}"


def figure(value: float | None, digits: int = 4) -> str:
    """Return a number of a few digits.

    Examples
    --------
    >>> figure(1948.2), figure(0.00012349), figure(12.0), figure(None)
    ('1,948', '0.0001235', '12', '–')
    """
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def share(value: float | None, digits: int = 1) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> share(0.1234), share(0.5, 0), share(None)
    ('12.3%', '50%', '–')
    """
    return "–" if value is None else f"{value:.{digits}%}"


def p_value(value: float | None) -> str:
    """Return a p-value without the sign of equality.

    Examples
    --------
    >>> p_value(0.03214), p_value(0.0)
    ('0.032', '< 1e-300')
    """
    return p_words(value).removeprefix("= ")


FILTERS = {"count": count, "figure": figure, "share": share, "p_value": p_value, "size": in_words}
