"""A column is read as what it is known to be, whatever type its missing values arrive in."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from gramian.design.kinds import part_of, read_column
from gramian.design.schema import Column
from gramian.errors import ColumnError

CATEGORY = Column("color", "category", "color")
NUMBER = Column("size", "number", "size")
HOUR = Column("when_hour", "category", "when", "hour")


def test_parts_of_dates_count_as_the_calendar_does():
    when = pa.array([datetime.datetime(2024, 1, 1, 13), None])
    assert part_of(when, "dayofweek").to_pylist() == [0, None]
    assert part_of(when, "month").to_pylist() == [1, None]
    assert part_of(when, "hour").to_pylist() == [13, None]
    assert part_of(pa.array([datetime.date(2024, 1, 7)]), "hour").to_pylist() == [0]
    assert part_of(when.dictionary_encode(), "hour").to_pylist() == [13, None]


@pytest.mark.parametrize("column", [CATEGORY, NUMBER, HOUR], ids=lambda column: column.name)
@pytest.mark.parametrize("kind", [pa.null(), pa.float64(), pa.string(), pa.list_(pa.int8())], ids=str)
def test_nothing_observed_is_missing_whatever_its_type(column, kind):
    found = read_column(pa.nulls(3, kind), column, "null", asked="in fit it was")
    assert found.null_count == 3


def test_what_fits_is_given_back_as_it_is():
    texts, numbers = pa.array(["a"]), pa.array([1.5])
    assert read_column(texts, CATEGORY, "text", asked="") is texts
    assert read_column(numbers, NUMBER, "null", asked="") is numbers
    assert read_column(pa.array([datetime.datetime(2024, 1, 1, 7)]), HOUR, "null", asked="").to_pylist() == [7]


@pytest.mark.parametrize(
    ("array", "column", "words"),
    [
        (pa.array(["a"]), NUMBER, "'size' holds text; in fit it was numeric"),
        (pa.array([1.5]), HOUR, "'when' holds numbers; in fit it was a date with a hour"),
    ],
    ids=["text", "number"],
)
def test_another_kind_is_named_with_who_says_so(array, column, words):
    with pytest.raises(ColumnError, match=words):
        read_column(array, column, "null", asked="in fit it was")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize(
    ("texts", "named"), [(["1.5", None, " 2", "", "NA", "1.200,5", "lost", "gone"], "'lost'"), (["1.5", "2"], None)]
)
def test_text_among_numbers_is_called_text_and_the_first_is_named(kind, texts, named):
    """The type that Arrow has for it is of no use to whoever reads the message; the value that is not a number is."""
    with pytest.raises(ColumnError) as raised:
        read_column(pa.array(texts).cast(kind), NUMBER, "null", asked="in fit it was")
    said = str(raised.value)
    assert said.startswith("column 'size' holds text; in fit it was numeric")
    assert "gone" not in said
    assert (f"{named} is not a number" in said) == (named is not None)
    assert ("csv={'na': ['lost']}" in said) == (named is not None)
