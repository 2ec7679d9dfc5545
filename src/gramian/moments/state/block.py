"""The form of a block, the table of a pair of columns of which one is wide: the one that takes the least memory.

Most counts of such a pair are small: a block has the smallest type that holds the largest of them, int16, int32 or int64,
and float64 for sums of weights. A dense block takes that much a cell. A sparse one (CSR) takes four bytes more for each
pair that occurs, for its column, and next to nothing for the others. Whoever adds counts up widens them first (`summable`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from gramian.moments.state.narrow import SMALL_CELLS

CountType: TypeAlias = type[np.int16] | type[np.int32] | type[np.int64] | type[np.float64]
Block: TypeAlias = Any
"""A numpy array or a `scipy.sparse.csr_array`; scipy comes without types."""


def count_type(most: int) -> CountType:
    """Return the smallest type of a count that is at most so much.

    Examples
    --------
    >>> [count_type(most).__name__ for most in (0, 32_767, 32_768, 2**31)]
    ['int16', 'int16', 'int32', 'int64']
    """
    return np.int16 if most < 2**15 else np.int32 if most < 2**31 else np.int64


def summable(block: Block, *, twice: bool = False) -> Block:
    """Return the block in a type whose sums do not overflow: int64, or the next wider one where only two are added."""
    if block.dtype.kind != "i":
        return block
    return block.astype(np.int32 if twice and block.dtype.itemsize == 2 else np.int64, copy=False)


def block_bytes(block: Block) -> int:
    """Return the bytes that a block takes."""
    if isinstance(block, np.ndarray):
        return int(block.nbytes)
    return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)


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
    """Return the block in the smallest type and the smaller of its two forms."""
    dense = isinstance(block, np.ndarray)
    if block.dtype.kind == "i" and block.dtype.itemsize > 2:
        values = block if dense else block.data
        # The lowest count too: where something is taken away that was never there, it is below 0.
        most = max(int(values.max(initial=0)), -int(values.min(initial=0)))
        block = block.astype(count_type(most), copy=False)
    cells = block.shape[0] * block.shape[1]
    if not dense:
        return block if csr_is_smaller(cells, block.nnz, block.dtype) else block.toarray()
    if cells <= SMALL_CELLS or not csr_is_smaller(cells, int(np.count_nonzero(block)), block.dtype):
        return block
    return sp.csr_array(block)
