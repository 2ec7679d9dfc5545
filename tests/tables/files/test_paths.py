from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.errors import DataError, FileFormatError, SourceNotFoundError
from gramian.tables import open_table


def save(folder: Path, name: str, value: int) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": [value]}), path)
    return str(path)


def test_a_folder_is_read_recursively_without_hidden_files_and_marks(tmp_path, rows, write_text):
    save(tmp_path, "b.parquet", 2)
    save(tmp_path, "a/x.pq", 1)
    save(tmp_path, ".hidden.parquet", 9)
    save(tmp_path, "_temporary/y.parquet", 9)
    for name in ("_SUCCESS", "_metadata", ".b.parquet.crc", "README.txt"):
        write_text(name, "")
    assert rows(open_table(tmp_path)) == {"a": [1, 2]}


def test_a_pattern_may_cross_folders(tmp_path, rows):
    save(tmp_path, "a.parquet", 0)
    save(tmp_path, "d/b.parquet", 1)
    save(tmp_path, "d/e/c.parquet", 2)
    assert rows(open_table(str(tmp_path / "**" / "*.parquet"))) == {"a": [0, 1, 2]}
    assert rows(open_table(str(tmp_path / "d" / "[a-b].parquet"))) == {"a": [1]}
    assert open_table([tmp_path / "a.parquet", str(tmp_path / "d" / "*.parquet")]).n_rows == 2


def test_a_name_with_brackets_is_a_file_before_it_is_a_pattern(tmp_path, rows):
    assert rows(open_table(save(tmp_path, "day[1].parquet", 7))) == {"a": [7]}


@pytest.mark.parametrize("name", ["none.parquet", "*.parquet", "no/such/folder"])
def test_a_missing_source_is_named(tmp_path, name):
    with pytest.raises(SourceNotFoundError, match=name.replace("*", r"\*")) as caught:
        open_table(str(tmp_path / name))
    assert isinstance(caught.value, FileNotFoundError)


def test_an_empty_path_is_said_to_be_empty():
    with pytest.raises(SourceNotFoundError, match="the path is empty"):
        open_table("")


def test_an_empty_file_is_named(write_text):
    for name in ("zero.parquet", "zero.csv", "zero.jsonl", "zero.arrow"):
        with pytest.raises(FileFormatError, match=rf"{name} is empty"):
            open_table(write_text(name, b""))


def test_a_folder_without_data_is_named(tmp_path, write_text):
    write_text("notes.txt", "hello")
    with pytest.raises(DataError, match=r"holds no data files; known suffixes are .parquet"):
        open_table(tmp_path)


def test_formats_are_not_mixed(tmp_path, write_text):
    one, two = save(tmp_path, "a.parquet", 1), write_text("b.csv", "a\n1\n")
    with pytest.raises(DataError, match=r"a.parquet is Parquet and .*b.csv is CSV; read one format at a time"):
        open_table([one, two])


def test_an_unknown_suffix_is_settled_by_the_first_bytes(tmp_path, rows, write_text):
    os.rename(save(tmp_path, "a.parquet", 1), tmp_path / "part-0000")
    assert rows(open_table(tmp_path / "part-0000")) == {"a": [1]}
    assert rows(open_table(tmp_path)) == {"a": [1]}
    feather.write_feather(pa.table({"a": [2]}), tmp_path / "table.bin")
    assert rows(open_table(tmp_path / "table.bin")) == {"a": [2]}
    assert rows(open_table(write_text("text.gz", gzip.compress(b"a,b\n1,x\n")))) == {"a": [1], "b": ["x"]}
    assert rows(open_table(write_text("json.gz", gzip.compress(b'{"a": 3}\n')))) == {"a": [3]}
    with pytest.raises(FileFormatError, match=r"format of .*what.dat is not known.*\.csv"):
        open_table(write_text("what.dat", "a,b\n1,2\n"))


def test_hive_keys_become_columns(tmp_path, rows):
    save(tmp_path, "year=2023/region=north/x.parquet", 1)
    save(tmp_path, "year=2024/region=south%20east/x.parquet", 2)
    save(tmp_path, "year=2024/region=__HIVE_DEFAULT_PARTITION__/x.parquet", 3)
    table = open_table(tmp_path)
    assert table.schema.field("year").type == pa.int64()
    assert table.schema.field("region").type == pa.dictionary(pa.int32(), pa.string())
    assert rows(table) == {
        "a": [1, 3, 2],
        "year": [2023, 2024, 2024],
        "region": ["north", None, "south east"],
    }
    assert rows(table, ["region", "a"]) == {"region": ["north", None, "south east"], "a": [1, 3, 2]}
    assert rows(table, ["year"]) == {"year": [2023, 2024, 2024]}
    assert rows(open_table(str(tmp_path / "year=*" / "region=[ns]*" / "*.parquet")), ["year"]) == {"year": [2023, 2024]}


def test_hive_keys_that_are_not_on_every_path_are_named(tmp_path):
    save(tmp_path, "year=2023/x.parquet", 1)
    save(tmp_path, "x.parquet", 2)
    with pytest.raises(DataError, match=r"'year' is on one path only"):
        open_table(tmp_path)


def test_a_key_that_the_files_hold_is_taken_from_the_files(tmp_path, rows):
    save(tmp_path, "a=7/x.parquet", 1)
    assert rows(open_table(tmp_path)) == {"a": [1]}


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.arrow", "p.jsonl"])
def test_permission_denied_is_one_line(write_text, name):
    path = write_text(name, "a\n")
    os.chmod(path, 0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(DataError, match=r"p\.\w+ cannot be read: permission denied"):
        open_table(path)


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.arrow", "x.parquet"])
def test_keys_alone_are_read_from_every_format(tmp_path, rows, name):
    data = pa.table({"a": [1, 2], "b": ["x", "y"]})
    for year in (2023, 2024):
        path = tmp_path / f"year={year}" / name
        path.parent.mkdir()
        if name.endswith("csv"):
            path.write_text("a,b\n1,x\n2,y\n")
        elif name.endswith("jsonl"):
            path.write_text('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n')
        elif name.endswith("arrow"):
            feather.write_feather(data, path)
        else:
            pq.write_table(data, path)
    assert rows(open_table(tmp_path), ["year"]) == {"year": [2023, 2023, 2024, 2024]}
    assert rows(open_table(tmp_path), ["b", "year"])["b"] == ["x", "y"] * 2


def test_a_pipe_and_a_device_are_refused_without_waiting(tmp_path) -> None:
    os.mkfifo(tmp_path / "rows.csv")
    (tmp_path / "zeros.csv").symlink_to("/dev/zero")
    (tmp_path / "input.parquet").symlink_to("/dev/null")
    for name in ("rows.csv", "zeros.csv", "input.parquet"):
        with pytest.raises(FileFormatError, match=r"is a pipe or a device, not a file.*write them to a file first"):
            open_table(tmp_path / name)


def test_moments_and_models_are_said_to_have_no_rows(tmp_path) -> None:
    gm.collect({"a": 1.0}).save(tmp_path / "a.moments")
    gm.save(gm.PCA().fit([[1.0, 2.0], [3.0, 5.0]]), tmp_path / "a.model")
    with pytest.raises(
        FileFormatError, match=r"holds a sum of rows \(moments\), which has no rows to read; open it with load\(\)"
    ):
        open_table(tmp_path / "a.moments")
    with pytest.raises(FileFormatError, match="holds a model, which has no rows"):
        open_table(tmp_path / "a.model")
