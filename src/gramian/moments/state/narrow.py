"""Which columns are narrow: their mutual counts form one dense matrix, and tables so small that they stay dense.

Every pair with a column that is not narrow has a table of its own, and a table costs a few hundred bytes and several
microseconds whatever it holds, in every operation. A thousand columns of ten levels make half a million of them. So where the
first rule (`NARROW_TOTAL`) would leave many pairs apart, columns of a few levels go on into the matrix, up to `MANY_TOTAL`
levels, 2 GiB. What is left after that is bounded too: `refuse_many_tables` says so before anything is counted.

The form of a block, the table of a pair of columns of which one is wide: the one that takes the least memory.

Most counts of such a pair are small: a block has the smallest type that holds the largest of them, int16, int32 or int64,
and float64 for sums of weights. A dense block takes that much a cell. A sparse one (CSR) takes four bytes more for each
pair that occurs, for its column, and next to nothing for the others. Whoever adds counts up widens them first (`summable`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from gramian.errors import Argument, MemoryLimitError, PythonOnly

NARROW_LEVELS = 2048
NARROW_TOTAL = 4096
# Pairs apart from which on columns of few levels join the matrix, how few those are, and how many levels it then holds.
MANY_TABLES = 2**15
FEW_LEVELS = 16
MANY_TOTAL = 2**14
# Tables of pairs there may be: building and adding so many takes seconds, and half a gigabyte beside their counts.
MOST_TABLES = 2**20
# A block this small stays dense whatever the rows: it costs less than the bookkeeping of a sparse one.
SMALL_CELLS = 2**16


def narrow_columns(n_levels: Sequence[int]) -> tuple[int, ...]:
    """Return the columns whose mutual counts form one dense matrix, in ascending order.

    Columns are taken from the fewest levels up (ties by position) while each has at most 2,048 levels and all of
    them together at most 4,096, so that the matrix of int64 counts takes at most 128 MiB. Where more than 32,768 pairs would
    be left apart, further columns of at most 16 levels are taken, while all together have at most 16,384.

    Examples
    --------
    >>> narrow_columns([5, 100_000, 2048, 2])
    (0, 2, 3)
    >>> narrow_columns([2048, 2048, 1])
    (0, 2)
    >>> len(narrow_columns([8] * 600)), len(narrow_columns([32] * 600))
    (600, 128)
    """
    order = sorted(range(len(n_levels)), key=n_levels.__getitem__)
    totals = list(accumulate(n_levels[j] for j in order))

    def fitting(start: int, most: int, together: int) -> int:
        end = start
        while end < len(order) and n_levels[order[end]] <= most and totals[end] <= together:
            end += 1
        return end

    count = fitting(0, NARROW_LEVELS, NARROW_TOTAL)
    if pairs_apart(len(order), count) > MANY_TABLES:
        count = fitting(count, FEW_LEVELS, MANY_TOTAL)
    return tuple(sorted(order[:count]))


def pairs_apart(n_columns: int, n_narrow: int) -> int:
    """Return how many pairs of columns have a table of their own.

    Examples
    --------
    >>> pairs_apart(5, 3)
    7
    """
    return (n_columns * (n_columns - 1) - n_narrow * (n_narrow - 1)) // 2


def refuse_many_tables(n_levels: Sequence[int]) -> None:
    """Raise before columns with so many levels are counted or added up, where too many pairs would have tables of their own."""
    tables = pairs_apart(len(n_levels), len(narrow_columns(n_levels)))
    if tables > MOST_TABLES:
        raise MemoryLimitError(
            f"the pairs of {len(n_levels):,} columns that are counted by level need {tables:,} tables of their own, and at "
            f"most {MOST_TABLES:,} are made; leave columns out with ",
            Argument("exclude"),
            PythonOnly(" or ", Argument("columns")),
            ", or name integers that are only numbers in ",
            Argument("numeric"),
        )


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
