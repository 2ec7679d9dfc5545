from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gramian.design.encoder import by_position, by_value, check_folds
from gramian.errors import DataError


def test_folds_by_position_continue_across_batches() -> None:
    whole = by_position(0, 100, 7, seed=3)
    parts = [by_position(a, b - a, 7, seed=3) for a, b in ((0, 1), (1, 40), (40, 100))]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert (by_position(0, 100, 7, seed=4) != whole).any()


def test_orders_of_groups_are_evenly_drawn() -> None:
    folds = by_position(0, 3 * 6000, 3, seed=0).reshape(-1, 3)
    _, counts = np.unique(folds, axis=0, return_counts=True)
    # Six orders, 1,000 expected each, binomial spread 29: five spreads.
    assert len(counts) == 6
    assert np.abs(counts - 1000).max() < 145


@pytest.mark.parametrize("seed", [-1, 0, 2**63 - 1])
def test_any_seed_draws_folds(seed: int) -> None:
    assert set(by_position(0, 10, 5, seed)) == set(range(5))
    assert by_value(pa.array(["a", "b"]), 5, seed, name="g").max() < 5


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.array([1, 2, None]), pa.array([1.0, 2.0, float("nan")])),
        (pa.array([1, 2], pa.int8()), pa.array([1, 2], pa.uint64())),
        (pa.array(["a", None]), pa.array(["a", None]).dictionary_encode()),
        (pa.array(["a", "b"]), pa.array(["x", "a", "b"]).slice(1)),
        (pa.array(["a", "b"]), pa.array(["a", "b"], pa.large_string())),
        (pa.nulls(2), pa.array([None, None], pa.string())),
    ],
    ids=["integer and float", "widths", "dictionary", "slice", "large text", "null"],
)
def test_equal_values_share_folds_whatever_their_type(left: pa.Array, right: pa.Array) -> None:
    np.testing.assert_array_equal(by_value(left, 200, 0, name="g"), by_value(right, 200, 0, name="g"))


def test_values_spread_over_folds() -> None:
    for values in (pa.array(range(5000)), pa.array([f"u{k}" for k in range(5000)]), pa.array(np.linspace(0, 1, 5000))):
        counts = np.bincount(by_value(values, 5, 0, name="g"), minlength=5)
        # 1,000 expected, binomial spread 28: five spreads.
        assert np.abs(counts - 1000).max() < 142


def test_numbers_of_folds() -> None:
    assert check_folds(0) == 0
    assert check_folds(np.int64(5)) == 5
    for wrong in (1, -2, 2.0, None, 300):
        with pytest.raises(DataError, match="folds"):
            check_folds(wrong)
