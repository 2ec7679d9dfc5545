"""Singular systems and their rank."""

import numpy as np

from gramian.linear.solvers import solve_semidefinite


def test_pivots_find_the_rank_whatever_the_units(rng):
    x = rng.standard_normal((50, 4))
    x = np.column_stack([x, x[:, 0] + x[:, 1], np.ones(50)]) * np.array([1e-8, 1.0, 1e8, 1.0, 1.0, 1.0])
    x[:, 4] = x[:, 0] * 1e8 + x[:, 1]
    x -= x.mean(axis=0)
    rhs = x.T @ rng.standard_normal((50, 2))
    found, rank = solve_semidefinite(x.T @ x, rhs)
    assert rank == 4
    size = np.abs(rhs).max(axis=1, keepdims=True) + 1e-300
    np.testing.assert_allclose(x.T @ (x @ found) / size, rhs / size, atol=1e-9)


def test_a_column_that_does_not_vary_is_left_out():
    found, rank = solve_semidefinite(np.diag([4.0, 0.0]), np.array([[2.0], [0.0]]))
    assert rank == 1
    np.testing.assert_array_equal(found, [[0.5], [0.0]])
    assert solve_semidefinite(np.zeros((2, 2)), np.zeros((2, 1)))[1] == 0
