"""The widest category eliminated exactly from a ridge system or an eigenproblem, so that only the other columns are left.

*Elimination.* Rows of one category never share two of its levels, so its block of S + r D is a diagonal less a rank-one term,
E - n n^T / W with E = diag(n + r). By Sherman and Morrison

    A^-1 z = E^-1 z + E^-1 n (n^T E^-1 z) / s,        s = W - n^T E^-1 n = sum of n r / (n + r),

at r = 0 simply z / n, since z sums to zero. The other unknowns satisfy a system with the Schur complement

    S_oo + r D - S_ow A^-1 S_wo,         S_wo = P - n f^T,

P the pair counts of the wide category with the others (centred sums for numbers) and f the others' shares (0 for numbers):
P is sparse, at most one entry per row and column, and stays so. One category of a million levels among ten costs vectors of
that length and its pair counts, nothing more.

*Eigenpairs.* In the chi-squared metric the block of the category is W (I - r r^T), r the roots of its shares: the same
variance in every direction. With B the scatter between its levels and the other columns in the metric (r^T B = 0, since B is
centred) and M that of the others, an eigenvector (x, y) of

    [ W (I - r r^T)   B ]                      B y = (l - W) x
    [ B^T             M ]    means             B^T x + M y = l y .

Directions of the levels outside the range of B are eigenvectors of their own, with l = W. In the range, of dimension at most
q, the number of other design columns, x has coordinates in the left singular vectors of B = U diag(s) Q^T, and what is left is
the eigenproblem of the small [W I, diag(s); diag(s), Q^T M Q] of order 2q. It needs B^T B alone, which is W times what the
category explains of the other columns, and gives every eigenvalue. Leading vectors have l > W, and their part on the levels is
x = B y / (l - W): one sparse product.

*Which way.* With K = S_wo the complement is S_oo + r D - K^T E^-1 K - u u^T / s, u = K^T E^-1 n. Where the others are few it
is formed for all r in one sweep over the pair counts and factored: exact whatever the columns have in common, and at r = 0 the
rank is found on the way. Where they are many, or the rows of P long, conjugate gradients multiply through P instead.

*Pair counts side by side.* The pair counts of the category with several others are the rows of one sparse matrix. scipy's
`hstack` copies every block several times on its way; for a category of a million levels that costs more than all the
algebra after it. Here each block is written once, where it belongs.

*Schur complements for many ridges, in one sweep.* A level l of the category, of weight n_l, has a sparse row P_l of pair
counts with the other design columns. The eliminated system needs P^T diag(1 / (n + r)) P for every r. The factor 1 / (n_l + r)
is the same for all levels of equal weight, so

    P^T diag(1 / (n + r)) P = sum over distinct weights n of G_n / (n + r),      G_n = sum of P_l P_l^T over levels of weight n,

and the G_n, exact where counts are whole numbers, serve every r. The sweep costs half the sum of the squared row lengths: a
level seen in a handful of rows has a short row however many columns there are. A group of few levels is added to each r
directly, as passing over all of G_n would cost more.

Which representation of the scatter is used: decided here and nowhere else, by what is asked of it.

- *the matrix, or all eigenpairs* (`scatter_of`): the matrix, unless numbers are kept as fewer rows than columns, or a thousand
  design columns and more have less than half as many rows, and a factor;
- *products* (`for_products`): rows where there are few; the widest category apart where S is too wide to be formed, since its
  block is most of S and diagonal; the matrix where most design columns are numbers, as pair counts spare nothing then and
  missing values double the columns; one matrix of pair counts where categories are narrow, which BLAS multiplies fastest; the
  pair counts as they are otherwise;
- *leading eigenpairs* (`for_leading_pairs`): several may do, and the first that gives as many vectors as are wanted is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from gramian.arrays.linalg import eigh_descending, eigh_values_first, fix_signs, relative_rank
from gramian.arrays.memory import available_memory, in_words
from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.errors import Argument, Call, DataError, PythonOnly
from gramian.linear.layout import Layout, centre_of
from gramian.linear.scatter.dense import (
    DenseScatter,
    Eigenpairs,
    FactoredScatter,
    RowScatter,
    Scatter,
    Spectrum,
    pairs_of_matrix,
    scatter_diagonal,
    spectrum_of_matrix,
    unlike,
)
from gramian.linear.scatter.sparse import BoundedScatter, NarrowScatter, SparseScatter, TriedScatter
from gramian.linear.solvers import conjugate_gradients, solve_semidefinite
from gramian.moments.covariance import level_values, sums_by_level
from gramian.moments.value import Moments

MATRIX = 2000
"""Up to this many other design columns their scatter and the complements are matrices."""

ROUNDS = 15
"""Products that conjugate gradients usually take, for comparing costs."""

FACTOR = 60
"""A complement of order q is factored in the time of about q^3 / 60 additions of the sweep."""

APART = 1e-4
"""How far above W, relatively, an eigenvalue must lie for its vector to be read off to 1e-11."""

REFINED = 1e-10
"""Below this tolerance a factored solution is corrected once by its residual."""


class WideScatter(Scatter):
    """The widest category and the other columns apart: S with nothing eliminated multiplies, systems are solved without it.

    `solve`, `factored` and `least_squares` are of S itself, whatever the metric.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
    >>> scatter = WideScatter(m, layout_of(m, None))
    >>> np.allclose(scatter @ np.eye(3), 2 * m.covariance()), scatter.rest.columns
    (True, ['size'])
    """

    def __init__(self, moments: Moments, layout: Layout, metric: Array | None = None) -> None:
        super().__init__(moments, layout, metric)
        widest = int(np.argmax(np.where(layout.categorical, layout.sizes, 0)))
        self.name, self.span = layout.columns[widest], layout.spans()[widest]
        self.rest = layout.without([self.name])
        self.counts = np.asarray(moments.counts(self.name), dtype=np.float64)

    @cached_property
    def is_other(self) -> npt.NDArray[np.bool_]:
        """Which design columns are those of the other columns."""
        others = np.ones(self.layout.width, dtype=bool)
        others[self.span] = False
        return others

    @cached_property
    def _share(self) -> Array:
        return np.where(self.rest.is_level, centre_of(self.moments, self.rest), 0.0)

    @cached_property
    def _pairs(self) -> sp.csr_array:
        """P: uncentred pair counts with the other categories, centred sums of the numbers."""
        m = self.moments
        wide = m.coded_at[self.name]
        sums = sums_by_level(m, wide)
        parts: list[Any] = []
        for name, form in zip(self.rest.columns, self.rest.forms, strict=True):
            if form == "number":
                parts.append(sums[:, [m.number_at[name]]])
                continue
            block = m.pairs.block(wide, m.coded_at[name])
            parts.append((block @ level_values(m, m.coded_at[name])[1])[:, None] if form == "integer" else block)
        return side_by_side(parts, len(self.counts))

    @cached_property
    def _among(self) -> Scatter:
        """S_oo."""
        return (DenseScatter if self.rest.width <= MATRIX else SparseScatter)(self.moments, self.rest)

    def across(self, v: Array) -> Array:
        """Return S_wo v."""
        out = np.asarray(self._pairs @ v)
        out -= np.multiply.outer(self.counts, self._share @ v)
        return out

    def back(self, z: Array) -> Array:
        """Return S_ow z."""
        # The transpose read column by column walks P and z in order; as rows of its own it would jump about in z.
        return np.asarray(self._pairs.T @ z) - np.multiply.outer(self._share, self.counts @ z)

    def _times(self, v: Array) -> Array:
        out, others, inner = np.zeros_like(v), self.is_other, v[self.span]
        total = self.counts.sum()
        own = self.counts[:, None] * (inner - self.counts @ inner / (total if total > 0 else 1.0))
        if others.any():
            out[others] = self._among @ v[others] + self.back(inner)
            own += self.across(v[others])
        out[self.span] = own
        return out

    def _inverse(self, z: Array, ridge: Array) -> Array:
        """Return A^-1 z, each column with its own ridge."""
        inverse = self.counts[:, None] + ridge
        np.divide(1.0, inverse, out=inverse, where=inverse > 0)
        left = ridge * (self.counts @ inverse)
        out = inverse * z
        along = self.counts @ out
        inverse *= self.counts[:, None]
        inverse *= np.divide(along, left, out=np.zeros_like(along), where=left > 0)
        out += inverse
        return out

    @cached_property
    def _groups(self) -> Groups:
        return Groups(self.counts)

    def is_factored(self, n_ridges: int) -> bool:
        """Whether forming and factoring the complements of so many ridges costs less than iterating through P."""
        q = self.rest.width
        return 0 < q <= MATRIX and self.pays(n_ridges, 2.0 * ROUNDS * n_ridges * (self._pairs.nnz + q * q / FACTOR))

    def pays(self, n_ridges: int, rival: float) -> bool:
        """Whether forming and factoring the complements costs less than a rival, both counted in additions of the sweep."""
        q = self.rest.width
        factors = n_ridges * q**3 / FACTOR
        return 0 < q <= MATRIX and factors <= rival and self._groups.cost(self._pairs, n_ridges) + factors <= rival

    def _complements(self, ridges: Array, unit: Array) -> Array:
        """Return the Schur complements, (k, q, q), only the lower triangles right."""
        among = self._among.dense()
        out = self._groups.grams(self._pairs, ridges)
        whole = self.counts[:, None] + ridges
        shrunk = np.divide(self.counts[:, None], whole, out=np.zeros_like(whole), where=whole > 0)
        sums, square, left = self._pairs.T @ shrunk, self.counts @ shrunk, ridges * shrunk.sum(axis=0)
        f = self._share
        for gram, a, b, s, r in zip(out, sums.T, square, left, ridges, strict=True):
            u = a - b * f
            gram -= np.multiply.outer(a, f) + np.multiply.outer(f, u)
            if s > 0:
                gram += np.multiply.outer(u, u / s)
            np.subtract(among, gram, out=gram)
            gram[np.diag_indices_from(gram)] += r * unit
        return out

    def complement(self) -> Array:
        """Return the Schur complement of the other columns at r = 0, (q, q)."""
        lower = np.tril(self._complements(np.zeros(1), np.zeros(self.rest.width))[0])
        return np.asarray(lower + np.tril(lower, -1).T)

    def explained(self) -> tuple[Array, Array]:
        """Return the scatter of the other columns, and what of it the category explains: S_oo and S_ow A^-1 S_wo at r = 0."""
        among = self._among.dense()
        return among, among - self.complement()

    def eigenpairs(self, k: int | None = None) -> Eigenpairs:
        """Return the k leading eigenpairs; in the chi-squared metric all eigenvalues, and at most the vectors above W."""
        if self.is_projector:
            return self.spectrum().pairs(self.width if k is None else k)
        return pairs_of_matrix(self.dense(), k, widest=self.layout.widest)

    def spectrum(self) -> Spectrum:
        """Return all eigenvalues: in the chi-squared metric from a problem no larger than twice the other columns."""
        metric, weight = self.metric, self.weight
        if metric is None or not self.is_projector:
            return spectrum_of_matrix(self.dense(), widest=self.layout.widest)
        inside, outside = metric[self.span], metric[self.is_other]
        among, explained = self.explained()
        units = np.multiply.outer(outside, outside)
        squares, turn = eigh_descending(explained * units * weight)
        levels = int((self.counts > 0).sum()) - 1
        size = min(relative_rank(squares), levels)
        sigma, turn = np.sqrt(squares[:size]), turn[:, :size]
        small = np.block([[weight * np.eye(size), (turn * sigma).T], [turn * sigma, among * units]])
        values, inner = eigh_values_first(small)
        above = int((values > weight * (1 + APART)).sum())

        def vectors(k: int) -> Array:
            count = min(k, above)
            below = inner(count)[size:]
            out = np.empty((self.width, count))
            out[self.is_other] = below
            out[self.span] = inside[:, None] * self.across(outside[:, None] * below) / (values[:count] - weight)
            return fix_signs(out / np.linalg.norm(out, axis=0))

        every = np.sort(np.concatenate([values, np.full(levels - size, weight)]))[::-1]
        return Spectrum(every, relative_rank(every, size=self.width), vectors)

    @property
    def is_projector(self) -> bool:
        """Whether the category's own block is a multiple of a projector: the metric is the chi-squared one."""
        present = self.counts > 0
        if self.metric is None:
            return False
        own = np.square(self.metric[self.span][present]) * self.counts[present]
        return 0 < self.rest.width <= MATRIX and bool(np.allclose(own, self.weight, rtol=1e-9))

    @cached_property
    def _plain_diagonal(self) -> Array:
        return scatter_diagonal(self.moments, self.layout)

    def least_squares(self, cross: Array) -> tuple[Array, int]:
        """Return a solution of S B = C, (p, m), and the rank of S, by the factored complement at r = 0."""
        others, out, none = self.is_other, np.zeros_like(cross), np.zeros(cross.shape[1])
        aim = cross[others] - self.back(self._inverse(cross[self.span], none))
        # What the category explains of another column leaves rounding of the size of that column, not of its own.
        solution, rank = solve_semidefinite(self.complement(), aim, reference=self._plain_diagonal[others])
        out[others] = solution
        out[self.span] = self._inverse(cross[self.span] - self.across(solution), none)
        return out, rank + max(int((self.counts > 0).sum()) - 1, 0)

    def solve(
        self, rhs: Array, ridge: Array, unit: Array, *, tol: float, least: float = 0.0, max_rounds: int
    ) -> tuple[Array, bool]:
        """Return solutions of (S + ridge_j D) x_j = b_j over all design columns, and whether all reached the tolerance.

        Parameters are those of `conjugate_gradients`; the solution is right up to a constant a category.
        """
        others = self.is_other
        distinct = np.unique(ridge)
        if not others.any() or (distinct[0] > 0 and self.is_factored(len(distinct))):
            return self.factored(rhs, ridge, unit, tol=tol), True
        inner, out = rhs[self.span], np.zeros_like(rhs)
        out[others], done = conjugate_gradients(
            self._reduced,
            self._plain_diagonal[others],
            rhs[others] - self.back(self._inverse(inner, ridge)),
            ridge,
            unit[others],
            spans=self.rest.category_spans,
            # A category that explains nearly everything leaves a right-hand side of rounding alone.
            reference=rhs[others],
            tol=tol,
            least=least,
            max_rounds=max_rounds,
        )
        out[self.span] = self._inverse(inner - self.across(out[others]), ridge)
        return out, done

    def factored(self, rhs: Array, ridge: Array, unit: Array, *, tol: float) -> Array:
        """Return the solutions by factoring the complement of each ridge, all of them above 0 where there are other columns."""
        others, inner, out = self.is_other, rhs[self.span], np.zeros_like(rhs)
        if others.any():
            aim = rhs[others] - self.back(self._inverse(inner, ridge))
            out[others] = self._rest(aim, ridge, unit[others], refined=tol < REFINED)
            inner = inner - self.across(out[others])
        out[self.span] = self._inverse(inner, ridge)
        return out

    def _reduced(self, v: Array, ridge: Array) -> Array:
        """Return the product of S_oo - S_ow A^-1 S_wo and v, each column with its own ridge."""
        return self._among @ v - self.back(self._inverse(self.across(v), ridge))

    def _rest(self, aim: Array, ridge: Array, unit: Array, *, refined: bool) -> Array:
        """Return the other columns' part of the solutions."""
        ridges, which = np.unique(ridge, return_inverse=True)
        out = np.empty_like(aim)
        factors = [
            # The lower triangle by rows is the upper one in LAPACK's order: nothing is copied.
            scipy.linalg.cho_factor(complement.T, lower=False, overwrite_a=True, check_finite=False)
            for complement in self._complements(ridges, unit)
        ]
        for j, factor in enumerate(factors):
            out[:, which == j] = scipy.linalg.cho_solve(factor, aim[:, which == j], check_finite=False)
        if refined:
            left = aim - self._reduced(out, ridge) - unit[:, None] * ridge * out
            for j, factor in enumerate(factors):
                out[:, which == j] += scipy.linalg.cho_solve(factor, left[:, which == j], check_finite=False)
        return out


@kernel(
    *(
        f"void({index}[::1], {index}[::1], {value}[::1], int64, int64[::1], int32[::1], float64[::1])"
        for index in ("int32", "int64")
        for value in ("int16", "int32", "int64", "float64")
    )
)
def write_block(indptr, indices, data, offset, cursor, out_indices, out_data):  # type: ignore[no-untyped-def]
    """Write the rows of a CSR block behind what `cursor` says is there of each row, its columns shifted by `offset`."""
    for row in range(len(cursor)):
        at = cursor[row]
        for a in range(indptr[row], indptr[row + 1]):
            out_indices[at] = indices[a] + offset
            out_data[at] = data[a]
            at += 1
        cursor[row] = at


def side_by_side(blocks: Sequence[Any], n_rows: int) -> sp.csr_array:
    """Return blocks of equally many rows as one float64 CSR matrix with sorted indices.

    Parameters
    ----------
    blocks : sequence of arrays or CSR arrays
        Of counts or numbers.
    n_rows : int

    Examples
    --------
    >>> side_by_side([np.array([[1, 0], [0, 2]]), sp.csr_array(np.array([[0.5], [0.0]]))], 2).toarray()
    array([[1. , 0. , 0.5],
           [0. , 2. , 0. ]])
    """
    sparse = [sp.csr_array(block) for block in blocks]
    sparse = [block if block.has_sorted_indices else block.sorted_indices() for block in sparse]
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    for block in sparse:
        indptr += block.indptr
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    cursor, offset = indptr[:-1].copy(), 0
    for block in sparse:
        values = block.data if block.data.dtype.kind == "i" else block.data.astype(np.float64, copy=False)
        write_block(block.indptr, block.indices, values, offset, cursor, indices, data)
        offset += block.shape[1]
    # Indices of both kinds must have one type, or scipy widens them by a copy.
    one = np.int32 if len(data) < 2**31 else np.int64
    parts = (data, indices.astype(one, copy=False), indptr.astype(one, copy=False))
    return sp.csr_array(parts, shape=(n_rows, offset))


@kernel(
    *(
        f"void({index}[::1], {index}[::1], float64[::1], int64[::1], int64[::1], float64[:,::1], float64[:,:,::1])"
        for index in ("int32", "int64")
    )
)
def add_weighted_grams(indptr, indices, data, order, starts, weights, out):  # type: ignore[no-untyped-def]
    """Add to `out[j, i, h]`, h <= i, the sum over groups g of `weights[g, j]` times the products of entries i, h of its rows.

    Rows of a CSR matrix with sorted indices; those of group g are `order[starts[g]:starts[g + 1]]`.
    """
    k, p = out.shape[0], out.shape[1]
    gram = np.zeros((p, p))
    for g in range(len(starts) - 1):
        squares = 0
        for q in range(starts[g], starts[g + 1]):
            length = indptr[order[q] + 1] - indptr[order[q]]
            squares += length * length
        together = squares > p * p
        if together:
            gram[:] = 0.0
        for q in range(starts[g], starts[g + 1]):
            first, last = indptr[order[q]], indptr[order[q] + 1]
            for a in range(first, last):
                i = indices[a]
                for b in range(first, a + 1):
                    value = data[a] * data[b]
                    if together:
                        gram[i, indices[b]] += value
                    else:
                        for j in range(k):
                            out[j, i, indices[b]] += weights[g, j] * value
        if together:
            for j in range(k):
                for i in range(p):
                    for h in range(i + 1):
                        out[j, i, h] += weights[g, j] * gram[i, h]


class Groups:
    """Levels of equal weight, and what sweeping over them costs.

    Parameters
    ----------
    counts : (L,) array
        Weight of each level.

    Examples
    --------
    >>> Groups(np.array([2.0, 1.0, 2.0])).values
    array([1., 2.])
    """

    def __init__(self, counts: Array) -> None:
        self.values, self._of = np.unique(counts, return_inverse=True)
        self._sizes = np.bincount(self._of, minlength=len(self.values))

    def cost(self, pairs: sp.csr_array, n_ridges: int) -> float:
        """Return the number of additions of `grams`."""
        squares = np.bincount(self._of, np.square(np.diff(pairs.indptr).astype(np.float64)), len(self.values))
        return float(np.minimum(n_ridges * squares, squares + n_ridges * pairs.shape[1] ** 2).sum()) / 2

    def grams(self, pairs: sp.csr_array, ridges: Array) -> Array:
        """Return P^T diag(1 / (n + r)) P for every r, (k, q, q), only the lower triangles filled.

        Parameters
        ----------
        pairs : (L, q) CSR array
            P, sorted indices; levels of weight zero have no entries.
        ridges : (k,) array

        Examples
        --------
        >>> P = sp.csr_array(np.array([[1.0, 1.0], [2.0, 0.0]]))
        >>> Groups(np.array([1.0, 2.0])).grams(P, np.array([0.0]))[0]
        array([[3., 0.],
               [1., 1.]])
        """
        whole = self.values[:, None] + ridges
        weights = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
        order = np.argsort(self._of, kind="stable").astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(self._sizes)]).astype(np.int64)
        out = np.zeros((len(ridges), pairs.shape[1], pairs.shape[1]))
        add_weighted_grams(pairs.indptr, pairs.indices, pairs.data, order, starts, weights, out)
        return out


DENSE = 6000
"""Up to this many design columns the scatter may be formed: 288 MB, and a Cholesky factor in seconds."""

WIDE = 1000
"""Levels from which a category is worth taking apart for eigenpairs; they must also be three times the other design columns."""

FEW = 64
"""Of more design columns than this many times the components, and than `MANY`, the components come from Krylov iterations."""

MANY = 2500


def scatter_of(moments: Moments, layout: Layout, metric: Array | None = None) -> Scatter:
    """Return the scatter for whoever needs its matrix or all of its eigenpairs."""
    return by_few_rows(moments, layout, metric) or DenseScatter(moments, layout, metric)


def by_few_rows(moments: Moments, layout: Layout, metric: Array | None = None) -> RowScatter | None:
    """Return the scatter by rows fewer than its columns, as they were collected or as a factor; None where rows are many."""
    if RowScatter.are_few(moments, layout):
        return RowScatter(moments, layout, metric)
    return FactoredScatter(moments, layout, metric) if FactoredScatter.suits(moments, layout) else None


def may_be_formed(layout: Layout) -> bool:
    """Whether S is small enough to be a matrix."""
    return layout.width <= DENSE


def mostly_numbers(layout: Layout) -> bool:
    """Whether more than half of the design columns are numbers."""
    return 2 * int(np.count_nonzero(layout.is_level)) < layout.width


def for_products(moments: Moments, layout: Layout, eliminated: WideScatter | None) -> Scatter:
    """Return the scatter for whoever only multiplies; `eliminated` is that with the widest category apart, if there is one."""
    if RowScatter.are_few(moments, layout):
        return RowScatter(moments, layout)
    if eliminated is not None and not may_be_formed(layout):
        return eliminated
    if mostly_numbers(layout) and may_be_formed(layout):
        return DenseScatter(moments, layout)
    return (NarrowScatter if NarrowScatter.suits(moments, layout) else SparseScatter)(moments, layout)


def for_leading_pairs(
    moments: Moments,
    layout: Layout,
    metric: Array | None,
    *,
    diagonal: Array,
    n_components: int | float | str | None,
    memory_limit: int | None,
) -> Iterator[Scatter]:
    """Yield representations to ask for eigenpairs, the cheapest first; the last gives as many as there are.

    Parameters
    ----------
    moments : Moments
    layout : Layout
    metric : (p,) array or None
    diagonal : (p,) array
        Of the scatter in the metric.
    n_components : int, float, str or None
        How many vectors are wanted, or by what rule; None for all of them.
    memory_limit : int, optional
        Bytes that a dense solution may take; by default what the machine has free.

    Raises
    ------
    DataError
        Where there is not the memory for a matrix, and no number of components to iterate towards.
    """
    if RowScatter.are_few(moments, layout):
        yield RowScatter(moments, layout, metric)
        return
    p, k = layout.width, int(n_components) if isinstance(n_components, int | np.integer) else None
    allowed = available_memory() if memory_limit is None else memory_limit
    sparse = SparseScatter(moments, layout, metric)
    # The matrix, the factor twice, and what is made of it.
    if FactoredScatter.suits(moments, layout) and 8 * p * (p + 4 * sparse.bound) <= allowed:
        yield FactoredScatter(moments, layout, metric)
        return
    if sparse.bound < p // 4 and 4 * 8 * p * sparse.bound <= allowed:
        yield BoundedScatter(moments, layout, metric)
        return
    if n_components is not None and metric is not None and any(layout.categorical):
        wide = WideScatter(moments, layout, metric)
        if len(wide.counts) >= max(WIDE, 3 * wide.rest.width) and wide.is_projector:
            yield wide
    # The matrix, its vectors, and what `eigh` works in.
    needed = 4 * 8 * p * p
    # Iterations compare with the largest eigenvalue, and would not see columns far below it. Where there is no matrix to give
    # them up for, they are not begun twice.
    if k is not None and needed <= allowed and p > max(MANY, FEW * k) and not unlike(diagonal):
        yield TriedScatter(moments, layout, metric)
    if needed <= allowed:
        yield DenseScatter(moments, layout, metric)
    elif k is not None:
        yield sparse
    else:
        name, size = layout.widest
        raise DataError(
            f"{p:,} design columns, {size:,} of them of column {name!r}, are too many for a "
            f"dense solution ({in_words(needed)}, and {in_words(allowed)} are "
            "allowed), and the matrix-free one finds a given number of components: instead of ",
            Argument("n_components", n_components),
            " ask for a whole number, such as ",
            Argument("n_components", 20),
            PythonOnly("; or ", Call("pool"), " rare levels first"),
        )
