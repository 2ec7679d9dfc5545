"""The law of the independence statistic over all permutations of one side: its first three moments, and the tail they give.

With hat matrices A and B of the two sides (projectors on their centred columns) the statistic is T = (n - 1) tr(A B). If the
sides are independent, every pairing of the rows of one with the rows of the other is as likely as the one seen, so T has the
law of (n - 1) sum_ij a_ij b_s(i)s(j), s a uniform permutation. Averaging over s leaves sums over one matrix at a time:

    rank     T_a = tr A = tr A^2 = tr A^3
    squares  L_a = sum_i a_ii^2                the a_ii are the leverages of the rows
    cubes    C_a = sum_i a_ii^3
    entries  U_a = sum_ij a_ij^3
    form     F_a = sum_ij a_ii a_ij a_jj

*Why these.* Write T as the sum of squares of W_kl = sqrt(n - 1) sum_i x_ik y_s(i)l over orthonormal columns x of A and y of B.
To leading order the cumulants of W are products of those of x and y: variance 1, third k3(x) k3(y) / sqrt(n), fourth
k4(x) k4(y) / n and so on. Summing over the ways to link the squares (Leonov and Shiryaev), with K = n L - T^2 - 2 T the
contracted fourth cumulant and J = n^2 C - 6 n F - 4 n U - (3 T + 12) K - T (T + 2)(T + 4) the sixth,

    mean T_a T_b,     variance 2 T_a T_b + K_a K_b / n,
    third cumulant 8 T_a T_b + 12 K_a K_b / n + 6 n F_a F_b + 4 n U_a U_b + J_a J_b / n^2.

Chi-squared is what is left where K and J vanish, as for normal numbers. A rare class has leverage near 1 in few rows, a heavy
tail too; where both sides have, K_a K_b / n dwarfs the 2 T_a T_b. The moments below are exact for every n.

*The tail.* Pearson's third type, a gamma law with an origin, has any mean, variance and positive skewness. Two things bound it.
T is nowhere negative, so the origin is not either: a skewness below that of the gamma law from 0 is taken as that one, which
is too careful by a little. And where the variance is above that of chi-squared, the law is a bulk like chi-squared with
rare large values, and the larger of the two tails is taken: a gamma law of very large variance has most of its mass near 0, so
that by itself it finds ordinary values of the bulk rare.

*Two categories.* Where a rare class meets rare levels three moments do not fix the tail: at 1e-4 the gamma law is too light, by
up to five; and where it leaves T a handful of values, at a p-value of 0.5 by up to nine. But the margins of two categories are
known, and with them the whole law: `gramian.linear.regression.table_tail` enumerates the tables of these margins, or draws some
where they are many, wherever the skewness is above that of chi-squared, or few rows make the law a coarse one. With a
number on one side its values are not kept, and the gamma law stands. Against classes of 20 rows and more it was seen at up to
1.2 times nominal at 1e-3 and 1.7 times at 1e-4 (a handful of events), heavy tails included; against a class of two to ten rows
and very heavy tails, or a number of a few values, at up to 2.2 times at 1e-3 and 2.7 times at 1e-4.

References: Kazi-Aoual, Hitier, Sabatier and Lebreton, Refined approximations to permutation tests for multivariate inference,
Computational Statistics and Data Analysis 20, 1995; Josse, Pages and Husson, Testing the significance of the RV coefficient,
the same 53, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaincc

from gramian.arrays.types import Array
from gramian.linear.regression.table_tail import FLOOR, table_tail

DEGENERATE = 1e-10
"""Of the variance of chi-squared: below, the statistic is the same for every permutation but for rounding."""

FEW_ROWS = 200
"""So many rows outside the largest level of either side: tables are drawn whatever the moments say."""

AS_SKEW = 1.02
"""Of the skewness of chi-squared: up to this the gamma law keeps its tail."""


@dataclass(frozen=True)
class Side:
    """What the law needs of one side; NaN where it is not known."""

    rank: float
    squares: float = float("nan")
    cubes: float = float("nan")
    entries: float = float("nan")
    form: float = float("nan")
    estimated: bool = False
    counts: Array | None = field(default=None, repr=False, compare=False)
    """Of the levels, where the side is one category as such."""


@dataclass(frozen=True)
class NullLaw:
    """Moments of the statistic over all permutations; NaN where they are not known."""

    mean: float
    variance: float
    skewness: float
    margins: tuple[Array, Array] | None = field(default=None, repr=False, compare=False)

    def upper_tail(self, statistic: float) -> float:
        """Return the probability of a statistic as large, 1 where there is nothing to test."""
        tail = self.gamma_tail(statistic)
        if self.margins is None or not self._is_sparse():
            return tail
        sampled = table_tail(*self.margins, statistic, far=tail < FLOOR**3)
        if sampled is None:
            return tail
        if sampled.statistic >= statistic:
            return sampled.probability
        there = self.gamma_tail(sampled.statistic)
        power = min(float(np.log(sampled.probability) / np.log(there)), 1.0) if 0 < there < 1 else 1.0
        return float(sampled.probability * (tail / there) ** power)

    def _is_sparse(self) -> bool:
        """Whether few rows, or a skewness beyond that of chi-squared, leave the gamma law without its tail."""
        assert self.margins is not None
        few = min(float(side.sum() - side.max()) for side in self.margins) <= FEW_ROWS
        return few or not self.skewness <= AS_SKEW * np.sqrt(8 / self.mean)

    def gamma_tail(self, statistic: float) -> float:
        """Return the probability of a statistic as large by the moments alone."""
        if not self.mean > 0:
            return 1.0
        plain = _chi_squared_tail(statistic, self.mean)
        if not np.isfinite(self.variance):
            return plain
        if self.variance <= DEGENERATE * 2 * self.mean:
            return 1.0
        spread = float(np.sqrt(self.variance))
        # NaN is not above anything: without a skewness the law starts at 0.
        from_zero = 2 * spread / self.mean
        origin = self.mean - 2 * spread / self.skewness if self.skewness > from_zero else 0.0
        above = self.mean - origin
        tail = float(gammaincc(above**2 / self.variance, max(statistic - origin, 0.0) * above / self.variance))
        return max(tail, plain) if self.variance > 2 * self.mean else tail


def _chi_squared_tail(statistic: float, df: float) -> float:
    return float(gammaincc(df / 2, max(statistic, 0.0) / 2))


def null_law(n: float, a: Side, b: Side) -> NullLaw:
    """Return the law of T for two sides of n rows.

    Notes
    -----
    With 3 rows the leverages are fixed by the rank and their term of the variance is 0 / 0, its limit 0; with 2 rows or less
    T is a constant. The third moment takes 6 rows.

    Examples
    --------
    Two pairs of rows: a third of the permutations gives 3, the others 0.

    >>> halves = Side(rank=1, squares=0.25, cubes=1 / 16, entries=0.0, form=0.0)
    >>> null_law(4, halves, halves)
    NullLaw(mean=1.0, variance=2.0, skewness=nan)
    """
    n, mean = float(n), float(a.rank * b.rank)
    if n <= 2:
        return NullLaw(mean, 0.0, float("nan"))
    margins = _margins(n, a, b)
    first = 2 * np.prod([(n - 1) * s.rank - s.rank**2 for s in (a, b)]) / ((n + 1) * (n - 2))
    variance = float(first)
    if n > 3:
        excess = [n * (n + 1) * s.squares - (n - 1) * (s.rank**2 + 2 * s.rank) for s in (a, b)]
        variance += (n - 1) / ((n + 1) * n * (n - 2) * (n - 3)) * excess[0] * excess[1]
    variance = max(variance, 0.0) if np.isfinite(variance) else float("nan")
    if not n >= 6 or not variance > 0:
        return NullLaw(mean, variance, float("nan"), margins)
    third = (n - 1) ** 3 * _third_moment(n, a, b) - 3 * mean * variance - mean**3
    return NullLaw(mean, variance, float(third / variance**1.5) if np.isfinite(third) else float("nan"), margins)


def _margins(n: float, a: Side, b: Side) -> tuple[Array, Array] | None:
    """Return the level counts of two categories of n whole rows."""
    if a.counts is None or b.counts is None:
        return None
    whole = all(side.counts is not None and np.array_equal(side.counts, np.rint(side.counts)) for side in (a, b))
    return (a.counts, b.counts) if whole and a.counts.sum() == b.counts.sum() == n else None


def _third_moment(n: float, a: Side, b: Side) -> float:
    """Return the mean of tr(A B)^3, a bilinear form of eight sums of each side (Kazi-Aoual et al., theorem 2).

    The rows of the table are coefficients in n of the products of the sums in the order of `sums`; it is symmetric.
    """
    x, y = (
        np.array([s.rank**3, 6 * s.rank**2, 8 * s.rank, s.rank * s.squares, s.squares, s.cubes, s.entries, s.form])
        for s in (a, b)
    )
    return float(x @ _third_table(n) @ y / np.prod(n - np.arange(6.0)))


@lru_cache(maxsize=64)
def _third_table(n: float) -> Array:
    """Return the coefficients of the third moment: the same for all columns of as many rows."""
    p = np.polynomial.polynomial.polyval
    less = n - 2
    table = np.zeros((8, 8))
    upper: dict[tuple[int, int], Any] = {
        (0, 0): p(n, [-14, 23, -9, 1]),
        (0, 1): n - 4,
        (0, 2): 1.0,
        (1, 1): p(n, [-14, 24, -9, 1]) / 6,
        (1, 2): (n - 3) / 2,
        (2, 2): p(n, [-22, 26, -9, 1]) / 8,
        (0, 3): -less * p(n, [6, -15, 3]),
        (0, 4): -less * 24,
        (0, 5): 2 * n * (n - 1) * less,
        (0, 6): -16.0,
        (0, 7): -p(n, [24, -30, 6]),
        (1, 3): -less * p(n, [6, -5, 1]),
        (1, 4): -less * p(n, [24, -10, 2]),
        (1, 5): 2 * n * (n - 1) * less,
        (1, 6): -p(n, [16, -10, 2]),
        (1, 7): -p(n, [24, -20, 4]),
        (2, 3): -less * 6,
        (2, 4): -less * p(n, [24, -15, 3]),
        (2, 5): 2 * n * (n - 1) * less,
        (2, 6): -p(n, [16, -15, 3]),
        (2, 7): -p(n, [24, -15, 3]),
        (3, 3): 3 * p(n, [-12, 9, -2, -4, 1]),
        (3, 4): 12 * p(n, [-12, 9, -2, 1]),
        (3, 5): -3 * n * (n - 1) ** 2 * (n + 4),
        (3, 6): 12 * p(n, [4, -1, 1]),
        (3, 7): 6 * p(n, [12, -3, -7, 2]),
        (4, 4): 12 * p(n, [-48, 36, -8, -1, 1]),
        (4, 5): -12 * n * (n - 1) ** 2 * (n + 4),
        (4, 6): 24 * p(n, [8, -2, -3, 1]),
        (4, 7): 24 * p(n, [12, -3, -2, 1]),
        (5, 5): n**2 * (n + 1) * p(n, [-4, 15, 1]),
        (5, 6): -4 * n * (n - 1) * p(n, [4, -1, 1]),
        (5, 7): -6 * n * (n - 1) * p(n, [4, -1, 1]),
        (6, 6): 4 * p(n, [-16, -4, 19, -8, 1]),
        (6, 7): 24 * p(n, [-4, -1, 1]),
        (7, 7): 6 * p(n, [-24, -6, 21, -8, 1]),
    }
    for (i, j), value in upper.items():
        table[i, j] = table[j, i] = value
    return table
