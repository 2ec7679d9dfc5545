"""Squared canonical correlations of one column with every other, one row of the matrix at a time.

Greedy filters look at the columns they keep, so they need a few rows of a matrix whose other rows may be thousands. In the
units of `gramian.selection.problem` the entry of two columns is the sum of the squares of their block of the scatter: r^2,
eta^2, or chi-squared over n. Numbers come as one matrix product; columns kept by level, integers among them, by their tables
(`gramian.moments.crosstabs`); and a number with such a column by its sums over the levels.

The mean over the directions that both columns have is a square from 0 to 1: Cramer's V^2 for two categories (chi-squared over
n and over the smaller number of levels less 1), eta^2 for a category and a number, r^2 for two numbers. Missing values are a
level of their own in a category and the mean in a number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.arrays.types import Array
from gramian.moments.covariance import level_values, sums_by_level
from gramian.moments.crosstabs import Crosstabs
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
    tables : Crosstabs
        The tables of the columns kept by level.
    """

    def __init__(self, moments: Moments, columns: Sequence[str]) -> None:
        self._moments, self._n, self._columns = moments, float(moments.total_weight), list(columns)
        self.tables = Crosstabs(moments, columns)
        self._by_level = self.tables.by_level
        at = moments.number_at
        self._numbers = np.array([at[name] for name in columns if name in at], dtype=np.intp)
        self._number = {j: k for k, j in enumerate(np.flatnonzero(~self._by_level).tolist())}
        own = moments.numbers.select(self._numbers.tolist())
        scatter = own.imputed_scatter(self._n) if len(self._numbers) else np.zeros((0, 0))
        spread = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
        self._spread = np.where(spread > 0, spread, np.inf)
        self._squares = np.square(scatter / self._spread / self._spread[:, None])
        self._beside_numbers: Array | None = None
        self.ranks = np.zeros(len(columns))
        self.ranks[~self._by_level] = np.isfinite(self._spread)
        for j in map(int, np.flatnonzero(self._by_level)):
            is_number = moments.schema[columns[j]].form == "integer"
            levels = int((self.tables.counts[j] > 0).sum())
            self.ranks[j] = float(self.tables.spread[j] > 0) if is_number else max(levels - 1, 0)

    def _with_numbers(self) -> Array:
        """Return eta^2 or r^2 of every column kept by level with every number, (q, numbers): once for all rows."""
        if self._beside_numbers is None:
            out = np.zeros((len(self.ranks), len(self._numbers)))
            for j in np.flatnonzero(self._by_level) if len(self._numbers) else ():
                at, counts = self._moments.coded_at[self._columns[j]], self.tables.counts[j].astype(np.float64)
                centred = sums_by_level(self._moments, at)[counts > 0][:, self._numbers]
                if self._moments.schema[self._columns[j]].form == "integer":
                    along = level_values(self._moments, at)[1][counts > 0] @ centred
                    out[j] = np.square(along) / (self.tables.spread[j] or np.inf)
                else:
                    out[j] = np.square(centred).T @ (1 / counts[counts > 0])
            self._beside_numbers = out / np.square(self._spread)
        return self._beside_numbers

    def squares(self, j: int) -> Array:
        """Return the sum of the squared canonical correlations of column j with every column."""
        if self._by_level[j]:
            out = self.tables.squares(j)
            out[~self._by_level] = self._with_numbers()[j]
            out[j] = self.ranks[j]
        else:
            out = self._with_numbers()[:, self._number[j]].copy()
            out[~self._by_level] = self._squares[self._number[j]]
        return np.clip(out, 0.0, np.minimum(self.ranks, self.ranks[j]))


def association(moments: Moments, columns: Sequence[str]) -> Array:
    """Return the association of every two columns: Cramer's V, eta or |r|; NaN where one of them does not vary.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str
        Names of collected columns.

    Returns
    -------
    (q, q) array

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"a": ["u", "u", "v", "v"], "b": ["r", "r", "s", "s"], "x": [1.0, 2.0, 1.0, 2.0]}))
    >>> association(m, ["a", "b", "x"]).round(6).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    pairs = Pairwise(moments, columns)
    fewest = np.minimum.outer(pairs.ranks, pairs.ranks)
    squares = np.array([pairs.squares(j) for j in range(len(columns))])
    np.fill_diagonal(squares, pairs.ranks)
    out = np.sqrt(np.divide(squares, fewest, out=np.full_like(fewest, np.nan), where=fewest > 0))
    # Each pair is measured from both sides, in another order of sums.
    return np.maximum(out, out.T)
