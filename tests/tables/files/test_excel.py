"""Spreadsheets are read with the kinds that people gave their cells."""

from __future__ import annotations

import datetime as dt
import logging
import sys

import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError, FileFormatError, MissingPackageError
from gramian.tables import open_table
from gramian.tables.files.excel import ExcelTable

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install openpyxl")
pytest.importorskip("python_calamine", reason="python-calamine is not installed: pip install python-calamine")

HEADER = ["Ort", "PLZ", "Preis", "am", "um", "ok", "n", "Fehler"]
ROWS = [
    ["Köln", "00123", 1.5, dt.date(2025, 12, 31), dt.datetime(2025, 1, 1, 3, 4), True, 5, "#DIV/0!"],
    ["Bonn", "50667", None, dt.date(2025, 12, 30), dt.datetime(2025, 1, 2), False, 6, "#N/A"],
    [None, "00123", 2.0, None, dt.datetime(2025, 1, 3, 23), True, 7, "#DIV/0!"],
]


@pytest.fixture(params=["python_calamine", "openpyxl"])
def library(request, monkeypatch):
    """Each library alone reads the file."""
    if request.param == "openpyxl":
        monkeypatch.setitem(sys.modules, "python_calamine", None)
    return request.param


def write(path, *sheets, titles=()):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for k, rows in enumerate(sheets):
        sheet = book.create_sheet(titles[k] if titles else f"sheet {k + 1}")
        for row in rows:
            sheet.append(row)
        for cell in (cell for row in sheet.iter_rows() for cell in row if str(cell.value).startswith(("#D", "#N"))):
            cell.data_type = "e"
    book.save(path)
    return str(path)


def rows_of(path, **how):
    table = open_table(path, **how)
    assert isinstance(table, ExcelTable)
    return table.schema, pa.Table.from_batches(table.batches()).to_pydict()


def test_cells_keep_the_kinds_that_people_see(tmp_path, library):
    schema, found = rows_of(write(tmp_path / "a.xlsx", [HEADER, *ROWS]))
    kinds = [schema.field(name).type for name in HEADER[2:7]]
    assert kinds == [pa.float64(), pa.date32(), pa.timestamp("us"), pa.bool_(), pa.int64()]
    assert found["PLZ"] == ["00123", "50667", "00123"]
    assert found["Ort"] == ["Köln", "Bonn", None]
    assert found["am"] == [dt.date(2025, 12, 31), dt.date(2025, 12, 30), None]
    assert found["um"][1] == dt.datetime(2025, 1, 2)
    assert found["Fehler"] == [None] * 3


def test_titles_empty_columns_and_empty_rows_are_left_out(tmp_path, library, caplog):
    empty: list[object] = [None] * 11
    above = [["Umsätze 2025"], [], [*HEADER, None, None]]
    body = [[*row, None, None] for row in ROWS]
    path = write(tmp_path / "a.xlsx", [*above, *body, empty, empty])
    with caplog.at_level(logging.INFO, logger="gramian"):
        schema, found = rows_of(path)
    assert schema.names == HEADER
    assert len(found["n"]) == 3
    assert "without 1 line above the header" in caplog.text


def test_an_empty_row_between_others_is_a_row(tmp_path, library):
    _, found = rows_of(write(tmp_path / "a.xlsx", [["a", "b"], ["x", 1], [None, None], ["y", 2]]))
    assert found == {"a": ["x", None, "y"], "b": [1, None, 2]}


def test_texts_beside_numbers_make_a_column_text_and_are_said(tmp_path, library, caplog):
    path = write(tmp_path / "a.xlsx", [["code", "n"], ["00123", 1], [456, 2], [7.5, 3]])
    with caplog.at_level(logging.INFO, logger="gramian"):
        _, found = rows_of(path)
    assert found["code"] == ["00123", "456", "7.5"]
    assert "column 'code' holds texts beside 456: all of it is read as text" in caplog.text


def test_categorical_is_text_and_numeric_is_float(tmp_path, library):
    path = write(tmp_path / "a.xlsx", [["a", "b"], [1, 1], [2, 2]])
    schema, found = rows_of(path, categorical=["a"], numeric=["b"])
    assert found["a"] == ["1", "2"]
    assert schema.field("b").type == pa.float64()


def test_dates_beside_numbers_are_refused_by_name(tmp_path, library):
    path = write(tmp_path / "a.xlsx", [["a", "b"], [dt.date(2025, 1, 1), 1], [2, 2]])
    with pytest.raises(DataError, match=r"column 'a' of .*a\.xlsx mixes date and float|mixes date and int"):
        open_table(path)


def test_the_first_sheet_with_cells_is_read_and_another_by_name(tmp_path, library, caplog):
    path = write(tmp_path / "a.xlsx", [], [["a"], ["x"], ["y"]], [["b"], [1], [2]], titles=("Notes", "May", "June"))
    with caplog.at_level(logging.INFO, logger="gramian"):
        assert rows_of(path)[0].names == ["a"]
    assert "from its sheet 'May'; it also has 'Notes', 'June'" in caplog.text
    assert rows_of(path, csv={"sheet": "June"})[0].names == ["b"]
    with pytest.raises(DataError, match="has no sheet 'July'; it has 'Notes', 'May', 'June'"):
        open_table(path, csv={"sheet": "July"})


def test_settings_of_text_files_are_refused(tmp_path):
    path = write(tmp_path / "a.xlsx", [["a"], [1]])
    with pytest.raises(DataError, match=r"csv=\{'delimiter': ';'\} is for CSV files"):
        open_table(path, csv={"delimiter": ";"})
    with pytest.raises(DataError, match="takes the name of a sheet"):
        open_table(path, csv={"sheet": 2})
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"csv=\{'sheet': 'x'\} is for spreadsheets"):
        open_table(tmp_path / "a.csv", csv={"sheet": "x"})


@pytest.mark.parametrize("cells", [[], [["# a note"]]])
def test_a_sheet_without_a_header_is_refused(tmp_path, library, cells):
    with pytest.raises(FileFormatError, match="no header row"):
        open_table(write(tmp_path / "a.xlsx", cells))


def test_a_name_that_occurs_twice_is_named(tmp_path, library):
    with pytest.raises(DataError, match="column 'a' occurs 2 times"):
        open_table(write(tmp_path / "a.xlsx", [["a", "a"], [1, 2]]))


def test_a_damaged_file_is_one_line(tmp_path, library):
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(FileFormatError, match=r"a\.xlsx cannot be read as a spreadsheet"):
        open_table(tmp_path / "a.xlsx")


def test_without_either_library_one_line_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path / "a.xlsx", [["a"], [1]])
    for name in ("python_calamine", "openpyxl"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackageError, match=r"pip install python-calamine \(the extra 'excel'\)"):
        open_table(path)


def test_old_kinds_of_spreadsheets_are_told_to_be_saved_anew(tmp_path):
    (tmp_path / "a.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(FileFormatError, match=r"save it as \.xlsx or \.csv"):
        open_table(tmp_path / "a.xls")


def test_a_spreadsheet_and_its_csv_have_the_same_moments(tmp_path, library):
    rows = [["red", 1.5, 3, "007"], ["blue", 2.25, 4, "010"], ["red", None, 5, "007"]]
    path = write(tmp_path / "a.xlsx", [["color", "size", "n", "code"], *rows])
    (tmp_path / "a.csv").write_text("color,size,n,code\nred,1.5,3,007\nblue,2.25,4,010\nred,,5,007\n")
    assert gm.collect(path) == gm.collect(tmp_path / "a.csv")


def test_spreadsheets_of_several_days_are_one_table(tmp_path, library):
    days = [write(tmp_path / f"{k}.xlsx", [["a", "b"], ["x", k], ["y", k + 0.5]]) for k in (1, 2)]
    assert gm.collect(days).n_rows == 4
    assert gm.collect(str(tmp_path)) == gm.collect(days)
