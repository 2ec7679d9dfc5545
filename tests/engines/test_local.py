"""The local engine maps batches in order, each once, and stops when nobody wants more."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.design.encoder import Encoder
from gramian.engines.local import LocalEngine
from gramian.errors import ColumnError, DataError, FileFormatError
from gramian.tables import open_table
from gramian.tables.base import ArrowTable


def numbers(n: int, per_batch: int = 1000) -> ArrowTable:
    return open_table(pa.table({"x": np.arange(n), "y": np.arange(n) % 7}).to_batches(max_chunksize=per_batch))


@pytest.mark.parametrize("rows", [1, 300, 1000, 10**6, None])
def test_results_come_in_the_order_of_the_rows(rows):
    parts = list(LocalEngine().map(numbers(3500), lambda batch: batch.column(0).to_numpy(), columns=["x"], rows=rows))
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(3500))
    assert max(map(len, parts)) <= (rows or 10**6)


def test_only_the_columns_asked_for_are_read_in_that_order():
    names = LocalEngine().map(numbers(10), lambda batch: batch.schema.names, columns=["y", "x"])
    assert list(names) == [["y", "x"]]


@pytest.mark.parametrize("limit", [1, 999, 1000, 1001, 5000])
def test_a_limit_reads_no_batch_beyond_the_last_row_wanted(limit):
    read = []

    def batches():
        for k in range(4):
            read.append(k)
            yield pa.record_batch({"x": np.arange(1000 * k, 1000 * (k + 1))})

    table = open_table(batches())
    read.clear()
    parts = list(LocalEngine().map(table, lambda batch: batch.column(0).to_numpy(), columns=["x"], limit=limit))
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(min(limit, 4000)))
    # Opening a generator looks at its first batch.
    assert 1 + len(read) <= -(-min(limit, 4000) // 1000) + (limit > 4000)


def test_an_error_of_the_function_reaches_the_caller_and_no_thread_is_left():
    def broken(batch):
        if batch.column(0)[0].as_py() >= 2000:
            raise ValueError("row 2000")
        return batch.num_rows

    before = threading.active_count()
    results = LocalEngine().map(numbers(5000), broken, columns=["x"], rows=1000)
    assert next(results) == 1000
    assert next(results) == 1000
    with pytest.raises(ValueError, match="row 2000"):
        next(results)
    results.close()
    assert threading.active_count() == before


def test_a_wrong_column_is_refused_before_anything_is_read():
    with pytest.raises(ColumnError, match="'z'"):
        LocalEngine().map(numbers(10), len, columns=["z"])


def test_one_thread_calls_the_function_one_batch_at_a_time():
    at_work, most = [], []

    def work(batch):
        at_work.append(1)
        most.append(len(at_work))
        at_work.pop()

    list(LocalEngine(n_jobs=1).map(numbers(20_000), work, columns=["x"], rows=100))
    assert len(most) == 200
    assert max(most) == 1


def test_what_is_read_and_encoded_at_a_time_follows_the_memory_limit(monkeypatch, tmp_path):
    n = 120_000
    table = pa.table({"a": pa.array(["x", "y"] * (n // 2)), "b": np.arange(n) * 1.5, "c": np.arange(n) * 2.5})
    pq.write_table(table, tmp_path / "t.parquet")
    pa.csv.write_csv(table, tmp_path / "t.csv")
    seen = []
    encode = Encoder.encode

    def watched(self, batches, **options):
        seen.append([batch.num_rows for batch in batches])
        return encode(self, batches, **options)

    monkeypatch.setattr(Encoder, "encode", watched)
    for name in ("t.parquet", "t.csv"):
        free = gm.collect(tmp_path / name)
        longest, seen[:] = max(map(sum, seen)), []
        bounded = gm.collect(tmp_path / name, memory_limit="20MB")
        # A row takes 18 bytes encoded and 20 read: a thirty-second and a sixty-fourth of the limit.
        assert max(map(sum, seen)) <= 20e6 / 32 / 18 < longest
        assert max(map(max, seen)) <= 20e6 / 64 / 20 or name == "t.csv"
        assert bounded.isclose(free)
        seen.clear()


ROLES = {
    "a feature": {},
    "a target": {"targets": ["c"]},
    "the fold": {"folds": 2, "fold_by": "c"},
    "what folds are made by, and left out": {"folds": 2, "fold_by": "c", "exclude": ["c"]},
    "beside rows of no weight": {"sample_weight": np.arange(3000) % 2},
    "read on one thread": {"n_jobs": 1},
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("text", [pa.string(), pa.large_string()])
def test_an_index_outside_is_found_whatever_the_column_is_for(tmp_path, role, text):
    indices = np.arange(3000, dtype=np.int32) % 3
    indices[2999] = 2**30
    wild = pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(["a", "b", "c"], text), safe=False)
    table = pa.table({"c": wild, "n": np.arange(3000.0)})
    with pytest.raises(
        DataError, match=r"^column 'c' of a pyarrow Table is damaged: an index .* of 3; write it again$"
    ):
        gm.collect(table, **ROLES[role])
    # Of several files, the damaged one is named.
    paths = [str(tmp_path / name) for name in ("first.arrow", "second.arrow")]
    for path, rows in zip(paths, (table.slice(0, 1000), table.slice(1000)), strict=True):
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(rows)
    with pytest.raises(FileFormatError, match=r"column 'c' of .*second.arrow is damaged: .* of 3; write it again$"):
        gm.collect(paths, **ROLES[role])
