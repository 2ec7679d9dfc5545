"""Everything one plan counts into: tables of fused units, bit planes, and sums of numbers by level.

Sums of numbers by level: of a few columns chunk by chunk as the numbers pass, of many by the codes of fused units.

`UnitSums` adds by the code of each unit; margins of its tables are the sums by level of each column. Where there are one or
two columns nothing is gained by fusing, and `ChunkSums` adds while a chunk of numbers is in cache anyway (see `Watch`).

Pairs of columns with a few levels, as bit planes: the ones in ``plane & plane`` are their joint count.

Everything one plan counts into, from the codes of its units to their tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from gramian.moments.counting import loops
from gramian.moments.counting.joint_tables import JointTables, Timed, marginals
from gramian.moments.counting.plan import FUSE, NUMBER, PACK, PLANE_PAIR, PLANE_WORD, Plan, share, upper_shares
from gramian.moments.counting.scatter_counter import Watch, places

# With more columns than this units are worth it.
FEW_COLUMNS = 2
# Sums of all threads together, in bytes: they must stay in cache.
CHUNK_SUM_BYTES = 2**22
# Bytes of numbers that stay in cache while every unit of a share takes its turn at them.
NUMBER_BLOCK = 2**18


class UnitSums:
    """Sums of q numbers for every code of every unit that covers the columns.

    Parameters
    ----------
    plan : units, of which the first `n_cover` hold every column once
    n_numbers : q
    """

    def __init__(self, plan: Plan, n_numbers: int) -> None:
        self.plan = plan
        self.n_numbers = n_numbers
        self.sums: list[np.ndarray] = []

    @property
    def nbytes(self) -> int:
        """Bytes of the sums."""
        return 8 * self.n_numbers * int(self.plan.cells[: self.plan.n_cover].sum())

    def allocate(self) -> None:
        """Clear the sums."""
        cells = self.plan.cells[: self.plan.n_cover].tolist()
        self.sums = [np.zeros((c, self.n_numbers)) for c in cells]

    def tasks(self, codes: Sequence[np.ndarray], numbers: np.ndarray, n_threads: int) -> Iterator[Timed]:
        """Give (cost, run, finish) to add one stretch, with the codes of each unit."""
        n, q = numbers.shape
        n_units = len(self.sums)
        cost = n * NUMBER * (1 + q)
        cells = sum(len(s) for s in self.sums)
        if n_threads == 1 or n_units >= 2 * n_threads or cells * n_threads > n:
            for units in share([1.0] * n_units, min(4 * n_threads, n_units) if n_threads > 1 else 1):
                yield cost * len(units), partial(self._add, units.tolist(), self.sums, codes, numbers, 0, n), None
            return
        edges = np.linspace(0, n, n_threads + 1).astype(int).tolist()
        for start, stop in pairwise(edges):
            private = [np.zeros_like(s) for s in self.sums]

            def finish(private: list[np.ndarray] = private) -> None:
                for mine, more in zip(self.sums, private, strict=True):
                    mine += more

            run = partial(self._add, range(n_units), private, codes, numbers, start, stop)
            yield cost * n_units / n_threads, run, finish

    def _add(
        self,
        units: Sequence[int],
        sums: Sequence[np.ndarray],
        codes: Sequence[np.ndarray],
        numbers: np.ndarray,
        start: int,
        stop: int,
    ) -> None:
        step = max(NUMBER_BLOCK // (8 * numbers.shape[1]), 64)
        for low in range(start, stop, step):
            for u in units:
                loops.add_sums(codes[u], numbers, low, min(low + step, stop), sums[u])

    def settle(self) -> Iterator[tuple[int, np.ndarray]]:
        """Give (column, (capacity, q) sums) for every column, and clear the sums."""
        for u, table in enumerate(self.sums):
            yield from marginals(table, self.plan.units[u], self.plan.capacity)
            table[:] = 0.0


class ChunkSums:
    """Sums of numbers for every level of a few columns, by the threads that add the numbers up.

    Parameters
    ----------
    n_columns : columns with levels
    n_numbers : numeric columns p, indicators of missing values not counted
    n_threads : how many may add at once
    """

    def __init__(self, n_columns: int, n_numbers: int, n_threads: int) -> None:
        self._few = 0 < n_columns <= FEW_COLUMNS and n_numbers > 0
        self._n_numbers = n_numbers
        self._missing: list[tuple[int, ...]] = [()] * n_threads
        self._sums = [[np.zeros((0, n_numbers)) for _ in range(n_columns)] for _ in range(n_threads)]

    def has_room(self, n_levels: Sequence[int]) -> bool:
        """Return whether sums of so many levels are few enough to be taken here."""
        return self._few and 8 * 2 * self._n_numbers * sum(n_levels) * len(self._sums) <= CHUNK_SUM_BYTES

    def watch(self, codes: Sequence[np.ndarray], n_levels: Sequence[int], weights: np.ndarray | None) -> Watch:
        """Return what adds the chunks of one stretch, given its codes."""
        for mine in self._sums:
            for j, n in enumerate(n_levels):
                mine[j] = np.pad(mine[j], ((0, n - len(mine[j])), (0, 0)))

        def add(worker: int, start: int, rows: np.ndarray, missing: tuple[int, ...]) -> None:
            n, mine = len(rows), self._sums[worker]
            if missing != self._missing[worker]:
                at = places(self._n_numbers, self._missing[worker], missing)
                for j, sums in enumerate(mine):
                    mine[j] = np.zeros((len(sums), rows.shape[1]))
                    mine[j][:, at] = sums
                self._missing[worker] = missing
            if weights is not None:
                rows = rows * weights[start : start + n, None]
            for column, sums in zip(codes, mine, strict=True):
                loops.add_sums(column[start : start + n], rows, 0, n, sums)

        return add

    def add_to(self, totals: Sequence[np.ndarray], missing: tuple[int, ...]) -> None:
        """Add the sums to (levels, p + len(missing)) arrays with these indicators."""
        for mine, own in zip(self._sums, self._missing, strict=True):
            at = places(self._n_numbers, own, missing)
            for sums, total in zip(mine, totals, strict=True):
                total[: len(sums), at] += sums


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
            yield [(cost, partial(loops.count_planes, part, lo, hi, self.gram), None) for lo, hi in pairwise(edges)]
        self.rows += n

    def _pack(
        self, codes: Sequence[np.ndarray], planes: np.ndarray, low: int, high: int, start: int, stop: int
    ) -> None:
        for k in range(low, high):
            column = codes[self.columns[k]][start:stop]
            if column.itemsize != 2:
                column = column.astype(np.uint16)
            loops.pack_planes(column, self.capacity[k], planes, self.top[k])

    def settling(self, total: np.ndarray, place: np.ndarray, size: np.ndarray, n_threads: int) -> Iterator[Timed]:
        """Give the tasks that add the counts of all level pairs to the upper half of ``total``; `clear` comes after them."""
        columns = np.array(self.columns, np.int64)
        place, size = place[columns], size[columns]
        for start, stop in pairwise(upper_shares(len(columns), n_threads)):
            arguments = (self.gram, self.rows, self.capacity, place, size, total, start, stop)
            cells = (self.top[stop] - self.top[start]) * self.top[-1]
            yield 2.0 * float(cells), partial(loops.expand_planes, *arguments), None

    def clear(self) -> None:
        """Forget what was counted."""
        self.gram[:] = 0
        self.rows = 0


@dataclass
class UnitCodes:
    """The codes of every unit over one stretch, once the tasks have run.

    Attributes
    ----------
    table : uint16 (units, rows)
    long : codes of the units that need 32 bits, whose row of the table is not filled
    tasks : what fills the table
    """

    table: np.ndarray
    long: dict[int, np.ndarray]
    tasks: list[Timed]

    def units(self) -> list[np.ndarray]:
        """Return the codes of each unit."""
        return [self.long.get(u, row) for u, row in enumerate(self.table)]


class PlanTables:
    """Everything that one plan counts into.

    Parameters
    ----------
    plan : what is fused, and how each pair is counted
    weighted : whether weights are added up, with rows counted beside them
    n_numbers : numbers whose sums by level are kept
    """

    def __init__(self, plan: Plan, weighted: bool, n_numbers: int) -> None:
        self.joint = JointTables(plan, weighted)
        self.planes = PlaneCounts(plan.planes, plan.capacity)
        self.sums = UnitSums(plan, n_numbers)
        self.rows = 0
        # Weights do not tell how many rows there were: count those by themselves.
        self.row_tables: JointTables | None = None
        if weighted:
            none = np.empty((0, 2), np.int64)
            rows_only = replace(plan, core_pairs=none, wide_pairs=none, own=tuple(range(plan.n_cover)))
            self.row_tables = JointTables(rows_only, weighted=False)

    @property
    def nbytes(self) -> int:
        """Bytes of all tables once allocated."""
        rows = self.row_tables.nbytes if self.row_tables is not None else 0
        return self.joint.nbytes + self.planes.nbytes + self.sums.nbytes + rows

    def used_bytes(self, levels: Sequence[int]) -> int:
        """Return the bytes of all tables that are written to with so many levels."""
        return self.nbytes - self.joint.nbytes + self.joint.used_bytes(levels)

    def allocate(self) -> None:
        """Clear all tables."""
        self.joint.allocate()
        self.planes.allocate()
        self.sums.allocate()
        if self.row_tables is not None:
            self.row_tables.allocate()

    def fits(self, levels: Sequence[int], n_numbers: int) -> bool:
        """Return whether there is room for so many levels, and as many numbers."""
        room = self.joint.plan.capacity
        return n_numbers == self.sums.n_numbers and all(n <= c for n, c in zip(levels, room, strict=True))

    def encode(
        self, codes: Sequence[np.ndarray], levels: Sequence[int], table: np.ndarray, n_threads: int
    ) -> UnitCodes:
        """Return the codes of all units, in ``table`` where that has the right shape."""
        plan, rows = self.joint.plan, len(codes[0])
        long = {
            u: codes[unit[0]]
            for u, unit in enumerate(plan.units)
            if len(unit) == 1 and codes[unit[0]].itemsize > 2 and levels[unit[0]] > 2**16
        }
        if table.shape != (len(plan.units), rows):
            table = np.empty((len(plan.units), rows), np.uint16)

        def fuse(units: Iterable[int], start: int, stop: int) -> None:
            for u in units:
                first, *others = plan.units[u]
                table[u, start:stop] = codes[first][start:stop]
                for j in others:
                    column = codes[j] if codes[j].itemsize == 2 else codes[j].astype(np.uint16)
                    loops.fuse(table[u], column, plan.capacity[j], start, stop)

        short = [u for u in range(len(plan.units)) if u not in long]
        costs = [FUSE * rows * len(plan.units[u]) for u in short]
        tasks: list[Timed] = []
        if len(short) >= 2 * n_threads or n_threads == 1:
            for part in share(costs, 2 * n_threads if n_threads > 1 else 1):
                units = [short[k] for k in part]
                tasks.append((sum(costs[k] for k in part), partial(fuse, units, 0, rows), None))
        elif short:
            for start, stop in pairwise(np.linspace(0, rows, n_threads + 1).astype(int).tolist()):
                tasks.append((sum(costs) / n_threads, partial(fuse, short, start, stop), None))
        return UnitCodes(table, long, tasks)
