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

The scatter as a matrix, as few rows, or as a factor of few rows; and eigenpairs of columns that differ in spread.

**Unlike spreads.** `eigh` finds eigenvalues to rounding of the largest. Where one column is measured in units a billion times
smaller than another, all of its variance lies below that. Whether a column varies, and whether it is linear in the others,
does not depend on units, so rank is decided on the correlation matrix C of S = D C D, D the spreads: by a Cholesky factor with
pivots, C = L L^T, which stops at the first column of which the others leave only rounding. And S = (D L)(D L)^T has for
eigenvalues the squared singular values of D L, which one-sided Jacobi rotations find to high *relative* accuracy, each in its
own units, as long as L is well conditioned (Demmel and Veselic 1992; LAPACK's `gejsv`).

That costs many times what `eigh` does, so it is done only where the spreads differ so much that rounding could matter, and
beyond a few hundred columns only where `eigh` does find fewer eigenvalues than the rank.

**`DenseScatter`** is the p x p matrix: everything can be asked of it, and eigenpairs come from `eigh`.

**`RowScatter`** serves numbers that are kept as fewer centred rows R than columns: S = R^T R, and nothing is p x p. R R^T = U
diag(l) U^T has the positive eigenvalues of S, whose vectors are V = R^T U / sqrt(l); along directions V the rows are R V, so
V^T S V = (R V)^T (R V).

**`FactoredScatter`** serves more design columns than twice the rows, by a factor: S = F^T F, and nothing after that is p x p.
n rows differ in at most n - 1 directions, so S has that rank at most, whatever the levels are. A Cholesky factor with pivots
finds F, as many rows as the rank, from the diagonal of S and those columns of it that are taken: with C the correlation
matrix, and d what the columns taken so far leave of its diagonal,

    R = C[J] - F[:, J]^T F            what is left of the rows J, those of the largest d,
    R[:, J] = L L^T,                  with pivots, as far as they stand near the largest d,
    F <- [F; L^-1 R],   d <- d - sum of the squares of the new rows,

until d is rounding. J holds `BLOCK` columns, so that all of it are products of matrices: 2 p r^2 operations, beside the p^2 r
of LAPACK's `pstrf`, which works on all that is left of S, and the 10 p^3 of eigenvectors. Columns of J that the others of J
explain wait for a later block: no pivot is below `NEAR` of the largest, and the factor is as stable as by single columns.

From there on S is what is said above of R = F: eigenpairs are those of F F^T, r x r.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import lapack

from gramian.arrays.linalg import eigh_descending, eigh_values_first, fix_signs, relative_rank, rotated
from gramian.arrays.memory import EIGENVECTORS, ROTATIONS, say_first
from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.errors import Argument, Call, DataError, PythonOnly
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

    def _times(self, v: Array) -> Array:
        """Return S v for a (p, k) block, without the metric."""
        raise NotImplementedError

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


UNLIKE = 1e8
"""Ratio of variances up to which eigenvalues are told from rounding by `eigh` alone."""


QUICK = 200
"""Columns up to which rotations take no time to speak of."""


def unlike(diagonal: Array) -> bool:
    """Return whether the variances that are not zero differ by more than rounding allows for."""
    positive = diagonal[diagonal > 0]
    return len(positive) > 1 and bool(positive.max() > UNLIKE * positive.min())


def semidefinite_pairs(
    matrix: Array, widest: tuple[str, int] = ("", 1), *, overwrite: bool = False
) -> tuple[Array, Array]:
    """Return the positive eigenvalues of a scatter, descending, and their vectors as columns.

    Parameters
    ----------
    matrix : (p, p) array
    widest : (str, int)
        The source column of the most design columns, for a warning before many columns of unlike spread are rotated.
    overwrite : bool
        Whether the matrix may be destroyed.

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
    say_slow_eigenvectors(len(matrix), widest, ROTATIONS)
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
    sizes, left, right, info = rotated(factor)
    if info:
        raise DataError("the scatter of the columns holds values that are not finite")
    return np.square(sizes), left, right


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


class DenseScatter(Scatter):
    """The matrix, formed when first asked for.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
    >>> scatter = DenseScatter(m, layout_of(m, None))
    >>> np.allclose(scatter @ np.eye(3), 2 * m.covariance()), scatter.eigenpairs().rank
    (True, 2)
    """

    @cached_property
    def _matrix(self) -> Array:
        return super().dense()

    def dense(self) -> Array:
        """Return S as a (p, p) matrix, not to be changed."""
        return self._matrix

    def __matmul__(self, v: Array) -> Array:
        """Return S v for a (p, k) block or a vector."""
        return self._matrix @ v

    def diagonal(self) -> Array:
        """Return the scatter of each design column, (p,)."""
        return self._matrix.diagonal() if "_matrix" in vars(self) else super().diagonal()

    def eigenpairs(self, k: int | None = None) -> Eigenpairs:
        """Return the k leading eigenpairs, by default all with variance."""
        matrix, overwrite = self._to_decompose()
        return pairs_of_matrix(matrix, k, widest=self.layout.widest, overwrite=overwrite)

    def spectrum(self) -> Spectrum:
        """Return all eigenvalues; vectors on request."""
        matrix, overwrite = self._to_decompose()
        return spectrum_of_matrix(matrix, widest=self.layout.widest, overwrite=overwrite)

    def _to_decompose(self) -> tuple[Array, bool]:
        """Return the matrix, and whether `eigh` may work in its memory: where it is neither kept nor that of the moments."""
        kept = "_matrix" in vars(self)
        matrix = self._matrix if kept else matrix_of(self.moments, self.layout, self.metric)
        return matrix, not kept and matrix is not self.moments.numbers.scatter


def say_slow_eigenvectors(p: int, widest: tuple[str, int], per_cube: float = EIGENVECTORS) -> None:
    """Warn where the eigenvectors of p design columns take minutes."""
    say_first(
        "the eigenvectors",
        p,
        per_cube,
        widest,
        "less with fewer columns or levels",
        PythonOnly(", as by ", Call("pool", max_levels=5)),
        ", and where components are counted with a whole number of them, such as ",
        Argument("n_components", 20),
    )


def pairs_of_matrix(
    matrix: Array, k: int | None = None, *, widest: tuple[str, int], overwrite: bool = False
) -> Eigenpairs:
    """Return the k leading eigenpairs of a scatter, by default all with variance.

    Parameters
    ----------
    matrix : (p, p) array
    k : int, optional
    widest : (str, int)
        The source column with the most design columns, and how many these are: a warning of long work names it.
    overwrite : bool
        Whether the matrix may be destroyed.
    """
    if k is not None:
        return spectrum_of_matrix(matrix, widest=widest, overwrite=overwrite).pairs(k)
    say_slow_eigenvectors(len(matrix), widest)
    values, vectors = semidefinite_pairs(matrix, widest, overwrite=overwrite)
    return Eigenpairs(values, vectors, len(values))


def spectrum_of_matrix(matrix: Array, *, widest: tuple[str, int], overwrite: bool = False) -> Spectrum:
    """Return all eigenvalues of a scatter; where columns differ much in variance the vectors are found with them."""
    say_slow_eigenvectors(len(matrix), widest)
    if unlike(matrix.diagonal()):
        values, every = semidefinite_pairs(matrix, widest, overwrite=overwrite)
        return Spectrum(values, len(values), leading(every))
    values, vectors = eigh_values_first(matrix, overwrite=overwrite)
    return Spectrum(values, relative_rank(values), vectors)


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
        rows = numbers.imputed_sums(numbers.rows, self.weight) if numbers.missing else numbers.rows
        if list(numbers.names) != layout.columns:
            rows = rows[:, [self.moments.number_at[name] for name in layout.columns]]
        return self._in_metric(rows)

    @cached_property
    def left_pairs(self) -> tuple[Array, Array]:
        """All eigenvalues of R R^T, descending, and their vectors as columns, U."""
        return eigh_descending(self.rows @ self.rows.T, overwrite=True)

    def __matmul__(self, v: Array) -> Array:
        """Return S v for a (p, k) block or a vector."""
        return self.rows.T @ (self.rows @ v)

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

    def eigenpairs(self, k: int | None = None) -> Eigenpairs:
        """Return all pairs with variance, whatever k is: they come together."""
        if unlike(self.diagonal()):
            values, vectors = pairs_of_unlike_rows(self.rows)
            return Eigenpairs(values, vectors, len(values))
        values, left = self.left_pairs
        rank = relative_rank(values, size=max(self.rows.shape))
        values = values[:rank]
        # As (r, p) products: the transpose is then laid out as the components will be, and nothing is copied.
        return Eigenpairs(values, fix_signs(((left[:, :rank] / np.sqrt(values)).T @ self.rows).T), rank)


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

    def eigenpairs(self, k: int | None = None) -> Eigenpairs:
        """Return all eigenvalues and k vectors, by default all of them."""
        if k is None or k >= len(self.rows) // 4:
            # All vectors of F F^T cost less than many of them one by one; they are kept for the next call.
            _ = self.left_pairs
        found = self.spectrum()
        return found.pairs(found.rank if k is None else k)

    def spectrum(self) -> Spectrum:
        """Return all eigenvalues; the vectors are those of F F^T turned by F."""
        rows = self.rows
        if "left_pairs" in vars(self):
            values, left = self.left_pairs[0], leading(self.left_pairs[1])
        else:
            values, left = eigh_values_first(rows @ rows.T, overwrite=True)
        rank = relative_rank(values, size=self.width)
        if rank < len(rows) and unlike(self.diagonal()):
            # In units of their own these columns are not rounding; see the top of this module.
            values, every, _ = singular_pairs(np.asfortranarray(rows.T))
            return Spectrum(values, len(values), leading(fix_signs(every)))

        def vectors(k: int) -> Array:
            count = min(k, rank)
            out = ((left(count) / np.sqrt(values[:count])).T @ rows).T
            if count and values[0] > APART * values[count - 1]:
                # A weak vector has a share of the strong ones that is rounding of theirs over its own length.
                out = scipy.linalg.qr(out, mode="economic", check_finite=False)[0]
            return fix_signs(out)

        return Spectrum(values[:rank], rank, vectors)


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
