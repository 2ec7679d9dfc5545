"""Rows in which a target is missing are left out: the moments are those of the other rows, whatever the source."""

from __future__ import annotations

import datetime
import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError

N = 90


def rows(random: np.random.Generator) -> pa.Table:
    """Return rows in which each target is missing somewhere, together and apart, in the first row and the last."""

    def gaps(values: list, at: set[int]) -> list:
        return [None if k in at else value for k, value in enumerate(values)]

    start = datetime.date(2024, 1, 1)
    return pa.table(
        {
            "color": gaps(random.choice(["red", "blue", "green"], N).tolist(), {5, 41}),
            "size": pa.array(gaps(random.normal(size=N).tolist(), {0, 7}), pa.float64()),
            "bought": gaps(random.choice(["yes", "no"], N).tolist(), {0, 40, 41, N - 1}),
            "price": gaps(random.lognormal(size=N).tolist(), {0, 3, 40}),
            "stars": pa.array(gaps(random.integers(1, 6, N).tolist(), {2}), pa.int64()),
            "sold": gaps([start + datetime.timedelta(days=int(d)) for d in random.integers(0, 400, N)], {8, 9}),
            "weight": random.integers(0, 3, N).astype(float),
        }
    )


def without_gaps(table: pa.Table, *targets: str) -> pa.Table:
    kept = [all(row[name] is not None for name in targets) for row in table.to_pylist()]
    return table.filter(pa.array(kept))


@pytest.fixture
def table(rng: np.random.Generator) -> pa.Table:
    return rows(rng)


@pytest.mark.parametrize("targets", [["bought"], ["price"], ["stars"], ["sold"], ["bought", "price"]])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_moments_are_those_of_the_rows_with_a_target(table: pa.Table, targets: list[str], weighted: bool) -> None:
    weight = "weight" if weighted else None
    found = gm.collect(table, targets=targets, sample_weight=weight)
    kept = without_gaps(table, *targets)
    assert found == gm.collect(kept, targets=targets, sample_weight=weight)
    counted = [row for row in table.to_pylist() if not weighted or row["weight"]]
    assert found.rows_left_out == len(counted) - found.n_rows
    assert found.rows_left_out > 0


def test_weights_beside_the_table_stay_with_their_rows(table: pa.Table) -> None:
    weights = np.arange(N) % 4 + 0.5
    kept = [value is not None for value in table["bought"].to_pylist()]
    found = gm.collect(table, targets="bought", sample_weight=weights)
    assert found == gm.collect(table.filter(pa.array(kept)), targets="bought", sample_weight=weights[kept])


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "pandas", "polars", "batches", "dictionary", "files"])
def test_every_source_leaves_the_same_rows_out(table: pa.Table, kind: str, tmp_path) -> None:
    table = table.select(["color", "size", "bought", "stars"])
    if kind == "parquet":
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=20)
        source = tmp_path / "a.parquet"
    elif kind == "csv":
        pcsv.write_csv(table, tmp_path / "a.csv")
        source = tmp_path / "a.csv"
    elif kind == "jsonl":
        table.to_pandas().to_json(tmp_path / "a.jsonl", orient="records", lines=True)
        source = tmp_path / "a.jsonl"
    elif kind == "files":
        for k in range(3):
            pq.write_table(table.slice(30 * k, 30), tmp_path / f"{k}.parquet")
        source = tmp_path
    else:
        source = {
            "pandas": lambda: table.to_pandas(),
            "polars": lambda: pl.from_arrow(table),
            "batches": lambda: [table.slice(k, 10) for k in range(0, N, 10)],
            # The missing value is an entry of the dictionary, and no index is null.
            "dictionary": lambda: table.set_column(2, "bought", _with_missing_entry(table["bought"])),
        }[kind]()
    found = gm.collect(source, targets="bought")
    assert found.isclose(gm.collect(without_gaps(table, "bought"), targets="bought"))
    assert found.rows_left_out == 4


def _with_missing_entry(column: pa.ChunkedArray) -> pa.Array:
    entries = ["yes", None, "no"]
    return pa.DictionaryArray.from_arrays(
        pa.array([entries.index(value) for value in column.to_pylist()], pa.int32()), pa.array(entries)
    )


def test_nan_is_missing_in_an_array_that_is_read_like_before() -> None:
    values = np.array([[1.0, 2.0], [2.0, np.nan], [4.0, 1.0]])
    first = gm.collect(values, targets="x1")
    assert first.n_rows == 2
    assert gm.collect(values, like=first).n_rows == 2


def test_folds_add_up_without_the_rows_left_out(table: pa.Table, tmp_path) -> None:
    found = gm.collect(table, targets="bought", folds=4)
    assert sum(fold.n_rows for fold in found.folds) == found.n_rows == N - 4
    assert found.rows_left_out == 4
    found.save(tmp_path / "m.moments")
    again = gm.Moments.load(tmp_path / "m.moments")
    assert again.rows_left_out == 4
    assert (again + found).rows_left_out == 8
    assert (again + found - found).rows_left_out == 4
    assert "4 more without a target were left out" in str(again.summary())


def test_parts_add_up_to_the_whole(table: pa.Table) -> None:
    # The first part is nothing but rows without a target.
    parts = [table.slice(0, 1), table.slice(1, 39), table.slice(40)]
    first = gm.collect(parts[1], targets="bought")
    both = first + gm.collect(parts[2], targets="bought", like=first)
    assert both.isclose(gm.collect(table.slice(1), targets="bought"))
    assert both.rows_left_out == 3
    with pytest.raises(DataError, match=r"no row of .* has a target: 'bought' is missing in all 1 rows"):
        gm.collect(parts[0], targets="bought", like=first)


def test_workers_leave_out_the_same_rows_and_one_line_says_so(table: pa.Table, caplog) -> None:
    dd = pytest.importorskip("dask.dataframe")
    frame = table.drop_columns(["sold"]).to_pandas()
    with caplog.at_level(logging.INFO, logger="gramian"):
        found = gm.collect(dd.from_pandas(frame, npartitions=4, sort=False), targets="bought")
    assert found.isclose(gm.collect(frame.dropna(subset=["bought"]), targets="bought"))
    assert [r.getMessage() for r in caplog.records if "left out" in r.getMessage()] == [
        "left out 4 of 90 rows: target 'bought' is missing there"
    ]


def test_a_pass_that_goes_on_counts_all_rows_left_out(table: pa.Table, tmp_path) -> None:
    from gramian.engines.checkpoint import Checkpoint

    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=10)
    kept = Checkpoint(tmp_path / "progress", keep=True)
    whole = gm.collect(path, targets="bought", checkpoint=kept)
    # The finished pass is in the file: going on from it reads nothing more.
    again = gm.collect(path, targets="bought", checkpoint=kept)
    assert again == whole
    assert again.rows_left_out == whole.rows_left_out == 4
    with pytest.raises(DataError, match="target_missing"):
        gm.collect(path, targets="bought", target_missing="raise", checkpoint=kept)


def test_raise_names_the_column_and_the_way_out(table: pa.Table) -> None:
    with pytest.raises(ColumnError, match=r"'bought' has missing values, 4 among 90 rows.*target_missing='drop'"):
        gm.collect(table, targets="bought", target_missing="raise")
    with pytest.raises(DataError, match="target_missing is None, 'drop' or 'raise'; got 'keep'"):
        gm.collect(table, targets="bought", target_missing="keep")
    # A row that counts zero times may lack anything.
    weights = [0.0 if value is None else 1.0 for value in table["bought"].to_pylist()]
    assert gm.collect(table, targets="bought", target_missing="raise", sample_weight=weights).n_rows == N - 4


def test_a_column_that_is_no_target_keeps_its_missing_level(table: pa.Table, caplog) -> None:
    with caplog.at_level(logging.INFO, logger="gramian"):
        found = gm.collect(table)
    assert (found.n_rows, found.rows_left_out, caplog.records) == (N, 0, [])
    assert None in found.levels("bought")
    assert pd.isna(table.to_pandas()["bought"]).sum() == 4
