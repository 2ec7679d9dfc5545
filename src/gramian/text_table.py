"""Rows as lines of text, columns aligned: the one way in which this package prints a table."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from gramian.errors import visible

GAP = "  "
LEAST = 16
"""Letters that a column keeps, however narrow the lines must be."""


def text_table(
    head: Sequence[str] | None, rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), width: int | None = None
) -> list[str]:
    """Return the lines of a table, without blanks at their ends.

    Where the lines would be longer than `width`, the widest column is broken between words; a first column, of names, is
    cut instead.

    Parameters
    ----------
    head : names of the columns, or None for no head
    rows : cells, which may have several lines
    right : places of the columns that are aligned to the right
    width : int, optional
        Most letters in a line.

    Examples
    --------
    >>> print(*text_table(("name", "count"), [("red", "7"), ("green", "12")], right=(1,)), sep="|")
    name   count|red        7|green     12
    """
    # A name is one line, whatever it holds.
    cells = [
        [visible(cell, lines=k > 0) for k, cell in enumerate(row)] for row in ([head] if head else []) + list(rows)
    ]
    if not cells:
        return []
    widths = [max(_longest(row[k]) for row in cells) for k in range(len(cells[0]))]
    if width is not None:
        widths = _narrowed(widths, width)
    lines = []
    for row in cells:
        parts = [_broken(cell, size, cut=not k) for k, (cell, size) in enumerate(zip(row, widths, strict=True))]
        for i in range(max(map(len, parts))):
            texts = [part[i] if i < len(part) else "" for part in parts]
            aligned = [
                text.rjust(size) if k in right else text.ljust(size)
                for k, (text, size) in enumerate(zip(texts, widths, strict=True))
            ]
            lines.append(GAP.join(aligned).rstrip())
    return lines


def _longest(cell: str) -> int:
    return max(map(len, cell.split("\n")))


def _narrowed(widths: list[int], width: int) -> list[int]:
    """Return widths that fit a line, taken from the widest column, then from the next."""
    narrow = list(widths)
    for _ in narrow:
        over = sum(narrow) + len(GAP) * (len(narrow) - 1) - width
        if over <= 0:
            break
        widest = max(range(len(narrow)), key=lambda k: narrow[k])
        narrow[widest] = max(min(LEAST, narrow[widest]), narrow[widest] - over)
    return narrow


def _broken(cell: str, size: int, *, cut: bool) -> list[str]:
    if cut:
        return [line if len(line) <= size else line[: size - 1] + "…" for line in cell.split("\n")]
    return [part for line in cell.split("\n") for part in textwrap.wrap(line, max(size, 1)) or [""]]
