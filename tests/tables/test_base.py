"""The two shapes of a table: what they promise whoever reads them, with the smallest tables that can be made."""

from __future__ import annotations

import weakref

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from gramian.errors import ColumnError, DataError
from gramian.tables import open_table
from gramian.tables.base import ArrayTable, ArrowTable, require_unique_names

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])


class Two(ArrowTable):
    """Batches of 2, 0 and 1 rows; notes what was asked for and whether it was closed."""

    closed = False

    def _read(self, columns):
        self.asked = columns
        try:
            for values in ([1, 2], [], [3]):
                full = pa.record_batch(
                    {"a": pa.array(values, pa.int64()), "b": pa.array(map(str, values), pa.string())}
                )
                yield full.select(columns)
        finally:
            self.closed = True


class Chunks(ArrayTable):
    def __init__(self, chunks, names=("a", "b"), **options):
        super().__init__(names, dtype=np.dtype(np.float64), describe="some chunks", **options)
        self._held = chunks

    def _chunks(self):
        yield from self._held


def test_batches_have_the_columns_asked_for_and_none_is_empty():
    table = Two(SCHEMA, describe="two")
    assert [batch.to_pydict() for batch in table.batches(["b", "a"])] == [
        {"b": ["1", "2"], "a": [1, 2]},
        {"b": ["3"], "a": [3]},
    ]
    assert table.asked == ["b", "a"]
    assert table.closed
    assert [batch.schema.names for batch in table.batches()] == [["a", "b"]] * 2


@pytest.mark.parametrize("start", range(5))
def test_from_a_row_on_comes_what_comes_after_the_rows_before_it(start):
    table = Two(SCHEMA, describe="two")
    assert [a for batch in table.batches(["a"], start=start) for a in batch["a"].to_pylist()] == [1, 2, 3][start:]
    assert table.closed


def test_an_early_end_closes_what_reads():
    table = Two(SCHEMA, describe="two")
    stream = table.batches()
    next(stream)
    assert not table.closed
    stream.close()
    assert table.closed


def test_a_batch_that_was_used_is_gone_before_the_next_is_read():
    held = []

    class Watched(ArrowTable):
        def _made(self):
            batch = pa.record_batch({"a": [1]})
            self.last = weakref.ref(batch)
            return batch

        def _read(self, columns):
            for _ in range(3):
                yield self._made()
                held.append(self.last() is not None)

    for batch in Watched(pa.schema([("a", pa.int64())]), describe="watched").batches():
        assert batch.num_rows == 1
        del batch
    assert held == [False] * 3


def test_what_cannot_be_read_is_said_before_reading():
    held = DataError("column 'b' is text here and a number there")
    table = Two(SCHEMA, describe="two", disputed={"b": held})
    for columns, error, words in (
        ([], DataError, "no columns of two were asked for"),
        (["z"], ColumnError, "z"),
        (["a", "a"], ColumnError, "column 'a' occurs 2 times in the columns asked for"),
        (None, DataError, "is text here and a number there"),
    ):
        with pytest.raises(error, match=words):
            table.batches(columns)
    assert not hasattr(table, "asked")
    assert [batch.num_rows for batch in table.batches(["a"])] == [2, 1]


def test_a_one_shot_source_is_read_once():
    table = Two(SCHEMA, describe="the stream", one_shot=True)
    list(table.batches())
    with pytest.raises(DataError, match="the stream can be read only once"):
        table.batches()
    chunks = Chunks([np.zeros((1, 2))], one_shot=True)
    chunks.chunks()
    with pytest.raises(DataError, match="some chunks can be read only once"):
        chunks.chunks()


def test_names_are_unique_and_there_are_some():
    require_unique_names(["a", "A", ""], "here")
    with pytest.raises(ColumnError, match="column 'a' occurs 3 times in here"):
        require_unique_names(["a", "b", "a", "a"], "here")
    with pytest.raises(ColumnError, match="'a' occurs 2 times in two"):
        Two(pa.schema([("a", pa.int8()), ("a", pa.int8())]), describe="two")
    with pytest.raises(DataError, match="two has no columns"):
        Two(pa.schema([]), describe="two")
    with pytest.raises(DataError, match="some chunks has no columns"):
        Chunks([], names=())


def test_metadata_is_left_behind_and_tables_say_what_they_are():
    table = Two(SCHEMA.with_metadata({"pandas": "{}"}), describe="two", n_rows=12345)
    assert table.schema.metadata is None
    assert repr(table) == "<Two: two, 12,345 rows>"
    assert repr(Chunks([])) == "<Chunks: some chunks, unknown rows>"


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_float_arrays_can_be_read_as_columns(wrap, rows, monkeypatch):
    monkeypatch.setattr("gramian.tables.base.BATCH_ROWS", 2)
    table = Chunks([wrap(np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 5.0]])), wrap(np.ones((1, 2), np.float32))]).as_arrow()
    assert rows(table) == {"a": [1.0, 0.0, 4.0, 1.0], "b": [2.0, 3.0, 5.0, 1.0]}
    assert rows(table, ["b"]) == {"b": [2.0, 3.0, 5.0, 1.0]}
    assert [batch.num_rows for batch in table.batches()] == [2, 1, 1]


@pytest.mark.parametrize("make", [lambda t: t, lambda t: t.to_pandas(), pytest.importorskip("polars").from_arrow])
def test_frames_are_taken_in_pieces_of_so_many_bytes(make):
    rows = pa.table({"a": pa.array(range(50_000)), "t": pa.array(["x", "y"] * 25_000)})
    table = open_table(make(rows))
    assert [batch.num_rows for batch in table.batches()] == [50_000]
    table.read_within(2**18)
    pieces = [batch.num_rows for batch in table.batches()]
    assert max(pieces) == 2**18 // 32
    assert sum(pieces) == 50_000
