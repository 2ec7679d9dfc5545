"""Where the header of a table is and what separates its fields, found in the records of a sample.

Each separator that may be meant gives a `Reading` of the sample: its records, the line of its header, and how many of the
records have the fields of the header. Readings are compared by these rules, the first that decides:

1. A separator that splits every line into the same number of fields, the first line included, wins.
2. A header without any separator is that of one column where all values below it are numbers or dates: `1,5` is one.
3. Lines above the header are left out where the header is plain: a row of labels above a column of numbers or dates. They are
   not left out where another separator explains them as the header.
4. Otherwise most records have as many fields as the header, and a message names the first that has not.

Where two separators follow the same rule, the one whose fields are more often numbers or dates is taken, and the other is named
in the log. Where a title cannot be told from the name of a single column, the file is refused, with both options named.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gramian.errors import Argument, FileFormatError, shown
from gramian.tables.files.conventions import WORDS

SAMPLE_ROWS = 2000

DELIMITERS = ("\t", "|", ";", ",")
"""Separators that are looked for. Those that texts and numbers hold least come first: they win a tie."""
UNUSUAL = ":^~"
"""Separators that are named where they may be meant, and never guessed."""

_LOOKED_ROWS = 200
_MOST_TITLES = 30
_DIGITS = r"\d+(?:[.,'\u2019 \u00a0\u202f]\d+)*"
# A point or comma that is there twice separates groups, the last of three digits at least: 10.0.0.1 is not a number.
_NO_GROUPS = r"(?![-+\d.,'\u2019 \u00a0\u202f]*([.,])(?:\d?\1|\d+\1\d{0,2}(?!\d)))"
_VALUE = re.compile(
    rf"{_NO_GROUPS}[+-]?(?:{_DIGITS}[.,]?|[.,]\d+)(?:[eE][+-]?\d+)?\s?%?"
    r"|\d{1,4}([./-])\d{1,2}\2\d{1,4}(?:[ T].*)?"
    r"|\d{1,2}:\d{2}(?::\d{2})?"
)
"""A number in any convention, a date or a time of day."""
_YEAR = re.compile(r"(?:1[89]|2[01])\d\d")


@dataclass(frozen=True)
class Reading:
    """A sample as one separator splits it.

    Attributes
    ----------
    delimiter : str
    rows : list
        The records, blank ones left out.
    ends : list of int
        The line on which each ends.
    above : int
        Records above the header.
    titles : int
        Those of them that are neither a comment nor `sep=`.
    certain : bool
        Whether values below the header, unlike it, bear out that the lines above are titles.
    rival : str
        Another separator that explains the sample as well; empty where there is none.
    """

    delimiter: str
    rows: list[list[str]]
    ends: list[int]
    above: int = 0
    titles: int = 0
    certain: bool = True
    rival: str = ""

    @property
    def width(self) -> int:
        """Fields of the header."""
        return len(self.rows[self.above])

    @property
    def share(self) -> float:
        """The share of records, from the header on, that have as many fields as it."""
        below = self.rows[self.above :]
        return sum(len(row) == self.width for row in below) / len(below)

    @property
    def typed(self) -> float:
        """The share of fields below the header that are numbers or dates."""
        fields = [value.strip() for row in self.rows[self.above + 1 :][:_LOOKED_ROWS] for value in row]
        there = [value for value in fields if value and value not in WORDS]
        return sum(map(_is_value, there)) / max(1, len(there))


def reading_of(
    text: str, path: str, *, whole: bool, told: str | None = None, decimal: str | None = None, header: int | None = None
) -> Reading:
    r"""Return how a sample is split into records.

    Parameters
    ----------
    text : str
        The sample.
    path : str
        For messages.
    whole : bool
        Whether the sample is all of the file; else its last line may be cut.
    told : str, optional
        The separator, where the user or the file names it.
    decimal : str, optional
        The decimal sign, where the user names it: it does not separate fields.
    header : int, optional
        The line of the header, counted from 1, where the user names it.

    Examples
    --------
    >>> found = reading_of("a;b\n1,5;2,5\n3,5;4,5\n", "a.csv", whole=True)
    >>> found.delimiter, found.rows[0]
    (';', ['a', 'b'])
    """
    start = 0 if header is None else _start_of_line(text, header, path)
    readings = []
    for delimiter in (told,) if told else (each for each in DELIMITERS if each != decimal):
        rows, ends = _records(text[start:], delimiter, whole)
        if header is None:
            above, titles, certain = _find_header(rows)
        else:
            above, titles, certain = 0, 0, True
            if not rows or text[start : start + 1] in "\r\n":
                raise FileFormatError(f"line {header} of {path} is empty: it cannot be the header")
        ends = [end + (header or 1) - 1 for end in ends]
        readings.append(Reading(delimiter, rows, ends, above, titles, certain))
    if told:
        return readings[0]
    there = [reading for reading in readings if reading.above < len(reading.rows)]
    return _best(there, text[start:], path) if there else readings[-1]


def _start_of_line(text: str, line: int, path: str) -> int:
    """Return where a line begins, counted from 1."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
    starts = [start for start in starts if start < len(text)]
    if line > len(starts):
        raise FileFormatError(
            f"line {line} of {path} cannot be the header: the sample of it has {len(starts)} lines; give another with ",
            Argument("csv", {"header": 1}),
        )
    return starts[line - 1]


def _records(text: str, delimiter: str, whole: bool) -> tuple[list[list[str]], list[int]]:
    """Return the records of a sample, blank ones left out, and the line on which each ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    ends: list[int] = []
    try:
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
            if len(rows) > SAMPLE_ROWS:
                break
    except csv.Error:
        # A quote that never ends, or a field beyond all bounds: the parser of the rows says which.
        pass
    if not whole and len(rows) > 1:
        rows, ends = rows[:-1], ends[:-1]
    kept = [k for k, row in enumerate(rows) if any(value.strip() for value in row)]
    return [rows[k] for k in kept], [ends[k] for k in kept]


def _best(readings: list[Reading], text: str, path: str) -> Reading:
    """Return the reading that explains a sample."""
    split = [each for each in readings if each.width > 1]
    if plain := [each for each in split if not each.titles and each.share == 1]:
        return _most_typed(plain)
    # Lines above the header are not left out where another separator finds the header in them.
    titled = [each for each in split if each.titles and not any(_explains(other, each) for other in split)]
    if (single := _one_column(readings)) is not None:
        return _one_or_many(single, titled, readings, text, path)
    for explaining in (
        [each for each in titled if each.share == 1],
        [each for each in split if not each.titles and each.share > 0.5],
        titled,
        # All rows have a field more than the header, or fewer: the parser of the rows says which.
        [each for each in split if _block(each.rows[each.above + 1 :])[1] > 0.5],
    ):
        if explaining:
            return _most_typed(explaining)
    _refuse(text, path)
    return readings[-1]


def _one_or_many(single: Reading, titled: list[Reading], others: list[Reading], text: str, path: str) -> Reading:
    """Return the reading of a sample whose first line holds no separator: one column, or a title above several."""
    _refuse(text, path)
    certain = [each for each in titled if each.certain and each.share > 0.5]
    even = [each for each in titled if each.share == 1 and each.delimiter != ","]
    if single.typed == 1:
        return single
    if certain or even:
        return _most_typed(certain or even)
    for each in others:
        if (line := _begins_evenly(each)) is not None:
            raise FileFormatError(
                f"the first line of {path}, {shown(single.rows[single.above][0])}, is a title, or the name of one column whose "
                f"texts hold {each.delimiter!r}; say which with ",
                Argument("csv", {"header": line}),
                " or ",
                Argument("csv", {"delimiter": single.delimiter}),
            )
    return single


def _begins_evenly(reading: Reading) -> int | None:
    """Return the line from which all have the same number of fields, below a few that have one; None where there is none."""
    first = reading.above - reading.titles
    widths = [len(row) for row in reading.rows[first:]]
    start = next((k for k in range(len(widths)) if len(set(widths[k:])) == 1), 0)
    alone = set(widths[:start]) == {1} and widths[-1] > 1
    # The last of many texts of different length may have as many separators by chance.
    return reading.ends[first + start] if alone and len(widths) - start >= 2 * start else None


def _most_typed(readings: list[Reading]) -> Reading:
    """Return the reading with the most numbers and dates among its fields, then with the most fields, with its rival."""
    ranked = sorted(readings, key=lambda each: (-round(each.share, 2), -round(each.typed, 2), -each.width))
    best = ranked[0]
    rival = ranked[1].delimiter if len(ranked) > 1 and ranked[1].share == best.share else ""
    return Reading(best.delimiter, best.rows, best.ends, best.above, best.titles, best.certain, rival)


def _one_column(readings: list[Reading]) -> Reading | None:
    """Return the reading as one column, None where the first line holds a separator, or every separator splits some line."""
    firsts = {id(each): each.above - each.titles for each in readings}
    if any(len(each.rows[firsts[id(each)]]) > 1 for each in readings):
        return None
    whole = [each for each in readings if all(len(row) == 1 for row in each.rows[firsts[id(each)] :])]
    # The last is the comma: a plain file is read as one.
    return Reading(whole[-1].delimiter, whole[-1].rows, whole[-1].ends, firsts[id(whole[-1])]) if whole else None


def _explains(other: Reading, titled: Reading) -> bool:
    """Whether another separator finds the header in the lines that a reading leaves out, and its fields in those after it."""
    line = titled.ends[titled.above]
    fields = {
        len(row) for row, end in zip(other.rows[other.above :], other.ends[other.above :], strict=True) if end <= line
    }
    return other.ends[other.above] < line and other.share >= 0.95 and fields == {other.width}


def _refuse(text: str, path: str) -> None:
    """Raise where a separator is likely that is not known, or lines are of different lengths."""
    lines = [line for line in text.splitlines()[:50] if line and not line.startswith("#")]
    for mark in (*UNUSUAL, *reversed(DELIMITERS)):
        counts = [line.count(mark) for line in lines]
        if len(lines) > 1 and counts[0] and (len(set(counts)) == 1 or mark in DELIMITERS):
            title = ("; if it is a title, name the line of the header with ", Argument("csv", {"header": 2}))
            raise FileFormatError(
                f"{path} has one column, named {lines[0]!r}; if its fields are separated by {mark!r}, say so with ",
                Argument("csv", {"delimiter": mark}),
                *(title if mark in DELIMITERS else ()),
            )


def above_header(rows: Sequence[Sequence[str]]) -> int:
    """Return how many records stand above the header: comments, titles, `sep=;`.

    Examples
    --------
    >>> above_header([["Sales", "", ""], ["as of", "2025-12-31", ""], ["town", "price", "n"], ["Bonn", "2.5", "1"]])
    2
    """
    return _find_header(rows)[0]


def _find_header(rows: Sequence[Sequence[str]]) -> tuple[int, int, bool]:
    """Return the records above the header, how many of them are titles, and whether values below bear that out."""
    first = _comments(rows)
    below = rows[first:]
    width, _ = _block(below)
    filled = [sum(bool(value.strip()) for value in row) for row in below[: 2 * _MOST_TITLES]]
    most = max((n for n, row in zip(filled, below, strict=False) if len(row) == width), default=0)
    for k, row in enumerate(below[:_MOST_TITLES]):
        labels = _are_labels(row)
        if len(row) != width or not (filled[k] == most or (labels and 2 * filled[k] > most)):
            continue
        body = below[k + 1 :]
        if k == 0 or width < 2 or not labels:
            break
        if any(row[j].strip() and _is_typed(body, j) for j in range(width)):
            return first + k, k, True
        # Nothing but texts: a title has few fields filled, the first among them, and a name is not a value of its column.
        sparse = all(title[0].strip() and 2 * filled[i] <= most for i, title in enumerate(below[:k]))
        repeated = any(row[j].strip() and any(other[j : j + 1] == [row[j]] for other in body) for j in range(width))
        if sparse and width > 2 and not repeated:
            return first + k, k, False
        break
    return first, 0, True


def _comments(rows: Sequence[Sequence[str]]) -> int:
    """Return how many records at the beginning are comments, or name the separator."""
    width, _ = _block(rows)
    for k, row in enumerate(rows):
        if k == 0 and row[0].startswith("sep="):
            continue
        if not row[0].lstrip().startswith("#"):
            return k
        # The header itself may begin with this sign.
        if len(row) == width > 1 and all(map(str.strip, row)) and k + 1 < len(rows) and not _are_labels(rows[k + 1]):
            return k
    return len(rows)


def _block(rows: Sequence[Sequence[str]]) -> tuple[int, float]:
    """Return the number of fields of the widest block, and the share of records that have so many."""
    counts = Counter(map(len, rows))
    often = {width: n for width, n in counts.items() if n > 1} or counts
    width = max(often, key=lambda width: (often[width] * width, width), default=0)
    return width, counts[width] / max(1, len(rows))


def _are_labels(row: Iterable[str]) -> bool:
    """Whether a record may be a header: no field is a value or a word for a missing one. Years may be, where they differ."""
    fields = [value.strip() for value in row if value.strip()]
    years = [value for value in fields if _YEAR.fullmatch(value)]
    # Columns are called na, for sodium, and None, for a grade; first rows without names hold NA.
    values = any(
        _is_value(value) or value in WORDS - {"na", "none", "None"} for value in fields if not _YEAR.fullmatch(value)
    )
    return len(set(years)) == len(years) and not values


def _is_value(text: str) -> bool:
    return _VALUE.fullmatch(text) is not None


def _is_typed(body: Iterable[Sequence[str]], j: int) -> bool:
    """Whether the values of a column are all numbers or dates."""
    values = [value for row in body if len(row) > j and (value := row[j].strip()) and value not in WORDS]
    return bool(values) and all(map(_is_value, values))
