from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gramian.errors import ColumnError, DataError, FileFormatError
from gramian.tables import open_table
from gramian.tables.files import parquet
from gramian.tables.files.parquet import chunk_sizes

TEXT = pa.dictionary(pa.int32(), pa.string())


def test_rows_come_back_with_text_as_codes(tmp_path, people, rows):
    path = tmp_path / "people.parquet"
    pq.write_table(people, path)
    table = open_table(path)
    assert table.schema.field("color").type == TEXT
    assert table.n_rows == 5
    assert table.describe == "people.parquet"
    assert not table.one_shot
    assert rows(table) == people.to_pydict()
    assert rows(table) == people.to_pydict()


def test_columns_come_in_the_order_asked_for(tmp_path, people, rows):
    pq.write_table(people, tmp_path / "p.parquet")
    found = rows(open_table(tmp_path / "p.parquet"), ["height", "color"])
    assert list(found) == ["height", "color"]
    assert found["color"] == people["color"].to_pylist()


def test_columns_not_asked_for_are_not_read(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "p.parquet")
    asked = []
    original = pq.ParquetFile.read_row_groups

    def spy(self, groups, columns=None, **options):
        asked.append(columns)
        return original(self, groups, columns=columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", spy)
    list(open_table(tmp_path / "p.parquet").batches(["b"]))
    assert asked == [["b"]]


def test_unknown_column_suggests_the_nearest(tmp_path, people):
    pq.write_table(people, tmp_path / "p.parquet")
    with pytest.raises(ColumnError, match=r"'colour' is not in p.parquet; did you mean 'color'"):
        open_table(tmp_path / "p.parquet").batches(["colour"])
    with pytest.raises(DataError, match="no columns"):
        open_table(tmp_path / "p.parquet").batches([])


def test_a_file_listed_many_times_is_read_each_time(tmp_path, people, rows):
    path = str(tmp_path / "p.parquet")
    pq.write_table(people, path)
    table = open_table([path] * 3)
    assert table.n_rows == 15
    assert table.describe == "3 Parquet files"
    assert rows(table)["age"] == people["age"].to_pylist() * 3


def test_batches_of_one_row_group_share_their_dictionary(tmp_path, monkeypatch):
    monkeypatch.setattr("gramian.tables.files.file_table.BATCH_ROWS", 100)
    pq.write_table(pa.table({"c": ["a", "b", "c", "d"] * 250}), tmp_path / "p.parquet")
    batches = list(open_table(tmp_path / "p.parquet").batches())
    assert [b.num_rows for b in batches] == [100] * 10
    assert len({b.column(0).dictionary.buffers()[2].address for b in batches}) == 1


def test_small_row_groups_are_joined(tmp_path, rng, rows):
    data = pa.table({"c": rng.choice(["a", "b", "c"], 5000), "x": rng.normal(size=5000)})
    pq.write_table(data, tmp_path / "p.parquet", row_group_size=50)
    table = open_table(tmp_path / "p.parquet")
    assert [b.num_rows for b in table.batches()] == [5000]
    assert rows(table) == data.to_pydict()


@pytest.mark.parametrize("read_bytes", [None, 2**14])
def test_small_files_are_read_like_one(tmp_path, rng, rows, read_bytes):
    """Empty ones, one of several groups, a long one among them, in more than one task, from any row on."""
    lengths = [20] * 70 + [0, 0, 3000] + [7] * 80 + [1]
    parts = [
        pa.table({"c": rng.choice([*"abc", None], n), "x": rng.normal(size=n), "t": [f"{k}-{i}" for i in range(n)]})
        for k, n in enumerate(lengths)
    ]
    schema = pa.schema({"c": pa.string(), "x": pa.float64(), "t": pa.string()})
    for k, part in enumerate(parts):
        pq.write_table(part.cast(schema), tmp_path / f"{k:03d}.parquet", row_group_size=6 if k % 7 == 0 else 10_000)
    whole = pa.concat_tables(part.cast(schema) for part in parts).to_pydict()
    table = open_table(tmp_path)
    table.read_within(read_bytes)
    assert rows(table) == whole
    assert table.n_rows == sum(lengths)
    for start in (5, 1400, 1401, 4399, 4500):
        found = [x for batch in table.batches(["x"], start=start) for x in batch.column("x").to_pylist()]
        assert found == whole["x"][start:]


def test_a_damaged_file_among_small_ones_is_named(tmp_path, people):
    for k in range(9):
        pq.write_table(people, tmp_path / f"{k}.parquet", compression="none", use_dictionary=False)
    table = open_table(tmp_path)
    (tmp_path / "4.parquet").unlink()
    with pytest.raises(DataError, match=r"4\.parquet does not exist"):
        list(table.batches())


def test_row_groups_long_enough_are_read_one_by_one(tmp_path, rng, rows, monkeypatch):
    monkeypatch.setattr(parquet, "_JOINED_ROWS", 100)
    data = pa.table({"c": rng.choice(["a", "b", "c"], 300), "x": rng.normal(size=300)})
    pq.write_table(data, tmp_path / "p.parquet", row_group_size=60)
    table = open_table(tmp_path / "p.parquet")
    assert [b.num_rows for b in table.batches()] == [60] * 5
    assert rows(table) == data.to_pydict()


def test_a_large_row_group_is_read_in_steps_that_share_their_dictionary(tmp_path, rng, rows, monkeypatch):
    monkeypatch.setattr(parquet, "_UNIT_ROWS", 1000)
    monkeypatch.setattr(parquet, "_unit_rows", lambda footer, schema, sizes, n_bytes: 1000)
    data = pa.table({"c": rng.choice(["a", "b", "c"], 5300), "x": rng.normal(size=5300)})
    pq.write_table(data, tmp_path / "p.parquet")
    table = open_table(tmp_path / "p.parquet")
    batches = list(table.batches())
    assert [b.num_rows for b in batches] == [1000] * 5 + [300]
    assert len({b.column(0).dictionary.buffers()[2].address for b in batches}) == 1
    assert rows(table) == data.to_pydict()


def test_wide_rows_make_smaller_units(tmp_path, monkeypatch):
    pq.write_table(pa.table({"long": ["x" * 1000 + str(i) for i in range(2000)]}), tmp_path / "p.parquet")
    footer = pq.read_metadata(tmp_path / "p.parquet")
    monkeypatch.setattr(parquet, "_LEAST_ROWS", 100)
    monkeypatch.setattr(parquet, "_UNIT_BYTES", 2**20)
    narrow = pa.schema([("a", TEXT)])
    many = pa.schema([(f"x{j}", pa.float64()) for j in range(1000)])
    long = pa.schema([("long", pa.string())])
    sizes = chunk_sizes(str(tmp_path / "p.parquet"), 1, 1)
    assert parquet._unit_rows(footer, narrow, None) == 2**20 // 4
    assert parquet._unit_rows(footer, many, None) == 2**20 // 8000
    assert 800 < parquet._unit_rows(footer, long, sizes) < 1050
    # Where memory is bounded, by what is allowed.
    assert parquet._unit_rows(footer, narrow, None, 40_000) == 10_000


def test_text_that_overflows_its_dictionary_page_is_read_plain(tmp_path, rng, rows):
    n = 60_000
    data = pa.table(
        {
            "user": [f"user_{k:012d}" for k in rng.permutation(n)],
            "page": [f"page_{k:012d}" for k in rng.integers(0, 300, n)],
        }
    )
    pq.write_table(data, tmp_path / "p.parquet", dictionary_pagesize_limit=20_000)
    table = open_table(tmp_path / "p.parquet")
    assert table.schema.field("user").type == pa.string()
    assert table.schema.field("page").type == TEXT
    assert rows(table) == data.to_pydict()


def test_text_written_without_a_dictionary_is_read_plain(tmp_path, rows):
    data = pa.table({"c": ["a", "b"] * 500})
    pq.write_table(data, tmp_path / "p.parquet", use_dictionary=False)
    table = open_table(tmp_path / "p.parquet")
    assert table.schema.field("c").type == pa.string()
    assert rows(table) == data.to_pydict()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), TEXT])
def test_every_kind_of_text_reads_alike(tmp_path, rows, kind):
    data = pa.table({"c": pa.array(["a", "b", None]).cast(kind)})
    try:
        pq.write_table(data, tmp_path / "p.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip(f"this pyarrow writes no {kind} to Parquet")
    table = open_table(tmp_path / "p.parquet")
    assert table.schema.field("c").type == TEXT
    assert rows(table) == {"c": ["a", "b", None]}


def test_files_may_differ_in_order_width_and_text_type(tmp_path, rows):
    pq.write_table(
        pa.table({"a": pa.array([1], pa.int32()), "b": pa.array([1], pa.int32()), "c": ["x"], "n": pa.nulls(1)}),
        tmp_path / "1.parquet",
    )
    pq.write_table(
        pa.table(
            {
                "n": ["late"],
                "c": pa.array(["y"], pa.large_string()).dictionary_encode(),
                "b": pa.array([2.5], pa.float32()),
                "a": pa.array([2**40], pa.int64()),
            }
        ),
        tmp_path / "2.parquet",
    )
    table = open_table(tmp_path)
    assert table.schema.names == ["a", "b", "c", "n"]
    assert table.schema.field("a").type == pa.int64()
    assert table.schema.field("b").type == pa.float64()
    assert rows(table) == {"a": [1, 2**40], "b": [1.0, 2.5], "c": ["x", "y"], "n": [None, "late"]}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            {"a": ["x"]},
            {"a": [1]},
            [r"column 'a' holds whole numbers in .*2.parquet", r"1.parquet", r"exclude=\['a'\]", "columns="],
        ),
        ({"a": [1]}, {"b": [1]}, [r"2.parquet has no column 'a', which .*1.parquet has", r"exclude=\['a'\]"]),
        ({"a": [1]}, {"a": [1], "b": [1]}, [r"2.parquet has a column 'b', which .*1.parquet has not"]),
        (
            {"a": pa.array([1], pa.date32())},
            {"a": pa.array([1], pa.timestamp("ms"))},
            ["dates with times in .*2.parquet but dates in .*1.parquet"],
        ),
    ],
)
def test_files_that_disagree_are_named_before_a_row_is_read(tmp_path, first, second, words):
    pq.write_table(pa.table(first), tmp_path / "1.parquet")
    pq.write_table(pa.table(second), tmp_path / "2.parquet")
    with pytest.raises(DataError) as caught:
        open_table(tmp_path).batches()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        caught.match(word)


def test_files_may_disagree_on_columns_that_are_not_read(tmp_path, rows):
    pq.write_table(pa.table({"a": [1], "b": ["x"], "only": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": [2], "a": [2.5], "new": [1]}), tmp_path / "2.parquet")
    table = open_table(tmp_path)
    assert table.schema.names == ["a", "b", "only", "new"]
    assert [batch.to_pydict() for batch in table.batches(["a"])] == [{"a": [1.0]}, {"a": [2.5]}]
    for name in ("b", "only", "new"):
        with pytest.raises(DataError, match=f"column '{name}'.*exclude"):
            table.batches(["a", name])


def test_numeric_reads_integers_as_floats(tmp_path, rows):
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "p.parquet")
    assert rows(open_table(tmp_path / "p.parquet", numeric=["a"])) == {"a": [1.0, 2.0]}


def test_duplicate_names_are_named(tmp_path):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    with pytest.raises(ColumnError, match=r"'a' occurs 2 times in .*p.parquet"):
        open_table(path)


@pytest.mark.parametrize("content", [b"this is no Parquet file at all, just text\n", b"PAR1xxxxxxxxPAR1", b"PAR1"])
def test_a_file_that_is_not_parquet_is_named_in_one_line(write_text, content):
    path = write_text("bad.parquet", content)
    with pytest.raises(FileFormatError, match=r"bad.parquet cannot be read as Parquet") as caught:
        open_table(path)
    assert "\n" not in str(caught.value)


def test_a_truncated_file_is_named(tmp_path, people):
    path = tmp_path / "cut.parquet"
    pq.write_table(people, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileFormatError, match=r"cut.parquet cannot be read as Parquet"):
        open_table(path)


def test_a_corrupted_page_is_named_while_reading(tmp_path, rng):
    path = tmp_path / "hurt.parquet"
    pq.write_table(pa.table({"x": rng.integers(0, 9, 10_000)}), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    table = open_table(path)
    with pytest.raises(FileFormatError, match=r"hurt.parquet cannot be read as Parquet"):
        list(table.batches())


def test_a_file_removed_after_opening_is_named(tmp_path, people):
    path = tmp_path / "gone.parquet"
    pq.write_table(people, path)
    table = open_table(path)
    os.remove(path)
    with pytest.raises(DataError, match=r"gone.parquet does not exist"):
        list(table.batches())


def test_a_file_without_rows_gives_no_batches(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), tmp_path / "p.parquet")
    table = open_table(tmp_path / "p.parquet")
    assert table.n_rows == 0
    assert list(table.batches()) == []


def test_names_with_dots_are_columns_of_their_own(tmp_path, rows):
    data = {"a": [1], "a.b": ["x"], "a.b.c": [2.5]}
    pq.write_table(pa.table(data), tmp_path / "p.parquet")
    table = open_table(tmp_path / "p.parquet")
    assert rows(table, ["a"]) == {"a": [1]}
    assert rows(table, ["a.b.c", "a.b"]) == {"a.b.c": [2.5], "a.b": ["x"]}


def test_an_abandoned_reader_leaves_no_thread_behind(tmp_path, rng):
    path = str(tmp_path / "p.parquet")
    pq.write_table(pa.table({"x": rng.normal(size=20_000)}), path, row_group_size=1000)
    before = threading.active_count()
    batches = open_table([path] * 50).batches()
    next(batches)
    batches.close()
    assert threading.active_count() == before


def test_an_interrupt_ends_the_program_at_once(tmp_path):
    path = str(tmp_path / "p.parquet")
    pq.write_table(pa.table({"x": np.arange(50_000.0)}), path)
    code = (
        "import signal, sys, time\n"
        "from gramian.tables import open_table\n"
        "for i, b in enumerate(open_table([sys.argv[1]] * 100_000).batches()):\n"
        "    if i == 0: print('reading', flush=True)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "reading\n"
        start = time.monotonic()
        child.send_signal(2)
        _, errors = child.communicate(timeout=20)
        assert time.monotonic() - start < 10
        assert "KeyboardInterrupt" in errors
    finally:
        child.kill()


def test_memory_does_not_grow_with_the_number_of_files(tmp_path, rng):
    path = str(tmp_path / "p.parquet")
    data = {f"c{j}": rng.choice(["a", "b", "c"], 200_000) for j in range(4)}
    pq.write_table(pa.table({**data, "x": rng.normal(size=200_000)}), path)
    code = (
        "import sys, resource\n"
        "from gramian.tables import open_table\n"
        "for b in open_table([sys.argv[1]] * int(sys.argv[2])).batches(): pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    few, many = (
        int(subprocess.run([sys.executable, "-c", code, path, n], capture_output=True, check=True).stdout)
        for n in ("3", "60")
    )
    # 57 more files hold 270 MB decoded; only allocator noise may remain.
    assert many < few + 60_000


def test_an_index_outside_its_dictionary_page_is_refused(tmp_path):
    """Three labels take two bits, which can say a fourth; read as codes, Arrow hands it on."""
    path = tmp_path / "three.parquet"
    pq.write_table(pa.table({"color": ["red", "green", "blue"] * 5}), path, compression="none", write_statistics=False)
    whole = path.read_bytes()
    page = pq.ParquetFile(path).metadata.row_group(0).column(0)
    end = page.data_page_offset + page.total_compressed_size - (page.data_page_offset - page.dictionary_page_offset)
    refused = 0
    for place in range(page.data_page_offset, end):
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            try:
                columns = [batch.column("color") for batch in open_table(path).batches(["color"])]
            except FileFormatError as error:
                refused += "column 'color' of" in str(error) and "leads outside its dictionary of 3" in str(error)
            else:
                for column in columns:
                    column.validate(full=True)
    assert refused >= 4


def _dictionaries(table, name):
    return {batch.column(name).dictionary.buffers()[2].address for batch in list(table.batches([name]))}


def test_small_files_of_the_same_columns_share_a_dictionary(tmp_path, rows):
    """One dictionary per file takes longer to build than its rows to read."""
    parts = [
        pa.table({"a": ["x", None, f"k{k}"], "b": pa.array(["u", "", "x"], pa.large_string()), "n": [k, None, 3]})
        for k in range(20)
    ]
    # A file without rows, and labels whose order in the file is not that of the rows.
    parts[7] = parts[7].slice(0, 0)
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0, None]), pa.array(["z", "unused", "x"]))
    parts[9] = parts[9].set_column(0, "a", coded.cast(pa.string()))
    for k, part in enumerate(parts):
        pq.write_table(part, tmp_path / f"{k:02}.parquet")
    table = open_table(tmp_path)
    assert rows(table) == pa.concat_tables(parts).to_pydict()
    assert len(_dictionaries(table, "a")) == len(_dictionaries(table, "b")) == 1
    assert [batch.num_rows for batch in table.batches(["n"])] == [3] * 19


def test_small_files_with_long_texts_keep_their_codes(tmp_path, rows, monkeypatch):
    """A text that stands in every row takes its length times the rows where it is not a code."""
    part = pa.table({"a": ["x" * 1_000] * 100})
    for k in range(3):
        pq.write_table(part, tmp_path / f"{k}.parquet", compression="none", write_statistics=False)
    table = open_table(tmp_path)
    assert len(_dictionaries(table, "a")) == 1
    monkeypatch.setattr(parquet, "_PLAIN_BYTES", 50_000)
    assert len(_dictionaries(table, "a")) == 3
    table.read_within(50_000)
    monkeypatch.undo()
    assert len(_dictionaries(table, "a")) == 3
    assert rows(table)["a"] == part["a"].to_pylist() * 3


@pytest.mark.parametrize("other", [pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.null()])
def test_small_files_may_be_of_different_types(tmp_path, rows, other):
    values = [None, None] if pa.types.is_null(other) else ["x", "y"]
    pq.write_table(pa.table({"a": ["y", "z"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": pa.array(values, other)}), tmp_path / "1.parquet")
    assert rows(open_table(tmp_path))["a"] == ["y", "z", *values]


def test_row_groups_that_count_other_rows_than_the_file_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": range(40)}), path, row_group_size=30)
    data = path.read_bytes()
    # The number of rows of the file, 40 doubled as Thrift writes it, before the list of row groups.
    assert data.count(b"\x16\x50\x19") == 1
    path.write_bytes(data.replace(b"\x16\x50\x19", b"\x16\x40\x19"))
    with pytest.raises(FileFormatError, match=r"a\.parquet is damaged: it counts 32 rows, and its row groups 40"):
        open_table(path)
