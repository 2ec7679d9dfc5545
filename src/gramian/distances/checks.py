"""What a matrix of distances must be, checked by blocks of rows, so that a memory-mapped matrix is never read whole.

Every message says where the first offence stands, what was found there and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError

BLOCK_BYTES = 32 * 2**20
"""Bytes of a block of rows: large enough for BLAS, small beside any matrix worth splitting."""


def row_blocks(matrix: npt.NDArray[Any]) -> Iterator[slice]:
    """Return slices of rows, each of about `BLOCK_BYTES`."""
    n_rows, n_cols = matrix.shape
    step = max(1, min(n_rows, BLOCK_BYTES // max(1, n_cols * matrix.itemsize)))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def as_matrix(values: Any, *, what: str) -> npt.NDArray:
    """Return values as a 2-d float32 or float64 array, without a copy where they are one already."""
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        values = values.to_numpy()
    try:
        found = np.asarray(values)
        if found.dtype == object:
            found = found.astype(np.float64)
    except ValueError:
        raise DataError(f"{what} must be a matrix of numbers; got {type(values).__name__}") from None
    if found.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {what} must be real")
    if found.dtype.kind not in "fiub":
        raise DataError(f"{what} must be a matrix of numbers; got values of type {found.dtype}")
    if found.ndim != 2:
        raise DataError(
            f"{what} must be a matrix; Expected 2D array, got {found.ndim}D array instead. Reshape your data into rows "
            f"of distances"
        )
    return found if found.dtype in (np.float32, np.float64) else found.astype(np.float64)


def _tolerance(values: npt.NDArray) -> float:
    # Distances through |x|^2 - 2xy + |y|^2 carry the root of the rounding; those in float32 a few units of it.
    return 1e-6 if values.dtype == np.float64 else 1e-3


def check_rows(rows: npt.NDArray, *, what: str, first_row: int = 0) -> None:
    """Raise where a row of distances holds a value that no distance can have."""
    low = rows.min(initial=0.0)
    if low >= 0 and np.isfinite(rows.max(initial=0.0)):
        return
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
    for rows in row_blocks(D):
        block = np.asarray(D[rows])
        check_rows(block, what="the distance matrix", first_row=rows.start)
        largest = max(largest, float(block.max()))
    if D.shape[0] != D.shape[1]:
        raise DataError(
            f"the distances have shape {D.shape} and must be square, one row and one column an object; for objects "
            f"instead of distances name a metric, such as metric='euclidean'"
        )
    diagonal = np.asarray(D.diagonal())
    tolerance = _tolerance(D) * largest
    if n > 1 and largest > 0 and diagonal.min() >= largest * (1 - 1e-12):
        raise DataError(
            f"the diagonal is the maximum ({largest:g}): these are similarities, not distances; pass for example "
            f"sqrt(s_ii + s_jj - 2 s_ij)"
        )
    if diagonal.max() > tolerance:
        i = int(diagonal.argmax())
        raise DataError(
            f"the distance of object {i} to itself is {diagonal[i]:g} at ({i}, {i}); the diagonal of a distance matrix is 0"
        )
    for rows in row_blocks(D):
        gap = np.abs(D[rows] - D[:, rows].T)
        if gap.max() > tolerance:
            at, other = np.unravel_index(int(gap.argmax()), gap.shape)
            i, j = sorted((rows.start + int(at), int(other)))
            raise DataError(
                f"the distances are not symmetric: {D[i, j]:g} at ({i}, {j}) and {D[j, i]:g} at ({j}, {i}); pass "
                f"(D + D.T) / 2 if both are meant"
            )
    if largest == 0 and n > 1:
        raise DataError(f"every distance between the {n} objects is 0: there is nothing to tell them apart")
