import numpy as np
import pytest

from gramian.errors import DataError
from gramian.random.reservoirs.echo_state import Reservoir, as_sparse, own_model, sequence_features, spectral_radius_of


def drawn(rng, n=60, channels=2, **changes):
    settings = {
        "spectral_radius": 0.9,
        "connectivity": 10,
        "input_scaling": 0.5,
        "bias_scaling": 0.2,
        "leak": 1.0,
        "activation": "tanh",
        **changes,
    }
    return Reservoir.drawn(n, channels, rng, **settings)


@pytest.mark.parametrize("n", [1, 5, 60, 400])
def test_the_spectral_radius_is_the_one_asked_for(rng, n):
    reservoir = drawn(rng, n, spectral_radius=0.7)
    W = as_sparse(reservoir.columns, reservoir.values).toarray()
    # Krylov steps are stopped at 1e-6.
    np.testing.assert_allclose(np.abs(np.linalg.eigvals(W)).max(), 0.7, rtol=1e-5)
    assert (np.count_nonzero(W, axis=1) == min(10, n)).all()


def test_a_nilpotent_matrix_has_radius_zero():
    assert spectral_radius_of(np.array([[1], [1]], dtype=np.uint32), np.array([[1.0], [0.0]])) == 0.0


@pytest.mark.parametrize(("leak", "radius"), [(1.0, 0.9), (0.3, 0.9), (1.0, 0.99)])
def test_two_initial_states_converge_below_radius_one(rng, leak, radius):
    reservoir = drawn(rng, spectral_radius=radius, leak=leak)
    sequence = rng.standard_normal((600, 2))
    a, b = reservoir.states(sequence), reservoir.states(sequence, rng.uniform(-1, 1, 60))
    gap = np.abs(a - b).max(axis=1)
    assert gap[0] > 0.05
    assert gap[-1] < 1e-6


def test_far_above_one_they_do_not(rng):
    reservoir = drawn(rng, spectral_radius=3.0, input_scaling=0.01)
    sequence = rng.standard_normal((600, 2))
    a, b = reservoir.states(sequence), reservoir.states(sequence, rng.uniform(-1, 1, 60))
    assert np.abs(a - b).max(axis=1)[-1] > 0.1


def test_pools_are_those_of_the_states(rng):
    reservoir = drawn(rng)
    sequences = [rng.standard_normal((t, 2)) for t in (30, 12)]
    states = sequence_features(reservoir, sequences, None, 4)
    assert [part.shape for part in states] == [(26, 60), (8, 60)]
    np.testing.assert_array_equal(sequence_features(reservoir, sequences, "last", 4), [part[-1] for part in states])
    np.testing.assert_allclose(
        sequence_features(reservoir, sequences, "mean", 4), [part.mean(axis=0) for part in states], atol=1e-14
    )


def test_the_model_of_a_sequence_is_a_ridge_regression_of_the_next_input(rng):
    states, sequence = rng.standard_normal((20, 7)), rng.standard_normal((20, 2))
    found = own_model(states, sequence)
    Z, Y = states[:-1], sequence[1:]
    Zc = Z - Z.mean(axis=0)
    penalty = np.square(Zc).sum() / 19
    B = np.linalg.solve(Zc.T @ Zc + penalty * np.eye(7), Zc.T @ (Y - Y.mean(axis=0)))
    np.testing.assert_allclose(found[:14].reshape(2, 7), B.T, atol=1e-12)
    np.testing.assert_allclose(found[14:], Y.mean(axis=0) - Z.mean(axis=0) @ B, atol=1e-12)
    constant = own_model(np.ones((5, 3)), np.full((5, 1), 2.0))
    np.testing.assert_array_equal(constant, [0, 0, 0, 2.0])


def test_walking_is_running(rng, monkeypatch):
    from gramian.random.reservoirs import echo_state

    monkeypatch.setattr(echo_state, "CHUNK_STEPS", 7)
    reservoir, sequence = drawn(rng), rng.standard_normal((30, 2))
    parts = list(reservoir.walk(sequence))
    assert [start for start, _ in parts] == [0, 7, 14, 21, 28]
    np.testing.assert_array_equal(np.concatenate([states for _, states in parts]), reservoir.states(sequence))


def test_an_exploding_reservoir_says_so(rng):
    reservoir = drawn(rng, activation=None, spectral_radius=5.0)
    with pytest.raises(DataError, match=r"the reservoir exploded at step .* of sequence 1: .* lower spectral_radius"):
        sequence_features(reservoir, [np.zeros((3, 2)), np.ones((500, 2))], "last", 0)
