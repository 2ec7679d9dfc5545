"""What goes to standard output: tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gramian.cli.shared.streams import shown_as
from gramian.text_table import text_table

WIDTH = 120
"""Letters in a line that is read by no terminal."""


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH


def show(text: str) -> None:
    """Print text: on a terminal broken between words, elsewhere as it is."""
    text = shown_as(text)
    if not sys.stdout.isatty():
        print(text)
        return
    for line in text.split("\n"):
        print("\n".join(textwrap.wrap(line, _width(), break_on_hyphens=False)))


def show_table(head: Sequence[str] | None, rows: Iterable[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
    """Print rows under a head.

    Parameters
    ----------
    head : names of the columns, or None where the first column says what the second is
    rows : cells, as anything `cell` can write
    right : places of the columns that are aligned to the right
    """
    cells = [[cell(each) for each in row] for row in rows]
    print("\n".join(text_table(head, cells, right=right, width=_width())))


def show_next(command: str) -> None:
    """Print the command that people type next."""
    print(f"next: {shown_as(command, typed=True)}")


def cell(value: Any) -> str:
    """Return a value as people write it.

    Examples
    --------
    >>> [cell(v) for v in (1234567, 0.123456, 1e-9, None, True, "x", [0.5, 0.25])]
    ['1,234,567', '0.1235', '1e-09', '', 'yes', 'x', '0.5, 0.25']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        shown = ", ".join(cell(each) for each in value[:6])
        return shown if len(value) <= 6 else f"{shown} ... ({len(value)})"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={cell(each)}" for name, each in value.items())
    return str(value)


def show_json(value: Any) -> None:
    """Print a value as JSON."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        # JSON has a way of its own to write letters that the output does not know.
        text = json.dumps(plain(value), indent=2, allow_nan=False)
    print(shown_as(text))


def plain(value: Any) -> Any:
    """Return a value made of what JSON has; numbers that JSON lacks become null, dates text.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float64(0.5), "b": np.array([1, 2]), "c": float("nan"), 3: np.bool_(True)})
    {'a': 0.5, 'b': [1, 2], 'c': None, '3': True}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    # First, because a number of numpy is a number of Python's too, and prints otherwise.
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
