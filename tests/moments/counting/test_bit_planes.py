"""Ones in planes that are laid over each other are the pair counts of the rows."""

import numpy as np
import pytest

from gramian.moments.counting import plan_tables as bit_planes
from gramian.moments.counting.plan_tables import PlaneCounts


@pytest.mark.parametrize("part", [2**25, 64])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_counts_are_those_of_the_rows(rng, monkeypatch, part, n_threads):
    monkeypatch.setattr(bit_planes, "PLANE_BYTES", part)
    capacity, columns = [2, 9, 3, 4], [0, 2, 3]
    codes = [rng.integers(0, size, 777).astype(np.uint16) for size in capacity]
    found = PlaneCounts(columns, capacity)
    found.allocate()
    for _ in range(2):
        for tasks in found.parts(codes, n_threads):
            for _, run, _ in tasks:
                run()
    place, size = np.array([0, 0, 2, 5]), np.array([2, 0, 3, 4])
    total = np.zeros((9, 9), np.int64)
    for _, settle, _ in found.settling(total, place, size, 2):
        settle()
    found.clear()
    one_hot = np.hstack([codes[j][:, None] == np.arange(capacity[j]) for j in columns]).astype(np.int64)
    np.testing.assert_array_equal(np.triu(total), np.triu(2 * one_hot.T @ one_hot))
    assert not found.gram.any()
    assert PlaneCounts([], capacity).nbytes == 0
