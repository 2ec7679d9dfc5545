"""Spreadsheets (.xlsx, .xlsm): one sheet, its cells with the kinds that the spreadsheet gave them.

A spreadsheet keeps every number as a float, so a column whose numbers are all whole is one of integers; dates without a
time are dates; errors such as `#N/A` are missing values. A column of texts and numbers is text, the numbers as they are
written: postal codes of which some were typed as text. Title lines above the header are left out as in CSV files, and so are
columns without name and value and empty rows at the end. What is decided beyond that goes to the log of the package.

The cells come from python-calamine (compiled, and so the faster one) or, where that is not installed, from openpyxl. A
sheet has at most 1,048,576 rows, so it is read whole.
"""

from __future__ import annotations

import datetime as dt
import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from gramian.errors import Argument, DataError, FileFormatError, GramianError, Message, missing_package, shown
from gramian.tables.failures import one_line, reading
from gramian.tables.files.dialect import column_names
from gramian.tables.files.file_table import FileTable
from gramian.tables.files.layout import above_header
from gramian.tables.files.paths import Files
from gramian.tables.files.remote import is_remote, open_stream
from gramian.tables.object_columns import arrow_array, type_of_objects
from gramian.tables.schemas import as_numbers, is_text

_EXACT = 2.0**53

_LOG = logging.getLogger("gramian")


class ExcelTable(FileTable):
    """One sheet of one or more spreadsheets.

    Parameters
    ----------
    files, numeric, describe
        As for every table of files.
    categorical
        Columns to be read as text.
    csv
        Of the settings of text files only `sheet`, the name of the sheet to read; by default the first that holds anything.
    """

    _known_by_path = ("_tables",)

    def __init__(
        self,
        files: Files,
        *,
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        csv: Mapping[str, Any] | None = None,
        describe: str | None = None,
    ) -> None:
        self._categorical = set(categorical)
        self._sheet = _checked(csv)
        super().__init__(files, numeric=numeric, describe=describe)

    def _schemas(self, paths: list[str]) -> list[pa.Schema]:
        self._tables = {path: self._table(path) for path in paths}
        return [as_numbers(self._tables[path].schema, self._numeric) for path in paths]

    def identity(self) -> dict[str, Any]:
        """Return what tells the files from others, and which sheet is read."""
        return {**super().identity(), "csv": {"sheet": self._sheet}}

    def _count_rows(self) -> list[int | None]:
        return [self._tables[path].num_rows for path in self._files.paths]

    def _read_files(
        self, paths: list[str], schema: pa.Schema, first: int, skip: int
    ) -> Iterator[tuple[int, int, pa.RecordBatch]]:
        for index, path in enumerate(paths[first:], start=first):
            row = 0
            for batch in self._tables[path].select(schema.names).to_batches():
                yield index, row, batch
                row += batch.num_rows

    def _table(self, path: str) -> pa.Table:
        rows = _cells(path, self._sheet)
        texts = [["" if cell is None else _written(cell) for cell in row] for row in rows[:50]]
        full = [k for k, row in enumerate(texts) if any(row)]
        if not full:
            raise FileFormatError(f"{path} has no header row: the sheet is empty")
        above = above_header([texts[k] for k in full])
        if above == len(full):
            raise FileFormatError(f"{path} has no header row")
        header = full[above]
        names, unnamed = column_names(texts[header])
        body = rows[header + 1 :]
        last = max((k for k, row in enumerate(body) if any(cell is not None for cell in row)), default=-1)
        body = body[: last + 1]
        columns = {}
        for k, name in enumerate(names):
            values = np.empty(len(body), dtype=object)
            values[:] = [row[k] for row in body]
            if not (name in unnamed and all(value is None for value in values)):
                columns[name] = self._column(values, name, path)
        if len(set(names)) < len(names):
            # Whoever asked is told which name occurs twice.
            return pa.Table.from_arrays([pa.nulls(0)] * len(names), names=list(names))
        if above:
            _LOG.info("%s is read without %d line%s above the header", path, above, "s" if above > 1 else "")
        return pa.table(columns)

    def _column(self, values: np.ndarray, name: str, path: str) -> pa.Array:
        there = [value for value in values if value is not None]
        kinds = {type(value) for value in there}
        if name in self._categorical or (str in kinds and len(kinds) > 1):
            if name not in self._categorical:
                other = next(value for value in there if not isinstance(value, str))
                _LOG.info("%s: column %r holds texts beside %s: all of it is read as text", path, name, _written(other))
            values = _mapped(values, _written)
        elif kinds and kinds <= {int, float}:
            whole = all(float(value).is_integer() and abs(value) < _EXACT for value in there)
            values = _mapped(values, int) if whole and name not in self._numeric else _mapped(values, float)
        elif kinds == {dt.date, dt.datetime}:
            values = _mapped(values, lambda day: dt.datetime(day.year, day.month, day.day, *day.timetuple()[3:6]))
        array = arrow_array(values, type_of_objects(values, name, path), name, path)
        return array.dictionary_encode() if is_text(array.type) else array


def _mapped(values: np.ndarray, function: Callable[[Any], Any]) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = [None if value is None else function(value) for value in values]
    return out


def _written(cell: Any) -> str:
    """Return a cell as people read it: whole numbers without a point, days without a time."""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT:
        return str(int(cell))
    if isinstance(cell, dt.datetime | dt.date | dt.time):
        return cell.isoformat(*([" "] if isinstance(cell, dt.datetime) else []))
    return str(cell)


def _checked(csv: Mapping[str, Any] | None) -> str | None:
    given = dict(csv or {})
    for name, value in given.items():
        if name != "sheet":
            raise DataError(
                Argument("csv", {name: value}), " is for CSV files, and a spreadsheet is none; leave it out"
            )
    sheet = given.get("sheet")
    if sheet is not None and not isinstance(sheet, str):
        raise DataError(Argument("csv", {"sheet": sheet}), " is not possible: it takes the name of a sheet")
    return sheet


def _cells(path: str, sheet: str | None) -> list[list[Any]]:
    """Return the rows of a sheet, None for a cell without a value, all of one length."""
    with reading(path, "a spreadsheet"), _readable(path):
        names, read = _opened(path)
        if sheet is not None and sheet not in names:
            raise DataError(f"{path} has no sheet {shown(sheet)}; it has {', '.join(map(shown, names))}")
        chosen, rows = sheet, read(sheet) if sheet is not None else []
        for name in names if sheet is None else ():
            chosen, rows = name, read(name)
            if any(cell is not None for row in rows for cell in row):
                break
    if sheet is None and len(names) > 1:
        others = [name for name in names if name != chosen]
        words = f"{path} is read from its sheet {shown(chosen)}; it also has {', '.join(map(shown, others))} ("
        _LOG.info(Message(words, Argument("csv", {"sheet": others[0]}), " reads that)"))
    width = max(map(len, rows), default=0)
    return [[*row, *[None] * (width - len(row))] for row in rows]


@contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except (GramianError, MemoryError, OSError):
        raise
    except Exception as error:
        # Both libraries raise what the zip and XML readers beneath them raise, of no common kind.
        raise FileFormatError(
            f"{path} cannot be read as a spreadsheet: {one_line(error)}; save it again, without a password"
        ) from error


def _opened(path: str) -> tuple[list[str], Callable[[str], list[list[Any]]]]:
    """Return the names of the sheets that people see, and what reads one."""
    source = io.BytesIO(open_stream(path).read()) if is_remote(path) else path
    for library in (_calamine, _openpyxl):
        try:
            return library(source)
        except ModuleNotFoundError:
            continue
    raise missing_package(f"{path} is a spreadsheet, which", "python-calamine", extra="excel")


def _calamine(source: Any) -> tuple[list[str], Callable[[str], list[list[Any]]]]:
    import python_calamine as calamine

    book = calamine.CalamineWorkbook.from_object(source)
    seen = [
        each.name
        for each in book.sheets_metadata
        if each.typ == calamine.SheetTypeEnum.WorkSheet and each.visible == calamine.SheetVisibleEnum.Visible
    ]

    def read(name: str) -> list[list[Any]]:
        return [[None if cell == "" else cell for cell in row] for row in book.get_sheet_by_name(name).to_python()]

    return seen or list(book.sheet_names), read


def _openpyxl(source: Any) -> tuple[list[str], Callable[[str], list[list[Any]]]]:
    import openpyxl

    book = openpyxl.load_workbook(source, read_only=True, data_only=True)
    seen = [sheet.title for sheet in book.worksheets if sheet.sheet_state == "visible"]

    def read(name: str) -> list[list[Any]]:
        rows = [[_plain(cell) for cell in row] for row in book[name].iter_rows()]
        full = [k for k, row in enumerate(rows) if any(cell is not None for cell in row)]
        wide = [k for row in rows for k, cell in enumerate(row) if cell is not None]
        return [row[min(wide) : max(wide) + 1] for row in rows[full[0] : full[-1] + 1]] if full else []

    return seen or list(book.sheetnames), read


def _plain(cell: Any) -> Any:
    value = cell.value
    if value == "" or cell.data_type == "e":
        return None
    # A date and its midnight are the same number in a sheet: beside times of the day both become times again.
    return value.date() if isinstance(value, dt.datetime) and value.time() == dt.time() else value
