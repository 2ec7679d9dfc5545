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

Where both sides are treated as normal (a number on either side) with d directions, R^2 is Beta(d/2, (n - 1 - d)/2) under
independence and E[-1/2 log(1 - R^2)] = [psi((n - 1)/2) - psi((n - 1 - d)/2)] / 2.

Reference: Vinh, Epps and Bailey, Information theoretic measures for clusterings comparison, JMLR 11, 2010.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from gramian.arrays.types import Array
from gramian.compiling import kernel


@kernel("float64(float64[::1], float64[::1], float64[::1], float64[::1], float64)")
def _mean_information(
    a: Array, a_times: Array, b: Array, b_times: Array, n: float
) -> float:  # pragma: no cover - compiled
    total = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            low = max(0.0, a[i] + b[j] - n)
            high = min(a[i], b[j])
            mode = min(max(np.floor((a[i] + 1.0) * (b[j] + 1.0) / (n + 2.0)), low), high)
            scale = n / (a[i] * b[j])
            spread = np.sqrt(a[i] * b[j] / n * (1.0 - a[i] / n) * (1.0 - b[j] / n))
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
            total += a_times[i] * b_times[j] * mean / mass
    return total


def mean_information(rows: npt.ArrayLike, cols: npt.ArrayLike) -> float:
    """Return the mean mutual information, in nats, of two columns with these level counts over all permutations.

    Weights that are no whole numbers of rows are rounded to such, a level that occurs counting one at least.

    Examples
    --------
    >>> import math

    Two pairs of rows: a third of the permutations gives log 2, the others nothing.

    >>> round(mean_information([2, 2], [2, 2]) / math.log(2), 9)
    0.333333333
    >>> round(mean_information([1] * 6, [3, 3]) / math.log(2), 9)
    1.0
    """
    a, b = (np.asarray(side, dtype=np.float64) for side in (rows, cols))
    n = float(np.rint(a.sum()))
    (a, a_times), (b, b_times) = (
        np.unique(np.maximum(np.rint(side[side > 0]), 1.0), return_counts=True) for side in (a, b)
    )
    if n < 1 or a[-1] > n or b[-1] > n:
        return 0.0
    return float(_mean_information(a, a_times.astype(np.float64), b, b_times.astype(np.float64), n))


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
