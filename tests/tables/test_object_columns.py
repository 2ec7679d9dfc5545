"""The one type that Python objects of a column have, or the two that they have."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gramian.errors import DataError
from gramian.tables import open_table
from gramian.tables.schemas import arrow_array, type_of_objects

DAY = datetime.date(2024, 2, 29)


def objects(*values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("a", None, np.nan), pa.string()),
        ((True, None), pa.bool_()),
        ((np.bool_(False), True), pa.bool_()),
        ((1, np.int8(2), None), pa.int64()),
        ((1, 2**63), pa.uint64()),
        ((1, 2.5), pa.float64()),
        ((1, np.nan), pa.float64()),
        ((1.5, np.float32(2)), pa.float64()),
        ((np.nan,), pa.float64()),
        ((None, pd.NA, pd.NaT), pa.null()),
        ((), pa.null()),
        ((DAY, None), pa.date32()),
        ((DAY, np.nan), pa.date32()),
        ((decimal.Decimal("1.50"),), pa.decimal128(3, 2)),
        ((b"x",), pa.binary()),
    ],
)
def test_one_kind_of_value_has_its_type(values, kind):
    assert type_of_objects(objects(*values), "c", "a frame") == kind


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((1, "a"), "int and str"), ((True, 1), "bool and int"), ((0.5, "a"), "float and str"),
        ((DAY, 1), "date and int"), ((True, 0.5), "bool and float"),
    ],
)  # fmt: skip
def test_two_kinds_are_named_with_the_column(values, named):
    with pytest.raises(DataError, match=rf"column 'c' of a frame mixes {named}; .*exclude=\['c'\]"):
        type_of_objects(objects(*values, None), "c", "a frame")


def test_missing_values_of_every_kind_are_nulls():
    found = arrow_array(objects("a", None, np.nan, pd.NA, pd.NaT), pa.string(), "c", "a frame")
    assert found.to_pylist() == ["a", None, None, None, None]


@pytest.mark.parametrize(("values", "kind"), [((object(),), None), ((2**70,), pa.int64()), (("a",), pa.int64())])
def test_what_arrow_cannot_hold_is_one_line_that_names_the_column(values, kind):
    with pytest.raises(DataError, match=r"^column 'c' of a frame cannot be used: .*exclude=\['c'\]") as caught:
        arrow_array(objects(*values), kind, "c", "a frame")
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is not None


def test_object_columns_have_types_of_their_own(rows):
    array = np.array([["a", 1, 1.5, None], [None, 2, np.nan, None], [np.nan, 3, 2.5, None]], dtype=object)
    table = open_table(array)
    assert table.schema.types == [pa.string(), pa.int64(), pa.float64(), pa.null()]
    assert rows(table) == {"x0": ["a", None, None], "x1": [1, 2, 3], "x2": [1.5, None, 2.5], "x3": [None] * 3}
    with pytest.raises(DataError, match="column 'x1' of a numpy array mixes int and str"):
        open_table(np.array([["a", 1], ["b", "c"]], dtype=object))
