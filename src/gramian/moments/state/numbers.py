"""First and second moments of the numeric columns, kept so that nothing is lost to rounding.

Each number j has an *anchor* a_j, a multiple of a power of two near its spread, and every row contributes the deviation

    d_ij = x_ij - a_j   where x_ij is observed, 0 where it is missing,
    u_ij = 0            where x_ij is observed, 1 where it is missing,

with an indicator column u_j only for numbers that were ever missing. Stored are the sums of these extended columns
e = [d, u] and their *centred* scatter C = sum_i w_i (e_i - ebar)(e_i - ebar)^T.

Sets of rows add up and subtract (see below). Moving a number to another anchor adds t_j (1 - u_j),
t_j the anchor's shift, so it is linear. Mean imputation, after the pass, replaces d_j by d_j + delta_j u_j with delta_j the
observed mean of d_j: again a linear map, C -> A^T C A. No mean is ever stored, so none is stored rounded.

Beside them stand the central power sums M_3 to M_6 of each number over its observed rows, which add up by themselves
(see above).

With fewer rows than columns C has low rank: it is kept as its factor R (the centred rows), C = R^T R, and multiplied out
when rows exceed columns or on subtraction.

Moments of the numbers of two sets of rows together, and of one less the other.

With the sums and centred scatters C above (Chan), W = W_a + W_b and delta = ebar_a - ebar_b,

    C = C_a + C_b + (W_a W_b / W) delta delta^T,

and subtraction is the same identity solved for C_a.

Second to sixth central power sums of numbers: their skewness, their kurtosis, and what a test of them needs.

Over the rows in which a number is observed, with m their mean,

    M_k = sum_i w_i (x_i - m)^k,   M_0 the weight of those rows,   M_1 = 0.

About another point, m - t, the same rows have (binomial theorem)

    sum_i w_i (x_i - m + t)^k = sum_j binom(k, j) t^(k-j) M_j,

so two sets of rows are added at their common mean, and one is taken from another at the mean of what is left. Each set was
summed about its own mean, so adding never cancels; subtracting does, and where less than `CANCELLED` of a sum is left it is
unknown, NaN. Unknown stays unknown in every sum.

A mean-imputed number has the same sums: its missing rows deviate by 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import sparse as sp
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.errors import DataError

# mypy: disable-error-code="no-untyped-def"


HIGHEST = 6
CANCELLED = 1e-9
"""What must be left of a sum after a subtraction: rounding, 1e-16 of the whole, is then a millionth of it at most."""


LANES = 120
"""Sums that run side by side: several rows of few columns, so that none waits for the one before."""


@kernel("void(float64[:, ::1], float64[::1], float64[:, ::1])")
def _sum_powers(rows, mean, out):
    """Add the powers 2 to 6 of deviations to `out`, which is wider than the rows."""
    second, third, fourth, fifth, sixth = out[0], out[1], out[2], out[3], out[4]
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(mean.size):
            d = row[j] - mean[j]
            d2 = d * d
            d3 = d2 * d
            second[j] += d2
            third[j] += d3
            fourth[j] += d2 * d2
            fifth[j] += d2 * d3
            sixth[j] += d3 * d3


@kernel("void(float64[:, ::1], int64, float64, float64[::1], int64, float64[:, ::1])")
def _sum_powers_of_one(rows, j, mean, weights, indicator, out):
    """Set column j of `out` to its sums with weights, or where rows that the indicator marks are left out."""
    s2 = s3 = s4 = s5 = s6 = 0.0
    for i in range(rows.shape[0]):
        if indicator < 0 or rows[i, indicator] == 0.0:
            d = rows[i, j] - mean
            d2 = d * d
            weighted = d2 * weights[i] if weights.size > 0 else d2
            s2 += weighted
            s3 += weighted * d
            s4 += weighted * d2
            s5 += weighted * d2 * d
            s6 += weighted * d2 * d2
    out[0, j], out[1, j], out[2, j], out[3, j], out[4, j] = s2, s3, s4, s5, s6


@kernel("void(float64[::1], float64[::1], float64[:, ::1], float64[:, ::1])")
def _move(weight, shift, sums, out):
    """Write the sums of powers of deviations that are all larger by `shift` (the binomial theorem, M_1 = 0)."""
    for j in range(weight.size):
        t, w = shift[j], weight[j]
        m2, m3, m4, m5, m6 = sums[0, j], sums[1, j], sums[2, j], sums[3, j], sums[4, j]
        t2 = t * t
        t3 = t2 * t
        # Values beyond 1e50 overflow in the sixth power; their higher sums are then unknown like any other.
        out[0, j] = m2 + w * t2
        out[1, j] = m3 + 3 * t * m2 + w * t3
        out[2, j] = m4 + 4 * t * m3 + 6 * t2 * m2 + w * t2 * t2
        out[3, j] = m5 + 5 * t * m4 + 10 * t2 * m3 + 10 * t3 * m2 + w * t2 * t3
        out[4, j] = m6 + 6 * t * m5 + 15 * t2 * m4 + 20 * t3 * m3 + 15 * t2 * t2 * m2 + w * t3 * t3


@dataclass(frozen=True, eq=False)
class Powers:
    """Central power sums of p numbers over some rows.

    Attributes
    ----------
    weight : (p,) array
        Of the rows in which each is observed.
    mean : (p,) array
        Of the observed values, as a deviation from the anchor.
    sums : (5, p) array
        M_2 to M_6.
    """

    weight: Array
    mean: Array
    sums: Array

    @classmethod
    def zero(cls, p: int) -> Powers:
        """Return the sums of no rows."""
        return cls(np.zeros(p), np.zeros(p), np.zeros((HIGHEST - 1, p)))

    def about(self, point: Array) -> Array:
        """Return the (5, p) sums of the powers 2 to 6 of deviations from another point."""
        out = np.empty(self.sums.shape)
        # Chosen columns come in another order of memory.
        _move(np.ascontiguousarray(self.weight), np.asarray(self.mean - point), np.ascontiguousarray(self.sums), out)
        return out

    def __add__(self, other: Powers) -> Powers:
        """Return the sums of both sets of rows, whose anchors are the same."""
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        mean = self.mean + share * (other.mean - self.mean)
        with np.errstate(over="ignore", invalid="ignore"):
            return Powers(weight, mean, self.about(mean) + other.about(mean))

    def less(self, part: Powers, weight: Array, mean: Array, second: Array) -> Powers:
        """Return the sums without those of a part, given weight, mean and second sum of what is left."""
        whole = self.about(mean)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = whole - part.about(mean)
        for even in (2, 4):
            unknown = ~(sums[even] > CANCELLED * whole[even])
            sums[even - 1 : even + 1, unknown] = np.nan
        sums[:, second <= 0] = 0.0
        return Powers(weight, mean, np.concatenate([second[None], sums[1:]]))


def powers_of(rows: Array, sums: Array, n_columns: int, missing: tuple[int, ...], weights: Array | None) -> Powers:
    """Return the sums over some rows of extended deviations.

    Parameters
    ----------
    rows : (n, q) array
    sums : (q,) array
        Weighted sums of the rows.
    n_columns : int
        p; indicators stand after them.
    missing : tuple of int
        Columns that have indicators, in the order of those.
    weights : (n,) array, optional
    """
    n, q = rows.shape
    weight = np.full(n_columns, float(n) if weights is None else float(weights.sum()))
    weight[list(missing)] -= sums[n_columns:]
    mean = np.divide(sums[:n_columns], weight, out=np.zeros(n_columns), where=weight > 0)
    rows = np.ascontiguousarray(rows)
    if weights is None and len(missing) < n_columns:
        power_sums = np.ascontiguousarray(
            _unweighted(rows, np.concatenate([mean, np.zeros(q - n_columns)]))[:, :n_columns]
        )
    else:
        power_sums = np.zeros((HIGHEST - 1, n_columns))
    given = np.empty(0) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    at = {j: n_columns + k for k, j in enumerate(missing)}
    for j in missing if weights is None else range(n_columns):
        _sum_powers_of_one(rows, j, mean[j], given, at.get(j, -1), power_sums)
    return Powers(weight, mean, power_sums)


def _unweighted(rows: Array, mean: Array) -> Array:
    n, q = rows.shape
    beside = max(LANES // q, 1)
    whole = n - n % beside
    # Rows of `out` a multiple of 4096 bytes apart would wait for each other's stores.
    out = np.zeros((HIGHEST - 1, beside * q + 24))
    _sum_powers(rows[:whole].reshape(-1, beside * q), np.tile(mean, beside), out)
    _sum_powers(rows[whole:], mean, out)
    return out[:, : beside * q].reshape(HIGHEST - 1, beside, q).sum(axis=1)


def powers_of_sparse(rows: sp.csr_array, weights: Array | None) -> Powers:
    """Return the sums over sparse deviations: stored values one by one, all others at once."""
    n, p = rows.shape
    each = np.ones(n) if weights is None else weights
    total = float(each.sum())
    stored = np.repeat(each, np.diff(rows.indptr))
    at = rows.indices
    mean = np.bincount(at, stored * rows.data, p) / total
    empty = total - np.bincount(at, stored, p)
    deviation, sums = rows.data - mean[at], []
    with np.errstate(over="ignore", invalid="ignore"):
        power = stored * deviation
        for k in range(2, HIGHEST + 1):
            power = power * deviation
            sums.append(np.bincount(at, power, p) + empty * (-mean) ** k)
    return Powers(np.full(p, total), mean, np.stack(sums))


WIDE_COLUMNS = 512
"""Below this many columns the scatter is always multiplied out: 2 MiB at most, and one form less to think about."""


def anchor_near(mean: Array, spread: Array) -> Array:
    """Return anchors: the mean rounded to a multiple of the power of two at or below the spread.

    The rounding keeps few enough bits that differences of anchors, and of values near them, are exact. A constant
    column is its own anchor, so its deviations are exactly zero.

    Examples
    --------
    >>> anchor_near(np.array([1e8 + 0.3, 0.1, 7.25]), np.array([1.0, 1.0, 0.0])).tolist()
    [100000000.0, 0.0, 7.25]
    """
    usable = np.isfinite(spread) & (spread > 0)
    step = np.exp2(np.floor(np.log2(np.where(usable, spread, 1.0))))
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.rint(mean / step) * step
    return np.where(usable & np.isfinite(rounded), rounded, mean)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Sums and centred scatter of the extended numeric columns.

    Attributes
    ----------
    names : tuple of str
    anchors : (p,) array
        NaN for a column of which nothing was observed.
    missing : tuple of int
        Columns with an indicator, ascending; indicator k stands at p + k.
    sums : (q,) array
        Weighted sums of the extended columns, q = p + len(missing).
    powers : (4, p) array
        M_3 to M_6 of the observed values; NaN where unknown.
    scatter : (q, q) array or None
    rows : (r, q) array or None
        Exactly one of the two is there: C, or R with C = R^T R.
    """

    names: tuple[str, ...]
    anchors: Array
    missing: tuple[int, ...]
    sums: Array
    powers: Array
    scatter: Array | None
    rows: Array | None = None

    @classmethod
    def empty(cls, names: Sequence[str]) -> Numbers:
        """Return the moments of no rows."""
        p = len(names)
        wide = p >= WIDE_COLUMNS
        return cls(
            names=tuple(names),
            anchors=np.full(p, np.nan),
            missing=(),
            sums=np.zeros(p),
            powers=np.zeros((HIGHEST - 2, p)),
            scatter=None if wide else np.zeros((p, p)),
            rows=np.zeros((0, p)) if wide else None,
        )

    @property
    def n_extended(self) -> int:
        """Columns with their indicators."""
        return len(self.names) + len(self.missing)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        body = self.scatter if self.scatter is not None else self.rows
        own = self.anchors.nbytes + self.sums.nbytes + self.powers.nbytes
        return int(own + (0 if body is None else body.nbytes))

    def dense(self) -> Array:
        """Return C, multiplied out where it is kept as rows."""
        if self.scatter is not None:
            return self.scatter
        assert self.rows is not None
        return self.rows.T @ self.rows

    def diagonal(self) -> Array:
        """Return the scatter of each extended column, without multiplying out."""
        if self.scatter is not None:
            return np.diagonal(self.scatter).copy()
        assert self.rows is not None
        return np.einsum("ij,ij->j", self.rows, self.rows)

    def _taken(self, take: npt.NDArray[np.intp]) -> dict[str, Any]:
        """Return the second-moment fields of some extended columns."""
        if self.rows is not None:
            return {"scatter": None, "rows": self.rows[:, take]}
        return {"scatter": self.dense()[np.ix_(take, take)], "rows": None}

    def _mapped(self, by: Array) -> dict[str, Any]:
        """Return the second-moment fields after a linear map of the extended columns, C -> B^T C B."""
        if self.rows is not None:
            return {"scatter": None, "rows": self.rows @ by}
        return {"scatter": by.T @ self.dense() @ by, "rows": None}

    def select(self, positions: Sequence[int]) -> Numbers:
        """Return the moments of the columns at `positions`, in that order."""
        positions = list(positions)
        if positions == list(range(len(self.names))):
            return self
        ever = set(self.missing)
        missing = tuple(new for new, old in enumerate(positions) if old in ever)
        take = self.extended(positions)
        picked = replace(
            self,
            names=tuple(self.names[j] for j in positions),
            anchors=self.anchors[positions],
            missing=missing,
            sums=self.sums[take],
            powers=self.powers[:, positions],
            **self._taken(take),
        )
        return replace(picked, scatter=picked.dense(), rows=None) if len(positions) < WIDE_COLUMNS else picked

    def extended(self, positions: Sequence[int]) -> npt.NDArray[np.intp]:
        """Return where the columns at `positions`, and after them their indicators, stand among the extended ones."""
        indicator = {j: len(self.names) + k for k, j in enumerate(self.missing)}
        return np.array([*positions, *(indicator[j] for j in positions if j in indicator)], dtype=np.intp)

    def with_missing(self, missing: Sequence[int]) -> Numbers:
        """Return the same moments with indicators for the columns `missing`, a superset of those there are.

        An indicator that was always 0 has no sum and no scatter.
        """
        missing = tuple(sorted(missing))
        if missing == self.missing:
            return self
        p, at = len(self.names), {j: k for k, j in enumerate(missing)}
        place = np.array([*range(p), *(p + at[j] for j in self.missing)], dtype=np.intp)
        q = p + len(missing)
        sums = np.zeros(q)
        sums[place] = self.sums
        if self.rows is not None:
            rows = np.zeros((len(self.rows), q))
            rows[:, place] = self.rows
            return replace(self, missing=missing, sums=sums, rows=rows)
        scatter = np.zeros((q, q))
        scatter[np.ix_(place, place)] = self.scatter
        return replace(self, missing=missing, sums=sums, scatter=scatter)

    def trimmed(self) -> Numbers:
        """Return the same moments without the indicators of columns that are nowhere missing."""
        p = len(self.names)
        kept = [k for k in range(len(self.missing)) if self.sums[p + k] > 0]
        if len(kept) == len(self.missing):
            return self
        take = np.array([*range(p), *(p + k for k in kept)], dtype=np.intp)
        missing = tuple(self.missing[k] for k in kept)
        return replace(self, missing=missing, sums=self.sums[take], **self._taken(take))

    def observed(self, weight: float) -> Array:
        """Return the weight of the rows in which each column was observed."""
        out = np.full(len(self.names), float(weight))
        out[list(self.missing)] -= self.sums[len(self.names) :]
        return out

    def anchored_at(self, anchors: Array, weight: float) -> Numbers:
        """Return the same moments about other anchors (NaN where nothing was observed on either side)."""
        shift = np.where(np.isnan(self.anchors) | np.isnan(anchors), 0.0, self.anchors - anchors)
        moved = np.where(np.isnan(anchors), self.anchors, anchors)
        if not shift.any():
            return replace(self, anchors=moved)
        p = len(self.names)
        sums = self.sums.copy()
        sums[:p] += shift * self.observed(weight)
        changed = [k for k, j in enumerate(self.missing) if shift[j]]
        if not changed:
            return replace(self, anchors=moved, sums=sums)
        matrix_map = np.eye(self.n_extended)
        for k in changed:
            matrix_map[p + k, self.missing[k]] = -shift[self.missing[k]]
        return replace(self, anchors=moved, sums=sums, **self._mapped(matrix_map))

    def scale(self, factor: float) -> Numbers:
        """Return the moments with every weight multiplied."""
        return replace(
            self,
            sums=self.sums * factor,
            powers=self.powers * factor,
            scatter=None if self.scatter is None else self.scatter * factor,
            rows=None if self.rows is None else self.rows * np.sqrt(factor),
        )

    def imputed_mean(self, weight: float) -> tuple[Array, Array]:
        """Return the mean of the observed values (NaN where there are none) and its deviation from the anchor."""
        observed = self.observed(weight)
        with np.errstate(invalid="ignore", divide="ignore"):
            deviation = np.where(observed > 0, self.sums[: len(self.names)] / observed, 0.0)
        return np.where(observed > 0, self.anchors + deviation, np.nan), deviation

    def central(self, weight: float) -> Powers:
        """Return the central power sums of the observed values, the second included."""
        p, missing = len(self.names), list(self.missing)
        _, deviation = self.imputed_mean(weight)
        own = self.diagonal()
        second = own[:p].copy()
        if missing:
            at = np.arange(p, len(own))
            if self.rows is not None:
                across = np.einsum("ij,ij->j", self.rows[:, missing], self.rows[:, at])
            else:
                across = self.dense()[missing, at]
            second[missing] += deviation[missing] * (2 * across + deviation[missing] * own[p:])
        return Powers(self.observed(weight), deviation, np.concatenate([np.maximum(second, 0.0)[None], self.powers]))

    def imputed_scatter(self, weight: float) -> Array:
        """Return the centred scatter of the mean-imputed columns, A^T C A."""
        if not self.missing:
            return self.dense()
        _, deviation = self.imputed_mean(weight)
        p, missing = len(self.names), list(self.missing)
        half = self.imputed(self.dense(), deviation)
        out = half[:p].copy()
        out[missing] += half[p:] * deviation[missing, None]
        return out

    def imputed(self, columns: Array, deviation: Array) -> Array:
        """Return extended columns (the last axis) with what is missing at deviations from the anchors: C -> C A.

        A is [I; deviation at (indicator, column)]: applied in place of a (q, p) matrix product.
        """
        p, missing = len(self.names), list(self.missing)
        out = columns[..., :p].copy()
        out[..., missing] += columns[..., p:] * deviation[missing]
        return out

    def imputed_sums(self, sums: Array, weight: float) -> Array:
        """Return sums of the imputed columns' deviations *from their means*, given extended sums per level.

        Parameters
        ----------
        sums : (L, q) array
            Sums of the extended columns over the rows of each level.
        weight : float
            Total weight, which fixes the means.

        Notes
        -----
        The caller subtracts `level_weight * deviation`; this returns the anchored sums after imputation.
        """
        return self.imputed(sums, self.imputed_mean(weight)[1])

    def beside(self, right: Numbers, cross: Array) -> Numbers:
        """Return the moments of the columns of both, given the cross scatter of right and own ones."""
        if not right.names:
            return self
        old, new, p = self.dense(), right.dense(), len(self.names)
        cross = np.where(np.diagonal(old) > 0, cross, 0.0)
        scatter = np.block([[old, cross.T], [cross, new]])
        order = laid_out(np.arange(len(old)), len(old) + np.arange(len(new)), p, len(right.names))
        return Numbers(
            (*self.names, *right.names),
            np.concatenate([self.anchors, right.anchors]),
            (*self.missing, *(p + j for j in right.missing)),
            np.concatenate([self.sums, right.sums])[order],
            np.concatenate([self.powers, right.powers], axis=1),
            scatter[np.ix_(order, order)],
        )

    def equals(self, other: Numbers) -> bool:
        """Whether the two are the same to the last bit."""
        as_rows = self.rows is not None and other.rows is not None
        pairs: Any = [(self.anchors, other.anchors), (self.sums, other.sums), (self.powers, other.powers)]
        pairs.append((self.rows, other.rows) if as_rows else (self.dense(), other.dense()))
        alike = self.names == other.names and self.missing == other.missing
        return alike and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)

    def isclose(self, other: Numbers, weight: float, rtol: float) -> bool:
        """Whether means agree to `rtol` spreads, scatters to `rtol` of the product of the spreads, and powers alike.

        Powers that one side does not know are not compared.
        """
        if self.names != other.names:
            return False
        missing = sorted({*self.missing, *other.missing})
        mine = self.with_missing(missing)
        theirs = other.with_missing(missing).anchored_at(mine.anchors, weight)
        if not np.array_equal(mine.anchors, theirs.anchors, equal_nan=True):
            return False
        spread = np.sqrt(np.maximum(mine.diagonal(), theirs.diagonal()))
        # A constant column has no spread: its sums are compared with the rounding of the values themselves.
        size = np.where(np.isnan(mine.anchors), 0.0, np.abs(mine.anchors))
        floor = np.concatenate([size, np.ones(len(missing))]) * 1e-3
        sums_close = np.abs(mine.sums - theirs.sums) <= rtol * np.maximum(spread * np.sqrt(weight), weight * floor)
        difference = np.abs(mine.dense() - theirs.dense())
        scale = spread + floor * np.sqrt(weight) * np.sqrt(rtol)
        if not sums_close.all() or not (difference <= rtol * np.outer(scale, scale)).all():
            return False
        # The mean of |d|^k is at most the k-th power of the sixth mean, whatever the tails; odd sums may be near 0.
        largest = np.fmax(mine.powers[-1], theirs.powers[-1])
        typical = (
            np.power(np.maximum(largest, 0.0) / max(weight, 1e-300), 1 / HIGHEST) + (floor * np.sqrt(rtol))[: len(size)]
        )
        k = np.arange(3, HIGHEST + 1)[:, None]
        return not (np.abs(mine.powers - theirs.powers) > HIGHEST * rtol * weight * typical**k).any()


def laid_out(left: npt.NDArray, right: npt.NDArray, p: int, more: int) -> npt.NDArray:
    """Return extended columns of two sets of numbers as those of one: numbers first, indicators after them."""
    return np.concatenate([left[..., :p], right[..., :more], left[..., p:], right[..., more:]], axis=-1)


def refuse_overflow(numbers: Numbers) -> Numbers:
    """Return the moments, or raise where a sum of squares is beyond floating point; higher powers may be."""
    beyond = ~np.isfinite(numbers.diagonal()[: len(numbers.names)])
    if beyond.any():
        name = numbers.names[int(beyond.argmax())]
        way_out = "drop it, mark it missing, or rescale the column"
        raise DataError(f"column {name!r} holds a value beyond about 1e150, whose square overflows; {way_out}")
    return numbers


@np.errstate(over="ignore", invalid="ignore")
def merge(a: Numbers, weight_a: float, b: Numbers, weight_b: float) -> Numbers:
    """Return the moments of both sets of rows, about the left one's anchors."""
    if weight_b == 0:
        return a
    if weight_a == 0:
        return b
    missing = sorted({*a.missing, *b.missing})
    anchors = np.where(np.isnan(a.anchors), b.anchors, a.anchors)
    a = a.with_missing(missing).anchored_at(anchors, weight_a)
    b = b.with_missing(missing).anchored_at(anchors, weight_b)
    gap = a.sums / weight_a - b.sums / weight_b
    between = weight_a / (weight_a + weight_b) * weight_b
    sums = a.sums + b.sums
    powers = (a.central(weight_a) + b.central(weight_b)).sums[1:]
    if a.rows is not None and b.rows is not None and len(a.rows) + len(b.rows) + 1 <= a.n_extended:
        rows = np.concatenate([a.rows, b.rows, np.sqrt(between) * gap[None]])
        return refuse_overflow(replace(a, sums=sums, powers=powers, rows=rows))
    scatter = a.dense() + b.dense()
    scatter += between * np.outer(gap, gap)
    return refuse_overflow(replace(a, sums=sums, powers=powers, scatter=scatter, rows=None))


def subtract(total: Numbers, weight: float, part: Numbers, part_weight: float, left: float) -> Numbers:
    """Return `total` less `part`, rounding and all; `left` is the weight of what remains.

    Whether any rows have such moments is for `gramian.moments.algebra.feasibility` to say.
    """
    part = part.with_missing(total.missing).anchored_at(total.anchors, part_weight)
    sums = total.sums - part.sums
    scatter = total.dense() - part.dense()
    if left > 0 and part_weight > 0:
        gap = sums / left - part.sums / part_weight
        scatter -= (left / weight * part_weight) * np.outer(gap, gap)
    rest = replace(total, sums=sums, scatter=scatter, rows=None)
    if left > 0 and part_weight > 0:
        own = rest.central(left)
        powers = total.central(weight).less(part.central(part_weight), own.weight, own.mean, own.sums[0]).sums[1:]
        rest = replace(rest, powers=powers)
    return rest


def without_dust(rest: Numbers, weight: float, left: float, rounding: Array) -> Numbers:
    """Return a difference without what rounding left of columns that vary no more, or are observed no more.

    A column whose scatter cancels to nothing or below is constant where none of its cross scatters stands above rounding
    either. Where one does, C_jk^2 <= C_jj C_kk says how much the column varies at least, and that is what is kept: taken for
    constant it would lose cross scatters that are known to far more digits than its own scatter.

    Parameters
    ----------
    rest : Numbers
        As `subtract` gives it.
    weight, left : float
        Weight of the whole, and of what is left of it.
    rounding : (q,) array
        Of each extended column: two of them multiplied are the size of rounding in their cross scatter.
    """
    if left == 0:
        return Numbers.empty(rest.names)
    p, sums, scatter = len(rest.names), rest.sums.copy(), rest.dense().copy()
    sums[p:] = np.where(sums[p:] > 1e-12 * weight, sums[p:], 0.0)
    own = np.diagonal(scatter).copy()
    for j in np.flatnonzero(own <= 0):
        known = (own > 0) & (np.abs(scatter[j]) > rounding[j] * rounding)
        if known.any():
            scatter[j, j] = np.max(np.square(scatter[j, known]) / own[known])
    gone = np.diagonal(scatter) <= 0
    scatter[gone] = 0.0
    scatter[:, gone] = 0.0
    powers = rest.powers.copy()
    powers[:, gone[:p]] = 0.0
    rest = replace(rest, sums=sums, scatter=scatter, powers=powers).trimmed()
    return replace(rest, anchors=np.where(rest.observed(left) > 1e-12 * weight, rest.anchors, np.nan))
