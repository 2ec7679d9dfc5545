"""What levels of few rows add to the noise of components.

In the chi-squared metric the cell of levels u and v of two columns holds (N_uv - n_u n_v / n) / sqrt(n_u n_v): variance 1/n
under independence whatever the levels, but with few rows hardly ever anything, and then much. Two things follow.

*The edge moves.* The fourth cumulant of a cell is 1 / (n n_u n_v), that of a Poisson count. For a symmetric matrix whose rows
have variances that sum to 1 and fourth cumulants that sum to x, the trace of the resolvent solves 1 + z m + m^2 + x m^4 = 0 in
place of the semicircle's (Lee and Schnelli 2018), so that the edge lies at the minimum over m of 1/m + m + x m^3 in place of
1/m + m. With blocks of unlike size the term added to K is dF/dM, F = 1/4 sum_jk C_jk m_j^2 m_k^2 and M = sum_j r_j m_j, where
m_j is the resolvent at a level of column j and C_jk the sum of the cumulants of a pair of columns. Where all levels of a column
have equally many rows, however few, random partitions of the rows are free (as random permutations are) and nothing
moves: C counts what the cumulants exceed those of even margins by.

*Single rows stand out.* A row whose levels are rare in several columns at once is a component of its own, with eigenvalue Q
where it alone has each of its Q levels. Take a row away from the sum of all x_i x_i^T, x_i its entries 1/sqrt(n_u): what is
left has the resolvent of the noise, at level u of column j

    h_u = 1 / (z - (z / w_j) (1 - 1/n_u)),

w_j of `gramian.linear.pca.parallel` at K = z, as one of the n_u rows that tie the level to the others is gone. The row makes an
eigenvalue above z where sum_j h_u / n_u >= 1. Levels of different columns are independent under the null, so the expected
number of such rows is n times the upper tail of a sum of Q independent terms, each with the distribution of its column's
margin: a convolution, no simulation.

References
----------
Lee and Schnelli, Local law and Tracy-Widom limit for sparse random matrices, Probab. Theory Relat. Fields 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from gramian.arrays.types import Array

GRID = 512
"""Steps to one in which the terms are convolved."""

SCATTER = 0.04
"""Standard deviation of such a sum by what the other rows of the levels happen to be (in simulated tables)."""


def excess_cumulants(counts: Sequence[Array], n: float) -> Array:
    """Return C, the fourth cumulants of the cells of each pair of columns, summed, less those of even margins.

    Parameters
    ----------
    counts : sequence of arrays
        Rows of each level, one array a column.
    n : float
        Degrees of freedom.

    Examples
    --------
    >>> excess_cumulants([np.full(10, 100.0), np.full(20, 50.0)], 1000.0)
    array([[0., 0.],
           [0., 0.]])
    """
    # The sums differ from level to level, and the edge goes by the larger of them: means weighted by themselves.
    uneven = np.array([np.sqrt(len(each) * np.square(1.0 / each).sum()) for each in counts])
    even = np.array([np.square(float(len(each))) / each.sum() for each in counts])
    out = (np.multiply.outer(uneven, uneven) - np.multiply.outer(even, even)) / n
    np.fill_diagonal(out, 0.0)
    return out


def rare_levels_share(counts: Sequence[Array], inner: Array, z: float, rest: float, n_rows: float) -> float:
    """Return how many single rows are expected to make an eigenvalue above z, under independence.

    Parameters
    ----------
    counts : sequence of arrays
        Rows of each level, one array a column.
    inner : array
        w_j of each of these columns at z.
    z : float
    rest : float
        What the numbers add to z: they are spread over all rows.
    n_rows : float
    """
    # Beyond the last point a row passes for certain.
    top = GRID + int(np.ceil(8 * SCATTER * GRID))
    sums = np.zeros(top + 1)
    sums[0] = 1.0
    for each, w in zip(counts, inner, strict=True):
        n_u, levels = np.unique(each, return_counts=True)
        at = np.minimum(w / (z * (n_u * (w - 1.0) + 1.0)) * GRID, top)
        share = n_u * levels / n_rows
        low = np.minimum(at.astype(np.intp), top - 1)
        term = np.bincount(low, share * (low + 1 - at), top + 1) + np.bincount(low + 1, share * (at - low), top + 1)
        whole = np.convolve(sums, term)
        sums = whole[: top + 1]
        sums[top] += whole[top + 1 :].sum()
    beyond = np.arange(top + 1) / GRID + rest / z - 1.0
    return float(n_rows * (sums @ ndtr(beyond / SCATTER)))
