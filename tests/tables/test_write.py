import csv
import gzip

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from gramian.errors import DataError
from gramian.tables.write import spreadsheet_safety, table_writer, without_formulas

BATCHES = [
    pa.record_batch({"x": [1.5, 2.5], "color": pa.array(["red", "blue"]).dictionary_encode()}),
    pa.record_batch({"x": [3.5], "color": pa.array(["green"]).dictionary_encode()}),
]
READERS = {
    "out.parquet": pq.read_table,
    "out.csv": pyarrow.csv.read_csv,
    "out.csv.gz": pyarrow.csv.read_csv,
    "out.arrow": pyarrow.feather.read_table,
    "out.feather": pyarrow.feather.read_table,
}


@pytest.mark.parametrize("name", READERS)
def test_what_is_written_is_read_back_with_dictionaries_decoded(tmp_path, name):
    # Written under another name, as a file that is not whole yet is.
    where = tmp_path / "waiting.part"
    with table_writer(name, str(where), BATCHES[0].schema) as write:
        for batch in BATCHES:
            write(batch)
    where.rename(tmp_path / name)
    table = READERS[name](tmp_path / name)
    assert table.to_pydict() == {"x": [1.5, 2.5, 3.5], "color": ["red", "blue", "green"]}


def test_a_compressed_file_is_whole_when_the_block_ends(tmp_path):
    where = tmp_path / "waiting.part"
    with table_writer("out.csv.gz", str(where), BATCHES[0].schema) as write:
        write(BATCHES[0])
    assert gzip.decompress(where.read_bytes()).count(b"\n") == 3


def test_an_unknown_suffix_names_those_there_are(tmp_path):
    with (
        pytest.raises(DataError, match=r"'out\.xlsx': tables are written as \.parquet"),
        table_writer("out.xlsx", "x", BATCHES[0].schema),
    ):
        pass


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1+1", "=", "-", "--1"]
HARMLESS = ["red", "a=b", "1-2", "+1", "-5", "-5.5e3", "+1,5", "", " =1", "'=1", None]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_formulas_get_an_apostrophe_and_nothing_else_does(kind):
    found = without_formulas(pa.array([*FORMULAS, *HARMLESS], kind))
    assert found.to_pylist() == [*(f"'{each}" for each in FORMULAS), *HARMLESS]
    assert found.type == kind


def test_numbers_and_dates_are_untouched():
    for column in (pa.array([-1.5, None]), pa.array([-3]), pa.array([True])):
        assert without_formulas(column) is column


@pytest.mark.parametrize("how", ["argument", "block", "neither"])
def test_csv_files_are_safe_where_asked(tmp_path, how):
    batch = pa.record_batch({"=name": pa.array(["=1+1", "red", "-7"]).dictionary_encode(), "x": [-1.5, 2.0, -3.0]})
    path = tmp_path / "t.csv"
    given = True if how == "argument" else None
    with (
        spreadsheet_safety(how == "block"),
        table_writer(path, str(path), batch.schema, spreadsheet_safe=given) as write,
    ):
        write(batch)
    rows = list(csv.reader(path.read_text().splitlines()))
    mark = "" if how == "neither" else "'"
    assert rows == [[f"{mark}=name", "x"], [f"{mark}=1+1", "-1.5"], ["red", "2"], ["-7", "-3"]]


def test_other_formats_keep_text_as_it_is(tmp_path):
    batch = pa.record_batch({"c": ["=1+1"]})
    path = tmp_path / "t.parquet"
    with table_writer(path, str(path), batch.schema, spreadsheet_safe=True) as write:
        write(batch)
    assert pq.read_table(path).to_pylist() == [{"c": "=1+1"}]
