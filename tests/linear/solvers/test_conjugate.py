"""Conjugate gradients over many ridges at once, singular systems included."""

import numpy as np
import pytest

from gramian.linear.layout import LevelMeans
from gramian.linear.solvers import conjugate_gradients


@pytest.fixture
def one_hot(rng):
    codes = rng.integers(0, [4, 7], (200, 2))
    x = np.hstack([np.eye(4)[codes[:, 0]], np.eye(7)[codes[:, 1]], rng.standard_normal((200, 1))])
    return x - x.mean(axis=0)


SPANS = [slice(0, 4), slice(4, 11)]


def test_each_column_has_its_own_ridge(one_hot, rng):
    scatter = one_hot.T @ one_hot
    rhs = one_hot.T @ rng.standard_normal((200, 3))
    ridge, unit = np.array([0.1, 5.0, 100.0]), np.append(np.ones(11), 2.0)
    found, done = conjugate_gradients(lambda v, _: scatter @ v, np.diag(scatter), rhs, ridge, unit, spans=SPANS)
    assert done
    for k, amount in enumerate(ridge):
        exact = np.linalg.solve(scatter + amount * np.diag(unit), rhs[:, k])
        np.testing.assert_allclose(LevelMeans(SPANS, 12).removed(found[:, [k]])[:, 0], exact, atol=1e-10)


def test_a_singular_consistent_system_converges(one_hot, rng):
    scatter = one_hot.T @ one_hot
    rhs = one_hot.T @ rng.standard_normal((200, 1))
    found, done = conjugate_gradients(lambda v, _: scatter @ v, np.diag(scatter), rhs, np.zeros(1), np.ones(12))
    assert done
    np.testing.assert_allclose(scatter @ found, rhs, atol=1e-9)


def test_an_inconsistent_system_is_reported(one_hot):
    scatter = one_hot.T @ one_hot
    rhs = np.zeros((12, 1))
    rhs[:4] = 1.0
    _, done = conjugate_gradients(
        lambda v, _: scatter @ v, np.diag(scatter), rhs, np.zeros(1), np.ones(12), max_rounds=100
    )
    assert not done


def test_columns_that_do_not_vary_stay_at_zero():
    scatter = np.diag([2.0, 0.0])
    found, done = conjugate_gradients(
        lambda v, _: scatter @ v, np.diag(scatter), np.array([[4.0], [0.0]]), np.zeros(1), np.ones(2)
    )
    assert done
    np.testing.assert_array_equal(found, [[2.0], [0.0]])


def test_a_pace_that_leads_nowhere_ends_early(rng):
    spread = np.logspace(0, 12, 400)
    turned = np.linalg.qr(rng.standard_normal((400, 400)))[0]
    matrix = (turned * spread) @ turned.T
    rounds = []

    def product(v, _):
        rounds.append(v.shape[1])
        return matrix @ v

    rhs = rng.standard_normal((400, 1))
    for hopeless, expected in ((None, 200), (50, 50)):
        rounds.clear()
        _, done = conjugate_gradients(
            product, np.diag(matrix), rhs, np.zeros(1), np.ones(400), max_rounds=200, hopeless=hopeless
        )
        assert not done
        assert len(rounds) == expected
