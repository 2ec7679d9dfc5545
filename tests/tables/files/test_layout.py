"""Separators and headers: what was written is read back, whatever separates it, whatever stands above it."""

from __future__ import annotations

import csv
import io
import itertools
import logging

import numpy as np
import pytest

from gramian.errors import DataError, FileFormatError
from gramian.tables import open_table
from gramian.tables.files.layout import _is_value, above_header

COMBINATIONS = list(itertools.product(";,\t|", ",."))
WORDS = (
    "Bonn",
    "a, b",
    "x;y;z",
    "1,5 kg",
    'the "old" one',
    "Müller, Eva, Dr.",
    "p|q",
    "10,20;30",
    "e\tf",
    "two  words",
)
QUOTING = (csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL)


def random_frame(rng: np.random.Generator) -> dict[str, list]:
    """One to many columns of floats, integers and texts, with missing values, one to 3,000 rows."""
    n_rows = int(rng.choice([1, 2, 3, 10, 200, 3000], p=[0.2, 0.15, 0.15, 0.3, 0.15, 0.05]))
    n_columns = int(rng.choice([1, 2, 3, 5, 12], p=[0.2, 0.25, 0.25, 0.2, 0.1]))
    frame: dict[str, list] = {}
    for j in range(n_columns):
        kind = rng.choice(["float", "integer", "text"])
        if kind == "float":
            # Two digits: three could be a group of thousands, which is refused.
            values = [round(float(v), 2) + 0.01 * (round(float(v), 2) % 1 == 0) for v in rng.normal(0, 50, n_rows)]
            values = [round(v, 2) for v in values]
        elif kind == "integer":
            values = [int(v) for v in rng.integers(0, 1000, n_rows)]
        else:
            values = [str(v) for v in rng.choice(WORDS, n_rows)]
        gaps = rng.random(n_rows) < (0.2 if n_rows > 2 and n_columns > 1 else 0)
        gaps[0] = False
        frame[f"{rng.choice(['price', 'Ort', 'n_', 'VAT %'])}{j}"] = [
            None if gap else value for gap, value in zip(gaps, values, strict=True)
        ]
    return frame


def written(frame: dict[str, list], delimiter: str, decimal: str, quoting: int = csv.QUOTE_MINIMAL) -> str:
    """As `to_csv(sep=delimiter, decimal=decimal)` writes it: missing values are empty and unquoted."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerow(list(frame))
    for row in zip(*frame.values(), strict=True):
        shown = [str(value).replace(".", decimal) if isinstance(value, float) else value for value in row]
        writer.writerow(["" if value is None else value for value in shown])
    return out.getvalue()


def same(found: dict[str, list], frame: dict[str, list]) -> bool:
    """Whether the values are those written; texts that only look like numbers do not occur."""
    return list(found) == list(frame) and all(
        [None if value == "" else value for value in found[name]] == frame[name] for name in frame
    )


@pytest.mark.parametrize(("delimiter", "decimal"), COMBINATIONS)
@pytest.mark.parametrize("seed", range(12))
def test_a_frame_is_read_back_whatever_separates_it(write_text, rows, delimiter, decimal, seed):
    rng = np.random.default_rng([seed, COMBINATIONS.index((delimiter, decimal))])
    frame = random_frame(rng)
    # One column of texts: commas in them would be quoted by whoever separates by commas, and by nobody else.
    quoting = QUOTING[2] if len(frame) == 1 and delimiter != "," else QUOTING[seed % 3]
    path = write_text("a.csv", written(frame, delimiter, decimal, quoting))
    assert same(rows(open_table(path)), frame)
    if decimal != delimiter:
        assert same(rows(open_table(path, csv={"decimal": decimal})), frame)
    assert same(rows(open_table(path, csv={"delimiter": delimiter})), frame)


@pytest.mark.parametrize(("delimiter", "decimal"), [each for each in COMBINATIONS if each[0] != each[1]])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("padded", [False, True])
def test_a_frame_is_read_back_below_its_titles(write_text, rows, delimiter, decimal, seed, padded):
    rng = np.random.default_rng([seed, COMBINATIONS.index((delimiter, decimal)), 7])
    frame = {"town": ["Bonn"], **random_frame(rng), "total": [1.25]}
    n = max(map(len, frame.values()))
    frame["town"], frame["total"] = [f"town {k % 7}" for k in range(n)], [round(0.25 + k, 2) for k in range(n)]
    titles = [["Sales of 2025"], ["as of 31.12.2025"], ["Source", "2026-01-31"]][: 1 + seed % 3]
    lines = [title + [""] * (len(frame) - len(title)) if padded else title for title in titles]
    above = "".join(delimiter.join(line) + "\n" for line in lines) + "\n" * (seed % 2)
    path = write_text("a.csv", above + written(frame, delimiter, decimal))
    assert same(rows(open_table(path)), frame)
    line = len(lines) + seed % 2 + 1
    assert same(rows(open_table(path, csv={"header": line})), frame)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1,5;2,5\n3,5;4,5\n", {"a": [1.5, 3.5], "b": [2.5, 4.5]}),
        ("a\tb\n1,5\t2,5\n3,5\t4,5\n", {"a": [1.5, 3.5], "b": [2.5, 4.5]}),
        ("a|b\n1,5|2,5\n", {"a": [1.5], "b": [2.5]}),
        ("id;price;vat\n1;1,50;0,19\n2;2,50;0,19\n", {"id": [1, 2], "price": [1.5, 2.5], "vat": [0.19, 0.19]}),
        ("who;town\nA, B, C;x\nD, E, F;y\n", {"who": ["A, B, C", "D, E, F"], "town": ["x", "y"]}),
        ("net (EUR, 2025);n\n1,5;2\n3,5;4\n", {"net (EUR, 2025)": [1.5, 3.5], "n": [2, 4]}),
        ("x\n1,5\n2,5\n", {"x": [1.5, 2.5]}),
        ("said\nyes\nno, not now\nwell, yes, no\n", {"said": ["yes", "no, not now", "well, yes, no"]}),
        ("id,tags\n1,x;y;z\n2,u;v;w\n", {"id": [1, 2], "tags": ["x;y;z", "u;v;w"]}),
        ("Sales, 2025\n\nid;n;p\n1;2;0,25\n3;x;1,25\n", {"id": [1, 3], "n": ["2", "x"], "p": [0.25, 1.25]}),
        ("Sales\nna;None;n\n1;2;x\n3;4;y\n", {"na": [1, 3], "None": [2, 4], "n": ["x", "y"]}),
        ("a\tb\n1,0\tx\ninf\ty\n", {"a": [1.0, float("inf")], "b": ["x", "y"]}),
        ('Sales;\nid;x\n1;"f(a, b,\n  c: 2, 3\n"\n', {"id": [1], "x": ["f(a, b,\n  c: 2, 3\n"]}),
        ("#id;n\n1;2\n2;3\n", {"#id": [1, 2], "n": [2, 3]}),
    ],
)
def test_a_header_is_not_left_out_where_another_separator_explains_it(write_text, rows, text, expected):
    assert rows(open_table(write_text("a.csv", text))) == expected
    if "1,5" in text:
        assert rows(open_table(write_text("a.csv", text), csv={"decimal": ","})) == expected


def test_a_separator_stays_where_one_of_many_lines_is_broken(write_text, rows):
    """The message names the broken line; no other separator takes over, and no header is lost."""
    path = write_text("a.csv", "who;town\n" + "A, B, C;x\n" * 50 + "A, B, C;x;\n" + "A, B, C;x\n" * 50)
    with pytest.raises(FileFormatError, match="row 52 has 3 fields where the header has 2"):
        rows(open_table(path))


NUMBERS = [
    *("1", "-3", "+4", "1.5", "1,5", ".5", "1.", "5%", "1e5", "-2,5E-3", "1 234 567,5", "0171 2345678"),
    *("1.234", "1.234.567", "1,234,567", "1,234,567.89", "1.234.567,89", "12,34,567", "1,2345,6789", "1'234'567"),
]
DATES = ["01.02.25", "1.2.2025", "2025-12-31", "31/12/2025", "2025-12-31 10:00", "12:30", "12:30:59"]
TEXTS = [
    *("-113.8.1", "-1.23.45", "1.2.3.4", "10.0.0.1", "192.168.1.254", "1.2.345.6", "113.81.1.2", "1..5", "1,2,3"),
    *("a", "1.x", "v1.2"),
]


@pytest.mark.parametrize("value", [*NUMBERS, *DATES])
def test_values_are_numbers_dates_and_times_in_any_convention(value):
    assert _is_value(value)


@pytest.mark.parametrize("text", TEXTS)
def test_points_and_commas_that_separate_no_groups_make_text(text):
    assert not _is_value(text)


@pytest.mark.parametrize(
    ("records", "above"),
    [
        ([["a", "b"], ["1", "2"]], 0),
        ([["Sales", "", ""], ["a", "b", "c"], ["x", "1", "2"]], 1),
        ([["Sales", "", ""], ["as of", "31.12.2025", ""], ["a", "b", "c"], ["x", "1", "2"]], 2),
        ([["Sales"], ["by", "Eva"], ["a", "b", "c", "d"], ["x", "1", "2", "3"]], 2),
        ([["Sales", "", ""], ["town", "2024", "2025"], ["Bonn", "1", "2"]], 1),
        # Names of a pivot table, versions and addresses hold too many points for a number.
        ([["Sales", "", ""], ["id", "-113.8.1", "-2.5.2"], ["1", "4", "5"], ["2", "6", "7"]], 1),
        ([["Sales", "", ""], ["10.0.0.1", "10.0.0.12", "1.10.2.3"], ["1", "4", "5"], ["2", "6", "7"]], 1),
        # These are numbers, and the first line is the header of three columns of which one has a name.
        ([["Sales", "", ""], ["1.234.567", "1.234,5", "12,34,567.5"], ["1", "4", "5"], ["2", "6", "7"]], 0),
        # One name above three columns of numbers, and names without that of the index.
        ([["a", "", ""], ["1", "2", "3"], ["4", "5", "6"]], 0),
        ([["", "a", "b"], ["x", "y", "z"], ["u", "v", "w"]], 0),
        # R writes no name above the names of rows.
        ([["x", "y"], ["r1", "NA", "b"], ["r2", "1", "c"]], 0),
        ([["sex", "group"], ["Ann", "f", "a"], ["Eva", "f", "b"]], 0),
    ],
)
def test_titles_are_told_from_headers(records, above):
    assert above_header(records) == above


def test_a_title_or_the_name_of_one_column_is_not_guessed(write_text, rows):
    path = write_text("a.csv", "place\nBonn, Germany, EU\nParis, France, E.U.\n")
    with pytest.raises(
        FileFormatError, match=r"'place', is a title, or .* csv={'header': 2} or csv={'delimiter': ';'}"
    ):
        open_table(path)
    assert rows(open_table(path, csv={"header": 2})) == {"Bonn": ["Paris"], "Germany": [" France"], "EU": [" E.U."]}
    one = rows(open_table(path, csv={"delimiter": ";"}))
    assert one == {"place": ["Bonn, Germany, EU", "Paris, France, E.U."]}


def test_a_header_below_a_title_that_is_no_header_is_not_guessed(write_text, rows):
    """Numbers name the columns: nothing tells them from rows."""
    path = write_text("a.csv", "Sales\n7;8;9\n1;2;3\n4;5;6\n")
    with pytest.raises(FileFormatError, match=r"'Sales', is a title, or .* csv={'header': 2}"):
        open_table(path)
    assert rows(open_table(path, csv={"header": 2})) == {"7": [1, 4], "8": [2, 5], "9": [3, 6]}


def test_a_header_that_names_few_columns_is_said(write_text, caplog):
    with caplog.at_level(logging.INFO, "gramian"):
        table = open_table(write_text("a.csv", "Sales;;\n7;8;9\n1;2;3\n"))
    assert table.schema.names == ["Sales", "column_2", "column_3"]
    assert "only 1 of 3 columns named by the header in line 1 (csv={'header': 2} takes another line)" in caplog.text


def test_two_separators_that_both_fit_are_said(write_text, caplog):
    with caplog.at_level(logging.INFO, "gramian"):
        table = open_table(write_text("a.csv", "name, first;town\nA, B;C\nD, E;F\n"))
    assert table.schema.names == ["name, first", "town"]
    assert "semicolons (csv={'delimiter': ','} is possible too)" in caplog.messages[0]


def test_a_given_header_decides(write_text, rows):
    path = write_text("a.csv", "names,of,a,sample\na,b,c,d\n1,2,3,4\n5,6,7,8\n")
    assert list(rows(open_table(path))) == ["names", "of", "a", "sample"]
    assert rows(open_table(path, csv={"header": 2}))["a"] == [1, 5]
    # Nothing is left out above a line that is named, nor below it.
    title = write_text("b.csv", "Sales;;\na;b;c\nx;1;2\n")
    assert list(rows(open_table(title, csv={"header": 1}))) == ["Sales", "column_2", "column_3"]
    comment = write_text("c.csv", "# a,b\n# c,d\n1,2\n")
    assert rows(open_table(comment, csv={"header": 2})) == {"# c": [1], "d": [2]}


@pytest.mark.parametrize("line", [0, -1, True, 1.5, "x", ""])
def test_a_header_that_is_not_the_number_of_a_line_is_refused(write_text, line):
    with pytest.raises(DataError, match=r"'header': .* is not possible: it takes the number of a line"):
        open_table(write_text("a.csv", "a,b\n1,2\n"), csv={"header": line})


def test_a_header_that_is_not_there_is_refused(write_text):
    path = write_text("a.csv", "a;b\n\n1;2\n")
    with pytest.raises(FileFormatError, match=r"line 2 of .*a\.csv is empty"):
        open_table(path, csv={"header": 2})
    with pytest.raises(FileFormatError, match=r"line 4 of .*a\.csv cannot be the header: the sample of it has 3 lines"):
        open_table(path, csv={"header": 4})
