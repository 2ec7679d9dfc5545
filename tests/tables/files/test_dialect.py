"""One table as spreadsheets of several countries write it, read alike; what could be read two ways is never read in silence."""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import logging

import numpy as np
import pytest

from gramian.errors import DataError, FileFormatError
from gramian.tables import open_table
from gramian.tables.files.dialect import Dialect, checked, encoding_of, sniff

SETTINGS = {
    # delimiter, decimal, thousands, date
    "german": (";", ",", ".", "%d.%m.%Y"),
    "french": (";", ",", "\u202f", "%d/%m/%Y"),
    "french tab": ("\t", ",", "\u00a0", "%d/%m/%Y"),
    "swiss": (";", ".", "'", "%d.%m.%Y"),
    "us": (",", ".", ",", "%m/%d/%Y"),
    "us tab": ("\t", ".", ",", "%m/%d/%Y"),
    "iso": (",", ".", "", "%Y-%m-%d"),
    "bars": ("|", ".", "", "%Y-%m-%d"),
}
ENCODINGS = ("utf-8", "utf-8-sig", "cp1252", "utf-16")
PRICES = [1234567.5, 999.25, 0.5, -1200.0, 3.75]
VISITS = [1234, 1, 56789, 2000000, 12]
DATES = [datetime.date(2025, month, day) for month, day in ((12, 31), (1, 2), (3, 14), (11, 30), (6, 7))]
TOWNS = ["Köln", "Orléans; centre", 'the "old" town', "two\nlines", "a, b"]
CODES = ["00123", "123", "01067", "99999", "00001"]
TRIMMINGS = ("plain", "comment", "title", "sep", "empty columns", "crlf")


def number(value: float, decimal: str, thousands: str, digits: int) -> str:
    text = f"{value:,.{digits}f}"
    return text.translate({ord(","): thousands, ord("."): decimal})


def written(setting: str, encoding: str, trimming: str) -> bytes:
    delimiter, decimal, thousands, date = SETTINGS[setting]
    if encoding == "cp1252":
        thousands = thousands.replace("\u202f", "\u00a0")
    out = io.StringIO(newline="")
    if trimming == "comment":
        out.write("# exported by a spreadsheet\n")
    if trimming == "title":
        out.write("Sales of 2025\n")
    if trimming == "sep":
        out.write(f"sep={delimiter}\n")
    more = ["", ""] if trimming == "empty columns" else []
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n" if trimming == "crlf" else "\n")
    writer.writerow(["town", "price", "visits", "on", "code", *more])
    for town, price, visits, on, code in zip(TOWNS, PRICES, VISITS, DATES, CODES, strict=True):
        figures = [number(price, decimal, thousands, 2), number(visits, decimal, thousands, 0)]
        writer.writerow([town, *figures, on.strftime(date), code, *more])
    return out.getvalue().encode(encoding)


def as_dates(values: list) -> list[datetime.date]:
    return [value.date() if isinstance(value, datetime.datetime) else value for value in values]


@pytest.mark.parametrize(("setting", "encoding"), list(itertools.product(SETTINGS, ENCODINGS)))
def test_a_table_reads_alike_in_every_country(write_text, rows, setting, encoding):
    for trimming in TRIMMINGS:
        found = rows(open_table(write_text("sales.csv", written(setting, encoding, trimming))))
        assert found["town"] == TOWNS
        assert found["price"] == PRICES
        assert found["visits"] == VISITS
        assert as_dates(found["on"]) == DATES
        # Zeros in front are part of a code.
        assert found["code"] == CODES
        assert list(found) == ["town", "price", "visits", "on", "code"]


def test_what_was_found_is_said(write_text, caplog):
    with caplog.at_level(logging.INFO, "gramian"):
        open_table(write_text("sales.csv", written("german", "cp1252", "comment")))
    said = caplog.messages[0]
    for phrase in (
        "semicolons",
        "decimal comma",
        "digits grouped by '.'",
        "cp1252",
        "%d.%m.%Y",
        "1 line above",
        "zeros",
    ):
        assert phrase in said
    caplog.clear()
    with caplog.at_level(logging.INFO, "gramian"):
        open_table(write_text("plain.csv", "a,b\n1,x\n"))
    assert not caplog.messages


@pytest.mark.parametrize("sign", [".", ","])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_sign_that_may_group_or_be_the_decimal_point_is_not_guessed(write_text, rows, sign, delimiter):
    path = write_text("a.csv", f"x{delimiter}y\n1{sign}234{delimiter}a\n2{sign}500{delimiter}b\n")
    with pytest.raises(
        DataError, match=r"column 'x' .* which is 1234 or 1\.234; .* csv={'decimal': ','} or csv={'decimal"
    ):
        open_table(path)
    assert rows(open_table(path, csv={"decimal": sign}))["x"] == [1.234, 2.5]
    assert rows(open_table(path, csv={"decimal": "," if sign == "." else "."}))["x"] == [1234, 2500]


def test_another_column_decides_what_a_sign_means(write_text, rows):
    path = write_text("a.csv", "x;y\n1.234;0,5\n2.500;7,25\n")
    assert rows(open_table(path)) == {"x": [1234, 2500], "y": [0.5, 7.25]}


def test_between_commas_a_comma_groups(write_text, rows):
    assert rows(open_table(write_text("a.csv", 'x,y\n"1,234",a\n"12,500",b\n')))["x"] == [1234, 12500]


def test_dates_of_which_day_or_month_may_come_first_stay_text(write_text, rows, caplog):
    path = write_text("a.csv", "on,n\n01/02/2025,1\n03/04/2025,2\n")
    with caplog.at_level(logging.INFO, "gramian"):
        assert rows(open_table(path))["on"] == ["01/02/2025", "03/04/2025"]
    assert "dates left as text in 'on'" in caplog.messages[0]
    found = rows(open_table(path, csv={"date_format": "%d/%m/%Y"}))["on"]
    assert as_dates(found) == [datetime.date(2025, 2, 1), datetime.date(2025, 4, 3)]


def test_times_come_with_dates(write_text, rows):
    found = rows(open_table(write_text("a.csv", "on;n\n31.12.2025 23:59;1\n1.2.2025 0:05;2\n")))["on"]
    assert found == [datetime.datetime(2025, 12, 31, 23, 59), datetime.datetime(2025, 2, 1, 0, 5)]


@pytest.mark.parametrize("mark", [":", "^", "~"])
def test_one_column_with_a_separator_in_its_name_is_refused_with_the_guess(write_text, rows, mark):
    path = write_text("a.csv", f"a{mark}b{mark}c\n1{mark}2{mark}3\n4{mark}5{mark}6\n")
    with pytest.raises(FileFormatError, match=r"one column, named 'a.b.c'; .* csv={'delimiter': '"):
        open_table(path)
    assert rows(open_table(path, csv={"delimiter": mark})) == {"a": [1, 4], "b": [2, 5], "c": [3, 6]}


def test_one_column_is_one_column(write_text, rows):
    assert rows(open_table(write_text("a.csv", "when\n12:30\n14:15\n")))["when"]
    assert rows(open_table(write_text("b.csv", "x\n1\n2\n"))) == {"x": [1, 2]}


def test_an_empty_column_that_is_filled_later_is_an_error_and_not_lost(write_text, rows, monkeypatch):
    monkeypatch.setattr("gramian.tables.files.csv.SAMPLE_BYTES", 64)
    path = write_text("a.csv", "a;b;\n" + "1;2;\n" * 50 + "1;2;late\n")
    with pytest.raises(DataError, match=r"column 'column_3' .* holds 'late'"):
        rows(open_table(path))


def test_an_unnamed_column_with_values_is_numbered(write_text, rows):
    assert rows(open_table(write_text("a.csv", ",x\n0,5\n1,6\n"))) == {"column_1": [0, 1], "x": [5, 6]}


def test_columns_named_categorical_are_read_as_written(write_text, rows):
    path = write_text("a.csv", 'zip,n\n"123",1\n7,2\n1e3,3\n')
    assert rows(open_table(path, categorical=["zip"]))["zip"] == ["123", "7", "1e3"]
    zeros = write_text("b.csv", "zip,n\n00123,1\n123,2\n")
    assert rows(open_table(zeros))["zip"] == ["00123", "123"]
    assert rows(open_table(zeros, numeric=["zip"]))["zip"] == [123, 123]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("semicolon", "csv= takes a dict"),
        ({"separator": ";"}, "csv= does not know 'separator'; it has delimiter, decimal"),
        ({"delimiter": ";;"}, r"csv={'delimiter': ';;'} is not possible: it takes one character"),
        ({"delimiter": 7}, "csv= takes a text for delimiter; got 7"),
        ({"decimal": "x"}, "'decimal': 'x'} is not possible"),
        ({"decimal": ",", "thousands": ","}, "'thousands': ','} is not possible"),
        ({"encoding": "klingon"}, "'encoding': 'klingon'} is not possible: it takes an encoding such as"),
    ],
)
def test_settings_are_checked(write_text, given, message):
    with pytest.raises(DataError, match=message):
        open_table(write_text("a.csv", "a,b\n1,2\n"), csv=given)


def test_settings_of_csv_are_for_csv(tmp_path):
    with pytest.raises(DataError, match=r"csv= applies to CSV files only; remove it to read a ndarray"):
        open_table(np.zeros((2, 2)), csv={"delimiter": ";"})
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(DataError, match="csv= applies to CSV files only"):
        open_table(str(path), csv={"delimiter": ";"})


def test_a_file_in_another_encoding_than_the_one_given_is_refused(write_text):
    with pytest.raises(FileFormatError, match=r"is not utf-8 text; name its encoding"):
        open_table(write_text("a.csv", "a;é\n1;2\n".encode("latin-1")), csv={"encoding": "utf-8"})


def test_a_plain_file_has_a_plain_dialect():
    found = sniff(b"a,b\n1,x\n2.5,y\n", "a.csv", whole=True)
    assert found == Dialect(names=("a", "b"), typed=frozenset({"a"}), decided=True)
    assert found.in_words() == []
    assert checked(None) == {}
    assert encoding_of(b"plain") == "utf-8"


def test_a_cut_sample_ends_with_its_last_whole_row():
    found = sniff(b"a;b\n1;2\n3;4\n5", "a.csv", whole=False)
    assert found.delimiter == ";"
    assert found.names == ("a", "b")
