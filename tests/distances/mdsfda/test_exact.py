"""Factors and a decomposition of the Gram matrix give the same coordinates."""

from __future__ import annotations

import numpy as np

from gramian.distances import mdsfda as exact
from gramian.distances.mds import gram
from gramian.distances.mdsfda import Labels, draw_folds, solve_gram


def test_every_way_of_solving_gives_the_same(rng, monkeypatch):
    codes = np.arange(80) % 3
    X = rng.normal(size=(80, 6)) + codes[:, None]
    G, _ = gram(np.linalg.norm(X[:, None] - X, axis=2))
    labels = Labels.of(codes, 3)
    options = {"n_components": 2, "regularization": 0.1, "folds": draw_folds(codes, rng)[:1]}
    plain = solve_gram(G.copy(), labels, **options)
    monkeypatch.setattr(exact, "SMALL", 0)
    lapack = solve_gram(G.copy(), labels, **options)
    monkeypatch.setattr(exact, "MIN_OBJECTS", 0)
    factors = solve_gram(G.copy(), labels, **options)
    for other in (lapack, factors):
        np.testing.assert_allclose(other.embedding, plain.embedding, atol=1e-6 * np.abs(plain.embedding).max())
        np.testing.assert_allclose(other.eigenvalues, plain.eigenvalues, rtol=1e-6)
