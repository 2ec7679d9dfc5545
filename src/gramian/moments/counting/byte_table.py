"""The table of one pair of columns with a byte a cell: what a large table costs is the memory it touches.

An increment at random costs what its cache line costs. Measured on one core (500,000 rows, 250,000 levels against 5, 21
and 106): 3.5, 6.7 and 8.2 ns with four bytes a cell, 1.5, 3.5 and 6.7 ns with one; clearing the table and reading it
take a quarter as well. A byte that wraps to 0 is written down, so that

    count = byte + 256 * (times its cell was written down)

is exact, with at most one note in 256 rows. A whole `collect` of ten columns in memory, two of them wide, takes in processor
time with four bytes a cell 1.2 times what it takes with one (1,000,000 rows; the wide ones of 20,000 or of 200,000 levels), and
with 3,000,000 rows 1.4 (50,000 levels) and 1.5 times (200,000).
"""

from __future__ import annotations

import math

import numpy as np

from gramian.moments.counting.kernels import pairs as sparse_kernels
from gramian.moments.counting.kernels import tables as kernels
from gramian.moments.state.block import Block, count_type, csr_is_smaller, make_csr

WRAP = 256
# Notes are summed up by cell when there are this many.
MANY_NOTES = 2**16


class ByteTable:
    """Counts of the pairs of levels of two columns.

    Parameters
    ----------
    shape : levels of the first and the second column that there is room for

    Examples
    --------
    >>> table = ByteTable((2, 3))
    >>> table.add(np.zeros(300, np.uint16), np.ones(300, np.uint16))
    >>> table.take((1, 2)).tolist()
    [[0, 300]]
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._cells: np.ndarray | None = None
        self._notes: list[np.ndarray] = []
        # Cells noted before, and how often.
        self._noted = np.empty(0, np.uint64)
        self._times = np.empty(0, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of the cells, once there are any, and of the notes."""
        return math.prod(self.shape) + 16 * len(self._noted) + 8 * sum(map(len, self._notes))

    def use(self, cells: np.ndarray) -> None:
        """Count in these cells, zeros, as many as the table has."""
        self._cells = cells

    def add(self, first: np.ndarray, second: np.ndarray) -> None:
        """Count the rows of two code arrays; one of them at most has 32 bits."""
        if self._cells is None:
            self._cells = np.zeros(math.prod(self.shape), np.uint8)
        short, long, strides = first, second, (self.shape[1], 1)
        if first.itemsize > second.itemsize:
            short, long, strides = second, first, (1, self.shape[1])
        notes = np.empty(len(short) // WRAP + 256, np.uint64)
        start = 0
        while start < len(short):
            start, size = kernels.count_bytes(short, long, *strides, start, self._cells, notes)
            if size:
                self._notes.append(notes[:size].copy())
        if sum(map(len, self._notes)) > MANY_NOTES:
            self._sum_notes()

    def _sum_notes(self) -> None:
        fresh, times = np.unique(np.concatenate([*self._notes, self._noted]), return_counts=True)
        # What was noted before counts as often as it was, not once.
        times[np.searchsorted(fresh, self._noted)] += self._times - 1
        self._noted, self._times, self._notes = fresh, times, []

    def take(self, shape: tuple[int, int]) -> Block:
        """Return the counts as a block of this shape, in the smaller form; the table is empty then."""
        cells, self._cells = self._cells, None
        if cells is None:
            cells = np.zeros(math.prod(self.shape), np.uint8)
        self._sum_notes()
        noted, more = self._noted, WRAP * self._times
        self._noted, self._times = self._noted[:0], self._times[:0]
        # A cell that stands at 0 after it wrapped is filled: 1 for now, taken off again with what is added.
        bare = cells[noted] == 0
        cells[noted[bare]] = 1
        more -= bare
        rows, columns = noted.astype(np.int64) // self.shape[1], noted.astype(np.int64) % self.shape[1]
        # Cells beyond the shape are empty: all of them are counted at once, which is faster.
        entries = int(np.count_nonzero(cells))
        kind = count_type(WRAP - 1 + int(more.max(initial=0)))
        if not csr_is_smaller(math.prod(shape), entries, kind):
            dense: np.ndarray = cells.reshape(self.shape)[: shape[0], : shape[1]].astype(kind)
            dense[rows, columns] += more
            return dense
        starts = np.zeros(shape[0] + 1, np.int64)
        indices, data = np.empty(entries + 1, np.int32), np.empty(entries + 1, kind)
        sparse_kernels.compress(cells, self.shape[1], *shape, starts, indices, data)
        sparse_kernels.add_to_cells(starts, indices, data, rows, columns, more)
        return make_csr(data[:entries], indices[:entries], starts, shape)

    def grown(self, shape: tuple[int, int]) -> ByteTable:
        """Return a table with more room that holds the same counts; this one is empty then."""
        larger = ByteTable(shape)
        if self._cells is not None:
            larger._cells = np.zeros(math.prod(shape), np.uint8)
            larger._cells.reshape(shape)[: self.shape[0], : self.shape[1]] = self._cells.reshape(self.shape)
        self._sum_notes()
        noted = self._noted.astype(np.int64)
        larger._noted = (noted // self.shape[1] * shape[1] + noted % self.shape[1]).astype(np.uint64)
        larger._times = self._times
        self._cells, self._noted, self._times = None, self._noted[:0], self._times[:0]
        return larger
