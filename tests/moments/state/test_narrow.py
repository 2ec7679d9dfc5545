import numpy as np
import pytest

from gramian.moments.state.narrow import NARROW_LEVELS, NARROW_TOTAL, narrow_columns


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
