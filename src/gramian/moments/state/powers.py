# mypy: disable-error-code="no-untyped-def"
"""Second to sixth central power sums of numbers: their skewness, their kurtosis, and what a test of them needs.

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

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.compiling import kernel

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
