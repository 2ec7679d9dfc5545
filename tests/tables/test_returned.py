"""Tables that go back: in the library that was asked for, or that the data came from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn

from gramian.errors import MissingPackageError
from gramian.tables.returned import _package, labelled_table, output_library, table

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.mark.parametrize(
    ("asked", "came_from", "expected"),
    [
        ("default", None, "pyarrow"), ("default", "pandas", "pandas"), ("default", "polars", "polars"),
        ("pandas", "polars", "pandas"), ("polars", None, "polars"),
    ],
)  # fmt: skip
def test_what_is_asked_for_comes_before_where_the_data_came_from(asked, came_from, expected):
    with sklearn.config_context(transform_output=asked):
        assert output_library(came_from) == expected
        assert isinstance(table({"a": [1]}, library=came_from), KINDS[expected])


@pytest.mark.parametrize("library", KINDS)
def test_columns_are_the_same_in_every_library(library):
    columns = {"n": np.array([1, 2]), "t": pa.array(["x", None]), "f": [0.5, 1.5]}
    found = table(columns, library=library)
    assert type(found) is KINDS[library]
    plain = found if library == "pyarrow" else pa.table(found) if library == "polars" else pa.Table.from_pandas(found)
    assert plain.to_pydict() == {"n": [1, 2], "t": ["x", None], "f": [0.5, 1.5]}


def test_labels_are_the_index_in_pandas():
    values = np.array([[1, 2], [3, 4], [5, 6]])
    found = labelled_table(values, ("color", ["red", None, 3]), ("size", [1, 2]), ["1", "2"], library="pandas")
    assert (found.index.name, found.columns.name) == ("color", "size")
    assert found.index.tolist() == ["red", None, 3]
    assert found.columns.tolist() == [1, 2]
    assert np.array_equal(found.to_numpy(), values)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_labels_are_the_first_column_elsewhere_and_no_name_occurs_twice(library):
    values = np.array([[1, 2], [3, 4]])
    found = labelled_table(
        values, ("color", ["red", None]), ("size", ["color", "Color"]), ["color", "color"], library=library
    )
    assert pa.table(found).to_pydict() == {"color": ["red", None], "color'": [1, 3], "color''": [2, 4]}


def test_labels_of_two_types_are_text():
    found = labelled_table(np.zeros((3, 1)), ("k", [1, "x", None]), ("c", [0]), ["0"])
    assert found["k"].to_pylist() == ["1", "x", None]


def test_a_package_that_is_not_there_is_named_with_the_way_to_get_it():
    with pytest.raises(
        MissingPackageError, match="a no_such_frames table needs no_such_frames; install it with: pip install"
    ):
        _package("no_such_frames")


@pytest.mark.parametrize("library", ["pandas", "polars", None])
def test_labels_beyond_int64_stay_numbers(library):
    labels = [2**64 - 1, 0, None]
    made = labelled_table(np.zeros((3, 1), dtype=int), ("id", labels), ("c", ["a"]), ["a"], library=library)
    assert (list(made.index) if library == "pandas" else pa.table(made)["id"].to_pylist()) == labels
