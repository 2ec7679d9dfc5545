"""The form of a block, the table of a pair of columns of which one is wide: which of them takes the least memory.

Counts of fewer than 2**31 rows fit in four bytes, and so a block has `count_type` of its rows: int32, int64 beyond, and
float64 for sums of weights. A dense block takes that much a cell. A sparse one (CSR) takes four bytes more for each pair
that occurs, for its column, and next to nothing for the others.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from gramian.moments.plan import SMALL_CELLS

CountType: TypeAlias = type[np.int32] | type[np.int64] | type[np.float64]
Block: TypeAlias = Any
"""A numpy array or a `scipy.sparse.csr_array`; scipy comes without types."""

ROWS_IN_FOUR_BYTES = 2**31


def count_type(rows: int, *, weighted: bool) -> CountType:
    """Return the type of counts that cannot exceed so many rows, or of sums of their weights.

    Examples
    --------
    >>> count_type(5_000_000, weighted=False).__name__, count_type(2**31, weighted=False).__name__
    ('int32', 'int64')
    """
    if weighted:
        return np.float64
    return np.int32 if rows < ROWS_IN_FOUR_BYTES else np.int64


def csr_is_smaller(cells: int, entries: int, kind: Any) -> bool:
    """Return whether a block of `kind` is smaller as CSR; blocks of up to 2**16 cells are dense whatever they hold."""
    width = np.dtype(kind).itemsize
    return cells > SMALL_CELLS and (width + 4) * entries < width * cells


def make_csr(data: np.ndarray, indices: np.ndarray, starts: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """Return a canonical CSR block from parts that are known to be sorted and free of duplicates."""
    if len(indices) < 2**31:
        starts = starts.astype(np.int32)
    block = sp.csr_array((data, indices, starts), shape=shape)
    block.has_canonical_format = True
    return block


def compact(block: Block) -> Block:
    """Return the block in the smaller of its two forms."""
    cells = block.shape[0] * block.shape[1]
    if sp.issparse(block):
        return block if csr_is_smaller(cells, block.nnz, block.dtype) else block.toarray()
    if cells <= SMALL_CELLS or not csr_is_smaller(cells, int(np.count_nonzero(block)), block.dtype):
        return block
    return sp.csr_array(block)
