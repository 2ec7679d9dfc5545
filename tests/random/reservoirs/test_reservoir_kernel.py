import numpy as np
import pytest

from gramian.random.reservoirs.echo_state import _tanh, pool_reservoir, run_freely, run_reservoir


def test_its_tanh_is_right_to_the_last_digits():
    values = np.concatenate([np.linspace(-25, 25, 2001), np.geomspace(1e-15, 30, 2001), [0.0, 1e300, -1e300]])
    found = np.array([_tanh(v) for v in values])
    # Ten roundings.
    np.testing.assert_allclose(found, np.tanh(values), rtol=10 * np.finfo(float).eps, atol=0)


@pytest.fixture
def weights(rng):
    n, d, c = 7, 3, 2
    columns = np.array([rng.choice(n, d, replace=False) for _ in range(n)], dtype=np.uint32)
    return columns, rng.normal(size=(n, d)), rng.normal(size=(c, n)), rng.normal(size=n)


@pytest.mark.parametrize(("code", "function"), [(0, np.tanh), (1, lambda v: np.maximum(v, 0)), (2, lambda v: v)])
def test_steps_are_their_definition(rng, weights, code, function):
    columns, values, into, bias = weights
    W = np.zeros((7, 7))
    W[np.arange(7)[:, None], columns] = values
    sequence, start = rng.normal(size=(6, 2)), rng.normal(size=7)
    expected, x = [], start
    for u in sequence:
        x = 0.7 * x + 0.3 * function(W @ x + into.T @ u + bias)
        expected.append(x)
    out, total, state = np.empty((6, 7)), np.zeros(7), start.copy()
    assert run_reservoir(sequence, columns, values, into, bias, 0.3, code, start, out) == -1
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    assert pool_reservoir(sequence, columns, values, into, bias, 0.3, code, state, total) == -1
    np.testing.assert_array_equal(state, out[-1])
    np.testing.assert_allclose(total, np.sum(expected, axis=0), rtol=1e-12)
    readout, intercept = rng.normal(size=(2, 9)), rng.normal(size=2)
    free = np.empty((4, 2))
    u, x = sequence[-1], out[-1]
    state, inputs = x.copy(), u.copy()
    assert run_freely(inputs, columns, values, into, bias, 0.3, code, state, readout, intercept, 1, free) == -1
    for t in range(4):
        u = readout @ np.concatenate([x, u]) + intercept
        np.testing.assert_allclose(free[t], u, rtol=1e-9)
        x = 0.7 * x + 0.3 * function(W @ x + into.T @ u + bias)
    np.testing.assert_allclose(state, x, rtol=1e-9)


def test_an_explosion_is_told_by_its_step(weights):
    columns, values, into, bias = weights
    out = np.empty((500, 7))
    step = run_reservoir(np.ones((500, 2)), columns, 1e3 * values, into, bias, 1.0, 2, np.zeros(7), out)
    assert 10 < step < 100
    assert np.abs(out[step]).max() >= 1e100 > np.abs(out[step - 1]).max()
