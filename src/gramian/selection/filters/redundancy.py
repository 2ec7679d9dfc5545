"""Columns that others already explain.

Columns are looked at in order, best first. One is dropped where those kept so far explain it; otherwise it is kept. Of *how
much* a column is explained there are three measures, each between 0 and 1 and each without what chance explains, so that a
column of as many levels as rows explains nothing:

- correlation: |r|, correlation ratio or Cramer's V with one kept column (`gramian.selection.filters.univariate`), the largest;
- canonical: with all kept columns jointly, the root of the mean of the squared canonical correlations: of a number the multiple
  correlation R, whose 1 / (1 - R^2) is the variance inflation factor;
- uncertainty: I(column; kept) / H(column), the share of what is uncertain about the column that a kept one removes (Theil).
  It has a direction: a city explains its country and not the reverse. A number has no entropy of its own; there the share is
  1 - exp(-2 I), which is r^2 of two numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.layout import layout_of
from gramian.moments.covariance import scatter
from gramian.moments.crosstabs import Pairwise
from gramian.moments.value import Moments
from gramian.selection.filters.information import Information, entropy
from gramian.selection.filters.univariate import mean_squares
from gramian.selection.residual import EXPLAINED, Residual

MEASURES = ("correlation", "canonical", "uncertainty")


@dataclass(frozen=True, eq=False)
class Redundancy:
    """What the columns kept explain of each column.

    Attributes
    ----------
    kept : (q,) array of bool
    explained : (q,) array
        At the moment a column was looked at.
    by : (q,) array of int
        The kept column that explains most of it, -1 for the first.
    """

    kept: Array
    explained: Array
    by: Array


def redundancy(
    moments: Moments,
    columns: Sequence[str],
    order: Sequence[int],
    *,
    threshold: float,
    measure: str = "correlation",
    stay: Collection[int] = (),
) -> Redundancy:
    """Return which columns those kept before them do not explain.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str
        Collected columns.
    order : sequence of int
        In which to look at them.
    threshold : float
        A column is dropped where it is explained to this degree or more.
    measure : {"correlation", "canonical", "uncertainty"}
    stay : collection of int
        Columns that are kept whatever explains them.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"city": ["x", "y", "z", "x"] * 9, "land": ["u", "v", "v", "u"] * 9}))
    >>> [redundancy(m, ["city", "land"], o, threshold=0.9, measure="uncertainty").kept.tolist() for o in ([0, 1], [1, 0])]
    [[True, False], [True, True]]
    """
    pairs = Pairwise(moments, columns)
    information = Information(moments, columns) if measure == "uncertainty" else None
    jointly = _Jointly(moments, columns) if measure == "canonical" else None
    own = _entropies(moments, columns) if measure == "uncertainty" else np.zeros(0)
    n, q = float(moments.total_weight), len(columns)
    best, nearest, by = np.zeros(q), np.full(q, -1), np.full(q, -1)
    explained, kept = np.zeros(q), np.zeros(q, dtype=bool)
    for j in order:
        explained[j] = best[j] if jointly is None else jointly.explained(j)
        by[j] = nearest[j]
        kept[j] = j in stay or not explained[j] >= threshold
        if not kept[j]:
            continue
        if information is not None:
            row = _uncertainty(information.row(j), own)
        else:
            row = np.sqrt(mean_squares(pairs.squares(j), pairs.ranks, pairs.ranks[j], n)[1])
        # Columns that repeat each other explain as much: the first of them is named, whatever rounding makes of the others.
        nearest[row > best + EXPLAINED] = j
        best = np.maximum(best, row)
        if jointly is not None:
            jointly.enter(j)
    return Redundancy(kept, explained, np.where(explained > 0, by, -1))


def _entropies(moments: Moments, columns: Sequence[str]) -> Array:
    """Return the entropy of each column collected by level, NaN for a number."""
    return np.array(
        [entropy(moments.counts(name)) if moments.schema[name].by_level else np.nan for name in columns], dtype=float
    )


def _uncertainty(information: Array, own: Array) -> Array:
    shared = np.maximum(information, 0.0)
    share = np.divide(shared, own, out=np.zeros(len(own)), where=own > 0)
    return np.clip(np.where(np.isnan(own), -np.expm1(-2 * shared), share), 0.0, 1.0)


class _Jointly:
    """How much all kept columns together explain of another."""

    def __init__(self, moments: Moments, columns: Sequence[str]) -> None:
        layout = layout_of(moments, list(columns))
        whole = scatter(moments, layout.columns)
        varies = np.diagonal(whole) > 0
        counts = moments.mean(layout.columns) * float(moments.total_weight)
        squared = np.where(layout.is_level, counts, np.diagonal(whole))
        unit = np.where(varies, np.sqrt(np.where(varies, squared, 1.0)), np.inf)
        whole = whole / unit / unit[:, None]
        self._state = Residual(
            lambda span: whole[:, span], np.diagonal(whole), np.zeros((len(whole), 0)), layout.spans(), {}
        )
        self._ranks, self._n = self._state.left(), float(moments.total_weight)

    def explained(self, j: int) -> float:
        """Return the root of the mean squared canonical correlation, adjusted for the directions kept."""
        if not self._ranks[j] > 0:
            return 0.0
        room = self._n - 1 - self._state.rank
        left = self._state.left()[j] / self._ranks[j]
        return float(np.sqrt(max(1 - left * (self._n - 1) / room, 0.0))) if room > 0 else 0.0

    def enter(self, j: int) -> None:
        """Keep a column."""
        self._state.enter(j)
