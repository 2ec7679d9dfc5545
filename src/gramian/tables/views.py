"""Tables seen through another table: some columns left out, or all under other names.

Tables whose parts differ in columns, read as one: a column that a part lacks is missing values there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

import pyarrow as pa

from gramian.tables.base import ArrayTable, ArrowTable, PartRows
from gramian.tables.schemas import conform, merge_schemas, subset


class View(ArrowTable):
    """The rows of another table, batch by batch."""

    def __init__(self, table: ArrowTable, schema: pa.Schema) -> None:
        super().__init__(schema, describe=table.describe, n_rows=table.n_rows, one_shot=table.one_shot)
        self._table = table

    def identity(self) -> dict[str, Any] | None:
        """Return what tells the rows of the other table from others, and how they are seen."""
        own = self._table.identity()
        seen = [[field.name, str(field.type)] for field in self.schema]
        return None if own is None else {**own, "the columns shown": seen}

    def rows_of_parts(self, start: int) -> list[int]:
        """Return those of the other table."""
        return self._table.rows_of_parts(start)

    def know_parts(self, n_rows: Sequence[int]) -> None:
        """Tell the other table."""
        self._table.know_parts(n_rows)


class Renamed(View):
    """Columns of another table under other names, matched by position."""

    def __init__(self, table: ArrowTable, names: Sequence[str]) -> None:
        fields = [pa.field(new, table.schema.field(k).type) for k, new in enumerate(names)]
        super().__init__(table, pa.schema(fields))

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._read_from(columns, 0)

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        known = dict(zip(self.schema.names, self._table.schema.names, strict=True))
        old = [known[name] for name in columns]
        for batch in self._table.batches(old, start=start):
            yield batch.rename_columns(columns)


class Without(View):
    """A table that does not show some of its columns, and never reads them."""

    def __init__(self, table: ArrowTable, names: Sequence[str]) -> None:
        super().__init__(table, pa.schema([field for field in table.schema if field.name not in names]))

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._read_from(columns, 0)

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        return self._table.batches(columns, start=start)


def with_names(table: ArrowTable | ArrayTable, names: Sequence[str]) -> ArrowTable | ArrayTable:
    """Return a table whose columns take these names by position."""
    if isinstance(table, ArrayTable):
        table.names = list(names)
        return table
    return Renamed(table, names)


def typed(table: ArrowTable | ArrayTable) -> ArrowTable:
    """Return the table as named columns of their own types: a matrix of floats as one column per number."""
    return table.as_arrow() if isinstance(table, ArrayTable) else table


def _shown(table: Any) -> ArrowTable | ArrayTable | None:
    """Return the table that a view shows, None for a table of its own."""
    inner = getattr(table, "_table", None)
    return inner if isinstance(inner, ArrowTable | ArrayTable) else None


def innermost(table: ArrowTable | ArrayTable) -> ArrowTable | ArrayTable:
    """Return the table that another one shows, through however many views."""
    while (inner := _shown(table)) is not None:
        table = inner
    return table


def over(view: ArrowTable | ArrayTable, part: ArrowTable | ArrayTable) -> Any:
    """Return a part of the innermost table seen as `view` shows the whole of it.

    Examples
    --------
    >>> from gramian.tables.opening import open_table
    >>> whole, part = (open_table(pa.table({"a": values, "b": values})) for values in ([1, 2, 3], [2]))
    >>> list(over(Without(whole, ["b"]), part).batches())[0].to_pydict()
    {'a': [2]}
    """
    inner = _shown(view)
    if inner is None:
        return part
    shown: Any = copy(view)
    shown._table = over(inner, part)
    shown.n_rows = part.n_rows
    return shown


class Union(ArrowTable):
    """The rows of several tables one after the other, with every column that any of them has.

    Parameters
    ----------
    parts
        At least one.
    describe
        Words for error messages.
    numeric
        Columns to be read as float64.
    """

    def __init__(self, parts: Sequence[ArrowTable], *, describe: str, numeric: Sequence[str] = ()) -> None:
        named = [(part.describe, part.schema) for part in parts]
        schema, disputed = merge_schemas(named, numeric=numeric, fill=True)
        self._part_rows = PartRows([part.n_rows for part in parts])
        super().__init__(
            schema,
            describe=describe,
            n_rows=self._part_rows.total,
            one_shot=any(part.one_shot for part in parts),
            disputed=disputed,
        )
        self._parts = list(parts)

    @property
    def files(self) -> list[str]:
        """The paths of the files, in reading order."""
        return [path for part in self._parts for path in getattr(part, "files", [])]

    def typed_by_values(self, column: str) -> bool:
        """Whether the parts that have a column take its type from its values."""
        return all(part.typed_by_values(column) for part in self._parts if column in part.schema.names)

    def identity(self) -> dict[str, Any] | None:
        """Return what tells the parts from others."""
        parts = [part.identity() for part in self._parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        columns = [[field.name, str(field.type)] for field in self.schema]
        files = [file for part in known for file in part["the files"]]
        return {**known[0], "the files": files, "their columns": columns}

    def rows_of_parts(self, start: int) -> list[int]:
        """Return the rows of each part that ends by row `start`."""
        return self._part_rows.up_to(start)

    def know_parts(self, n_rows: Sequence[int]) -> None:
        """Take the rows of the first parts from an earlier reading."""
        for k, n in enumerate(n_rows):
            self._part_rows.note(k, n)

    def partitions(self, n_parts: int) -> list[ArrowTable]:
        """Return tables of parts of one part each, with every column of all; none where some part has none."""
        share = max(1, n_parts // len(self._parts))
        split = [part.partitions(share) for part in self._parts]
        if not all(split):
            return []
        return [self._of(part) for parts in split for part in parts]

    def _of(self, part: ArrowTable) -> Union:
        alone = copy(self)
        alone._parts, alone.n_rows, alone.describe = [part], part.n_rows, part.describe
        alone._part_rows = PartRows([part.n_rows])
        return alone

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._read_from(columns, 0)

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        first, skip = self._part_rows.place(start)
        for k, part in enumerate(self._parts[first:], start=first):
            # Rows must be counted where a part has none of the columns.
            there = set(part.schema.names)
            have = [name for name in columns if name in there] or part.schema.names[:1]
            row = skip
            for batch in part.batches(have, start=skip):
                yield conform(batch, schema, part.describe, fill=True)
                row += batch.num_rows
            self._part_rows.note(k, row)
            skip = 0


def filled(table: ArrowTable | ArrayTable, names: Iterable[str]) -> ArrowTable | ArrayTable:
    """Return a table with these columns, of missing values where it has none itself."""
    have = set(table.schema.names if isinstance(table, ArrowTable) else table.names)
    absent = [name for name in dict.fromkeys(names) if name not in have]
    return Filled(typed(table), absent) if absent else table


class Filled(View):
    """A table with further columns, of missing values alone."""

    def __init__(self, table: ArrowTable, absent: Sequence[str]) -> None:
        super().__init__(table, pa.schema([*table.schema, *(pa.field(name, pa.null()) for name in absent)]))

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._read_from(columns, 0)

    def _read_from(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        there = set(self._table.schema.names)
        have = [name for name in columns if name in there] or self._table.schema.names[:1]
        for batch in self._table.batches(have, start=start):
            yield conform(batch, schema, self.describe, fill=True)
