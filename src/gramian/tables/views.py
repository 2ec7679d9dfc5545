"""Tables seen through another table: some columns left out, or all under other names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import pyarrow as pa

from gramian.tables.base import ArrayTable, ArrowTable


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
