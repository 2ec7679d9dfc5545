"""The contestants of the moments benchmark: each function prepares its data and returns the call to be timed.

Preparation is outside the timing: a peer starts from the codes, the one-hot or the dense matrix it would like
best. `ours_*` start from the Arrow table, array or file that a user has.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks import synthetic
from benchmarks.measure import Call


def small_table() -> pa.Table:
    """Return a few rows of every kind of column, with missing values."""
    return pa.table(
        {
            "text": pa.array(["a", "b", None, "a", "c", "b", "a", "d"]),
            "flag": pa.array([True, False, True, None, True, False, True, True]),
            "level": pa.array([1, 2, 3, 1, 2, 3, 1, None]),
            "number": pa.array([0.5, 1.5, None, 2.5, 3.5, 4.5, 5.5, 6.5]),
            "day": pa.array(np.arange("2026-01-01", "2026-01-09", dtype="datetime64[D]")),
        }
    )


def _collect(source: object, **options: object) -> Call:
    import gramian as gm

    gm.collect(small_table())  # loads the kernels, so that a child process times the pass alone
    return lambda: gm.collect(source, **options)


def ours_categorical(n_rows: int) -> Call:
    return _collect(synthetic.categorical(n_rows))


def tabmat_categorical(n_rows: int) -> Call:
    import pandas as pd
    import tabmat

    columns = zip(synthetic.codes(n_rows, synthetic.CATEGORICAL), synthetic.CATEGORICAL, strict=True)
    blocks = [
        tabmat.CategoricalMatrix(pd.Categorical.from_codes(codes, categories=range(levels)))
        for codes, levels in columns
    ]
    matrix, weights = tabmat.SplitMatrix(blocks), np.ones(n_rows)
    return lambda: matrix.sandwich(weights)


def scipy_categorical(n_rows: int) -> Call:
    from scipy import sparse

    starts = np.concatenate([[0], np.cumsum(synthetic.CATEGORICAL)])
    columns = synthetic.codes(n_rows, synthetic.CATEGORICAL)
    indices = np.stack([c + start for c, start in zip(columns, starts[:-1], strict=True)], axis=1)
    indptr = np.arange(0, indices.size + 1, len(columns))
    onehot = sparse.csr_array((np.ones(indices.size), indices.ravel(), indptr), shape=(n_rows, int(starts[-1])))
    return lambda: onehot.T @ onehot


def ours_booleans(n_rows: int) -> Call:
    matrix = synthetic.booleans(n_rows)
    return _collect(pa.table({f"b{j:03d}": pa.array(matrix[:, j]) for j in range(matrix.shape[1])}))


def numpy_booleans(n_rows: int) -> Call:
    dense = synthetic.booleans(n_rows).astype(np.float32, order="C")
    return lambda: dense.T @ dense


def tabmat_booleans(n_rows: int) -> Call:
    import pandas as pd
    import tabmat

    blocks = [
        tabmat.CategoricalMatrix(pd.Categorical.from_codes(column.astype(np.int8), categories=[False, True]))
        for column in synthetic.booleans(n_rows).T
    ]
    matrix, weights = tabmat.SplitMatrix(blocks), np.ones(n_rows)
    return lambda: matrix.sandwich(weights)


def ours_numbers(n_rows: int) -> Call:
    return _collect(synthetic.numbers(n_rows))


def numpy_numbers(n_rows: int) -> Call:
    matrix = synthetic.numbers(n_rows)
    return lambda: matrix.T @ matrix


def ours_text(n_rows: int, times: int = 1, folds: int = 0) -> Call:
    path = synthetic.text_file(n_rows)
    collect = _collect(str(path) if times == 1 else [str(path)] * times, folds=folds)

    def call() -> int:
        return int(collect().n_rows)

    return call


def ours_zipf(n_rows: int, folds: int = 0) -> Call:
    return _collect(str(synthetic.zipf_file(n_rows)), folds=folds)


def sklearn_text(n_rows: int) -> Call:
    import pandas as pd
    from scipy import sparse
    from sklearn.preprocessing import OneHotEncoder

    path, text = synthetic.text_file(n_rows), synthetic.names(synthetic.TEXT)

    def call() -> None:
        frame = pd.read_parquet(path)
        onehot = OneHotEncoder().fit_transform(frame[text])
        matrix = sparse.hstack([onehot, sparse.csr_array(frame[["price", "weight"]].to_numpy())], format="csr")
        _ = matrix.T @ matrix

    return call


def _pairs() -> list[tuple[str, str]]:
    return list(combinations(synthetic.names(synthetic.TEXT), 2))


def duckdb_pairs(n_rows: int, how: str) -> Call:
    """Count all pairs of the text columns in DuckDB: a query for each pair, or one with GROUPING SETS."""
    import duckdb

    path, connection = synthetic.text_file(n_rows), duckdb.connect()
    if how == "queries":
        queries = [f"SELECT {a}, {b}, count(*) FROM '{path}' GROUP BY ALL" for a, b in _pairs()]
    else:
        sets = ", ".join(f"({a}, {b})" for a, b in _pairs())
        names = ", ".join(synthetic.names(synthetic.TEXT))
        queries = [f"SELECT {names}, count(*) FROM '{path}' GROUP BY GROUPING SETS ({sets})"]
    return lambda: [connection.execute(query).to_arrow_table() for query in queries]


def polars_pairs(n_rows: int) -> Call:
    """Count all pairs of the text columns in polars, all in one lazy plan."""
    import polars as pl

    frame = pl.scan_parquet(synthetic.text_file(n_rows))
    return lambda: pl.collect_all([frame.group_by(pair).len() for pair in _pairs()])


def ours_wide(n_rows: int) -> Call:
    return _collect(str(synthetic.wide_file(n_rows)))


def _read_table(path: Path, dictionaries: list[str]) -> Call:
    return lambda: pq.read_table(path, read_dictionary=dictionaries)


def _row_groups(path: Path, dictionaries: list[str]) -> Call:
    def call() -> None:
        with pq.ParquetFile(path, read_dictionary=dictionaries, pre_buffer=True) as file:
            for i in range(file.num_row_groups):
                file.read_row_group(i)

    return call


def _scanner(path: Path, dictionaries: list[str]) -> Call:
    form = ds.ParquetFileFormat(dictionary_columns=dictionaries)

    def call() -> None:
        for _ in ds.dataset(path, format=form).scanner().to_batches():
            pass

    return call


SCANS: dict[str, Callable[[Path, list[str]], Call]] = {
    "read_table": _read_table,
    "row groups": _row_groups,
    "scanner": _scanner,
}


FILES = {
    "text": (synthetic.text_file, synthetic.TEXT),
    "wide": (synthetic.wide_file, synthetic.WIDE),
    "zipf": (synthetic.zipf_file, synthetic.ZIPF),
}


def scan(file: str, n_rows: int, how: str, wide_as_text: bool = False) -> Call:
    """Return a bare scan of one of the files, all text as codes, or all but its wide columns."""
    write, levels = FILES[file]
    narrow = [n for n, k in zip(synthetic.names(levels), levels, strict=True) if k < 100_000]
    return SCANS[how](write(n_rows), narrow if wide_as_text else synthetic.names(levels))
