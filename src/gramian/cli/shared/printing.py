"""What goes to standard output: tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def console() -> Any:
    """Return rich's console on standard output; where that is no terminal, lines are as long as they need to be."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def show(text: str) -> None:
    """Print plain text: on a terminal wrapped between words, elsewhere as it is."""
    console().print(text, markup=False, soft_wrap=not sys.stdout.isatty())


def show_table(head: Sequence[str] | None, rows: Iterable[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
    """Print rows under a head.

    Parameters
    ----------
    head : names of the columns, or None where the first column says what the second is
    rows : cells, as anything `cell` can write
    right : places of the columns that are aligned to the right
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cells = [[cell(each) for each in row] for row in rows]
    table = Table(box=SIMPLE_HEAD if head else None, pad_edge=False, show_edge=False, show_header=head is not None)
    for k, name in enumerate(head or [""] * max(map(len, cells), default=0)):
        # Names stand in the first column: they are cut before they are broken.
        table.add_column(
            name, justify="right" if k in right else "left", overflow="fold" if k else "ellipsis", no_wrap=not k
        )
    for row in cells:
        table.add_row(*map(Text, row))
    out = console()
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    # Padding is for the eye alone: whatever reads a pipe is better off without.
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


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
    # Straight to the stream: rich would wrap and colour it.
    print(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))


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
