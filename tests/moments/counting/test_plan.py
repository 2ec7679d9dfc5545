"""The plan covers every pair once, within its limits."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from gramian.design.pair_tables import narrow_columns
from gramian.moments.counting import plan as planning
from gramian.moments.counting.plan import capacities, make_plan, pack, share


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("rows", [10, 100_000, 10_000_000])
@pytest.mark.parametrize(
    "capacity",
    [
        [2] * 50,
        [2] * 30 + [100, 300],
        [1, 1, 2, 400, 5000],
        [3, 2048, 2048, 2048, 70],
        [200_000, 5, 300_000, 40],
        [30] * 150,
    ],
    ids=["booleans", "planes and tables", "constants", "short", "long", "many"],
)
def test_every_pair_is_counted_once(capacity, rows, numbers, weighted):
    plan = make_plan(tuple(capacity), rows, weighted=weighted, numbers=numbers)
    pairs = Counter(combinations(plan.planes, 2))
    for u in range(plan.n_cover):
        if not set(plan.units[u]) <= set(plan.planes):
            pairs.update(combinations(sorted(plan.units[u]), 2))
    for a, b in np.concatenate([plan.core_pairs, plan.wide_pairs]).tolist():
        pairs.update((min(i, j), max(i, j)) for i, j in product(plan.units[a], plan.units[b]))
    pairs.update(plan.sparse)
    assert pairs == Counter(combinations(range(len(capacity)), 2))


def test_core_tables_stay_within_16_bits():
    plan = make_plan((2, 3, 4, 5, 6, 7, 8, 9, 10, 2000), 10**9)
    assert plan.cells.max() <= 2**16


def test_booleans_go_to_planes_and_long_columns_to_sorting():
    plan = make_plan((2,) * 100, 1_000_000)
    assert plan.planes == tuple(range(100))
    assert not plan.units
    assert make_plan((100_000, 100_000), 1_000_000).sparse == ((0, 1),)
    assert make_plan((2,) * 100, 1_000_000, weighted=True).planes == ()


def test_fusion_needs_rows():
    many, few = make_plan((20, 20, 30, 30), 10_000_000), make_plan((20, 20, 30, 30), 100)
    assert len(many.units) < 4
    assert len(few.units) >= len(many.units)
    assert many.cells.max() > few.cells.max()


def test_narrow_columns_stop_at_both_limits():
    assert narrow_columns([2049, 3]) == (1,)
    assert narrow_columns([2048, 2048]) == (0, 1)
    assert narrow_columns([2048, 2048, 1]) == (0, 2)
    assert narrow_columns([]) == ()


def test_pack_respects_the_limit(rng):
    capacity = rng.integers(1, 60, 200).tolist()
    groups = pack(range(200), capacity, 256)
    assert sorted(j for g in groups for j in g) == list(range(200))
    assert max(np.prod([capacity[j] for j in g]) for g in groups) <= 256
    assert max(len(g) for g in groups) <= 8


def test_capacity_never_falls_short():
    levels = [0, 1, 2, 15, 16, 2048, 2049, 10**6]
    for grown in (False, True):
        room = capacities(levels, [grown] * len(levels))
        assert all(c >= max(n, 1) for c, n in zip(room, levels, strict=True))


def test_shares_hold_every_task_once(rng):
    costs = rng.random(50).tolist()
    shares = share(costs, 4)
    assert sorted(np.concatenate(shares).tolist()) == list(range(50))
    loads = [sum(costs[k] for k in s) for s in shares]
    assert max(loads) - min(loads) <= max(costs)


def test_cost_of_an_increment_grows_with_the_table():
    cost = planning.increment(2.0 ** np.arange(10, 25))
    assert (np.diff(cost) >= 0).all()


@pytest.fixture(params=[0, 1])
def rng(request):
    return np.random.default_rng(request.param)
