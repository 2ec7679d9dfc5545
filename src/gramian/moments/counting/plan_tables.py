"""Everything one plan counts into, from the codes of its units to their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from gramian.moments.counting.bit_planes import PlaneCounts
from gramian.moments.counting.joint_tables import JointTables, Timed
from gramian.moments.counting.kernels import tables as kernels
from gramian.moments.counting.level_sums import UnitSums
from gramian.moments.counting.plan import FUSE, Plan, share


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


class Stage:
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
                    kernels.fuse(table[u], column, plan.capacity[j], start, stop)

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
