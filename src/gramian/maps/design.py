"""What a fitted map reads: columns, their labels and means; and rows encoded against them.

A map knows the labels it was fitted on. A level that it does not know, a *black swan*, and a missing number contribute
nothing: they sit at the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays import in_threads
from gramian.design.codebook import FrozenCodebook, number_values
from gramian.design.encode import date_part
from gramian.design.kinds import is_date, is_number
from gramian.design.labels import Labels, label_family
from gramian.design.schema import Column
from gramian.errors import ColumnError, DataError
from gramian.moments.value import Moments
from gramian.tables import ArrayTable, ArrowTable

PARALLEL_ROWS = 2**15
"""Rows from which columns are encoded in threads."""

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows.

    Attributes
    ----------
    codes : (categorical columns, n) array
        The code of an unseen level is the number of levels.
    numbers : (n, numeric columns) array or CSR array
        NaN where missing.
    """

    codes: Codes
    numbers: Any

    def __len__(self) -> int:
        return int(self.numbers.shape[0])


@dataclass(frozen=True, eq=False)
class Design:
    """The source columns a map reads, in order, with the labels and means it was fitted on.

    Attributes
    ----------
    columns : tuple of Column
        By-level integers are numbers here.
    labels : tuple of Labels
        Of the categorical columns, in order.
    mean : (p,) array
        Over the design columns.
    names : tuple of str
        One name a design column.
    """

    columns: tuple[Column, ...]
    labels: tuple[Labels, ...]
    mean: Array
    names: tuple[str, ...]

    @classmethod
    def of(cls, moments: Moments, columns: Sequence[str]) -> Design:
        """Return the design of some columns of moments."""
        kept = [moments.schema[name] for name in columns]
        labels = tuple(moments.labels[moments.coded_at[c.name]] for c in kept if c.form == "category")
        names = tuple(moments.design_names_of(columns))
        return cls(tuple(kept), labels, moments.mean(list(columns)), names)

    @cached_property
    def origins(self) -> list[str]:
        """The source columns, each once."""
        return list(dict.fromkeys(column.origin for column in self.columns))

    @cached_property
    def categorical(self) -> list[Column]:
        """The categorical columns, in order."""
        return [column for column in self.columns if column.form == "category"]

    @cached_property
    def numeric(self) -> list[Column]:
        """The numeric columns, in order."""
        return [column for column in self.columns if column.form != "category"]

    @cached_property
    def spans(self) -> dict[str, slice]:
        """Where each column's design columns stand."""
        spans, start, k = {}, 0, 0
        for column in self.columns:
            size = 1
            if column.form == "category":
                size = len(self.labels[k])
                k += 1
            spans[column.name] = slice(start, start + size)
            start += size
        return spans

    @cached_property
    def number_places(self) -> npt.NDArray[np.intp]:
        """The design columns of the numbers."""
        return np.array([self.spans[c.name].start for c in self.numeric], dtype=np.intp)

    @cached_property
    def _books(self) -> list[FrozenCodebook]:
        return [FrozenCodebook(labels) for labels in self.labels]

    @cached_property
    def _code_dtype(self) -> Any:
        return np.uint16 if max((len(labels) for labels in self.labels), default=0) < 2**16 else np.uint32

    def check(self, schema: pa.Schema) -> None:
        """Raise where a column is missing or holds something that cannot be read as it was in fitting."""
        known = set(schema.names)
        missing = [name for name in self.origins if name not in known]
        if missing:
            shown = ", ".join(repr(name) for name in missing[:5]) + (", ..." if len(missing) > 5 else "")
            raise ColumnError(f"columns seen in fit are missing: {shown}")
        labels = iter(self.labels)
        for column in self.columns:
            kind = schema.field(column.origin).type
            # Parts of dates have labels too, by which they are not checked.
            seen = next(labels).family if column.form == "category" else ""
            if column.part is not None:
                fits = is_date(kind)
            elif column.form == "category":
                # A column of another type has only unseen levels; that is a mistake more often than news.
                given = label_family(kind)
                fits = "null" in (seen, given) or seen == given
            else:
                fits = is_number(kind)
            if not fits:
                raise ColumnError(f"column {column.origin!r} holds {kind}; in fit it was {column.kind}")

    def encode(self, batch: pa.RecordBatch) -> Rows:
        """Return a record batch with these source columns, encoded."""
        n = batch.num_rows
        codes = np.empty((len(self.categorical), n), dtype=self._code_dtype)
        numbers = np.empty((n, len(self.numeric)), order="F")

        def encode_category(k: int) -> None:
            self._books[k].encode(self._read(batch, self.categorical[k]), codes[k])

        if n >= PARALLEL_ROWS:
            in_threads(encode_category, range(len(codes)))
        else:
            for k in range(len(codes)):
                encode_category(k)
        for k, column in enumerate(self.numeric):
            numbers[:, k] = number_values(self._read(batch, column))
        self._refuse_infinite(numbers)
        return Rows(codes, numbers)

    def encode_array(self, values: Any) -> Rows:
        """Return rows of an array whose columns are exactly the (all numeric) columns of the design."""
        return Rows(np.empty((0, values.shape[0]), dtype=np.uint16), values)

    def rows(self, table: ArrowTable | ArrayTable) -> Iterator[Rows]:
        """Read a table and yield its rows encoded, batch by batch."""
        if isinstance(table, ArrayTable):
            names = list(table.names)
            known = set(names)
            missing = [name for name in self.origins if name not in known]
            if missing:
                raise ColumnError(f"columns seen in fit are missing: {', '.join(map(repr, missing[:5]))}")
            at = {name: k for k, name in enumerate(names)}
            wanted = [at[column.origin] for column in self.columns]
            for chunk in table.chunks():
                part = chunk if wanted == list(range(len(names))) else chunk[:, wanted]
                self._refuse_infinite(part)
                yield self.encode_array(part)
            return
        self.check(table.schema)
        for batch in table.batches(self.origins):
            yield self.encode(batch)

    def unseen(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return which source columns of each row hold a level never seen, (n, source columns)."""
        out = np.zeros((len(rows), len(self.origins)), dtype=bool)
        for k, (column, labels) in enumerate(zip(self.categorical, self.labels, strict=True)):
            out[:, self.origins.index(column.origin)] |= rows.codes[k] == len(labels)
        return out

    def _read(self, batch: pa.RecordBatch, column: Column) -> pa.Array:
        array = batch.column(column.origin)
        return array if column.part is None else date_part(array, column.part)

    def _refuse_infinite(self, numbers: Any) -> None:
        values = numbers.data if sp.issparse(numbers) else numbers
        with np.errstate(invalid="ignore", over="ignore"):
            total = values.sum(dtype=np.float64)
        if np.isfinite(total) or not np.isinf(values).any():
            return
        if sp.issparse(numbers):
            raise DataError("the sparse matrix holds an infinite value; X contains infinity")
        at = int(np.flatnonzero(np.isinf(numbers).any(axis=0))[0])
        raise DataError(f"column {self.numeric[at].origin!r} holds an infinite value; X contains infinity")
