"""Tables seen through another table: some columns left out, or all under other names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from gramian.tables.base import ArrayTable, ArrowTable


class Renamed(ArrowTable):
    """Columns of another table under other names, matched by position."""

    def __init__(self, table: ArrowTable, names: Sequence[str]) -> None:
        fields = [pa.field(new, table.schema.field(k).type) for k, new in enumerate(names)]
        super().__init__(pa.schema(fields), describe=table.describe, n_rows=table.n_rows, one_shot=table.one_shot)
        self._table = table

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        old = [self._table.schema.names[self.schema.names.index(name)] for name in columns]
        for batch in self._table.batches(old):
            yield batch.rename_columns(columns)


class Without(ArrowTable):
    """A table that does not show some of its columns, and never reads them."""

    def __init__(self, table: ArrowTable, names: Sequence[str]) -> None:
        schema = pa.schema([field for field in table.schema if field.name not in names])
        super().__init__(schema, describe=table.describe, n_rows=table.n_rows, one_shot=table.one_shot)
        self._table = table

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self._table.batches(columns)


def with_names(table: ArrowTable | ArrayTable, names: Sequence[str]) -> ArrowTable | ArrayTable:
    """Return a table whose columns take these names by position."""
    if isinstance(table, ArrayTable):
        table.names = list(names)
        return table
    return Renamed(table, names)


def typed(table: ArrowTable | ArrayTable) -> ArrowTable:
    """Return the table as named columns of their own types: a matrix of floats as one column per number."""
    return table.as_arrow() if isinstance(table, ArrayTable) else table
