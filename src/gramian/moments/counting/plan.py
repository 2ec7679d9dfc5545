"""How the pairs of columns are counted: the one place that decides, by counting work.

Three ways to count the pairs, each exact:

*Table.* One increment per row into a dense table. Measured on one core of a 2.6 GHz server (500,000 rows of uint16
codes), an increment costs 0.45 ns while the table has at most 2**14 cells, 0.6 ns at 2**17, 0.9 ns at 2**20, 1.8 ns
at 2**22 and 5 ns at 2**24 (`increment`). So a table sixteen thousand times larger costs only twice as much a row,
and it pays to *fuse* narrow columns into one code: the joint table of two fused units holds every pair of their
members. What bounds the fusion is the table itself: touching, clearing and summing it is priced at `CELL` ns
a cell, once a pass (an estimate, like `FUSE`, `PACK`, `WEIGHT`, `NUMBER` and `SORT`; the increments are measured).
With R rows, fusing is worth it while cells are few against R.

*Bit planes.* A column of L levels is L - 1 planes of R bits, and a pair of planes costs `PLANE_WORD` ns for every 64
rows: 0.002 ns a row, against 0.45 for a table. So many columns of two or three levels are counted by planes, and
the planes grow too many as levels do: (L_i - 1)(L_j - 1) for a pair.

*Sorting.* Where a pair has far more cells than rows, the distinct pairs are sorted and run-length coded, at about 25 ns
a row and 16 bytes a pair. The table of two such columns has a byte a cell (`byte_table`) and costs 7 ns a row at
2**25 cells, so a pair is dense while ``cells <= 6 * rows``, and at most 2**25.

`make_plan` prices every candidate (largest fused code x which columns go to planes) by these constants and takes the
cheapest. Capacities, not level counts, size the tables, so that codebooks may grow between stretches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gramian.design.pair_tables import NARROW_LEVELS, narrow_columns
from gramian.moments.state.pair_counts import SMALL_CELLS

DENSE_CELLS = 2**25
# All tables between narrow columns together stay below this many cells (256 MiB of counts).
TABLE_CELLS = 2**26
MANY_COLUMNS = 32
CORE_TOTAL = 10_240
MANY_TASKS = 4096

CELL = 3.0
PLANE_WORD = 0.15
PLANE_PAIR = 8.0
PACK = 0.15
FUSE = 0.15
WEIGHT = 1.6
NUMBER = 0.5
SORT = 25.0
FUSED_LIMITS = (1, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PLANE_LEVELS = (0, 2, 3, 4, 6, 8)

_CELLS_LOG2 = np.array([0.0, 4.0, 6.0, 12.0, 14.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 24.0])
_INCREMENT = np.array([0.65, 0.55, 0.46, 0.46, 0.50, 0.55, 0.62, 0.73, 0.80, 0.88, 1.10, 1.80, 5.00])


def increment(cells: np.ndarray) -> np.ndarray:
    """Return the nanoseconds one row costs in a table of so many cells."""
    return np.interp(np.log2(np.maximum(cells, 1)), _CELLS_LOG2, _INCREMENT)


def core_columns(capacity: Sequence[int]) -> tuple[int, ...]:
    """Return the columns counted together in one matrix: the narrow ones, or all short ones where they are many.

    Hundreds of short columns that are not narrow make hundreds of thousands of small tables, whose bookkeeping costs
    far more than the cells of one large matrix.
    """
    short = [j for j, room in enumerate(capacity) if room <= NARROW_LEVELS]
    narrow = narrow_columns(capacity)
    many = len(short) - len(narrow) > MANY_COLUMNS and sum(capacity[j] for j in short) <= CORE_TOTAL
    return tuple(short) if many else narrow


def capacities(n_levels: Sequence[int], grown: Sequence[bool]) -> tuple[int, ...]:
    """Return the levels each column is given room for.

    Twice its levels where a column has grown since the first stretch, so that it grows a logarithmic number of times;
    exact at first where it is small, because a spare level of a fused member multiplies the whole table.

    Examples
    --------
    >>> capacities([2, 100, 5000, 0], [False, False, False, False])
    (2, 106, 6250, 1)
    >>> capacities([3, 100], [True, True])
    (6, 200)
    """
    room = []
    for levels, has_grown in zip(n_levels, grown, strict=True):
        if has_grown:
            room.append(max(2 * levels, 1))
        elif levels <= NARROW_LEVELS:
            room.append(max(levels + levels // 16, 1))
        else:
            room.append(levels + levels // 4)
    return tuple(room)


@dataclass(frozen=True)
class Plan:
    """Which columns are fused into units, and how each pair is counted.

    Attributes
    ----------
    capacity : levels each column has room for
    core : narrow columns by capacity; their pairs add up in one matrix
    planes : core columns whose mutual pairs are counted by bit planes
    units : columns fused into each unit; the first `n_cover` hold each column at most once
    core_pairs : (k, 2) unit pairs counted in tables, both units core
    wide_pairs : (k, 2) unit pairs counted in tables, at least one column of them not core
    own : units whose own histogram is counted; that of other core units is a margin of a core pair
    sparse : column pairs i < j that are sorted
    """

    capacity: tuple[int, ...]
    core: tuple[int, ...]
    planes: tuple[int, ...]
    units: tuple[tuple[int, ...], ...]
    n_cover: int
    core_pairs: np.ndarray
    wide_pairs: np.ndarray
    own: tuple[int, ...]
    sparse: tuple[tuple[int, int], ...]
    cells: np.ndarray


def pack(columns: Sequence[int], capacity: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """Return the columns in groups whose capacities multiply to at most ``limit``: largest first, first fit.

    Examples
    --------
    >>> pack([0, 1, 2, 3], [2, 30, 3, 5], 64)
    [(1, 0), (3, 2)]
    """
    groups: list[list[int]] = []
    cells: list[int] = []
    # Only groups with room for the smallest column stay open, so many equal columns are packed in linear time.
    least = max(min((capacity[j] for j in columns), default=2), 2)
    roomy: list[int] = []
    for j in sorted(columns, key=lambda j: -capacity[j]):
        # A constant column counts as two levels, which bounds the members of a group.
        room = max(capacity[j], 2)
        k = next((k for k in roomy if cells[k] * room <= limit), -1)
        if k < 0:
            k = len(groups)
            groups.append([])
            cells.append(1)
            roomy.append(k)
        groups[k].append(j)
        cells[k] *= room
        if cells[k] * least > limit:
            roomy.remove(k)
    return [tuple(g) for g in groups]


def _products(groups: Sequence[tuple[int, ...]], capacity: Sequence[int]) -> np.ndarray:
    return np.array([math.prod(capacity[j] for j in g) for g in groups], np.int64)


def _table_cost(cells: np.ndarray, rows: int, weighted: bool) -> np.ndarray:
    return (rows * increment(cells) + CELL * cells) * (WEIGHT if weighted else 1.0)


def _pair_cells(apart: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes there are of tables of two of `units`, and of one of `apart` with one of them, and how many of each.

    Thousands of units have millions of pairs, and a few sizes.
    """
    (values, counts), (others, other_counts) = (np.unique(sizes, return_counts=True) for sizes in (units, apart))
    i, j = np.triu_indices(len(values))
    times = np.where(i == j, counts[i] * (counts[i] - 1) // 2, counts[i] * counts[j])
    cells = np.concatenate([values[i] * values[j], np.multiply.outer(others, values).ravel()])
    return cells, np.concatenate([times, np.multiply.outer(other_counts, counts).ravel()])


def _fuse(
    core: Sequence[int], slim: Sequence[int], capacity: Sequence[int], rows: int, *, weighted: bool, all_core: bool
) -> tuple[tuple[int, ...], list[tuple[int, ...]], list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the cheapest choice: plane columns, their groups (for pairs with others), other core groups, slim groups."""
    cheapest = math.inf
    planes: tuple[int, ...] = ()
    choice: list[list[tuple[int, ...]]] = [[], [], []]
    tried = set()
    for levels in PLANE_LEVELS if not weighted else (0,):
        thin = tuple(j for j in core if capacity[j] <= levels)
        if thin in tried or len(thin) == 1:
            continue
        tried.add(thin)
        others = [j for j in core if capacity[j] > levels]
        bits = sum(capacity[j] - 1 for j in thin)
        fixed = bits * (bits + 1) / 2 * (rows / 64 * PLANE_WORD + PLANE_PAIR) + bits * rows * PACK
        last: list[list[tuple[int, ...]]] = []
        least = math.inf
        for limit in FUSED_LIMITS:
            # Plane columns need a unit of their own only where they meet something that is not a plane.
            groups = [pack(thin, capacity, limit) if others or not all_core else []]
            groups += [pack(others, capacity, limit), pack(slim, capacity, limit)]
            if groups == last:
                continue
            last = groups
            a, b, c = (_products(g, capacity) for g in groups)
            cells, times = _pair_cells(a, np.concatenate([b, c]))
            if (times * cells).sum() > TABLE_CELLS and limit > FUSED_LIMITS[0]:
                break
            fused = sum(len(g) for part in groups for g in part if len(g) > 1)
            own = np.concatenate([b if len(b) == 1 else b[:0], c])
            cost = fixed + fused * rows * FUSE
            tables = times * _table_cost(cells, rows, weighted)
            cost += float(tables.sum() + _table_cost(own, rows, weighted).sum())
            if cost < cheapest:
                cheapest, planes, choice = cost, thin, groups
            least = min(least, cost)
            # Larger codes make larger tables: once these cost twice the least, all that follow cost more.
            if not times.any() or cost > 2 * least:
                break
    return planes, choice[0], choice[1], choice[2]


@lru_cache(maxsize=64)
def make_plan(capacity: tuple[int, ...], rows: int, *, weighted: bool = False, numbers: bool = False) -> Plan:
    """Return the cheapest way to count every pair of columns with these capacities over so many rows.

    Plans are kept: every fold of a pass asks for the same one.

    Examples
    --------
    >>> plan = make_plan((2, 3, 5, 300_000, 400_000), 1_000_000)
    >>> plan.core, plan.sparse
    ((0, 1, 2), ((3, 4),))
    """
    core = core_columns(capacity)
    inside = set(core)
    wide = [j for j in range(len(capacity)) if j not in inside]
    slim = [j for j in wide if capacity[j] <= NARROW_LEVELS]
    planes, flat, rest, broad = _fuse(core, slim, capacity, rows, weighted=weighted, all_core=not wide and not numbers)
    bound = min(DENSE_CELLS, max(6 * rows, SMALL_CELLS))
    broad += [(j,) for j in wide if capacity[j] > NARROW_LEVELS]
    # Fused units first: the first unit of a table is summed by whole rows, the second within each row (`collapse`).
    rest = sorted(rest, key=len, reverse=True)
    units = rest + flat + broad
    n_cover, n_rest, n_core = len(units), len(rest), len(rest) + len(flat)

    first, second = np.triu_indices(n_rest, 1, n_core)
    index = {u: k for k, u in enumerate(units)}
    wide_pairs: list[tuple[int, int]] = []
    sparse: list[tuple[int, int]] = []

    def unit(j: int) -> int:
        if (j,) not in index:
            index[(j,)] = len(units)
            units.append((j,))
        return index[(j,)]

    cells = _products(units, capacity)
    alone = np.array([len(unit) == 1 for unit in units], bool)
    for v in range(n_core, n_cover):
        joint = cells[:v] * cells[v]
        # Two single columns have one table or none: nothing to weigh, and where columns are many, most pairs are such.
        plain = alone[:v] & alone[v]
        wide_pairs += [(u, v) for u in np.flatnonzero(plain & (joint <= bound)).tolist()]
        for u in np.flatnonzero(plain & (joint > bound)).tolist():
            i, j = units[u][0], units[v][0]
            sparse.append((min(i, j), max(i, j)))
        if plain.all():
            continue
        fused_cost = _table_cost(joint, rows, weighted)
        for u in np.flatnonzero(~plain).tolist():
            members = [(i, j) for i in units[u] for j in units[v]]
            if joint[u] <= bound:
                apart = np.array([capacity[i] * capacity[j] for i, j in members])
                if fused_cost[u] <= _table_cost(apart, rows, weighted).sum():
                    wide_pairs.append((u, v))
                    continue
            for i, j in members:
                if capacity[i] * capacity[j] <= bound:
                    wide_pairs.append((unit(i), unit(j)))
                else:
                    sparse.append((min(i, j), max(i, j)))
    cells = _products(units, capacity)
    # In the order of their first columns, so that the table of a single pair is its block as it stands.
    wide_pairs = [(a, b) if units[a] < units[b] else (b, a) for a, b in wide_pairs]
    own = tuple(range(n_core, n_cover)) + ((0,) if n_rest and n_core == 1 else ())
    return Plan(
        capacity=tuple(capacity),
        core=core,
        planes=planes,
        units=tuple(units),
        n_cover=n_cover,
        core_pairs=np.stack([first, second], axis=1).astype(np.int64),
        wide_pairs=np.array(wide_pairs, np.int64).reshape(-1, 2),
        own=own,
        sparse=tuple(sparse),
        cells=cells,
    )


def share(costs: Sequence[float] | np.ndarray, n_shares: int) -> list[np.ndarray]:
    """Return the tasks in shares of about equal cost, the dearest dealt first.

    Examples
    --------
    >>> [s.tolist() for s in share([5.0, 1.0, 4.0, 2.0], 2)]
    [[0, 1], [2, 3]]
    """
    load = np.zeros(max(n_shares, 1))
    order = np.argsort(-np.asarray(costs), kind="stable")
    if len(order) > MANY_TASKS:
        # Of so many none weighs much: dealt to and fro, shares differ by less than the dearest.
        deal = np.arange(len(order)) % (2 * len(load))
        deal = np.minimum(deal, 2 * len(load) - 1 - deal)
        return [np.sort(order[deal == k]) for k in range(len(load))]
    shares: list[list[int]] = [[] for _ in load]
    for task in order:
        k = int(np.argmin(load))
        load[k] += costs[task]
        shares[k].append(int(task))
    return [np.sort(np.array(s, np.int64)) for s in shares if s]


def upper_shares(n: int, n_threads: int) -> list[int]:
    """Return edges that cut the rows of an upper triangle of order n into stretches with about as many cells.

    Examples
    --------
    >>> upper_shares(8, 1), upper_shares(100, 2)
    ([0, 8], [0, 6, 13, 21, 29, 39, 50, 65, 100])
    """
    shares = min(4 * n_threads if n_threads > 1 else 1, n)
    edges = n - n * np.sqrt(np.linspace(1, 0, shares + 1))
    return np.unique(edges.round().astype(int)).tolist()
