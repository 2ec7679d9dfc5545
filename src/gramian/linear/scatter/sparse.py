"""The scatter as something that multiplies, straight from the moments and without its p x p entries.

**`SparseScatter`.** For design columns x (levels 0/1, numbers imputed at their means) the scatter is S = sum_i w_i (x_i -
m)(x_i - m)^T. To apply it to v, write v over the levels of the coded columns (u_k = v on a category, u_k = v_j E on a by-level
integer j with deviations E) and over the extended numbers (e = A v, see `moments.state.numbers`). A constant added to all
levels of one column is the same for every row, hence nothing once centred; so take from each u_k its weighted mean, and then

    levels of k     sum_j N_kj u_j + T_k e - n_k (d . v)        N pair counts, T sums by level, d deviations of the means
    numbers         A^T (C e + sum_k T_k^T u_k)

with no rank-one correction to cancel against. The columns that are multiplied need not be those that come out: the scatter of
features with targets is the same sum over other blocks (`CrossScatter`). The cost of one product is the size of those blocks:
sparse ones stay sparse, and numbers kept as rows R stay rows, C e = R^T (R e).

**`NarrowScatter`** serves narrow categories and few numbers: a product is one call of BLAS and a few vector operations. For
categories alone S v = N u, with N the pair counts and u = v less its weighted mean over each category: a constant added to all
levels of a column is the same for every row, hence nothing once centred. Numbers bring the columns R = S[:, numbers], found
once. S is never formed. The block is multiplied from the left, (V^T N)^T: for eight columns OpenBLAS takes three fifths of the
time of N V, as it need not repack N. Counts are whole numbers and become floats some rows at a time, in cache: a product takes
as long as one with floats, and N is there once and not twice.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.linalg import relative_rank
from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.linear.layout import Layout, LevelMeans, centre_of
from gramian.linear.scatter.dense import Eigenpairs, Scatter, pairs_of_matrix
from gramian.linear.solvers import eigenpairs_of_low_rank, leading_eigenpairs
from gramian.moments.covariance import grid, level_values
from gramian.moments.state.pair_counts import Block
from gramian.moments.value import Moments

SETTLED = 1e-8
"""Residuals, relative to the largest eigenvalue, above which iterations that may be given up have not settled."""


class _Side:
    """The columns of a layout as moments keep them: by level, or as numbers."""

    def __init__(self, moments: Moments, layout: Layout) -> None:
        spans = dict(zip(layout.columns, layout.spans(), strict=True))
        forms = dict(zip(layout.columns, layout.forms, strict=True))
        coded = {moments.coded_at[name]: name for name, form in forms.items() if form != "number"}
        self.span = {k: spans[name] for k, name in coded.items()}
        self.values = {k: level_values(moments, k)[1] for k, name in coded.items() if forms[name] == "integer"}
        self.counts = {k: np.asarray(moments.pairs.level_weights[k], dtype=np.float64) for k in coded}
        narrow = set(moments.pairs.narrow)
        self.narrow = [k for k in coded if k in narrow]
        numeric = [name for name, form in forms.items() if form == "number"]
        self.numeric_at = np.array([spans[name].start for name in numeric], dtype=np.intp)
        self.number = np.array([moments.number_at[name] for name in numeric], dtype=np.intp)

    def centred(self, k: int, v: Array, weight: float) -> Array:
        """Return u_k."""
        if k in self.values:
            return np.multiply.outer(self.values[k], v[self.span[k].start])
        u = v[self.span[k]]
        return u - (self.counts[k] / weight) @ u

    def add(self, out: Array, k: int, by_level: Array) -> None:
        """Add what comes out over the levels of a column, an integer's folded into its number."""
        if k in self.values:
            out[self.span[k].start] += self.values[k] @ by_level
        else:
            out[self.span[k]] += by_level


class CrossScatter:
    """The scatter between the design columns of two layouts, as something that multiplies from the left.

    Parameters
    ----------
    moments : Moments
    rows, columns : Layout
        S is (rows.width, columns.width).

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
    >>> CrossScatter(m, layout_of(m, ["color"]), layout_of(m, ["size"])) @ np.eye(1)
    array([[0.],
           [0.]])
    """

    def __init__(self, moments: Moments, rows: Layout, columns: Layout) -> None:
        self._moments, self._width = moments, rows.width
        self._rows = _Side(moments, rows)
        self._columns = self._rows if columns is rows else _Side(moments, columns)
        pairs = moments.pairs
        self._matrix = np.empty((0, 0))
        if self._rows.narrow and self._columns.narrow:
            at = [pairs.slots(side.narrow) for side in (self._rows, self._columns)]
            whole = all(np.array_equal(each, np.arange(len(pairs.matrix))) for each in at)
            self._matrix = np.asarray(pairs.matrix if whole else pairs.matrix[np.ix_(*at)], dtype=np.float64)
        # A block is stored once, for whichever of its columns comes first, and serves both ways.
        narrow, stored = set(pairs.narrow), {}
        self._blocks: list[tuple[int, int, Block]] = []
        for i in self._rows.span:
            for j in self._columns.span:
                if i != j and not (i in narrow and j in narrow):
                    pair = min(i, j), max(i, j)
                    if pair not in stored:
                        stored[pair] = pairs.block(*pair).astype(np.float64)
                    self._blocks.append((i, j, stored[pair] if i < j else stored[pair].T))
        self._own = [k for k in self._rows.span if k in self._columns.span and k not in narrow]
        _, self._deviation = moments.numbers.imputed_mean(float(moments.total_weight))
        self._missing = np.asarray(moments.numbers.missing, dtype=np.intp)

    def __matmul__(self, v: Array) -> Array:
        """Return S v for a (columns.width, k) block."""
        rows, columns, weight = self._rows, self._columns, float(self._moments.total_weight)
        out = np.zeros((self._width, v.shape[1]))
        levels = {k: columns.centred(k, v, weight) for k in columns.span}
        if self._matrix.size:
            by_level = self._matrix @ np.concatenate([levels[k] for k in columns.narrow])
            start = 0
            for k in rows.narrow:
                rows.add(out, k, by_level[start : start + len(rows.counts[k])])
                start += len(rows.counts[k])
        for k in self._own:
            rows.add(out, k, rows.counts[k][:, None] * levels[k])
        for i, j, block in self._blocks:
            rows.add(out, i, np.asarray(block @ levels[j]))
        if len(columns.number):
            self._add_from_numbers(v, out)
        if len(rows.number):
            self._add_to_numbers(v, levels, out)
        return out

    def _extended(self, v: Array) -> Array:
        """Return e = A v."""
        numbers, p = self._moments.numbers, len(self._moments.numbers.names)
        out = np.zeros((numbers.n_extended, v.shape[1]))
        out[self._columns.number] = v[self._columns.numeric_at]
        out[p:] = self._deviation[self._missing, None] * out[self._missing]
        return out

    def _add_from_numbers(self, v: Array, out: Array) -> None:
        """Add T_k e - n_k (d . v) to the levels."""
        extended = self._extended(v)
        offset = self._deviation[self._columns.number] @ v[self._columns.numeric_at]
        for k, counts in self._rows.counts.items():
            self._rows.add(out, k, self._moments.sums[k] @ extended - np.multiply.outer(counts, offset))

    def _add_to_numbers(self, v: Array, levels: dict[int, Array], out: Array) -> None:
        """Add A^T (C e + sum_k T_k^T u_k) to the numbers."""
        numbers, p = self._moments.numbers, len(self._moments.numbers.names)
        result = np.zeros((numbers.n_extended, v.shape[1]))
        if len(self._columns.number):
            extended = self._extended(v)
            if numbers.rows is not None:
                result += numbers.rows.T @ (numbers.rows @ extended)
            else:
                result += numbers.dense() @ extended
        for k, u in levels.items():
            result += self._moments.sums[k].T @ u
        result[self._missing] += self._deviation[self._missing, None] * result[p:]
        out[self._rows.numeric_at] += result[self._rows.number]


class SparseScatter(Scatter):
    """Products through the pair counts; eigenpairs by Krylov iterations, which find a given number of them.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
    >>> np.allclose(SparseScatter(m, layout_of(m, None)) @ np.eye(3), 2 * m.covariance())
    True
    """

    restarts: int | None = None
    """Restarts after which iterations that have not settled are given up; None: the best they find is taken."""

    @cached_property
    def _product(self) -> CrossScatter:
        return CrossScatter(self.moments, self.layout, self.layout)

    def _times(self, v: Array) -> Array:
        return self._product @ v

    @property
    def bound(self) -> int:
        """The most that the rank can be, by rows and by columns."""
        return min(self.moments.n_rows - 1, self.layout.dimensions)

    def eigenpairs(self, k: int | None = None) -> Eigenpairs:
        """Return the k leading pairs, by default all of them; without vectors where the iterations were given up."""
        if k is None:
            values, vectors = eigenpairs_of_low_rank(self.__matmul__, self.width, self.bound)
            return Eigenpairs(values, vectors, relative_rank(values, size=self.width))
        k = min(k, self.bound)
        limit = {} if self.restarts is None else {"max_restarts": self.restarts}
        values, vectors, residual = leading_eigenpairs(self.__matmul__, self.width, k, **limit)
        if self.restarts is not None and not residual <= SETTLED:
            vectors = vectors[:, :0]
        rank = relative_rank(values, size=self.width)
        return Eigenpairs(values, vectors, self.bound if rank == k else rank)


class BoundedScatter(SparseScatter):
    """The same for so few rows that all eigenpairs cost less than iterations towards some."""

    def eigenpairs(self, k: int | None = None) -> Eigenpairs:
        """Return all pairs, whatever k is."""
        return super().eigenpairs()


class TriedScatter(SparseScatter):
    """The same where a matrix could be formed: iterations that are slow to settle are given up for it."""

    restarts = 8


def cross_scatter(moments: Moments, rows: Layout, columns: Layout, functions: Array | None = None) -> Array:
    """Return the scatter between the design columns of two layouts, (rows, columns), or with functions of the latter.

    Parameters
    ----------
    moments : Moments
    rows, columns : Layout
    functions : (columns.width, m) array, optional
        Linear functions of the second layout's design columns.
    """
    return CrossScatter(moments, rows, columns) @ (np.eye(columns.width) if functions is None else functions)


NUMBERS = 64
"""With more numbers than this their own scatter is most of the product, and `SparseScatter` has it as it is."""


SMALL_BYTES = 2**25
"""Counts of up to 2,048 levels become floats once; of more levels they do so in each product, a few rows at a time."""


class NarrowScatter(Scatter):
    """One matrix of pair counts; see `suits`.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
    >>> np.allclose(NarrowScatter(m, layout_of(m, None)) @ np.eye(3), 2 * m.covariance())
    True
    """

    def __init__(self, moments: Moments, layout: Layout, metric: Array | None = None) -> None:
        super().__init__(moments, layout, metric)
        at = moments.pairs.slots(moments.coded_at[name] for name in layout.categories)
        counts = moments.pairs.matrix[grid(at, at)]
        self._counts = counts.astype(np.float64, copy=False) if counts.nbytes <= SMALL_BYTES else counts
        self._means = LevelMeans(layout.category_spans, layout.width, centre_of(moments, layout))
        self._levels, self._others = np.flatnonzero(layout.is_level), np.flatnonzero(~layout.is_level)
        self._columns = cross_scatter(moments, layout, layout.without(layout.categories))

    @staticmethod
    def suits(moments: Moments, layout: Layout) -> bool:
        """Whether every category is narrow, there is one, and numbers are few."""
        coded = {moments.coded_at[name] for name in layout.categories}
        few = len(layout.columns) - len(coded) <= NUMBERS
        return bool(coded) and few and coded.issubset(moments.pairs.narrow)

    def _times(self, v: Array) -> Array:
        centred = self._means.removed(v)
        if not len(self._others):
            return np.ascontiguousarray(self._counted(centred).T)
        out = np.empty_like(centred)
        out[self._levels] = self._counted(centred[self._levels]).T
        out[self._levels] += self._columns[self._levels] @ centred[self._others]
        out[self._others] = self._columns.T @ centred
        return out

    def _counted(self, v: Array) -> Array:
        """Return V^T N."""
        if self._counts.dtype == np.float64:
            return v.T @ self._counts
        out = np.zeros((v.shape[1], len(self._counts)))
        for some in row_blocks(self._counts, CACHED_BYTES):
            out += v[some].T @ self._counts[some].astype(np.float64)
        return out

    def eigenpairs(self, k: int | None = None) -> Eigenpairs:
        """Return the k leading eigenpairs of the matrix, which is small; by default all with variance."""
        return pairs_of_matrix(self.dense(), k, widest=self.layout.widest)
