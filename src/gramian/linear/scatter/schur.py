"""Schur complements of a wide category for many ridges, in one sweep over its pair counts.

A level l of the category, of weight n_l, has a sparse row P_l of pair counts with the other design columns. The eliminated
system needs P^T diag(1 / (n + r)) P for every r. The factor 1 / (n_l + r) is the same for all levels of equal weight, so

    P^T diag(1 / (n + r)) P = sum over distinct weights n of G_n / (n + r),      G_n = sum of P_l P_l^T over levels of weight n,

and the G_n, exact where counts are whole numbers, serve every r. The sweep costs half the sum of the squared row lengths: a
level seen in a handful of rows has a short row however many columns there are. A group of few levels is added to each r
directly, as passing over all of G_n would cost more.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numba import types

from gramian.arrays.types import Array
from gramian.compiling import kernel


def _add_weighted_grams(indptr, indices, data, order, starts, weights, out):  # type: ignore[no-untyped-def]
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


def _signature(index: types.Type) -> types.Type:
    f8, i8 = types.float64, types.int64
    return types.void(index[::1], index[::1], f8[::1], i8[::1], i8[::1], f8[:, ::1], f8[:, :, ::1])


add_weighted_grams = kernel(_signature(types.int32), _signature(types.int64))(_add_weighted_grams)
"""Add to `out[j, i, h]`, h <= i, the sum over groups g of `weights[g, j]` times the products of entries i and h of its rows.

Rows of a CSR matrix with sorted indices; those of group g are `order[starts[g]:starts[g + 1]]`."""


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
