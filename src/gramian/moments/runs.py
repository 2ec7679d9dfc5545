"""Pairs of very wide columns: only the distinct pairs are held, as sorted runs.

Every `SORTED_ROWS` rows become one run: keys ``row << 32 | column`` in order, each once, with its count. A key costs 5 ns
to sort among 2**19, 7 ns among 2**21 and 9 ns among 2**22, and 6 ns in each merge: so rows wait, at 8 bytes each, until a
long run can be made of them. Runs are merged like those of a log-structured tree, whenever the last but one is less
than twice the last: each entry then takes part in O(log(rows / SORTED_ROWS)) linear merges, and the runs together hold
at most about twice the distinct pairs.

A run takes 12 bytes an entry (16 with weights), and so does the CSR block it becomes (int64 data, int32 indices).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from gramian.moments import sparse_kernels
from gramian.moments.plan import SMALL_CELLS

COUNT_LIMIT = 2**32
SORTED_ROWS = 2**22

_NO_VALUES = np.empty(0)


def csr_is_smaller(cells: int, entries: int) -> bool:
    """Return whether CSR (12 bytes an entry) beats a dense block (8 bytes a cell), blocks of 2**16 cells apart."""
    return cells > SMALL_CELLS and 12 * entries < 8 * cells


class SparsePair:
    """The counts of one pair of columns, as sorted runs of distinct pairs.

    Parameters
    ----------
    weighted : whether weights are added up in place of rows
    """

    def __init__(self, weighted: bool) -> None:
        self._weighted = weighted
        self._count_type = np.float64 if weighted else np.uint32
        self._rows = 0
        self._runs: list[tuple[np.ndarray, np.ndarray]] = []
        # Rows not sorted yet: codes of both columns, weights; and the levels that the codes are below.
        self._waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._levels = (0, 0)

    @property
    def nbytes(self) -> int:
        """Bytes held by the runs and the rows that wait."""
        waiting = sum(part.nbytes for parts in self._waiting for part in parts)
        return waiting + sum(keys.nbytes + counts.nbytes for keys, counts in self._runs)

    def sorting_bytes(self, rows: int) -> int:
        """Return the bytes that sorting takes beside what is held, once so many rows more wait."""
        return (20 if not self._weighted else 40) * (rows + sum(len(codes) for codes, _, _ in self._waiting))

    def add(self, first: np.ndarray, second: np.ndarray, levels: tuple[int, int], weights: np.ndarray | None) -> None:
        """Add one stretch: the codes of both columns, below ``levels``."""
        values = _NO_VALUES if weights is None else weights.copy()
        self._waiting.append((first.astype(np.uint32), second.astype(np.uint32), values))
        self._levels = levels
        if sum(len(codes) for codes, _, _ in self._waiting) >= SORTED_ROWS:
            self._sort_waiting()

    def _sort_waiting(self) -> None:
        """Make a run of the rows that wait."""
        if not self._waiting:
            return
        shift = max(1, (self._levels[1] - 1).bit_length())
        keys = np.concatenate([codes for codes, _, _ in self._waiting], dtype=np.uint64)
        keys <<= np.uint64(shift)
        keys |= np.concatenate([codes for _, codes, _ in self._waiting])
        values = np.concatenate([values for _, _, values in self._waiting])
        self._waiting = []
        spare, spare_values = np.empty_like(keys), np.empty_like(values)
        if sparse_kernels.radix_sort(
            keys, spare, values, spare_values, shift + max(1, (self._levels[0] - 1).bit_length())
        ):
            keys, spare, values = spare, keys, spare_values
        self._count_rows(len(keys))
        counts = np.empty(len(keys), self._count_type)
        size = sparse_kernels.run_length(keys, values, shift, spare, counts)
        if size < 0.9 * len(keys):
            spare, counts = spare[:size].copy(), counts[:size].copy()
        self._push(spare[:size], counts[:size])

    def _count_rows(self, rows: int) -> None:
        self._rows += rows
        if self._count_type is np.uint32 and self._rows >= COUNT_LIMIT:
            # A count may pass 2**32 from here on; float64 holds every integer below 2**53.
            self._count_type = np.float64
            self._runs = [(keys, counts.astype(np.float64)) for keys, counts in self._runs]

    def _push(self, keys: np.ndarray, counts: np.ndarray) -> None:
        self._runs.append((keys, counts))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            self._merge_last()

    def _merge_last(self) -> None:
        b, a = self._runs.pop(), self._runs.pop()
        room = len(a[0]) + len(b[0])
        keys, counts = np.empty(room, np.uint64), np.empty(room, self._count_type)
        size = sparse_kernels.merge_runs(*a, *b, keys, counts)
        if size < 0.9 * room:
            keys, counts = keys[:size].copy(), counts[:size].copy()
        self._runs.append((keys[:size], counts[:size]))

    def block(self, shape: tuple[int, int]) -> np.ndarray | scipy.sparse.csr_array:
        """Return the counts as a block of this shape, freeing the runs."""
        self._sort_waiting()
        while len(self._runs) > 1:
            self._merge_last()
        kind = np.float64 if self._weighted else np.int64
        if not self._runs:
            self._runs = [(np.empty(0, np.uint64), np.empty(0, self._count_type))]
        keys, counts = self._runs.pop()
        if not csr_is_smaller(shape[0] * shape[1], len(keys)):
            dense = np.zeros(shape, kind)
            dense[keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)] = counts
            return dense
        starts = np.zeros(shape[0] + 1, np.int64)
        indices = np.empty(len(keys), np.int32)
        sparse_kernels.split_keys(keys, starts, indices)
        del keys
        return make_csr(counts.astype(kind), indices, starts, shape)


def make_csr(
    data: np.ndarray, indices: np.ndarray, starts: np.ndarray, shape: tuple[int, int]
) -> scipy.sparse.csr_array:
    """Return a canonical CSR block from parts that are known to be sorted and free of duplicates."""
    if len(indices) < 2**31:
        starts = starts.astype(np.int32)
    block = scipy.sparse.csr_array((data, indices, starts), shape=shape)
    block.has_canonical_format = True
    return block
