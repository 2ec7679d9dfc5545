"""Singular positive semi-definite systems by a Cholesky factor with pivots, which finds the rank on its way.

In units of their own spread the columns have a scatter with ones on the diagonal. At each step the column with the most
variance left after those already taken is taken next (LAPACK's `pstrf`); what is left of the diagonal is 1 - R^2 of each
column given the others, so the first that is only rounding ends the factor, at the rank. Solving on the columns taken, zeros
elsewhere, gives one of the solutions of S X = C, and all of them give the same fitted values.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from gramian.arrays.types import Array
from gramian.errors import DataError

CUT = 16
"""How many times `max(p, 64) eps` counts as rounding: the scatter itself is a rounded sum."""


def solve_semidefinite(matrix: Array, rhs: Array, *, reference: Array | None = None) -> tuple[Array, int]:
    """Return a solution of S X = C, for C in the range of S, and the rank of S.

    Parameters
    ----------
    matrix : (p, p) array
        Symmetric, positive semi-definite. Not changed.
    rhs : (p, m) array
    reference : (p,) array, optional
        The diagonal that rounding is relative to, by default that of S: where S is what is left after other columns were
        eliminated, the diagonal before.

    Examples
    --------
    >>> S = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> x, rank = solve_semidefinite(S, np.array([[2.0], [-2.0]]))
    >>> rank, S @ x
    (1, array([[ 2.],
           [-2.]]))
    """
    diagonal = np.diagonal(matrix) if reference is None else reference
    cut = CUT * max(len(matrix), 64) * np.finfo(np.float64).eps
    spread = np.sqrt(np.maximum(diagonal, 0.0))
    # LAPACK takes the first pivot unseen.
    varies = np.flatnonzero((spread > 0) & (np.diagonal(matrix) > cut * diagonal))
    out = np.zeros_like(rhs)
    if not len(varies):
        return out, 0
    unit = spread[varies]
    scaled = matrix if len(varies) == len(matrix) else matrix[np.ix_(varies, varies)]
    scaled = scaled / unit
    scaled /= unit[:, None]
    # The transpose of a symmetric C-ordered matrix is itself in LAPACK's order.
    factor, pivots, rank, info = lapack.dpstrf(scaled.T, tol=cut, lower=1, overwrite_a=0)
    if info < 0:
        raise DataError("the scatter of the features holds values that are not finite")
    taken = pivots[:rank] - 1
    lower = np.asfortranarray(factor[:rank, :rank])
    aim = rhs[varies[taken]] / unit[taken, None]
    inner = lapack.dpotrs(lower, aim, lower=1)[0]
    # One step of refinement: the factor squares the condition, the residual does not.
    inner += lapack.dpotrs(lower, aim - scaled[np.ix_(taken, taken)] @ inner, lower=1)[0]
    out[varies[taken]] = inner / unit[taken, None]
    return out, int(rank)
