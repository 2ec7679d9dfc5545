"""Means over the levels of each category, for whole blocks of design columns at once.

A loop over columns costs more than the arithmetic where there are dozens of small ones; `reduceat` sums all spans in one call.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.layout import Layout


class LevelMeans:
    """Weighted means over spans of rows; rows outside every span have mean zero.

    Parameters
    ----------
    spans : sequence of slices
        In order and apart from each other.
    width : int
        Number of rows.
    weights : (width,) array, optional
        Shares that sum to one over each span; by default all rows of a span count alike.

    Examples
    --------
    >>> means = LevelMeans([slice(0, 2)], 3)
    >>> means.removed(np.array([[1.0], [3.0], [5.0]])).ravel()
    array([-1.,  1.,  5.])
    """

    def __init__(self, spans: Sequence[slice], width: int, weights: Array | None = None) -> None:
        inside = np.zeros(width)
        for span in spans:
            inside[span] = 1.0 / max(span.stop - span.start, 1) if weights is None else weights[span]
        self._inside = inside[:, None]
        edges = {0, *(span.start for span in spans), *(span.stop for span in spans)}
        self._starts = np.array(sorted(edge for edge in edges if edge < width), dtype=np.intp)
        self._sizes = np.diff(np.append(self._starts, width))

    def removed(self, v: Array) -> Array:
        """Return a (width, k) block less the means of its columns."""
        if not len(v):
            return v.copy()
        means = np.add.reduceat(self._inside * v, self._starts, axis=0)
        return v - np.repeat(means, self._sizes, axis=0)


def as_transformed(layout: Layout, mean: Array, weights: Array) -> Array:
    """Return weights (p, k) with mean zero over each category, and zero for levels without rows.

    The levels of a category sum to one, so adding a constant to their weights changes nothing once centred. With this choice
    of it a level that no row had is worth what the average row is, as `transform` has it.

    Parameters
    ----------
    layout : Layout
    mean : (p,) array
        Of the design columns: a level's share.
    weights : (p, k) array
    """
    out = LevelMeans(layout.category_spans, layout.width, mean).removed(weights)
    out[layout.is_level & (mean == 0)] = 0.0
    return out
