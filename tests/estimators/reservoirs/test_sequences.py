import numpy as np
import pandas as pd
import pytest

from gramian.errors import DataError
from gramian.estimators.reservoirs.sequence_features import (
    as_sequence,
    as_sequences,
    is_flat_list,
    is_sequences,
    refuse_long_washout,
)


def test_what_is_sequences_and_what_is_rows(rng):
    for X in (
        [rng.random((3, 2))],
        rng.random((2, 3, 4)),
        [[1.0, 2.0], [3.0]],
        [np.ones(3), np.ones(2)],
        np.array([np.ones(3), np.ones(2)], dtype=object),
    ):
        assert is_sequences(X)
    for X in (rng.random((2, 3)), [[1.0, 2.0], [3.0, 4.0]], [], np.ones(3)):
        assert not is_sequences(X)


def test_a_flat_list_holds_arrays_of_one_dimension(rng):
    for X in ([np.ones(3)], (np.ones(3), np.ones(3)), [np.ones(3), np.ones(2)], [pd.Series([1.0, 2.0])]):
        assert is_flat_list(X)
    for X in ([], [1.0, 2.0], [[1.0, 2.0]], [rng.random((3, 1))], rng.random((2, 3)), np.ones(3), list(np.ones(3))):
        assert not is_flat_list(X)


def test_they_become_arrays_of_time_and_channels():
    found = as_sequences([[1, 2, 3], np.array([[4.0], [5.0]], dtype=np.float32)])
    assert [(part.shape, part.dtype) for part in found] == [((3, 1), np.float64), ((2, 1), np.float64)]


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([np.ones((3, 2)), np.ones((0, 2))], "sequence 1 has no steps; leave empty sequences out"),
        ([np.ones((3, 2)), np.ones((3, 1))], "sequence 1 has 1 channels, and 2 are expected"),
        ([np.ones((3, 2)), np.full((3, 2), np.nan)], "sequence 1 contains NaN or infinity at step 0, channel 0"),
        ([np.ones((3, 2, 1))], r"sequence 0 has shape \(3, 2, 1\)"),
        ([np.ones((3, 0))], r"sequence 0 has shape \(3, 0\)"),
        ([["a", "b"]], "sequence 0 is not an array of numbers"),
        ([[1j]], "Complex data not supported"),
        ([], "there are no sequences"),
        (np.ones((0, 3, 2)), "there are no sequences"),
    ],
)
def test_what_is_wrong_is_named(X, said):
    with pytest.raises(DataError, match=said):
        as_sequences(X)


def test_a_washout_leaves_something():
    refuse_long_washout([5, 3], 2)
    with pytest.raises(DataError, match="sequence 1 has 3 steps, and washout=3 leaves 0 of them; 1 is needed"):
        refuse_long_washout([5, 3], 3)


def test_read_only_memory_is_copied():
    values = np.ones(3)
    values.flags.writeable = False
    assert as_sequence(values, "s").flags.writeable
