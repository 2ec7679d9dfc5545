"""The scatter of narrow categories and few numbers: a product is one call of BLAS and a few vector operations.

For categories alone S v = N u, with N the pair counts and u = v less its weighted mean over each category: a constant added to
all levels of a column is the same for every row, hence nothing once centred. Numbers bring the columns R = S[:, numbers], found
once. S is never formed. The block is multiplied from the left, (V^T N)^T: for eight columns OpenBLAS takes three fifths of
the time of N V, as it need not repack N.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.layout import Layout, centre_of
from gramian.linear.level_means import LevelMeans
from gramian.linear.scatter.base import Count, Eigenpairs, Scatter
from gramian.linear.scatter.dense import pairs_of_matrix
from gramian.linear.scatter.sparse import cross_scatter
from gramian.moments.covariance import grid
from gramian.moments.value import Moments

NUMBERS = 64
"""With more numbers than this their own scatter is most of the product, and `SparseScatter` has it as it is."""


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
        offsets, sizes = moments.pairs.offsets(), moments.pairs.sizes
        coded = [moments.coded_at[name] for name in layout.categories]
        at = np.concatenate([offsets[k] + np.arange(sizes[k]) for k in coded])
        self._counts = np.asarray(moments.pairs.matrix[grid(at, at)], dtype=np.float64)
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
            return np.ascontiguousarray((centred.T @ self._counts).T)
        out = np.empty_like(centred)
        out[self._levels] = (centred[self._levels].T @ self._counts).T
        out[self._levels] += self._columns[self._levels] @ centred[self._others]
        out[self._others] = self._columns.T @ centred
        return out

    def eigenpairs(self, k: Count = None) -> Eigenpairs:
        """Return the leading eigenpairs, of the matrix: it is small."""
        return pairs_of_matrix(self.dense(), k)
