"""What every design column adds to the residual of a level, given a covariance.

With P = (S + ridge I)^-1, the best linear prediction of the levels j of one column from all other design columns leaves
the residual e_j = P_jj^-1 (P (x - m))_j, of covariance P_jj^-1: so the rows P_jj^-1 P_j: over the roots of the diagonal of
P_jj^-1 are what each design column adds to the residuals, in standard deviations.

**One column eliminated.** Let W be the widest column, R the rest, A = S_WW + ridge I, B = S_WR, D = S_RR + ridge I. A =
diag(f + ridge) - f f^T has an inverse in closed form (f are the shares of the levels), so that

    P_RR = (D - B^T A^-1 B)^-1,      P_RW = -P_RR (A^-1 B)^T,

and the rows of W itself are -B D^-1, with covariance A - B D^-1 B^T: nothing of the size of W is factorised. The two
inverses of the size of R do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gramian.arrays import definite_inverse, each_block, together
from gramian.linear.layout import Layout
from gramian.moments import dense

Array = npt.NDArray[np.float64]

ELIMINATED_LEVELS = 128
"""From this many levels on the widest column is eliminated before a matrix is inverted."""


def turn_into_hearsay(covariance: Array, ridge: float, mean: Array, layout: Layout) -> Array:
    """Turn each level's row into what every design column (column) adds to its residual, centred over each column.

    Parameters
    ----------
    covariance : (p, p) array
        Overwritten. Rows of numbers hold nothing of use afterwards.
    ridge : float
    mean : (p,) array
        Shares of the levels.
    layout : Layout

    Returns
    -------
    precision : (p, q) array
        The columns of P that belong to the q numbers.
    """
    numbers = np.flatnonzero(~layout.is_level)
    spans = [span for span, level in zip(layout.spans(), layout.categorical, strict=True) if level]
    wide = max(spans, key=_width, default=None)
    if wide is None or _width(wide) < ELIMINATED_LEVELS:
        by_number, variance = _replace(covariance, ridge, spans, numbers)
    else:
        by_number, variance = _replace_eliminating(covariance, ridge, mean[wide], wide, spans, numbers)
    # The covariance of a residual is at least ridge I; of a level that others determine, rounding may leave less.
    deviation = np.sqrt(np.maximum(variance, ridge))
    # Numbers are centred before they are looked up.
    averaging = np.zeros((len(mean), len(spans)))
    for k, span in enumerate(spans):
        averaging[span, k] = mean[span]

    def centre(tile: slice) -> None:
        part = covariance[tile]
        part /= deviation[tile, None]
        for span, average in zip(spans, (part @ averaging).T, strict=True):
            part[:, span] -= average[:, None]

    each_block(centre, covariance)
    for span in spans:
        covariance[span, span] = np.diag((1.0 - mean[span]) / deviation[span])
    return by_number


def _width(span: slice) -> int:
    return int(span.stop - span.start)


def _replace(
    covariance: Array, ridge: float, spans: Sequence[slice], numbers: npt.NDArray[np.intp]
) -> tuple[Array, Array]:
    """Put P_jj^-1 P_j: in the place of S; return the columns of P for numbers, and the variances of the residuals."""
    covariance[np.diag_indices_from(covariance)] += ridge
    covariance[:] = definite_inverse(covariance)
    return covariance[:, numbers], _own_rows(covariance, spans)


def _own_rows(precision: Array, spans: Sequence[slice]) -> Array:
    """Multiply the rows of each column by P_jj^-1, and return its diagonal, 1 for numbers."""
    variance = np.ones(len(precision))
    for span in spans:
        left = _inverse(precision[span, span])
        variance[span] = np.diagonal(left)
        precision[span] = left @ precision[span]
    return variance


def _inverse(block: Array) -> Array:
    if len(block) != 2:
        return definite_inverse(block)
    # Most columns of wide tables have two levels, and a call costs more than this.
    (a, b), (_, d) = block
    return np.array([[d, -b], [-b, a]]) / (a * d - b * b)


def _replace_eliminating(
    covariance: Array, ridge: float, share: Array, wide: slice, spans: Sequence[slice], numbers: npt.NDArray[np.intp]
) -> tuple[Array, Array]:
    """Do as `_replace` does, with the column at `wide` eliminated."""
    inside, outside = np.arange(wide.start, wide.stop), np.r_[0 : wide.start, wide.stop : len(covariance)]
    cross, rest = covariance[dense.grid(inside, outside)].copy(), covariance[dense.grid(outside, outside)].copy()
    rest[np.diag_indices_from(rest)] += ridge
    place = np.cumsum(np.isin(np.arange(len(covariance)), outside)) - 1
    by_number, variance = np.empty((len(covariance), len(numbers))), np.ones(len(covariance))
    variance[wide] = np.diagonal(covariance)[wide] + ridge

    def rows_of_the_rest() -> tuple[Array, Array]:
        solved, product = _solved(cross, share, ridge)
        precision = definite_inverse(rest - product)
        by_number[outside] = precision[:, place[numbers]]
        by_number[inside] = -(solved @ by_number[outside])
        kept = [slice(int(place[s.start]), int(place[s.start]) + _width(s)) for s in spans if s != wide]
        variance[outside] = _own_rows(precision, kept)
        return precision, solved

    def rows_of_the_widest() -> None:
        heard = cross @ -definite_inverse(rest)
        covariance[dense.grid(inside, outside)] = heard
        variance[wide] += np.einsum("ij,ij->i", heard, cross)

    (precision, solved), _ = together(rows_of_the_rest, rows_of_the_widest)

    def across(tile: slice) -> None:
        covariance[dense.grid(outside[tile], outside)] = precision[tile]
        covariance[dense.grid(outside[tile], inside)] = -precision[tile] @ solved.T

    each_block(across, precision)
    return by_number, variance


def _solved(cross: Array, share: Array, ridge: float) -> tuple[Array, Array]:
    """Return A^-1 B and B^T A^-1 B, with A = diag(f + ridge) - f f^T and B = `cross`."""
    root = np.sqrt(share + ridge)[:, None]
    ratio = share / (share + ridge)
    # 1 - f^T (f + ridge)^-1 f, without the difference: the shares add up to 1.
    left = float((ratio * ridge).sum())
    once = ratio @ cross
    scaled = cross / root
    product = scaled.T @ scaled
    product += np.multiply.outer(once, once / left)
    scaled /= root
    scaled += np.multiply.outer(ratio, once / left)
    return scaled, product
