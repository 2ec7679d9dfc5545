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
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.moments.covariance import level_values
from gramian.moments.state.pair_counts import Block
from gramian.moments.value import Moments

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
        self._float_diagonal = self._diagonal.astype(np.float64)
        self._inside_values = np.zeros(len(self._diagonal))
        for start, j in zip(self._starts, inside, strict=True):
            self._inside_values[start : start + len(self.counts[j])] = self._values[j]

    def _strip(self, j: int) -> npt.NDArray:
        start = self._place[j]
        return self._counted(self._pairs.matrix[start : start + len(self.counts[j])])

    def _counted(self, table: npt.NDArray) -> npt.NDArray:
        return np.ascontiguousarray(table, dtype=np.int64 if self._exact else np.float64)

    def _alone(self, j: int) -> list[int]:
        """Return the other columns whose table with column j is kept by itself."""
        if j in self._place:
            return [k for k in range(len(self._coded)) if self.by_level[k] and k not in self._place]
        return [k for k in range(len(self._coded)) if self.by_level[k] and k != j]

    def _table(self, j: int, k: int) -> Block:
        a, b = self._coded[j], self._coded[k]
        if a < b:
            return self._pairs.blocks[a, b]
        table = self._pairs.blocks[b, a]
        return table.T.tocsr() if sp.issparse(table) else table.T

    def squares(self, j: int) -> Array:
        """Return chi-squared over n, eta^2 or r^2 of column j, which is collected by level, with every column that is.

        With itself it is not defined, and left at 0.
        """
        out = np.zeros(len(self._coded))
        weight = int(self.weight) if self._exact else self.weight
        kind = np.int64 if self._exact else np.float64
        own = self.counts[j].astype(kind), self._values[j], bool(self._is_number[j])
        if j in self._place and len(self._inside):
            some = np.empty(len(self._inside))
            beside = self._diagonal, self._inside_values, self._is_number[self._inside]
            _squares(self._strip(j), *own, *beside, weight, self._starts, self._stops, some)
            out[self._inside] = some
        for k in self._alone(j):
            table = self._table(j, k)
            if sp.issparse(table):
                out[k] = self._sparse_square(table, j, k)
                continue
            counts, one = self.counts[k].astype(kind), np.empty(1)
            beside = counts, self._values[k], self._is_number[k : k + 1]
            ends = np.zeros(1, dtype=np.int64), np.array([len(counts)], dtype=np.int64)
            _squares(self._counted(table), *own, *beside, weight, *ends, one)
            out[k] = one[0]
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
        if j in self._place and len(self._inside):
            some, cells = np.empty(len(self._inside)), np.empty(len(self._inside))
            _information(self._strip(j), own, self._float_diagonal, self.weight, self._starts, self._stops, some, cells)
            out[self._inside], seen[self._inside] = some, cells
        for k in self._alone(j):
            table = self._table(j, k)
            if sp.issparse(table):
                n_ab, a, b = seen_cells(table)
                out[k] = n_ab @ np.log(n_ab / own[a] * self.weight / self.counts[k][b]) / self.weight
                seen[k] = len(n_ab)
                continue
            one, cells = np.empty(1), np.empty(1)
            counts = self.counts[k].astype(np.float64)
            ends = np.zeros(1, dtype=np.int64), np.array([len(counts)], dtype=np.int64)
            _information(self._counted(table), own, counts, self.weight, *ends, one, cells)
            out[k], seen[k] = one[0], cells[0]
        occurring = own[own > 0]
        out[j], seen[j] = occurring @ np.log(self.weight / occurring) / self.weight, len(occurring)
        return out, seen
