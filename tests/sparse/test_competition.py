"""Who wins: by sorting each row, at any scale, with ties to the first."""

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.sparse.atoms import k_winners, softmax, winner_take_all


def test_the_winner_is_the_largest(rng):
    rows = rng.normal(size=(30, 8))
    out = winner_take_all(rows)
    assert (np.count_nonzero(out, axis=1) == 1).all()
    np.testing.assert_array_equal(out.max(axis=1).clip(0) + out.min(axis=1).clip(None, 0), rows.max(axis=1))


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("absolute", [False, True])
def test_k_winners_are_the_first_k_of_a_sorted_row(rng, k, absolute):
    rows = rng.integers(-3, 4, size=(50, 8)).astype(float) + 10
    for row, out in zip(rows, k_winners(rows, k, absolute=absolute), strict=True):
        order = sorted(range(8), key=lambda j: (-(abs(row[j]) if absolute else row[j]), j))
        expected = np.zeros(8)
        expected[order[:k]] = row[order[:k]]
        np.testing.assert_array_equal(out, expected)


def test_softmax_is_its_definition_and_survives_large_activities(rng):
    rows = rng.normal(size=(5, 4))
    np.testing.assert_allclose(softmax(rows), np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True), rtol=1e-13)
    np.testing.assert_allclose(softmax(rows * 1e8).sum(axis=1), 1, rtol=1e-13)
    np.testing.assert_allclose(softmax(rows, sharpness=0), 0.25)
    np.testing.assert_array_equal(softmax(rows, sharpness=1e9) > 0.5, winner_take_all(rows) != 0)


def test_float32_stays_and_input_is_not_changed(rng):
    row = rng.normal(size=6).astype(np.float32)
    before = row.copy()
    assert k_winners(row, 2).dtype == np.float32
    np.testing.assert_array_equal(row, before)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: k_winners([1.0, 2.0], 3), "k is a number of activities from 1 to 2; got 3"),
        (lambda: k_winners([1.0, 2.0], 0), "from 1"),
        (lambda: winner_take_all([1.0, np.nan]), "NaN"),
        (lambda: softmax([]), "shape"),
        (lambda: softmax(["a"]), "numbers"),
        (lambda: softmax([1.0], sharpness=-1), "sharpness"),
    ],
)
def test_no_competition_without_numbers(call, said):
    with pytest.raises(DataError, match=said):
        call()
