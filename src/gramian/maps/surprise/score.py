"""`PairScore`: how odd a row is, as a sum over its values and its pairs of values.

With u_j the level that a row holds in column j and z its numbers, centred and in standard deviations (skewed ones on a
logarithmic scale, see `log_scale`),

    score = sum_j own[u_j] + sum_{j<k} table[u_j, u_k] + numbers(z, u) + penalty * (levels never seen),

where an unseen level has its penalty and is in no pair, and a missing number adds nothing. Numbers are nodes of the same
trees as levels. Alone a number is worth

    e(z) = z^2 / 2 up to 3 standard deviations, 9/2 (1 + log(z^2 / 9)) beyond:

the negative logarithm of a normal density whose tails are those of a power, continued without a kink; so twice as far out
is odder by the same amount, whether from 10 or from 1,000 standard deviations. An edge of probability rho to a category,
in whose level u the number has mean m_u and variance v, adds

    rho (1/2 log v + e((z - m_u) / sqrt(v)) - e(z)),

the negative logarithm of how much more likely the number is given the level. For two numbers of correlation r, v = 1 - r^2,

    rho (1/2 log v + 1/2 [e((y - r x) / sqrt(v)) - e(y)] + 1/2 [e((x - r y) / sqrt(v)) - e(x)]):

within 3 standard deviations both brackets are the same, that of the normal law; beyond, neither direction is preferred.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays.threads import in_threads, usable_cores
from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.maps.frozen_encoder import Design, Rows
from gramian.maps.surprise.log_scale import normal_score
from gramian.maps.surprise.lookup import Tables, lookup_tables

Ints = npt.NDArray[np.int64]

BLOCK_ROWS = 2**14
"""Rows that are worth a thread's while."""

FARTHEST = 1e6
"""Standard deviations up to which numbers can lie out: beyond, farther is no odder."""


def energy(z: Any) -> Array:
    """Return e(z).

    Examples
    --------
    >>> energy(np.array([0.0, 1.0, 3.0, 30.0])).round(3)
    array([ 0.   ,  0.5  ,  4.5  , 25.223])
    """
    square = np.square(z)
    return np.asarray(np.where(square <= 9.0, 0.5 * square, 4.5 * (1.0 + np.log(np.maximum(square, 9.0) / 9.0))))


@dataclass(frozen=True, eq=False)
class SparsePair:
    """A pair of columns of which most combinations never occur: what is added follows from its counts.

    Attributes
    ----------
    indptr, indices, counts : arrays
        The counts n_uv as CSR.
    weights : (levels of the first,) array
        n_u.
    shares : (levels of the second,) array
        n_v / n.
    factor : float
        rho: a pair adds rho log((n_u n_v / n + 1) / (n_uv + 1)).
    """

    indptr: Ints
    indices: npt.NDArray[np.int32]
    counts: Array
    weights: Array
    shares: Array
    factor: float


@dataclass(frozen=True, eq=False)
class NumberTerms:
    """What numbers add.

    Attributes
    ----------
    centre, scale, bend : (q,) arrays
    first, second : (e,) arrays
        The two numbers of each edge.
    slope, left, factor : (e,) arrays
        r, v and rho of each edge.
    number, category, left_by_level, level_factor : (f,) arrays
        Of each edge to a category the number, the category, v and rho.
    means : (levels of all categories, q) array
        m_u, categories one after the other.
    """

    centre: Array
    scale: Array
    bend: Array
    first: Ints
    second: Ints
    slope: Array
    left: Array
    factor: Array
    number: Ints
    category: Ints
    left_by_level: Array
    level_factor: Array
    means: Array


@dataclass(frozen=True, eq=False)
class PairScore:
    """A fitted score, ready to apply to encoded rows.

    Attributes
    ----------
    design : Design
        What is read.
    own : tuple of (levels,) arrays
        What each level adds, a categorical column each.
    pairs : mapping
        `(j, k)`, j < k: what each pair of levels adds, (levels of j, levels of k). A pair that adds nothing is left out.
    sparse_pairs : mapping
        The same where most combinations never occur.
    numbers : NumberTerms or None
        None where numbers add nothing.
    bounds : (float, float)
        No row without unseen levels scores less, or more.
    penalty : float
        Added for each unseen level.
    """

    design: Design
    own: tuple[Array, ...]
    pairs: Mapping[tuple[int, int], Array]
    sparse_pairs: Mapping[tuple[int, int], SparsePair]
    numbers: NumberTerms | None
    bounds: tuple[float, float]
    penalty: float = 0.0

    def with_penalty(self, penalty: float | None) -> PairScore:
        """Return the same score with another penalty; None puts each unseen level above all rows that have one less."""
        low, high = self.bounds
        return replace(self, penalty=high - low + 1.0 if penalty is None else float(penalty))

    @cached_property
    def sizes(self) -> Ints:
        """Number of levels of each categorical column: the code of an unseen one."""
        return np.array([len(by_level) for by_level in self.own], dtype=np.int64)

    @cached_property
    def starts(self) -> Ints:
        """Where each categorical column begins where all are stacked."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @cached_property
    def _tables(self) -> Tables:
        return lookup_tables(self.own, self.pairs, self.penalty)

    def standardised(self, rows: Rows) -> Array:
        """Return the numbers of rows, centred and in standard deviations of their scale, NaN where missing; (n, q)."""
        assert self.numbers is not None
        values = rows.numbers.toarray() if sp.issparse(rows.numbers) else rows.numbers
        with np.errstate(over="ignore"):
            # What is too far for floating point is cut below, as all that is too far.
            out = np.subtract(values, self.numbers.centre, dtype=np.float64)
            out /= self.numbers.scale
        bent = np.flatnonzero(self.numbers.bend)
        if len(bent):
            out[:, bent] = normal_score(out[:, bent], self.numbers.bend[bent])
        return np.ascontiguousarray(np.clip(out, -FARTHEST, FARTHEST))

    def apply(self, rows: Iterable[Rows]) -> Array:
        """Return the score of all rows, (n,)."""
        parts = [self.apply_rows(part) for part in rows]
        # What is made of one batch, a file's for one, is not copied.
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    def apply_rows(self, rows: Rows) -> Array:
        """Return the score of some encoded rows."""
        from gramian.maps.surprise import kernel

        out = np.zeros(len(rows))
        codes = np.ascontiguousarray(rows.codes)
        tables = self._tables.arguments if len(self.own) else None
        terms = self.numbers
        z = self.standardised(rows) if terms is not None else None

        def add(start: int) -> None:
            stop = min(start + step, len(rows))
            if tables is not None:
                kernel.add_tables(codes, *tables, start, stop, out)
            for (j, k), pair in self.sparse_pairs.items():
                kernel.add_sparse(
                    codes[j], codes[k], pair.indptr, pair.indices, pair.counts, pair.weights, pair.shares, pair.factor,
                    start, stop, out,
                )  # fmt: skip
            if terms is not None:
                kernel.add_numbers(
                    z, codes, self.starts, self.sizes, terms.means, terms.first, terms.second, terms.slope, terms.left,
                    terms.factor, terms.number, terms.category, terms.left_by_level, terms.level_factor, start, stop, out,
                )  # fmt: skip

        # Two parts a thread: few, as each takes memory to work in, and enough for one thread to take over from another.
        step = max(BLOCK_ROWS, -(-len(rows) // (2 * usable_cores(None))))
        in_threads(add, range(0, len(rows), step))
        return out

    def terms(self, rows: Rows) -> Array:
        """Return what each value (on the diagonal) and pair (above it) of each row adds, (n, c + q, c + q)."""
        c, q, n = len(self.own), len(self.design.numeric), len(rows)
        out = np.zeros((n, c + q, c + q))
        codes = rows.codes.astype(np.int64)
        seen = codes < self.sizes[:, None]
        held = np.where(seen, codes, 0)
        for j, by_level in enumerate(self.own):
            out[:, j, j] = np.where(seen[j], by_level[held[j]] if len(by_level) else 0.0, self.penalty)
        for (j, k), table in self.pairs.items():
            out[:, j, k] = np.where(seen[j] & seen[k], table[held[j], held[k]], 0.0)
        for (j, k), pair in self.sparse_pairs.items():
            counts = sp.csr_array((pair.counts, pair.indices, pair.indptr), (len(pair.weights), len(pair.shares)))
            expected = pair.weights[held[j]] * pair.shares[held[k]]
            together = np.asarray(counts[held[j], held[k]])
            out[:, j, k] = np.where(seen[j] & seen[k], pair.factor * np.log((expected + 1.0) / (together + 1.0)), 0.0)
        if self.numbers is not None:
            self._number_terms(rows, seen, held, out)
        return out

    def _number_terms(self, rows: Rows, seen: npt.NDArray[np.bool_], held: Ints, out: Array) -> None:
        terms, c = self.numbers, len(self.own)
        assert terms is not None
        z = self.standardised(rows)
        own = energy(z)
        at = np.arange(c, c + z.shape[1])
        out[:, at, at] = np.nan_to_num(own, nan=0.0)
        # A row at a time, all edges at once: hundreds of numbers have hundreds of thousands of edges.
        root, log_left = np.sqrt(terms.left), np.log(terms.left)
        level_root, level_log = np.sqrt(terms.left_by_level), 0.5 * np.log(terms.left_by_level)
        for i in range(len(z)):
            x, y = z[i, terms.first], z[i, terms.second]
            near = energy((y - terms.slope * x) / root) + energy((x - terms.slope * y) / root)
            worth = 0.5 * terms.factor * (log_left + near - own[i, terms.first] - own[i, terms.second])
            out[i, c + terms.first, c + terms.second] = np.nan_to_num(worth, nan=0.0)
            mean = terms.means[(self.starts + held[:, i])[terms.category], terms.number]
            near = energy((z[i, terms.number] - mean) / level_root)
            worth = terms.level_factor * (level_log + near - own[i, terms.number])
            worth = np.where(seen[terms.category, i], np.nan_to_num(worth, nan=0.0), 0.0)
            out[i, terms.category, c + terms.number] = worth
