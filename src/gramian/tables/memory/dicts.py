"""Rows given as dicts, by the names of their columns: one, or a list of them; or one dict of whole columns.

A key that a row lacks is a missing value there. Columns come in the order in which their names first turn up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gramian.errors import DataError
from gramian.tables.memory.arrow import MemoryTable
from gramian.tables.object_columns import arrow_array, type_of_objects


def open_dicts(source: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, describe: str) -> MemoryTable:
    """Return rows given as dicts as a table.

    Parameters
    ----------
    source
        One row, a list of rows, or one dict whose values are columns: lists or arrays, all of one length.
    describe
        Words for error messages.

    Examples
    --------
    >>> open_dicts([{"color": "red", "age": 3}, {"color": "blue"}], describe="rows")._rows.to_pydict()
    {'color': ['red', 'blue'], 'age': [3, None]}
    >>> open_dicts({"color": "red", "age": 3}, describe="a row").n_rows
    1
    """
    columns = _columns(source, describe) if isinstance(source, Mapping) else _collected(source, describe)
    if not columns:
        raise DataError(f"{describe} has no columns; give each row as names and values")
    arrays = []
    for name, values in columns.items():
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        arrays.append(arrow_array(objects, type_of_objects(objects, name, describe), name, describe))
    return MemoryTable(pa.table(arrays, names=list(columns)), describe=describe)


def _columns(source: Mapping[str, Any], describe: str) -> dict[str, list[Any]]:
    """Return one dict as columns: those that it holds, or of one row."""
    _require_names(source, describe)
    lengths = {name: len(value) for name, value in source.items() if _is_column(value)}
    if not lengths:
        return {name: [value] for name, value in source.items()}
    single = [name for name in source if name not in lengths]
    if single:
        raise DataError(
            f"{describe} holds one value for {single[0]!r} and {lengths[min(lengths)]} for {min(lengths)!r}; give a row of "
            "single values, or columns of one length"
        )
    if len(set(lengths.values())) > 1:
        first, other = next((a, b) for a in lengths for b in lengths if lengths[a] != lengths[b])
        raise DataError(
            f"{describe} has {lengths[first]} values for {first!r} and {lengths[other]} for {other!r}; give one a row"
        )
    return {name: list(values) for name, values in source.items()}


def _collected(rows: Sequence[Mapping[str, Any]], describe: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for k, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"row {k} of {describe} is a {type(row).__qualname__}; give every row as a dict")
        _require_names(row, describe)
        for name, value in row.items():
            columns.setdefault(name, [None] * k).append(value)
        for values in columns.values():
            if len(values) == k:
                values.append(None)
    return columns


def _is_column(value: Any) -> bool:
    return isinstance(value, list | tuple) or (
        hasattr(value, "__len__") and hasattr(value, "dtype") and value.ndim == 1
    )


def _require_names(row: Mapping[str, Any], describe: str) -> None:
    for name in row:
        if not isinstance(name, str):
            raise DataError(f"{describe} has a key {name!r}; columns are named by text")
