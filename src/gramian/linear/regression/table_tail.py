"""How often a table of two categories with fixed margins is as far from independence as the one seen: enumerated, or drawn.

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

from dataclasses import dataclass
from math import exp, inf, lgamma
from typing import Any

import numpy as np
from numba import njit, types

from gramian.arrays.types import Array
from gramian.compiling import kernel

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
