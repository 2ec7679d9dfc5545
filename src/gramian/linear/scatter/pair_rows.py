"""Pair counts of one category with several others, side by side as the rows of one sparse matrix.

scipy's `hstack` copies every block several times on its way; for a category of a million levels that costs more than all the
algebra after it. Here each block is written once, where it belongs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import types

from gramian.compiling import kernel


def _write_block(indptr, indices, data, offset, cursor, out_indices, out_data):  # type: ignore[no-untyped-def]
    for row in range(len(cursor)):
        at = cursor[row]
        for a in range(indptr[row], indptr[row + 1]):
            out_indices[at] = indices[a] + offset
            out_data[at] = data[a]
            at += 1
        cursor[row] = at


def _signature(index: types.Type, value: types.Type) -> types.Type:
    i8, i4, f8 = types.int64, types.int32, types.float64
    return types.void(index[::1], index[::1], value[::1], i8, i8[::1], i4[::1], f8[::1])


write_block = kernel(
    *(
        _signature(index, value)
        for index in (types.int32, types.int64)
        for value in (types.int16, types.int32, types.int64, types.float64)
    )
)(_write_block)
"""Write the rows of a CSR block behind what `cursor` says is there of each row, its columns shifted by `offset`."""


def side_by_side(blocks: Sequence[Any], n_rows: int) -> sp.csr_array:
    """Return blocks of equally many rows as one float64 CSR matrix with sorted indices.

    Parameters
    ----------
    blocks : sequence of arrays or CSR arrays
        Of counts or numbers.
    n_rows : int

    Examples
    --------
    >>> side_by_side([np.array([[1, 0], [0, 2]]), sp.csr_array(np.array([[0.5], [0.0]]))], 2).toarray()
    array([[1. , 0. , 0.5],
           [0. , 2. , 0. ]])
    """
    sparse = [sp.csr_array(block) for block in blocks]
    sparse = [block if block.has_sorted_indices else block.sorted_indices() for block in sparse]
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    for block in sparse:
        indptr += block.indptr
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    cursor, offset = indptr[:-1].copy(), 0
    for block in sparse:
        values = block.data if block.data.dtype.kind == "i" else block.data.astype(np.float64, copy=False)
        write_block(block.indptr, block.indices, values, offset, cursor, indices, data)
        offset += block.shape[1]
    # Indices of both kinds must have one type, or scipy widens them by a copy.
    one = np.int32 if len(data) < 2**31 else np.int64
    parts = (data, indices.astype(one, copy=False), indptr.astype(one, copy=False))
    return sp.csr_array(parts, shape=(n_rows, offset))
