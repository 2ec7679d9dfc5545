from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.tables import open_table
from gramian.tables.memory.arrow import open_dicts

ROWS = [{"color": "red", "age": 3, "on": datetime.date(2025, 1, 2)}, {"age": 4.5, "color": None}, {"color": "blue"}]


def test_a_key_that_a_row_lacks_is_missing_there(rows):
    table = open_table(ROWS)
    assert table.schema.types == [pa.string(), pa.float64(), pa.date32()]
    assert rows(table) == {
        "color": ["red", None, "blue"],
        "age": [3.0, 4.5, None],
        "on": [datetime.date(2025, 1, 2), None, None],
    }


def test_one_dict_is_one_row_or_whole_columns(rows):
    assert rows(open_table({"a": 1, "b": "x"})) == {"a": [1], "b": ["x"]}
    assert rows(open_table({"a": np.arange(3), "b": ("x", "y", "z")})) == {"a": [0, 1, 2], "b": ["x", "y", "z"]}


def test_a_new_column_in_a_later_row_is_missing_before(rows):
    assert rows(open_dicts([{"a": 1}, {"b": "x"}], describe="rows")) == {"a": [1, None], "b": [None, "x"]}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "the dict has no columns"),
        ([{}], "the list of rows has no columns"),
        ({"a": [1], "b": [1, 2]}, "1 values for 'a' and 2 for 'b'"),
        ({"a": 1, "b": [1]}, "one value for 'a' and 1 for 'b'"),
        ([{"a": 1}, 3], "row 1 of the list of rows is a int"),
        ({1: 2}, "has a key 1; columns are named by text"),
        ([{"a": 1}, {"a": "x"}], "column 'a' of the list of rows mixes int and str"),
    ],
)
def test_what_is_no_row_is_refused_in_one_line(source, message):
    with pytest.raises(DataError, match=message):
        open_table(source)


def test_models_take_single_rows():
    model = gm.PCA(2).fit([{"color": c, "age": float(k)} for k, c in enumerate("rgbrgbrr")])
    alone = model.transform({"color": "g", "age": 4.0})
    np.testing.assert_allclose(alone, model.transform([{"age": 4.0, "color": "g"}]))
    assert alone.shape == (1, 2)
    with pytest.raises(ColumnError, match="columns seen in fit are missing: 'age'"):
        model.transform({"color": "g"})
