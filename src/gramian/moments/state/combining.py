"""Moments of the numbers of two sets of rows together, and of one less the other.

With the sums and centred scatters C of `gramian.moments.state.numbers` (Chan), W = W_a + W_b and delta = ebar_a - ebar_b,

    C = C_a + C_b + (W_a W_b / W) delta delta^T,

and subtraction is the same identity solved for C_a.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.moments.state.numbers import Numbers


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

    Whether any rows have such moments is for `gramian.moments.algebra.possible` to say.
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
