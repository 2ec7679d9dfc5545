"""Some rows of a source, without reading the whole of it.

Of a small source every row is taken. Of large data in memory, rows at seeded positions. Of large Parquet files, stretches of
a few row groups, seeded too: a row group can be entered only at its beginning, so stretches begin there. Of any other source,
whose rows cannot be reached without those before them, the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from gramian.estimators.cross_fitting import take_rows
from gramian.tables import ArrayTable, ArrowTable, open_table
from gramian.tables.parquet import ParquetTable
from gramian.tables.schemas import conform, subset

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
    arrow = table.as_arrow() if isinstance(table, ArrayTable) else table
    names = readable(arrow.schema) if columns is None else list(columns)
    limit = max(1, min(limit, READ_CELLS // max(len(names), 1)))
    n = table.n_rows
    if n is not None and n <= limit:
        rows = _read(arrow, names, n)
        return Sample(rows, np.arange(rows.num_rows), n, f"all {n:,} rows")
    if isinstance(table, ParquetTable):
        return _of_parquet(table, names, limit, np.random.default_rng(seed))
    if n is not None and hasattr(source, "shape") and not table.one_shot:
        chosen = np.sort(np.random.default_rng(seed).choice(n, limit, replace=False))
        part = open_table(take_rows(source, chosen))
        rows = _read(part.as_arrow() if isinstance(part, ArrayTable) else part, names, limit)
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
    batches: list[pa.RecordBatch] = []
    left = limit
    with closing(table.batches(columns)) as stream:  # type: ignore[type-var]
        for batch in stream:
            batches.append(_decoded(batch.slice(0, left)))
            left -= batches[-1].num_rows
            if left <= 0:
                break
    if not batches:
        return _decoded_schema(subset(table.schema, columns)).empty_table()
    return pa.Table.from_batches(batches)


def _decoded_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])


def _decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without dictionaries, whose entries differ from batch to batch."""
    arrays = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=_decoded_schema(batch.schema))


def _of_parquet(table: ParquetTable, columns: list[str], limit: int, rng: np.random.Generator) -> Sample:
    """Return stretches from the beginnings of a few row groups, in the order of the files."""
    paths = table._files.paths
    sizes = np.array([table._rows[path] for path in paths])
    total = int(sizes.sum())
    # Files first: the footers of a thousand files are not read again to find eight stretches.
    likely = sizes / total
    files = np.sort(rng.choice(len(paths), min(STRETCHES, int((sizes > 0).sum())), replace=False, p=likely))
    groups: list[tuple[int, int, int, int]] = []
    for f in files:
        footer = table._footers.get(paths[f]) or pq.read_metadata(paths[f])
        start = int(sizes[:f].sum())
        for g in range(footer.num_row_groups):
            n = footer.row_group(g).num_rows
            groups.append((int(f), g, start, n))
            start += n
    groups = [group for group in groups if group[3]]
    weights = np.array([n for *_, n in groups], dtype=np.float64)
    count = min(len(groups), STRETCHES)
    chosen = np.sort(rng.choice(len(groups), count, replace=False, p=weights / weights.sum()))
    parts, positions, left = [], [], limit
    for turn, k in enumerate(chosen):
        f, g, start, n = groups[k]
        rows = _stretch(table, f, g, columns, -(-left // (count - turn)), n, rng)
        parts.append(rows[0])
        positions.append(start + rows[1])
        left -= len(rows[1])
    at = np.concatenate(positions)
    words = (
        f"{len(at):,} of {total:,} rows, from {count} of the row groups" if len(at) < total else f"all {total:,} rows"
    )
    return Sample(pa.concat_tables(parts), at, total, words)


def _stretch(
    table: ParquetTable, f: int, group: int, columns: list[str], wanted: int, n: int, rng: np.random.Generator
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Return up to `wanted` rows of a row group and their positions in it: at random where it is small."""
    path = table._files.paths[f]
    inside = [name for name in columns if name not in table._keys] or table._file_schema.names[:1]
    coded = [name for name in table._dictionary_columns if name in inside]
    take = n if n <= 4 * wanted else wanted
    with pq.ParquetFile(path, metadata=table._footers.get(path), read_dictionary=coded) as file:
        batches, found = [], 0
        # Batches as long as what is wanted: a longer one would be decoded to be thrown away.
        for batch in file.iter_batches(batch_size=min(take, 65_536), row_groups=[group], columns=inside):
            batch = conform(batch, subset(table._file_schema, inside), path)
            batch = table._with_keys(batch, f, subset(table.schema, columns))
            batches.append(_decoded(batch.slice(0, take - found)))
            found += batches[-1].num_rows
            if found >= take:
                break
    rows = pa.Table.from_batches(batches)
    positions = np.arange(rows.num_rows)
    if rows.num_rows > wanted:
        positions = np.sort(rng.choice(rows.num_rows, wanted, replace=False))
        rows = rows.take(pa.array(positions))
    return rows, positions
