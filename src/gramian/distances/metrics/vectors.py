"""Distances between rows of numbers, through scipy's `cdist`; between anything, through a callable; and between time series.

Dynamic time warping (DTW) with a window:

    d(a, b)^2 = min over monotone paths of  sum |a_s - b_t|^2,   |s - t| <= window

It takes O(length * window) time per pair, and two rows of the table in memory. Series may differ in length and have several
channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.distances.metrics.metric import Metric, Objects, as_matrix, over_rows
from gramian.errors import DataError, shown

NAMES = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice", "euclidean",
    "hamming", "jaccard", "jensenshannon", "mahalanobis", "minkowski", "rogerstanimoto",
    "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule",
)  # fmt: skip
"""Metrics of scipy.spatial.distance.cdist."""


class VectorMetric(Metric):
    """A distance of scipy; variances and covariances that it needs are those of the reference rows.

    Examples
    --------
    >>> metric = VectorMetric("euclidean", {})
    >>> metric.block(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]), 1)
    array([[5.]])
    """

    takes = frozenset({"p", "w", "V", "VI"})

    def learn(self, objects: Any) -> Metric:
        """Return the metric with the variances (seuclidean) or inverse covariance (mahalanobis) of the rows."""
        if self.name == "seuclidean" and "V" not in self.params:
            self.params["V"] = self.prepare(objects).var(axis=0, ddof=1)
        if self.name == "mahalanobis" and "VI" not in self.params:
            covariance = np.atleast_2d(np.cov(self.prepare(objects), rowvar=False))
            self.params["VI"] = np.linalg.pinv(covariance, hermitian=True)
        return self

    def state(self) -> dict[str, Any]:
        """Return the variances or the inverse covariance in use."""
        return {name: self.params[name] for name in ("V", "VI") if name in self.params}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back variances or inverse covariance."""
        self.params.update(state)

    def prepare(self, objects: Any) -> Objects:
        """Return the rows as a float array."""
        if hasattr(objects, "toarray"):
            raise DataError(f"metric {self.name!r} takes dense rows; sparse data is not supported: pass X.toarray()")
        vectors = as_matrix(objects, what="the table of vectors")
        if vectors.shape[0] == 0 or vectors.shape[1] == 0:
            raise DataError(f"0 feature(s) or sample(s) (shape={vectors.shape}) while a minimum of 1 is required")
        if not np.isfinite(vectors).all():
            i, j = np.argwhere(~np.isfinite(vectors))[0]
            raise DataError(
                f"the vectors contain NaN or infinity at row {i}, column {j}; for missing values use 'gower'"
            )
        return np.ascontiguousarray(vectors)

    def block(self, rows: Objects, cols: Objects, n_jobs: int) -> npt.NDArray[Any]:
        """Return the distances, blocks of rows in threads."""
        from scipy.spatial.distance import cdist

        if rows.shape[1] != cols.shape[1]:
            raise DataError(f"rows of {rows.shape[1]} numbers cannot be compared with rows of {cols.shape[1]}")
        out = np.empty((len(rows), len(cols)))
        rows, cols = np.asarray(rows, dtype=np.float64), np.asarray(cols, dtype=np.float64)

        def work(part: slice) -> None:
            out[part] = cdist(rows[part], cols, self.name, **self.params)

        over_rows(work, len(rows), n_jobs)
        return out


class CallableMetric(Metric):
    """Distances from a function of two objects that returns a number.

    The function is called once a pair, from one thread: it holds the interpreter lock anyway.
    """

    def __init__(self, function: Callable[..., float], params: Mapping[str, Any]) -> None:
        self.name, self.params = getattr(function, "__name__", "callable"), dict(params)
        self._function = function

    def prepare(self, objects: Any) -> Objects:
        """Return the objects as a list, or as an array where they are one."""
        if isinstance(objects, np.ndarray):
            return objects
        if hasattr(objects, "to_numpy"):
            return objects.to_numpy()
        return list(objects)

    def block(self, rows: Objects, cols: Objects, n_jobs: int) -> npt.NDArray[Any]:
        """Return the distances, pair by pair; where both sides are the same list, each pair once."""
        out = np.zeros((len(rows), len(cols)))
        same = rows is cols
        for i in range(len(rows)):
            for j in range(i if same else len(cols)):
                out[i, j] = self._function(rows[i], cols[j], **self.params)
        return out + out.T if same else out


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
        """Return the distances, blocks of rows in threads."""
        from gramian.distances.metrics.pair_loops import warp

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
    return np.concatenate(series), np.cumsum([0, *map(len, series)], dtype=np.int64)
