"""What one plan counts into: codes of fused units, room for levels, and the rows beside the weights."""

import numpy as np
import pytest

from gramian.moments.counting.plan import make_plan
from gramian.moments.counting.plan_tables import PlanTables


@pytest.mark.parametrize("n_threads", [1, 2])
def test_codes_of_units_are_those_of_their_columns_together(rng, n_threads):
    capacity = (3, 4, 5, 6, 300)
    plan = make_plan(capacity, 10_000_000)
    assert any(len(unit) > 1 for unit in plan.units), "small columns are meant to be fused"
    codes = [rng.integers(0, size, 500).astype(np.uint16) for size in capacity]
    stage = PlanTables(plan, False, 0)
    found = stage.encode(codes, capacity, np.empty((0, 0), np.uint16), n_threads)
    for _, run, _ in found.tasks:
        run()
    for unit, row in zip(plan.units, found.units(), strict=True):
        expected = np.ravel_multi_index([codes[j] for j in unit], [plan.capacity[j] for j in unit])
        np.testing.assert_array_equal(row, expected)


def test_there_is_room_for_the_levels_and_numbers_that_were_planned():
    plan = make_plan((4, 4, 40), 1000, weighted=True, numbers=True)
    stage = PlanTables(plan, True, 2)
    assert stage.fits((4, 4, 40), 2)
    assert not stage.fits((5, 4, 40), 2)
    assert not stage.fits((4, 4, 40), 3)
    stage.allocate()
    assert stage.row_tables is not None, "weights do not tell how many rows there were"
    assert stage.nbytes >= stage.joint.nbytes + stage.sums.nbytes
    assert PlanTables(plan, False, 2).row_tables is None


def test_units_that_need_32_bits_keep_their_own_codes(rng):
    capacity = (70_000, 3)
    stage = PlanTables(make_plan(capacity, 1000), False, 0)
    codes = [rng.integers(0, 70_000, 40).astype(np.uint32), rng.integers(0, 3, 40).astype(np.uint16)]
    found = stage.encode(codes, capacity, np.empty((0, 0), np.uint16), 1)
    assert [found.units()[u] is codes[0] for u in found.long] == [True]
