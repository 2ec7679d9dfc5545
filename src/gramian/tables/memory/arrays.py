"""Arrays in memory: numpy, nested lists, scipy sparse.

Floats are handed on as they lie, once, whatever their layout. Integers, booleans, text and objects have a
type per column and become Arrow columns, because an integer may be a category and a float cannot say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gramian.errors import DataError
from gramian.tables.base import BATCH_ROWS, ArrayTable, ArrowTable
from gramian.tables.schemas import arrow_array, subset, type_of_objects


def column_names(n: int) -> list[str]:
    """Return ``x0, x1, ...``, as scikit-learn names the columns of an array."""
    return [f"x{j}" for j in range(n)]


def open_array(array: np.ndarray, *, describe: str) -> ArrowTable | ArrayTable:
    """Return the rows of a numpy array."""
    if isinstance(array, np.ma.MaskedArray):
        array = unmasked(array, describe)
    array = np.asarray(array)
    if array.dtype.names is not None:
        if array.ndim != 1:
            raise DataError(f"{describe} is a structured array of {array.ndim} dimensions; 1 is needed")
        return ColumnsTable([(name, array[name]) for name in array.dtype.names], describe=describe)
    if array.ndim == 1:
        raise DataError(
            f"{describe} has 1 dimension and 2 are needed; "
            "use reshape(-1, 1) for one column, reshape(1, -1) for one row"
        )
    if array.ndim != 2:
        raise DataError(f"{describe} has {array.ndim} dimensions; 2 are needed: rows and columns")
    if array.shape[1] == 0:
        raise DataError(f"{describe} has no columns (shape {array.shape})")
    if array.dtype.kind == "c":
        raise DataError(f"{describe} holds complex numbers; pass real and imaginary parts as columns of their own")
    if array.dtype.kind == "f":
        return DenseArray(narrowed(array), describe=describe)
    return ColumnsTable([(name, array[:, j]) for j, name in enumerate(column_names(array.shape[1]))], describe=describe)


def narrowed(values: np.ndarray) -> np.ndarray:
    """Return floats of a width that kernels take; what float64 cannot hold is infinite there."""
    if values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    return values


def open_nested_list(rows: Sequence[Any], *, describe: str) -> ArrowTable | ArrayTable:
    """Return the rows of a list of lists."""
    try:
        array = np.asarray(rows)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "fiubc" and array.ndim >= 1 and not mixes_long(array):
        return open_array(array, describe=describe)
    if not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        raise DataError(f"{describe} is neither rows of values, nor tables, nor paths")
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise DataError(f"the rows of {describe} have unequal lengths, {min(widths)} to {max(widths)}")
    # numpy would turn [["a", 1]] into text: each value keeps its own type.
    table = np.empty((len(rows), widths.pop()), dtype=object)
    for i, row in enumerate(rows):
        table[i] = row
    return open_array(table, describe=describe)


def mixes_long(array: np.ndarray) -> bool:
    """Whether floats that numpy made of Python numbers may have been integers that float64 rounds."""
    with np.errstate(invalid="ignore"):
        return bool(array.dtype.kind == "f" and (np.abs(array) >= 2.0**53).any())


def unmasked(array: np.ma.MaskedArray, describe: str) -> np.ndarray:
    """Return a masked array of floats with NaN where it is masked."""
    if array.dtype.kind != "f":
        raise DataError(f"{describe} is a masked array of {array.dtype}; only masked floats can be read")
    return array.filled(np.nan)


class DenseArray(ArrayTable):
    """A 2-d float array, given out as itself."""

    def __init__(self, array: np.ndarray, *, describe: str) -> None:
        super().__init__(column_names(array.shape[1]), dtype=array.dtype, describe=describe, n_rows=array.shape[0])
        self._array = array

    def _chunks(self) -> Iterator[np.ndarray]:
        yield self._array


def sound_sparse(matrix: Any, describe: str) -> Any:
    """Return a sparse matrix; raise where its indices lead outside it, which scipy's loops would follow.

    Examples
    --------
    >>> wild = sp.csr_array(np.eye(2))
    >>> wild.indices[0] = 9
    >>> sound_sparse(wild, "a sparse array")
    Traceback (most recent call last):
    gramian.errors.DataError: a sparse array is damaged: an index leads outside its 2 columns; build it again
    """
    wrong = None
    if matrix.format in ("csr", "csc", "bsr"):
        wrong = _wrong_in_compressed(matrix)
    elif matrix.format == "coo":
        for places, size, kind in zip(matrix.coords, matrix.shape, ("rows", "columns"), strict=False):
            if len(places) != len(matrix.data):
                wrong = "indices and values are not as many"
            elif len(places) and not 0 <= places.min() <= places.max() < size:
                wrong = f"an index leads outside its {size} {kind}"
    if wrong is not None:
        raise DataError(f"{describe} is damaged: {wrong}; build it again")
    return matrix


def _wrong_in_compressed(matrix: Any) -> str | None:
    """Return what is wrong with the places of a matrix in CSR, CSC or BSR form, None where nothing is."""
    # scipy's own check looks no further where the last pointer says that there is nothing.
    shape = [size // block for size, block in zip(matrix.shape, getattr(matrix, "blocksize", (1, 1)), strict=True)]
    (lines, across), kind = (shape, "columns") if matrix.format != "csc" else (shape[::-1], "rows")
    # Compared, not subtracted: differences of wild pointers wrap.
    starts, indices = matrix.indptr, matrix.indices
    if len(starts) != lines + 1 or starts[0] != 0 or bool((starts[1:] < starts[:-1]).any()):
        return "its pointers do not rise from 0"
    n = int(starts[-1])
    if n > len(indices) or n > len(matrix.data):
        return f"its pointers lead to {n} values, and there are {min(len(indices), len(matrix.data))}"
    if n and not 0 <= indices[:n].min() <= indices[:n].max() < across:
        return f"an index leads outside its {across} {kind}"
    return None


class SparseArray(ArrayTable):
    """A scipy sparse matrix or array, converted to CSR once and given out in slices of rows."""

    def __init__(self, matrix: Any, *, describe: str) -> None:
        if matrix.ndim != 2:
            raise DataError(f"{describe} has {matrix.ndim} dimension; 2 are needed: rows and columns")
        if matrix.dtype.kind == "c":
            raise DataError(f"{describe} holds complex numbers; pass real and imaginary parts as columns of their own")
        rows = sp.csr_array(sound_sparse(matrix, describe))
        _refuse_long(rows, describe)
        if rows.dtype.kind != "f" or rows.dtype.itemsize > 8:
            with np.errstate(over="ignore"):
                rows = rows.astype(np.float64)
        super().__init__(
            column_names(rows.shape[1]),
            dtype=rows.dtype,
            describe=describe,
            n_rows=rows.shape[0],
            sparse=True,
        )
        self._rows = rows

    def _chunks(self) -> Iterator[sp.csr_array]:
        n_rows = self._rows.shape[0]
        if n_rows <= BATCH_ROWS:
            yield self._rows
            return
        for start in range(0, n_rows, BATCH_ROWS):
            yield self._rows[start : start + BATCH_ROWS]


def _refuse_long(rows: sp.csr_array, describe: str) -> None:
    """Raise where integers would be rounded: sparse columns are counted from 0, so no offset can be taken off."""
    if rows.dtype.kind not in "iu" or rows.dtype.itemsize < 8 or not rows.nnz:
        return
    large = np.flatnonzero((rows.data > 2**53) | (rows.data < -(2**53)))
    if len(large):
        name = column_names(rows.shape[1])[int(rows.indices[large[0]])]
        raise DataError(
            f"column {name!r} of {describe} holds {rows.data[large[0]]}, and a sparse number is exact up to 2^53; pass a dense "
            f"array, or subtract a constant first"
        )


class ColumnsTable(ArrowTable):
    """Named 1-d numpy columns of any type but complex."""

    def __init__(self, columns: list[tuple[str, np.ndarray]], *, describe: str) -> None:
        fields = []
        for name, values in columns:
            if values.ndim != 1:
                raise DataError(f"column {name!r} of {describe} holds arrays; one value per row is needed")
            if values.dtype.kind == "T":
                kind = pa.string()
            elif values.dtype.kind == "O":
                kind = type_of_objects(values, name, describe)
            else:
                kind = _column(values[:0], None, name, describe).type
            fields.append(pa.field(name, kind))
        n_rows = len(columns[0][1]) if columns else 0
        super().__init__(pa.schema(fields), describe=describe, n_rows=n_rows)
        self._columns = dict(columns)

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        for start in range(0, self.n_rows or 0, BATCH_ROWS):
            arrays = [
                _column(self._columns[f.name][start : start + BATCH_ROWS], f.type, f.name, self.describe)
                for f in schema
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(values: np.ndarray, kind: pa.DataType | None, name: str, describe: str) -> pa.Array:
    if values.dtype.kind == "O":
        return arrow_array(values, kind, name, describe)
    if values.dtype.kind == "f":
        values = narrowed(values)
    if values.dtype.kind == "T":
        # numpy's text of varying length is not known to Arrow.
        values = values.astype(object)
    elif not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    # Arrow takes strided numbers, but not in every type.
    return arrow_array(np.ascontiguousarray(values), kind, name, describe)
