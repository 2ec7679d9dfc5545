import numpy as np
import pyarrow as pa
import pytest

from gramian.errors import ColumnError
from gramian.tables import ArrayTable, open_table
from gramian.tables.base import Renamed, typed, with_names, without


@pytest.fixture
def table():
    return open_table(pa.table({"a": [1, 2], "b": ["x", "y"], "c": [0.5, None]}))


def test_renamed_columns_are_matched_by_position(table):
    seen = Renamed(table, ["b", "c", "a"])
    assert seen.schema.names == ["b", "c", "a"]
    (batch,) = seen.batches(["a", "b"])
    assert batch.to_pydict() == {"a": [0.5, None], "b": [1, 2]}
    assert (seen.n_rows, seen.describe) == (table.n_rows, table.describe)


def test_columns_left_out_cannot_be_read(table):
    seen = without(table, ["b"])
    assert seen.schema.names == ["a", "c"]
    (batch,) = seen.batches()
    assert batch.schema.names == ["a", "c"]
    with pytest.raises(ColumnError, match="'b'"):
        seen.batches(["b"])


def test_names_for_arrays_and_for_columns(table):
    array = with_names(open_table(np.ones((2, 2))), ["p", "q"])
    assert isinstance(array, ArrayTable)
    assert array.names == ["p", "q"]
    assert with_names(table, ["p", "q", "r"]).schema.names == ["p", "q", "r"]


def test_typed_columns_of_an_array_and_of_a_table(table):
    assert typed(table) is table
    columns = typed(open_table(np.array([[1.0, 2.0]])))
    (batch,) = columns.batches()
    assert batch.to_pydict() == {"x0": [1.0], "x1": [2.0]}
