"""Seeded synthetic tables. Files are written once into a folder of the system's temporary directory."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# Twenty columns, 1,990 levels.
CATEGORICAL = (2, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30, 41, 56, 76, 105, 150, 260, 390, 400, 400)
TEXT = (2, 3, 5, 8, 12, 20, 50, 100, 300, 1000)
ZIPF = (2, 3, 5, 8, 12, 25, 60, 150, 400, 800)
WIDE = (200_000, 200_000, 2, 3, 5, 8, 12, 20, 50, 100)


def folder() -> Path:
    path = Path(tempfile.gettempdir()) / "gramian-benchmarks"
    path.mkdir(exist_ok=True)
    return path


def codes(n_rows: int, levels: Sequence[int], *, skew: float = 2.0, seed: int = 0) -> list[np.ndarray]:
    """Return int32 codes, one array a column; `skew` 1 is uniform, more makes low codes more frequent."""
    rng = np.random.default_rng(seed)
    return [(rng.random(n_rows) ** skew * k).astype(np.int32) for k in levels]


def frame(columns: Sequence[np.ndarray]) -> Any:
    """Return codes of the categorical columns as a pandas frame."""
    import pandas as pd

    return pd.DataFrame(
        {
            f"c{j:02d}": pd.Categorical.from_codes(codes, [f"level {i:06d}" for i in range(levels)])
            for j, (codes, levels) in enumerate(zip(columns, CATEGORICAL, strict=True))
        }
    )


def labelled(column: np.ndarray, levels: int) -> pa.DictionaryArray:
    """Return codes as an Arrow dictionary column of text."""
    return pa.DictionaryArray.from_arrays(column, pa.array([f"level {i:06d}" for i in range(levels)]))


def categorical(n_rows: int) -> pa.Table:
    columns = codes(n_rows, CATEGORICAL)
    pairs = enumerate(zip(columns, CATEGORICAL, strict=True))
    return pa.table({f"c{j:02d}": labelled(column, levels) for j, (column, levels) in pairs})


def booleans(n_rows: int, n_columns: int = 300) -> np.ndarray:
    """Return a boolean matrix, stored by column, whose columns are true in 5 to 95 per cent of the rows."""
    rng = np.random.default_rng(1)
    share = np.linspace(0.05, 0.95, n_columns)
    return np.stack([rng.random(n_rows, dtype=np.float32) < p for p in share]).T


def numbers(n_rows: int, n_columns: int = 200) -> np.ndarray:
    return np.random.default_rng(2).standard_normal((n_rows, n_columns)) + 3.0


def text_file(n_rows: int) -> Path:
    """Return a Parquet file of ten text columns and two numbers."""
    path = folder() / f"text-{n_rows}.parquet"
    if not path.exists():
        rng = np.random.default_rng(3)
        table = _text_table(codes(n_rows, TEXT, seed=3), TEXT)
        price, weight = np.round(rng.gamma(2.0, 20.0, n_rows), 2), rng.standard_normal(n_rows)
        _write(table.append_column("price", pa.array(price)).append_column("weight", pa.array(weight)), path)
    return path


def zipf_file(n_rows: int) -> Path:
    """Return a Parquet file of ten text columns with levels by Zipf's law and two numbers, 250,000 rows a row group."""
    path = folder() / f"zipf-{n_rows}.parquet"
    if not path.exists():
        rng = np.random.default_rng(5)
        shares = [np.cumsum(1 / np.arange(1, k + 1)) for k in ZIPF]
        columns = [np.searchsorted(s[:-1] / s[-1], rng.random(n_rows)).astype(np.int32) for s in shares]
        table = _text_table(columns, ZIPF)
        price, weight = np.round(rng.gamma(2.0, 20.0, n_rows), 2), rng.standard_normal(n_rows)
        table = table.append_column("price", pa.array(price)).append_column("weight", pa.array(weight))
        _write(table, path, row_group_size=250_000)
    return path


def wide_file(n_rows: int) -> Path:
    """Return a Parquet file of ten text columns, two of which have 200,000 levels."""
    path = folder() / f"wide-{n_rows}.parquet"
    if not path.exists():
        _write(_text_table(codes(n_rows, WIDE, skew=1.0, seed=4), WIDE), path)
    return path


def wide_pairs(n_rows: int) -> int:
    """Count the distinct pairs of levels over all pairs of columns of `wide_file`, from the codes alone."""
    path = folder() / f"wide-{n_rows}-pairs.json"
    if not path.exists():
        columns = codes(n_rows, WIDE, skew=1.0, seed=4)
        total = 0
        for a, b in combinations(range(len(WIDE)), 2):
            keys = np.sort(columns[a].astype(np.int64) * WIDE[b] + columns[b])
            total += 1 + int(np.count_nonzero(np.diff(keys)))
        path.write_text(json.dumps(total))
    return int(json.loads(path.read_text()))


def names(levels: Sequence[int]) -> list[str]:
    """Return the names of the text columns of a file."""
    return [f"t{j:02d}" for j in range(len(levels))]


def _text_table(columns: list[np.ndarray], levels: Sequence[int]) -> pa.Table:
    arrays = [labelled(c, k).dictionary_decode() for c, k in zip(columns, levels, strict=True)]
    return pa.table(arrays, names=names(levels))


def _write(table: pa.Table, path: Path, **options: int) -> None:
    part = path.with_suffix(f".{os.getpid()}.part")
    pq.write_table(table, part, **options)
    part.replace(path)
