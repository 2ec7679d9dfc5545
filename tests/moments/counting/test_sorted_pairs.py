"""Pairs of very wide columns, sorted at any length of the runs, are the table of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.moments.counting import sorted_pairs
from gramian.moments.counting.sorted_pairs import SparsePair, waiting_rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("most_waiting", [50, 700, 10**6])
@pytest.mark.parametrize("compact", [False, True])
def test_runs_of_any_length_hold_every_pair(rng, weighted, most_waiting, compact):
    pair = SparsePair(weighted, most_waiting, compact)
    n, shape = 3000, (5000, 70_000)
    first, second = rng.integers(0, 5000, n) ** 2 % 5000, rng.integers(0, 70_000, n) // 700
    weights = rng.random(n) if weighted else None
    for start in range(0, n, 230):
        part = slice(start, start + 230)
        pair.add(
            first[part].astype(np.uint32),
            second[part].astype(np.uint32),
            shape,
            None if weights is None else weights[part],
        )
        assert pair.nbytes > 0
    found = pair.block(shape)
    expected = sp.csr_array((np.ones(n) if weights is None else weights, (first, second)), shape=shape)
    difference = abs(sp.csr_array(found, dtype=np.float64) - expected)
    assert difference.max() <= 1e-12
    assert found.has_sorted_indices


def test_counts_beyond_32_bits_are_kept(monkeypatch):
    monkeypatch.setattr(sorted_pairs, "COUNT_LIMIT", 100)
    pair = SparsePair(False, 40)
    codes = np.zeros(300, np.uint32)
    pair.add(codes[:50], codes[:50], (1, 1), None)
    assert pair._count_type is np.uint32
    pair.add(codes[50:], codes[50:], (1, 1), None)
    assert pair._count_type is np.float64
    assert pair.block((1, 1)).sum() == 300


def test_no_rows_are_an_empty_block():
    assert SparsePair(False).block((3, 4)).sum() == 0


def test_compact_runs_take_half_the_memory_and_levels_may_grow(rng):
    n, pairs = 40_000, {}
    first, second = np.arange(n, dtype=np.uint32) % 7919, rng.integers(0, 90_000, n).astype(np.uint32)
    for compact in (False, True):
        pair = pairs[compact] = SparsePair(False, 4000, compact)
        for start in range(0, n, 4000):
            part = slice(start, start + 4000)
            levels = (int(first[: start + 4000].max()) + 1, int(second[: start + 4000].max()) + 1)
            pair.add(first[part], second[part], levels, None)
    # 4 bytes a level of the first column for each block, whatever it holds.
    assert pairs[True].nbytes - 4 * 7920 * len(pairs[True]._blocks) <= 6 * n < 12 * n * 0.99 <= pairs[False].nbytes
    shape = (8000, 90_000)
    assert abs(pairs[True].block(shape) - pairs[False].block(shape)).sum() == 0


def test_less_waits_where_there_is_little_room():
    for n_pairs in (1, 6, 1000):
        rows, compact = waiting_rows(n_pairs, 10**8)
        assert compact
        assert 8 * rows * n_pairs <= 10**8 / 8 or rows == 2**14
    assert waiting_rows(6, 10**11) == waiting_rows(6)
