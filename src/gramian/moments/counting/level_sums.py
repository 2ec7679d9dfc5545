"""Sums of numbers by level: of a few columns chunk by chunk as the numbers pass, of many by the codes of fused units.

`UnitSums` adds by the code of each unit; margins of its tables are the sums by level of each column. Where there are one or
two columns nothing is gained by fusing, and `ChunkSums` adds while a chunk of numbers is in cache anyway (see `Watch`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from gramian.moments.counting import kernels
from gramian.moments.counting.joint_tables import Timed, marginals
from gramian.moments.counting.plan import NUMBER, Plan, share
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
                kernels.add_sums(codes[u], numbers, low, min(low + step, stop), sums[u])

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
                kernels.add_sums(column[start : start + n], rows, 0, n, sums)

        return add

    def add_to(self, totals: Sequence[np.ndarray], missing: tuple[int, ...]) -> None:
        """Add the sums to (levels, p + len(missing)) arrays with these indicators."""
        for mine, own in zip(self._sums, self._missing, strict=True):
            at = places(self._n_numbers, own, missing)
            for sums, total in zip(mine, totals, strict=True):
                total[: len(sums), at] += sums
