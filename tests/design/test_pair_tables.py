import time

import numpy as np
import pytest

from gramian.design import pair_tables as limits
from gramian.design.pair_tables import (
    NARROW_LEVELS,
    NARROW_TOTAL,
    narrow_columns,
    pairs_apart,
    refuse_many_tables,
)
from gramian.errors import MemoryLimitError


@pytest.mark.parametrize("seed", range(5))
def test_the_narrowest_are_taken_as_long_as_they_fit(seed):
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(0, 9, 12)).astype(int).tolist()
    taken = narrow_columns(sizes)
    assert list(taken) == sorted(taken)
    assert sum(sizes[j] for j in taken) <= NARROW_TOTAL
    assert all(sizes[j] <= NARROW_LEVELS for j in taken)
    left = [size for j, size in enumerate(sizes) if j not in taken]
    if left:
        # The next would not fit, and none that was taken is wider.
        assert min(left) > NARROW_LEVELS or sum(sizes[j] for j in taken) + min(left) > NARROW_TOTAL
        assert all(sizes[j] <= min(left) for j in taken)
    assert narrow_columns([]) == ()


@pytest.mark.parametrize("levels", [2, 5, 16, 17, 40])
@pytest.mark.parametrize("n_columns", [100, 300, 1500, 4000])
def test_many_columns_of_few_levels_share_the_matrix(n_columns, levels):
    sizes = [levels] * n_columns
    first = min(n_columns, NARROW_TOTAL // levels)
    apart = n_columns * (n_columns - 1) // 2 - first * (first - 1) // 2
    expected = first
    if apart > limits.MANY_TABLES and levels <= limits.FEW_LEVELS:
        expected = min(n_columns, limits.MANY_TOTAL // levels)
    assert narrow_columns(sizes) == tuple(range(expected))
    assert pairs_apart(n_columns, first) == apart


def test_what_cannot_be_held_is_refused_at_once():
    refuse_many_tables([2] * 8000)
    refuse_many_tables([40] * 1000)
    start = time.process_time()
    with pytest.raises(
        MemoryLimitError, match=r"20,000 columns .* tables of their own.*exclude= or columns=.*numeric="
    ):
        refuse_many_tables([10] * 20_000)
    assert time.process_time() - start < 1
