"""Distances between all pairs of objects by any metric, each pair measured once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import refuse_beyond, row_blocks
from gramian.arrays.threads import usable_cores
from gramian.distances.metrics.gower import MixedMetric
from gramian.distances.metrics.metric import Metric, Objects, take
from gramian.distances.metrics.sequences import SCORERS, AlignmentMetric, SetMetric, StringMetric
from gramian.distances.metrics.vectors import NAMES, CallableMetric, VectorMetric, WarpingMetric
from gramian.errors import Argument, DataError, shown
from gramian.progress import Progress

FAMILIES: dict[str, Any] = {
    "alignment": AlignmentMetric,
    "dtw": WarpingMetric,
    "gower": MixedMetric,
    "jaccard": SetMetric,
    **dict.fromkeys(SCORERS, StringMetric),
}
"""Metric name -> class; every other name is one of scipy's."""

PAIRS_AT_ONCE = 2_000_000
"""Pairs of one block: a few tens of milliseconds for the cheapest metric, a few seconds for the dearest."""


def metric_names() -> list[str]:
    """Return the names that `metric` may have."""
    return sorted({*FAMILIES, *NAMES})


def check_metric(metric: Any) -> None:
    """Raise where there is no metric of a name."""
    if not callable(metric) and metric not in metric_names():
        near = get_close_matches(str(metric), metric_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(metric_names())}"
        raise DataError(f"there is no metric {shown(metric)}; {hint}")


class Measure:
    """A metric with its `power`: what estimators keep of the call.

    Parameters
    ----------
    metric : str or callable
    params : mapping
        Of the metric, and `power`: the exponent that distances are raised to.
    vectors : bool
        Whether the objects are rows of numbers; decides between scipy's and the others' `hamming` and `jaccard`.
    """

    def __init__(self, metric: str | Callable[..., float], params: Mapping[str, Any] | None, *, vectors: bool) -> None:
        own = dict(params or {})
        self.power = float(own.pop("power", 1.0))
        if not 0 < self.power < np.inf:
            raise DataError(f"power is {self.power:g}; it must be positive, and 0.5 is the root")
        self.metric: Metric
        if callable(metric):
            self.metric = CallableMetric(metric, own)
        elif metric in FAMILIES and not (vectors and metric in NAMES):
            self.metric = FAMILIES[metric](metric, own)
        else:
            check_metric(metric)
            self.metric = VectorMetric(metric, own)

    def block(self, rows: Objects, cols: Objects, n_jobs: int, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """Return the distances between prepared objects, raised to the power."""
        distances = np.asarray(self.metric.block(rows, cols, n_jobs), dtype=dtype)
        if self.power == 0.5:
            return np.sqrt(distances, out=distances)
        return distances if self.power == 1.0 else np.power(distances, self.power, out=distances)

    def stream(
        self, rows: Objects, cols: Objects, n_jobs: int, dtype: npt.DTypeLike = np.float64
    ) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """Yield blocks of rows with their distances to `cols`, a bounded number of pairs at a time."""
        step = max(1, PAIRS_AT_ONCE // max(1, len(cols)))
        for start in range(0, len(rows), step):
            part = slice(start, min(start + step, len(rows)))
            yield part, self.block(take(rows, part), cols, n_jobs, dtype)


def is_vectors(objects: Any) -> bool:
    """Whether objects are an array or frame of numbers, one row per object."""
    is_frame = hasattr(objects, "columns") and hasattr(objects, "to_numpy")
    values = objects.to_numpy() if is_frame else objects
    return isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "fiub"


def symmetric_distances(
    measure: Measure, objects: Objects, *, n_jobs: int, dtype: npt.DTypeLike, progress: bool | None = None
) -> npt.NDArray[Any]:
    """Return all distances between prepared objects, (n, n); each pair is measured once."""
    n = len(objects)
    out = np.zeros((n, n), dtype=dtype)
    step = max(16, min(1024, n // 16))
    with Progress(progress, n * (n + 1) // 2, "distances", "pairs") as shown:
        for start in range(0, n, step):
            stop = min(start + step, n)
            rows = take(objects, slice(start, stop))
            out[start:stop, start:stop] = measure.block(rows, rows, n_jobs, dtype)
            for begin in range(stop, n, max(1, PAIRS_AT_ONCE // step)):
                part = slice(begin, min(n, begin + max(1, PAIRS_AT_ONCE // step)))
                block = measure.block(rows, take(objects, part), n_jobs, dtype)
                out[start:stop, part] = block
                out[part, start:stop] = block.T
            # Pairs of these rows with themselves and with all that follow.
            shown.advance((stop - start) * (2 * n - start - stop + 1) // 2)
    return out


def pairwise_distances(
    a: Any,
    b: Any = None,
    metric: str | Callable[..., float] = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    dtype: npt.DTypeLike = "float64",
    progress: bool | None = None,
    **params: Any,
) -> npt.NDArray[Any]:
    """Return the distances between all objects of `a`, or from each of `a` to each of `b`.

    Parameters
    ----------
    a, b : list of objects, array or table
        Texts, sequences of symbols, sets, series, rows of numbers or of a mixed table, as the metric asks. Without `b`
        each pair of `a` is measured once. A metric that learns from objects (Gower's ranges, variances) learns from
        `b` where it is given: it is the reference.
    metric : str or callable
        For texts and sequences of symbols `levenshtein`, `indel`, `hamming`, `jaro`, `jaro_winkler`, `osa`,
        `damerau_levenshtein` (with `normalized=True` if wanted); for proteins `alignment` (`matrix`, `open_gap`,
        `extend_gap`, `mode`); for series `dtw` (`window`: the shift allowed, by default 0.1, a tenth of the longer
        series; a number of moments from 1 on, None for any); for sets `jaccard`; for tables `gower`; for rows of numbers any
        metric of scipy's `cdist`; or a function of two objects.
    metric_params : mapping, optional
        Parameters of the metric; they may as well be given by name.
    n_jobs : int, optional
        Threads (processes for `alignment`); None: the cores this process may use.
    dtype : "float64" or "float32"
    progress : bool, optional
        Show progress on standard error; None: on a terminal only.
    **params
        Parameters of the metric, and `power`, an exponent for every distance: ``power=0.5`` takes the root.

    Returns
    -------
    (len(a), len(a)) or (len(a), len(b)) array

    Examples
    --------
    >>> from gramian.distances.metrics.pairwise import pairwise_distances
    >>> pairwise_distances(["Smith", "Smyth", "Jones"], metric="levenshtein")
    array([[0., 1., 5.],
           [1., 0., 5.],
           [5., 5., 0.]])
    >>> pairwise_distances([{1, 2}], [{2, 3}, {1, 2}], metric="jaccard").round(2)
    array([[0.67, 0.  ]])
    """
    chosen = np.dtype(dtype)
    if chosen not in (np.float32, np.float64):
        raise DataError("distances are 'float64' or 'float32'; got ", Argument("dtype", dtype))
    jobs = usable_cores(n_jobs)
    reference = a if b is None else b
    measure = Measure(metric, {**(metric_params or {}), **params}, vectors=is_vectors(reference))
    measure.metric = measure.metric.learn(reference)
    rows = measure.metric.prepare(a)
    cols = rows if b is None else measure.metric.prepare(b)
    size = f"a matrix of {len(rows):,} x {len(cols):,} distances"
    way_out = "pass dtype='float32', or n_landmarks= to the estimator"
    refuse_beyond(len(rows) * len(cols) * chosen.itemsize, what=size, way_out=way_out)
    if b is None:
        return symmetric_distances(measure, rows, n_jobs=jobs, dtype=chosen, progress=progress)
    out = np.empty((len(rows), len(cols)), dtype=chosen)
    with Progress(progress, len(rows) * len(cols), "distances", "pairs") as shown:
        for part, block in measure.stream(rows, cols, jobs, chosen):
            out[part] = block
            shown.advance(block.size)
    return out


def column_blocks(D: npt.NDArray[Any], columns: npt.NDArray[np.int64]) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield blocks of rows of a given matrix, some columns of them: the precomputed twin of `Measure.stream`."""
    for part in row_blocks(D):
        yield part, np.asarray(D[part])[:, columns]
