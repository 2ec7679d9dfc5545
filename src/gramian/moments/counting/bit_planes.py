"""Pairs of columns with a few levels, as bit planes: the ones in ``plane & plane`` are their joint count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from gramian.moments.counting.joint_tables import Timed
from gramian.moments.counting.kernels import tables as kernels
from gramian.moments.counting.plan import PACK, PLANE_PAIR, PLANE_WORD, upper_shares

# Planes of one part of a stretch take at most this many bytes.
PLANE_BYTES = 2**25


class PlaneCounts:
    """Joint counts of the levels of some columns, the first level of each left out.

    Parameters
    ----------
    columns : columns counted by planes
    capacity : levels each column of the table has room for
    """

    def __init__(self, columns: Sequence[int], capacity: Sequence[int]) -> None:
        self.columns = tuple(columns)
        self.capacity = np.array([capacity[j] for j in columns], np.int64)
        self.top = np.concatenate([[0], np.cumsum(self.capacity - 1)]).astype(np.int64)
        self.rows = 0
        self.gram = np.zeros((0, 0), np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return 8 * int(self.top[-1]) ** 2 if self.columns else 0

    def plane_bytes(self, rows: int) -> int:
        """Return the bytes of the planes of one part of so many rows."""
        return min(PLANE_BYTES, int(self.top[-1]) * (rows + 63) // 8) if self.columns else 0

    def allocate(self) -> None:
        """Clear the counts."""
        self.rows = 0
        self.gram = np.zeros((int(self.top[-1]), int(self.top[-1])), np.int64)

    def parts(self, codes: Sequence[np.ndarray], n_threads: int) -> Iterator[list[Timed]]:
        """Give lists of tasks to be run one list after the other: pack the planes, count them, the next part."""
        bits = int(self.top[-1])
        if bits == 0:
            self.rows += len(codes[0]) if self.columns else 0
            return
        n = len(codes[self.columns[0]])
        step = min(max(PLANE_BYTES // bits * 8 // 64 * 64, 64), (n + 63) // 64 * 64)
        planes = np.empty((bits, step // 64), np.uint64)
        # Plane i meets planes i and after.
        edges = upper_shares(bits, n_threads)
        shares = len(edges) - 1
        for start in range(0, n, step):
            stop = min(n, start + step)
            words = (stop - start + 63) // 64
            part = planes if words == planes.shape[1] else np.empty((bits, words), np.uint64)
            cuts = np.linspace(0, len(self.columns), shares + 1).astype(int).tolist()
            yield [
                (PACK * bits * (stop - start) / shares, partial(self._pack, codes, part, lo, hi, start, stop), None)
                for lo, hi in pairwise(cuts)
            ]
            cost = bits * (bits + 1) / 2 * (words * PLANE_WORD + PLANE_PAIR) / shares
            yield [(cost, partial(kernels.count_planes, part, lo, hi, self.gram), None) for lo, hi in pairwise(edges)]
        self.rows += n

    def _pack(
        self, codes: Sequence[np.ndarray], planes: np.ndarray, low: int, high: int, start: int, stop: int
    ) -> None:
        for k in range(low, high):
            column = codes[self.columns[k]][start:stop]
            if column.itemsize != 2:
                column = column.astype(np.uint16)
            kernels.pack_planes(column, self.capacity[k], planes, self.top[k])

    def settling(self, total: np.ndarray, place: np.ndarray, size: np.ndarray, n_threads: int) -> Iterator[Timed]:
        """Give the tasks that add the counts of all level pairs to the upper half of ``total``; `clear` comes after them."""
        columns = np.array(self.columns, np.int64)
        place, size = place[columns], size[columns]
        for start, stop in pairwise(upper_shares(len(columns), n_threads)):
            arguments = (self.gram, self.rows, self.capacity, place, size, total, start, stop)
            cells = (self.top[stop] - self.top[start]) * self.top[-1]
            yield 2.0 * float(cells), partial(kernels.expand_planes, *arguments), None

    def clear(self) -> None:
        """Forget what was counted."""
        self.gram[:] = 0
        self.rows = 0
