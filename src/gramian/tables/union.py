"""Tables whose parts differ in columns, read as one: a column that a part lacks is missing values there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from gramian.tables.base import ArrayTable, ArrowTable
from gramian.tables.schemas import conform, merge_schemas, subset
from gramian.tables.views import typed


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
        counts = [part.n_rows for part in parts]
        known = [n for n in counts if n is not None]
        super().__init__(
            schema,
            describe=describe,
            n_rows=sum(known) if len(known) == len(counts) else None,
            one_shot=any(part.one_shot for part in parts),
            disputed=disputed,
        )
        self._parts = list(parts)

    @property
    def files(self) -> list[str]:
        """The paths of the files, in reading order."""
        return [path for part in self._parts for path in getattr(part, "files", [])]

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        for part in self._parts:
            # Rows must be counted where a part has none of the columns.
            have = [name for name in columns if name in part.schema.names] or part.schema.names[:1]
            for batch in part.batches(have):
                yield conform(batch, schema, part.describe, fill=True)


def filled(table: ArrowTable | ArrayTable, names: Iterable[str]) -> ArrowTable | ArrayTable:
    """Return a table with these columns, of missing values where it has none itself."""
    have = set(table.schema.names if isinstance(table, ArrowTable) else table.names)
    absent = [name for name in dict.fromkeys(names) if name not in have]
    return Filled(typed(table), absent) if absent else table


class Filled(ArrowTable):
    """A table with further columns, of missing values alone."""

    def __init__(self, table: ArrowTable, absent: Sequence[str]) -> None:
        schema = pa.schema([*table.schema, *(pa.field(name, pa.null()) for name in absent)])
        super().__init__(schema, describe=table.describe, n_rows=table.n_rows, one_shot=table.one_shot)
        self._table = table

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        have = [name for name in columns if name in self._table.schema.names] or self._table.schema.names[:1]
        for batch in self._table.batches(have):
            yield conform(batch, schema, self.describe, fill=True)
