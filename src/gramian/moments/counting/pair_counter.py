"""The accumulator of level pairs: every pair of categorical columns, in one pass over coded rows.

`PairCounter` holds exact totals and adds one stretch of rows at a time. `plan` decides how each pair is counted,
`joint_tables` holds the dense tables, `sorted_pairs` the sparse pairs, `held_rows` what is too short to be worth a plan,
`loops` the loops. What the counter itself looks after is growth: a table has room for a capacity of levels, and when a
codebook outgrows it, the tables are summed into running totals (exact: sums of counts add) and a new plan is made with twice
the room, so growth costs O(log levels) plans.

Counts are exact integers: uint32 cells are emptied into int64 before `COUNT_LIMIT` rows. Addition of integers
commutes, so the counts are the same whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial

import numpy as np

from gramian.arrays.memory import make_room
from gramian.design.pair_tables import narrow_columns, pairs_apart, refuse_many_tables
from gramian.errors import MemoryLimitError
from gramian.moments.counting.joint_tables import JointTables, Timed, marginals
from gramian.moments.counting.plan import MANY_TASKS, SORT, capacities, make_plan, share
from gramian.moments.counting.plan_tables import PlanTables
from gramian.moments.counting.running_totals import SHORT_STRETCH, CoreCounts, HeldRows, add_blocks, grown
from gramian.moments.counting.sorted_pairs import SparsePair, waiting_rows
from gramian.moments.state.pair_counts import (
    Block,
    PairCounts,
    block_bytes,
)

COUNT_LIMIT = 2**32
# Bytes of a table of two columns beside its counts, its place among the others included.
TABLE_BYTES = 400
# Work below this many nanoseconds is done in the calling thread.
WORTH_A_THREAD = 200_000.0


def _ignore(nbytes: int) -> None:
    pass


class PairCounter:
    """Counts of every pair of levels of different columns, and sums of numbers by level.

    Parameters
    ----------
    n_columns : number of categorical columns
    executor : thread pool that does the work; `add` returns when its stretch is counted
    n_threads : threads to split the work for
    weighted : whether every stretch comes with row weights
    expected_rows : rows of the whole pass where known; only the choice of tables depends on it
    reserve : called with the bytes this counter is about to hold, before they are allocated; raises to refuse
    room : bytes that counting may take where they are bounded: with little, less waits to be sorted

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(1) as pool:
    ...     counter = PairCounter(2, executor=pool, n_threads=1)
    ...     counter.add([np.array([0, 1, 1], np.uint16), np.array([0, 0, 1], np.uint16)], [2, 2])
    ...     counts, _ = counter.result()
    >>> counts.matrix
    array([[1, 0, 1, 0],
           [0, 2, 1, 1],
           [1, 1, 2, 0],
           [0, 1, 0, 1]])
    """

    def __init__(
        self,
        n_columns: int,
        *,
        executor: Executor,
        n_threads: int,
        weighted: bool = False,
        expected_rows: int | None = None,
        reserve: Callable[[int], None] = _ignore,
        room: int | None = None,
    ) -> None:
        self._n_columns = n_columns
        self._executor = executor
        self._n_threads = max(1, n_threads)
        self._weighted = weighted
        self._kind: type = np.float64 if weighted else np.int64
        self._expected_rows = expected_rows
        self._reserve = reserve
        self._room = room
        self._levels = [0] * n_columns
        self._has_grown = [False] * n_columns
        self._n_numbers = 0
        self._rows = 0
        self._held = HeldRows(weighted)
        # What the present plan counts into.
        self._state: PlanTables | None = None
        self._codes = np.empty((0, 0), np.uint16)
        self._sparse: dict[tuple[int, int], SparsePair] = {}
        # Running totals: what earlier plans, or tables emptied before they were full, have left.
        self._core = CoreCounts((), (), self._kind)
        self._carry: dict[tuple[int, int], Block] = {}
        self._level_rows: list[np.ndarray | None] = [None] * n_columns
        self._level_weights: list[np.ndarray | None] = [None] * n_columns
        self._sums: list[np.ndarray | None] = [None] * n_columns

    def add(
        self,
        codes: Sequence[np.ndarray],
        n_levels: Sequence[int],
        *,
        weights: np.ndarray | None = None,
        deviations: np.ndarray | None = None,
    ) -> None:
        """Count one stretch of rows.

        Parameters
        ----------
        codes : for each column the codes of the rows, uint16 or uint32, contiguous
        n_levels : levels of each column so far; never fewer than before
        weights : float64 (n,), where the counter is weighted
        deviations : float64 (n, q), C-contiguous; q may grow between stretches
        """
        rows = len(codes[0]) if len(codes) else 0
        if self._state is not None:
            for j, (now, before) in enumerate(zip(n_levels, self._levels, strict=True)):
                if now > before:
                    self._has_grown[j] = True
        self._levels = list(n_levels)
        if deviations is not None:
            self._n_numbers = max(self._n_numbers, deviations.shape[1])
        if rows and not self._held.has_room(rows):
            self._count_held()
        if rows >= SHORT_STRETCH:
            self._count(codes, weights, deviations)
        elif rows:
            if not self._held.nbytes:
                self._reserve(self._bytes_held() + SHORT_STRETCH * sum(c.itemsize for c in codes))
            self._held.add(codes, weights, deviations, self._n_numbers)

    def result(self) -> tuple[PairCounts, list[np.ndarray]]:
        """Return the counts, and the (levels, q) sums of the numbers of each column; the counter is finished then."""
        self._count_held()
        levels = self._levels
        narrow = narrow_columns(levels)
        matrix = 8 * sum(levels[j] for j in narrow) ** 2
        if self._core.is_laid_out(narrow, levels):
            matrix = 0
        at_once = self._reserve_sorting(0, matrix + self._block_bytes())
        # What was read is of no use any more.
        make_room(matrix)
        blocks: dict[tuple[int, int], Block] = {}
        if self._state is not None:
            self._settle(self._state, levels)
            blocks = self._wide_blocks(self._state.joint, at_once)
            self._state = None
        weights = [grown(a, (n,), self._kind)[:n] for a, n in zip(self._level_weights, levels, strict=True)]
        for j, diagonal in self._core.diagonals():
            weights[j] += diagonal[: levels[j]]
        rows = weights
        if self._weighted:
            rows = [grown(a, (n,), np.int64)[:n] for a, n in zip(self._level_rows, levels, strict=True)]
        q = self._n_numbers
        sums = [grown(a, (n, q), np.float64)[:n] for a, n in zip(self._sums, levels, strict=True)]

        core = self._core.laid_out(narrow, levels)
        for pair, block in self._core.blocks(narrow):
            shape = (levels[pair[0]], levels[pair[1]])
            more = blocks.get(pair)
            if more is not None or block.shape != shape:
                block = add_blocks([block] if more is None else [block, more], shape, self._kind)
            blocks[pair] = block
        for j in set(narrow) - set(self._core.columns):
            core.add(j, j, np.diag(weights[j]))
        # A pair counted apart may belong to the matrix by its final level counts, and the other way round.
        for i, j in [pair for pair in blocks if pair[0] in core.place and pair[1] in core.place]:
            block = blocks.pop((i, j))
            core.add(i, j, block if isinstance(block, np.ndarray) else block.toarray())
        # Without a row there is no table to give a block.
        for j in set(range(self._n_columns)) - set(narrow) if self._rows == 0 else ():
            for i in range(self._n_columns):
                pair = (min(i, j), max(i, j))
                if i != j and pair not in blocks:
                    blocks[pair] = add_blocks([], (levels[pair[0]], levels[pair[1]]), self._kind)
        return PairCounts(rows, weights, narrow, core.counts, blocks), sums

    def _count_held(self) -> None:
        if self._held.rows:
            self._count(*self._held.take())

    def _count(self, codes: Sequence[np.ndarray], weights: np.ndarray | None, numbers: np.ndarray | None) -> None:
        rows = len(codes[0])
        if rows >= COUNT_LIMIT:
            for start in range(0, rows, COUNT_LIMIT - 1):
                part = slice(start, start + COUNT_LIMIT - 1)
                self._count(
                    [c[part] for c in codes],
                    None if weights is None else weights[part],
                    None if numbers is None else numbers[part],
                )
            return
        state = self._ready(rows)
        plan = state.joint.plan
        state.rows += rows
        self._rows += rows
        at_once = self._reserve_sorting(rows, 2 * rows * len(plan.units) + state.planes.plane_bytes(rows))
        coded = state.encode(codes, self._levels, self._codes, self._n_threads)
        self._run(coded.tasks)
        self._codes = coded.table
        for tasks in state.planes.parts(codes, self._n_threads):
            self._run(tasks)
        tasks = []
        if numbers is not None and numbers.shape[1]:
            tasks += state.sums.tasks(coded.units(), numbers, self._n_threads)
        sorting: list[Timed] = []
        for i, j in plan.sparse:
            levels = (self._levels[i], self._levels[j])
            sorting.append((SORT * rows, partial(self._sparse[i, j].add, codes[i], codes[j], levels, weights), None))
        if at_once > 1:
            tasks += sorting
        else:
            self._run(sorting, at_once)
        if state.row_tables is not None:
            tasks += state.row_tables.tasks(coded.table, coded.long, None, self._n_threads, np.inf)
        cost = sum(task[0] for task in tasks)
        self._run([*tasks, *state.joint.tasks(coded.table, coded.long, weights, self._n_threads, cost)])

    def _ready(self, rows: int) -> PlanTables:
        """Return tables with room for the present levels and so many rows more, making a plan where needed."""
        state = self._state
        if state is not None and state.fits(self._levels, self._n_numbers):
            if state.rows + rows >= COUNT_LIMIT:
                self._settle(state, self._levels)
                for p in state.joint.wide_tables().tolist():
                    self._keep(state.joint.wide_block(p, self._levels))
            return state
        refuse_many_tables(self._levels)
        expected = self._expected_rows if self._expected_rows is not None else 4 * rows
        plan = make_plan(
            capacities(self._levels, self._has_grown),
            max(expected, self._rows + rows),
            weighted=self._weighted,
            numbers=self._n_numbers > 0,
        )
        new = PlanTables(plan, self._weighted, self._n_numbers)
        if state is not None:
            self._settle(state, [min(n, c) for n, c in zip(self._levels, state.joint.plan.capacity, strict=True)])
            for i, j, block in self._core.others(plan.core):
                if i == j:
                    self._level_weights[j] = _sum(self._level_weights[j], block.diagonal())
                else:
                    self._keep({(i, j): block})
            self._core = self._core.laid_out(plan.core, plan.capacity)
        # What the tables become is as certain as they are: the matrix, and a table for each pair apart.
        matrix = 8 * sum(plan.capacity[j] for j in plan.core) ** 2
        apart = TABLE_BYTES * pairs_apart(self._n_columns, len(narrow_columns(self._levels)))
        self._reserve(
            self._bytes_held() + new.used_bytes(self._levels) + apart + max(0, matrix - self._core.counts.nbytes)
        )
        new.allocate()
        if state is not None:
            levels = [min(n, c) for n, c in zip(self._levels, state.joint.plan.capacity, strict=True)]
            for p in new.joint.move_from(state.joint):
                self._keep(state.joint.wide_block(p, levels))
        for pair in plan.sparse:
            self._sparse.setdefault(pair, SparsePair(self._weighted, *waiting_rows(len(plan.sparse), self._room)))
        self._state = new
        return new

    def _settle(self, state: PlanTables, levels: Sequence[int]) -> None:
        """Empty the core tables, planes and sums into the running totals."""
        joint = state.joint
        self._core = self._core.laid_out(joint.plan.core, levels)
        place, size = self._core.arrays(self._n_columns)
        own = joint.own_histograms()
        self._run(joint.add_core(self._core.counts, place, size, self._n_threads))
        for u, counts in own.items():
            unit = joint.plan.units[u]
            if unit[0] in joint.plan.planes:
                continue
            if unit[0] in self._core.place:
                joint.add_own(counts, u, self._core.counts, place, size)
                continue
            for j, margin in marginals(counts, unit, joint.plan.capacity):
                self._level_weights[j] = _sum(self._level_weights[j], margin)
            if len(unit) > 1:
                inner = CoreCounts(unit, levels, self._kind)
                joint.add_own(counts, u, inner.counts, *inner.arrays(self._n_columns))
                self._keep({(min(i, j), max(i, j)): b if i < j else b.T for i, j, b in inner.others(()) if i != j})
        joint.clear_own()
        if joint.plan.planes:
            self._run(state.planes.settling(self._core.counts, place, size, self._n_threads))
            state.planes.clear()
        self._run(self._core.mirroring(self._n_threads))
        for j, sums in state.sums.settle():
            self._sums[j] = _sum(self._sums[j], sums)
        if state.row_tables is not None:
            for u, counts in state.row_tables.own_histograms().items():
                for j, margin in marginals(counts, joint.plan.units[u], joint.plan.capacity):
                    self._level_rows[j] = _sum(self._level_rows[j], margin)
            state.row_tables.clear_own()
        state.rows = 0

    def _wide_blocks(self, joint: JointTables, at_once: int) -> dict[tuple[int, int], Block]:
        """Return the block of every pair that was not counted in the core, freeing what it came from."""
        levels = self._levels
        blocks: dict[tuple[int, int], list[Block]] = {pair: [block] for pair, block in self._carry.items()}
        self._carry = {}
        tables = joint.wide_tables()
        sparse = list(self._sparse)
        # A task a table, or, where there are thousands, which are small, one for each share of them.
        costs = joint.size[tables].astype(float)
        shares = share(costs, 4 * self._n_threads) if len(tables) > MANY_TASKS else np.arange(len(tables))[:, None]
        answers: list[dict[tuple[int, int], Block]] = [{} for _ in shares]

        def empty_tables(k: int) -> None:
            for p in tables[shares[k]].tolist():
                answers[k] |= joint.wide_block(p, levels)

        def empty_runs(pair: tuple[int, int]) -> None:
            block = self._sparse.pop(pair).block((levels[pair[0]], levels[pair[1]]))
            answers.append({pair: block})

        tasks: list[Timed] = [(costs[part].sum(), partial(empty_tables, k), None) for k, part in enumerate(shares)]
        tasks += [(self._sparse[pair].nbytes * 1.0, partial(empty_runs, pair), None) for pair in sparse]
        self._run(tasks, at_once)
        for answer in answers:
            for pair, block in answer.items():
                blocks.setdefault(pair, []).append(block)
        shape = {(i, j): (levels[i], levels[j]) for i, j in blocks}
        return {
            # What comes from one table or run is in its smallest form already.
            pair: parts[0]
            if len(parts) == 1 and parts[0].shape == shape[pair]
            else add_blocks(parts, shape[pair], self._kind)
            for pair, parts in blocks.items()
        }

    def _keep(self, blocks: dict[tuple[int, int], Block]) -> None:
        for pair, block in blocks.items():
            before = self._carry.get(pair)
            if before is None:
                self._carry[pair] = block
            else:
                shape = (max(before.shape[0], block.shape[0]), max(before.shape[1], block.shape[1]))
                self._carry[pair] = add_blocks([before, block], shape, self._kind)

    def _bytes_held(self) -> int:
        held = self._state.used_bytes(self._levels) if self._state is not None else 0
        held += self._core.counts.nbytes + self._codes.nbytes + self._held.nbytes
        held += sum(pair.nbytes for pair in self._sparse.values()) + sum(map(block_bytes, self._carry.values()))
        return held + sum(a.nbytes for a in self._sums if a is not None)

    def _block_bytes(self) -> int:
        """Return what the blocks of the wide tables take at most: two bytes a cell, or six an entry, mostly."""
        if self._state is None:
            return 0
        joint = self._state.joint
        cells = joint.size[joint.wide_tables()]
        dense, sparse = (8, 12) if self._weighted else (2, 6)
        return int(np.minimum(dense * cells, sparse * self._rows).sum())

    def _reserve_sorting(self, rows: int, more: int) -> int:
        """Reserve what is about to be held, and so many bytes more; return how many pairs may be sorted at once.

        As many as there are threads where there is memory for it, else one after the other.
        """
        held = self._bytes_held() + more + (16 if self._weighted else 8) * rows * len(self._sparse)
        each = sorted((pair.sorting_bytes(rows) for pair in self._sparse.values()), reverse=True)
        if self._n_threads > 1 and len(each) > 1:
            try:
                self._reserve(held + sum(each[: self._n_threads]))
                return self._n_threads
            except MemoryLimitError:
                pass
        self._reserve(held + sum(each[:1]))
        return 1 if len(each) > 1 else self._n_threads

    def _run(self, tasks: Iterable[Timed], at_once: int | None = None) -> None:
        """Run the tasks, the dearest first, then what each leaves for this thread, in order."""
        listed = list(tasks)
        alone = (self._n_threads if at_once is None else at_once) == 1
        if alone or len(listed) == 1 or sum(cost for cost, _, _ in listed) < WORTH_A_THREAD:
            for _, run, _ in listed:
                run()
        else:
            futures = [self._executor.submit(run) for _, run, _ in sorted(listed, key=lambda task: -task[0])]
            for future in futures:
                future.result()
        for _, _, finish in listed:
            if finish is not None:
                finish()


def _sum(total: np.ndarray | None, more: np.ndarray) -> np.ndarray:
    total = grown(total, more.shape, more.dtype.type)
    total[tuple(slice(0, n) for n in more.shape)] += more
    return total
