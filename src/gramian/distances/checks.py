"""What a matrix of distances must be, checked by blocks of rows, so that a memory-mapped matrix is never read whole.

Every message says where the first offence stands, what was found there and what to do about it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.errors import Argument, DataError, NumberError

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


def _tolerance(values: npt.NDArray) -> float:
    # Distances through |x|^2 - 2xy + |y|^2 carry the root of the rounding; those in float32 a few units of it.
    return 1e-6 if values.dtype == np.float64 else 1e-3


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
    tolerance = _tolerance(D) * largest
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
