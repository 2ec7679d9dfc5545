"""Tables of fused units collapse to the pair counts of their columns."""

import numpy as np
import pytest

from gramian.moments.counting.joint_tables import marginals
from gramian.moments.counting.plan import make_plan
from gramian.moments.counting.plan_tables import PlanTables


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_tables_hold_every_pair_of_the_rows(rng, weighted, n_threads):
    capacity, n = (3, 4, 5, 6, 7), 2000
    plan = make_plan(capacity, 10_000_000, weighted=weighted, numbers=True)
    codes = [rng.integers(0, size, n).astype(np.uint16) for size in capacity]
    weights = rng.random(n) if weighted else None
    stage = PlanTables(plan, weighted, 1)
    stage.allocate()
    encoded = stage.encode(codes, capacity, np.empty((0, 0), np.uint16), n_threads)
    for _, run, _ in encoded.tasks:
        run()
    joint = stage.joint
    for _, run, finish in list(joint.tasks(encoded.table, encoded.long, weights, n_threads, 0.0)):
        run()
        if finish is not None:
            finish()
    place = np.cumsum([0, *capacity[:-1]])
    total = np.zeros((sum(capacity), sum(capacity)), np.float64 if weighted else np.int64)
    for unit, counts in joint.own_histograms().items():
        joint.add_own(counts, unit, total, place, np.array(capacity))
    for _, run, _ in joint.add_core(total, place, np.array(capacity), n_threads):
        run()
    one_hot = np.hstack([each[:, None] == np.arange(size) for each, size in zip(codes, capacity, strict=True)]).astype(
        float
    )
    expected = (one_hot * (1.0 if weights is None else weights[:, None])).T @ one_hot
    # A pair stands above the diagonal, below, or on both sides.
    np.testing.assert_allclose(np.maximum(total, total.T), expected, rtol=1e-12)


def test_margins_are_sums_over_the_other_members(rng):
    table = rng.integers(0, 9, (24, 2))
    cube = table.reshape(2, 3, 4, 2)
    found = dict(marginals(table, (5, 1, 0), {5: 2, 1: 3, 0: 4}))
    np.testing.assert_array_equal(found[5], cube.sum(axis=(1, 2)))
    np.testing.assert_array_equal(found[1], cube.sum(axis=(0, 2)))
    np.testing.assert_array_equal(found[0], cube.sum(axis=(0, 1)))
