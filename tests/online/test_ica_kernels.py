import numpy as np

from gramian.online.ica import CUBE, TANH, Y_TANH, learn_nonlinear, turn_rows


def test_each_unit_has_its_function(rng):
    rows, first = rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
    weights, kinds = first.copy(), np.array([TANH, CUBE, Y_TANH])
    assert learn_nonlinear(rows[:1], np.array([0.1]), weights, kinds, 1e6) == -1
    y = first @ rows[0]
    g = np.array([np.tanh(y[0]), y[1] ** 3, y[2] - np.tanh(y[2])])
    np.testing.assert_allclose(weights, first + 0.1 * np.outer(g, rows[0] - first.T @ g), rtol=1e-12)


def test_the_first_rows_are_only_looked_at(rng):
    weights, past = np.eye(2), np.zeros((2, 2))
    turn_rows(rng.normal(size=(100, 2)), np.ones(100), weights, past, 0.0, -1, 0.1, 1.0)
    np.testing.assert_array_equal(weights, np.eye(2))
    assert past.all()


def test_rows_without_weight_change_nothing(rng):
    weights, past = np.eye(2), np.zeros((2, 2))
    turn_rows(rng.normal(size=(300, 2)), np.zeros(300), weights, past, 500.0, -1, 0.1, 1.0)
    np.testing.assert_array_equal(weights, np.eye(2))
    np.testing.assert_array_equal(past, 0.0)
