r"""Does a pair of columns say more than the two say each? A test from the cells of the residuals of an additive model.

With u_i and w_i the slope and the curvature of the log-likelihood of row i at its predictor
(`gramian.linear.regression.glm`), the cells c of a pair have N_c rows, W_c = sum w_i and U_c = sum u_i. What is new in the
cells, beyond a function of either column, is what is left of the working residuals r_i = u_i / w_i after weighted least
squares on the two:

    Q = sum_c U_c^2 / W_c - b^T M^+ b,       M = [[diag W_l., W], [W^T, diag W_.k]],  b = (U_l., U_.k).

*Residuals.* Those of the scale of the link: there an additive truth has an additive expectation, while on the scale of
probabilities its curvature looks like an interaction. And cross-fitted: the predictor of a row is of a model without its
fold, so that what the model has learned of a row is not missing from its residual.

*Law.* With e_i = u_i / sqrt(w_i) and A the hat matrix of the cells beyond the two columns (rank `df`, entries sqrt(w_i w_j)
H_cd, H = diag(1 / W) - z M^+ z^T), Q = e^T A e, and T = (n - 1) Q / e^T e is the permutation statistic of
`gramian.linear.regression.permutation`: mean df, and a variance and skewness by the leverages and by the fourth and sixth
power of e. Chi-squared is its limit; a rare class or a heavy tail has few rows with most of e^T e, and the gamma law knows
it. Within a cell w_i is taken as W_c / N_c. Curvatures below `LEAST_CURVATURE` are taken as that: a row that was thought sure
and is not would have an e_i that dwarfs all others.

*Dispersion.* Of classes the variance of u_i is w_i, so E e^T e = n is known, and n stands in T and its law in place of e^T e.
What is observed is too large where events are rare: of a row with the probability p, predicted as q without its fold, e_i^2 has
the expectation p / q or so, and the mean of p / q is above 1 when q errs to both sides (1.25 with 30 events in 3,000 rows),
while in the cells U_c and W_c add up before they are divided. T was 0.8 of its mean, and the test rejected 0.3% at 1%.

*Cells.* Those of fewer than 20 rows are left out, and so are those where the smaller of the two classes, or the curvature, is
expected less than once (W_c < 1): their U_c is far from normal.

*Gain.* T - df is what is left of the statistic without what chance gives it. Divided by n it is the share of the residual
variance that the cells explain. Pairs are ranked by it; p-values are adjusted by Benjamini and Hochberg.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.design.bins import LEAST_ROWS
from gramian.linear.regression.permutation import Side, null_law

LEAST_CURVATURE = 1e-3
"""Of a row, in units of the mean curvature of all rows."""

CLEAR = 0.2
"""Above this the p-value is that of a gamma law of the mean and the variance: nobody asks for its tail."""


@kernel(
    "void(uint16[:, ::1], int64[:, ::1], uint8[::1], float64[::1], float64[::1], float64[::1], float64[:, :, ::1])",
    "void(uint32[:, ::1], int64[:, ::1], uint8[::1], float64[::1], float64[::1], float64[::1], float64[:, :, ::1])",
)
def add_cells(codes, pairs, folds, weights, curvature, slope, out):  # type: ignore[no-untyped-def]
    """Add rows, curvatures, slopes and weights to the cells of pairs (columns, levels of the second, first cell) by fold."""
    for k in range(pairs.shape[0]):
        a, b, width, start = pairs[k]
        for i in range(folds.size):
            cell = start + codes[a, i] * width + codes[b, i]
            out[folds[i], cell, 0] += 1.0
            out[folds[i], cell, 1] += curvature[i]
            out[folds[i], cell, 2] += slope[i]
            out[folds[i], cell, 3] += weights[i]


def residual_side(powers: Array) -> Side:
    """Return the side of the residuals e, from the sums of e^2, e^3, e^4 and e^6."""
    second, third, fourth, sixth = map(float, powers)
    skewed = third**2 / second**3
    return Side(1.0, fourth / second**2, sixth / second**3, skewed, skewed)


@dataclass(frozen=True)
class PairTest:
    """The test of one pair.

    Attributes
    ----------
    statistic : float
        T.
    df : int
    p_value, gain : float
    n_cells : int
        Cells that are looked at.
    """

    statistic: float
    df: int
    p_value: float
    gain: float
    n_cells: int


NOTHING = PairTest(0.0, 0, 1.0, 0.0, 0)


def interaction(cells: Array, powers: Array, n: float) -> PairTest:
    """Return the test of a pair.

    Parameters
    ----------
    cells : (levels, levels, 3 or more) array
        Rows, curvature and slope of each cell.
    powers : (4,) array
        Sums of e^2 (or what is expected of it), e^3, e^4 and e^6 over all rows.
    n : float
        Number of rows.

    Examples
    --------
    Two columns whose effect is that of their exclusive or.

    >>> rows = np.full((2, 2), 100.0)
    >>> cells = np.stack([rows, rows / 4, rows / 4 * [[1, -1], [-1, 1]]], axis=2)
    >>> found = interaction(cells, np.array([400.0, 0.0, 400.0, 400.0]), 400)
    >>> found.df, round(found.statistic, 2), found.p_value < 1e-10
    (1, 99.75, True)
    """
    rows, curvature, slope = np.moveaxis(cells[..., :3], 2, 0)
    kept = (rows >= LEAST_ROWS) & (curvature >= 1.0)
    first, second = np.nonzero(kept)
    if len(first) < 4 or n < 3:
        return NOTHING
    w, u, count = curvature[kept], slope[kept], rows[kept]
    design = np.zeros((len(w), sum(kept.shape)))
    at = np.arange(len(w))
    design[at, first] = design[at, kept.shape[0] + second] = 1.0
    scaled = design * np.sqrt(w)[:, None]
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    some = values > 1e-10 * values[-1]
    df = len(w) - int(some.sum())
    if df < 1:
        return NOTHING
    # Over the cells, each as one row of weight W_c: what is beyond the two columns.
    basis = scaled @ (vectors[:, some] / np.sqrt(values[some]))
    residual = u / np.sqrt(w)
    left = residual - basis @ (basis.T @ residual)
    statistic = (n - 1) * float(left @ left) / float(powers[0])
    leverage = 1.0 - np.einsum("ij,ij->i", basis, basis)
    share = leverage / count
    side = Side(float(df), float(leverage @ share), float(leverage @ share**2))
    other = residual_side(powers)
    p_value = null_law(n, side, other).upper_tail(statistic)
    if p_value < CLEAR:
        # The third moment takes the whole matrix.
        hat = -basis @ basis.T
        hat[at, at] += 1.0
        root = hat / np.sqrt(np.outer(count, count))
        entries = float(count @ (root * root * root) @ count)
        side = replace(side, entries=entries, form=float(leverage @ root @ leverage))
        p_value = null_law(n, side, other).upper_tail(statistic)
    p_value = min(max(p_value, 0.0), 1.0)
    return PairTest(statistic, df, p_value, (statistic - df) / n, len(w))


def adjusted(p_values: Array) -> Array:
    """Return the false discovery rates of Benjamini and Hochberg at which each would be a discovery.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    count = len(p_values)
    order = np.argsort(p_values)[::-1]
    scaled = p_values[order] * count / np.arange(count, 0, -1)
    out = np.empty(count)
    out[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return out
