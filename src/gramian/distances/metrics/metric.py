"""What a metric is, and what a given matrix of distances must be.

A metric is a small value. `prepare` turns what a user has into a container that can be cut into rows; `learn` returns the
metric with whatever it takes from the reference objects (ranges, variances), so that new objects are measured alike;
`block` gives the distances between two prepared containers. Prepared objects are plain: lists of text, lists of lists, or
arrays, which a model file can hold.

*Given matrices of distances* are checked by blocks of rows, so that a memory-mapped matrix is never read whole. Every message
says where the first offence stands, what was found there and what to do about it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.arrays.threads import in_threads
from gramian.errors import Argument, DataError, NumberError, shown

Objects = Any
"""A list, or an array with one object per row."""


class Metric(ABC):
    """Distances between objects of one kind.

    Parameters
    ----------
    name : str
        As the user calls it.
    params : mapping
        The metric's own parameters.
    """

    takes: frozenset[str] = frozenset()
    """Parameters that the user may give."""

    def __init__(self, name: str, params: Mapping[str, Any]) -> None:
        unknown = sorted(set(params) - self.takes)
        if unknown:
            raise DataError(
                f"metric {name!r} has no parameter {unknown[0]!r}; it takes {', '.join(sorted(self.takes)) or 'only power'}"
            )
        self.name, self.params = name, dict(params)

    @abstractmethod
    def prepare(self, objects: Any) -> Objects:
        """Return the objects as a container that can be cut into rows."""

    def learn(self, objects: Any) -> Metric:
        """Return the metric with what it takes from these reference objects."""
        return self

    def state(self) -> dict[str, Any]:
        """Return what `learn` took, as plain values."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` returned."""
        if state:
            raise DataError(f"metric {self.name!r} learns nothing, and the model holds {sorted(state)} for it")

    @abstractmethod
    def block(self, rows: Objects, cols: Objects, n_jobs: int) -> npt.NDArray[Any]:
        """Return the distances between prepared objects, (len(rows), len(cols))."""


def take(objects: Objects, index: npt.NDArray[np.int64] | slice) -> Objects:
    """Return some of the objects.

    Examples
    --------
    >>> take(["a", "b", "c"], np.array([2, 0])), take(["a", "b", "c"], slice(1, 3))
    (['c', 'a'], ['b', 'c'])
    """
    if isinstance(objects, np.ndarray) or isinstance(index, slice):
        return objects[index]
    return [objects[i] for i in index]


def as_list(objects: Any, *, metric: str) -> list[Any]:
    """Return objects as a list, one entry per object."""
    if isinstance(objects, str | bytes):
        raise DataError(f"metric {shown(metric)} takes a list of objects; got one text")
    if hasattr(objects, "to_pylist"):
        return objects.to_pylist()
    if hasattr(objects, "to_list"):
        return objects.to_list()
    if isinstance(objects, np.ndarray):
        if objects.ndim == 2 and objects.shape[1] == 1 and objects.dtype.kind in "OUST":
            objects = objects[:, 0]
        return objects.tolist()
    if isinstance(objects, Sequence):
        return list(objects)
    raise DataError(f"metric {shown(metric)} takes a list of objects; got {type(objects).__name__}")


def over_rows(work: Callable[[slice], None], n_rows: int, n_jobs: int) -> None:
    """Call `work` on blocks of rows from a pool of threads; it must write to its own rows only."""
    n_parts = min(n_rows, 1 if n_jobs == 1 else 4 * n_jobs)
    edges = np.linspace(0, n_rows, n_parts + 1).astype(int)
    in_threads(work, [slice(a, b) for a, b in pairwise(edges) if b > a], n_threads=n_jobs)


TILE, STRIP = 256, 1024
"""Side of the squares in which a matrix is compared with its transpose, two of which stay in the cache; columns of a strip."""


def as_matrix(values: Any, *, what: str) -> npt.NDArray:
    """Return values as a 2-d float32 or float64 array, without a copy where they are one already."""
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        values = values.to_numpy()
    try:
        matrix = np.asarray(values)
        if matrix.dtype == object:
            matrix = matrix.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        kind = type(values).__name__
        raise NumberError(
            f"{what} must be a matrix of numbers: the argument must be a string or a real number; got {kind}"
        ) from None
    if matrix.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {what} must be real")
    if matrix.dtype.kind not in "fiub":
        kind = "texts" if matrix.dtype.kind in "US" else f"values of type {matrix.dtype}"
        raise DataError(
            f"{what} must be a matrix of numbers; got {kind}: for objects name a metric, such as ",
            Argument("metric", "levenshtein"),
        )
    if matrix.ndim != 2:
        raise DataError(
            f"{what} must be a matrix; Expected 2D array, got {matrix.ndim}D array instead. Reshape your data into rows "
            f"of distances"
        )
    return matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)


def check_rows(rows: npt.NDArray, *, what: str, first_row: int = 0) -> float:
    """Return the largest distance; raise where a row holds a value that no distance can have."""
    low, high = rows.min(initial=0.0), rows.max(initial=0.0)
    if low >= 0 and np.isfinite(high):
        return float(high)
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        shown = "NaN" if np.isnan(rows[i, j]) else "infinity"
        raise DataError(
            f"{what} contains {shown} at row {first_row + i}, column {j}; give every pair a distance or drop the object"
        )
    i, j = np.unravel_index(int(rows.argmin()), rows.shape)
    raise DataError(
        f"Negative values in data: {what} holds {low:g} at row {first_row + i}, column {j}; a distance is never negative"
    )


def check_distances(D: npt.NDArray) -> None:
    """Raise where a matrix is not one of distances between the same objects: square, symmetric, zero on the diagonal.

    Parameters
    ----------
    D : (n, n) array, possibly memory-mapped

    Examples
    --------
    >>> check_distances(np.array([[0.0, 1.0], [2.0, 0.0]]))
    Traceback (most recent call last):
    gramian.errors.DataError: the distances are not symmetric: 1 at (0, 1) and 2 at (1, 0); pass (D + D.T) / 2 if both are meant
    """
    n = len(D)
    for size, what in zip(D.shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise DataError(f"0 {what}(s) (shape={D.shape}) while a minimum of 1 is required: there are no distances")
    largest = 0.0
    for rows in row_blocks(D, CACHED_BYTES):
        block = np.asarray(D[rows])
        if not block.min() >= 0:
            _refuse_similarities(D)
        largest = max(largest, check_rows(block, what="the distance matrix", first_row=rows.start))
    if D.shape[0] != D.shape[1]:
        raise DataError(
            f"the distances have shape {D.shape} and must be square, one row and one column per object; for "
            "objects instead of distances name a metric, such as ",
            Argument("metric", "euclidean"),
        )
    diagonal = np.asarray(D.diagonal())
    # Distances through |x|^2 - 2xy + |y|^2 carry the root of the rounding; those in float32 a few units of it.
    tolerance = (1e-6 if D.dtype == np.float64 else 1e-3) * largest
    if diagonal.max() > tolerance:
        _refuse_similarities(D)
        i = int(diagonal.argmax())
        raise DataError(
            f"the distance of object {i} to itself is {diagonal[i]:g} at ({i}, {i}); the diagonal of a distance matrix is 0"
        )
    _check_symmetric(D, tolerance)
    if largest == 0 and n > 1:
        raise DataError(f"every distance between the {n} objects is 0: there is nothing to tell them apart")


def _refuse_similarities(D: npt.NDArray) -> None:
    diagonal = np.asarray(D.diagonal())
    if len(D) != D.shape[1] or len(D) < 2 or not diagonal.min() > 0:
        return
    if all((diagonal[rows] >= (1 - 1e-12) * np.asarray(D[rows]).max(axis=1)).all() for rows in row_blocks(D)):
        raise DataError(
            f"the diagonal is the maximum of each row ({diagonal.max():g} at most): these are similarities, not distances; "
            f"pass for example sqrt(s_ii + s_jj - 2 s_ij)"
        )


def _check_symmetric(D: npt.NDArray, tolerance: float) -> None:
    n, worst, at = len(D), tolerance, None
    # Strips of whole pages across, so that a memory-mapped matrix is read twice and not once a square.
    for strip in range(0, n, STRIP):
        for j in range(strip, n, TILE):
            for i in range(strip, min(strip + STRIP, n), TILE):
                gap = D[i : i + TILE, j : j + TILE] - D[j : j + TILE, i : i + TILE].T
                largest = max(float(gap.max()), -float(gap.min()))
                if largest > worst:
                    row, column = divmod(int(np.abs(gap).argmax()), gap.shape[1])
                    worst, at = largest, (i + row, j + column)
    if at is not None:
        i, j = sorted(at)
        raise DataError(
            f"the distances are not symmetric: {D[i, j]:g} at ({i}, {j}) and {D[j, i]:g} at ({j}, {i}); pass "
            f"(D + D.T) / 2 if both are meant"
        )
