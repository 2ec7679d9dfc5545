from __future__ import annotations

import threading

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from gramian.errors import ColumnError, DataError
from gramian.tables import base, open_table
from gramian.tables.memory.arrow import DatasetTable


def test_tables_and_batches_come_back_without_a_copy(people, rows):
    for source in (people, people.to_batches()[0]):
        table = open_table(source)
        assert (table.n_rows, table.one_shot) == (5, False)
        assert rows(table) == people.to_pydict()
        batch = next(table.batches(["height"]))
        assert batch.column(0).buffers()[1].address == people["height"].chunk(0).buffers()[1].address


def test_long_tables_are_sliced(monkeypatch, rows):
    monkeypatch.setattr("gramian.tables.base.BATCH_ROWS", 100)
    data = pa.table({"a": range(250)})
    assert [b.num_rows for b in open_table(data).batches()] == [100, 100, 50]


def test_a_reader_is_read_once(people, rows):
    table = open_table(people.to_reader(max_chunksize=2))
    assert (table.n_rows, table.one_shot) == (None, True)
    assert rows(table, ["color", "age"]) == people.select(["color", "age"]).to_pydict()
    with pytest.raises(DataError, match="can be read only once"):
        table.batches()


def test_a_failing_reader_is_one_line(people):
    def batches():
        yield people.to_batches()[0]
        raise OSError("the line\nwent dead")

    table = open_table(pa.RecordBatchReader.from_batches(people.schema, batches()))
    with pytest.raises(DataError, match="reading a RecordBatchReader failed: the line went dead"):
        list(table.batches())


def test_a_dataset_is_pruned_and_read_again(tmp_path, people, rows):
    for i in range(3):
        pq.write_table(people, tmp_path / f"{i}.parquet")
    table = open_table(ds.dataset(tmp_path))
    assert rows(table) == pa.concat_tables([people] * 3).to_pydict()
    assert rows(table, ["member", "age"]) == pa.concat_tables([people] * 3).select(["member", "age"]).to_pydict()
    filtered = open_table(ds.dataset(tmp_path).filter(ds.field("age") > 40))
    assert rows(filtered, ["color"]) == {"color": [None, "green"] * 3}


def subset_of_groups(path, people):
    part = next(ds.dataset(path).get_fragments()).subset(row_group_ids=[0])
    return ds.FileSystemDataset([part], people.schema, ds.ParquetFileFormat(), part.filesystem)


@pytest.mark.parametrize(
    ("name", "made", "by_files"),
    [
        ("some columns", lambda path, people: ds.dataset(path).replace_schema(people.select(["age", "color"]).schema), True),
        ("one file twice", lambda path, _: ds.dataset([str(path)] * 2), True),
        ("a filter", lambda path, _: ds.dataset(path).filter(ds.field("age") > 40), False),
        ("some row groups", subset_of_groups, False),
        ("a cast", lambda path, _: ds.dataset(path, schema=pa.schema([("age", pa.float32())])), False),
        ("a column that no file has", lambda path, _: ds.dataset(path, schema=pa.schema([("other", pa.int64())])), False),
        ("folders of keys", lambda path, _: ds.dataset(path.parent.parent, partitioning="hive"), False),
    ],
)  # fmt: skip
def test_a_dataset_of_whole_files_is_read_as_these_files(tmp_path, people, rows, name, made, by_files):
    (tmp_path / "day=1").mkdir()
    path = tmp_path / "day=1" / "people.parquet"
    pq.write_table(people, path, row_group_size=2)
    dataset = made(path, people)
    table = open_table(dataset)
    assert isinstance(table, DatasetTable) != by_files
    assert table.describe == "a pyarrow dataset"
    assert rows(table) == dataset.to_table().to_pydict()


def test_an_abandoned_dataset_leaves_no_thread_behind(tmp_path, people):
    for i in range(20):
        pq.write_table(people, tmp_path / f"{i}.parquet")
    before = threading.active_count()
    batches = open_table(ds.dataset(tmp_path)).batches()
    next(batches)
    batches.close()
    assert threading.active_count() == before


class Exporter:
    """An object of a library that is not known here."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_anything_that_exports_a_stream_is_read(people, rows):
    table = open_table(Exporter(people))
    assert table.describe == "an Arrow stream (Exporter)"
    assert rows(table) == people.to_pydict()


def test_an_exporter_that_fails_is_one_line():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("no\nstream")

    with pytest.raises(DataError, match=r"gave no Arrow stream: no stream"):
        open_table(Broken())


@pytest.fixture
def duckdb():
    return pytest.importorskip("duckdb")


def test_a_duckdb_relation_is_read_again(duckdb, tmp_path, people, rows):
    pq.write_table(people, tmp_path / "p.parquet")
    connection = duckdb.connect()
    for relation in (
        connection.read_parquet(str(tmp_path / "p.parquet")),
        connection.sql(f"select * from '{tmp_path / 'p.parquet'}'"),
    ):
        table = open_table(relation)
        assert not table.one_shot
        assert rows(table) == people.to_pydict()
        assert rows(table, ["height", "color"]) == people.select(["height", "color"]).to_pydict()


def test_duckdb_enums_are_dictionaries_and_odd_names_are_quoted(duckdb, rows):
    connection = duckdb.connect()
    table = open_table(connection.sql("""select 'b'::ENUM('a', 'b') as "an ""odd"" name", i from range(3) t(i)"""))
    assert pa.types.is_dictionary(table.schema.field(0).type)
    assert rows(table, ['an "odd" name']) == {'an "odd" name': ["b"] * 3}


def test_a_duckdb_relation_that_fails_is_one_line(duckdb):
    connection = duckdb.connect()
    table = open_table(connection.sql("select cast(x as int) as i from (values ('1'), ('one')) t(x)"))
    with pytest.raises(DataError, match=r"one") as caught:
        list(table.batches())
    assert "\n" not in str(caught.value)


def test_an_abandoned_duckdb_relation_leaves_no_thread_and_no_lock(duckdb):
    connection = duckdb.connect()
    batches = open_table(connection.sql("select i, i % 7 as j from range(3000000) t(i)")).batches(["j"])
    next(batches)
    batches.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("gramian-read")]
    assert connection.sql("select 1").fetchall() == [(1,)]


def test_a_foreign_stream_is_read_in_the_callers_thread(people):
    threads = set()

    def batches():
        for batch in people.to_batches(max_chunksize=1):
            threads.add(threading.get_ident())
            yield batch

    list(open_table(pa.RecordBatchReader.from_batches(people.schema, batches())).batches())
    assert threads == {threading.get_ident()}


def test_views_and_run_ends_become_plain(rows):
    data = pa.table(
        {
            "v": pa.array(["a", "b"], pa.string_view()),
            "r": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["x", "y"])),
        }
    )
    table = open_table(data)
    assert table.schema.types == [pa.large_string(), pa.string()]
    assert rows(table) == {"v": ["a", "b"], "r": ["x", "y"]}


def test_duplicate_names_and_no_columns_are_named():
    with pytest.raises(ColumnError, match=r"'a' occurs 2 times in a pyarrow Table"):
        open_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(DataError, match="has no columns"):
        open_table(pa.table({}))


def test_an_open_table_is_returned_as_it_is(people):
    table = open_table(people)
    assert open_table(table) is table
    assert isinstance(table, base.ArrowTable)
    assert repr(table) == "<MemoryTable: a pyarrow Table, 5 rows>"
