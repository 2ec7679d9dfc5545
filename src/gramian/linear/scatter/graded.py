"""Eigenpairs of a scatter whose columns differ in spread by any factor, and its rank in units of those spreads.

`eigh` finds eigenvalues to rounding of the largest. Where one column is measured in units a billion times smaller than
another, all of its variance lies below that. Whether a column varies, and whether it is linear in the others, does not
depend on units, so rank is decided on the correlation matrix C of S = D C D, D the spreads: by a Cholesky factor with pivots,
C = L L^T, which stops at the first column of which the others leave only rounding. And S = (D L)(D L)^T has for eigenvalues the
squared singular values of D L, which one-sided Jacobi rotations find to high *relative* accuracy, each in its own units, as
long as L is well conditioned (Demmel and Veselic 1992; LAPACK's `gejsv`).

That costs many times what `eigh` does, so it is done only where the spreads differ so much that rounding could matter, and
beyond a few hundred columns only where `eigh` does find fewer eigenvalues than the rank.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from gramian.arrays.linalg import eigh_descending, fix_signs, relative_rank
from gramian.arrays.types import Array
from gramian.errors import DataError

UNLIKE = 1e8
"""Ratio of variances up to which eigenvalues are told from rounding by `eigh` alone."""


QUICK = 200
"""Columns up to which rotations take no time to speak of."""


def unlike(diagonal: Array) -> bool:
    """Return whether the variances that are not zero differ by more than rounding allows for."""
    positive = diagonal[diagonal > 0]
    return len(positive) > 1 and bool(positive.max() > UNLIKE * positive.min())


def semidefinite_pairs(matrix: Array, *, overwrite: bool = False) -> tuple[Array, Array]:
    """Return the positive eigenvalues of a scatter, descending, and their vectors as columns.

    Examples
    --------
    >>> values, vectors = semidefinite_pairs(np.array([[1e20, 0.0], [0.0, 1e-4]]))
    >>> [f"{value:.6g}" for value in values], vectors.round(12)
    (['1e+20', '0.0001'], array([[1., 0.],
           [0., 1.]]))
    """
    alike = not unlike(np.diagonal(matrix))
    if not alike:
        factor, order = pivoted_factor(correlation_of(matrix))
        if len(matrix) <= QUICK:
            return _graded_pairs(matrix, factor, order)
    values, vectors = eigh_descending(matrix, overwrite=overwrite and alike)
    rank = relative_rank(values)
    if alike or rank == factor.shape[1]:
        return values[:rank], vectors[:, :rank]
    return _graded_pairs(matrix, factor, order)


def _graded_pairs(matrix: Array, factor: Array, order: npt.NDArray[np.intp]) -> tuple[Array, Array]:
    spread = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    rank, spread = factor.shape[1], spread[order]
    values, left, right = singular_pairs(factor * spread[:, None])
    if rank == len(matrix):
        # V = D^-1 L^-T Q diag(s) too, and where a weak direction meets a strong column this form has the smaller rounding.
        other = lapack.dtrtrs(factor, right, lower=1, trans=1)[0] * np.sqrt(values) / spread[:, None]
        left = np.where(np.sqrt(values) < spread[:, None], other, left)
    vectors = np.empty_like(left)
    vectors[order] = left
    return values, fix_signs(vectors)


def pairs_of_unlike_rows(rows: Array) -> tuple[Array, Array]:
    """Return the positive eigenvalues of R^T R, descending, and their vectors, for columns of unlike spread."""
    spread = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    unit = rows / np.where(spread > 0, spread, 1.0)
    rank = relative_rank(eigh_descending(unit @ unit.T)[0], size=max(rows.shape))
    values, vectors, _ = singular_pairs(rows.T)
    return values[:rank], fix_signs(vectors[:, :rank])


def singular_pairs(factor: Array) -> tuple[Array, Array, Array]:
    """Return the squared singular values of a (p, r) factor, r at most p, descending, the left vectors and the right ones."""
    # 2: rows and columns of unlike size; 0 and 0: the vectors of both sides; 0: the whole range of numbers.
    sizes, left, right, scale, _, info = lapack.dgejsv(factor, joba=2, jobu=0, jobv=0, jobr=0)
    if info:
        raise DataError("the scatter of the columns holds values that are not finite")
    return np.square(sizes * (scale[0] / scale[1])), left[:, : factor.shape[1]], right


def correlation_of(scatter: Array) -> Array:
    """Return the scatter in units of each column's own spread; columns that do not vary stay zero."""
    spread = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
    unit = np.where(spread > 0, spread, 1.0)
    out = scatter / unit
    out /= unit[:, None]
    return out


def rank_cut(p: int) -> float:
    """Return the share of a column's variance that counts as rounding where p columns precede it."""
    return max(p, 64) * float(np.finfo(np.float64).eps)


def pivoted_factor(correlation: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """Return L (p, r), lower triangular, and the order of the columns in which L L^T is the correlation matrix."""
    factor, pivots, rank, _ = lapack.dpstrf(correlation.T, tol=rank_cut(len(correlation)), lower=1)
    return np.asfortranarray(np.tril(factor)[:, :rank]), np.asarray(pivots - 1, dtype=np.intp)
