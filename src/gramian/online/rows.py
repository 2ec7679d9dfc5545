"""Rows over the design columns of a table (dense, sparse, or by level), and a design that grows as rows arrive.

A row is x - m with m the mean of the design columns. Numbers are centred as they are read, missing ones at 0; sparse numbers
and levels are not, because that would fill them: with s the entries that there are,

    W (s - m) = W s - W m,        sum_i y_i (s_i - m)^T = sum_i y_i s_i^T - (sum_i y_i) m^T,

so that a batch of b rows with c entries each costs b c k, and p k once, however wide the one-hot matrix would be.

*A growing design* has new levels, and means that follow the rows. Where a level turns up for the first time, its design column
has been 0 in every row before: its mean so far is 0, and weights over the design columns go on with 0 in that place. Nothing
that was learnt changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.design.codebook import Codebook
from gramian.design.schema import Column, Labels, join_labels, names_of_design, positions
from gramian.maps.projection import Design, Rows
from gramian.online.row_loops import gather_levels, scatter_levels

Levels = npt.NDArray[np.int32]


def faded(weights: Array, forgetting: float) -> Array:
    """Return what rows count once all of them have passed, where each later row multiplies a row's weight by `forgetting`.

    A row of weight w counts as w rows one after the other: f^r (1 - f^w) / (1 - f), with r the weight of the rows after it.

    Examples
    --------
    >>> faded(np.ones(3), 0.5), faded(np.array([2.0, 1.0]), 0.5)
    (array([0.25, 0.5 , 1.  ]), array([0.75, 1.  ]))
    """
    rate = np.log(float(forgetting))
    after = float(weights.sum()) - np.cumsum(weights)
    return np.asarray(np.exp(rate * after) * np.expm1(rate * weights) / (forgetting - 1.0))


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows less the mean.

    Attributes
    ----------
    numbers : (b, q) array or CSR array
        Centred where dense.
    levels : (b, c) array of int32
        The design column of each level.
    places : (q,) array
        The design columns of the numbers.
    mean : (p,) array
        What is left to be taken off: 0 for dense numbers.
    weights : (b,) array
        How often each row counts.
    """

    numbers: Any
    levels: Levels
    places: npt.NDArray[np.intp]
    mean: Array
    weights: Array

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def plain(self) -> bool:
        """Whether the rows are numbers alone, one per design column, in order."""
        return self.levels.shape[1] == 0

    @property
    def dense(self) -> bool:
        """Whether there is nothing sparse about the rows."""
        return self.plain and not sp.issparse(self.numbers)

    def part(self, rows: slice) -> Batch:
        """Return some of the rows."""
        return replace(self, numbers=self.numbers[rows], levels=self.levels[rows], weights=self.weights[rows])

    def outputs(self, weights: Array) -> Array:
        """Return Y = X W^T, (b, k), for weights (k, p)."""
        if self.dense:
            return np.asarray(self.numbers @ weights.T)
        columns = np.ascontiguousarray(weights.T)
        out = np.empty((len(self), len(weights)))
        out[:] = -(weights @ self.mean)
        if self.levels.shape[1]:
            gather_levels(self.levels, columns, out)
        if len(self.places):
            out += self.numbers @ (columns if self.plain else columns[self.places])
        return out

    def back(self, values: Array) -> Array:
        """Return Y^T X, (k, p), for values (b, k)."""
        if self.dense:
            return np.asarray(values.T @ self.numbers)
        out = np.zeros((len(self.mean), values.shape[1]))
        if self.levels.shape[1]:
            scatter_levels(self.levels, np.ascontiguousarray(values), out)
        if len(self.places):
            part = np.asarray(self.numbers.T @ values)
            if self.plain:
                out += part
            else:
                out[self.places] += part
        if self.mean.any():
            out -= self.mean[:, None] * values.sum(axis=0)
        # Rows of weights side by side, as everything else has them.
        return np.ascontiguousarray(out.T)

    def expanded(self) -> Array:
        """Return the rows over all design columns, (b, p): for few rows, or for few columns."""
        if self.dense:
            return np.ascontiguousarray(self.numbers)
        out = np.tile(-self.mean, (len(self), 1))
        out[:, self.places] += self.numbers.toarray() if sp.issparse(self.numbers) else self.numbers
        # A column of categories has one level per row: no place occurs twice.
        np.add.at(out, (np.arange(len(self))[:, None], self.levels), 1.0)
        return out

    def entries(self) -> tuple[Array, Levels, npt.NDArray[np.int64]]:
        """Return the rows plus `mean` as CSR: values, design columns, ends."""
        numbers = sp.csr_array(self.numbers)
        placed = sp.csr_array(
            (numbers.data.astype(np.float64), self.places[numbers.indices], numbers.indptr),
            shape=(len(self), len(self.mean)),
        )
        width = self.levels.shape[1]
        known = sp.csr_array(
            (np.ones(self.levels.size), self.levels.ravel(), np.arange(len(self) + 1) * width), shape=placed.shape
        )
        both = sp.csr_array(placed + known) if width and len(self.places) else known if width else placed
        return both.data, both.indices.astype(np.int32), both.indptr.astype(np.int64)

    def squares(self) -> Array:
        """Return the squared length of each row, (b,)."""
        if self.dense:
            return np.asarray(np.einsum("ij,ij->i", self.numbers, self.numbers))
        # |s - m|^2 = s s - 2 s m + m m, where every s is one entry of a column.
        whole = float(self.mean @ self.mean)
        out = np.full(len(self), whole) - 2.0 * self.mean[self.levels].sum(axis=1) + self.levels.shape[1]
        if sp.issparse(self.numbers):
            out += np.asarray(self.numbers.multiply(self.numbers).sum(axis=1)).ravel()
            out -= 2.0 * np.asarray(self.numbers @ self.mean[self.places])
        else:
            out += np.einsum("ij,ij->i", self.numbers, self.numbers)
        return np.maximum(out, 0.0)


@dataclass(frozen=True, eq=False)
class DesignRows:
    """Encoded rows, from which batches are taken in any order.

    Attributes
    ----------
    numbers : (n, q) array or CSR array
        As read: NaN where missing.
    levels : (n, c) array of int32
        The design column of each level.
    places : (q,) array
        The design columns of the numbers.
    weights : (n,) array
    """

    numbers: Any
    levels: Levels
    places: npt.NDArray[np.intp]
    weights: Array

    def __len__(self) -> int:
        return len(self.weights)

    @classmethod
    def of(cls, design: Design, parts: Sequence[Rows], weights: Array | None = None) -> DesignRows:
        """Return encoded rows over a design that knows every level of them; rows of weight 0 are left out."""
        starts = np.array([design.spans[column.name].start for column in design.categorical], dtype=np.int32)
        levels = [part.codes.T.astype(np.int32) + starts for part in parts]
        numbers = [part.numbers for part in parts]
        if len(parts) == 1:
            joined, placed = numbers[0], levels[0]
        else:
            joined = sp.vstack(numbers, format="csr") if any(map(sp.issparse, numbers)) else np.concatenate(numbers)
            placed = np.concatenate(levels)
        joined = sp.csr_array(joined) if sp.issparse(joined) else joined
        counted = np.ones(len(placed)) if weights is None else weights
        if not counted.all():
            kept = counted > 0
            joined, placed, counted = joined[kept], placed[kept], counted[kept]
        return cls(joined, np.ascontiguousarray(placed), design.number_places, counted)

    @property
    def entries_a_row(self) -> float:
        """Entries that there are in a row, on average."""
        if not sp.issparse(self.numbers):
            return float(self.numbers.shape[1] + self.levels.shape[1])
        return float(self.numbers.nnz) / max(1, len(self)) + self.levels.shape[1]

    def part(self, rows: slice) -> DesignRows:
        """Return some of the rows."""
        return replace(self, numbers=self.numbers[rows], levels=self.levels[rows], weights=self.weights[rows])

    def means(self, p: int) -> tuple[Array, Array]:
        """Return the mean of each of p design columns over the rows that have a value, and the weight of those rows."""
        total = float(self.weights.sum())
        out, seen = np.zeros(p), np.full(p, total)
        if self.levels.shape[1]:
            for c in range(self.levels.shape[1]):
                out += np.bincount(self.levels[:, c], self.weights, minlength=p)
            out /= total
        if len(self.places):
            mean, weight = _observed(self.numbers, self.weights)
            out[self.places], seen[self.places] = mean, weight
        return out, seen

    def batch(self, rows: Any, mean: Array) -> Batch:
        """Return some rows (a slice, or positions) less a mean."""
        numbers = self.numbers[rows]
        left = mean
        if not sp.issparse(numbers):
            numbers = numbers - mean[self.places]
            # One sum tells whether any of them is missing.
            if np.isnan(numbers.sum()):
                numbers[np.isnan(numbers)] = 0.0
            left = mean.copy()
            left[self.places] = 0.0
        elif np.isnan(numbers.data).any():
            # At the mean: then it adds nothing once the mean is taken off.
            numbers = numbers.copy()
            missing = np.isnan(numbers.data)
            numbers.data[missing] = mean[self.places][numbers.indices[missing]]
        return Batch(numbers, self.levels[rows], self.places, left, self.weights[rows])


def _observed(numbers: Any, weights: Array) -> tuple[Array, Array]:
    """Return mean and weight of the observed values of each column, 0 where there are none."""
    total = float(weights.sum())
    if sp.issparse(numbers):
        data = numbers.data.astype(np.float64, copy=False)
        missing = np.isnan(data)
        filled = sp.csr_array((np.where(missing, 0.0, data), numbers.indices, numbers.indptr), shape=numbers.shape)
        gaps = sp.csr_array((missing.astype(np.float64), numbers.indices, numbers.indptr), shape=numbers.shape)
        seen = total - np.asarray(gaps.T @ weights)
        return np.asarray(filled.T @ weights) / np.where(seen > 0, seen, 1.0), seen
    n, q = numbers.shape
    sums, seen, first = np.zeros(q), np.zeros(q), np.zeros(q)
    step = max(1, 2**18 // max(q, 1))
    for start in range(0, n, step):
        part, w = np.asarray(numbers[start : start + step], dtype=np.float64), weights[start : start + step]
        if start == 0:
            # Summed from near the values, so that an offset of 1e8 costs no digits.
            first = np.nan_to_num(part[0])
        deviation = part - first
        there = ~np.isnan(deviation)
        if there.all():
            sums += w @ deviation
            seen += w.sum()
        else:
            sums += w @ np.where(there, deviation, 0.0)
            seen += w @ there
    return np.where(seen > 0, first + sums / np.where(seen > 0, seen, 1.0), 0.0), seen


@dataclass(frozen=True, eq=False)
class RunningDesign:
    """What has been seen: the design, and behind each of its means the weight of the rows that had a value.

    Attributes
    ----------
    design : Design
    weights : (p,) array
    total : float
        Weight of all rows.
    """

    design: Design
    weights: Array
    total: float = 0.0

    @classmethod
    def nothing(cls, columns: Sequence[Column]) -> RunningDesign:
        """Return the design of some columns before any row."""
        labels = tuple(Labels(pa.nulls(0)) for column in columns if column.form == "category")
        return _designed(tuple(columns), labels)


def _designed(columns: tuple[Column, ...], labels: tuple[Labels, ...]) -> RunningDesign:
    names = tuple(names_of_design(columns, labels))
    return RunningDesign(Design(columns, labels, np.zeros(len(names)), names), np.zeros(len(names)))


def with_levels(seen: RunningDesign, batch: pa.RecordBatch) -> RunningDesign:
    """Return what has been seen with the levels of a batch added, in order of first sight, at mean 0."""
    old = seen.design
    labels = []
    for k, known in enumerate(old.labels):
        book = Codebook()
        book.encode(old.labels_in(batch, k))
        known_labels = book.labels().values
        fresh = known_labels.filter(pa.array(positions(known_labels, known.values) < 0))
        labels.append(Labels(join_labels(known.values, fresh)) if len(fresh) else known)
    if all(new is known for new, known in zip(labels, old.labels, strict=True)):
        return seen
    wider = _designed(old.columns, tuple(labels))
    weights = carried_over(old, wider.design, seen.weights)
    for column in old.categorical:
        weights[wider.design.spans[column.name]] = seen.total
    design = replace(wider.design, mean=carried_over(old, wider.design, old.mean), offsets=old.offsets)
    return RunningDesign(design, weights, seen.total)


def without_columns(
    seen: RunningDesign, parts: Sequence[Rows], names: Collection[str]
) -> tuple[RunningDesign, list[Rows]]:
    """Return what has been seen, and rows over it, without some categories; nothing has been learnt of them yet."""
    kept = [k for k, column in enumerate(seen.design.categorical) if column.name not in names]
    columns = tuple(column for column in seen.design.columns if column.name not in names)
    fewer = _designed(columns, tuple(seen.design.labels[k] for k in kept))
    design = replace(fewer.design, offsets=seen.design.offsets)
    return replace(fewer, design=design), [replace(part, codes=part.codes[kept]) for part in parts]


def carried_over(old: Design, new: Design, values: Array) -> Array:
    """Return values over the design columns (the last axis) of an older design over those there are now, 0 for new ones."""
    if old is new or len(old.mean) == len(new.mean):
        return values
    out = np.zeros((*values.shape[:-1], len(new.mean)))
    for column in new.columns:
        was, now = old.spans[column.name], new.spans[column.name]
        out[..., now.start : now.start + was.stop - was.start] = values[..., was]
    return out


def with_rows(
    seen: RunningDesign, rows: DesignRows, forgetting: float | None = None, *, ordered: bool = True
) -> RunningDesign:
    """Return what has been seen with the means moved by some rows.

    Parameters
    ----------
    seen : RunningDesign
    rows : DesignRows
        Over its design.
    forgetting : float, optional
        What a row's weight falls to with each later row.
    ordered : bool
        Whether the rows come one after the other. Rows that do not share evenly what they would count together.
    """
    kept = 1.0
    if forgetting is not None:
        kept = forgetting ** float(rows.weights.sum())
        counts = faded(rows.weights, forgetting)
        rows = replace(rows, weights=counts if ordered else rows.weights * (counts.sum() / rows.weights.sum()))
    mean, weight = rows.means(len(seen.weights))
    whole = float(rows.weights.sum())
    total = kept * seen.weights + weight
    moved = seen.design.mean + np.where(total > 0, weight / np.where(total > 0, total, 1.0), 0.0) * (
        mean - seen.design.mean
    )
    return RunningDesign(replace(seen.design, mean=moved), total, kept * seen.total + whole)
