"""What a fitted map reads: columns, their labels and means; and rows encoded against them.

A map knows the labels it was fitted on. A level that it does not know (a *black swan*) and a missing number contribute
nothing: they sit at the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays.threads import in_threads
from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.design.codebook import FrozenCodebook
from gramian.design.kinds import read_column
from gramian.design.labels import Labels
from gramian.design.numbers import number_values
from gramian.design.schema import Column
from gramian.errors import Argument, Call, ColumnError, DataError, PythonOnly
from gramian.moments.value import Moments
from gramian.tables import ArrayTable, ArrowTable

PARALLEL_ROWS = 2**15
"""Rows from which columns are encoded in threads."""

Codes = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows: read once, they can be given to every method of the model that encoded them.

    Attributes
    ----------
    codes : (categorical columns, n) array
        The code of an unseen level is the number of levels.
    numbers : (n, numeric columns) array or CSR array
        NaN where missing.
    single : bool
        Whether every source column was float32.
    """

    codes: Codes
    numbers: Any
    single: bool = False

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return int(self.numbers.shape[0])

    @property
    def dense_numbers(self) -> npt.NDArray:
        """The numbers as an array that is not sparse."""
        return self.numbers.toarray() if sp.issparse(self.numbers) else self.numbers

    def part(self, at: Any) -> Rows:
        """Return some of the rows: a slice, or positions."""
        codes: Any = np.ascontiguousarray(self.codes[:, at])
        return Rows(codes, self.numbers[at])


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
    offsets : (q,) array or None
        What is taken off each number as it is read (see `gramian.moments.advice`); `mean` is then of what is left.
    """

    columns: tuple[Column, ...]
    labels: tuple[Labels, ...]
    mean: Array
    names: tuple[str, ...]
    offsets: Array | None = None

    @classmethod
    def of(cls, moments: Moments, columns: Sequence[str]) -> Design:
        """Return the design of some columns of moments."""
        kept = [moments.schema[name] for name in columns]
        labels = tuple(moments.labels[moments.coded_at[c.name]] for c in kept if c.form == "category")
        names = tuple(moments.design_names_of(columns))
        taken = np.array([moments.offsets.get(c.name, 0.0) for c in kept if c.form != "category"])
        return cls(tuple(kept), labels, moments.mean(list(columns)), names, taken if taken.any() else None)

    def as_given(self, means: Array) -> Array:
        """Return means over the design columns (the last axis) as the rows have them, offsets put back."""
        if self.offsets is None:
            return means
        means = np.array(means)
        means[..., self.number_places] += self.offsets
        return means

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

    def check(self, names: Sequence[str]) -> None:
        """Raise where a source column is missing."""
        known = set(names)
        missing = [name for name in self.origins if name not in known]
        if missing:
            shown = ", ".join(repr(name) for name in missing[:5]) + (", ..." if len(missing) > 5 else "")
            raise ColumnError(
                f"columns seen in fit are missing: {shown}; add them, or take them as missing values with ",
                Argument("missing", "fill"),
                PythonOnly(" of ", Call("transform_file"), " and ", Call("transform_stream")),
            )

    def labels_in(self, batch: pa.RecordBatch, k: int) -> pa.Array:
        """Return what a batch has in the k-th categorical column, of a date the part."""
        column = self.categorical[k]
        return read_column(batch.column(column.origin), column, self.labels[k].family, asked="in fit it was")

    def encode(self, batch: pa.RecordBatch) -> Rows:
        """Return a record batch with these source columns, encoded."""
        n = batch.num_rows
        codes = np.empty((len(self.categorical), n), dtype=self._code_dtype)
        numbers = np.empty((n, len(self.numeric)), order="F")

        def encode_category(k: int) -> None:
            self._books[k].encode(self.labels_in(batch, k), codes[k])

        if n >= PARALLEL_ROWS:
            in_threads(encode_category, range(len(codes)))
        else:
            for k in range(len(codes)):
                encode_category(k)
        for k, column in enumerate(self.numeric):
            array = read_column(batch.column(column.origin), column, "null", asked="in fit it was")
            numbers[:, k] = number_values(array, 0.0 if self.offsets is None else float(self.offsets[k]))
        refuse_infinite(numbers, [column.origin for column in self.numeric])
        return Rows(codes, numbers, all(batch.schema.field(name).type == pa.float32() for name in self.origins))

    def encode_array(self, values: Any) -> Rows:
        """Return rows of an array whose columns are exactly the (all numeric) columns of the design."""
        if self.offsets is not None:
            values = (values.toarray() if sp.issparse(values) else values) - self.offsets
        return Rows(np.empty((0, values.shape[0]), dtype=np.uint16), values)

    def read(self, table: ArrowTable | ArrayTable | Rows) -> Iterator[tuple[Rows, pa.RecordBatch | None]]:
        """Read a table and yield its rows encoded, batch by batch, with the batch unless it is an array of numbers.

        Rows that are encoded already come as they are.
        """
        if isinstance(table, Rows):
            yield table, None
            return
        if isinstance(table, ArrayTable) and self.categorical:
            table = table.as_arrow()
        if isinstance(table, ArrowTable):
            self.check(table.schema.names)
            for batch in table.batches(self.origins):
                yield self.encode(batch), batch
            return
        self.check(table.names)
        at = {name: k for k, name in enumerate(table.names)}
        wanted = [at[column.origin] for column in self.columns]
        for chunk in table.chunks():
            part = chunk if wanted == list(range(len(at))) else chunk[:, wanted]
            refuse_infinite(part, self.origins)
            yield self.encode_array(part), None

    def rows(self, table: ArrowTable | ArrayTable | Rows) -> Iterator[Rows]:
        """Read a table and yield its rows encoded, batch by batch."""
        return (rows for rows, _ in self.read(table))

    def unseen(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return which source columns of each row hold a level never seen, (n, source columns)."""
        out = np.zeros((len(rows), len(self.origins)), dtype=bool)
        for k, (column, labels) in enumerate(zip(self.categorical, self.labels, strict=True)):
            out[:, self.origins.index(column.origin)] |= rows.codes[k] == len(labels)
        return out

    def refuse_overflow(self, numbers: Any) -> NoReturn:
        """Raise for the largest of these numbers, of which something beyond floating point came."""
        size = np.nan_to_num(np.abs(numbers.toarray() if sp.issparse(numbers) else numbers))
        row, at = np.unravel_index(int(size.argmax()), size.shape)
        value = float(numbers[row, at])
        raise DataError(
            f"column {self.numeric[at].origin!r} holds {value:g}, too large for floating point to compute with; "
            "drop the row, mark the value missing, or rescale the column"
        )


def refuse_infinite(numbers: Any, names: Sequence[str]) -> None:
    """Raise where a matrix of numbers, its columns of these names, holds infinity."""
    values = numbers.data if sp.issparse(numbers) else numbers
    with np.errstate(invalid="ignore", over="ignore"):
        total = values.sum(dtype=np.float64)
    if np.isfinite(total) or not np.isinf(values).any():
        return
    if sp.issparse(numbers):
        raise DataError("the sparse matrix holds an infinite value; X contains infinity")
    at = int(np.flatnonzero(np.isinf(numbers).any(axis=0))[0])
    raise DataError(f"column {names[at]!r} holds an infinite value; X contains infinity")
