"""A generator or a list of tables, or of 2-d arrays, read as the batches of one table.

Each batch is opened as a source of its own and brought to the schema of the first, so a generator may mix
frames, record batches and tables, and only has to keep its columns. A list is looked through before the first
row is given out; a generator is looked at once, its first batch held back and not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from gramian.errors import DataError
from gramian.tables.base import ArrayTable, ArrowTable, Chunk, PartRows, Union, typed
from gramian.tables.schemas import (
    as_numbers,
    cast_array,
    common_type,
    conform,
    observed,
    require_same_columns,
    subset,
    type_conflict,
)

Opener = Callable[[Any, str], ArrowTable | ArrayTable]


def open_batches(
    source: Iterable[Any], open_one: Opener, *, numeric: Sequence[str], describe: str, fill: bool = False
) -> ArrowTable | ArrayTable:
    """Return the rows of all batches; `open_one(batch, describe)` opens one of them.

    Where `fill` is set, a column of the first batch that a later one lacks is missing values there.
    """
    tables = (open_one(batch, f"batch {i}") for i, batch in enumerate(source, start=1))
    first = next(tables, None)
    if first is None:
        raise DataError(f"{describe} is empty: no rows")
    if not isinstance(source, Sequence):
        rest = chain([first], tables)
        if isinstance(first, ArrayTable):
            return ArrayBatches(rest, first, None, describe=describe)
        return ArrowBatches(rest, first, numeric=numeric, describe=describe, fill=fill)
    known = [first, *tables]
    if isinstance(first, ArrayTable) and not fill and all(isinstance(table, ArrayTable) for table in known):
        return ArrayBatches(known, first, known, describe=describe)
    return Union([typed(table) for table in known], describe=describe, numeric=numeric, fill=fill)


class ArrowBatches(ArrowTable):
    """Batches with typed columns that come one by one: the first has them all."""

    def __init__(
        self,
        tables: Iterable[ArrowTable | ArrayTable],
        first: ArrowTable,
        *,
        numeric: Sequence[str],
        describe: str,
        fill: bool = False,
    ) -> None:
        super().__init__(as_numbers(first.schema, numeric), describe=describe, one_shot=True)
        self._tables, self._fill = tables, fill

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        for opened in self._tables:
            table = typed(opened)
            if self.read_bytes is not None:
                table.read_within(self.read_bytes)
            conflicts = self._conflicts(table)
            have = columns
            if self._fill:
                there = set(table.schema.names)
                have = [name for name in columns if name in there] or table.schema.names[:1]
            for batch in table.batches(have):
                for name in conflicts.keys() & set(have):
                    if observed(batch.column(name)):
                        raise conflicts[name]
                yield conform(batch, schema, table.describe, fill=self._fill)

    def _conflicts(self, table: ArrowTable) -> dict[str, DataError]:
        """Return the columns of a later batch whose type is another, and what to say if they hold any value."""
        here = self.schema.names
        if self._fill:
            # What came first has fixed the columns; one that turns up later has nowhere to go.
            there = set(table.schema.names)
            here = [name for name in here if name in there]
        require_same_columns(here, table.schema.names, "batch 1", table.describe)
        conflicts = {}
        for f in subset(self.schema, here):
            kind = table.schema.field(f.name).type
            merged = common_type(f.type, kind)
            # Text fits text; a number must not have to be narrowed to the type that has been declared.
            if merged is None or (not merged.equals(f.type) and pt.is_primitive(f.type)):
                if pt.is_integer(f.type) and pt.is_integer(kind):
                    continue
                conflicts[f.name] = type_conflict(f.name, table.describe, kind, "batch 1", f.type)
        return conflicts


class ArrayBatches(ArrayTable):
    """Batches of 2-d float arrays, dense or sparse."""

    def __init__(
        self,
        tables: Iterable[ArrowTable | ArrayTable],
        first: ArrayTable,
        known: list[Any] | None,
        *,
        describe: str,
    ) -> None:
        for table in known or ():
            self._check(table, first.names)
        super().__init__(
            first.names,
            dtype=np.result_type(*(table.dtype for table in known)) if known else first.dtype,
            describe=describe,
            n_rows=None if known is None else PartRows([table.n_rows for table in known]).total,
            one_shot=known is None,
            sparse=first.sparse,
        )
        self._tables = tables

    def _chunks(self) -> Iterator[Chunk]:
        for table in self._tables:
            self._check(table, self.names)
            yield from self._floats(table) if isinstance(table, ArrowTable) else self._ordered(table)

    @staticmethod
    def _check(table: ArrowTable | ArrayTable, names: list[str]) -> None:
        others = table.names if isinstance(table, ArrayTable) else table.schema.names
        if len(others) != len(names):
            raise DataError(f"{table.describe} has {len(others)} columns, but batch 1 has {len(names)}")
        require_same_columns(names, others, "batch 1", table.describe)

    def _ordered(self, table: ArrayTable) -> Iterator[Chunk]:
        for chunk in table.chunks():
            if table.names != self.names:
                at = {name: k for k, name in enumerate(table.names)}
                chunk = chunk[:, [at[name] for name in self.names]]
            yield chunk

    def _floats(self, table: ArrowTable) -> Iterator[np.ndarray]:
        """Yield a batch with integer columns as floats: a column of floats with NaN may go on in integers."""
        for f in table.schema:
            if not (pt.is_integer(f.type) or pt.is_floating(f.type) or pt.is_null(f.type)):
                raise type_conflict(f.name, table.describe, f.type, "batch 1", pa.from_numpy_dtype(self.dtype))
        kind = pa.float64()
        for batch in table.batches(self.names):
            columns = [cast_array(column, kind).to_numpy(zero_copy_only=False) for column in batch.columns]
            yield np.column_stack(columns)
