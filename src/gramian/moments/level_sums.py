"""Sums of numbers, and rows, by the code of each unit; their margins are the sums by level of each column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from gramian.moments import kernels
from gramian.moments.joint import Timed, marginals
from gramian.moments.plan import NUMBER, Plan, share

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
