from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from gramian.errors import DataError
from gramian.tables import ArrayTable, open_table
from gramian.tables.base import Union
from gramian.tables.memory.batches import ArrayBatches, open_batches


def test_a_generator_is_read_once_and_its_first_batch_is_not_lost(people, rows):
    table = open_table(people.slice(i, 1) for i in range(5))
    assert (table.one_shot, table.n_rows, table.describe) == (True, None, "a generator of batches")
    assert rows(table) == people.to_pydict()
    with pytest.raises(DataError, match="can be read only once"):
        table.batches()


def test_a_generator_is_pulled_no_further_than_needed(people):
    pulled = []

    def batches():
        for i in range(5):
            pulled.append(i)
            yield people

    stream = open_table(batches()).batches(["age"])
    assert pulled == [0]
    next(stream)
    stream.close()
    assert pulled == [0]


def test_a_list_is_read_again(people, rows):
    table = open_table([people, people.to_batches()[0]])
    assert (table.one_shot, table.n_rows) == (False, 10)
    assert rows(table) == rows(table) == pa.concat_tables([people, people]).to_pydict()


def test_frames_of_different_libraries_mix(people, rows):
    frames = [people, people.to_pandas(), pl.from_arrow(people)]
    found = rows(open_table(frames, numeric=["age"]), ["color", "height"])
    assert found["color"] == people["color"].to_pylist() * 3


def test_batches_are_matched_by_name(rows):
    found = rows(open_table(iter([pa.table({"a": [1], "b": ["x"]}), pa.table({"b": ["y"], "a": [2]})])))
    assert found == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("wrap", [list, iter])
@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"a": [1]}, "batch 2 has no column 'b', which batch 1 has"),
        ({"a": [1], "b": ["x"], "c": [1]}, "batch 2 has a column 'c', which batch 1 has not"),
        ({"a": ["one"], "b": ["x"]}, "column 'a' holds text in batch 2 but whole numbers in batch 1"),
    ],
)
def test_batches_that_disagree_are_named(rows, wrap, second, words):
    with pytest.raises(DataError, match=words):
        rows(open_table(wrap([pa.table({"a": [1], "b": ["x"]}), pa.table(second)])))


def test_a_fraction_after_integers_widens_in_a_list_and_asks_for_numeric_in_a_stream(rows):
    batches = [pa.table({"a": [1]}), pa.table({"a": [2.5]})]
    assert rows(open_table(batches)) == {"a": [1.0, 2.5]}
    with pytest.raises(
        DataError, match=r"column 'a' holds numbers in batch 2 but whole numbers in batch 1.*numeric=\['a'\]"
    ):
        rows(open_table(iter(batches)))
    assert rows(open_table(iter(batches), numeric=["a"])) == {"a": [1.0, 2.5]}


@pytest.mark.parametrize("first", [pa.string(), pa.dictionary(pa.int8(), pa.string())])
@pytest.mark.parametrize("second", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.null()])
@pytest.mark.parametrize("wrap", [list, iter])
def test_text_is_text_in_every_dress(rows, wrap, first, second):
    later = pa.nulls(1) if second == pa.null() else pa.array(["y"]).cast(second)
    batches = [
        pa.table({"c": pa.array(["x"]).cast(first)}),
        pa.table({"c": later}),
    ]
    assert rows(open_table(wrap(batches))) == {"c": ["x", *later.to_pylist()]}


@pytest.mark.parametrize("wrap", [list, iter])
def test_arrays_as_batches(rng, wrap):
    arrays = [rng.normal(size=(n, 2)) for n in (3, 1, 4)]
    table = open_table(wrap(arrays))
    assert isinstance(table, ArrayTable)
    assert table.names == ["x0", "x1"]
    assert table.one_shot is (wrap is iter)
    chunks = list(table.chunks())
    assert all(chunk is array for chunk, array in zip(chunks, arrays, strict=True))
    if wrap is iter:
        with pytest.raises(DataError, match="only once"):
            table.chunks()


def test_sparse_batches(rng):
    chunks = list(open_table([sp.csr_array(np.eye(2)), sp.coo_array(np.eye(2))]).chunks())
    assert [type(c) for c in chunks] == [sp.csr_array, sp.csr_array]


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        ([np.zeros((1, 2)), np.zeros((1, 3))], "batch 2 has 3 columns, but batch 1 has 2"),
        (
            [np.zeros((1, 2)), np.array([["a", "b"]])],
            "column 'x0' holds text in batch 2 but numbers in batch 1",
        ),
        ([np.zeros((1, 2)), np.zeros(2)], "batch 2 has 1 dimension"),
        ([np.zeros((1, 2)), "day.parquet"], "batch 2 is of type str"),
    ],
)
def test_array_batches_that_disagree_are_named(batches, words):
    with pytest.raises(DataError, match=words):
        list(open_table(iter(batches)).chunks())


@pytest.mark.parametrize("wrap", [list, iter])
def test_floats_may_go_on_in_integers(wrap, rows):
    frames = [pd.DataFrame({"a": [np.nan, 1.0], "b": [0.5, 1.5]}), pd.DataFrame({"b": [2.5], "a": [7]})]
    table = open_table(wrap(frames))
    table = table.as_arrow() if isinstance(table, ArrayTable) else table
    found = rows(table)
    assert found["a"][1:] == [1.0, 7.0]
    assert found["b"] == [0.5, 1.5, 2.5]


def test_a_list_of_arrays_is_checked_before_it_is_read():
    with pytest.raises(DataError, match="batch 3 has 1 columns, but batch 1 has 2"):
        open_table([np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 1))])


def test_batches_of_two_widths_can_be_read_as_columns(rows):
    arrays = [np.ones((1, 1), dtype=np.float32), np.full((1, 1), 0.1)]
    assert rows(open_table(arrays).as_arrow()) == {"x0": [1.0, 0.1]}


def test_pandas_chunks_are_batches(tmp_path, rows):
    pd.DataFrame({"a": ["x", "y", "z"], "n": [1, 2, 3]}).to_csv(tmp_path / "a.csv", index=False)
    with pd.read_csv(tmp_path / "a.csv", chunksize=2) as chunks:
        assert rows(open_table(chunks)) == {"a": ["x", "y", "z"], "n": [1, 2, 3]}


def test_a_generator_of_paths_is_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"batch 1 is of type str"):
        open_table(iter(["a.parquet"]))


def test_no_thread_is_left_after_these(people):
    list(open_table([people]).batches())
    assert not [t for t in threading.enumerate() if t.name.startswith("gramian-read")]


def opened(sources, **options):
    """Open batches with an opener that notes what it was given."""
    seen = []

    def open_one(batch, describe):
        seen.append(describe)
        table = open_table(batch)
        table.describe = describe
        return table

    return open_batches(sources, open_one, numeric=options.pop("numeric", ()), describe="days", **options), seen


def test_a_list_is_opened_at_once_and_a_generator_one_by_one(people):
    table, seen = opened([people] * 3)
    assert isinstance(table, Union)
    assert (seen, table.n_rows, table.one_shot) == (["batch 1", "batch 2", "batch 3"], 15, False)
    table, seen = opened(iter([people] * 3))
    assert (seen, table.n_rows, table.one_shot) == (["batch 1"], None, True)
    list(table.batches())
    assert seen == ["batch 1", "batch 2", "batch 3"]


def test_floats_stay_arrays_until_a_list_holds_anything_else():
    assert isinstance(opened([np.zeros((1, 1))] * 2)[0], ArrayBatches)
    mixed, _ = opened([np.zeros((1, 1)), pa.table({"x0": [1]})])
    assert isinstance(mixed, Union)
    assert mixed.schema.types == [pa.float64()]
    with pytest.raises(DataError, match="days is empty: no rows"):
        opened(iter(()))


@pytest.mark.parametrize("kinds", [("float32", "float32"), ("float32", "float64")])
def test_the_widest_floats_of_a_list_are_declared(kinds):
    table, _ = opened([np.zeros((1, 2), kind) for kind in kinds])
    assert table.dtype == np.result_type(*kinds)


def test_a_column_that_a_later_batch_lacks_is_filled_where_asked(rows):
    batches = [pa.table({"a": [1], "b": ["x"]}), pa.table({"a": [2]}), pa.table({"b": ["z"]})]
    table, _ = opened(iter(batches), fill=True)
    assert rows(table) == {"a": [1, 2, None], "b": ["x", None, "z"]}
    table, _ = opened(iter(batches), fill=True)
    assert rows(table, ["b"]) == {"b": ["x", None, "z"]}
    with pytest.raises(DataError, match="batch 2 has a column 'c', which batch 1 has not"):
        rows(opened(iter([batches[0], pa.table({"a": [1], "c": [1]})]), fill=True)[0])


def test_columns_of_another_type_without_a_value_do_not_matter(rows):
    empty = pa.table({"a": pa.array([None], pa.string()), "b": ["y"]})
    for wrap in (list, iter):
        table, _ = opened(wrap([pa.table({"a": [1], "b": ["x"]}), empty]))
        assert rows(table) == {"a": [1, None], "b": ["x", "y"]}
