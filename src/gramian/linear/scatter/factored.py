"""The scatter of more design columns than twice the rows, from a factor of it: S = F^T F, and nothing after that is p x p.

n rows differ in at most n - 1 directions, so S has that rank at most, whatever the levels are. A Cholesky factor with pivots
finds F, as many rows as the rank, from the diagonal of S and those columns of it that are taken: with C the correlation matrix,
and d what the columns taken so far leave of its diagonal,

    R = C[J] - F[:, J]^T F            what is left of the rows J, those of the largest d,
    R[:, J] = L L^T,                  with pivots, as far as they stand near the largest d,
    F <- [F; L^-1 R],   d <- d - sum of the squares of the new rows,

until d is rounding. J holds `BLOCK` columns, so that all of it are products of matrices: 2 p r^2 operations, beside the p^2 r
of LAPACK's `pstrf`, which works on all that is left of S, and the 10 p^3 of eigenvectors. Columns of J that the others of J
explain wait for a later block: no pivot is below `NEAR` of the largest, and the factor is as stable as by single columns.

From there on S is what `gramian.linear.scatter.rows` says of R = F: eigenpairs are those of F F^T, r x r.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from gramian.arrays.linalg import eigh_chosen, fix_signs, relative_rank
from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.linear.layout import Layout
from gramian.linear.scatter.base import Count, Eigenpairs, Scatter, matrix_of
from gramian.linear.scatter.diagonal import scatter_diagonal
from gramian.linear.scatter.graded import rank_cut, singular_pairs, unlike
from gramian.linear.scatter.rows import RowScatter
from gramian.moments.value import Moments

BLOCK = 64
"""Columns that are taken between two products."""

NEAR = 1 / 16
"""Pivots of one block stand within this factor of the largest."""

APART = 1e5
"""Ratio of eigenvalues up to which vectors turned by F are orthogonal to about 1e-11."""

MANY = 1000
"""Below this many design columns the eigenvectors of S itself take no time to speak of."""

FORMED = 20_000
"""Above this many design columns the matrix that the factor is of would take more than 3.2 GB."""


class FactoredScatter(RowScatter):
    """The factor of a scatter that has fewer rows than columns behind it; see `suits`.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({f"c{k}": ["a", "b", "cd"[k % 2]] for k in range(4)}))
    >>> scatter = FactoredScatter(m, layout_of(m, None))
    >>> scatter.rows.shape, np.allclose(scatter.rows.T @ scatter.rows, 2 * m.covariance())
    ((2, 12), True)
    """

    @staticmethod
    def suits(moments: Moments, layout: Layout) -> bool:
        """Whether there are so few rows, and so many design columns, that the factor saves most of the work."""
        few = 2 * min(moments.n_rows - 1, layout.dimensions) <= layout.width
        return few and MANY < layout.width <= FORMED and not RowScatter.are_few(moments, layout)

    def scaled(self, metric: Array) -> FactoredScatter:
        """Return the same scatter in a further metric, and of the same factor."""
        out = FactoredScatter(self.moments, self.layout, self._in_metric(metric))
        if "_factor" in vars(self):
            vars(out)["_factor"] = self._factor
        return out

    @cached_property
    def _factor(self) -> Array:
        """F of the correlation matrix, (r, p): what the rank is does not depend on units."""
        return factor_of(matrix_of(self.moments, self.layout, None))

    @cached_property
    def rows(self) -> Array:
        """F, in the metric."""
        return self._factor * self._in_metric(np.sqrt(np.maximum(scatter_diagonal(self.moments, self.layout), 0.0)))

    def diagonal(self) -> Array:
        """Return the scatter of each design column, (p,)."""
        return Scatter.diagonal(self)

    def dense(self) -> Array:
        """Return S as a (p, p) matrix, from the moments."""
        return matrix_of(self.moments, self.layout, self.metric)

    def eigenpairs(self, k: Count = None) -> Eigenpairs:
        """Return all eigenvalues and as many vectors as are asked for, those of F F^T turned by F."""
        rows, p = self.rows, self.width

        def wanted(values: Array) -> int:
            rank = relative_rank(values, size=p)
            return rank if k is None else min(k(values, rank) if callable(k) else k, rank)

        few = isinstance(k, int | np.integer) and k < len(rows) // 4
        if "left_pairs" not in vars(self) and (few or callable(k)):
            values, inner = eigh_chosen(rows @ rows.T, wanted, overwrite=True)
        else:
            values, inner = self.left_pairs
        rank = relative_rank(values, size=p)
        if rank < len(rows) and unlike(self.diagonal()):
            # In units of their own these columns are not rounding; see `gramian.linear.scatter.graded`.
            values, vectors, _ = singular_pairs(np.asfortranarray(rows.T))
            return Eigenpairs(values, fix_signs(vectors), len(values))
        count = min(wanted(values), inner.shape[1])
        vectors = ((inner[:, :count] / np.sqrt(values[:count])).T @ rows).T
        if count and values[0] > APART * values[count - 1]:
            # A weak vector has a share of the strong ones that is rounding of theirs over its own length.
            vectors = scipy.linalg.qr(vectors, mode="economic", check_finite=False)[0]
        return Eigenpairs(values[:rank], fix_signs(vectors), rank)


def factor_of(scatter: Array) -> Array:
    """Return F, (r, p), with F^T F the correlation matrix of a scatter of rank r.

    Parameters
    ----------
    scatter : (p, p) array
        Positive semi-definite; not changed.

    Examples
    --------
    >>> F = factor_of(np.array([[4.0, -4.0, 0.0], [-4.0, 4.0, 0.0], [0.0, 0.0, 9.0]]))
    >>> F.shape, F.T @ F
    ((2, 3), array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  1.]]))
    """
    p = len(scatter)
    spread = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
    unit = np.where(spread > 0, spread, 1.0)
    left = (spread > 0).astype(np.float64)
    cut = rank_cut(p)
    factor, rank = np.empty((min(p, 4 * BLOCK), p)), 0
    while left.max(initial=0.0) > cut:
        least = max(cut, NEAR * float(left.max()))
        largest = np.argpartition(-left, min(BLOCK, p - 1))[:BLOCK]
        largest = np.sort(largest[left[largest] >= least])
        rest = scatter[largest] / unit
        rest /= unit[largest, None]
        rest -= factor[:rank, largest].T @ factor[:rank]
        lower, pivots, count, _ = lapack.dpstrf(np.asfortranarray(rest[:, largest]), lower=1, tol=least)
        # A block of one, whose pivot is the largest there is, is taken whatever LAPACK says of it.
        count = max(int(count), 1)
        taken = pivots[:count] - 1
        new = lapack.dtrtrs(np.tril(lower[:count, :count]), rest[taken], lower=1)[0]
        if rank + count > len(factor):
            factor = np.concatenate([factor, np.empty((min(len(factor), p - len(factor)) + BLOCK, p))])
        factor[rank : rank + count] = new
        rank += count
        left -= np.einsum("ij,ij->j", new, new)
        left[largest[taken]] = 0.0
    return factor[:rank]
