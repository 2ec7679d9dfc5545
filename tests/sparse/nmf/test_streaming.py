"""A stream of batches ends near the factors of all rows, with entries missing too."""

import numpy as np
import pytest

from gramian.sparse.nmf import Observed, add_batch, codes_of, divergence, factorise


@pytest.mark.parametrize("beta", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("hidden", [False, True])
def test_batches_end_near_the_whole(rng, beta, hidden):
    X = rng.gamma(0.7, size=(400, 3)) @ rng.gamma(0.7, size=(3, 12)) + 0.05
    shown = np.where(rng.random(X.shape) < 0.2 * hidden, np.nan, X)
    whole = factorise(Observed.of(shown, beta=beta), 3, beta=beta)
    atoms, sums = factorise(Observed.of(shown[:50], beta=beta), 3, beta=beta).atoms, None
    for batch in np.array_split(shown, 8):
        atoms, sums = add_batch(atoms, sums, Observed.of(batch, beta=beta), beta=beta)
    assert sums.rows == 400
    data = Observed.of(shown, beta=beta)
    loss = divergence(data.values, data.weights, codes_of(data, atoms, beta=beta) @ atoms, beta)
    assert loss <= 1.5 * whole.history[-1] + 1e-3 * whole.history[0]
    assert atoms.min() >= 0


def test_sums_are_those_of_all_rows_coded_so(rng):
    X = rng.random((30, 5))
    weights = (rng.random((30, 5)) < 0.8).astype(float)
    atoms = rng.random((2, 5))
    data = Observed(X * weights, weights)
    codes = codes_of(data, atoms)
    _, sums = add_batch(atoms, None, data)
    for t in range(5):
        np.testing.assert_allclose(sums.down[t], (codes * weights[:, t : t + 1]).T @ codes, atol=1e-12)
        np.testing.assert_allclose(sums.up[t], (weights[:, t] * X[:, t]) @ codes, atol=1e-12)


def test_a_batch_with_gaps_after_one_without(rng):
    X = rng.random((20, 4))
    atoms, sums = add_batch(rng.random((2, 4)), None, Observed.of(X))
    assert sums.down.shape == (1, 2, 2)
    X[3, 1] = np.nan
    atoms, sums = add_batch(atoms, sums, Observed.of(X))
    assert sums.down.shape == (4, 2, 2)
    assert np.isfinite(atoms).all()


def test_weights_are_repetitions(rng):
    X, counts, atoms = rng.random((6, 4)), np.array([1, 2, 1, 3, 1, 1]), rng.random((2, 4))
    a, _ = add_batch(atoms, None, Observed.of(X), row_weights=counts.astype(float))
    b, _ = add_batch(atoms, None, Observed.of(np.repeat(X, counts, axis=0)))
    np.testing.assert_allclose(a, b, rtol=1e-9)
