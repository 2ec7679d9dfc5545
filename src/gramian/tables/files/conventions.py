"""What the values of a text file tell about how it is written: its decimal point, grouped digits, dates, zeros in front.

Every rule looks at whole columns of a sample: a column is one of numbers by a convention where all of its values are.

Words such as `NA` stand for a missing value (`WORDS`) where all other values of their column are numbers or dates: in CSV
files, JSON lines and spreadsheets alike. Among texts they stay texts: a country may be called NA. A word that the user
names is missing in every column.
"""

from __future__ import annotations

import datetime as dt
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.types as pt

from gramian.errors import Argument, DataError, shown
from gramian.tables.schemas import is_text, offsets_and_letters

WORDS = frozenset(
    (
        *("NA", "N/A", "n/a", "na", "n.a.", "N.A.", "#N/A", "#NA", "#N/A N/A", "NaN", "nan", "-NaN", "-nan"),
        *("NULL", "Null", "null", "None", "none", "-", "--", "?", ".", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    )
)
"""What stands for a missing value among numbers and dates."""

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
WHOLE = re.compile(r"[+-]?\d+")
LEADING_ZERO = re.compile(r"[+-]?0\d+")
_EITHER_DOT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_EITHER_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?Z?")
DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}-\d{2}-\d{2}")
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})((?: |T)\d{1,2}:\d{2}(:\d{2})?)?")


def number_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """Return what a number looks like with this decimal point and these signs between groups of digits."""
    point = re.escape(decimal)
    plain = rf"\d*{point}\d+|\d+{point}?"
    if thousands:
        group = f"[{re.escape(thousands)}]"
        plain = rf"\d{{1,3}}(?:{group}\d{{3}})+(?:{point}\d*)?|{plain}"
    return re.compile(rf"[+-]?(?:(?:{plain})(?:[eE][+-]?\d+)?|[iI]nf)")


def leading_zero(texts: pa.Array) -> int | None:
    """Return the place of the first whole number that begins with a zero, as a postal code may; None where there is none.

    Examples
    --------
    >>> leading_zero(pa.array(["0", "0.5", None, "10115", " 01234"])), leading_zero(pa.array(["0", "7"]))
    (4, None)
    """
    starts, data = offsets_and_letters(texts)
    if not data.size:
        return None
    # Of the many numbers few begin with a zero, or with a sign or a space, which come before it: those are looked at in full.
    likely = np.flatnonzero(data[np.minimum(starts[:-1], len(data) - 1)] <= ord("0"))
    likely = likely[starts[likely + 1] - starts[likely] > 1]
    head, second = data[starts[likely]], data[starts[likely] + 1]
    likely = likely[(head == ord("0")) | (second == ord("0")) | (head <= ord(" "))]
    found = pc.match_substring_regex(texts.take(pa.array(likely)), rf"^\s*{LEADING_ZERO.pattern}\s*$")
    at = pc.index(found, True).as_py()
    return int(likely[at]) if at >= 0 else None


def may_have_leading_zeros(data: pa.Buffer, delimiter: str) -> bool:
    r"""Whether any field of some lines may be a whole number that begins with a zero: a quick look at the bytes.

    Examples
    --------
    >>> may_have_leading_zeros(pa.py_buffer(b"a;b\n7;01.02.2025\n"), ";"), may_have_leading_zeros(pa.py_buffer(b"a\n01\n"), ";")
    (False, True)
    """
    ends = pa.array([0, data.size], pa.int64()).buffers()[1]
    lines = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, ends, data])
    between = rf"[{re.escape(delimiter)}\r\n\"]"
    field = rf"(?:^|{between})\s*{LEADING_ZERO.pattern}\s*(?:{between}|$)"
    return bool(pc.match_substring_regex(lines, field)[0].as_py())


_PATTERNS = {convention: number_pattern(*convention) for convention in _CONVENTIONS}


def convention_of(
    columns: Mapping[str, list[str]],
    delimiter: str,
    given: Mapping[str, Any],
    path: str,
    rows: Mapping[str, int] | None = None,
) -> tuple[str, str]:
    """Return decimal point and grouping sign: the first convention by which most columns are numbers.

    `rows` has the row of the first value with a sign in a column, for the message where that row is known.
    """
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
        if values and not all(map(WHOLE.fullmatch, values)) and not all(map(_DATE.fullmatch, values))
    }

    def fits(convention: tuple[str, str]) -> int:
        pattern = _PATTERNS.get(convention) or number_pattern(*convention)
        return sum(all(map(pattern.fullmatch, values)) for values in telling.values())

    best = max(allowed, key=fits)
    if "decimal" in given or "thousands" in given or not fits(best):
        return best
    return _unambiguous(best, telling, delimiter, path, rows or {})


def _unambiguous(
    best: tuple[str, str], telling: Mapping[str, list[str]], delimiter: str, path: str, rows: Mapping[str, int]
) -> tuple[str, str]:
    """Return the convention where the sample decides it; between commas a comma in a number groups, as nothing else can."""
    numbers = {name: values for name, values in telling.items() if all(map(_PATTERNS[best].fullmatch, values))}
    either = {
        name
        for name, values in numbers.items()
        if all(_EITHER_DOT.fullmatch(value) or WHOLE.fullmatch(value) for value in values)
        or all(_EITHER_COMMA.fullmatch(value) or WHOLE.fullmatch(value) for value in values)
    }
    if either != set(numbers):
        return best
    name = min(either, key=list(telling).index)
    value = next(value for value in telling[name] if not WHOLE.fullmatch(value))
    if delimiter == ",":
        return (".", ",") if "," in value else (".", "")
    raise _either(value, name, path, rows.get(name))


def refuse_either(texts: pa.Array, name: str, path: str, row: int) -> None:
    """Raise where the one sign of a number, `row` rows into its file, may group its digits or be its decimal point."""
    found = pc.match_substring_regex(texts, rf"^\s*(?:{_EITHER_DOT.pattern}|{_EITHER_COMMA.pattern})\s*$")
    place = pc.index(found, True).as_py()
    if place >= 0:
        raise _either(texts[place].as_py().strip(), name, path, row + place + 1)


def _either(value: str, name: str, path: str, row: int | None) -> DataError:
    sign, at = "." if "." in value else ",", "" if row is None else f" in row {row}"
    return DataError(
        f"column {name!r} of {path} holds {value}{at}, which is {value.replace(sign, '')} or {value.replace(sign, '.')}; "
        "say which sign is the decimal point with ",
        Argument("csv", {"decimal": ","}),
        " or ",
        Argument("csv", {"decimal": "."}),
    )


def grouping_sign(value: str, decimal: str) -> str:
    """Return the sign that groups the digits of a number with this decimal point, "" where none does.

    Examples
    --------
    >>> grouping_sign("1.200,5", ","), grouping_sign("1.5", ","), grouping_sign("1,200", ".")
    ('.', '', ',')
    """
    if _PATTERNS[decimal, ""].fullmatch(value):
        return ""
    groups = (sign for point, sign in _CONVENTIONS if point == decimal and sign)
    return next((sign for sign in groups if _PATTERNS[decimal, sign].fullmatch(value)), "")


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
        if pattern not in formats and all(is_date(value, pattern) for value in set(values)):
            formats.append(pattern)
    return formats, undecided


def is_date(value: str, pattern: str) -> bool:
    """Whether a text is a day that the calendar has, written in a format."""
    try:
        dt.datetime.strptime(value, pattern)
    except ValueError:
        return False
    return True


def checked_words(given: Any) -> tuple[str, ...]:
    """Return the words that the user names, of which there may be one.

    Examples
    --------
    >>> checked_words("unknown"), checked_words(["-9", "x"]), checked_words(None)
    (('unknown',), ('-9', 'x'), ())
    """
    words = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(words, list | tuple | set | frozenset) or not all(isinstance(word, str) for word in words):
        raise DataError(Argument("csv"), f" takes a list of texts for na; got {shown(given)}")
    return tuple(words)


def without_words(values: list[str], words: Iterable[str] = ()) -> list[str]:
    """Return the values that do not stand for a missing one.

    Examples
    --------
    >>> without_words(["1,5", "NA", "-", "x"], ["x"])
    ['1,5']
    """
    missing = WORDS.union(words)
    return [value for value in values if value not in missing]


CLEAR_WORDS = frozenset(("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null"))
"""Words that are worth a line where they stay texts."""
MOST_WORDS = 3
_LEAST_SHARE = 0.8


def spoiling_words(column: pa.ChunkedArray) -> tuple[str, float, dict[str, int]] | None:
    """Return what a column of texts would hold without a few words, the share of these values, and rows by word.

    None where that is text as well: where less than four values in five are numbers, or dates, or where the others are more
    than a few words.

    Examples
    --------
    >>> spoiling_words(pa.chunked_array([["1,5", "2", "3", "4", "5", "6", "7", "unknown"]]))
    ('numbers', 0.875, {'unknown': 1})
    """
    counts = pc.value_counts(column.drop_null()).to_pylist()
    rows = {each["values"].strip(): each["counts"] for each in counts if each["values"].strip() not in WORDS}
    total = sum(rows.values())
    found = []
    numbers = tuple(pattern.fullmatch for pattern in _PATTERNS.values())
    for kind, readings in (("numbers", numbers), ("dates", (_is_day, _is_iso_day))):
        for reads in readings:
            words: dict[str, int] = {}
            for value, count in rows.items():
                if not reads(value) or LEADING_ZERO.fullmatch(value):
                    words[value] = count
                    if len(words) > MOST_WORDS:
                        break
            share = 1 - sum(words.values()) / total if total else 0.0
            # A number that is written in another way is not a missing one.
            signed = kind == "numbers" and any(is_written_number(word) and not WHOLE.fullmatch(word) for word in words)
            if 0 < len(words) <= MOST_WORDS and share >= _LEAST_SHARE and not signed:
                found.append((kind, share, words))
    return min(found, key=lambda each: len(each[2]), default=None)


def _is_day(value: str) -> bool:
    """Whether a text is a day that the calendar has, the day first; but for points, the month may be first."""
    part = _DATE.fullmatch(value)
    if part is None:
        return False
    sign, year = part[2], "%Y" if len(part[4]) == 4 else "%y"
    day = value[: part.end(4)]
    return any(is_date(day, sign.join([*order, year])) for order in (("%d", "%m"), ("%m", "%d"))[: 1 + (sign != ".")])


def _is_iso_day(value: str) -> bool:
    return _ISO.fullmatch(value) is not None and is_date(value[:10], "%Y-%m-%d")


def is_written_number(text: str) -> bool:
    """Whether a text is a number with any decimal point and any sign between groups of digits.

    Examples
    --------
    >>> is_written_number("1.200,5"), is_written_number("-7"), is_written_number("lost")
    (True, True, False)
    """
    return any(pattern.fullmatch(text) for pattern in _PATTERNS.values())


_TYPED = re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}|{DATE.pattern}|\d{{1,2}}:\d{{2}}|(?i:true|false)$|[+-]?(?i:inf)")


def may_be_typed(head: pa.Array, decimal: str, words: Iterable[str] = (), date_format: str | None = None) -> bool:
    """Whether the first texts of a column look like numbers or dates, but for words that stand for a missing value.

    Examples
    --------
    >>> may_be_typed(pa.array(["1,5", "NA"]), ","), may_be_typed(pa.array(["1,5", "red"]), ",")
    (True, False)
    """
    number = number_pattern(decimal, "")
    some = [value.strip() for value in head.slice(0, 1000).to_pylist() if value]
    return all(
        number.fullmatch(value) or _TYPED.match(value) or (date_format and is_date(value, date_format))
        for value in without_words(some, words)
    )


def texts_without(column: pa.Array, words: Sequence[str]) -> pa.Array:
    """Return a column of texts, some of them as missing values.

    Examples
    --------
    >>> texts_without(pa.array(["red", "unknown"]).dictionary_encode(), ["unknown"]).to_pylist()
    ['red', None]
    """
    if pt.is_dictionary(column.type):
        # The codes follow the few texts.
        known = pc.is_in(column.dictionary, value_set=pa.array(words, column.dictionary.type))
        indices = pc.if_else(known.take(column.indices), None, column.indices)
        return pa.DictionaryArray.from_arrays(indices.cast(column.indices.type), column.dictionary)
    return pc.if_else(pc.is_in(column, value_set=pa.array(words, column.type)), None, column)


class UnreadableError(ValueError):
    """A text that cannot be read as what its column holds."""


def kind_of_texts(
    texts: pa.Array, *, words: Iterable[str] = (), formats: Sequence[str] = (), decimal: str = ".", empty: bool = False
) -> pa.DataType | None:
    """Return the type of texts once those that stand for a missing value are left out; None where they remain texts.

    Parameters
    ----------
    texts : Array of strings
    words : what stands for a missing value beside `WORDS`
    formats : dates that may occur beside ISO 8601
    decimal : the decimal point
    empty : whether an empty text stands for a missing value too

    Examples
    --------
    >>> kind_of_texts(pa.array(["1,5", "NA", None]), decimal=",")
    DataType(double)
    >>> kind_of_texts(pa.array(["28.02.2025", "-"]), formats=["%d.%m.%Y"])
    DataType(date32[day])
    >>> kind_of_texts(pa.array(["30.02.2025", "-"]), formats=["%d.%m.%Y"]), kind_of_texts(pa.array(["a", "NA"]))
    (None, None)
    """
    left = _there(texts, words).drop_null().unique()
    if not len(left):
        return None if pc.any(pc.equal(texts, "")).as_py() and not empty else pa.null()
    if not empty and pc.any(pc.equal(texts, "")).as_py():
        return None
    if pc.any(pc.match_substring_regex(left, r"^[+-]?0\d+$|[\x00-\x1f\"]")).as_py():
        return None
    timed = pa.timestamp("s")
    try:
        if formats:
            _dates(left, timed, formats)
            return timed if pc.any(pc.match_substring(left, ":")).as_py() else pa.date32()
    except UnreadableError:
        pass
    lines = io.BytesIO("\n".join(["x", *left.to_pylist()]).encode())
    read = csv.read_csv(
        lines,
        read_options=csv.ReadOptions(use_threads=False, block_size=len(lines.getbuffer()) + 1),
        parse_options=csv.ParseOptions(delimiter="\x1f", quote_char=False),
        convert_options=csv.ConvertOptions(decimal_point=decimal, null_values=[]),
    )
    kind = read.schema.types[0]
    return None if is_text(kind) or pt.is_binary(kind) else kind


def values_of_texts(
    texts: pa.Array,
    kind: pa.DataType,
    *,
    words: Iterable[str] = (),
    formats: Sequence[str] = (),
    decimal: str = ".",
    thousands: str = "",
) -> pa.Array:
    """Return texts as values of a type, what stands for a missing one as null.

    Dates are days that the calendar has: Arrow's own parser takes 30.02. for the second of March.

    Raises
    ------
    UnreadableError
        With the first text that is not of that type.

    Examples
    --------
    >>> values_of_texts(pa.array(["1.234,5", "NA"]), pa.float64(), decimal=",", thousands=".").to_pylist()
    [1234.5, None]
    """
    there = _there(texts, words)
    if pt.is_null(kind):
        if there.null_count < len(there):
            raise UnreadableError(there.drop_null()[0].as_py())
        return pa.nulls(len(there))
    if pt.is_timestamp(kind) or pt.is_date(kind):
        coded = there.dictionary_encode()
        return _dates(coded.dictionary, kind, formats).take(coded.indices)
    for sign in thousands:
        there = pc.replace_substring(there, sign, "")
    there = pc.replace_substring(there, decimal, ".") if decimal != "." else there
    return _cast(there, kind)


def _there(texts: pa.Array, words: Iterable[str]) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(trimmed, value_set=pa.array(["", *WORDS.union(words)], trimmed.type))
    return pc.if_else(missing, None, trimmed)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid as error:
        raise UnreadableError(str(error).rpartition("string: '")[2].partition("'")[0]) from error


def _dates(texts: pa.Array, kind: pa.DataType, formats: Sequence[str]) -> pa.Array:
    """Return the dates that texts hold, in one of these formats or as ISO 8601 has them."""
    timed = kind if pt.is_timestamp(kind) else pa.timestamp("s")
    plain = pa.timestamp(timed.unit)
    found = pa.nulls(len(texts), timed)
    for pattern in formats:
        read = pc.strptime(texts, format=pattern, unit=timed.unit, error_is_null=True)
        found = pc.coalesce(found, pc.if_else(_same_day(texts, pattern, read.cast(plain)), read, None).cast(timed))
    iso = pc.match_substring_regex(texts, r"^\d{4}-\d{2}-\d{2}")
    found = pc.coalesce(found, _cast(pc.if_else(pc.and_(iso, pc.is_null(found)), texts, None), timed))
    days = found if timed.equals(kind) else found.cast(kind)
    unread = pc.and_(pc.is_valid(texts), pc.or_kleene(pc.is_null(found), pc.not_equal(days.cast(timed), found)))
    if pc.any(unread).as_py():
        raise UnreadableError(texts.filter(unread)[0].as_py())
    return days


_PARTS = {"d": r"(?P<day>\d{1,2})", "m": r"\d{1,2}", "y": r"\d{2}", "Y": r"\d{4}"} | dict.fromkeys("HMSI", r"\d{1,2}")


def _same_day(texts: pa.Array, pattern: str, read: pa.Array) -> pa.Array:
    """Whether the day of the month is the one that is written, where the format has it."""
    long = pattern.replace("%F", "%Y-%m-%d").replace("%D", "%m/%d/%y").replace("%e", "%d")
    if long.count("%d") != 1:
        return pa.array([True] * len(texts), pa.bool_())
    pieces = re.split(r"%(.)", long)
    written = "".join(
        _PARTS.get(piece, ".*?") if k % 2 else re.sub(r"(\\ )+", r"\\s*", re.escape(piece))
        for k, piece in enumerate(pieces)
    )
    day = pc.struct_field(pc.extract_regex(texts, f"^{written}$"), 0)
    return pc.fill_null(pc.equal(pc.if_else(pc.equal(day, ""), None, day).cast(pa.int64()), pc.day(read)), False)
