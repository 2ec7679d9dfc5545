"""Spreadsheets (.xlsx, .xlsm): one sheet, its cells with the kinds that the spreadsheet gave them.

A spreadsheet keeps every number as a float, so a column whose numbers are all whole is one of integers; dates without a
time are dates; errors such as `#N/A` are missing values, and so are formulas whose result was not stored with them: a note
says how many there are, and where the first is. A column of texts and numbers is text, the numbers as they are
written: postal codes of which some were typed as text. Title lines above the header are left out as in CSV files, and so are
columns without name and value and empty rows at the end. What is decided beyond that goes to the log of the package.

Words such as `NA` beside numbers or dates are missing values, as in CSV files.

The cells come from python-calamine (compiled, and so the faster one) or, where that is not installed, from openpyxl. Both hold
every cell between the first and the last one, and of those a sheet may have 17 billion, all but one of them empty. So the
places of the cells are looked at before they are read (`follow_cells`), and a sheet that would not fit memory is refused.
"""

from __future__ import annotations

import datetime as dt
import io
import logging
import posixpath
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain, dropwhile, islice
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
from numba import types

from gramian.arrays.memory import memory_allowed, refuse_beyond
from gramian.compiling import kernel
from gramian.errors import Argument, DataError, FileFormatError, GramianError, Message, missing_package, shown
from gramian.tables.files.conventions import WORDS, checked_words
from gramian.tables.files.dialect import column_names
from gramian.tables.files.file_table import FileTable, Rows
from gramian.tables.files.layout import above_header
from gramian.tables.files.remote import is_remote, open_stream
from gramian.tables.schemas import arrow_array, as_numbers, is_text, one_line, reading, type_of_objects

_EXACT = 2.0**53

_PLACE_BYTES = 44
"""Bytes of each place between the first cell and the last, in python-calamine's memory and in ours."""
_CELL_BYTES = 48
"""Bytes of each cell that holds something, beside its place."""
_TEXT_BYTES = 3
"""Bytes for each byte of text."""
_DESCRIPTION_BYTES = 2**24
_WAY_OUT = "save it as CSV, which is read in pieces, or allow more memory"
_FEW_PLACES = 2**22
"""Places that are read however few of them hold anything: they take seconds."""
_SPARSE = 100
"""Places for each cell of a larger sheet; beyond it, some cells were left far from the table."""

_LOG = logging.getLogger("gramian")


class ExcelTable(FileTable):
    """One sheet of one or more spreadsheets, the first that holds anything unless the user names one."""

    _known_by_path = ("_rows", "_tables")
    _tables: dict[str, pa.Table]

    def _schemas(self, paths: list[str]) -> list[pa.Schema]:
        self._mixed: set[str] = set()
        for path in paths:
            self._tables[path] = self._table(path)
            self._rows[path] = self._tables[path].num_rows
        return [as_numbers(self._tables[path].schema, self._numeric) for path in paths]

    def _checked(self, csv: Mapping[str, Any]) -> dict[str, Any]:
        for name, value in csv.items():
            if name not in ("sheet", "na"):
                raise DataError(
                    Argument("csv", {name: value}), " applies to CSV files only; remove it to read a spreadsheet"
                )
        sheet, words = csv.get("sheet"), checked_words(csv.get("na"))
        if sheet is not None and not isinstance(sheet, str):
            raise DataError(Argument("csv", {"sheet": sheet}), " is not possible: it takes the name of a sheet")
        return {"sheet": sheet} | ({"na": words} if words else {})

    def typed_by_values(self, column: str) -> bool:
        """Whether a column holds texts beside other values."""
        return column in self._mixed

    def _read_files(self, schema: pa.Schema, first: int, skip: int) -> Rows:
        for index, path in enumerate(self.files[first:], start=first):
            row = 0
            for batch in self._tables[path].select(schema.names).to_batches():
                yield index, row, batch
                row += batch.num_rows

    def _table(self, path: str) -> pa.Table:
        held = sum(table.nbytes for table in self._tables.values())
        rows = _cells(path, self._given.get("sheet"), held)
        top = list(islice(rows, 50))
        texts = [["" if cell is None else _written(cell) for cell in row] for row in top]
        full = [k for k, row in enumerate(texts) if any(row)]
        if not full:
            raise FileFormatError(f"{path} has no header row: the sheet is empty")
        above = above_header([texts[k] for k in full])
        if above == len(full):
            raise FileFormatError(f"{path} has no header row")
        header = full[above]
        names, unnamed = column_names(texts[header])
        cells: list[list[Any]] = [[] for _ in names]
        same: dict[str, str] = {}
        last = 0
        with reading(path, "a spreadsheet"), _readable(path):
            for k, row in enumerate(chain(top[header + 1 :], rows), start=1):
                if any(cell is not None for cell in row):
                    last = k
                for column, cell in zip(cells, row, strict=True):
                    # Each text once, however many cells have it.
                    column.append(same.setdefault(cell, cell) if type(cell) is str else cell)
        columns = {}
        for k, name in enumerate(names):
            values = np.empty(last, dtype=object)
            values[:] = cells[k][:last]
            cells[k] = []
            if not (name in unnamed and all(value is None for value in values)):
                columns[name] = self._column(values, name, path)
        if len(set(names)) < len(names):
            # Whoever asked is told which name occurs twice.
            return pa.Table.from_arrays([pa.nulls(0)] * len(names), names=list(names))
        if above:
            _LOG.info("%s is read without %d line%s above the header", path, above, "s" if above > 1 else "")
        return pa.table(columns)

    def _column(self, values: np.ndarray, name: str, path: str) -> pa.Array:
        values = self._without_words(values, name, path)
        there = [value for value in values if value is not None]
        kinds = {type(value) for value in there}
        if name in self._categorical or (str in kinds and len(kinds) > 1):
            if name not in self._categorical:
                self._mixed.add(name)
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

    def _without_words(self, values: np.ndarray, name: str, path: str) -> np.ndarray:
        """Return the values of a column, words that stand for a missing one left out: beside texts only those of the user."""
        words = {value for value in values if type(value) is str}
        given = words.intersection(self._words)
        if name not in self._categorical and {word for word in words if word.strip() not in WORDS} <= given:
            taken = words - given
            if taken and any(value is not None and type(value) is not str for value in values):
                _LOG.info("%s: %s taken as missing in %r", path, ", ".join(map(repr, sorted(taken))), name)
            given = words
        return _mapped(values, lambda value: None if value in given else value) if given else values


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


def _cells(path: str, sheet: str | None, held: int) -> Iterator[list[Any]]:
    """Return the rows of a sheet from its first cell on, None for a cell without a value, all of one length.

    Parameters
    ----------
    path : str
    sheet : name of the sheet, or None for the first that holds anything
    held : bytes of the sheets that were read before
    """
    with reading(path, "a spreadsheet"), _readable(path):
        source = io.BytesIO(open_stream(path).read()) if is_remote(path) else path
        _refuse_texts(source, path, held)
        names, read = _opened(source, path)
        if sheet is not None and sheet not in names:
            raise DataError(f"{path} has no sheet {shown(sheet)}; it has {', '.join(map(shown, names))}")
        chosen = sheet
        rows: Iterator[list[Any]] = iter(())
        for name in names if sheet is None else [sheet]:
            seen = _checked_places(source, path, name, held)
            found = dropwhile(lambda row: all(cell is None for cell in row), read(name))
            first = next(found, None)
            if first is not None:
                chosen, rows = name, chain([first], found)
                _say_missing(path, name, seen)
                break
    if sheet is None and len(names) > 1:
        others = [name for name in names if name != chosen]
        words = f"{path} is read from its sheet {shown(chosen)}; it also has {', '.join(map(shown, others))} ("
        _LOG.info(Message(words, Argument("csv", {"sheet": others[0]}), " reads that)"))
    return rows


def _refuse_texts(source: Any, path: str, held: int) -> None:
    """Raise where the texts that cells share would not fit memory: they are read as soon as the file is opened."""
    with zipfile.ZipFile(source) as archive:
        sizes = [each.file_size for each in archive.infolist() if "sharedstrings" in each.filename.lower()]
    refuse_beyond(
        held + _TEXT_BYTES * sum(sizes), memory_allowed(), what=f"{path}: reading its texts", way_out=_WAY_OUT
    )


def _checked_places(source: Any, path: str, sheet: str, held: int) -> list[int]:
    """Return what `follow_cells` notes of a sheet. Raise where its cells lie so far apart that they would not fit memory."""
    with zipfile.ZipFile(source) as archive:
        parts = archive.namelist()
        part = _part_of(archive, sheet)
        # A sheet that is not found where it should be may be any of them.
        chosen = [part] if part in parts else [each for each in parts if each.lower().endswith(".xml")]
        seen = [_places(archive, each).tolist() for each in chosen]
    empty = [0] * NOTED
    # First and last row, first and last column, cells, bytes of text.
    sizes = [
        ((d - c + 1) * (b - a + 1), b, d, n, text, each) for each in seen for a, b, c, d, n, text in [each[2:8]] if n
    ]
    places, row, column, count, n_bytes, largest = max(sizes, default=(0, 0, 0, 0, 0, empty))
    words = f"{path}: sheet {shown(sheet)} has {count:,} cells in {places:,} places"
    if places > max(_FEW_PLACES, _SPARSE * count):
        raise DataError(
            f"{words}, up to row {row:,} and column {_letters(column)}; delete the cells far from its table, and save it again"
        )
    need = held + _PLACE_BYTES * places + _CELL_BYTES * count + _TEXT_BYTES * n_bytes
    refuse_beyond(need, memory_allowed(), what=f"{words}; reading it", way_out=_WAY_OUT)
    return largest


def _say_missing(path: str, sheet: str, seen: list[int]) -> None:
    """Write to the log how many cells show something and are read as missing."""
    for (count, row, column), what, way_out in (
        (seen[10:13], "an error such as #N/A", ""),
        (seen[13:16], "a formula without its result", "; open the file in a spreadsheet program and save it there"),
    ):
        if count:
            cells = f"{count:,} cell{'s' if count > 1 else ''}"
            where = f"{'the first in' if count > 1 else 'in'} {_letters(column)}{row}"
            words = f"{path}: {cells} of sheet {shown(sheet)} with {what}, {where}, read as missing{way_out}"
            _LOG.info(words)


def _letters(column: int) -> str:
    """Return what a spreadsheet calls a column.

    Examples
    --------
    >>> _letters(1), _letters(28), _letters(16384)
    ('A', 'AB', 'XFD')
    """
    letters = ""
    while column > 0:
        column, place = divmod(column - 1, 26)
        letters = chr(65 + place) + letters
    return letters


def _part_of(archive: zipfile.ZipFile, sheet: str) -> str | None:
    """Return where the cells of a sheet are in the file, as the book and its relations say."""
    book, relations = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
    # Whoever reads the cells says what is wrong with it.
    with suppress(KeyError, ElementTree.ParseError, ValueError, zipfile.BadZipFile, NotImplementedError):
        if max(archive.getinfo(each).file_size for each in (book, relations)) > _DESCRIPTION_BYTES:
            return None
        targets = {each.get("Id"): each.get("Target", "") for each in ElementTree.fromstring(archive.read(relations))}
        for each in ElementTree.fromstring(archive.read(book)).iter():
            if each.tag.rpartition("}")[2] == "sheet" and each.get("name") == sheet:
                key = next((value for name, value in each.attrib.items() if name.endswith("}id")), None)
                return posixpath.normpath(posixpath.join("/xl", targets.get(key, ""))).lstrip("/")
    return None


def _places(archive: zipfile.ZipFile, part: str) -> np.ndarray:
    """Return where the cells of a part of the file lie, as `follow_cells` notes it."""
    seen = np.zeros(NOTED, dtype=np.int64)
    begun = b""
    with archive.open(part) as file:
        while piece := file.read(2**20):
            text = begun + piece
            begun = text[follow_cells(np.frombuffer(text, dtype=np.uint8), seen) :]
            if len(begun) > _DESCRIPTION_BYTES:
                raise zipfile.BadZipFile(f"a tag of {part} does not end")
    return seen


NOTED = 16
"""How many integers `follow_cells` keeps."""

_text = types.Array(types.uint8, 1, "C", readonly=True)


@kernel(types.int64(_text, types.int64[::1]))
def follow_cells(text, seen):  # type: ignore[no-untyped-def]
    """Note which cells of a sheet have a value, in its XML; return where a last tag begins that is not all there.

    Parameters
    ----------
    text : array of bytes
    seen : array of 16 integers
        Row and column of the last cell; the first and the last row, the first and the last column; the number of cells; the
        bytes between tags; 1 while a cell is open whose formula lacks a result so far, 2 before its formula, else 0; the bytes
        between tags when its result began; the number of cells with errors, row and column of the first; the same of
        formulas without results. It goes on to what follows.
    """
    n, i = text.size, 0
    while i < n:
        if text[i] != 60:
            i += 1
            seen[7] += 1
            continue
        end, quote = i + 1, 0
        marked = end < n and (text[end] == 33 or text[end] == 63)
        while end < n and (quote or text[end] != 62):
            if quote:
                quote = 0 if text[end] == quote else quote
            elif not marked and (text[end] == 34 or text[end] == 39):
                quote = text[end]
            end += 1
        if end == n:
            return i
        closes = text[i + 1] == 47
        name = at = i + 1 + closes
        while at < end and text[at] > 32 and text[at] != 47:
            at += 1
            if text[at - 1] == 58:
                name = at
        # The names "c", "f" and "v".
        tag = text[name] if at - name == 1 else 0
        is_cell = tag == 99
        is_row = at - name == 3 and text[name] == 114 and text[name + 1] == 111 and text[name + 2] == 119
        i = end + 1
        if seen[8]:
            if tag == 102 and not closes:
                seen[8] = 1
            elif tag == 118 and not closes:
                seen[9] = seen[7]
            elif tag == 118 and seen[7] > seen[9]:
                seen[8] = 0
            elif is_cell:
                if seen[8] == 1:
                    seen[13] += 1
                    if seen[13] == 1:
                        seen[14:16] = seen[:2]
                seen[8] = 0
        if closes or not (is_cell or is_row):
            continue
        row, column, kind = 0, 0, 0
        while at < end:
            while at < end and (text[at] <= 32 or text[at] == 47):
                at += 1
            key = at
            while at < end and text[at] > 32 and text[at] != 61:
                at += 1
            is_place = at - key == 1 and text[key] == 114
            is_kind = at - key == 1 and text[key] == 116
            while at < end and text[at] != 34 and text[at] != 39:
                at += 1
            if at >= end:
                break
            quote = text[at]
            at += 1
            if is_kind:
                # "e" is an error, and "str" the text that a formula gave, which may be empty.
                kind = 1 if text[at] == 101 and text[at + 1] == quote else 2 if text[at + 1] == 116 else 0
            while at < end and text[at] != quote:
                letter = text[at]
                if is_place and 48 <= letter <= 57:
                    row = min(row * 10 + letter - 48, 2**31)
                elif is_place and 65 <= (letter & 0xDF) <= 90:
                    column = min(column * 26 + (letter & 0xDF) - 64, 2**31)
                at += 1
            at += 1
        if is_row:
            seen[0] = row if row else seen[0] + 1
            seen[1] = 0
            continue
        seen[0], seen[1] = (row, column) if row else (seen[0], seen[1] + 1)
        # One that ends where it begins has a format and no value.
        if text[end - 1] == 47:
            continue
        for k in range(2):
            seen[2 + 2 * k] = min(seen[2 + 2 * k], seen[k]) if seen[6] else seen[k]
            seen[3 + 2 * k] = max(seen[3 + 2 * k], seen[k])
        seen[6] += 1
        seen[8] = 2
        if kind == 1:
            seen[10] += 1
            if seen[10] == 1:
                seen[11:13] = seen[:2]
        if kind:
            seen[8] = 0
    return n


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


def _opened(source: Any, path: str) -> tuple[list[str], Callable[[str], Iterator[list[Any]]]]:
    """Return the names of the sheets that people see, and what reads the rows of one."""
    for library in (_calamine, _openpyxl):
        try:
            return library(source)
        except ModuleNotFoundError:
            continue
    raise missing_package(f"{path} is a spreadsheet, which", "python-calamine", extra="excel")


def _calamine(source: Any) -> tuple[list[str], Callable[[str], Iterator[list[Any]]]]:
    import python_calamine as calamine

    book = calamine.CalamineWorkbook.from_object(source)
    seen = [
        each.name
        for each in book.sheets_metadata
        if each.typ == calamine.SheetTypeEnum.WorkSheet and each.visible == calamine.SheetVisibleEnum.Visible
    ]

    def read(name: str) -> Iterator[list[Any]]:
        for row in book.get_sheet_by_name(name).iter_rows():
            yield [None if cell == "" else cell for cell in row]

    return seen or list(book.sheet_names), read


def _openpyxl(source: Any) -> tuple[list[str], Callable[[str], Iterator[list[Any]]]]:
    import openpyxl

    if isinstance(source, str):
        # By its path the file would stay open for as long as its rows are read.
        with open(source, "rb") as file:
            source = io.BytesIO(file.read())
    book = openpyxl.load_workbook(source, read_only=True, data_only=True)
    seen = [sheet.title for sheet in book.worksheets if sheet.sheet_state == "visible"]

    def read(name: str) -> Iterator[list[Any]]:
        rows = [[_plain(cell) for cell in row] for row in book[name].iter_rows()]
        wide = {k for row in rows for k, cell in enumerate(row) if cell is not None}
        width = max(wide, default=-1) + 1
        for row in rows:
            yield [*row, *[None] * (width - len(row))][min(wide, default=0) : width]

    return seen or list(book.sheetnames), read


def _plain(cell: Any) -> Any:
    value = cell.value
    if value == "" or cell.data_type == "e":
        return None
    # A date and its midnight are the same number in a sheet: beside times of the day both become times again.
    return value.date() if isinstance(value, dt.datetime) and value.time() == dt.time() else value
