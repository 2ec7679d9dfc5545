"""The tables of one column with many others, read in one sweep: chi-squared, correlation ratios and mutual information.

Greedy filters ask for the tables of one column with every other, thousands of times. Those of narrow columns lie side by
side in one matrix of counts, K_j rows of it for column j, so a compiled loop goes over these rows once, for all columns, and
makes nothing else; taking the tables out one by one would cost a thousand times what is in them. Tables of wide columns are
looked up singly.

With n_ab the cells, n_a and n_b the margins and n the rows, a table of two categories gives chi-squared over n,

    sum_ab (n_ab - n_a n_b / n)^2 / (n_a n_b),

whose deviations are computed in integers where they fit. A column kept by level may be a number of its levels, z_b with
sum_b n_b z_b = 0: then s_a = sum_b n_ab z_b are its sums over the levels of the other, sum_a s_a^2 / n_a is what these explain
of its scatter S = sum_b n_b z_b^2, and sum_a z_a s_a is the scatter of two such numbers. Divided by S of each side these are
the correlation ratio and r, squared.

Squared canonical correlations of one column with every other come from the same tables, one row of the matrix at a time.
Greedy filters look at the columns they keep, so they need a few rows of a matrix whose other rows may be thousands. In the
units of `gramian.selection.problem` the entry of two columns is the sum of the squares of their block of the scatter: r^2,
eta^2, or chi-squared over n. Numbers come as one matrix product; columns kept by level, integers among them, by their tables
(above); and a number with such a column by its sums over the levels.

The mean over the directions that both columns have is a square from 0 to 1: Cramer's V^2 for two categories (chi-squared over
n and over the smaller number of levels less 1), eta^2 for a category and a number, r^2 for two numbers. Missing values are a
level of their own in a category and the mean in a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.moments.covariance import level_values, sums_by_level
from gramian.moments.state.pair_counts import Block
from gramian.moments.value import Moments

Ends: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

_SQUARES = (
    "void({t}[:, ::1], {t}[::1], float64[::1], boolean, {t}[::1], float64[::1], boolean[::1], {t}, int64[::1], int64[::1], "
    "float64[::1])"
)


@kernel(_SQUARES.format(t="int64"), _SQUARES.format(t="float64"))
def _squares(
    strip: npt.NDArray,
    row_counts: npt.NDArray,
    row_values: Array,
    row_is_number: bool,
    counts: npt.NDArray,
    values: Array,
    is_number: npt.NDArray[np.bool_],
    weight: float,
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    out: Array,
) -> None:  # pragma: no cover - compiled
    """Write what the rows of a strip of counts explain of the columns that lie in it, in units of the scatter of numbers."""
    rows = len(row_counts)
    for c in range(len(starts)):
        total = 0.0
        if row_is_number:
            for b in range(starts[c], stops[c]):
                sum_ = 0.0
                for a in range(rows):
                    sum_ += row_values[a] * strip[a, b]
                if is_number[c]:
                    total += sum_ * values[b]
                elif counts[b] > 0:
                    total += sum_ * sum_ / counts[b]
            if is_number[c]:
                total *= total
        else:
            for a in range(rows):
                if row_counts[a] > 0:
                    sum_ = 0.0
                    if is_number[c]:
                        for b in range(starts[c], stops[c]):
                            sum_ += strip[a, b] * values[b]
                        sum_ *= sum_
                    else:
                        for b in range(starts[c], stops[c]):
                            if counts[b] > 0:
                                apart = (strip[a, b] * weight - row_counts[a] * counts[b]) / weight
                                sum_ += apart * apart / counts[b]
                    total += sum_ / row_counts[a]
        out[c] = total


_INFORMATION = (
    "void({t}[:, ::1], float64[::1], float64[::1], float64, int64[::1], int64[::1], float64[::1], float64[::1])"
)


@kernel(_INFORMATION.format(t="int64"), _INFORMATION.format(t="float64"))
def _information(
    strip: npt.NDArray,
    row_counts: Array,
    counts: Array,
    weight: float,
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    out: Array,
    seen: Array,
) -> None:  # pragma: no cover - compiled
    """Write the mutual information of each table in a strip of counts, and how many of its cells occur."""
    for c in range(len(starts)):
        total, cells = 0.0, 0.0
        for a in range(len(row_counts)):
            for b in range(starts[c], stops[c]):
                cell = float(strip[a, b])
                if cell > 0:
                    total += cell * np.log(cell / row_counts[a] * weight / counts[b])
                    cells += 1.0
        out[c], seen[c] = total / weight, cells


def seen_cells(table: npt.ArrayLike | sp.sparray) -> tuple[Array, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the cells of a table that occur, with their rows and columns.

    Examples
    --------
    >>> [part.tolist() for part in seen_cells([[2, 0], [5, 3]])]
    [[2.0, 5.0, 3.0], [0, 1, 1], [0, 0, 1]]
    """
    nonzero = sp.coo_array(table)
    some = nonzero.data > 0
    rows, cols = (at[some] for at in nonzero.coords)
    return nonzero.data[some].astype(np.float64), rows, cols


class Crosstabs:
    """What the tables of one column collected by level with all others of some columns say.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str
        Those of them that are not collected by level have no tables, and zeros here.

    Attributes
    ----------
    by_level : (q,) array of bool
        Which columns have tables.
    counts : list of arrays
        Weights of the levels of each column, nothing for a column without tables.
    spread : (q,) array
        Scatter of each number that is kept by level, 1 for other columns.
    weight : float
        Total weight.
    """

    def __init__(self, moments: Moments, columns: Sequence[str]) -> None:
        pairs = moments.pairs
        self._pairs, self.weight, q = pairs, float(moments.total_weight), len(columns)
        forms = [moments.schema[name] for name in columns]
        self.by_level = np.array([column.by_level for column in forms], dtype=bool)
        self._is_number = np.array([column.form == "integer" for column in forms], dtype=bool)
        self._coded = [
            moments.coded_at[name] if some else -1 for name, some in zip(columns, self.by_level, strict=True)
        ]
        self.counts = [np.asarray(pairs.level_weights[k]) if k >= 0 else np.zeros(0) for k in self._coded]
        self._values = [
            level_values(moments, k)[1] if number else np.zeros(len(own))
            for k, number, own in zip(self._coded, self._is_number, self.counts, strict=True)
        ]
        scatter = [float(np.square(z) @ own) for z, own in zip(self._values, self.counts, strict=True)]
        self.spread = np.where(self._is_number, scatter, 1.0)
        # Integers below 2^31 rows: products of two counts are exact. Beyond that, and for weights, in floating point.
        self._exact = pairs.matrix.dtype.kind == "i" and self.weight < 2**31
        offsets = pairs.offsets()
        inside = [j for j in range(q) if self._coded[j] in offsets]
        self._inside = np.array(inside, dtype=np.intp)
        self._place = {j: offsets[self._coded[j]] for j in inside}
        self._starts = np.array([self._place[j] for j in inside], dtype=np.int64)
        self._stops = self._starts + np.array([len(self.counts[j]) for j in inside], dtype=np.int64)
        self._diagonal = np.diagonal(pairs.matrix).astype(np.int64 if self._exact else np.float64)
        self._inside_values = np.zeros(len(self._diagonal))
        for start, j in zip(self._starts, inside, strict=True):
            self._inside_values[start : start + len(self.counts[j])] = self._values[j]

    def _tables(self, j: int) -> Iterator[tuple[npt.NDArray[np.intp], Any, npt.NDArray, Array, Ends]]:
        """Yield the tables of column j with the others kept by level: which columns, their tables side by side, the counts and
        values of their levels, and where each of them begins and ends; a sparse table comes by itself.
        """
        inside = j in self._place
        if inside:
            rows = slice(self._place[j], self._place[j] + len(self.counts[j]))
            ends = self._starts, self._stops
            yield self._inside, self._counted(self._pairs.matrix[rows]), self._diagonal, self._inside_values, ends
        for k in np.flatnonzero(self.by_level).tolist():
            if k == j or (inside and k in self._place):
                continue
            a, b = self._coded[j], self._coded[k]
            table = self._pairs.blocks[min(a, b), max(a, b)]
            table = table if a < b else table.T.tocsr() if sp.issparse(table) else table.T
            ends = np.zeros(1, dtype=np.int64), np.array([len(self.counts[k])], dtype=np.int64)
            dense = table if sp.issparse(table) else self._counted(table)
            yield np.array([k]), dense, self.counts[k], self._values[k], ends

    def _counted(self, table: npt.NDArray) -> npt.NDArray:
        return np.ascontiguousarray(table, dtype=self._diagonal.dtype)

    def squares(self, j: int) -> Array:
        """Return chi-squared over n, eta^2 or r^2 of column j, which is collected by level, with every column that is.

        With itself it is not defined, and left at 0.
        """
        out = np.zeros(len(self._coded))
        kind = self._diagonal.dtype
        weight = int(self.weight) if self._exact else self.weight
        own = self.counts[j].astype(kind), self._values[j], bool(self._is_number[j])
        for at, table, counts, values, ends in self._tables(j):
            if sp.issparse(table):
                out[at] = self._sparse_square(table, j, int(at[0]))
                continue
            some = np.empty(len(at))
            _squares(table, *own, np.asarray(counts, dtype=kind), values, self._is_number[at], weight, *ends, some)
            out[at] = some
        scale = self.spread * self.spread[j]
        out = np.divide(out, scale, out=np.zeros(len(out)), where=scale > 0)
        out[j] = 0.0
        return out

    def _sparse_square(self, table: Block, j: int, k: int) -> float:
        cells, a, b = seen_cells(table)
        rows, cols = self.counts[j], self.counts[k]
        if self._is_number[j] and self._is_number[k]:
            return float(cells @ (self._values[j][a] * self._values[k][b])) ** 2
        if self._is_number[j] or self._is_number[k]:
            by, number = (b, self._values[j][a]) if self._is_number[j] else (a, self._values[k][b])
            counts = cols if self._is_number[j] else rows
            sums = np.bincount(by, cells * number, len(counts))
            return float(np.square(sums[counts > 0]) @ (1 / counts[counts > 0]))
        return max(float((cells / rows[a] * cells / cols[b]).sum()) - 1.0, 0.0)

    def information(self, j: int) -> tuple[Array, Array]:
        """Return the mutual information, in nats, of column j with every column that has tables, and the cells that occur."""
        out, seen = np.zeros(len(self._coded)), np.zeros(len(self._coded))
        own = self.counts[j].astype(np.float64)
        if not self.weight > 0:
            return out, seen
        for at, table, counts, _, ends in self._tables(j):
            if sp.issparse(table):
                n_ab, a, b = seen_cells(table)
                out[at] = n_ab @ np.log(n_ab / own[a] * self.weight / counts[b]) / self.weight
                seen[at] = len(n_ab)
                continue
            some, cells = np.empty(len(at)), np.empty(len(at))
            _information(table, own, np.asarray(counts, dtype=np.float64), self.weight, *ends, some, cells)
            out[at], seen[at] = some, cells
        occurring = own[own > 0]
        out[j], seen[j] = occurring @ np.log(self.weight / occurring) / self.weight, len(occurring)
        return out, seen


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
