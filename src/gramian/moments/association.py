"""How strongly two source columns go together, from 0 to 1, from moments alone.

Two categories are measured by Cramer's V, a category and a number by the correlation ratio eta, two numbers by |r|. All three
are one formula. With S the centred scatter of the design columns, n_a the weight of a level and S_jj the scatter of a number,
put d_a = n_a and d_j = S_jj; then, for source columns A and B,

    association(A, B)^2 = sum over a in A, b in B of S_ab^2 / (d_a d_b) / m,

because for two categories the sum is chi^2 / W, and m = min(levels of A, levels of B) - 1 makes it V^2; for a category and a
number it is sum_a S_aj^2 / n_a / S_jj, between-level over total sum of squares; for two numbers it is r^2 (m = 1 in both).

Missing values are what they are elsewhere: a level of their own in a category, the mean in a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.moments.covariance import centred_counts, level_values
from gramian.moments.value import Moments


@dataclass(frozen=True)
class _Side:
    """One column: where it stands among those kept by level or among the numbers, and how it is weighed."""

    by_level: bool
    place: int
    values: Array | None
    """Deviations of a by-level integer from its mean, one a level; None for a category."""
    own: float
    """Scatter of a number."""

    @property
    def is_number(self) -> bool:
        return not self.by_level or self.values is not None


def association(moments: Moments, columns: Sequence[str]) -> Array:
    """Return the association of every two of the columns, NaN where one of them does not vary.

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
    weight = float(moments.total_weight)
    scatter = moments.numbers.imputed_scatter(weight) if moments.numbers.names else np.zeros((0, 0))
    sides = [_side(moments, name, scatter) for name in columns]
    sums = _Sums(moments, weight)
    out = np.full((len(sides), len(sides)), np.nan)
    for i, a in enumerate(sides):
        for j, b in enumerate(sides[: i + 1]):
            square = _varies(moments, a) if i == j else _squared(moments, sums, scatter, a, b)
            out[i, j] = out[j, i] = np.sqrt(np.clip(square, 0.0, 1.0))
    return out


def _side(moments: Moments, name: str, scatter: Array) -> _Side:
    column = moments.schema[name]
    if not column.by_level:
        j = moments.numbers.names.index(name)
        return _Side(False, j, None, float(scatter[j, j]))
    k = moments.coded_at[name]
    if column.form == "category":
        return _Side(True, k, None, np.nan)
    values = level_values(moments, k)[1]
    return _Side(True, k, values, float(moments.pairs.level_weights[k] @ np.square(values)))


def _levels(moments: Moments, side: _Side) -> int:
    return int((np.asarray(moments.pairs.level_weights[side.place]) > 0).sum())


def _varies(moments: Moments, side: _Side) -> float:
    """Return 1, NaN for a column of one value."""
    varies = side.own > 0 if side.is_number else _levels(moments, side) > 1
    return 1.0 if varies else np.nan


class _Sums:
    """Centred sums of the numbers by level, one column after another."""

    def __init__(self, moments: Moments, weight: float) -> None:
        self._moments, self._weight = moments, weight
        self._known: dict[int, Array] = {}
        self._deviation = moments.numbers.imputed_mean(weight)[1] if moments.numbers.names else np.empty(0)

    def __call__(self, k: int) -> Array:
        if k not in self._known:
            sums = self._moments.numbers.imputed_sums(self._moments.sums[k], self._weight)
            share = np.outer(self._moments.pairs.level_weights[k], self._deviation)
            self._known[k] = sums[:, : len(self._deviation)] - share
        return self._known[k]


def _squared(moments: Moments, sums: _Sums, scatter: Array, a: _Side, b: _Side) -> float:
    """Return the squared association of two columns."""
    if a.is_number and not b.is_number:
        a, b = b, a
    if np.isnan(_varies(moments, a) + _varies(moments, b)):
        return np.nan
    counts = np.asarray(moments.pairs.level_weights[a.place], dtype=np.float64) if a.by_level else np.empty(0)
    if not b.is_number:
        return _squared_v(moments, a, b, counts)
    if not a.is_number:
        with_number = _towards(moments, sums, a, b)
        seen = counts > 0
        return float((np.square(with_number[seen]) / counts[seen]).sum() / b.own)
    if not a.by_level:
        if b.by_level:
            a, b = b, a
        else:
            return float(scatter[a.place, b.place] ** 2 / (a.own * b.own))
    assert a.values is not None
    return float((a.values @ _towards(moments, sums, a, b)) ** 2 / (a.own * b.own))


def _towards(moments: Moments, sums: _Sums, a: _Side, b: _Side) -> Array:
    """Return the centred sums of a number over the levels of a column, one a level."""
    if not b.by_level:
        return sums(a.place)[:, b.place]
    assert b.values is not None
    # Deviations have weighted mean zero, so nothing is left to centre.
    return np.asarray(moments.pairs.block(a.place, b.place) @ b.values, dtype=np.float64)


def _squared_v(moments: Moments, a: _Side, b: _Side, rows: Array) -> float:
    cols = np.asarray(moments.pairs.level_weights[b.place], dtype=np.float64)
    weight = float(moments.total_weight)
    block = moments.pairs.block(a.place, b.place)
    fewest = min(_levels(moments, a), _levels(moments, b)) - 1
    if sp.issparse(block):
        # sum (N - e)^2 / (n_a n_b), e = n_a n_b / W, is sum N^2 / (n_a n_b) - 1: only pairs that occur are visited.
        cells = sp.coo_array(block)
        of_row, of_col = rows[cells.row], cols[cells.col]
        data = np.asarray(cells.data, dtype=np.float64)
        seen = data > 0
        return float((np.square(data[seen]) / (of_row[seen] * of_col[seen])).sum() - 1.0) / fewest
    centred = centred_counts(block, moments.pairs.level_weights[a.place], moments.pairs.level_weights[b.place], weight)
    kept = np.ix_(rows > 0, cols > 0)
    return float((np.square(centred[kept]) / np.multiply.outer(rows, cols)[kept]).sum()) / fewest
