"""Rows from a few row groups of Parquet files: a row group can be entered only at its beginning, so stretches begin there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from gramian.errors import FileFormatError
from gramian.tables.base import decoded
from gramian.tables.files.parquet import ParquetTable
from gramian.tables.files.remote import readable
from gramian.tables.schemas import check_indices, conform, reading, subset


class RowGroupSample(NamedTuple):
    """Some rows, where they stand among all, how many there are in all, and of how many row groups these are."""

    rows: pa.Table
    positions: npt.NDArray[np.int64]
    n_rows: int
    n_groups: int


def sample_row_groups(
    table: ParquetTable, columns: list[str], limit: int, n_groups: int, rng: np.random.Generator
) -> RowGroupSample:
    """Return up to `limit` rows from the beginnings of a few row groups, in the order of the files, without dictionaries."""
    paths = table._files.paths
    sizes = np.array([table._rows[path] for path in paths])
    total = int(sizes.sum())
    # Files first: the footers of a thousand files are not read again to find eight stretches.
    likely = sizes / total
    files = np.sort(rng.choice(len(paths), min(n_groups, int((sizes > 0).sum())), replace=False, p=likely))
    groups: list[tuple[int, int, int, int]] = []
    for f in files:
        with reading(paths[f], "Parquet"):
            footer = table._footers.get(paths[f]) or pq.read_metadata(readable(paths[f]))
        start = int(sizes[:f].sum())
        for g in range(footer.num_row_groups):
            n = footer.row_group(g).num_rows
            groups.append((int(f), g, start, n))
            start += n
    groups = [group for group in groups if group[3]]
    weights = np.array([n for *_, n in groups], dtype=np.float64)
    count = min(len(groups), n_groups)
    chosen = np.sort(rng.choice(len(groups), count, replace=False, p=weights / weights.sum()))
    parts, positions, left = [], [], limit
    for turn, k in enumerate(chosen):
        f, g, start, n = groups[k]
        rows, places = _stretch(table, f, g, columns, -(-left // (count - turn)), n, rng)
        parts.append(rows)
        positions.append(start + places)
        left -= len(places)
    return RowGroupSample(pa.concat_tables(parts), np.concatenate(positions), total, count)


def _stretch(
    table: ParquetTable, f: int, group: int, columns: list[str], wanted: int, n: int, rng: np.random.Generator
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """Return up to `wanted` rows of a row group and their positions in it: at random where it is small."""
    path = table._files.paths[f]
    inside = [name for name in columns if name not in table._keys] or table.stand_in
    coded = [name for name in table._dictionary_columns if name in inside]
    take = n if n <= 4 * wanted else wanted
    known = table._footers.get(path)
    with reading(path, "Parquet"), pq.ParquetFile(readable(path), metadata=known, read_dictionary=coded) as file:
        batches, n_read = [], 0
        # Batches as long as what is wanted: a longer one would be decoded to be thrown away.
        for batch in file.iter_batches(batch_size=min(take, 65_536), row_groups=[group], columns=inside):
            check_indices(batch, path, FileFormatError)
            batch = conform(batch, subset(table._file_schema, inside), path)
            batch = table._with_keys(batch, f, subset(table.schema, columns))
            batches.append(decoded(batch.slice(0, take - n_read)))
            n_read += batches[-1].num_rows
            if n_read >= take:
                break
    rows = pa.Table.from_batches(batches)
    positions = np.arange(rows.num_rows)
    if rows.num_rows > wanted:
        positions = np.sort(rng.choice(rows.num_rows, wanted, replace=False))
        rows = rows.take(pa.array(positions))
    return rows, positions
