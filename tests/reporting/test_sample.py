"""A sample is rows of the source at the positions it names, seeded, without the rest being read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gramian.reporting.context import Sample, sample_rows
from gramian.tables import open_table


@pytest.fixture
def table() -> pa.Table:
    n = 5000
    return pa.table({"k": np.arange(n), "label": [f"l{k % 7}" for k in range(n)], "x": np.arange(n) / 2})


def _check(found: Sample, n: int) -> None:
    assert found.table["k"].to_pylist() == found.positions.tolist()
    assert found.table["label"].to_pylist() == [f"l{k % 7}" for k in found.positions]
    assert len(found.positions) == n
    assert (np.diff(found.positions) > 0).all()


@pytest.mark.parametrize(
    "kind", [lambda t: t, lambda t: t.to_pandas(), lambda t: pl.from_arrow(t)], ids=["pyarrow", "pandas", "polars"]
)
def test_rows_in_memory_are_drawn_from_all_of_them(table: pa.Table, kind) -> None:
    found = sample_rows(kind(table), limit=400)
    _check(found, 400)
    assert found.positions.max() > 4500
    assert found.words == "400 of 5,000 rows, at random"


def test_an_array_keeps_its_rows_whole(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4))
    found = sample_rows(X, limit=50)
    assert np.array_equal(np.column_stack([c.to_numpy() for c in found.table.columns]), X[found.positions])


def test_a_small_source_is_taken_whole(table: pa.Table) -> None:
    found = sample_rows(table)
    _check(found, 5000)
    assert found.words == "all 5,000 rows"


def test_parquet_stretches_stand_where_they_say(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=500)
    found = sample_rows(str(tmp_path / "rows.parquet"), limit=400)
    _check(found, 400)
    assert found.n_rows == 5000
    assert found.positions.max() - found.positions.min() > 1000
    assert np.array_equal(sample_rows(str(tmp_path / "rows.parquet"), limit=400).positions, found.positions)
    assert not np.array_equal(sample_rows(str(tmp_path / "rows.parquet"), limit=400, seed=1).positions, found.positions)


def test_many_parquet_files_with_keys_count_as_one_table(table: pa.Table, tmp_path: Path) -> None:
    for part in range(10):
        folder = tmp_path / f"day={part}"
        folder.mkdir()
        pq.write_table(table.slice(500 * part, 500), folder / "rows.parquet", row_group_size=100)
    found = sample_rows(str(tmp_path), limit=200)
    _check(found, 200)
    assert found.table["day"].to_pylist() == [k // 500 for k in found.positions]


def test_a_large_parquet_file_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 400_000
    pq.write_table(pa.table({"k": np.arange(n)}), tmp_path / "rows.parquet", row_group_size=20_000)
    read = 0
    original = pq.ParquetFile.iter_batches

    def counted(self, *args, **kwargs):
        nonlocal read
        for batch in original(self, *args, **kwargs):
            read += batch.num_rows
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    found = sample_rows(str(tmp_path / "rows.parquet"), limit=4000)
    assert found.table["k"].to_pylist() == found.positions.tolist()
    assert 4000 <= read <= 8000


def test_of_text_files_the_first_rows_are_taken_and_said_to_be(table: pa.Table, tmp_path: Path) -> None:
    table.to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    found = sample_rows(str(tmp_path / "rows.csv"), limit=300)
    _check(found, 300)
    assert found.words == "the first 300 rows"


def test_nested_and_binary_columns_are_left_out() -> None:
    table = pa.table({"k": [1, 2], "nested": [[1], [2, 3]], "raw": [b"a", b"b"]})
    assert sample_rows(table).table.column_names == ["k"]


def test_dictionaries_are_decoded_and_types_kept() -> None:
    table = pa.table({"k": [0, 1], "when": pd.to_datetime(["2025-01-01", None])})
    table = table.append_column("label", pa.array(["a", "b"]).dictionary_encode())
    found = sample_rows(table).table
    assert found.schema.field("label").type == pa.string()
    assert found.schema.field("when").type == table.schema.field("when").type


def test_an_empty_table_gives_no_rows() -> None:
    assert sample_rows(open_table(pa.table({"k": pa.array([], pa.int64())}))).table.num_rows == 0
