"""`preview`: what a pass over a source would collect, and what it would cost, from a sample of its rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.arrays.memory import in_words
from gramian.design.identifiers import is_identifier, may_be_identifier, reads_as_dates
from gramian.design.kinds import is_number, names_of, part_of, plan_columns
from gramian.design.pair_tables import NARROW_LEVELS
from gramian.design.schema import MAX_INTEGER_LEVELS, Column, number_values
from gramian.engines.local import LocalEngine
from gramian.errors import Argument, ColumnError, DataError, Message
from gramian.parameters import check, whole
from gramian.tables import open_table
from gramian.tables.base import decoded, typed
from gramian.tables.files.conventions import spoiling_words
from gramian.tables.schemas import is_text
from gramian.text_table import text_table


@dataclass(frozen=True)
class ColumnPreview:
    """What one column would be collected as."""

    name: str
    kind: str
    type: str
    distinct: int
    missing: float
    suspected_id: bool
    note: str = ""


@dataclass(frozen=True)
class Preview:
    """Kinds, distinct counts, suspected ids and estimated memory of a source, from its first rows.

    Where these are all of its rows, `totals` names the columns in which the last row is the sum of the others.
    """

    n_sampled: int
    n_rows: int | None
    estimated_bytes: int
    columns: tuple[ColumnPreview, ...]
    totals: tuple[str, ...] = ()

    @property
    def suspected_ids(self) -> list[str]:
        """Columns that would be identifiers if all rows were like those sampled: candidates for `exclude=`."""
        return [column.name for column in self.columns if column.suspected_id]

    @property
    def totals_note(self) -> str:
        """One line on a last row that is the sum of the others, "" where there is none."""
        if not self.totals:
            return ""
        shown = ", ".join(self.totals[:3]) + (f" and {len(self.totals) - 3} more" if len(self.totals) > 3 else "")
        return (
            f"the last row looks like a total: its {shown} {'is' if len(self.totals) == 1 else 'are'} the sum of the other "
            "rows; delete that row before you collect"
        )

    def __str__(self) -> str:
        total = "" if self.n_rows is None else f" of {self.n_rows:,}"
        lines = [
            f"{self.n_sampled:,}{total} rows sampled, {len(self.columns)} columns, "
            f"about {in_words(self.estimated_bytes)} of moments",
            "",
        ]
        head = ("column", "kind", "type", "distinct", "missing", "")
        rows = [
            (c.name, c.kind, c.type, f"{c.distinct:,}", f"{c.missing:.1%}" if c.missing else "", c.note)
            for c in self.columns
        ]
        notes = ["", self.totals_note] if self.totals else []
        return "\n".join([*lines, *text_table(head, rows, right=(3, 4)), *notes])

    __repr__ = __str__


def preview(
    source: Any,
    *,
    rows: int = 100_000,
    categorical: Any = None,
    numeric: Any = None,
    missing: str = "raise",
    csv: Mapping[str, Any] | None = None,
) -> Preview:
    """Return what `collect` would make of a source, from a sample of its first rows.

    A source that can be read only once (a generator, a reader) is consumed.

    Parameters
    ----------
    source : any source of `collect`
    rows : int
        Rows to look at.
    categorical, numeric : str or list of str, optional
    missing : {"raise", "fill"}
    csv : dict, optional
        As in `collect`.

    Returns
    -------
    Preview
        It prints as a table; `suspected_ids` are candidates for `exclude=`.

    See Also
    --------
    collect : the pass itself.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> seen = gm.preview(pa.table({"id": [f"u{k}" for k in range(100)], "color": ["red", "blue"] * 50}))
    >>> seen.suspected_ids
    ['id']
    """
    check("rows", rows, whole())
    categories = names_of(categorical, called="categorical")
    numbers = names_of(numeric, called="numeric")
    table = typed(open_table(source, numeric=numbers, categorical=categories, csv=csv, missing=missing))
    table.require([*categories, *numbers])
    batches = list(LocalEngine().map(table, decoded, columns=table.schema.names, rows=rows, limit=rows))
    if not batches:
        raise DataError(f"{table.describe} has no rows")
    sample = pa.Table.from_batches(batches)
    columns, sizes = [], []
    for name in table.schema.names:
        kind = table.schema.field(name).type
        planned, note = _planned(name, kind, categories, numbers)
        for column in planned:
            look = _look(column, sample.column(name), str(kind))
            if is_text(kind) and table.typed_by_values(name) and (note := _spoilt(sample.column(name))):
                # Numbers nearly all differ; that does not make an id of them.
                look = replace(look, note=note, suspected_id=False)
            columns.append(look)
            by_level = column.form == "integer" and look.distinct <= MAX_INTEGER_LEVELS
            sizes.append(look.distinct if column.form == "category" or by_level else None)
        if not planned:
            share = sample.column(name).null_count / max(sample.num_rows, 1)
            columns.append(ColumnPreview(name, "none", str(kind), 0, share, False, note))
    n_rows = table.n_rows if table.n_rows is not None else sample.num_rows
    all_seen = sample.num_rows == table.n_rows or (table.n_rows is None and sample.num_rows < rows)
    totals = _totals(sample) if all_seen else ()
    return Preview(sample.num_rows, table.n_rows, _estimate(sizes, n_rows), tuple(columns), totals)


def _totals(rows: pa.Table) -> tuple[str, ...]:
    """Return the numbers whose last value is the sum of all before it; nothing where few rows make that a coincidence.

    A total leaves some numbers out or averages them, so not all have to be sums: two, or all that the last row has.
    """
    numbers = [field.name for field in rows.schema if is_number(field.type) and not pa.types.is_null(field.type)]
    values = {name: np.asarray(number_values(rows.column(name).combine_chunks()), np.float64) for name in numbers}
    present = np.zeros(rows.num_rows, dtype=bool)
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        present |= ~np.isnan(values[name]) if name in values else np.asarray(column.is_valid())
    at = int(np.flatnonzero(present)[-1]) if present.any() else 0
    given = {name: column[: at + 1] for name, column in values.items() if np.isfinite(column[at])}
    found = tuple(name for name, column in given.items() if _is_total(column))
    return found if len(found) in (len(given), *range(2, len(given))) else ()


def _is_total(column: npt.NDArray[np.float64]) -> bool:
    """Whether the last number is the sum of the others, three or more of which are not zero, up to their rounding."""
    others = column[:-1][np.isfinite(column[:-1])]
    if np.count_nonzero(others) < 3:
        return False
    return bool(abs(others.sum() - column[-1]) <= 1e-6 * np.abs(others).sum() and column[-1] != 0)


def _planned(name: str, kind: pa.DataType, categorical: list[str], numeric: list[str]) -> tuple[Sequence[Column], str]:
    as_category, as_number = ([each for each in names if each == name] for names in (categorical, numeric))
    try:
        return plan_columns({name: kind}, categorical=as_category, numeric=as_number).columns, ""
    except ColumnError:
        return (), Message("cannot be collected: ", Argument("exclude", [name]))


def _spoilt(values: pa.ChunkedArray) -> str:
    """Return which words make text of a column that is otherwise one of numbers or dates, "" where none do."""
    found = spoiling_words(values.cast(pa.string()))
    if found is None:
        return ""
    kind, share, words = found
    listed = ", ".join(f"{word!r} ({count:,} {'row' if count == 1 else 'rows'})" for word, count in words.items())
    one = len(words) == 1
    return Message(
        f"{math.floor(100 * share)}% of its values are {kind}; {listed} {'makes' if one else 'make'} it text; ",
        Argument("csv", {"na": list(words)}),
        " reads them as missing",
    )


def _look(column: Column, values: pa.ChunkedArray, kind: str) -> ColumnPreview:
    if column.part is not None:
        values = pa.chunked_array([part_of(chunk, column.part) for chunk in values.chunks])
    distinct = len(values.unique().drop_null()) if not pa.types.is_null(values.type) else 0
    missing = values.null_count
    if pa.types.is_floating(values.type):
        missing = pc.sum(pc.is_null(values, nan_is_null=True)).as_py() or 0
    # A missing value is a level of a category.
    suspected = may_be_identifier(column) and is_identifier(distinct + (missing > 0), len(values))
    note = _id_note(column.origin, values) if suspected else ""
    if column.form == "integer" and distinct == len(values) and is_identifier(distinct, len(values)):
        # A number to every method, and yet one of which each row has another.
        suspected, note = True, Message("every value differs: an id? ", Argument("exclude", [column.origin]))
    if not note and column.form == "integer" and distinct > MAX_INTEGER_LEVELS:
        note = "a number: more than 64 values"
    return ColumnPreview(column.name, column.kind, kind, distinct, missing / max(len(values), 1), suspected, note)


def _id_note(name: str, values: pa.ChunkedArray) -> Message:
    dates = "; its texts are dates: convert it to a date type to use its parts" if reads_as_dates(values) else ""
    return Message(
        "an identifier, which methods set aside; leave it out with ",
        Argument("exclude", [name]),
        ", or keep it with ",
        Argument("categorical", [name]),
        dates,
    )


def _estimate(sizes: Sequence[int | None], n_rows: int) -> int:
    """Return the bytes of the moments: 8 a cell of narrow pairs; 2 a cell of wide ones, or 6 a pair that occurs."""
    levels = [size for size in sizes if size is not None]
    n_numbers = len(sizes) - len(levels)
    total = 8 * n_numbers**2 + sum(8 * size * (n_numbers + 1) for size in levels)
    # Thousands of columns have millions of pairs, and a few sizes.
    times = sorted(Counter(levels).items())
    for k, (size, count) in enumerate(times):
        for other, others in times[k:]:
            pairs = count * (count - 1) // 2 if other == size else count * others
            narrow = max(size, other) <= NARROW_LEVELS
            total += pairs * (8 * size * other if narrow else min(2 * size * other, 6 * n_rows))
    return total
