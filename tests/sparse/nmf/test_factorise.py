"""Factorisation: no rise, hidden entries found, weights as repetitions, every scale, scikit-learn's objective."""

import numpy as np
import pytest
from sklearn.decomposition import NMF as Peer

from gramian.errors import DataError
from gramian.sparse.nmf import Observed, codes_of, factorise


def low_rank(rng, n=80, p=25, k=3, noise=0.05):
    return rng.gamma(0.7, size=(n, k)) @ rng.gamma(0.7, size=(k, p)) + noise * rng.random((n, p))


@pytest.mark.parametrize("beta", [0.0, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_the_objective_never_rises_and_factors_are_not_negative(rng, beta, hidden, ridge):
    if ridge and beta != 2:
        return
    X = low_rank(rng)
    X[rng.random(X.shape) < 0.3 * hidden] = np.nan
    found = factorise(Observed.of(X, beta=beta), 3, beta=beta, max_iter=40, tol=0.0, ridge=ridge)
    assert (np.diff(found.history) <= 1e-12 * found.history[0]).all()
    # A ridge of one entry among 25 keeps its own share of the objective.
    assert found.history[-1] < 0.3 * found.history[0]
    assert min(found.codes.min(), found.atoms.min()) >= 0


def test_as_good_as_scikit_learn(rng):
    X = low_rank(rng)
    peer = Peer(3, max_iter=1000).fit(X)
    found = factorise(Observed.of(X), 3, tol=1e-7, max_iter=500)
    assert found.history[-1] <= 0.5 * peer.reconstruction_err_**2 * 1.01


def test_hidden_entries_are_found_better_than_by_imputation(rng):
    X = low_rank(rng, n=150)
    hidden = rng.random(X.shape) < 0.3
    shown = np.where(hidden, np.nan, X)
    means = np.broadcast_to(np.nanmean(shown, axis=0), X.shape)
    imputed = np.where(hidden, means, X)
    peer = Peer(3, max_iter=500).fit(imputed)
    errors = []
    for ridge in (0.0, 1.0):
        found = factorise(Observed.of(shown), 3, ridge=ridge)
        errors.append(np.square((found.codes @ found.atoms - X)[hidden]).mean())
    by_peer = np.square((peer.transform(imputed) @ peer.components_ - X)[hidden]).mean()
    by_mean = np.square((means - X)[hidden]).mean()
    assert max(errors) < 0.5 * by_peer < by_mean


def test_row_weights_are_repetitions(rng):
    X, counts = low_rank(rng, n=12, p=6), np.array([1, 2, 1, 1, 3, 1, 1, 2, 1, 1, 1, 1])
    a = factorise(Observed.of(X), 2, row_weights=counts.astype(float), max_iter=10, tol=0.0)
    b = factorise(Observed.of(np.repeat(X, counts, axis=0)), 2, max_iter=10, tol=0.0)
    np.testing.assert_allclose(a.atoms, b.atoms, rtol=1e-6)
    np.testing.assert_allclose(a.history, b.history, rtol=1e-9)


def test_a_weight_of_zero_is_as_good_as_missing(rng):
    X = low_rank(rng, n=20, p=6)
    hidden = rng.random(X.shape) < 0.2
    a = factorise(Observed.of(np.where(hidden, np.nan, X)), 2, max_iter=15)
    b = factorise(Observed.of(np.where(hidden, 99.0, X), np.where(hidden, 0.0, 1.0)), 2, max_iter=15)
    np.testing.assert_allclose(a.codes @ a.atoms, b.codes @ b.atoms, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_factors_scale_with_the_data(rng, scale, beta):
    X = low_rank(rng, n=20, p=6)
    a, b = (factorise(Observed.of(X * s), 2, beta=beta, max_iter=20) for s in (1.0, scale))
    np.testing.assert_allclose(b.codes @ b.atoms, scale * (a.codes @ a.atoms), rtol=1e-6)
    np.testing.assert_allclose(b.history, scale**beta * a.history, rtol=1e-6)


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_codes_of_new_rows_are_optimal(rng, beta):
    atoms, X = rng.random((3, 8)), rng.random((10, 8)) + 0.1
    codes = codes_of(Observed.of(X, beta=beta), atoms, beta=beta, max_iter=20_000, tol=1e-12)
    made = codes @ atoms
    slopes = (np.power(made, beta - 1) - X * np.power(made, beta - 2)) @ atoms.T
    assert np.abs(slopes[codes > 1e-7]).max() < 1e-5
    assert slopes[codes <= 1e-7].min(initial=0.0) > -1e-5


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        ([[1.0, -2.0]], {}, "row 0, column 1 holds -2"),
        ([[0.0, 1.0]], {"beta": 0.0}, "row 0, column 0 is zero"),
        ([[1.0, 2.0]], {"entry_weight": [[1.0]]}, "entry_weight has shape"),
        ([[1.0, 2.0]], {"entry_weight": [[1.0, -1.0]]}, "entry_weight holds a negative"),
    ],
)
def test_what_cannot_be_factorised_is_refused(values, options, said):
    with pytest.raises(DataError, match=said):
        Observed.of(np.array(values), **options)


def test_rows_and_columns_without_a_value_are_named():
    X = np.array([[1.0, np.nan], [np.nan, np.nan]])
    with pytest.raises(DataError, match="row 1 has no observed value"):
        Observed.of(X).require_rows()
    with pytest.raises(DataError, match="column 'b' has no observed value"):
        Observed.of(X).require_columns(["a", "b"])


@pytest.mark.parametrize("X", [np.zeros((3, 2)), np.ones((1, 1)), np.ones((4, 3)), np.eye(2)[[0, 0, 0]]])
def test_degenerate_data(X):
    found = factorise(Observed.of(X), 2)
    assert np.isfinite(found.codes @ found.atoms).all()
    np.testing.assert_allclose(found.codes @ found.atoms, X, atol=1e-2)
