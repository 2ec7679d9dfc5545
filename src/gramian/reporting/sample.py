"""Some rows of a source, without reading the whole of it.

Of a small source every row is taken. Of large data in memory, rows at seeded positions. Of large Parquet files, stretches of
a few row groups, seeded too: a row group can be entered only at its beginning, so stretches begin there. Of any other source,
whose rows cannot be reached without those before them, the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.engines.local import LocalEngine
from gramian.estimators.cross_fitting import take_rows
from gramian.tables import ArrowTable, open_table
from gramian.tables.base import decoded, decoded_schema, typed
from gramian.tables.files.parquet import ParquetTable
from gramian.tables.files.parquet_sample import sample_row_groups
from gramian.tables.schemas import subset

READ_ROWS = 262_144
"""Rows looked at: enough to meet what one row in ten thousand shows."""
READ_CELLS = 2**23
"""Rows times columns looked at."""
STRETCHES = 8
"""Row groups of a Parquet source that are read from."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a source.

    Attributes
    ----------
    table : pyarrow.Table
        Without dictionaries.
    positions : (n,) array
        Where the rows stand in the source.
    n_rows : int or None
        Rows of the source, where that is known.
    words : str
        Which rows these are.
    """

    table: pa.Table
    positions: npt.NDArray[np.int64]
    n_rows: int | None
    words: str


def sample_rows(source: Any, columns: Sequence[str] | None = None, *, limit: int = READ_ROWS, seed: int = 0) -> Sample:
    """Return at most `limit` rows of a source.

    Parameters
    ----------
    source : any source of `collect`
    columns : sequence of str, optional
        By default all that are neither nested nor binary.
    limit : int
    seed : int

    Examples
    --------
    >>> found = sample_rows(pa.table({"x": list(range(100))}), limit=3)
    >>> found.table["x"].to_pylist() == found.positions.tolist(), found.words
    (True, '3 of 100 rows, at random')
    """
    table = open_table(source)
    arrow = typed(table)
    names = readable(arrow.schema) if columns is None else list(columns)
    limit = max(1, min(limit, READ_CELLS // max(len(names), 1)))
    n = table.n_rows
    if n is not None and n <= limit:
        rows = _read(arrow, names, n)
        return Sample(rows, np.arange(rows.num_rows), n, f"all {n:,} rows")
    if isinstance(table, ParquetTable):
        drawn = sample_row_groups(table, names, limit, STRETCHES, np.random.default_rng(seed))
        words = f"{drawn.rows.num_rows:,} of {drawn.n_rows:,} rows, from {drawn.n_groups} of the row groups"
        return Sample(drawn.rows, drawn.positions, drawn.n_rows, words)
    if n is not None and hasattr(source, "shape") and not table.one_shot:
        chosen = np.sort(np.random.default_rng(seed).choice(n, limit, replace=False))
        rows = _read(typed(open_table(take_rows(source, chosen))), names, limit)
        return Sample(rows, chosen, n, f"{limit:,} of {n:,} rows, at random")
    rows = _read(arrow, names, limit)
    if rows.num_rows < limit:
        return Sample(rows, np.arange(rows.num_rows), rows.num_rows, f"all {rows.num_rows:,} rows")
    whole = "" if n is None else f" of {n:,}"
    return Sample(rows, np.arange(limit), n, f"the first {limit:,}{whole} rows")


def readable(schema: pa.Schema) -> list[str]:
    """Return the columns that a cell of a table can show: neither nested nor binary."""
    return [f.name for f in schema if not (pa.types.is_nested(f.type) or _is_binary(f.type))]


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _read(table: ArrowTable, columns: list[str], limit: int) -> pa.Table:
    """Return the first rows of a table."""
    schema = decoded_schema(subset(table.schema, columns))
    return pa.Table.from_batches(LocalEngine().map(table, decoded, columns=columns, limit=limit), schema=schema)
