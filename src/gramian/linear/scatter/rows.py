"""The scatter of numbers that are kept as fewer centred rows R than columns: S = R^T R, and nothing is p x p.

R R^T = U diag(l) U^T has the positive eigenvalues of S, whose vectors are V = R^T U / sqrt(l); along directions V the rows
are R V, so V^T S V = (R V)^T (R V).
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.linalg import eigh_descending, fix_signs, relative_rank
from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.linear.layout import Layout
from gramian.linear.scatter.base import Count, Eigenpairs, Scatter
from gramian.linear.scatter.graded import pairs_of_unlike_rows, unlike
from gramian.moments.value import Moments


class RowScatter(Scatter):
    """The centred rows, missing values at their means; see `are_few`.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(np.eye(3, 600))
    >>> scatter = RowScatter(m, layout_of(m, None))
    >>> scatter.eigenpairs().values, np.allclose(scatter.dense(), 2 * m.covariance())
    (array([1., 1.]), True)
    """

    low_rank = True

    @staticmethod
    def are_few(moments: Moments, layout: Layout) -> bool:
        """Whether all columns are numbers that are kept as fewer rows than columns."""
        rows = moments.numbers.rows
        return rows is not None and len(rows) < layout.width and layout.plain

    @cached_property
    def rows(self) -> Array:
        """R, in the metric."""
        numbers, layout = self.moments.numbers, self.layout
        assert numbers.rows is not None
        rows, p = numbers.rows, len(numbers.names)
        if numbers.missing:
            _, deviation = numbers.imputed_mean(self.weight)
            missing = list(numbers.missing)
            imputed = rows[:, :p].copy()
            imputed[:, missing] += rows[:, p:] * deviation[missing]
            rows = imputed
        if list(numbers.names) != layout.columns:
            position = {name: j for j, name in enumerate(numbers.names)}
            rows = rows[:, [position[name] for name in layout.columns]]
        return self._in_metric(rows)

    @cached_property
    def left_pairs(self) -> tuple[Array, Array]:
        """All eigenvalues of R R^T, descending, and their vectors as columns, U."""
        return eigh_descending(self.rows @ self.rows.T, overwrite=True)

    def __matmul__(self, v: Array) -> Array:
        """Return S v for a (p, k) block or a vector."""
        return self.rows.T @ (self.rows @ v)

    def _times(self, v: Array) -> Array:
        return self @ v

    def diagonal(self) -> Array:
        """Return the scatter of each design column, (p,)."""
        return np.einsum("ij,ij->j", self.rows, self.rows)

    def dense(self) -> Array:
        """Return S as a (p, p) matrix."""
        return self.rows.T @ self.rows

    def along(self, vectors: Array) -> Array:
        """Return V^T S V."""
        seen = self.rows @ vectors
        return seen.T @ seen

    def variance_along(self, vectors: Array) -> Array:
        """Return the diagonal of V^T S V."""
        seen = self.rows @ vectors
        return np.einsum("ij,ij->j", seen, seen)

    def eigenpairs(self, k: Count = None) -> Eigenpairs:
        """Return all pairs with variance, whatever is asked: they come together."""
        if unlike(self.diagonal()):
            values, vectors = pairs_of_unlike_rows(self.rows)
            return Eigenpairs(values, vectors, len(values))
        values, left = self.left_pairs
        rank = relative_rank(values, size=max(self.rows.shape))
        values = values[:rank]
        # As (r, p) products: the transpose is then laid out as the components will be, and nothing is copied.
        return Eigenpairs(values, fix_signs(((left[:, :rank] / np.sqrt(values)).T @ self.rows).T), rank)
