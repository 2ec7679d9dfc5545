"""Many files as one table, with a format of the smallest kind: a file holds its rows as one line of Python."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from gramian.errors import ColumnError, DataError
from gramian.tables import open_table
from gramian.tables.files.file_table import FileTable
from gramian.tables.files.paths import Files


class Literals(FileTable):
    """Files that hold a dict of lists."""

    closed = 0

    def _rows_of(self, path):
        return pa.table(ast.literal_eval(Path(path).read_text()))

    def _schemas(self, paths):
        self.looked_at = list(paths)
        return [self._rows_of(path).schema for path in paths]

    def _read_files(self, schema, first, skip):
        self.asked = schema.names
        try:
            for index, path in enumerate(self.files[first:], start=first):
                row = 0
                # In another order than asked for: it is matched by name.
                for batch in self._rows_of(path).select(schema.names[::-1]).to_batches():
                    yield index, row, batch
                    row += batch.num_rows
        finally:
            self.closed += 1


@pytest.fixture
def opened(write_text):
    """Return a function that writes the contents and opens them as one table."""

    def open_files(*contents, order=None, partitions=None):
        paths = [write_text(f"{k}.txt", repr(content)) for k, content in enumerate(contents)]
        paths = paths if order is None else [paths[k] for k in order]
        return Literals(Files(paths, "literal", "some files", partitions or {}))

    return open_files


def test_files_come_in_order_and_are_matched_by_name(opened, rows):
    table = opened({"a": [1, 2], "b": ["x", "y"]}, {"b": ["z"], "a": [3]})
    assert rows(table) == {"a": [1, 2, 3], "b": ["x", "y", "z"]}
    assert rows(table, ["b"]) == {"b": ["x", "y", "z"]}
    assert table.asked == ["b"]
    assert (table.n_rows, table.describe, len(table.files)) == (None, "some files", 2)


def test_a_file_listed_twice_is_looked_at_once_and_read_twice(opened, rows):
    table = opened({"a": [1]}, {"a": [2.5]}, order=[0, 1, 0])
    assert len(table.looked_at) == 2
    assert rows(table) == {"a": [1.0, 2.5, 1.0]}


def test_files_that_disagree_are_refused_in_that_column_alone(opened, rows):
    table = opened({"a": [1], "b": [1]}, {"a": ["x"], "b": [2]})
    assert rows(table, ["b"]) == {"b": [1, 2]}
    assert table.stand_in == ["b"]
    with pytest.raises(DataError, match=r"column 'a' holds text in .*1.txt but whole numbers in .*0.txt"):
        table.batches(["a"])


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["7", "-12"], pa.int64(), [7, 7, -12]),
        (["7", None], pa.int64(), [7, 7, None]),
        (["north", None], pa.dictionary(pa.int32(), pa.string()), ["north", "north", None]),
        (["7", "1" * 19], pa.dictionary(pa.int32(), pa.string()), ["7", "7", "1" * 19]),
        (["1.5", "2"], pa.dictionary(pa.int32(), pa.string()), ["1.5", "1.5", "2"]),
    ],
)
def test_keys_of_folders_are_columns(opened, rows, values, kind, expected):
    table = opened({"a": [1, 2]}, {"a": [3]}, partitions={"key": values})
    assert table.schema.field("key").type == kind
    assert rows(table) == {"a": [1, 2, 3], "key": expected}
    assert rows(table, ["key", "a"]) == {"key": expected, "a": [1, 2, 3]}
    # Rows are counted by a column of the files.
    assert rows(table, ["key"]) == {"key": expected}
    assert table.asked == ["a"]


def test_a_key_that_files_hold_too_is_theirs(opened, rows):
    table = opened({"a": [1]}, {"a": [2]}, partitions={"a": ["8", "9"]})
    assert rows(table) == {"a": [1, 2]}


def test_long_batches_are_cut_and_an_early_end_closes_the_reader(opened, monkeypatch):
    monkeypatch.setattr("gramian.tables.files.file_table.BATCH_ROWS", 2)
    table = opened({"a": [1, 2, 3, 4, 5]})
    assert [batch.num_rows for batch in table.batches()] == [2, 2, 1]
    assert table.closed == 1
    stream = table.batches()
    next(stream)
    stream.close()
    assert table.closed == 2


def test_names_that_occur_twice_are_named_with_the_file(write_text):
    path = write_text("0.txt", "")

    class Twice(Literals):
        def _schemas(self, paths):
            return [pa.schema([("a", pa.int64()), ("a", pa.int64())])]

    with pytest.raises(ColumnError, match=r"column 'a' occurs 2 times in .*0.txt"):
        Twice(Files([path], "literal", "some files"))


def test_partitions_are_consecutive_rows_of_about_the_same_size(tmp_path):
    sizes = [5, 40, 3, 2, 0, 30]
    for k, n in enumerate(sizes):
        rows = pa.table(
            {"n": pa.array(range(100 * k, 100 * k + n), pa.int64()), "c": pa.array(["ab"[k % 2]] * n, pa.string())}
        )
        pq.write_table(rows, tmp_path / f"{k}.parquet", row_group_size=8)
        pacsv.write_csv(rows, tmp_path / f"{k}.csv")
    for pattern in ("*.parquet", "*.csv"):
        table = open_table(str(tmp_path / pattern))
        whole = pa.Table.from_batches(table.batches())["n"].to_pylist()
        for n_parts in (1, 2, 5, 100):
            parts = [pickle.loads(pickle.dumps(part)) for part in table.partitions(n_parts)]
            read = [[n for batch in part.batches() for n in batch.column("n").to_pylist()] for part in parts]
            assert [n for rows in read for n in rows] == whole
            assert all(part.schema == table.schema for part in parts)
            if pattern == "*.parquet":
                assert [part.n_rows for part in parts] == [len(rows) for rows in read]
                # A row group is the least that can be read.
                assert max(map(len, read)) <= max(80 / n_parts + 8, 8)
    assert len(open_table(str(tmp_path / "*.parquet")).partitions(100)) > len(sizes)


def test_partitions_keep_the_keys_of_their_folders(tmp_path):
    for day in ("2", "10", "__HIVE_DEFAULT_PARTITION__"):
        for site in ("north", "1"):
            folder = tmp_path / f"day={day}" / f"site={site}"
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"x": [1.0, 2.0]}), folder / "0.parquet")
    table = open_table(str(tmp_path))
    parts = table.partitions(6)
    assert len(parts) == 6
    rows = [row for part in parts for batch in part.batches(["site", "day"]) for row in batch.to_pylist()]
    assert rows == [row for batch in table.batches(["site", "day"]) for row in batch.to_pylist()]
