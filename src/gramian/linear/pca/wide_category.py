"""Principal components beside one category wider than all other columns together, exactly and without its levels.

In the chi-squared metric the block of a category is W (I - r r^T), r the roots of its shares: the same variance in every
direction. With B the scatter between its levels and the other columns in the metric (r^T B = 0, since B is centred) and M that
of the others, an eigenvector (x, y) of

    [ W (I - r r^T)   B ]                      B y = (l - W) x
    [ B^T             M ]    means             B^T x + M y = l y .

Directions of the levels outside the range of B are eigenvectors of their own, with l = W. In the range, of dimension at most q,
the number of other design columns, x has coordinates in the left singular vectors of B = U diag(s) Q^T, and what is left is the
eigenproblem of the small [W I, diag(s); diag(s), Q^T M Q] of order 2q. It needs B^T B alone, which is W times what the category
explains of the other columns (the Schur complement of `gramian.linear.scatter.wide`), and gives every eigenvalue. Leading
vectors have l > W, and their part on the levels is x = B y / (l - W): one sparse product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import eigh_chosen, eigh_descending, fix_signs, relative_rank
from gramian.arrays.types import Array
from gramian.linear.layout import Layout
from gramian.linear.scatter.wide import MATRIX, Elimination
from gramian.moments.value import Moments

WIDE = 1000
"""Levels from which a category is worth leaving out; it must also have more than three times the other design columns."""

APART = 1e-4
"""How far above W, relatively, an eigenvalue must lie for its vector to be read off to 1e-11."""


@dataclass(frozen=True, eq=False)
class LeadingPairs:
    """Eigenpairs of the scatter in the metric, its rank, and the curve behind their number."""

    values: Array
    vectors: Array
    rank: int
    selection: dict[str, npt.NDArray]


def pairs_beside_wide(
    moments: Moments,
    layout: Layout,
    metric: Array | None,
    most: int | None,
    chosen: Callable[[Array, int, Array], tuple[int, dict[str, npt.NDArray]]],
) -> LeadingPairs | None:
    """Return the pairs that `chosen(values, rank, vectors)` keeps; None where no category is that wide, or they are too many.

    Parameters
    ----------
    moments : Moments
    layout : Layout
    metric : (p,) array or None
    most : int, optional
        Vectors that will do, where their number is known.
    chosen : callable
        Gets all eigenvalues, descending, and the vectors of those above W.
    """
    widest = int(np.argmax(np.where(layout.categorical, layout.sizes, 0)))
    others = layout.width - layout.sizes[widest]
    if metric is None or not 0 < others <= MATRIX or layout.sizes[widest] < max(WIDE, 3 * others):
        return None
    system = Elimination(moments, layout, widest)
    weight, counts = float(moments.total_weight), system.counts
    present = counts > 0
    inside, outside = metric[system.span], metric[system.is_other]
    if not np.allclose(np.square(inside[present]) * counts[present], weight, rtol=1e-9):
        return None
    among, explained = system.explained()
    units = np.multiply.outer(outside, outside)
    squares, turn = eigh_descending(explained * units * weight)
    size = min(relative_rank(squares), int(present.sum()) - 1)
    sigma, turn = np.sqrt(squares[:size]), turn[:, :size]
    small = np.block([[weight * np.eye(size), (turn * sigma).T], [turn * sigma, among * units]])
    alone = np.full(int(present.sum()) - 1 - size, weight)
    values, inner = eigh_chosen(small, lambda v: min(int((v > weight * (1 + APART)).sum()), most or layout.width))
    count = inner.shape[1]
    below = inner[size:]
    vectors = np.empty((layout.width, count))
    vectors[system.is_other] = below
    vectors[system.span] = inside[:, None] * system.across(outside[:, None] * below) / (values[:count] - weight)
    vectors = fix_signs(vectors / np.linalg.norm(vectors, axis=0))
    every = np.sort(np.concatenate([values, alone]))[::-1]
    rank = relative_rank(every, size=layout.width)
    k, selection = chosen(every, rank, vectors)
    return LeadingPairs(every[:k], vectors[:, :k], rank, selection) if k <= count else None
