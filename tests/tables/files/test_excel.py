"""Spreadsheets are read with the kinds that people gave their cells."""

from __future__ import annotations

import datetime as dt
import json
import logging
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError, FileFormatError, MemoryLimitError, MissingPackageError
from gramian.tables import open_table
from gramian.tables.files.excel import NOTED, ExcelTable, follow_cells

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


def test_several_titles_above_the_header_are_left_out(tmp_path, library, caplog):
    above = [["Umsätze 2025"], ["Stand", dt.date(2025, 12, 31)], ["Quelle: Kasse"]]
    with caplog.at_level(logging.INFO, "gramian"):
        _, found = rows_of(
            write(tmp_path / "a.xlsx", [*above, ["Ort", "Preis", "n"], ["Bonn", 1.5, 2], ["Köln", 2.5, 3]])
        )
    assert found == {"Ort": ["Bonn", "Köln"], "Preis": [1.5, 2.5], "n": [2, 3]}
    assert "without 3 lines above the header" in caplog.text


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
    with pytest.raises(DataError, match=r"csv=\{'delimiter': ';'\} applies to CSV files only"):
        open_table(path, csv={"delimiter": ";"})
    with pytest.raises(DataError, match="takes the name of a sheet"):
        open_table(path, csv={"sheet": 2})
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"csv=\{'sheet': 'x'\} applies to spreadsheets only"):
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


def with_cells(path, cells):
    """Write a spreadsheet whose sheet holds what this XML says."""
    write(path, [["a"], [1]])
    with zipfile.ZipFile(path) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        f"{cells}</sheetData></worksheet>"
    ).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return str(path)


HEAD = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row><row r="2"><c r="A2"><v>2</v></c></row>'
FAR = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
READ = """
import sys
if sys.argv[2] == "openpyxl":
    sys.modules["python_calamine"] = None
import gramian as gm
try:
    gm.collect(sys.argv[1])
except gm.errors.DataError as error:
    print(error)
"""


def test_one_cell_far_out_does_not_end_the_process(tmp_path, library):
    path = with_cells(tmp_path / "a.xlsx", HEAD + FAR)
    done = subprocess.run([sys.executable, "-c", READ, path, library], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-300:]
    assert "has 3 cells in 17,179,869,184 places, up to row 1,048,576 and column XFD; delete the cells" in done.stdout


@pytest.mark.parametrize(
    "far",
    [
        '<row r="20000"><c r="CV20000"><v>1</v></c></row>',
        '<x:row xmlns:x="x" r="20000"><x:c t = " r=1 " r = \'CV20000\'><v>1</v></x:c></x:row>',
        '<row r="20000">' + "<c><v>1</v></c>" * 100 + "</row>",
    ],
    ids=["plain", "prefixed and spaced", "without places"],
)
def test_a_limit_is_kept_before_a_sheet_is_read(tmp_path, library, far):
    path = with_cells(tmp_path / "a.xlsx", HEAD + far)
    with pytest.raises(
        MemoryLimitError, match=r"2,000,000 places; reading it needs 88\.\d MB and 50\.0 MB are allowed"
    ):
        gm.collect(path, memory_limit="50MB")


def test_spreadsheets_together_keep_a_limit(tmp_path, library):
    days = [write(tmp_path / f"{k}.xlsx", [["a", "b"], *[[k, f"{k}"] for k in range(300)]]) for k in range(20)]
    assert gm.collect(days, memory_limit="100MB").n_rows == 6000
    with pytest.raises(MemoryLimitError, match="sheet 'sheet 1' has 602 cells"):
        gm.collect(days, memory_limit=70_000)


def test_formats_without_values_reach_nowhere(tmp_path, library):
    path = with_cells(tmp_path / "a.xlsx", HEAD + FAR.replace("><v>1</v></c>", ' s="0"/>'))
    if library == "python_calamine":
        assert rows_of(path)[1] == {"a": [2]}


def test_texts_that_would_not_fit_are_refused_before_they_are_read(tmp_path, library):
    path = write(tmp_path / "a.xlsx", [["a"], ["x" * 30_000]])
    with pytest.raises(MemoryLimitError, match=r"reading it needs 9\d\.\d kB"):
        gm.collect(path, memory_limit=80_000)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/sharedStrings.xml", f"<sst><si><t>{'x' * 40_000}</t></si></sst>")
    with pytest.raises(MemoryLimitError, match=r"reading its texts needs 12\d\.\d kB"):
        gm.collect(path, memory_limit=100_000)


def test_cells_are_followed_across_pieces():
    text = HEAD + '<row><c><v>1</v></c><c/></row><row r="9"><c r="D9"/><c r="C9"><v>1</v></c>'
    text += (
        '<c r="D9" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="E9"><f>A1</f><v></v></c><c t="n"><x:f/></c><cols r="ZZ99">'
    )
    whole = np.zeros(NOTED, np.int64)
    assert follow_cells(np.frombuffer(text.encode(), np.uint8), whole) == len(text)
    assert whole.tolist() == [9, 6, 1, 9, 1, 6, 7, 16, 0, 16, 1, 9, 4, 2, 9, 5]
    for cut in range(len(text)):
        seen = np.zeros(NOTED, np.int64)
        done = follow_cells(np.frombuffer(text[:cut].encode(), np.uint8), seen)
        follow_cells(np.frombuffer(text[done:].encode(), np.uint8), seen)
        assert seen.tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ('<c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c>', "1 cell of sheet 'sheet 1' with an error such as #N/A, in B2"),
        ('<c r="B2"><f>A2+1</f><v></v></c>', "1 cell of sheet 'sheet 1' with a formula without its result, in B2"),
        ('<c r="B2" t="n"><f>A2+1</f></c>', "1 cell of sheet 'sheet 1' with a formula without its result, in B2"),
        (
            '<c r="B2"><f t="shared" si="0"/><v/></c>',
            "1 cell of sheet 'sheet 1' with a formula without its result, in B2",
        ),
        ('<c r="B2"><f>A2+1</f><v>2</v></c>', None),
        ('<c r="B2" t="str"><f>""</f><v></v></c>', None),
        ('<c r="B2"><v></v></c>', None),
        ('<c r="B2"/>', None),
    ],
)
def test_errors_and_formulas_without_results_are_missing_and_said(tmp_path, library, caplog, cell, said):
    head = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'
    rows = f'<row r="2"><c r="A2"><v>1</v></c>{cell}</row><row r="3"><c r="A3"><v>2</v></c><c r="B3"><v>8</v></c></row>'
    path = with_cells(tmp_path / "a.xlsx", head + rows)
    with caplog.at_level(logging.INFO, logger="gramian"):
        assert rows_of(path)[1] == {"a": [1, 2], "b": [2 if ">2<" in cell else None, 8]}
    if said is None:
        assert "read as missing" not in caplog.text
    else:
        assert caplog.messages[0].startswith(f"{path}: {said}, read as missing")


def test_errors_are_counted_where_there_are_several(tmp_path, library, caplog):
    path = write(tmp_path / "a.xlsx", [HEADER, *ROWS])
    with caplog.at_level(logging.INFO, logger="gramian"):
        rows_of(path)
    assert (
        f"{path}: 3 cells of sheet 'sheet 1' with an error such as #N/A, the first in H2, read as missing"
        in caplog.text
    )


@pytest.mark.parametrize("word", ["NA", "n/a", "NaN", "null", "None", "-", " - "])
def test_words_beside_numbers_and_dates_are_missing_and_beside_texts_are_texts(tmp_path, library, caplog, word):
    day = dt.date(2025, 12, 31)
    cells = [["n", "x", "am", "ok", "text"], [1, 1.5, day, True, "red"], [word] * 5, [3, 2.5, day, False, "blue"]]
    path = write(tmp_path / "a.xlsx", cells)
    with caplog.at_level(logging.INFO, logger="gramian"):
        schema, found = rows_of(path)
    assert schema.types[:4] == [pa.int64(), pa.float64(), pa.date32(), pa.bool_()]
    expected = {"n": [1, None, 3], "x": [1.5, None, 2.5], "am": [day, None, day], "ok": [True, None, False]}
    assert found == expected | {"text": ["red", word, "blue"]}
    assert f"{word!r} taken as missing in 'am'" in caplog.text
    assert rows_of(path, categorical=["n"])[1]["n"] == ["1", word, "3"]


def test_words_of_the_user_are_missing_everywhere(tmp_path, library):
    cells = [["x", "c"], [1, "red"], ["unbekannt", "unbekannt"], ["NA", "NA"]]
    path = write(tmp_path / "a.xlsx", cells)
    assert rows_of(path, csv={"na": ["unbekannt"]})[1] == {"x": [1, None, None], "c": ["red", None, "NA"]}
    assert rows_of(path, csv={"na": "unbekannt"})[1] == rows_of(path, csv={"na": ["unbekannt"]})[1]
    assert rows_of(path)[1]["x"] == ["1", "unbekannt", "NA"]
    assert rows_of(path, csv={"na": ["unbekannt"]}, categorical=["x"])[1]["x"] == ["1", None, "NA"]


def test_words_are_the_same_in_all_formats(tmp_path, library):
    rows = [[1, "2025-01-01", "red"], ["NA", "NA", "NA"], ["-", "-", "-"], [4, "2025-01-02", "blue"]]
    days = [[n, dt.date.fromisoformat(day) if len(day) > 2 else day, c] for n, day, c in rows]
    names = ["n", "day", "color"]
    sheet = write(tmp_path / "a.xlsx", [names, *days])
    (tmp_path / "a.csv").write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    for how in ({}, {"csv": {"na": ["red"]}}):
        found = [gm.collect(path, **how) for path in (sheet, tmp_path / "a.csv", tmp_path / "a.jsonl")]
        assert found[0] == found[1] == found[2]
