"""The table of one pair of columns with a byte a cell: what a large table costs is the memory it touches.

An increment at random costs what its cache line costs. Measured on one core (500,000 rows, 250,000 levels against 5, 21
and 106): 3.5, 6.7 and 8.2 ns with four bytes a cell, 1.5, 3.5 and 6.7 ns with one; clearing the table and reading it
take a quarter as well. A byte that wraps to 0 is written down, so that

    count = byte + 256 * (times its cell was written down)

is exact, with at most one note in 256 rows. A whole `collect` of ten columns in memory, two of them wide, takes in processor
time with four bytes a cell 1.2 times what it takes with one (1,000,000 rows; the wide ones of 20,000 or of 200,000 levels), and
with 3,000,000 rows 1.4 (50,000 levels) and 1.5 times (200,000).

The dense tables of one plan: counted stretch by stretch, then summed into blocks of level pairs.

All tables lie in one flat array, but for those of two columns with many cells, which have a byte each (`byte_table`).
A table of units A and B determines the counts of every pair of their members (see
`loops`), so that `collapse` writes a whole (levels of A) x (levels of B) block at once, and no loop in Python runs
over the pairs of columns. The histogram of a unit is a margin of any of its tables; it is counted by itself (stride 0)
only where there is no such table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from gramian.moments.counting import loops
from gramian.moments.counting.plan import Plan, increment, share
from gramian.moments.state.pair_counts import Block, CountType, compact, count_type, csr_is_smaller, make_csr

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
            start, size = loops.count_bytes(short, long, *strides, start, self._cells, notes)
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
        loops.compress(cells, self.shape[1], *shape, starts, indices, data)
        loops.add_to_cells(starts, indices, data, rows, columns, more)
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


Task = Callable[[], None]
# What a task costs in nanoseconds, the task for any thread, and what the calling thread does after it.
Timed = tuple[float, Task, Task | None]

# A pair is split by rows, each part with a table of its own, only where that table is cheap to clear and add.
SPLIT_CELLS = 2**20
# Bytes from which numpy asks for memory in large pages.
LARGE_PIECE = 2**22
# The table of a pair of columns with more cells than this has a byte a cell.
BYTE_CELLS = 2**18


class JointTables:
    """Tables of every dense pair of a plan.

    Parameters
    ----------
    plan : what is fused and which pairs are dense
    weighted : whether weights are added up in place of rows
    """

    def __init__(self, plan: Plan, weighted: bool) -> None:
        self.plan = plan
        self.weighted = weighted
        own = np.array(plan.own, np.int64)
        pairs = np.concatenate([plan.core_pairs, np.stack([own, own], axis=1), plan.wide_pairs])
        self.first, self.second = np.ascontiguousarray(pairs.T)
        self.n_core, self.n_own = len(plan.core_pairs), len(own)
        self.stride = plan.cells[self.second].copy()
        self.size = plan.cells[self.first] * self.stride
        mine = slice(self.n_core, self.n_core + self.n_own)
        self.size[mine], self.stride[mine] = plan.cells[own], 0
        self.bytes: dict[int, ByteTable] = {} if weighted else self._byte_tables()
        flat = self.size.copy()
        flat[list(self.bytes)] = 0
        self.offset = np.concatenate([[0], np.cumsum(flat)]).astype(np.int64)
        self.table = np.empty(0, np.float64 if weighted else np.uint32)
        flat = [j for unit in plan.units for j in unit]
        self.member = np.cumsum([0] + [len(unit) for unit in plan.units]).astype(np.int64)
        self.member_column = np.array(flat, np.int64)
        self.member_capacity = np.array([plan.capacity[j] for j in flat], np.int64)
        self._costs = increment(self.size)
        self._shares: dict[tuple[int, bytes], list[np.ndarray]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes the tables take once allocated."""
        return int(self.offset[-1]) * self.table.itemsize + sum(table.nbytes for table in self.bytes.values())

    def used_bytes(self, levels: Sequence[int]) -> int:
        """Return the bytes of the tables that are written to with so many levels: room for more is not memory yet."""
        units = self.plan.units
        cells = sum(
            min(1.0, levels[units[self.first[p]][0]] / table.shape[0]) * table.nbytes for p, table in self.bytes.items()
        )
        return int(self.offset[-1]) * self.table.itemsize + int(cells)

    def _byte_tables(self) -> dict[int, ByteTable]:
        """Return an empty table for each wide pair of two columns with many cells."""
        units, room = self.plan.units, self.plan.capacity
        byte_tables = {}
        wide = self.wide_tables()
        for p in wide[self.size[wide] > BYTE_CELLS].tolist():
            a, b = units[self.first[p]], units[self.second[p]]
            if len(a) == len(b) == 1:
                byte_tables[p] = ByteTable((room[a[0]], room[b[0]]))
        return byte_tables

    def allocate(self) -> None:
        """Clear the tables."""
        self.table = np.zeros(int(self.offset[-1]), self.table.dtype)
        # One piece of memory for all the small ones: a large piece comes in large pages, which cost a fifth as much to touch
        # first. Large tables are pieces of their own, so that each can be freed when it is taken.
        small = [p for p in self.bytes if self.size[p] < LARGE_PIECE]
        ends = np.cumsum([0, *(int(self.size[p]) for p in small)])
        cells = np.zeros(int(ends[-1]), np.uint8)
        for p, (start, stop) in zip(small, pairwise(ends), strict=True):
            self.bytes[p].use(cells[start:stop])

    def part(self, p: int) -> np.ndarray:
        """Return the table of one pair, flat."""
        return self.table[self.offset[p] : self.offset[p + 1]]

    def tasks(
        self,
        codes: np.ndarray,
        long: dict[int, np.ndarray],
        weights: np.ndarray | None,
        n_threads: int,
        other_cost: float,
    ) -> Iterator[Timed]:
        """Give (cost, run, finish) for counting one stretch: ``run`` in any thread, then ``finish`` in this one.

        ``codes`` holds one row of uint16 codes for each unit, ``long`` the codes of units that need 32 bits, and
        ``other_cost`` is what else the stretch costs, by which a pair counts as large enough to be split.
        """
        n = codes.shape[1]
        in_long = np.isin(self.first, list(long)) | np.isin(self.second, list(long)) if long else None
        large = self._costs > 0.6 * (self._costs.sum() + other_cost / max(n, 1)) / n_threads
        split = large & (self.size <= min(SPLIT_CELLS, n // 4)) & (n_threads > 1)
        split[list(self.bytes)] = False
        rest = ~split if in_long is None else ~split & ~in_long
        rest[list(self.bytes)] = False
        for p in np.flatnonzero(~rest).tolist():
            if p in self.bytes:
                a, b = (long.get(u, codes[u]) for u in (int(self.first[p]), int(self.second[p])))
                yield float(self._costs[p]) * n, partial(self.bytes[p].add, a, b), None
            elif split[p]:
                yield from self._split(p, codes, long, weights, n_threads)
            else:
                yield float(self._costs[p]) * n, self._counting(p, codes, long, weights, 0, n, None), None
        key = (n_threads, rest.tobytes())
        if key not in self._shares:
            chosen = np.flatnonzero(rest)
            parts = share(self._costs[chosen].tolist(), 4 * n_threads if n_threads > 1 else 1)
            self._shares[key] = [chosen[part] for part in parts]
        for chosen in self._shares[key]:
            yield float(self._costs[chosen].sum()) * n, self._batch(chosen, codes, weights), None

    def _batch(self, chosen: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> Task:
        def run() -> None:
            pairs = (chosen, self.first, self.second, self.table, self.offset, self.stride)
            if weights is None:
                loops.count_pairs(codes, 0, codes.shape[1], *pairs)
            else:
                loops.weigh_pairs(codes, 0, codes.shape[1], *pairs, weights)

        return run

    def _counting(
        self,
        p: int,
        codes: np.ndarray,
        long: dict[int, np.ndarray],
        weights: np.ndarray | None,
        start: int,
        stop: int,
        private: np.ndarray | None,
    ) -> Task:
        a, b = int(self.first[p]), int(self.second[p])

        def run() -> None:
            part = self.part(p) if private is None else private
            stride_a, stride_b, short = int(self.stride[p]), 1, codes[a]
            wide = long.get(b)
            if a == b and wide is not None:
                stride_a, short = 0, codes[0]
            elif wide is None and a in long:
                wide, short, stride_a, stride_b = long[a], codes[b], 1, stride_a
            if wide is not None and weights is None:
                loops.count_long(short, wide, stride_a, stride_b, start, stop, part)
            elif wide is not None:
                loops.weigh_long(short, wide, stride_a, stride_b, start, stop, part, weights)
            else:
                one, at = np.array([p]), np.zeros(p + 1, np.int64)
                pairs = (one, self.first, self.second, part, at, self.stride)
                if weights is None:
                    loops.count_pairs(codes, start, stop, *pairs)
                else:
                    loops.weigh_pairs(codes, start, stop, *pairs, weights)

        return run

    def _split(
        self, p: int, codes: np.ndarray, long: dict[int, np.ndarray], weights: np.ndarray | None, n_parts: int
    ) -> Iterator[Timed]:
        edges = np.linspace(0, codes.shape[1], n_parts + 1).astype(int).tolist()
        for start, stop in pairwise(edges):
            private = np.zeros(int(self.size[p]), self.table.dtype)

            def finish(private: np.ndarray = private) -> None:
                part = self.part(p)
                part += private

            yield (
                float(self._costs[p]) * (stop - start),
                self._counting(p, codes, long, weights, start, stop, private),
                finish,
            )

    def own_histograms(self) -> dict[int, np.ndarray]:
        """Return the histogram of every cover unit that has a table: counted, or the margin of a core pair."""
        kind = np.float64 if self.weighted else np.int64
        histograms = {}
        for p in range(self.n_core + self.n_own):
            a, b = int(self.first[p]), int(self.second[p])
            if a == b:
                histograms[b] = self.part(p).astype(kind)
            elif a == 0:
                table = self.part(p).reshape(-1, int(self.stride[p]))
                histograms[b] = table.sum(axis=0, dtype=kind)
                if b == 1:
                    histograms[0] = table.sum(axis=1, dtype=kind)
        return histograms

    def clear_own(self) -> None:
        """Clear the histograms counted by themselves."""
        self.table[self.offset[self.n_core] : self.offset[self.n_core + self.n_own]] = 0

    def add_core(self, total: np.ndarray, place: np.ndarray, size: np.ndarray, n_threads: int) -> Iterator[Timed]:
        """Give the tasks that empty the core tables into ``total``; column j stands at ``place[j]``, ``size[j]`` long."""
        at, levels = place[self.member_column], size[self.member_column]
        costs = self.size[: self.n_core].astype(float)
        for chosen in share(costs.tolist(), 4 * n_threads) if self.n_core else ():

            def run(chosen: np.ndarray = chosen) -> None:
                loops.collapse(
                    self.table, chosen, self.offset, self.first, self.second, self.member, self.member_capacity,
                    at, levels, total, True,
                )  # fmt: skip

            yield float(costs[chosen].sum()), run, None

    def add_own(self, counts: np.ndarray, unit: int, total: np.ndarray, place: np.ndarray, size: np.ndarray) -> None:
        """Add the pairs within one unit to ``total``, from its histogram."""
        columns = self.member_column[self.member[unit] : self.member[unit + 1]]
        capacity = self.member_capacity[self.member[unit] : self.member[unit + 1]]
        loops.collapse_own(counts, capacity, place[columns], size[columns], total)

    def wide_block(self, p: int, levels: Sequence[int]) -> dict[tuple[int, int], Block]:
        """Return the blocks of one table that is not core, by column pair i < j, and empty the table."""
        a, b = self.plan.units[self.first[p]], self.plan.units[self.second[p]]
        if p in self.bytes:
            return {(a[0], b[0]): self.bytes[p].take((levels[a[0]], levels[b[0]]))}
        if len(a) == len(b) == 1:
            shape = (levels[a[0]], levels[b[0]])
            table = self.part(p).reshape(-1, int(self.stride[p]))[: shape[0], : shape[1]]
            entries = int(np.count_nonzero(table)) if math.prod(shape) > 2**16 else 0
            kind: CountType = np.float64 if self.weighted else count_type(int(table.max(initial=0)))
            if not csr_is_smaller(math.prod(shape), entries, kind):
                dense: np.ndarray = table.astype(kind)
                table[:] = 0
                return {(a[0], b[0]): dense}
            starts = np.zeros(shape[0] + 1, np.int64)
            indices, data = np.empty(entries + 1, np.int32), np.empty(entries + 1, kind)
            loops.compress(self.part(p), int(self.stride[p]), *shape, starts, indices, data)
            table[:] = 0
            return {(a[0], b[0]): make_csr(data[:entries], indices[:entries], starts, shape)}
        sizes = np.array(levels, np.int64)[self.member_column]
        place = np.zeros(len(sizes), np.int64)
        extent = []
        for u in (self.first[p], self.second[p]):
            mine = slice(self.member[u], self.member[u + 1])
            place[mine] = np.cumsum(sizes[mine]) - sizes[mine]
            extent.append(int(sizes[mine].sum()))
        total = np.zeros(extent, np.float64 if self.weighted else np.int64)
        loops.collapse(
            self.table, np.array([p]), self.offset, self.first, self.second, self.member, self.member_capacity,
            place, sizes, total, False,
        )  # fmt: skip
        blocks = {}
        for k, i in enumerate(a, self.member[self.first[p]]):
            for m, j in enumerate(b, self.member[self.second[p]]):
                block = total[place[k] : place[k] + sizes[k], place[m] : place[m] + sizes[m]]
                blocks[min(i, j), max(i, j)] = compact(np.ascontiguousarray(block if i < j else block.T))
        return blocks

    def wide_index(self) -> dict[tuple[tuple[int, ...], tuple[int, ...]], int]:
        """Return the position of each table that is not core, by its two units."""
        units = self.plan.units
        return {(units[self.first[p]], units[self.second[p]]): p for p in self.wide_tables().tolist()}

    def wide_tables(self) -> np.ndarray:
        """Return the positions of the tables that are not core."""
        return np.arange(self.n_core + self.n_own, len(self.first))

    def move_from(self, other: JointTables) -> list[int]:
        """Take over the wide tables of an earlier plan whose units are still paired; return those left behind."""
        mine, left = self.wide_index(), []
        for units, p in other.wide_index().items():
            k = mine.get(units)
            if k is None:
                left.append(p)
                continue
            if p in other.bytes and k in self.bytes:
                self.bytes[k] = other.bytes[p].grown(self.bytes[k].shape)
                continue
            if p in other.bytes or k in self.bytes:
                left.append(p)
                continue
            old, new = ([t.plan.capacity[j] for unit in units for j in unit] for t in (other, self))
            corner = tuple(slice(0, c) for c in old)
            self.part(k).reshape(new)[corner] = other.part(p).reshape(old)
        return left


def marginals(table: np.ndarray, unit: Sequence[int], capacity: Sequence[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Give (column, sums over all other members) for a table whose first axis is a unit's code.

    Examples
    --------
    >>> [(j, m.tolist()) for j, m in marginals(np.arange(6), (4, 7), {4: 2, 7: 3})]
    [(4, [3, 12]), (7, [3, 5, 7])]
    """
    cube = table.reshape([capacity[j] for j in unit] + list(table.shape[1:]))
    for m, j in enumerate(unit):
        yield j, cube.sum(axis=tuple(k for k in range(len(unit)) if k != m))
