"""Distances between time series by dynamic time warping (DTW), with a window.

    d(a, b)^2 = min over monotone paths of  sum |a_s - b_t|^2,   |s - t| <= window

One small kernel beside the others: time O(length * window) a pair, memory two rows of the table. Series may differ in
length and have several channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.distances.metrics.base import Metric, Objects, over_rows
from gramian.errors import DataError, shown


class WarpingMetric(Metric):
    """Dynamic time warping.

    `window` is the shift allowed: a share of the longer series below 1 (0.1 by default), or a number of moments; None
    allows any.

    Examples
    --------
    >>> metric = WarpingMetric("dtw", {"window": None})
    >>> series = metric.prepare([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0]])
    >>> metric.block(series, series, 1)
    array([[0., 0.],
           [0., 0.]])
    """

    takes = frozenset({"window"})

    def __init__(self, name: str, params: Mapping[str, Any]) -> None:
        super().__init__(name, params)
        window = params.get("window", 0.1)
        if window is not None and not (isinstance(window, int | float) and window >= 0):
            raise DataError(
                f"window is {shown(window)}; give a share below 1, a number of moments, or None for no limit"
            )
        self._window = float(2**40) if window is None else float(window)

    def prepare(self, objects: Any) -> Objects:
        """Return the series as a list of (moments, channels) arrays."""
        if hasattr(objects, "to_list"):
            objects = objects.to_list()
        try:
            series = [np.ascontiguousarray(item, dtype=np.float64) for item in objects]
        except (TypeError, ValueError):
            raise DataError("metric 'dtw' takes a list of series: 1-d arrays, or (moments, channels) arrays") from None
        for i, item in enumerate(series):
            if item.ndim not in (1, 2) or item.size == 0:
                raise DataError(f"series {i} has shape {item.shape}; a series is a 1-d or (moments, channels) array")
            if not np.isfinite(item).all():
                raise DataError(f"series {i} contains NaN or infinity; fill its gaps first")
        series = [item[:, None] if item.ndim == 1 else item for item in series]
        channels = {item.shape[1] for item in series}
        if len(channels) > 1:
            raise DataError(f"the series have {sorted(channels)} channels; all must have the same number")
        return series

    def block(self, rows: Objects, cols: Objects, n_jobs: int) -> npt.NDArray[Any]:
        """Return the distances, stretches of rows in threads."""
        from gramian.distances.metrics.kernels import warp

        if rows and cols and rows[0].shape[1] != cols[0].shape[1]:
            raise DataError(f"series of {rows[0].shape[1]} channels cannot be compared with {cols[0].shape[1]}")
        a, a_from = _stacked(rows)
        b, b_from = _stacked(cols)
        out = np.empty((len(rows), len(cols)))

        def work(part: slice) -> None:
            warp(a, a_from, b, b_from, self._window, part.start, part.stop, out[part])

        over_rows(work, len(rows), n_jobs)
        return out


def _stacked(series: list[npt.NDArray[np.float64]]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    offsets = np.zeros(len(series) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in series], out=offsets[1:])
    return np.concatenate(series), offsets
