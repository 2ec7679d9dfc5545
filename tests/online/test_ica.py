"""Neural ICA: which sources each function finds, and that the automatic rate needs no tuning."""

import re

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.online.ica import (
    NONLINEARITIES,
    Separation,
    amari_index,
    first_rotation,
    kinds_of,
    learn,
    nonlinear,
    orthogonal,
    turn,
)
from gramian.online.schedules import Schedule


def white_sources(kind, n, k, rng):
    """Return white mixtures of independent sources, and the matrix that mixed them."""
    uniform, laplace = rng.uniform(-1, 1, (n, k)) * 3**0.5, rng.laplace(size=(n, k)) / 2**0.5
    half = np.arange(k) < k // 2
    S = {"uniform": uniform, "laplace": laplace, "mixed": np.where(half, uniform, laplace)}[kind]
    S = S - S.mean(axis=0)
    X = S @ rng.normal(size=(k, k))
    left, _, _ = np.linalg.svd(X, full_matrices=False)
    Z = left * np.sqrt(n)
    # Z = S M, so that the mixing of Z is M^T.
    return Z, np.linalg.lstsq(S, Z, rcond=None)[0].T


def separated(kind, nonlinearity, *, by_row=False, epochs=8, n=4000, k=4, seed=1):
    rng = np.random.default_rng(seed)
    Z, mixing = white_sources(kind, n, k, rng)
    state = Separation.at(first_rotation(k, rng))
    for _ in range(epochs):
        order = rng.permutation(n)
        for s in range(0, n, n if by_row else 256):
            part = order[s : s + (n if by_row else 256)]
            state = turn(state, Z[part], np.ones(len(part)), nonlinearity=nonlinearity, by_row=by_row)
    return amari_index(state.weights @ mixing), state


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("kind", ["uniform", "laplace", "mixed"])
def test_auto_separates_every_kind_of_source(kind, by_row):
    index, state = separated(kind, "auto", by_row=by_row)
    assert index < 0.05
    np.testing.assert_allclose(state.weights @ state.weights.T, np.eye(4), atol=1e-10)


@pytest.mark.parametrize(
    ("nonlinearity", "finds", "fails"),
    [("tanh", "uniform", "laplace"), ("y-tanh", "laplace", "uniform"), ("cube", "laplace", "uniform")],
)
def test_a_function_finds_its_own_kind_alone(nonlinearity, finds, fails):
    assert separated(finds, nonlinearity)[0] < 0.06
    assert separated(fails, nonlinearity)[0] > 0.3


def test_the_functions_and_their_slopes():
    y = np.linspace(-2, 2, 9)[:, None]
    for name, code in NONLINEARITIES.items():
        kinds = np.array([code])
        g, slope = nonlinear(y, kinds)
        expected = {"tanh": np.tanh(y), "cube": y**3, "y-tanh": y - np.tanh(y)}[name]
        np.testing.assert_allclose(g, expected)
        h = 1e-6
        np.testing.assert_allclose(
            slope, (nonlinear(y + h, kinds)[0] - nonlinear(y - h, kinds)[0]) / (2 * h), atol=1e-8
        )


def test_auto_goes_by_the_sign_of_the_kurtosis():
    names = {code: name for name, code in NONLINEARITIES.items()}
    assert [names[kind] for kind in kinds_of("auto", np.array([-1.2, 3.0]))] == ["tanh", "y-tanh"]
    assert [names[kind] for kind in kinds_of("cube", np.array([-1.2, 3.0]))] == ["cube", "cube"]


@pytest.mark.parametrize("by_row", [False, True])
def test_a_given_rate_is_the_rule_as_it_is_written(rng, by_row):
    rows, W, eta = rng.normal(size=(20, 3)), rng.normal(size=(3, 3)), 1e-3
    expected = W.copy()
    for x in rows:
        g = np.tanh((expected if by_row else W) @ x)
        expected = expected + eta * np.outer(g, x - (expected if by_row else W).T @ g)
    state = learn(Separation.at(W), rows, np.ones(20), nonlinearity="tanh", schedule=Schedule(eta), by_row=by_row)
    np.testing.assert_allclose(state.weights, expected, rtol=1e-10)
    assert state.updates == (20 if by_row else 1)


@pytest.mark.parametrize("by_row", [False, True])
def test_a_given_rate_separates_too(by_row):
    rng = np.random.default_rng(3)
    Z, mixing = white_sources("uniform", 3000, 3, rng)
    state = Separation.at(first_rotation(3, rng))
    for _ in range(15):
        order = rng.permutation(3000)
        for s in range(0, 3000, 250):
            part = Z[order[s : s + 250]]
            state = learn(state, part, np.ones(250), nonlinearity="tanh", schedule=Schedule(2e-3), by_row=by_row)
    assert amari_index(orthogonal(state.weights) @ mixing) < 0.05


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("nonlinearity", ["tanh", "cube", "y-tanh"])
def test_divergence_names_the_update_and_a_rate_that_holds(rng, by_row, nonlinearity):
    rows, first = rng.normal(size=(200, 3)), Separation.at(np.eye(3))

    def after(rate, epochs):
        state = first
        for _ in range(epochs):
            state = learn(state, rows, np.ones(200), nonlinearity=nonlinearity, schedule=Schedule(rate), by_row=by_row)
        return state

    with pytest.raises(DataError, match=r"learning_rate=1000000\.0 diverges: at update \d+ ") as caught:
        after(1e6, 10)
    safe = float(re.search(r"learning_rate=([\d.e-]+) or less does not", str(caught.value)).group(1))
    assert np.abs(after(safe, 100).weights).max() < 10


def test_a_weight_is_repeated_rows(rng):
    rows, weights = rng.normal(size=(30, 3)), rng.integers(1, 4, 30)
    state = Separation.at(first_rotation(3, rng))
    repeated = np.repeat(rows, weights, axis=0)
    one = turn(state, rows, weights.astype(float), nonlinearity="auto")
    many = turn(state, repeated, np.ones(len(repeated)), nonlinearity="auto")
    np.testing.assert_allclose(one.weights, many.weights, atol=1e-12)


def test_the_amari_index_by_hand():
    # Rows (1 + 0.5 - 1) and (0.2 + 1 - 1) over their largest, columns likewise.
    assert amari_index(np.array([[1.0, 0.5], [0.2, -1.0]])) == pytest.approx((0.5 + 0.2 + 0.2 + 0.5) / 4)
    assert amari_index(np.array([[5.0]])) == 0.0
