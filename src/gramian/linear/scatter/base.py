"""The scatter S = sum_i w_i (x_i - m)(x_i - m)^T of the design columns, and what a solver may ask of it.

A solver needs products with S, its diagonal, some of its eigenpairs, or the matrix itself, and never how S is kept. Each way
to keep it is one class, made from moments, a layout and a metric:

    DenseScatter      the p x p matrix
    RowScatter        fewer centred rows R than columns, S = R^T R
    FactoredScatter   the same by a factor, where pair counts of few rows are all that is known
    NarrowScatter     pair counts of narrow categories as one matrix, and the columns of few numbers
    SparseScatter     all pair counts as they are: it only multiplies
    WideScatter       the widest category apart, whose own block is diagonal but for one term

`choice` alone says which of them is used. In a metric D = diag(d) (see `gramian.linear.layout`) all answers are those of D S
D. The same law holds each of them to the design matrix (tests/laws/test_scatter.py). The diagonal of S comes from the margins
of the moments, without a look at any pair of columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.linear.layout import Layout, centre_of
from gramian.moments import covariance
from gramian.moments.covariance import level_scatter, level_values
from gramian.moments.value import Moments


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenvalues and vectors of a scatter, strongest first.

    Attributes
    ----------
    values : (k,) array
        As many as are known, at least as many as there are vectors.
    vectors : (p, m) array
        Of the first m. Fewer than asked for where the representation cannot give more.
    rank : int
        Directions with variance, as far as they are known.
    """

    values: Array
    vectors: Array
    rank: int


@dataclass(frozen=True, eq=False)
class Spectrum:
    """All eigenvalues of a scatter, strongest first, and its rank; eigenvectors on request.

    Attributes
    ----------
    values : (k,) array
    rank : int
    vectors : callable
        `vectors(m)` gives the first m eigenvectors as columns, fewer where the representation cannot give more.
    """

    values: Array
    rank: int
    vectors: Callable[[int], Array]

    def pairs(self, m: int) -> Eigenpairs:
        """Return the eigenvalues with the first m vectors."""
        return Eigenpairs(self.values, self.vectors(m), self.rank)


def leading(vectors: Array) -> Callable[[int], Array]:
    """Return a function that gives the first m columns."""
    return lambda m: vectors[:, :m]


class Scatter(ABC):
    """The scatter of the design columns of a layout, in a metric.

    Parameters
    ----------
    moments : Moments
    layout : Layout
    metric : (p,) array, optional
        The factor of each centred design column, by default 1.

    Attributes
    ----------
    low_rank : bool
        Whether there are fewer rows than columns, so that eigenpairs are cheap and `dense()` is not.
    """

    low_rank = False
    __array_ufunc__ = None

    def __init__(self, moments: Moments, layout: Layout, metric: Array | None = None) -> None:
        self.moments, self.layout, self.metric = moments, layout, metric

    @property
    def weight(self) -> float:
        """Total weight, n."""
        return float(self.moments.total_weight)

    @property
    def width(self) -> int:
        """Number of design columns, p."""
        return self.layout.width

    @cached_property
    def mean(self) -> Array:
        """The mean of each design column, in the metric."""
        return self._in_metric(centre_of(self.moments, self.layout))

    def scaled(self, metric: Array) -> Self:
        """Return the same scatter in a further metric."""
        return type(self)(self.moments, self.layout, self._in_metric(metric))

    def _in_metric(self, values: Array) -> Array:
        return values if self.metric is None else values * self.metric

    def __matmul__(self, v: Array) -> Array:
        """Return S v for a (p, k) block or a vector."""
        if v.ndim == 1:
            return (self @ v[:, None])[:, 0]
        if self.metric is None:
            return self._times(v)
        return self._times(v * self.metric[:, None]) * self.metric[:, None]

    @abstractmethod
    def _times(self, v: Array) -> Array:
        """Return S v for a (p, k) block, without the metric."""

    def diagonal(self) -> Array:
        """Return the scatter of each design column, (p,)."""
        diagonal = scatter_diagonal(self.moments, self.layout)
        return diagonal if self.metric is None else diagonal * np.square(self.metric)

    @abstractmethod
    def eigenpairs(self, k: int | None = None) -> Eigenpairs:
        """Return the k leading eigenpairs, or as many as the representation has; by default as many as the rank."""

    def spectrum(self) -> Spectrum:
        """Return all eigenvalues, from which the number of vectors to ask for can be chosen."""
        pairs = self.eigenpairs()
        return Spectrum(pairs.values, pairs.rank, leading(pairs.vectors))

    def dense(self) -> Array:
        """Return S as a (p, p) matrix, not to be changed."""
        return matrix_of(self.moments, self.layout, self.metric)

    def along(self, vectors: Array) -> Array:
        """Return V^T S V."""
        return vectors.T @ (self @ vectors)

    def variance_along(self, vectors: Array) -> Array:
        """Return the diagonal of V^T S V."""
        return np.einsum("ij,ij->j", vectors, self @ vectors)


def matrix_of(moments: Moments, layout: Layout, metric: Array | None) -> Array:
    """Return the scatter as a matrix: where it is that of the numbers as collected, their own, not to be changed."""
    numbers = moments.numbers
    shared = numbers.scatter is not None and not numbers.missing and list(numbers.names) == layout.columns
    matrix = numbers.scatter if shared else covariance.scatter(moments, layout.columns)
    assert matrix is not None
    if metric is not None:
        matrix = np.multiply(matrix, metric, out=None if shared else matrix)
        matrix *= metric[:, None]
    return matrix


def scatter_diagonal(moments: Moments, layout: Layout) -> Array:
    """Return the diagonal of the scatter, (p,): n (1 - n / W) of a level of weight n, the sum of squares of a number.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red", "red"], "size": [1.5, 2.5, 3.5, None]}))
    >>> scatter_diagonal(m, layout_of(m, None))
    array([0.75, 0.75, 2.  ])
    """
    weight = float(moments.total_weight)
    squares = moments.numbers.central(weight).sums[0]
    # Thousands of numbers are not looked at one by one.
    if layout.plain and list(moments.numbers.names) == layout.columns:
        return squares
    out = np.empty(layout.width)
    numbers = dict(zip(moments.numbers.names, squares.tolist(), strict=True))
    for name, form, span in zip(layout.columns, layout.forms, layout.spans(), strict=True):
        if form == "number":
            out[span] = numbers[name]
            continue
        k = moments.coded_at[name]
        n = moments.pairs.level_weights[k]
        out[span] = level_scatter(n, weight) if form == "category" else n @ np.square(level_values(moments, k)[1])
    return out
