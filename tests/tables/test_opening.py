"""One door: which table every kind of source becomes, which files it comes from, and what is turned away."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from gramian.errors import DataError
from gramian.tables import ArrayTable, ArrowTable
from gramian.tables.opening import csv_settings, files_behind, open_table, refuse_input_as_output

SMALL = pa.table({"a": [1, 2], "b": ["x", "y"]})


@pytest.mark.parametrize(
    ("source", "describe", "shape"),
    [
        (SMALL, "a pyarrow Table", ArrowTable),
        (SMALL.to_batches()[0], "a pyarrow RecordBatch", ArrowTable),
        (SMALL.to_pandas(), "a pandas frame", ArrowTable),
        (ds.dataset(SMALL), "a pyarrow dataset", ArrowTable),
        ({"a": 1, "b": "x"}, "the dict", ArrowTable),
        ([{"a": 1}], "the list of rows", ArrowTable),
        ([SMALL, SMALL], "a list of batches", ArrowTable),
        (np.eye(2), "a numpy array", ArrayTable),
        (np.eye(2, dtype=int), "a numpy array", ArrowTable),
        ([[1.5, 2.0]], "a nested list", ArrayTable),
        (sp.eye_array(2), "a scipy sparse matrix", ArrayTable),
        (pd.DataFrame({"u": [1.0], "v": [2.0]}), "a pandas frame", ArrayTable),
        ([np.eye(2), np.eye(2)], "a list of batches", ArrayTable),
    ],
)  # fmt: skip
def test_sources_in_memory(source, describe, shape):
    table = open_table(source)
    assert isinstance(table, shape)
    assert table.describe == describe
    assert open_table(table) is table


def test_streams_are_known_by_their_protocol(rows):
    reader = pa.RecordBatchReader.from_batches(SMALL.schema, SMALL.to_batches())
    assert rows(open_table(reader)) == SMALL.to_pydict()
    assert rows(open_table(pl.from_arrow(SMALL))) == SMALL.to_pydict()

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return SMALL.__arrow_c_stream__(requested_schema)

    table = open_table(Stream())
    assert table.describe == "an Arrow stream (Stream)"
    assert rows(table) == SMALL.to_pydict()
    with pytest.raises(DataError, match="a type is not a source of rows"):
        open_table(Stream)


@pytest.fixture
def files(tmp_path):
    pq.write_table(SMALL, tmp_path / "p.parquet")
    feather.write_feather(SMALL, tmp_path / "p.arrow")
    (tmp_path / "p.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "p.jsonl").write_text('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n')
    return tmp_path


@pytest.mark.parametrize("name", ["p.parquet", "p.arrow", "p.csv", "p.jsonl"])
def test_every_format_gives_the_same_rows_and_says_its_files(files, rows, name):
    path = files / name
    for source in (path, str(path), [path], (path,)):
        table = open_table(source)
        assert rows(table) == SMALL.to_pydict()
        assert files_behind(source) == files_behind(table) == [str(path)]


def test_files_behind_what_is_no_file(files):
    assert files_behind(ds.dataset(files / "p.parquet")) == [str(files / "p.parquet")]
    for source in (SMALL, np.eye(2), [[1.0]], iter([])):
        assert files_behind(source) == []


def test_an_input_is_not_written_over_by_whatever_name(files):
    path, link = files / "p.csv", files / "link.csv"
    link.symlink_to(path)
    for source, out in (
        (path, path),
        (path, link),
        ([link], path),
        (open_table(path), os.path.join(files, ".", "p.csv")),
    ):
        with pytest.raises(DataError, match="it is one of the inputs; name another file"):
            refuse_input_as_output(out, source)
    refuse_input_as_output(files / "other.csv", path)
    refuse_input_as_output(files / "p.arrow", path)
    refuse_input_as_output(path, SMALL)


def test_settings_of_csv_files_hold_within_their_block_and_yield_to_those_given(write_text, rows):
    path = write_text("d.csv", "a;b\n1,5;x\n")
    with csv_settings({"delimiter": "|"}):
        assert open_table(path).schema.names == ["a;b"]
        given = open_table(path, csv={"delimiter": ";", "decimal": ","})
        assert rows(given) == {"a": [1.5], "b": ["x"]}
    assert open_table(path).schema.names == ["a", "b"]


def test_settings_of_csv_files_are_refused_for_others(files):
    for source, words in ((files / "p.parquet", "remove it to read p.parquet"), (SMALL, "remove it to read a Table")):
        with pytest.raises(DataError, match=words):
            open_table(source, csv={"delimiter": ";"})


def test_a_column_that_one_part_lacks_is_filled_where_asked(tmp_path, rows):
    more = pa.table({"a": [3], "c": [0.5]})
    for name, table in (("1.parquet", SMALL), ("2.parquet", more)):
        pq.write_table(table, tmp_path / name)
    expected = {"a": [1, 2, 3], "b": ["x", "y", None], "c": [None, None, 0.5]}
    for source in (tmp_path, [SMALL, more]):
        assert rows(open_table(source, missing="fill")) == expected
        with pytest.raises(DataError, match=r"'b'|'c'"):
            open_table(source).batches()
    with pytest.raises(DataError, match="missing='maybe' is not known; it is 'raise' or 'fill'"):
        open_table(SMALL, missing="maybe")


def test_a_series_is_one_column_short_of_a_frame():
    with pytest.raises(DataError, match=r"a pandas Series has 1 dimension; pass a frame, such as series.to_frame\(\)"):
        open_table(pd.Series([1.0]))


@pytest.mark.parametrize("source", [None, 3, 2.5, {1, 2}, b"bytes", object(), open_table, [None]])
def test_unknown_sources_are_named_with_what_is_accepted(source):
    with pytest.raises(DataError, match="is not a source of rows; pass a path, a list of paths") as caught:
        open_table(source)
    assert "\n" not in str(caught.value)


def test_paths_and_tables_in_one_list_are_refused(people):
    for source in (["a.parquet", people], [people, "a.parquet"]):
        with pytest.raises(DataError, match="pass paths only, or tables only"):
            open_table(source)


@pytest.mark.parametrize("source", [[], (), iter([]), (x for x in ())])
def test_nothing_at_all_is_no_rows(source):
    with pytest.raises(DataError, match="no rows"):
        open_table(source)
