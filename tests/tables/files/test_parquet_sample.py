"""Sampled rows are rows of the files, at the places they are said to stand at."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gramian.tables import open_table
from gramian.tables.files.parquet import sample_row_groups


@pytest.fixture
def folder(tmp_path):
    """Three files of 40, 0 and 25 rows in row groups of 10; `k` counts through."""
    start = 0
    for name, n in (("a", 40), ("b", 0), ("c", 25)):
        k = np.arange(start, start + n)
        table = pa.table({"k": k, "t": pa.array([f"level {v % 3}" for v in k], pa.string()).dictionary_encode()})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=10)
        start += n
    return tmp_path


@pytest.mark.parametrize(("limit", "n_groups"), [(12, 3), (12, 50), (1, 1), (7, 4), (1000, 2), (1000, 50)])
@pytest.mark.parametrize("seed", range(4))
def test_rows_stand_where_they_are_said_to_stand(folder, limit, n_groups, seed):
    found = sample_row_groups(open_table(folder), ["t", "k"], limit, n_groups, np.random.default_rng(seed))
    assert found.n_rows == 65
    assert found.rows["k"].to_pylist() == found.positions.tolist()
    assert found.rows["t"].to_pylist() == [f"level {k % 3}" for k in found.positions]
    assert found.rows.schema == pa.schema([("t", pa.string()), ("k", pa.int64())])
    assert (np.diff(found.positions) > 0).all()
    assert len(found.positions) <= limit
    groups = {k // 10 if k < 40 else 4 + (k - 40) // 10 for k in found.positions.tolist()}
    assert len(groups) == min(found.n_groups, limit) <= n_groups
    assert found.n_groups == min(n_groups, 7)


def test_all_rows_come_where_all_fit(folder):
    found = sample_row_groups(open_table(folder), ["k"], 1000, 50, np.random.default_rng(0))
    assert found.positions.tolist() == list(range(65))


def test_a_long_group_is_entered_at_its_beginning_and_a_short_one_anywhere(folder):
    places = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        long = sample_row_groups(open_table(folder / "a.parquet"), ["k"], 2, 1, rng).positions
        assert (long % 10).tolist() == [0, 1]
        short = sample_row_groups(open_table(folder / "a.parquet"), ["k"], 3, 1, rng).positions % 10
        places += short.tolist()
    assert set(places) == set(range(10))


def test_groups_are_as_likely_as_they_are_long(tmp_path):
    for name, n in (("1", 5), ("2", 95)):
        pq.write_table(pa.table({"k": np.full(n, int(name))}), tmp_path / f"{name}.parquet")
    table = open_table(tmp_path)
    drawn = [sample_row_groups(table, ["k"], 1, 1, np.random.default_rng(s)).rows["k"][0].as_py() for s in range(100)]
    # Binomial: 5 of 100 on average, with a standard deviation of 2.2.
    assert drawn.count(1) <= 14


def test_keys_of_folders_are_sampled_too(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"k": [year] * 3}), tmp_path / f"year={year}" / "x.parquet")
    table = open_table(tmp_path)
    found = sample_row_groups(table, ["year", "k"], 10, 5, np.random.default_rng(0)).rows.to_pydict()
    assert found["year"] == found["k"] == [2023] * 3 + [2024] * 3
    alone = sample_row_groups(table, ["year"], 10, 5, np.random.default_rng(0)).rows.to_pydict()
    assert alone == {"year": found["year"]}
