"""The mutual information that two columns show by chance: its mean over all permutations of one of them.

With margins a_i and b_j of n rows, a cell of the permuted table is hypergeometric, so

    E[I] = sum_ij sum_x P(x; n, a_i, b_j) (x/n) log(n x / (a_i b_j)),

exact for every n. The plain estimate (Miller and Madow: (K_x - 1)(K_y - 1) / 2n for tables without empty cells) is what is
left of it for large cells; for a column of nearly as many levels as rows only the exact mean knows that I = H(y) is no
news.

Cells of equal margins have the same mean, so distinct margins are summed over with their multiplicities; and the sum over x
runs from the mode outwards, until what is left is below rounding: a few standard deviations. Of a wide law every x is not
needed: sums over every h-th x of a smooth bell of standard deviation s differ from the whole by a share exp(-2 pi^2 (s/h)^2)
(Poisson's formula), nothing at all for h = s/4, and it is the logarithms that take the time.

Of a law that is narrow beside its mean u = a b / n the sum is not needed either. With d = x - u

    E[x log(x / u)] = sum_{k >= 2} (-1)^k E[d^k] / (k (k - 1) u^(k - 1)),

whose terms fall as powers of (s/u)^2. The moments m_k = E[d^k] follow from

    P(x + 1) (x + 1)(n - a - b + x + 1) = P(x) (a - x)(b - x):

summed against d^k, with B = n - a - b + 2u and V = u (n - a)(n - b) / n, it reads
E[d^k (V - (n - B) d + d^2)] = E[(d - 1)^k (V + B d + d^2)], and so

    (n - k) m_(k+1) = k (B m_k + V m_(k-1)) - sum_{i <= k-2} C(k, i) (-1)^(k-i) (m_(i+2) + B m_(i+1) + V m_i).

Where both sides are treated as normal (a number on either side) with d directions, R^2 is Beta(d/2, (n - 1 - d)/2) under
independence and E[-1/2 log(1 - R^2)] = [psi((n - 1)/2) - psi((n - 1 - d)/2)] / 2.

Reference: Vinh, Epps and Bailey, Information theoretic measures for clusterings comparison, JMLR 11, 2010.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from gramian.arrays.types import Array
from gramian.compiling import kernel

MOST_KEPT = 2048
"""Distinct margins up to which the means of all pairs of them are kept, 32 MB of them."""

SERIES = 12
"""Moments of a cell that its series takes."""

NARROW_LAW = 1 / 25
"""Standard deviation of a cell over its mean up to which the series serves: what it leaves out is below 1e-13 of the sum."""


@kernel("void(float64[::1], float64[::1], float64[::1], float64, float64[::1])")
def _mean_information(a: Array, a_times: Array, b: Array, n: float, out: Array) -> None:  # pragma: no cover - compiled
    """Write for each margin b the mean of its cells with the margins a."""
    moment, term = np.zeros(SERIES + 1), np.zeros(SERIES + 1)
    for j in range(len(b)):
        total = 0.0
        for i in range(len(a)):
            scale = n / (a[i] * b[j])
            variance = a[i] * b[j] / n * (1.0 - a[i] / n) * (1.0 - b[j] / n)
            spread = np.sqrt(variance)
            if scale < 0.01 and spread * scale <= NARROW_LAW:
                slope = n - a[i] - b[j] + 2.0 / scale
                moment[0], moment[1] = 1.0, 0.0
                for k in range(1, SERIES):
                    # Of (d - 1)^k: binomial coefficients with their signs, from the second highest power down.
                    rest, coefficient = 0.0, -float(k)
                    for m in range(k - 2, -1, -1):
                        coefficient *= -(m + 1.0) / (k - m)
                        rest += coefficient * term[m]
                    moment[k + 1] = (k * (slope * moment[k] + variance * n * moment[k - 1]) - rest) / (n - k)
                    term[k - 1] = moment[k + 1] + slope * moment[k] + variance * n * moment[k - 1]
                mean, power = 0.0, scale
                for k in range(2, SERIES + 1):
                    mean += power * moment[k] / (k * (k - 1.0))
                    power *= -scale
                total += a_times[i] * mean / n
                continue
            low = max(0.0, a[i] + b[j] - n)
            high = min(a[i], b[j])
            mode = min(max(np.floor((a[i] + 1.0) * (b[j] + 1.0) / (n + 2.0)), low), high)
            step = max(1, int(spread / 4.0))
            mass = 1.0
            mean = mode / n * np.log(scale * mode) if mode > 0 else 0.0
            weight, x = 1.0, mode
            left = step
            while x < high:
                weight *= (a[i] - x) * (b[j] - x) / ((x + 1.0) * (n - a[i] - b[j] + x + 1.0))
                x += 1.0
                left -= 1
                if left == 0:
                    left = step
                    mass += weight
                    mean += weight * x / n * np.log(scale * x)
                    if weight < 1e-17 * mass:
                        break
            weight, x = 1.0, mode
            left = step
            while x > low:
                weight *= x * (n - a[i] - b[j] + x) / ((a[i] - x + 1.0) * (b[j] - x + 1.0))
                x -= 1.0
                left -= 1
                if left == 0:
                    left = step
                    mass += weight
                    if x > 0:
                        mean += weight * x / n * np.log(scale * x)
                    if weight < 1e-17 * mass:
                        break
            total += a_times[i] * mean / mass
        out[j] = total


def _margins(counts: npt.ArrayLike) -> tuple[Array, Array]:
    """Return the distinct numbers of rows of the levels of a column, and how many levels have each."""
    side = np.asarray(counts, dtype=np.float64)
    distinct, times = np.unique(np.maximum(np.rint(side[side > 0]), 1.0), return_counts=True)
    return distinct, times.astype(np.float64)


class MeanInformation:
    """The mean mutual information over all permutations of one column with each of many.

    The mean of a cell is a function of its two margins alone, so what is computed once for the margins of a column and all
    distinct margins of the others serves every table, and every column that has a margin again.

    Parameters
    ----------
    counts : sequence of arrays
        Weights of the levels of each column; none where a column has no tables.

    Examples
    --------
    >>> MeanInformation([[2, 2], [1, 1, 1, 1], [4]]).row(0).round(6)
    array([0.231049, 0.693147, 0.      ])
    """

    def __init__(self, counts: Sequence[npt.ArrayLike]) -> None:
        self._n = [float(np.rint(np.sum(own))) for own in counts]
        self._margins = [_margins(own) for own in counts]
        self._owner = np.repeat(np.arange(len(counts)), [len(own) for own, _ in self._margins])
        every = np.concatenate([own for own, _ in self._margins]) if self._margins else np.zeros(0)
        self._times = np.concatenate([times for _, times in self._margins]) if self._margins else np.zeros(0)
        self._distinct, self._at = np.unique(every, return_inverse=True)
        self._most = np.array([own[-1] if len(own) else 0.0 for own, _ in self._margins])
        self._known: dict[tuple[float, float], Array] = {}

    def row(self, j: int) -> Array:
        """Return the mean of column j with every column, itself among them: as of a column with the same counts."""
        n, (own, times) = self._n[j], self._margins[j]
        if n < 1 or not len(own) or own[-1] > n:
            return np.zeros(len(self._n))
        inside = self._distinct[: int(np.searchsorted(self._distinct, n, side="right"))]
        cells = np.zeros(len(self._distinct))
        if len(self._distinct) > MOST_KEPT:
            some = np.empty(len(inside))
            _mean_information(own, times, inside, n, some)
            cells[: len(inside)] = some
        else:
            for margin, count in zip(own, times, strict=True):
                if (margin, n) not in self._known:
                    some = np.empty(len(inside))
                    _mean_information(np.array([margin]), np.ones(1), inside, n, some)
                    self._known[margin, n] = some
                cells[: len(inside)] += count * self._known[margin, n]
        out = np.bincount(self._owner, cells[self._at] * self._times, len(self._n))
        return np.where(self._most <= n, out, 0.0)


def mean_gaussian_information(n: float, directions: Array) -> Array:
    """Return the mean of -1/2 log(1 - R^2) for so many directions that have nothing to do with a number.

    Examples
    --------
    >>> mean_gaussian_information(1001.0, np.array([0.0, 1.0, 10.0])).round(6)
    array([0.      , 0.000501, 0.00503 ])
    """
    d = np.asarray(directions, dtype=np.float64)
    room = n - 1 - d
    # Where the directions exhaust the rows anything is explained.
    return np.where(
        room > 0, (digamma(max(n - 1, 1e-300) / 2) - digamma(np.where(room > 0, room, 1.0) / 2)) / 2, np.inf
    )
