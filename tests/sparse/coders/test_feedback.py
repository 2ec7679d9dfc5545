"""Negative feedback: by hand, at rest, and where it would diverge."""

import numpy as np
import pytest
from scipy.optimize import nnls

from gramian.errors import DataError
from gramian.sparse.coders.dynamics import feedback, step_size
from gramian.sparse.coders.lasso import lasso


def test_two_steps_by_hand():
    """W = [[1, 1, 0], [1, 1, 1]], x = (1, 1, 0), step 0.25.

    e = x:               W e = (2, 2),      y = (0.5, 0.5)
    y W = (1, 1, 0.5):   e = (0, 0, -0.5),  W e = (0, -0.5),  y = (0.5, 0.375)
    y W = (0.875, 0.875, 0.375): e = (0.125, 0.125, -0.375), W e = (0.25, -0.125), y = (0.5625, 0.34375)
    """
    atoms, x = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 0.0]])
    for n_steps, expected in [(1, [0.5, 0.5]), (2, [0.5, 0.375]), (3, [0.5625, 0.34375])]:
        np.testing.assert_allclose(feedback(x, atoms, step=0.25, max_iter=n_steps)[0], [expected], atol=1e-15)


def test_it_ends_at_the_least_squares_code_of_least_length(problem):
    signals, atoms = problem
    codes, unsettled = feedback(signals, atoms, tol=1e-12, max_iter=200_000)
    assert unsettled == 0
    np.testing.assert_allclose(codes, signals @ np.linalg.pinv(atoms), atol=1e-7)


def test_rectified_it_ends_at_non_negative_least_squares(rng):
    atoms, signals = rng.normal(size=(5, 9)), rng.normal(size=(12, 9))
    codes, _ = feedback(signals, atoms, positive=True, tol=1e-13, max_iter=100_000)
    np.testing.assert_allclose(codes, [nnls(atoms.T, x)[0] for x in signals], atol=1e-8)


def test_with_a_penalty_it_ends_at_the_lasso(problem):
    signals, atoms = problem
    codes, _ = feedback(signals, atoms, penalty=0.4, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(codes, lasso(signals, atoms, penalty=0.4, tol=1e-12)[0], atol=1e-7)


def test_the_bound_is_sharp(problem):
    signals, atoms = problem
    bound = 2 / np.linalg.eigvalsh(atoms @ atoms.T)[-1]
    with pytest.raises(DataError, match="diverges"):
        step_size("feedback", atoms, bound * (1 + 1e-9))
    inside = feedback(signals, atoms, step=0.999 * bound, max_iter=3000, tol=0.0)[0]
    assert np.abs(inside).max() < 100
    codes = np.zeros((len(signals), len(atoms)))
    for _ in range(3000):
        codes += 1.01 * bound * (signals - codes @ atoms) @ atoms.T
    assert np.abs(codes).max() > 1e6


def test_a_zero_signal_and_one_atom():
    codes, unsettled = feedback(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.6, 0.8]]))
    assert unsettled == 0
    np.testing.assert_allclose(codes, [[0.0], [5.0]], atol=1e-6)
