"""Squared canonical correlations of one column with every other, one row of the matrix at a time.

Greedy filters look at the columns they keep, so they need a few rows of a matrix whose other rows may be thousands. In the
units of `gramian.selection.problem` the entry of two columns is the sum of the squares of their block of the scatter: r^2,
eta^2, or chi-squared over n. Numbers, integers kept by level among them, come as one matrix product; pairs of categories by
their tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.moments.algebra.levels import fold_into_number
from gramian.moments.covariance import centred_counts
from gramian.moments.value import Moments


class Pairwise:
    """Sums of squared canonical correlations between source columns.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str
        Collected columns.

    Attributes
    ----------
    ranks : (q,) array
        Directions of each column, 0 where it does not vary.
    """

    def __init__(self, moments: Moments, columns: Sequence[str]) -> None:
        moments = moments.select(columns)
        for name in columns:
            if moments.schema[name].form == "integer":
                moments = fold_into_number(moments, name)
        self._moments, self._n = moments, float(moments.total_weight)
        self._is_category = np.array([moments.schema[name].form == "category" for name in columns], dtype=bool)
        self._coded = [moments.coded_at[name] if c else -1 for name, c in zip(columns, self._is_category, strict=True)]
        at = {name: j for j, name in enumerate(moments.numbers.names)}
        self._number = np.array([at.get(name, -1) for name in columns], dtype=np.intp)
        self._numbers = self._number[self._number >= 0]
        scatter = moments.numbers.imputed_scatter(self._n) if at else np.zeros((0, 0))
        own = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
        self._spread = np.where(own > 0, own, np.inf)
        self._squares = np.square(scatter / self._spread / self._spread[:, None])
        self._deviation = moments.numbers.imputed_mean(self._n)[1]
        self.ranks = np.zeros(len(columns))
        self.ranks[~self._is_category] = np.isfinite(self._spread)[self._numbers]
        for j in np.flatnonzero(self._is_category):
            self.ranks[j] = max(int((self._counts(int(j)) > 0).sum()) - 1, 0)

    def _counts(self, j: int) -> npt.NDArray:
        return np.asarray(self._moments.pairs.level_weights[self._coded[j]])

    def _with_numbers(self, j: int) -> Array:
        """Return eta^2 of every number over the levels of category j."""
        counts = self._counts(j).astype(np.float64)
        sums = self._moments.numbers.imputed_sums(self._moments.sums[self._coded[j]], self._n)
        centred = (sums - np.outer(counts, self._deviation))[counts > 0]
        return np.square(centred).T @ (1 / counts[counts > 0]) / np.square(self._spread)

    def _with_category(self, j: int, k: int) -> float:
        """Return chi-squared over n of two categories."""
        block = self._moments.pairs.block(self._coded[j], self._coded[k])
        rows, cols = self._counts(j), self._counts(k)
        if sp.issparse(block):
            nonzero = sp.coo_array(block)
            seen = nonzero.data > 0
            cells = nonzero.data[seen].astype(np.float64)
            of_row, of_col = rows[nonzero.coords[0][seen]], cols[nonzero.coords[1][seen]]
            return max(float((cells / of_row * cells / of_col).sum()) - 1.0, 0.0)
        centred = centred_counts(block, rows, cols, self._n)
        of_row, of_col = (np.where(side > 0, side, np.inf).astype(np.float64) for side in (rows, cols))
        return float((1 / of_row) @ np.square(centred) @ (1 / of_col))

    def squares(self, j: int) -> Array:
        """Return the sum of the squared canonical correlations of column j with every column."""
        out = np.zeros(len(self.ranks))
        if self._is_category[j]:
            out[~self._is_category] = self._with_numbers(j)[self._numbers]
            for k in np.flatnonzero(self._is_category):
                out[k] = self.ranks[j] if k == j else self._with_category(j, int(k))
        else:
            out[~self._is_category] = self._squares[self._number[j], self._numbers]
            for k in np.flatnonzero(self._is_category):
                out[k] = self._with_numbers(int(k))[self._number[j]]
        return np.clip(out, 0.0, np.minimum(self.ranks, self.ranks[j]))
