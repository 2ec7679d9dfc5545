"""Scatter of the design columns in a metric, as a matrix or, for numbers kept as few rows, as those rows.

Both forms answer the two questions a solver asks: the eigenpairs, and the scatter seen along given directions. With rows R,
S = R^T R, and neither answer needs the p x p matrix: R R^T has the same positive eigenvalues, V = R^T U / sqrt(l), and
V^T S V = (R V)^T (R V).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gramian.arrays.linalg import eigh_descending, fix_signs, relative_rank
from gramian.arrays.types import Array
from gramian.linear.layout import Layout, centre_of
from gramian.linear.scatter.graded import pairs_of_unlike_rows, semidefinite_pairs, unlike
from gramian.moments import covariance as dense
from gramian.moments.value import Moments


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and scatter in a metric; exactly one of `matrix` and `rows` is there, and neither is to be changed.

    Attributes
    ----------
    weight : float
    mean : (p,) array
    matrix : (p, p) array or None
    rows : (r, p) array or None
    """

    weight: float
    mean: Array
    matrix: Array | None
    rows: Array | None

    @property
    def trace(self) -> float:
        """Sum of the eigenvalues."""
        if self.rows is not None:
            return float(np.einsum("ij,ij->", self.rows, self.rows))
        assert self.matrix is not None
        return float(np.trace(self.matrix))

    @cached_property
    def diagonal(self) -> Array:
        """Scatter of each design column."""
        if self.rows is not None:
            return np.einsum("ij,ij->j", self.rows, self.rows)
        assert self.matrix is not None
        return np.diagonal(self.matrix)

    def eigenpairs(self) -> tuple[Array, Array]:
        """Return the positive eigenvalues, descending, and their vectors as columns."""
        return self._eigenpairs

    @cached_property
    def _eigenpairs(self) -> tuple[Array, Array]:
        if self.rows is not None:
            return pairs_of_rows(self.rows)
        assert self.matrix is not None
        return semidefinite_pairs(self.matrix)

    def times(self, vectors: Array) -> Array:
        """Return S V."""
        if self.rows is not None:
            return self.rows.T @ (self.rows @ vectors)
        assert self.matrix is not None
        return self.matrix @ vectors

    def along(self, vectors: Array) -> Array:
        """Return V^T S V."""
        if self.rows is not None:
            seen = self.rows @ vectors
            return seen.T @ seen
        return vectors.T @ self.times(vectors)

    def block(self, span: slice, gap: Array) -> Array:
        """Return the population second moments of some design columns about their means less `gap`."""
        if self.rows is not None:
            own = self.rows[:, span].T @ self.rows[:, span]
        else:
            assert self.matrix is not None
            own = self.matrix[span, span]
        return own / self.weight + np.multiply.outer(gap[span], gap[span])

    def variance_along(self, vectors: Array) -> Array:
        """Return the diagonal of V^T S V."""
        if self.rows is not None:
            seen = self.rows @ vectors
            return np.einsum("ij,ij->j", seen, seen)
        return np.einsum("ij,ij->j", vectors, self.times(vectors))


def pairs_of_rows(rows: Array) -> tuple[Array, Array]:
    """Return the positive eigenvalues of R^T R, descending, and their vectors, through the small R R^T."""
    if unlike(np.einsum("ij,ij->j", rows, rows)):
        return pairs_of_unlike_rows(rows)
    values, left = eigh_descending(rows @ rows.T, overwrite=True)
    rank = relative_rank(values, size=max(rows.shape))
    values = values[:rank]
    # As (r, p) products: the transpose is then laid out as the components will be, and nothing is copied.
    return values, fix_signs(((left[:, :rank] / np.sqrt(values)).T @ rows).T)


def kept_rows(moments: Moments, layout: Layout) -> Array | None:
    """Return the centred rows of the numbers asked for, missing values imputed, where they are kept and fewer than p."""
    numbers = moments.numbers
    if numbers.rows is None or len(numbers.rows) >= layout.width or not layout.plain:
        return None
    rows, p = numbers.rows, len(numbers.names)
    if numbers.missing:
        _, deviation = numbers.imputed_mean(float(moments.total_weight))
        missing = list(numbers.missing)
        imputed = rows[:, :p].copy()
        imputed[:, missing] += rows[:, p:] * deviation[missing]
        rows = imputed
    if list(numbers.names) == layout.columns:
        return rows
    position = {name: j for j, name in enumerate(numbers.names)}
    return rows[:, [position[name] for name in layout.columns]]


def spread_of(moments: Moments, layout: Layout, metric: Array | None) -> Spread:
    """Return the mean and the scatter of the design columns, each multiplied by the metric."""
    mean, weight = centre_of(moments, layout), float(moments.total_weight)
    rows = kept_rows(moments, layout)
    if rows is not None:
        return (
            Spread(weight, mean * metric, None, rows * metric)
            if metric is not None
            else Spread(weight, mean, None, rows)
        )
    matrix = scatter_of(moments, layout)
    if metric is not None:
        matrix = np.multiply(matrix, metric, out=None if matrix is moments.numbers.scatter else matrix)
        matrix *= metric[:, None]
        mean = mean * metric
    return Spread(weight, mean, matrix, None)


def scatter_of(moments: Moments, layout: Layout) -> Array:
    """Return the scatter of the design columns: where they are the numbers as collected, their own, not to be changed."""
    numbers = moments.numbers
    if numbers.scatter is not None and not numbers.missing and list(numbers.names) == layout.columns:
        return numbers.scatter
    return dense.scatter(moments, layout.columns)
