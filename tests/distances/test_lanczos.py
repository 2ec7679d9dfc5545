"""The Krylov space of the Gram matrix: with all dimensions nothing is approximated, with few the large ones are there."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.distances import mdsfda_large as lanczos
from gramian.distances.mds import gram
from gramian.distances.mdsfda_large import krylov_map


@pytest.fixture
def D(rng):
    X = rng.normal(size=(60, 20)) * 2.0 ** -np.arange(20)
    return np.linalg.norm(X[:, None] - X, axis=2)


@pytest.mark.parametrize("formed", [2**28, 0])
def test_features_have_the_inner_products_of_the_objects(D, rng, monkeypatch, formed):
    monkeypatch.setattr(lanczos, "FORMED_BYTES", formed)
    G, _ = gram(D)
    _, features = krylov_map(D, rng)
    # Ritz values below SMALLEST of the largest are cut.
    np.testing.assert_allclose(features @ features.T, G, atol=20 * lanczos.SMALLEST * np.abs(G).max())


def test_few_dimensions_hold_the_largest_eigenvalues(D, rng):
    G, _ = gram(D)
    _, features = krylov_map(D, rng, n_dimensions=40)
    assert features.shape[1] <= 40
    exact = np.linalg.eigvalsh(G)[::-1][:3]
    np.testing.assert_allclose(np.linalg.eigvalsh(features.T @ features)[::-1][:3], exact, rtol=1e-6)
