"""Divisive input modulation: by hand, and the Kullback-Leibler optimum at rest."""

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.sparse.coders.dynamics import dim


def test_steps_by_hand():
    """W = [[1, 1, 0], [1, 1, 1]], rows divided by their sums: [[1/2, 1/2, 0], [1/3, 1/3, 1/3]]; x = (1, 1, 0), epsilon 0.01.

    step 1: y W = 0, floor 0.01: e = (100, 100, 0); W' e = (100, 200/3); y = 0.01 (100, 200/3) = (1, 2/3)
    step 2: y W = (5/3, 5/3, 2/3): e = (3/5, 3/5, 0); W' e = (3/5, 2/5); y = (3/5, 4/15)
    step 3: y W = (13/15, 13/15, 4/15): e = (15/13, 15/13, 0); W' e = (15/13, 10/13); y = (9/13, 8/39)
    """
    atoms, x = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 0.0]])
    for n_steps, expected in [(1, [1, 2 / 3]), (2, [3 / 5, 4 / 15]), (3, [9 / 13, 8 / 39])]:
        np.testing.assert_allclose(dim(x, atoms, epsilon=0.01, max_iter=n_steps)[0], [expected], rtol=1e-13)


def test_without_floors_it_ends_at_the_least_divergence(rng):
    atoms, signals = rng.random((4, 7)), rng.random((10, 7))
    codes, unsettled = dim(signals, atoms, epsilon=1e-12, tol=1e-10, max_iter=100_000)
    assert unsettled == 0
    slopes = (1 - signals / (codes @ atoms)) @ atoms.T
    # Kuhn and Tucker: no slope where active, none downhill where not.
    assert np.abs(slopes[codes > 1e-6]).max() < 1e-4
    assert slopes[codes <= 1e-6].min(initial=0.0) > -1e-4


def test_the_default_floor_goes_with_the_signal(rng):
    atoms, signals = rng.random((4, 7)), rng.random((10, 7))
    a, b = (dim(signals * s, atoms, max_iter=30, tol=0.0)[0] for s in (1.0, 1e8))
    np.testing.assert_allclose(b, 1e8 * a, rtol=1e-9)
    np.testing.assert_allclose(dim(signals * 1e-8, atoms, max_iter=30, tol=0.0)[0], 1e-8 * a, rtol=1e-9)


def test_a_zero_signal_has_a_zero_code(rng):
    codes, unsettled = dim(np.zeros((2, 3)), rng.random((2, 3)))
    assert unsettled == 0
    np.testing.assert_array_equal(codes, 0)


def test_negative_values_are_named(rng):
    with pytest.raises(DataError, match=r"atom 1 .* negative value -2"):
        dim(np.ones((1, 2)), np.array([[1.0, 0.0], [1.0, -2.0]]))
    with pytest.raises(DataError, match="row 1 has the negative value -3"):
        dim(np.array([[1.0, 0.0], [1.0, -3.0]]), np.eye(2))
