"""`PairSurprise`: how odd a row is, as a sum over its values of how surprising each is given all the others.

For the level u that a row holds in column j, and for the numbers of the row together,

    r_j = own_u + sum_{k != j} T[u, level of k] + sum_q V[u, q] z_q        residual of the level, in standard deviations
    r_N = sqrt(|w|^2 / q),   w the whitened residual of the q numbers      the same for numbers, root mean square

    score = sum_j F_u h(r_j) + q g(r_N) + penalty * (levels never seen),
    h(r) = r+ / (1 + r+),      g(r) = h(r) + log(1 + (r - 3)+).

h is below 1: how rare a level is tells little more than that it is rare. How far out a number lies has no such bound,
so beyond three standard deviations a logarithm is added, up to `FARTHEST`. So no row without an unseen level passes
`bound` = sum_j max_u F_u + q g(FARTHEST), and a penalty above the bound puts every row with one unseen level above
all rows without, two above one, and so on. Tables are centred over each given column: an unseen level and a missing
number say nothing about the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays import in_threads, usable_cores
from gramian.maps.design import Design, Rows
from gramian.maps.projection import Projection
from gramian.maps.surprise_tables import lookup_tables

Array = npt.NDArray[np.float64]

BLOCK_ROWS = 2**14
"""Rows that are worth a thread's while."""

FARTHEST = 1e6
"""Standard deviations up to which numbers can lie out: beyond, farther is no odder."""


def damped(residual: Array) -> Array:
    """Return h(r) = r / (1 + r) of the positive part.

    Examples
    --------
    >>> damped(np.array([-1.0, 0.0, 1.0, 9.0]))
    array([0. , 0. , 0.5, 0.9])
    """
    positive = np.maximum(residual, 0.0)
    return np.asarray(positive / (1.0 + positive))


def far_out(length: Array) -> Array:
    """Return g(r) = h(r) + log(1 + (r - 3)+) for r up to `FARTHEST`.

    Examples
    --------
    >>> far_out(np.array([0.0, 1.0, 3.0, 9.0])).round(3)
    array([0.   , 0.5  , 0.75 , 2.846])
    """
    capped = np.minimum(length, FARTHEST)
    return np.asarray(damped(capped) + np.log1p(np.maximum(capped - 3.0, 0.0)))


@dataclass(frozen=True, eq=False)
class PairSurprise:
    """A fitted score, ready to apply to encoded rows.

    Attributes
    ----------
    design : Design
        What is read.
    table : (s, s) array
        What a level (column) says about a level (row). Levels of the categorical columns are stacked in order; the last
        slot is that of unseen levels, which say nothing. The diagonal is what a level says about itself.
    number_table : (s, q) array
        What the standardised numbers say about a level.
    usual : (s, c + q) array
        What each categorical column and number says about a level on average over the training rows that hold it.
    factors : (s,) array
        F, the weight of a level's surprise.
    scale : (q,) array
        Standard deviations of the numbers.
    numbers : Projection or None
        Rows to the whitened residual of the numbers, given the levels.
    counts : (s, s) array
        Weight of each pair of levels in training; of each level on the diagonal.
    weight : float
        Total weight in training.
    penalty : float
        Added for each unseen level.
    """

    design: Design
    table: Array
    number_table: Array
    usual: Array
    factors: Array
    scale: Array
    numbers: Projection | None
    counts: Array
    weight: float
    penalty: float

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of levels of each categorical column."""
        return np.array([len(labels) for labels in self.design.labels], dtype=np.int64)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """First slot of each categorical column."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @cached_property
    def bound(self) -> float:
        """No row without an unseen level scores more."""
        tops = [
            self.factors[start : start + size].max(initial=0.0)
            for start, size in zip(self.starts, self.sizes, strict=True)
        ]
        return float(sum(tops)) + len(self.scale) * float(far_out(np.array(FARTHEST)))

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        return lookup_tables(self.table, self.number_table, self.factors, self.sizes)

    def slots(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the slot of each code, (n, categorical columns), given codes as `Rows` have them."""
        unseen = codes == self.sizes[:, None]
        return np.asarray(np.where(unseen, len(self.factors) - 1, self.starts[:, None] + codes).T)

    def with_penalty(self, penalty: float) -> PairSurprise:
        """Return the same score with another penalty for unseen levels."""
        return replace(self, penalty=float(penalty))

    def standardised(self, rows: Rows) -> Array:
        """Return the numbers of rows, centred and in standard deviations, 0 where missing; (n, q)."""
        values = rows.numbers.toarray() if sp.issparse(rows.numbers) else rows.numbers
        centre = np.nan_to_num(self.design.mean[self.design.number_places], nan=0.0)
        out = np.subtract(values, centre, dtype=np.float64)
        out /= self.scale
        out[np.isnan(out)] = 0.0
        return np.ascontiguousarray(out)

    def number_worth(self, residual: Array) -> Array:
        """Return q g(r_N) for whitened residuals of the numbers, (n,)."""
        q = len(self.scale)
        return np.asarray(q * far_out(np.sqrt(np.einsum("ij,ij->i", residual, residual) / q)))

    def number_residual(self, rows: Rows) -> Array:
        """Return the whitened residual w of the numbers of rows, (n, q)."""
        assert self.numbers is not None
        return self.numbers.apply_rows(rows)

    def apply(self, rows: Iterable[Rows]) -> Array:
        """Return the score of all rows, (n,)."""
        parts = [self.apply_rows(part) for part in rows]
        # What is made of one batch, a file's for one, is not copied.
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    def apply_rows(self, rows: Rows) -> Array:
        """Return the score of some encoded rows."""
        out = np.zeros(len(rows))
        if self.numbers is not None:
            out += self.number_worth(self.number_residual(rows))
        if len(rows.codes):
            self._add_levels(rows, out)
        return out

    def _add_levels(self, rows: Rows, out: Array) -> None:
        from gramian.maps.surprise_kernels import add_surprise

        codes = np.ascontiguousarray(rows.codes)
        kernel: Any = add_surprise[codes.dtype.name]
        numbers = self.standardised(rows) if self.numbers is not None else np.zeros((len(rows), 0))

        # Two parts a thread: few, as each takes memory to work in, and enough for one thread to take over from another.
        step = max(BLOCK_ROWS, -(-len(rows) // (2 * usable_cores(None))))

        def add(start: int) -> None:
            stop = min(start + step, len(rows))
            kernel(codes, *self._tables, numbers, self.penalty, start, stop, out)

        in_threads(add, range(0, len(rows), step))
