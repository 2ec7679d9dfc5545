"""The linear autoencoder: its gradient, its error, and where gradient descent ends."""

import re

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.online.hebbian import Autoencoder, descent, first_weights, reconstruction_error
from gramian.online.hebbian import learn_autoencoder as learn
from gramian.online.schedules import Schedule, angle_between


def half_error(rows, encoder, decoder):
    """Return E as it is defined, from the residual."""
    centred = rows.X - rows.mean
    left = centred - centred @ encoder.T @ decoder
    return 0.5 * (rows.weights @ (left**2).sum(axis=1)) / rows.weights.sum()


@pytest.mark.parametrize("tied", [True, False])
def test_the_gradient_matches_finite_differences(rows, rng, tied):
    p, step = rows.X.shape[1], 1e-6
    encoder = rng.normal(size=(2, p))
    decoder = encoder if tied else rng.normal(size=(2, p))
    batch = rows.rows.batch(slice(None), rows.mean)
    to_encoder, to_decoder = descent(encoder, decoder, batch, tied=tied)
    for at in [(0, 0), (1, p - 1), (0, p // 2)]:
        move = np.zeros_like(encoder)
        move[at] = step
        if tied:
            slope = half_error(rows, encoder + move, encoder + move) - half_error(rows, encoder - move, encoder - move)
            assert -slope / (2 * step) == pytest.approx(to_encoder[at], rel=1e-5, abs=1e-6)
            continue
        slope = half_error(rows, encoder + move, decoder) - half_error(rows, encoder - move, decoder)
        assert -slope / (2 * step) == pytest.approx(to_encoder[at], rel=1e-5, abs=1e-6)
        slope = half_error(rows, encoder, decoder + move) - half_error(rows, encoder, decoder - move)
        assert -slope / (2 * step) == pytest.approx(to_decoder[at], rel=1e-5, abs=1e-6)


def test_the_error_is_its_definition(rows, rng):
    p = rows.X.shape[1]
    encoder, decoder = rng.normal(size=(2, p)), rng.normal(size=(2, p))
    batch = rows.rows.batch(slice(None), rows.mean)
    parts = [batch.part(slice(0, 50)), batch.part(slice(50, None))]
    found = reconstruction_error(encoder, decoder, parts)
    assert found == pytest.approx(2 * half_error(rows, encoder, decoder), rel=1e-10)


@pytest.mark.parametrize("tied", [True, False])
def test_gradient_descent_ends_at_the_principal_subspace(rng, numeric_rows, tied):
    X = rng.normal(size=(200, 5)) * [3.0, 2.0, 1.0, 0.7, 0.5]
    X = X - X.mean(axis=0)
    batch = numeric_rows(X).batch(slice(None), np.zeros(5))
    first = 0.5 * first_weights(2, 5, np.random.default_rng(3))
    state = Autoencoder(first, first)
    for _ in range(4000):
        state = learn(state, [batch], Schedule(0.05), tied=tied)
    exact = np.linalg.svd(X)[2][:2]
    assert angle_between(state.decoder, exact) < 0.1
    assert angle_between(state.encoder, exact) < 0.1
    # V^T W is the projector; a pair that starts equal stays equal, but for the length of the steps.
    np.testing.assert_allclose(state.encoder.T @ state.decoder, exact.T @ exact, atol=1e-3)
    np.testing.assert_allclose(state.encoder, state.decoder, atol=0.05)


@pytest.mark.parametrize("tied", [True, False])
def test_divergence_names_the_update_and_a_rate_that_holds(rows, tied):
    batch = rows.rows.batch(slice(None), rows.mean)
    parts = [batch.part(slice(s, s + 40)) for s in range(0, 120, 40)]
    first = 0.5 * first_weights(2, rows.X.shape[1], np.random.default_rng(2))
    with pytest.raises(DataError, match=r"learning_rate=100\.0 diverges: at update \d+ ") as caught:
        learn(Autoencoder(first, first), parts * 30, Schedule(100.0), tied=tied)
    safe = float(re.search(r"learning_rate=([\d.e-]+) or less does not", str(caught.value)).group(1))
    state = learn(Autoencoder(first, first), parts * 200, Schedule(safe), tied=tied)
    assert max(np.abs(state.encoder).max(), np.abs(state.decoder).max()) < 3.0
