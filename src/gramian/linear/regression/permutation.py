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
known, and with them the whole law: `table_tail` enumerates the tables of these margins, or draws some where they are many,
wherever the skewness is above that of chi-squared, or few rows make the law a coarse one. With a number on one side its values
are not kept, and the gamma law stands. Against classes of 20 rows and more it was seen at up to
1.2 times nominal at 1e-3 and 1.7 times at 1e-4 (a handful of events), heavy tails included; against a class of two to ten rows
and very heavy tails, or a number of a few values, at up to 2.2 times at 1e-3 and 2.7 times at 1e-4.

References: Kazi-Aoual, Hitier, Sabatier and Lebreton, Refined approximations to permutation tests for multivariate inference,
Computational Statistics and Data Analysis 20, 1995; Josse, Pages and Husson, Testing the significance of the RV coefficient,
the same 53, 2008.

How often a table of two categories with fixed margins is as far from independence as the one seen: enumerated, or drawn.

If two categories are independent, the table of their levels is that of one of them against a random permutation of the other.
Where a rare class meets rare levels, its statistic T = (n - 1)/n sum_uv (N_uv - m_uv)^2 / m_uv, m_uv = a_u b_v / n, is a sum of
squared nearly Poisson counts of small mean. P(N^2/m > t) falls like exp(-sqrt(m t) log(...)): slower than any exponential, so
no law that a few moments fix has that tail, exponential tilting (the saddlepoint) finds one full cell dearer than it is, and
only the margins tell how large the largest values are. They are all that is needed to draw tables. And where one class has very
few rows T has a handful of values, so that no smooth law has its p-values, near 1 as little as near 0.

*Enumeration.* Of the n! permutations those with the table N are in proportion to

    prod_u a_u! / prod_uv N_uv!,

so where tables are few (`ENUMERATED`) they are gone through one by one and the p-value is a quotient of two sums, exact however
small. b_v rows go into K levels in at most (b_v + K - 1 over b_v) ways; the largest class has what the others leave, so that
tables are at most the product over the others. One row in a class gives K tables, two K (K + 1) / 2.

*Splitting.* A probability of 1e-5 by plain drawing takes millions of tables. So some hundred tables are drawn; a threshold is
set at the largest quarter (`KEPT`) of their statistics; tables below it are replaced by copies of others above; and each then
makes random exchanges of the classes of two rows, refused where the statistic would fall below the threshold. Exchanges are
symmetric, so that what they leave invariant is the uniform law of all permutations above the threshold. The share of tables
above the next threshold is a conditional probability, and the p-value their product:

    P(T >= t) = P(T >= t_1) P(T >= t_2 | T >= t_1) ... P(T >= t | T >= t_k).

Thresholds, copies and exchanges depend on the margins and a fixed seed and not on t, which only says when to stop: so for given
margins the p-value is one falling function of the statistic, the same in every run. Its relative error is about
sqrt(k (1 / KEPT - 1) / tables): 10% at 1e-4 with 2,048 tables. Ties count as they do among all permutations, so that the law's
discreteness is in the result.

*Cost.* All rows but those of the largest class are held, M of them; an exchange is O(log levels), and 2 M of them a table and
threshold: some ten milliseconds. What would take more than `MOST_WORK` exchanges a threshold, M above 4,000, is left to the
gamma law.

*Two by two*, one cell is hypergeometric and the tail a sum, exact however small.

*Beyond* `FLOOR` the p-value goes on as a power of the gamma law's, p = p_0 (g / g_0)^c with c = min(1, log p_0 / log g_0) where
sampling ended: as if the two tails differed by a factor of their exponents.

References: Kahn and Harris, Estimation of particle transmission by random sampling, National Bureau of Standards Applied
Mathematics Series 12, 1951; Guyader, Hengartner and Matzner-Lober, Simulation and estimation of extreme quantiles and extreme
probabilities, Applied Mathematics and Optimization 64, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, inf, lgamma
from typing import Any

import numpy as np
from numba import njit, types
from scipy.special import gammaincc

from gramian.arrays.types import Array
from gramian.compiling import kernel

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


ENUMERATED = 300_000
"""Cells of all tables up to which tables are enumerated: some milliseconds."""

KEPT = 0.25
FLOOR = 1e-5

WORK = 400_000
"""Exchanges a threshold, over all tables, that are always granted: 2,048 tables of 100 rows held, 256 of 800."""

FEWEST_TABLES, MOST_TABLES = 256, 2048
MOST_WORK = 2_000_000
"""Exchanges a threshold beyond which tables are not drawn."""

MOST_CELLS = 20_000_000
"""Counts and rows that are in memory at a time."""

FAR = 8
"""By how much fewer tables do for a p-value far below `FLOOR`, which is extrapolated anyway."""

SEED = 20_111

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel(
    types.float64(
        types.int64[::1],
        types.int64[::1],
        types.float64[:, :, ::1],
        types.float64[:, ::1],
        types.float64,
        types.float64,
    )
)
def _share_as_large(a, b, squares, ways, other, least):  # type: ignore[no-untyped-def]
    """Return the share of all permutations whose chi-squared is at least `least`, by going through all tables.

    Parameters
    ----------
    a, b : arrays
        Rows of the levels, and of all classes but the largest.
    squares : (levels, classes, rows) array
        (N - m)^2 / m of a cell by its count; for the largest class, the last, by the count of the others together.
    ways : (levels + 1, rows) array
        log of a! / (a - N)! of a level by the count of the classes together; in the last row, log of N!.
    other : float
        Of which size the logarithm of the weight of a table is taken, so that it does not underflow.
    least : float
    """
    last, classes = len(a) - 1, len(b)
    cells = last * classes
    count = np.full(cells + 1, -1)
    value, log = np.zeros(cells + 1), np.zeros(cells + 1)
    left, used = b.copy(), np.zeros(len(a), dtype=np.int64)
    total = above = 0.0
    p = 0
    while p >= 0:
        u, v = p // classes, p % classes
        if p < cells:
            if count[p] >= 0:
                left[v] += count[p]
                used[u] -= count[p]
            count[p] += 1
            if count[p] > min(left[v], a[u] - used[u]):
                count[p] = -1
                p -= 1
                continue
            left[v] -= count[p]
            used[u] += count[p]
            value[p + 1] = value[p] + squares[u, v, count[p]]
            log[p + 1] = log[p] - ways[-1, count[p]]
            if v == classes - 1:
                value[p + 1] += squares[u, classes, used[u]]
                log[p + 1] += ways[u, used[u]]
            p += 1
            continue
        # The last level has what is left.
        rest = left.sum()
        if rest <= a[last]:
            chi, weight = value[p] + squares[last, classes, rest], log[p] + ways[last, rest]
            for w in range(classes):
                chi += squares[last, w, left[w]]
                weight -= ways[-1, left[w]]
            total += np.exp(weight - other)
            if chi >= least:
                above += np.exp(weight - other)
        p -= 1
    return above / total


@njit(inline="always")
def _uniform(state):  # type: ignore[no-untyped-def]
    """Advance a state of one number and return a uniform one of [0, 1): splitmix64."""
    state[0] += _GOLDEN
    bits = state[0]
    bits = (bits ^ (bits >> _S30)) * _FIRST
    bits = (bits ^ (bits >> _S27)) * _SECOND
    bits = bits ^ (bits >> _S31)
    return np.float64(bits >> _S11) * 2.0**-53


@njit(inline="always")
def _level(state, ends, guide):  # type: ignore[no-untyped-def]
    """Return the level of a row drawn at random: `ends` are cumulative level counts, `guide` where to start looking."""
    share = _uniform(state)
    u = guide[np.int64(share * len(guide))]
    while ends[u] <= share * ends[-1]:
        u += 1
    return u


@kernel(
    types.void(
        types.float64[::1],
        types.float64[::1],
        types.int64[::1],
        types.float64[::1],
        types.int32[::1],
        types.int32[:, ::1],
        types.int32[:, :, ::1],
        types.float64[::1],
        types.uint64[::1],
    )
)
def _draw(a, ends, guide, b, classes, levels, counts, statistics, state):  # type: ignore[no-untyped-def]
    """Fill every table with rows drawn without replacement."""
    last, n = len(b) - 1, ends[-1]
    for i in range(len(levels)):
        table = counts[i]
        for u in range(len(a)):
            table[u, :] = 0
            table[u, last] = a[u]
        # As if all rows were of the largest class; then row after row finds its own. Most cells never change.
        total = n * (n - b[last]) / b[last]
        for k in range(len(classes)):
            while True:
                u = _level(state, ends, guide)
                if _uniform(state) * a[u] < table[u, last]:
                    break
            v = classes[k]
            total += n / a[u] * ((1 - 2.0 * table[u, last]) / b[last] + (1 + 2.0 * table[u, v]) / b[v])
            levels[i, k] = u
            table[u, last] -= 1
            table[u, v] += 1
        statistics[i] = total


@kernel(
    types.void(
        types.float64[::1],
        types.float64[::1],
        types.int64[::1],
        types.float64[::1],
        types.int32[::1],
        types.int32[:, ::1],
        types.int32[:, :, ::1],
        types.float64[::1],
        types.float64,
        types.int64,
        types.uint64[::1],
    )
)
def _exchange(a, ends, guide, b, classes, levels, counts, statistics, least, moves, state):  # type: ignore[no-untyped-def]
    """Replace tables below a threshold by copies of others, then exchange rows in each, above the threshold all the time."""
    last, n, some = len(b) - 1, ends[-1], len(classes)
    above = np.flatnonzero(statistics >= least)
    for i in range(len(levels)):
        if statistics[i] < least:
            chosen = above[np.int64(_uniform(state) * len(above))]
            levels[i] = levels[chosen]
            counts[i] = counts[chosen]
            statistics[i] = statistics[chosen]
    for i in range(len(levels)):
        table = counts[i]
        for _ in range(moves):
            k = np.int64(_uniform(state) * some)
            u, v = levels[i, k], classes[k]
            # A row at random is one of the largest class, or else any of those held, all alike.
            other = _level(state, ends, guide)
            with_row, w = np.int64(-1), last
            if _uniform(state) * a[other] >= table[other, last]:
                with_row = np.int64(_uniform(state) * some)
                other, w = levels[i, with_row], classes[with_row]
            if w == v or other == u:
                continue
            change = n * (
                (1 - 2.0 * table[u, v]) / (a[u] * b[v])
                + (1 - 2.0 * table[other, w]) / (a[other] * b[w])
                + (1 + 2.0 * table[other, v]) / (a[other] * b[v])
                + (1 + 2.0 * table[u, w]) / (a[u] * b[w])
            )
            if statistics[i] + change < least:
                continue
            statistics[i] += change
            table[u, v] -= 1
            table[other, w] -= 1
            table[other, v] += 1
            table[u, w] += 1
            levels[i, k] = other
            if with_row >= 0:
                levels[i, with_row] = u


@dataclass(frozen=True)
class Tail:
    """A probability, and the statistic that it is of: the one asked for, or the last threshold before `FLOOR`."""

    probability: float
    statistic: float


def table_tail(rows: Array, columns: Array, statistic: float, *, far: bool = False) -> Tail | None:
    """Return the probability that a random table of these margins has a statistic as large, None where that is too dear.

    Parameters
    ----------
    rows, columns : arrays
        Counts of levels, whole numbers.
    statistic : float
        (n - 1) times the sum of the squared canonical correlations.
    far : bool
        Whether it is known to lie far beyond `FLOOR`.

    Examples
    --------
    Two pairs of rows: a third of the permutations gives 3, the others 0.

    >>> round(table_tail(np.array([2.0, 2.0]), np.array([2.0, 2.0]), 3.0).probability, 6)
    0.333333

    A class of one row against levels of 16, 11 and 11 rows: 22 of 38 rows are in a level of 11.

    >>> law = table_tail(np.array([16.0, 11.0, 11.0]), np.array([37.0, 1.0]), 37 / 37 * (38 / 11 - 1))
    >>> round(law.probability * 38, 6)
    22.0
    """
    a, b = (np.sort(side[side > 0])[::-1].astype(np.float64) for side in (rows, columns))
    n = a.sum()
    if len(a) == len(b) == 2:
        return Tail(_two_by_two(n, a[1], b[1], statistic), statistic)
    # Sums in another order differ by rounding: what is as large but for that counts.
    least = _just_below(statistic * n / (n - 1))
    exact = _enumerated(a, b, least)
    if exact is not None:
        return Tail(exact, statistic)
    if (n - a[0], len(a), *a) < (n - b[0], len(b), *b):
        a, b = b, a
    # The largest class last: its rows are those not held.
    b = np.ascontiguousarray(b[::-1])
    held = int(n - b[-1])
    moves = max(2 * held, 16)
    tables = min(max(WORK // moves, FEWEST_TABLES), MOST_TABLES, MOST_CELLS // (held + len(a) * len(b)))
    if held < 1 or n >= 2**31 or tables < FEWEST_TABLES or tables * moves > MOST_WORK:
        return None
    if far:
        tables //= FAR
    classes = np.repeat(np.arange(len(b) - 1, dtype=np.int32), b[:-1].astype(np.intp))
    a, ends = np.ascontiguousarray(a), np.cumsum(a)
    guide = np.searchsorted(ends, np.arange(4 * len(a)) * (n / (4 * len(a))), side="right")
    levels = np.empty((tables, held), dtype=np.int32)
    counts = np.empty((tables, len(a), len(b)), dtype=np.int32)
    statistics = np.empty(tables)
    state = np.array([SEED], dtype=np.uint64)
    _draw(a, ends, guide, b, classes, levels, counts, statistics, state)
    kept, probability, threshold = int(KEPT * tables), 1.0, -np.inf
    while True:
        as_large = int((statistics >= least).sum())
        if as_large >= kept:
            return Tail(probability * as_large / tables, statistic)
        following = np.sort(statistics)[-kept]
        # Exchanges leave rounding: equal tables of this threshold differ by less than it was lowered by.
        tied = threshold + 3 * (following - _just_below(following))
        if following <= tied:
            # More than were to be kept are at the threshold itself: on to the next value that there is.
            beyond = statistics[statistics > tied]
            if not len(beyond):
                return Tail(probability * max(as_large, 1) / tables, statistic)
            following = beyond.min()
        threshold = _just_below(following)
        probability *= float((statistics >= threshold).mean())
        if probability < FLOOR:
            return Tail(probability, threshold * (n - 1) / n)
        _exchange(a, ends, guide, b, classes, levels, counts, statistics, threshold, moves, state)


def _enumerated(a: Array, b: Array, least: float) -> float | None:
    """Return the share of permutations whose chi-squared is at least `least`, None where tables are too many.

    Parameters
    ----------
    a, b : arrays
        Margins, largest first.
    least : float
    """
    if min(len(a), len(b)) < 2:
        return None
    if _n_cells(b, a) < _n_cells(a, b):
        a, b = b, a
    if _n_cells(a, b) > ENUMERATED:
        return None
    # The largest level last: what is left fits there more often than elsewhere.
    a, small, n = a[::-1], b[1:], a.sum()
    count = np.arange(int(small.sum()) + 1)
    mean = np.outer(a, [*small, b[0]])[:, :, None] / n
    squares = np.square(count - mean) / mean
    squares[:, -1] = np.square(a[:, None] - count - mean[:, -1]) / mean[:, -1]
    ways = np.zeros((len(a) + 1, len(count)))
    ways[:-1, 1:] = np.cumsum(np.log(np.maximum(a[:, None] - count[:-1], 1.0)), axis=1)
    ways[-1, 1:] = np.cumsum(np.log(count[1:]))
    # All permutations: n! / (n - held)! over the factorials of the classes.
    every = np.log(n - count[:-1]).sum() - sum(ways[-1, int(size)] for size in small)
    return float(_share_as_large(a.astype(np.int64), small.astype(np.int64), squares, ways, every, least))


def _n_cells(a: Array, b: Array) -> float:
    """Return a bound on the cells of all tables: for each class of b but the largest, its rows over the levels of a."""
    ways = sum(lgamma(size + len(a)) - lgamma(size + 1) - lgamma(len(a)) for size in b[1:])
    return exp(ways) * len(a) * (len(b) - 1) if ways < 50 else inf


def _two_by_two(n: float, a: float, b: float, statistic: float) -> float:
    """Return the exact probability of a table of two levels and two classes: one cell is hypergeometric."""
    from scipy.stats import hypergeom

    mean = a * b / n
    # T is (n - 1)/n (N - m)^2 times the sum of 1/m over the four cells.
    apart = np.sqrt(max(_just_below(statistic), 0.0) * mean * (n - a) * (n - b) / (n * (n - 1)))
    law = hypergeom(int(n), int(a), int(b))
    return float(min(law.sf(np.ceil(mean + apart) - 1) + law.cdf(np.floor(mean - apart)), 1.0))


def _just_below(statistic: Any) -> Any:
    return statistic - 1e-9 * np.maximum(statistic, 1.0)
