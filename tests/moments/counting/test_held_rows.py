"""Rows held back come out as they went in, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.moments.counting.running_totals import SHORT_STRETCH, HeldRows


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_held_are_the_stretches_one_after_the_other(rng, weighted):
    held, most = HeldRows(weighted), 0
    for _ in range(2):
        wanted = [[], [], [], []]
        # Codes become wider and numbers more on the way.
        for rows, kind, q in ((5, np.uint16, 0), (3, np.uint32, 1), (0, np.uint32, 1), (7, np.uint32, 2)):
            codes = [rng.integers(0, 9, rows).astype(kind), rng.integers(0, 2, rows).astype(np.uint16)]
            weights = rng.random(rows) if weighted else None
            numbers = rng.random((rows, q)) if q else None
            most = max(most, q)
            held.add(codes, weights, numbers, most)
            wide = np.zeros((rows, 2))
            wide[:, :q] = 0.0 if numbers is None else numbers
            for column, values in zip(wanted, [*codes, weights if weighted else codes[0], wide], strict=True):
                column.append(values)
        assert held.rows == 15
        assert held.nbytes > 0
        codes, weights, numbers = held.take()
        assert held.rows == 0
        for j in range(2):
            np.testing.assert_array_equal(codes[j], np.concatenate(wanted[j]))
        if weighted:
            np.testing.assert_array_equal(weights, np.concatenate(wanted[2]))
        else:
            assert weights is None
        np.testing.assert_array_equal(numbers, np.concatenate(wanted[3]))


def test_room_is_for_one_short_stretch():
    held = HeldRows(weighted=False)
    assert held.nbytes == 0
    held.add([np.zeros(SHORT_STRETCH - 1, np.uint16)], None, None, 0)
    assert held.has_room(1)
    assert not held.has_room(2)
