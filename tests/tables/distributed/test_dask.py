"""Dask frames and arrays as tables: types by meta, checked in every partition."""

import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dask
from gramian.errors import DataError
from gramian.tables import ArrayTable, open_table
from gramian.tables.distributed.dask import DaskFrame, FramePartition

FRAME = pd.DataFrame(
    {
        "text": ["a", None, "b", "a"],
        "cat": pd.Categorical(["u", "v", None, "v"]),
        "n": [1, 2, 3, 4],
        "x": [0.5, None, 1.5, 2.5],
        "when": pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-01-04"]),
        7: [True, False, True, False],
    }
)


def rows_of(table):
    return [{k: None if v != v else v for k, v in row.items()} for b in table.batches() for row in b.to_pylist()]


def test_the_schema_is_known_without_computing_anything():
    def never(part):
        raise AssertionError("computed")

    frame = dd.from_pandas(FRAME, npartitions=2).map_partitions(never, meta=FRAME)
    table = open_table(frame)
    assert isinstance(table, DaskFrame)
    assert table.home == "dask"
    assert table.schema.names == ["text", "cat", "n", "x", "when", "7"]
    assert pa.types.is_dictionary(table.schema.field("cat").type)
    assert [str(table.schema.field(name).type) for name in ("n", "x", "7")] == ["int64", "double", "bool"]


def test_rows_are_read_partition_by_partition():
    table = open_table(dd.from_pandas(FRAME, npartitions=3))
    assert rows_of(table) == rows_of(open_table(FRAME))
    (first, *_) = table.batches(["x", "7"])
    assert first.schema.names == ["x", "7"]


@pytest.mark.parametrize("convert", [True, False])
def test_text_may_be_objects_or_arrow_strings(convert):
    with dask.config.set({"dataframe.convert-string": convert}):
        table = open_table(dd.from_pandas(FRAME[["text"]].astype(object), npartitions=2))
        assert rows_of(table) == rows_of(open_table(FRAME[["text"]]))


def test_unknown_categories_are_whatever_partitions_show():
    frame = dd.from_pandas(pd.DataFrame({"c": ["a", "b", "c", "a"], "n": [3, 4, 5, 4]}), npartitions=2)
    frame = frame.astype({"c": "category", "n": "category"})
    assert not frame["c"].cat.known
    assert rows_of(open_table(frame)) == [{"c": c, "n": n} for c, n in zip("abca", [3, 4, 5, 4], strict=True)]


def test_objects_that_are_no_text_are_named():
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(pd.DataFrame({"c": pd.Series([1, 2, 3], dtype=object)}), npartitions=1)
    with pytest.raises(DataError, match=r"column 'c' holds whole numbers in partition 0 of a Dask frame, and text by"):
        list(open_table(frame).batches())


def test_a_column_without_values_is_of_the_type_of_the_meta():
    schema = open_table(FRAME).schema
    part = FramePartition(pd.DataFrame({name: [np.nan] for name in FRAME}), schema, describe="it")
    (batch,) = part.batches()
    assert batch.schema.types == schema.types
    assert batch.to_pylist() == [dict.fromkeys(schema.names)] or np.isnan(batch.to_pylist()[0]["x"])


def test_arrays_are_tables_of_numbers():
    values = np.arange(12.0).reshape(6, 2)
    table = open_table(da.from_array(values, chunks=(4, 1)))
    assert isinstance(table, ArrayTable)
    assert (table.names, table.n_rows) == (["x0", "x1"], 6)
    np.testing.assert_array_equal(np.concatenate(list(table.chunks())), values)
    whole = open_table(da.from_array(values.astype(int), chunks=(4, 1)))
    assert rows_of(whole) == rows_of(open_table(values.astype(int)))


def test_an_unknown_number_of_rows_is_unknown():
    array = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(3, 2))
    assert open_table(array[array[:, 0] > 3]).n_rows is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (lambda: dask.bag.from_sequence([1]), "a Dask Bag is not a source of rows"),
        (lambda: dd.from_pandas(FRAME, npartitions=1)["n"], "a Dask Series is not a source of rows"),
        (lambda: da.ones(3), "1 dimensions; 2 are needed"),
        (lambda: da.ones((3, 2)).astype(str), "numbers are needed"),
    ],
)
def test_what_is_no_table_is_named(source, words):
    with pytest.raises(DataError, match=words):
        open_table(source())
