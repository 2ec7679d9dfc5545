from __future__ import annotations

import pyarrow as pa
import pytest

from gramian.errors import DataError
from gramian.tables.files.conventions import convention_of, dates_of, number_pattern, spoiling_words


@pytest.mark.parametrize(
    ("decimal", "thousands", "text", "is_number"),
    [
        (".", "", "1.5", True),
        (".", "", "1,5", False),
        (",", "", "-0,25", True),
        (",", ".", "1.234.567,8", True),
        (",", ".", "1.23.4", False),
        (".", ",", "12,345", True),
        (".", ",", "1234,567", False),
        (".", "'", "1'000.5e-3", True),
        (",", " \u00a0", "1 234,5", True),
        (".", "", "", False),
        (".", "", "abc", False),
    ],
)
def test_what_a_number_looks_like(decimal, thousands, text, is_number):
    assert bool(number_pattern(decimal, thousands).fullmatch(text)) == is_number


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"a": ["1", "2"]}, (".", "")),
        ({"a": ["1.5"], "b": ["x,y"]}, (".", "")),
        ({"a": ["1,5"], "b": ["3"]}, (",", "")),
        ({"a": ["1.234,5"], "b": ["7,25"]}, (",", ".")),
        ({"a": ["31.12.2025"], "b": ["7,25"]}, (",", "")),
        ({}, (".", "")),
    ],
)
def test_the_convention_is_that_of_most_columns(columns, expected):
    assert convention_of(columns, ";", {}, "a.csv") == expected


def test_a_sign_that_nothing_decides_is_refused():
    with pytest.raises(DataError, match=r"holds 1\.234, which is 1234 or 1\.234"):
        convention_of({"a": ["1.234"]}, ";", {}, "a.csv")
    assert convention_of({"a": ["1.234"]}, ";", {"decimal": ","}, "a.csv") == (",", ".")


@pytest.mark.parametrize(
    ("values", "formats", "undecided"),
    [
        (["31.12.2025", "1.2.2025"], ["%d.%m.%Y"], []),
        (["01/31/2025"], ["%m/%d/%Y"], []),
        (["31/01/25"], ["%d/%m/%y"], []),
        (["01/02/2025"], [], ["on"]),
        (["01-02-2025 10:00"], [], ["on"]),
        (["31-01-2025 10:00:05"], ["%d-%m-%Y %H:%M:%S"], []),
        (["31.12.2025", "x"], [], []),
        (["2025-12-31"], [], []),
        ([], [], []),
    ],
)
def test_dates_are_known_by_their_days(values, formats, undecided):
    assert dates_of({"on": values}) == (formats, undecided)


def test_a_grouped_number_is_not_a_word_for_a_missing_one():
    whole = [str(k) for k in range(50)]
    assert spoiling_words(pa.chunked_array([[*whole, "1.200"]])) is None
    assert spoiling_words(pa.chunked_array([[*whole, "1,5", "1 200"]])) is None
    assert spoiling_words(pa.chunked_array([[*whole, "lost"]])) == ("numbers", 50 / 51, {"lost": 1})


@pytest.mark.parametrize("bad", ["30.02.2025", "31.04.2025", "02.13.2025"])
def test_a_day_that_the_calendar_lacks_spoils_dates(bad):
    days = [f"{k + 1:02d}.01.2025" for k in range(28)]
    assert spoiling_words(pa.chunked_array([days])) is None
    assert spoiling_words(pa.chunked_array([[*days, bad]])) == ("dates", pytest.approx(28 / 29), {bad: 1})
    slashed = [day.replace(".", "/") for day in days]
    assert spoiling_words(pa.chunked_array([[*slashed, "30/02/2025"]])) is not None
    iso = [f"2025-01-{k + 1:02d}" for k in range(28)]
    assert spoiling_words(pa.chunked_array([[*iso, "2025-02-30"]])) is not None
    assert spoiling_words(pa.chunked_array([[f"{day} 10:00" for day in iso]])) is None
