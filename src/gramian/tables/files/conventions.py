"""What the values of a CSV file tell about how it is written: its decimal point, grouped digits, dates, zeros in front.

Every rule looks at whole columns of a sample: a column is one of numbers by a convention where all of its values are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gramian.errors import Argument, DataError

SPACES = " \u00a0\u202f"
_CONVENTIONS = (
    (".", ""),
    (",", ""),
    (".", ","),
    (",", "."),
    (",", SPACES),
    (".", SPACES),
    (".", "'"),
    (".", "\u2019"),
)
"""(decimal, thousands), the first that fits all columns of numbers taken."""
_WHOLE = re.compile(r"[+-]?\d+")
LEADING_ZERO = re.compile(r"[+-]?0\d+")
_EITHER_DOT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_EITHER_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}-\d{2}-\d{2}")
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})((?: |T)\d{1,2}:\d{2}(:\d{2})?)?")


def number_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """Return what a number looks like with this decimal point and these signs between groups of digits."""
    point = re.escape(decimal)
    plain = rf"\d*{point}\d+|\d+{point}?"
    if thousands:
        group = f"[{re.escape(thousands)}]"
        plain = rf"\d{{1,3}}(?:{group}\d{{3}})+(?:{point}\d*)?|{plain}"
    return re.compile(rf"[+-]?(?:{plain})(?:[eE][+-]?\d+)?")


_PATTERNS = {convention: number_pattern(*convention) for convention in _CONVENTIONS}


def convention_of(
    columns: Mapping[str, list[str]], delimiter: str, given: Mapping[str, Any], path: str
) -> tuple[str, str]:
    """Return decimal point and grouping sign: the first convention by which most columns are numbers."""
    if "decimal" in given and "thousands" in given:
        return given["decimal"], given["thousands"]
    allowed = [
        (decimal, thousands)
        for decimal, thousands in _CONVENTIONS
        if decimal == given.get("decimal", decimal) and given.get("thousands", thousands) == thousands
    ] or [(given.get("decimal", "."), given.get("thousands", ""))]
    # Whole numbers and dates say nothing.
    telling = {
        name: values
        for name, values in columns.items()
        if values and not all(map(_WHOLE.fullmatch, values)) and not all(map(_DATE.fullmatch, values))
    }

    def fits(convention: tuple[str, str]) -> int:
        pattern = _PATTERNS.get(convention) or number_pattern(*convention)
        return sum(all(map(pattern.fullmatch, values)) for values in telling.values())

    best = max(allowed, key=fits)
    if "decimal" in given or "thousands" in given or not fits(best):
        return best
    return _unambiguous(best, telling, delimiter, path)


def _unambiguous(best: tuple[str, str], telling: Mapping[str, list[str]], delimiter: str, path: str) -> tuple[str, str]:
    """Return the convention where the sample decides it; between commas a comma in a number groups, as nothing else can."""
    numbers = {name: values for name, values in telling.items() if all(map(_PATTERNS[best].fullmatch, values))}
    either = {
        name
        for name, values in numbers.items()
        if all(_EITHER_DOT.fullmatch(value) or _WHOLE.fullmatch(value) for value in values)
        or all(_EITHER_COMMA.fullmatch(value) or _WHOLE.fullmatch(value) for value in values)
    }
    if either != set(numbers):
        return best
    name = min(either, key=list(telling).index)
    value = next(value for value in telling[name] if not _WHOLE.fullmatch(value))
    sign = "." if "." in value else ","
    if delimiter == ",":
        return (".", ",") if sign == "," else (".", "")
    raise DataError(
        f"column {name!r} of {path} holds {value}, which is {value.replace(sign, '')} or {value.replace(sign, '.')}; "
        "say which sign is the decimal point with ",
        Argument("csv", {"decimal": ","}),
        " or ",
        Argument("csv", {"decimal": "."}),
    )


def dates_of(columns: Mapping[str, list[str]]) -> tuple[list[str], list[str]]:
    """Return the formats of columns of dates, and the columns whose order is not to be seen."""
    formats: list[str] = []
    undecided = []
    for name, values in columns.items():
        parts = [_DATE.fullmatch(value) for value in values]
        if not values or not all(parts) or len({part[2] for part in parts if part}) > 1:
            continue
        shapes = {(len(part[4]), bool(part[5]), bool(part[6])) for part in parts if part}
        if len(shapes) > 1:
            continue
        sign = parts[0][2] if parts[0] else "."
        first = max(int(part[1]) for part in parts if part)
        second = max(int(part[3]) for part in parts if part)
        if sign == "." or first > 12 >= second:
            order = ("%d", "%m")
        elif second > 12 >= first:
            order = ("%m", "%d")
        else:
            undecided.append(name)
            continue
        (digits, timed, seconds), between = shapes.pop(), " "
        clock = f"{between}%H:%M{':%S' if seconds else ''}" if timed else ""
        pattern = sign.join([*order, "%Y" if digits == 4 else "%y"]) + clock
        if pattern not in formats:
            formats.append(pattern)
    return formats, undecided
