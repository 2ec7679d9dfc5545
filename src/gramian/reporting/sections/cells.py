"""Cells of the rows that a report shows, column by column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from gramian.design.kinds import part_of
from gramian.design.schema import Schema
from gramian.reporting.context import Context
from gramian.reporting.values import level_words, numbers, text

CELLS = 40
"""Columns that a row is shown with."""
COLOURS = 10
"""Classes that can be told apart by colour."""
LEVELS = 400
"""A text column of more distinct values among the rows shown is text, not levels."""


PHONE = 32
"""Letters that the choice of axes shows on a phone."""


def columns_of(context: Context, table: pa.Table) -> list[dict[str, Any]]:
    """Return the cells of the rows, column by column; parts of dates, and bins, follow their column."""
    out = []
    schema = context.moments.schema if context.moments is not None else Schema()
    for name in table.column_names[:CELLS]:
        column = table.column(name)
        by_level = name in schema and schema[name].form == "category" and not pa.types.is_floating(column.type)
        out.append(levels_of(name, column.to_pylist()) if by_level else column_of(name, column))
        for each in schema:
            if each.origin == name and each.part is not None and not each.crossed:
                array = pa.chunked_array([part_of(chunk, each.part) for chunk in column.chunks])
                labels = [level_words(each, value) for value in array.to_pylist()]
                out.append({**levels_of(each.name, labels), "derived": True})
    return out


def column_of(name: str, column: pa.ChunkedArray) -> dict[str, Any]:
    """Return a column of the rows shown as numbers, levels or texts, whichever its values are."""
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy()
        return {"name": name, "kind": "number", "values": numbers(values, 6)}
    is_label = pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if is_label:
        levels = levels_of(name, column.to_pylist())
        if len(levels["levels"]) <= LEVELS:
            return levels
    return {"name": name, "kind": "text", "values": [text(value) for value in column.to_pylist()]}


def levels_of(name: str, values: Iterable[Any]) -> dict[str, Any]:
    """Return a column of levels: their texts in the order of first sight, and one code a value.

    Examples
    --------
    >>> levels_of("color", ["red", None, "red"])
    {'name': 'color', 'kind': 'level', 'levels': ['red', '(missing)'], 'codes': [0, 1, 0]}
    """
    levels: dict[str, int] = {}
    codes = [levels.setdefault(text(value), len(levels)) for value in values]
    return {"name": name, "kind": "level", "levels": list(levels), "codes": codes}


def coloured(name: str, levels: list[str], codes: list[int]) -> dict[str, Any]:
    """Return classes as a colour of the map: beyond ten, the ninth is followed by all others together.

    Examples
    --------
    >>> coloured("city", [f"c{k}" for k in range(12)], [0, 9, 11])["codes"]
    [0, 9, 9]
    """
    if len(levels) > COLOURS:
        others = f"{len(levels) - COLOURS + 1} others"
        levels, codes = [*levels[: COLOURS - 1], others], [min(code, COLOURS - 1) for code in codes]
    return {"name": name, "kind": "classes", "levels": levels, "codes": codes}


def view_of(x: str, y: str) -> dict[str, Any]:
    """Return two features as axes of the map, under a name that fits into a phone.

    Examples
    --------
    >>> view_of("pca0", "pca2")["name"], view_of("pca0", "amount")["name"]
    ('pca 0 and 2', 'pca0, amount')
    >>> view_of("size of the whole thing_first", "size of the whole thing_second")["name"]
    'size of…g_first, size of…_second'
    """
    stem = x.rstrip("0123456789")
    numbered = x != stem and y.startswith(stem) and y[len(stem) :].isdigit()
    if numbered:
        return {"name": f"{stem} {x[len(stem) :]} and {y[len(stem) :]}", "x": x, "y": y}
    # The axes of the map have the whole names.
    longest = PHONE if len(x) + len(y) + 2 <= PHONE else PHONE // 2 - 1
    return {"name": ", ".join(_shortened(name, longest) for name in (x, y)), "x": x, "y": y}


def _shortened(name: str, longest: int) -> str:
    """Return a name of at most so many letters, its middle left out."""
    return name if len(name) <= longest else f"{name[: longest // 2]}…{name[len(name) - (longest - 1) // 2 :]}"
