from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pytest

from gramian.errors import DataError, FileFormatError
from gramian.tables import open_table
from gramian.tables.files.ipc import IpcTable
from gramian.tables.files.paths import find_files


@pytest.mark.parametrize("suffix", ["arrow", "feather", "ipc"])
@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_files_come_back(tmp_path, people, rows, suffix, compression):
    path = tmp_path / f"p.{suffix}"
    feather.write_feather(people, path, compression=compression, chunksize=2)
    table = open_table(path)
    assert table.n_rows == 5
    assert rows(table) == people.to_pydict()
    assert rows(table, ["height", "color"]) == people.select(["height", "color"]).to_pydict()


@pytest.mark.parametrize("suffix", ["arrows", "arrow"])
def test_streams_come_back(tmp_path, people, rows, suffix):
    path = tmp_path / f"p.{suffix}"
    with pa.ipc.new_stream(path, people.schema) as sink:
        sink.write_table(people, max_chunksize=2)
    table = open_table(path)
    assert table.n_rows is None
    assert rows(table) == people.to_pydict()
    assert rows(table, ["member"]) == people.select(["member"]).to_pydict()
    assert rows(table) == people.to_pydict()


def test_dictionaries_that_change_within_a_stream_are_followed(tmp_path, rows):
    path = tmp_path / "p.arrows"
    schema = pa.schema([("c", pa.dictionary(pa.int8(), pa.string()))])
    with pa.ipc.new_stream(path, schema) as sink:
        for values in (["a", "b"], ["z", "a", None]):
            sink.write_batch(
                pa.record_batch([pa.array(values).dictionary_encode().cast(schema[0].type)], schema=schema)
            )
    assert rows(open_table(path)) == {"c": ["a", "b", "z", "a", None]}


@pytest.mark.parametrize("content", [b"just some text, long enough to be one", b"ARROW1\0\0", b"x"])
def test_files_that_are_no_ipc_are_named(write_text, content):
    with pytest.raises(FileFormatError, match=r"bad.arrow cannot be read as Arrow IPC") as caught:
        list(open_table(write_text("bad.arrow", content)).batches())
    assert "\n" not in str(caught.value)


def test_a_truncated_file_is_named(tmp_path, people):
    path = tmp_path / "cut.arrow"
    feather.write_feather(people, path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FileFormatError, match=r"cut.arrow cannot be read as Arrow IPC"):
        open_table(path)


def test_a_truncated_stream_is_named(tmp_path, people):
    path = tmp_path / "cut.arrows"
    with pa.ipc.new_stream(path, people.schema) as sink:
        sink.write_table(people)
    path.write_bytes(path.read_bytes()[:-150])
    with pytest.raises(FileFormatError, match=r"cut.arrows cannot be read as Arrow IPC"):
        list(open_table(path).batches())


def test_files_that_disagree_are_named(tmp_path):
    feather.write_feather(pa.table({"a": [1]}), tmp_path / "1.arrow")
    feather.write_feather(pa.table({"a": ["x"]}), tmp_path / "2.arrow")
    with pytest.raises(DataError, match=r"column 'a' holds text in .*2.arrow but whole numbers in .*1.arrow"):
        open_table(tmp_path).batches()


def test_text_types_agree(tmp_path, rows):
    feather.write_feather(pa.table({"a": pa.array(["x"], pa.string_view())}), tmp_path / "1.arrow")
    feather.write_feather(pa.table({"a": pa.array(["y"]).dictionary_encode()}), tmp_path / "2.arrow")
    assert rows(open_table(tmp_path)) == {"a": ["x", "y"]}


def test_rows_are_counted_where_every_file_says_how_many(tmp_path, people):
    feather.write_feather(people, tmp_path / "1.arrow")
    assert IpcTable(find_files([tmp_path / "1.arrow"] * 2)).n_rows == 10
    with pa.ipc.new_stream(tmp_path / "2.arrow", people.schema) as sink:
        sink.write_table(people)
    assert IpcTable(find_files(tmp_path)).n_rows is None


def test_an_old_feather_file_is_named_with_the_way_out(write_text):
    with pytest.raises(FileFormatError, match=r"old.feather is in the old Feather format; write it again"):
        IpcTable(find_files(write_text("old.feather", b"FEA1" + b"\0" * 60)))


def test_a_file_of_no_rows_has_columns_and_no_batches(tmp_path, people):
    feather.write_feather(people.slice(0, 0), tmp_path / "none.arrow")
    table = IpcTable(find_files(tmp_path / "none.arrow"))
    assert (table.n_rows, table.schema.names) == (0, people.schema.names)
    assert list(table.batches()) == []


def test_bits_that_flip_are_refused_or_read(tmp_path, people, rows):
    """The same file with one bit changed, over and over; what ends a process is looked for in tests/fuzz."""
    path = tmp_path / "p.arrow"
    feather.write_feather(people, path, compression="uncompressed")
    data, bad = path.read_bytes(), 0
    rng = np.random.default_rng(3)
    for _ in range(100):
        at = int(rng.integers(8 * len(data)))
        path.write_bytes(data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :])
        try:
            rows(open_table(path))
        except DataError as error:
            bad += "\n" not in str(error)
    assert bad > 5


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_file_that_shrinks_while_it_is_read_is_an_error(tmp_path, kind):
    """It was mapped into memory, and touching what was gone ended the process."""
    path = tmp_path / "p.arrow"
    table = pa.table({"c": [f"text number {k}" for k in range(200_000)], "x": np.arange(200_000.0)})
    with (pa.ipc.new_file if kind == "file" else pa.ipc.new_stream)(path, table.schema) as sink:
        sink.write_table(table, max_chunksize=20_000)
    code = f"""
import os
from gramian.errors import DataError
from gramian.tables import open_table
batches = open_table({str(path)!r}).batches()
next(batches)
os.truncate({str(path)!r}, 100_000)
try:
    print(sum(len(batch.to_pylist()) for batch in batches))
except DataError as error:
    print("refused", error)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("refused")
