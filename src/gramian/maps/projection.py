"""Fitted maps: what is read of a row, and the projection from rows to features.

What a fitted map reads: columns, their labels and means; and rows encoded against them.

A map knows the labels it was fitted on. A level that it does not know (a *black swan*) and a missing number contribute
nothing: they sit at the mean.

`Projection`: an affine map from rows to features, stored as one table per column.

With m the means of the design columns and W (p, k) the weights, the features of a row x are

    z = offset + (x - m)^T W = offset + sum_c T_c[level of c] + sum_j (x_j - m_j) W_j,
    T_c[l] = W_l - sum_{l' in c} m_{l'} W_{l'}.

The tables are centred, so a level never seen contributes a row of zeros: it sits at the mean, as a missing number does, and
no row's features depend on its neighbours.

No one-hot matrix is formed. With the tables of all columns stacked into one, the loop gathers one row of weights per column
and adds it; the sum of a row stays in cache until it is written, once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays.threads import cached_property, in_threads
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.design.bins import Bins
from gramian.design.codebook import FrozenCodebook
from gramian.design.kinds import read_sources
from gramian.design.schema import Column, Labels, number_values
from gramian.errors import Argument, Call, ColumnError, DataError, PythonOnly
from gramian.maps.few_rows import FewRows
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
        One name per design column.
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
        return list(dict.fromkeys(origin for column in self.columns for origin in column.origins))

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
    def code_dtype(self) -> Any:
        """The type of codes, which has room for a level never seen."""
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
                PythonOnly(
                    ", an argument of transform, predict and the other methods of rows, and of ", Call("transform_file")
                ),
            )

    def labels_in(self, batch: pa.RecordBatch, k: int) -> pa.Array:
        """Return what a batch has in the k-th categorical column, of a date the part."""
        return _read(batch, self.categorical[k], self.labels[k].family)

    def encode(self, batch: pa.RecordBatch) -> Rows:
        """Return a record batch with these source columns, encoded."""
        n = batch.num_rows
        codes = np.empty((len(self.categorical), n), dtype=self.code_dtype)
        numbers = np.empty((n, len(self.numeric)), order="F")

        def encode_category(k: int) -> None:
            self._books[k].encode(self.labels_in(batch, k), codes[k])

        if n >= PARALLEL_ROWS:
            in_threads(encode_category, range(len(codes)))
        else:
            for k in range(len(codes)):
                encode_category(k)
        for k, column in enumerate(self.numeric):
            array = _read(batch, column, "null")
            numbers[:, k] = number_values(array, 0.0 if self.offsets is None else float(self.offsets[k]))
        refuse_infinite(numbers, [column.origin for column in self.numeric])
        return Rows(codes, numbers, all(batch.schema.field(name).type == pa.float32() for name in self.origins))

    def encode_few(self, X: Any) -> Rows | None:
        """Return a dict, a list of a few dicts or a frame of one row encoded, without Arrow; None where that may err."""
        if any(column.crossed for column in self.columns):
            return None
        found = self._few.encode(X)
        return None if found is None else Rows(*found)

    @cached_property
    def _few(self) -> FewRows:
        return FewRows(self)

    def __getstate__(self) -> dict[str, Any]:
        # A plan of functions does not travel; it is made anew where a row is read.
        return {name: value for name, value in self.__dict__.items() if name != "_few"}

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
        if isinstance(table, ArrayTable) and any(c.form == "category" or c.crossed for c in self.columns):
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
            # Two levels that are known may never have met.
            if not column.crossed:
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


def _read(batch: pa.RecordBatch, column: Column, family: str) -> pa.Array:
    """Return what a batch has in a column: of a date the part, of a cross the cells."""
    return read_sources(tuple(map(batch.column, column.origins)), column, family, asked="in fit it was")


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


def _gather_add(codes, starts, table, out):  # type: ignore[no-untyped-def]
    n_columns, n_features = codes.shape[0], table.shape[1]
    for i in range(codes.shape[1]):
        for c in range(n_columns):
            row = starts[c] + codes[c, i]
            for f in range(n_features):
                out[i, f] += table[row, f]


gather_add = {
    (code, value): kernel(f"void({code}[:,::1], int64[::1], {value}[:,::1], {value}[:,::1])")(_gather_add)
    for code in ("uint16", "uint32")
    for value in ("float64", "float32")
}
"""By code and value type: add to `out` (n, k) the weights of `codes` (columns, n) in `table`, column c from row `starts[c]`."""


BLOCK_ROWS = 2**13
"""Rows a thread takes at a time: their codes stay in cache between fusing and gathering."""

FUSED_ROWS = 2**11
"""Combinations of levels that a group of columns may have."""

FUSED_CELLS = 2**24
"""Sums that the tables of all groups may hold, 128 MB: a thousand features of a thousand columns fuse fewer columns each."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Weights over design columns, ready to apply.

    Attributes
    ----------
    design : Design
        What is read.
    weights : (p, k) array
    offset : (k,) array
    inverse : (k, p) array or None
        The way back: `(z - offset) @ inverse + mean`.
    """

    design: Design
    weights: Array
    offset: Array
    inverse: Array | None = None

    def __repr__(self) -> str:
        return f"<Projection of {len(self.weights):,} design columns to {self.n_features:,} features>"

    def __post_init__(self) -> None:
        # BLAS rounds differently in another memory order; with one order a model read from a file answers to the bit.
        object.__setattr__(self, "weights", np.ascontiguousarray(self.weights))
        if np.isnan(self.design.mean).any():
            # A number that was never seen has no mean, and no weight but for rounding.
            weighed = np.ones(len(self.weights), dtype=bool)
            weighed[self.design.number_places] = ~np.isnan(self.design.mean[self.design.number_places])
            object.__setattr__(self, "weights", np.where(weighed[:, None], self.weights, 0.0))
        if self.inverse is not None:
            object.__setattr__(self, "inverse", np.ascontiguousarray(self.inverse))

    @property
    def n_features(self) -> int:
        """Number of features, k."""
        return int(self.weights.shape[1])

    @cached_property
    def tables(self) -> list[Array]:
        """Centred tables of the categorical columns, each with a row of zeros after its levels."""
        tables = []
        for column in self.design.categorical:
            span = self.design.spans[column.name]
            block = self.weights[span] - self.design.mean[span] @ self.weights[span]
            tables.append(np.vstack([block, np.zeros(self.n_features)]))
        return tables

    @cached_property
    def _fused(self) -> tuple[list[list[int]], npt.NDArray[np.int64], Array]:
        """Columns in groups, where each group starts in the stacked table, and that table.

        A group of small columns is read as one column whose levels are their combinations and whose table holds the sums:
        fewer rows to gather for the same result. Groups are filled in order of size while the table stays in cache.
        """
        tables, most = self.tables, FUSED_ROWS
        groups = _groups(tables, most)
        while most > 1 and self.n_features * sum(math.prod(len(tables[c]) for c in g) for g in groups) > FUSED_CELLS:
            most //= 2
            groups = _groups(tables, most)
        stacked = []
        for group in groups:
            sums = tables[group[0]]
            for c in group[1:]:
                sums = (sums[:, None] + tables[c][None]).reshape(len(sums) * len(tables[c]), self.n_features)
            stacked.append(sums)
        starts = np.cumsum([0, *(len(sums) for sums in stacked)])[:-1].astype(np.int64)
        return groups, starts, np.concatenate(stacked)

    def _fuse(self, codes: npt.NDArray) -> npt.NDArray:
        """Return the codes of the groups, (groups, n), in mixed radix."""
        groups, _, _ = self._fused
        out = np.empty((len(groups), codes.shape[1]), dtype=codes.dtype)
        for g, group in enumerate(groups):
            out[g] = codes[group[0]]
            for c in group[1:]:
                out[g] *= len(self.tables[c])
                out[g] += codes[c]
        return out

    def apply(self, rows: Iterable[Rows], dtype: Any = np.float64, n_rows: int | None = None) -> npt.NDArray:
        """Return the features of all rows, (n, k), written where they belong if `n_rows` is known beforehand."""
        if n_rows is None:
            parts = [self.apply_rows(part, dtype) for part in rows]
            return np.concatenate(parts) if parts else np.empty((0, self.n_features), dtype=dtype)
        out = np.empty((n_rows, self.n_features), dtype=dtype)
        start = 0
        for part in rows:
            self.apply_rows(part, out=out[start : start + len(part)])
            start += len(part)
        return out[:start]

    def apply_rows(self, rows: Rows, dtype: Any = np.float64, out: npt.NDArray | None = None) -> npt.NDArray:
        """Return the features of some encoded rows, written to `out` where it is given."""
        if out is None:
            out = np.empty((len(rows), self.n_features), dtype=dtype)
        if len(rows.codes):
            kernel = gather_add[rows.codes.dtype.name, out.dtype.name]
            _, table_starts, table = self._fused
            table = np.ascontiguousarray(table, dtype=out.dtype)

            def gather(start: int) -> None:
                block = out[start : start + BLOCK_ROWS]
                block[:] = self.offset
                kernel(self._fuse(rows.codes[:, start : start + BLOCK_ROWS]), table_starts, table, block)

            in_threads(gather, range(0, len(rows), BLOCK_ROWS))
        else:
            out[:] = self.offset
        if self.design.numeric:
            places = self.design.number_places
            weights = self.weights[places].astype(out.dtype, copy=False)
            self._add_numbers(rows.numbers, weights, self.design.mean[places], out)
        return out

    @np.errstate(over="ignore", invalid="ignore")
    def _add_numbers(self, numbers: Any, weights: npt.NDArray, mean: Array, out: npt.NDArray) -> None:
        """Add `(x - mean) @ weights`; centred before the product, so that large offsets do not cancel after it."""
        known = np.where(np.isnan(mean), 0.0, mean)
        if sp.issparse(numbers) and not np.isnan(numbers.data).any():
            out += (numbers @ weights) - known @ weights
            self._refuse_overflow(out, numbers)
            return
        step = max(1, 2**18 // max(numbers.shape[1], 1))
        for start in range(0, len(out), step):
            part = numbers[start : start + step]
            part = part.toarray() if sp.issparse(part) else part
            centred = np.subtract(part, known)
            if np.isnan(centred.sum()):
                centred[np.isnan(centred)] = 0.0
            features = out[start : start + step]
            features += centred.astype(out.dtype, copy=False) @ weights
            self._refuse_overflow(features, part)

    def _refuse_overflow(self, features: npt.NDArray, numbers: Any) -> None:
        """Raise where features are beyond floating point."""
        # Their sum is enough where it is a number.
        if not (np.isfinite(features.sum()) or np.isfinite(features).all()):
            self.design.refuse_overflow(numbers)

    def to_design(self, features: npt.NDArray) -> Array:
        """Return features mapped back to design columns, (n, p)."""
        if self.inverse is None:
            raise NotImplementedError("this projection has no way back")
        expanded = (np.asarray(features, dtype=np.float64) - self.offset) @ self.inverse + self.design.mean
        return self.design.as_given(expanded)

    def to_columns(self, features: npt.NDArray, dtype: Any = np.float64) -> dict[str, Any]:
        """Return features mapped back to the columns of the design: numbers, and the most likely level."""
        expanded = self.to_design(features)
        columns: dict[str, Any] = {}
        labels = iter(self.design.labels)
        numbers = {column.name for column in self.design.numeric}
        for column in self.design.columns:
            block = expanded[:, self.design.spans[column.name]]
            if column.form == "category":
                known = next(labels)
                # The number itself says more than its bin, and two columns more than their cross.
                if not (column.crossed or (isinstance(column.part, Bins) and column.origin in numbers)):
                    columns[column.name] = known.column().take(pa.array(block.argmax(axis=1)))
            elif not column.crossed:
                columns[column.name] = block[:, 0].astype(dtype)
        return columns

    def loadings(self, feature_names: Iterable[str]) -> dict[str, list[Any]]:
        """Return one row per design column and feature: column, level (None for a number), feature, weight."""
        columns: list[str] = []
        levels: list[Any] = []
        labels = iter(self.design.labels)
        for column in self.design.columns:
            names = next(labels).names() if column.form == "category" else [None]
            columns += [column.name] * len(names)
            levels += names
        features = list(feature_names)
        return {
            "column": columns * len(features),
            "level": levels * len(features),
            "feature": [feature for feature in features for _ in columns],
            "weight": self.weights.T.ravel().tolist(),
        }


def _groups(tables: list[Array], most: int) -> list[list[int]]:
    """Return columns in groups, the smallest first, of at most so many combinations where a group has several."""
    groups: list[list[int]] = []
    combinations = 0
    for c in sorted(range(len(tables)), key=lambda c: len(tables[c])):
        combinations *= len(tables[c])
        if groups and combinations <= most:
            groups[-1].append(c)
        else:
            groups.append([c])
            combinations = len(tables[c])
    return groups
