"""How odd a row is: `PairScore`, a sum over its values and pairs of values, and `SquaredLength`, its distance from the mean.

**PairScore.** With u_j the level that a row holds in column j and z its numbers, centred and in standard deviations,

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

*Scale of a number.* A symmetric number is taken as it is, a skewed one on a logarithmic scale. A number z of mean 0, variance 1
and skewness g is read as a shifted lognormal one, y its normal score:

    1 + a z = exp(t y - t^2 / 2),      t^2 = log(1 + a^2),    g = a (a^2 + 3),

t of the sign of a, *bend* being a: 0 leaves z as it is, a < 0 is skewed to the left. Everything that Gaussian trees need of y
follows from moments of z. Two numbers of correlation r have normal scores of correlation

    log(1 + a a' r) / (t t'),      r a / t where the other is not bent;

a category that explains a share e of the variance of z explains log(1 + a^2 e) / t^2 of that of y; and where v of it is left,
a level in which z has mean m has the mean y(m) - t v / 2.

Values below `LOWEST` standard deviations of y count in plain standard deviations from there on. The end of the lognormal is
near: near it the logarithm finds any value odd beyond measure, and the long tail, which chose the scale, says nothing of the
short one.

**SquaredLength.** The features of a row are a sum over its columns, z = sum_j z_j (the tables of a `Projection` are centred, so
an unseen level and a missing number have z_j = 0), and so |z|^2 = sum_j |z_j|^2 + sum_{j<k} 2 z_j . z_k is a sum over values
and pairs of values. Where all features are kept it is the Mahalanobis distance of the row. The score is bounded: beyond
`SquaredLength.bound` a longer row is no odder. Such a row is explained as the one of that length in its direction, so that
what its values add still adds up to its score.

**Looking up.** What levels and pairs of levels add is in tables, which a loop looks up. A look-up takes three loads, two codes
and a cell, and processors load two or three words per cycle: that is the floor. So there are few look-ups, four in one go,
and loops run over the rows of a block for one quadruple of tables at a time, so that these stay in cache and no row's look-up
waits for another's.

Small columns are fused: a *group* has one code per combination of its columns' levels, unseen levels included. What its columns
add among themselves is one table by the code of the group, and what two groups add is one table by both codes, the sum
over the pairs of their columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import types

from gramian.arrays.threads import cached_property, in_threads, usable_cores
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.maps.projection import Design, Projection, Rows

LOWEST = 3.0
"""Standard deviations of the short tail up to which it is logarithmic."""

LARGEST = 300.0
"""Logarithm of the largest value, in standard deviations: larger ones would overflow."""


def bend_of(skewness: Array, kurtosis: Array, sixth: Array, weight: Array) -> Array:
    """Return a for numbers of these standardised third, fourth and sixth moments over so many rows; 0 where one is unknown.

    With skewness g a gamma number has the kurtosis 3 + 3/2 g^2 and a lognormal one more; a bulk with a few values far out,
    however it is shaped, 1 + g^2, the least there is. Below the line midway between the two it is such values: no bend.

    A skewness counts as 0 within three standard errors of that of normal numbers, whose variance is 6 / n. It also counts as 0
    within two standard errors of its own, (m_6 - g^2 - 6 m_4 + 9) / n being the variance of a third moment: one value far
    out, or heavy tails on both sides, give a skewness of about one.

    Where the long tail is heavy its skewness is known badly, and one that is too large puts the end of the short tail inside
    the data; one that is too small leaves the long tail a little odder than it is. So g is taken one standard error low.

    Examples
    --------
    >>> skewness, kurtosis = np.array([0.0, 2.0, -2.0, 2.0]), np.array([3.0, 9.0, 9.0, 5.5])
    >>> sixth = np.array([15.0, 265.0, 265.0, 16.0])
    >>> bend_of(skewness, kurtosis, sixth, np.full(4, 1e12)).round(3)
    array([ 0.   ,  0.596, -0.596,  0.   ])
    """
    square = np.square(skewness)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(np.maximum(sixth - square - 6.0 * kurtosis + 9.0, 0.0) / weight)
        skewed = (kurtosis >= 2.0 + 1.25 * square) & (np.abs(skewness) > 2.0 * error) & (square * weight > 9.0 * 6.0)
    half = np.where(skewed, skewness - np.copysign(error, skewness), 0.0) / 2.0
    # The real root of a^3 + 3 a = g (Cardano).
    root = np.cbrt(half + np.copysign(np.sqrt(np.square(half) + 1.0), half))
    return np.asarray(root - 1.0 / root)


def rate_of(bend: Array) -> Array:
    """Return t."""
    return np.asarray(np.copysign(np.sqrt(np.log1p(np.square(bend))), bend))


def normal_score(z: Array, bend: Array) -> Array:
    """Return y of standardised numbers; NaN stays.

    Examples
    --------
    >>> normal_score(np.array([-0.9, 0.0, 1.0, 10.0]), np.array([0.596])).round(2)
    array([-1.12,  0.28,  1.12,  3.79])
    """
    z, bend = np.broadcast_arrays(np.asarray(z, dtype=np.float64), bend)
    rate = np.abs(rate_of(bend))
    some = np.where(rate > 0, rate, 1.0)
    inner = bend * z
    edge = np.expm1(-LOWEST * some - np.square(some) / 2.0)
    logarithmic = some / 2.0 + np.log1p(np.maximum(inner, edge)) / some
    score = np.where(inner < edge, -LOWEST + (inner - edge) / np.where(rate > 0, np.abs(bend), 1.0), logarithmic)
    return np.where(rate > 0, np.copysign(1.0, bend) * np.where(np.isnan(z), z, score), z)


def standard_value(y: Array, bend: Array) -> Array:
    """Return z of normal scores: the inverse of `normal_score`.

    Examples
    --------
    >>> standard_value(normal_score(np.array([-5.0, -0.9, 0.0, 10.0]), np.array([0.596])), np.array([0.596])).round(9)
    array([-5. , -0.9,  0. , 10. ])
    """
    y, bend = np.broadcast_arrays(np.asarray(y, dtype=np.float64), bend)
    rate = np.abs(rate_of(bend))
    some = np.where(rate > 0, rate, 1.0)
    # Where nothing is bent y is the answer, however large: its power is not to be taken.
    score = np.where(rate > 0, np.copysign(1.0, bend) * y, 0.0)
    edge = np.expm1(-LOWEST * some - np.square(some) / 2.0)
    logarithmic = np.expm1(np.minimum(some * np.maximum(score, -LOWEST) - np.square(some) / 2.0, LARGEST))
    inner = np.where(score < -LOWEST, edge + (score + LOWEST) * np.abs(bend), logarithmic)
    return np.where(rate > 0, inner / np.where(bend != 0, bend, 1.0), y)


def score_correlation(correlation: Array, bend: Array, rows: slice = slice(None)) -> Array:
    """Return the correlations of the normal scores of numbers, (q, q) or some rows of it, from those of the numbers."""
    rate = rate_of(bend)
    both = np.multiply.outer(bend[rows], bend)
    bent = both != 0
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(bend != 0, bend / np.where(rate != 0, rate, 1.0), 1.0)
        out = correlation * np.multiply.outer(one[rows], one)
        inner = np.log1p(np.maximum(both[bent] * correlation[bent], -1.0))
        out[bent] = inner / np.multiply.outer(rate[rows], rate)[bent]
    return np.clip(out, -1.0, 1.0, out=out)


def score_left(left: Any, bend: Array) -> Array:
    """Return the share of the variance of normal scores that a category leaves, from that of the numbers."""
    square = np.square(bend)
    explained = np.log1p(np.maximum(square * (1.0 - left), -0.5)) / np.where(square > 0, np.log1p(square), 1.0)
    return np.where(square > 0, 1.0 - explained, left)


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


class SparsePair(NamedTuple):
    """A pair of columns of which most combinations never occur: what it adds follows from its counts.

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
        What each level adds, one array per categorical column.
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
        with np.errstate(over="ignore"):
            # What is too far for floating point is cut below, as all that is too far.
            out = np.subtract(rows.dense_numbers, self.numbers.centre, dtype=np.float64)
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
        out = np.zeros(len(rows))
        codes = np.ascontiguousarray(rows.codes)
        tables = self._tables if len(self.own) else None
        terms = self.numbers
        z = self.standardised(rows) if terms is not None else None

        def add(start: int) -> None:
            stop = min(start + step, len(rows))
            if tables is not None:
                add_tables(codes, *tables, start, stop, out)
            for (j, k), pair in self.sparse_pairs.items():
                add_sparse(codes[j], codes[k], *pair, start, stop, out)
            if terms is not None:
                add_numbers(
                    z, codes, self.starts, self.sizes, terms.means, terms.first, terms.second, terms.slope, terms.left,
                    terms.factor, terms.number, terms.category, terms.left_by_level, terms.level_factor, start, stop, out,
                )  # fmt: skip

        # Two parts a thread: few, as each takes memory to work in, and enough for one thread to take over from another.
        step = max(BLOCK_ROWS, -(-len(rows) // (2 * usable_cores(None))))
        in_threads(add, range(0, len(rows), step))
        return out

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """The columns, categories first, of each value (twice the same) and pair that adds something: a <= b, (e,) each."""
        c = len(self.own)
        pairs = np.array([*self.pairs, *self.sparse_pairs], dtype=np.int64).reshape(-1, 2)
        first, second = [np.arange(c), pairs[:, 0]], [np.arange(c), pairs[:, 1]]
        if self.numbers is not None:
            alone = c + np.arange(len(self.numbers.scale))
            first += [alone, c + self.numbers.first, self.numbers.category]
            second += [alone, c + self.numbers.second, c + self.numbers.number]
        return np.concatenate(first), np.concatenate(second)

    def terms(self, rows: Rows) -> Array:
        """Return what the values and pairs at `places` add to the score of each row, (n, e)."""
        codes = rows.codes.astype(np.int64)
        seen = codes < self.sizes[:, None]
        held = np.where(seen, codes, 0)
        out = [
            np.where(seen[j], by_level[held[j]] if len(by_level) else 0.0, self.penalty)
            for j, by_level in enumerate(self.own)
        ]
        for (j, k), table in self.pairs.items():
            out.append(np.where(seen[j] & seen[k], table[held[j], held[k]], 0.0))
        for (j, k), pair in self.sparse_pairs.items():
            counts = sp.csr_array((pair.counts, pair.indices, pair.indptr), (len(pair.weights), len(pair.shares)))
            expected = pair.weights[held[j]] * pair.shares[held[k]]
            together = np.asarray(counts[held[j], held[k]])
            out.append(np.where(seen[j] & seen[k], pair.factor * np.log((expected + 1.0) / (together + 1.0)), 0.0))
        of_levels = np.stack(out, axis=1) if out else np.empty((len(rows), 0))
        return of_levels if self.numbers is None else np.hstack([of_levels, *self._number_terms(rows, seen, held)])

    def _number_terms(self, rows: Rows, seen: npt.NDArray[np.bool_], held: Ints) -> list[Array]:
        """Return what numbers alone add, their edges, and their edges to categories."""
        terms = self.numbers
        assert terms is not None
        z = self.standardised(rows)
        own = energy(z)
        x, y = z[:, terms.first], z[:, terms.second]
        root = np.sqrt(terms.left)
        near = energy((y - terms.slope * x) / root) + energy((x - terms.slope * y) / root)
        edges = 0.5 * terms.factor * (np.log(terms.left) + near - own[:, terms.first] - own[:, terms.second])
        mean = terms.means[(self.starts[:, None] + held)[terms.category], terms.number[:, None]].T
        near = energy((z[:, terms.number] - mean) / np.sqrt(terms.left_by_level))
        to_levels = terms.level_factor * (0.5 * np.log(terms.left_by_level) + near - own[:, terms.number])
        to_levels[~seen[terms.category].T] = 0.0
        return [np.nan_to_num(part, nan=0.0) for part in (own, edges, to_levels)]


FARTHEST_NUMBER = 1e3
"""Standard deviations of a number up to which a longer row is odder: a bound, so that unseen levels can stand above it."""

BLOCK_CELLS = 2**22
"""Features held at a time."""


@dataclass(frozen=True, eq=False)
class SquaredLength:
    """A fitted score, ready to apply to encoded rows.

    Attributes
    ----------
    projection : Projection
        Rows to their features.
    scale : (q,) array
        Standard deviations of the numbers.
    penalty : float
        Added for each unseen level.
    """

    projection: Projection
    scale: Array
    penalty: float = 0.0

    @property
    def design(self) -> Design:
        """What is read."""
        return self.projection.design

    def with_penalty(self, penalty: float | None) -> SquaredLength:
        """Return the same score with another penalty; None puts each unseen level above all rows that have one less."""
        return replace(self, penalty=self.bound + 1.0 if penalty is None else float(penalty))

    @cached_property
    def bound(self) -> float:
        """What no row without unseen levels exceeds: beyond, longer is no odder."""
        longest = sum(float(np.sqrt(np.square(table).sum(axis=1).max())) for table in self.projection.tables)
        by_number = np.sqrt(np.square(self.projection.weights[self.design.number_places]).sum(axis=1))
        return float(longest + FARTHEST_NUMBER * (by_number @ self.scale)) ** 2

    def apply(self, rows: Iterable[Rows]) -> Array:
        """Return the score of all rows, (n,)."""
        return np.concatenate([np.empty(0), *(self.apply_rows(part) for part in rows)])

    def apply_rows(self, rows: Rows) -> Array:
        """Return the score of some encoded rows."""
        out = np.empty(len(rows))
        step = max(1, BLOCK_CELLS // max(1, self.projection.n_features))
        for start in range(0, len(rows), step):
            features = self.projection.apply_rows(rows.part(slice(start, start + step)))
            with np.errstate(over="ignore"):
                out[start : start + step] = np.einsum("ij,ij->i", features, features)
        np.minimum(out, self.bound, out=out)
        for k, table in enumerate(self.projection.tables):
            out += self.penalty * (rows.codes[k] == len(table) - 1)
        return out

    def _shortening(self, parts: Array) -> Array:
        """Return by what each row is to be multiplied to lie within the bound, (n,); 1 where it does."""
        # In units of the largest entry of a row, whose square may be beyond floating point.
        unit = np.abs(parts).max(axis=(1, 2), initial=0.0)
        unit = np.where(unit > 0, unit, 1.0)
        length = np.linalg.norm((parts / unit[:, None, None]).sum(axis=1), axis=1)
        longest = np.sqrt(self.bound) / unit
        return np.where(length > longest, longest / np.where(length > 0, length, 1.0), 1.0)

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """The columns, categories first, of each value (twice the same) and pair: a <= b, (e,) each."""
        return np.triu_indices(len(self.projection.tables) + len(self.design.numeric))

    def terms(self, rows: Rows) -> Array:
        """Return what the values and pairs at `places` add to the score of each row, (n, e)."""
        c, q = len(self.projection.tables), len(self.design.numeric)
        parts = np.empty((len(rows), c + q, self.projection.n_features))
        for k, table in enumerate(self.projection.tables):
            parts[:, k] = table[rows.codes[k]]
        if q:
            places = self.design.number_places
            centred = np.nan_to_num(rows.dense_numbers - np.nan_to_num(self.design.mean[places], nan=0.0), nan=0.0)
            parts[:, c:] = centred[:, :, None] * self.projection.weights[places]
        parts *= self._shortening(parts)[:, None, None]
        first, second = self.places
        out = (parts @ parts.transpose(0, 2, 1))[:, first, second]
        out[:, first < second] *= 2.0
        for k, table in enumerate(self.projection.tables):
            out[:, (first == k) & (second == k)] += self.penalty * (rows.codes[k] == len(table) - 1)[:, None]
        return np.asarray(out)


SCRATCH_BYTES = 2**18
"""Codes of the groups for a block of rows: a quarter of a second-level cache."""


_I4, _I8, _F8 = types.int32, types.int64, types.float64
_CODES = (types.uint16, types.uint32)


@kernel(*(
    types.void(code[:, ::1], *[_I8[::1]] * 2, _I8, *[_I8[::1]] * 4, _F8[::1], _I8, _I8, _F8[::1]) for code in _CODES
))  # fmt: skip
def add_tables(  # type: ignore[no-untyped-def]
    codes, group_of, group_stride, n_groups, first, second, begin, stride, cells, start, stop, out
):  # fmt: skip
    """Add to rows `start` to `stop` of `out` what `Tables` hold for `codes` (columns, n)."""
    # One group more, of which every code is 0: what has no second value is looked up with it.
    block = max(SCRATCH_BYTES // (4 * (n_groups + 1)), 256)
    given = np.empty((n_groups + 1, block), np.uint32)
    for at in range(start, stop, block):
        n = min(block, stop - at)
        total = out[at : at + n]
        given[:, :n] = 0
        for k in range(codes.shape[0]):
            column, combined, step = codes[k, at : at + n], given[group_of[k], :n], np.uint32(group_stride[k])
            for i in range(n):
                combined[i] += step * np.uint32(column[i])
        for q in range(0, len(first), 4):
            a, b, c, d = given[first[q]], given[first[q + 1]], given[first[q + 2]], given[first[q + 3]]
            e, f, g, h = given[second[q]], given[second[q + 1]], given[second[q + 2]], given[second[q + 3]]
            in_a, in_b = cells[begin[q] :], cells[begin[q + 1] :]
            in_c, in_d = cells[begin[q + 2] :], cells[begin[q + 3] :]
            by_a, by_b = np.uint64(stride[q]), np.uint64(stride[q + 1])
            by_c, by_d = np.uint64(stride[q + 2]), np.uint64(stride[q + 3])
            for i in range(n):
                total[i] += (
                    in_a[np.uint64(a[i]) * by_a + np.uint64(e[i])] + in_b[np.uint64(b[i]) * by_b + np.uint64(f[i])]
                ) + (in_c[np.uint64(c[i]) * by_c + np.uint64(g[i])] + in_d[np.uint64(d[i]) * by_d + np.uint64(h[i])])


@kernel(*(
    types.void(code[::1], code[::1], _I8[::1], _I4[::1], *[_F8[::1]] * 3, _F8, _I8, _I8, _F8[::1]) for code in _CODES
))  # fmt: skip
def add_sparse(left, right, indptr, indices, counts, weights, shares, factor, start, stop, out):  # type: ignore[no-untyped-def]
    """Add `factor` log((expected + 1) / (seen + 1)) of a pair of columns, its counts in CSR; nothing for unseen levels."""
    n_left, n_right = len(weights), len(shares)
    for i in range(start, stop):
        u, v = np.int64(left[i]), np.int64(right[i])
        if u >= n_left or v >= n_right:
            continue
        low, high = indptr[u], indptr[u + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < v:
                low = middle + 1
            else:
                high = middle
        seen = counts[low] if low < end and indices[low] == v else 0.0
        out[i] += factor * np.log((weights[u] * shares[v] + 1.0) / (seen + 1.0))


@kernel(*(
    types.void(
        _F8[:, ::1], code[:, ::1], _I8[::1], _I8[::1], _F8[:, ::1], _I8[::1], _I8[::1], _F8[::1], _F8[::1], _F8[::1],
        _I8[::1], _I8[::1], _F8[::1], _F8[::1], _I8, _I8, _F8[::1],
    ) for code in _CODES
))  # fmt: skip
def add_numbers(  # type: ignore[no-untyped-def]
    z, codes, starts, sizes, means, a, b, slope, left, factor, number, category, left_by_level, level_factor,
    start, stop, out,
):  # fmt: skip
    """Add what standardised numbers `z` (n, q) are worth: alone, by edges to numbers, and by edges to categories."""
    q = z.shape[1]
    worth = np.empty(q)
    root, shift = np.sqrt(left), 0.5 * np.log(left)
    level_root, level_shift = np.sqrt(left_by_level), 0.5 * np.log(left_by_level)
    for i in range(start, stop):
        total = 0.0
        for j in range(q):
            square = z[i, j] * z[i, j]
            worth[j] = 0.5 * square if square <= 9.0 else 4.5 * (1.0 + np.log(square / 9.0))
            if square == square:
                total += worth[j]
        for e in range(len(a)):
            x, y = z[i, a[e]], z[i, b[e]]
            if x == x and y == y:
                term = 2.0 * shift[e] - worth[a[e]] - worth[b[e]]
                for residual in ((y - slope[e] * x) / root[e], (x - slope[e] * y) / root[e]):
                    square = residual * residual
                    term += 0.5 * square if square <= 9.0 else 4.5 * (1.0 + np.log(square / 9.0))
                total += 0.5 * factor[e] * term
        for e in range(len(number)):
            x, k = z[i, number[e]], category[e]
            u = np.int64(codes[k, i])
            if x == x and u < sizes[k]:
                residual = (x - means[starts[k] + u, number[e]]) / level_root[e]
                square = residual * residual
                near = 0.5 * square if square <= 9.0 else 4.5 * (1.0 + np.log(square / 9.0))
                total += level_factor[e] * (level_shift[e] + near - worth[number[e]])
        out[i] += total


FUSED_CODES = (96, 48, 24, 12, 1)
"""Columns are fused while their combinations of levels are at most this many: 96 x 96 cells stay in cache."""

CELLS = 2**22
"""Cells that fusing may lead to; the largest limit that stays within is taken."""

AT_ONCE = 4
"""Look-ups that the kernel makes in one go."""


class Tables(NamedTuple):
    """The arguments of `add_tables` after the codes, in their order.

    Attributes
    ----------
    group_of, group_stride : (c,) arrays
        Each column's group, and its stride in the group's code.
    n_groups : int
        The group of this number has code 0 only.
    first, second, begin, stride : (t,) arrays
        Of each table the two groups, where it begins in `cells`, and the cells a code of the first group has.
    cells : array
        The first is 0: tables that fill up the last quadruple point there.
    """

    group_of: Ints
    group_stride: Ints
    n_groups: int
    first: Ints
    second: Ints
    begin: Ints
    stride: Ints
    cells: Array


def lookup_tables(own: Sequence[Array], pairs: Mapping[tuple[int, int], Array], penalty: float) -> Tables:
    """Return the tables for what levels and pairs of levels add.

    Parameters
    ----------
    own : sequence of (levels,) arrays
        What each level adds, one array per column.
    pairs : mapping
        `(j, k)`, j < k: what each pair of levels adds, (levels of j, levels of k).
    penalty : float
        What an unseen level adds: its code is the number of levels.
    """
    rooms = np.array([len(by_level) + 1 for by_level in own], np.int64)
    group_of, strides, widths = _groups(rooms, pairs)
    # Which level of each column the codes of its group stand for.
    levels = [np.arange(widths[g]) // s % room for g, s, room in zip(group_of, strides, rooms, strict=True)]
    alone = [np.zeros(width) for width in widths]
    for column, by_level in enumerate(own):
        alone[group_of[column]] += np.append(by_level, penalty)[levels[column]]
    joint: dict[tuple[int, int], Array] = {}
    for (j, k), table in pairs.items():
        g, h = int(group_of[j]), int(group_of[k])
        if g > h:
            j, k, g, h, table = k, j, h, g, table.T
        roomy = np.zeros((rooms[j], rooms[k]))
        roomy[:-1, :-1] = table
        if g == h:
            alone[g] += roomy[levels[j], levels[k]]
            continue
        if widths[g] != rooms[j]:
            roomy = roomy[levels[j]]
        if widths[h] != rooms[k]:
            roomy = roomy[:, levels[k]]
        if (g, h) in joint:
            joint[g, h] += roomy
        else:
            joint[g, h] = roomy
    n_groups = len(widths)
    parts = [(g, n_groups, 1, table) for g, table in enumerate(alone)]
    parts += [(g, h, widths[h], table) for (g, h), table in sorted(joint.items())]
    fill = -len(parts) % AT_ONCE
    begin = np.cumsum([1, *(table.size for *_, table in parts)], dtype=np.int64)
    return Tables(
        group_of,
        strides,
        n_groups,
        np.array([g for g, *_ in parts] + [n_groups] * fill, np.int64),
        np.array([h for _, h, *_ in parts] + [n_groups] * fill, np.int64),
        np.concatenate([begin[:-1], np.zeros(fill, np.int64)]),
        np.array([stride for *_, stride, _ in parts] + [0] * fill, np.int64),
        np.concatenate([[0.0], *(table.ravel() for *_, table in parts)]),
    )


def _groups(rooms: Ints, pairs: Mapping[tuple[int, int], Array]) -> tuple[Ints, Ints, list[int]]:
    """Return each column's group and stride, and the codes of each group, fused as far as memory allows."""
    groups = _fused(rooms, FUSED_CODES[0])
    for limit in FUSED_CODES[1:]:
        group_of, _, widths = groups
        joined = {frozenset((int(group_of[j]), int(group_of[k]))) for j, k in pairs}
        if sum(math.prod(widths[g] for g in pair) for pair in joined if len(pair) == 2) <= CELLS:
            break
        groups = _fused(rooms, limit)
    return groups


def _fused(rooms: Ints, limit: int) -> tuple[Ints, Ints, list[int]]:
    """Return the groups where combinations may be at most `limit`: the smallest columns are fused first."""
    group_of, strides = np.zeros(len(rooms), np.int64), np.ones(len(rooms), np.int64)
    widths: list[int] = []
    for k in np.argsort(rooms, kind="stable").tolist():
        room = int(rooms[k])
        if widths and widths[-1] * room <= limit:
            strides[k] = widths[-1]
            widths[-1] *= room
        else:
            widths.append(room)
        group_of[k] = len(widths) - 1
    return group_of, strides, widths
