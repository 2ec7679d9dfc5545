"""Pairs of very wide columns: only the distinct pairs are held, as sorted runs.

Every 2**23 rows, fewer where there are many pairs (`waiting_rows`), become one run: keys ``row << 32 | column`` in order,
each once, with its count. A key costs 5 ns to sort among 2**19 and 7 ns among 2**22, and 6 ns in each merge: so rows wait,
at 8 bytes each, until a long run can be made of them. Runs are merged like those of a log-structured tree, whenever the
last but one is less than twice the last: each entry then takes part in a logarithmic number of linear merges, and the runs
together hold at most about twice the distinct pairs.

A run takes 12 bytes an entry (16 with weights), the CSR block it becomes mostly 6 (12). So where memory is short, runs are such
blocks from the start and are added up as those are, which takes three times as long as a merge (`compact_runs`).
"""

from __future__ import annotations

import numpy as np

from gramian.moments.counting import loops
from gramian.moments.state.pair_counts import Block, block_bytes, compact, count_type, make_csr, summable

COUNT_LIMIT = 2**32
# Rows that wait to be sorted: of one pair, of all pairs together (256 MB), and of one pair however many there are.
SORTED_ROWS = 2**23
ALL_WAITING = 2**25
LEAST_WAITING = 2**19
# Of the memory there is room for, what rows that wait may take together, one part in so many; and the fewest of one pair.
WAITING_SHARE = 8
LEAST_COMPACT = 2**14


def waiting_rows(n_pairs: int, room: int | None = None) -> tuple[int, bool]:
    """Return how many rows of a pair wait until they are sorted, where there are so many pairs, and whether runs are compact.

    Parameters
    ----------
    n_pairs : int
        Pairs that are sorted.
    room : int, optional
        Bytes that all counting may take.

    Examples
    --------
    >>> [waiting_rows(n) for n in (1, 8, 1000)]
    [(8388608, False), (4194304, False), (524288, False)]
    >>> waiting_rows(8, 10**8)
    (195312, True)
    """
    rows = max(LEAST_WAITING, min(SORTED_ROWS, ALL_WAITING // n_pairs))
    if room is None or 8 * rows * n_pairs <= room // WAITING_SHARE:
        return rows, False
    return max(LEAST_COMPACT, room // (8 * WAITING_SHARE * n_pairs)), True


class SparsePair:
    """The counts of one pair of columns, as sorted runs of distinct pairs.

    Parameters
    ----------
    weighted : whether weights are added up in place of rows
    most_waiting : rows that are sorted at a time
    compact_runs : whether runs are kept as blocks, in half the memory
    """

    def __init__(self, weighted: bool, most_waiting: int = SORTED_ROWS, compact_runs: bool = False) -> None:
        self._weighted = weighted
        self._compact_runs = compact_runs
        self._blocks: list[Block] = []
        self._most_waiting = most_waiting
        self._count_type = np.float64 if weighted else np.uint32
        self._rows = 0
        self._runs: list[tuple[np.ndarray, np.ndarray]] = []
        # Rows not sorted yet: the codes of both columns in one word each, weights, how many; and the levels of both.
        self._keys, self._values = np.empty(0, np.uint64), np.empty(0)
        self._waiting = 0
        self._levels = (0, 0)

    @property
    def nbytes(self) -> int:
        """Bytes held by the runs and the rows that wait."""
        # Room that no row has come to yet is not memory.
        waiting = (16 if self._weighted else 8) * self._waiting
        runs = sum(keys.nbytes + counts.nbytes for keys, counts in self._runs)
        return waiting + runs + sum(map(block_bytes, self._blocks))

    def sorting_bytes(self, rows: int) -> int:
        """Return the bytes that sorting and merging take beside what is held, once so many rows more wait."""
        entry = 20 if not self._weighted else 40
        # Blocks are added up when the rows are sorted: in wider counts, beside the sum and its smaller form.
        merging = sum(block.nnz for block in self._blocks) if self._compact_runs else 0
        return entry * max(rows + self._waiting, merging)

    def add(self, first: np.ndarray, second: np.ndarray, levels: tuple[int, int], weights: np.ndarray | None) -> None:
        """Add one stretch: the codes of both columns, below ``levels``."""
        stop = self._waiting + len(first)
        self._make_room(stop)
        keys = self._keys[self._waiting : stop]
        np.left_shift(first, np.uint64(32), out=keys, dtype=np.uint64)
        keys |= second
        if weights is not None:
            self._values[self._waiting : stop] = weights
        self._waiting, self._levels = stop, levels
        if stop >= self._most_waiting:
            self._sort_waiting()

    def _make_room(self, rows: int) -> None:
        """See to it that so many rows can wait: at first for a few, then for a whole run."""
        if rows <= len(self._keys):
            return
        room = max(rows, self._most_waiting) if self._waiting or self._runs else rows
        keys, values = np.empty(room, np.uint64), np.empty(room if self._weighted else 0)
        keys[: self._waiting] = self._keys[: self._waiting]
        values[: self._waiting] = self._values[: self._waiting]
        self._keys, self._values = keys, values

    def _sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the keys of the rows that waited, sorted, their weights, and as much memory to write to."""
        keys, values = self._keys[: self._waiting], self._values[: self._waiting]
        self._keys, self._values, self._waiting = np.empty(0, np.uint64), np.empty(0), 0
        spare, spare_values = np.empty_like(keys), np.empty_like(values)
        bits = [max(n - 1, 1).bit_length() for n in self._levels]
        if loops.radix_sort(keys, spare, values, spare_values, *bits):
            keys, spare, values = spare, keys, spare_values
        self._count_rows(len(keys))
        return keys, values, spare

    def _sort_waiting(self) -> None:
        """Make a run of the rows that wait."""
        if not self._waiting:
            return
        if self._compact_runs:
            self._push_block(self._block_of_waiting(self._levels))
            return
        keys, values, spare = self._sorted()
        counts = np.empty(len(keys), self._count_type)
        size = loops.run_length(keys, values, spare, counts)
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
        size = loops.merge_runs(*a, *b, keys, counts)
        if size < 0.9 * room:
            keys, counts = keys[:size].copy(), counts[:size].copy()
        self._runs.append((keys[:size], counts[:size]))

    def _push_block(self, block: Block) -> None:
        """Add a block to those there are: like runs, they are added up while the last but one is less than twice the last."""
        self._blocks.append(block)
        while len(self._blocks) > 1 and self._blocks[-2].nnz < 2 * self._blocks[-1].nnz:
            self._add_last_blocks()

    def _add_last_blocks(self) -> None:
        b, a = self._blocks.pop(), self._blocks.pop()
        shape = (max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1]))
        kind = np.float64 if self._weighted else np.int64
        total = _of_shape(summable(a, twice=True), shape) + _of_shape(summable(b, twice=True), shape)
        del a, b
        self._blocks.append(_smallest(total, kind))

    def block(self, shape: tuple[int, int]) -> Block:
        """Return the counts as a block of this shape, freeing the runs."""
        if self._blocks:
            self._sort_waiting()
            while len(self._blocks) > 1:
                self._add_last_blocks()
            return compact(_of_shape(self._blocks.pop(), shape))
        if not self._runs and self._waiting:
            return compact(self._block_of_waiting(shape))
        self._sort_waiting()
        while len(self._runs) > 1:
            self._merge_last()
        keys, counts = self._runs.pop() if self._runs else (np.empty(0, np.uint64), np.empty(0, self._count_type))
        starts = np.zeros(shape[0] + 1, np.int64)
        indices = np.empty(len(keys), np.int32)
        loops.split_keys(keys, starts, indices)
        del keys
        kind = np.float64 if self._weighted else count_type(int(counts.max(initial=0)))
        return compact(make_csr(counts.astype(kind), indices, starts, shape))

    def _block_of_waiting(self, shape: tuple[int, int]) -> Block:
        """Return the block of rows of which no run was made: it is written as they lie sorted."""
        keys, values, spare = self._sorted()
        del spare
        kind = np.float64 if self._weighted else count_type(len(keys))
        starts = np.zeros(shape[0] + 1, np.int64)
        indices, data = np.empty(len(keys), np.int32), np.empty(len(keys), kind)
        size = loops.compress_keys(keys, values, starts, indices, data)
        del keys
        if size < 0.9 * len(indices):
            indices, data = indices[:size].copy(), data[:size].copy()
        return make_csr(data[:size], indices[:size], starts, shape)


def _of_shape(block: Block, shape: tuple[int, int]) -> Block:
    """Return a CSR block with rows and columns of nothing up to this shape, its counts not copied."""
    starts = np.concatenate([block.indptr, np.full(shape[0] - block.shape[0], block.indptr[-1], block.indptr.dtype)])
    return make_csr(block.data, block.indices, starts, shape)


def _smallest(block: Block, kind: type) -> Block:
    """Return a CSR block with counts of the smallest type, however few cells it has."""
    if kind is not np.float64:
        kind = count_type(int(block.data.max(initial=0)))
    return make_csr(block.data.astype(kind, copy=False), block.indices, block.indptr, block.shape)
