"""Double centring against the matrix formula, in stretches and as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.distances import mds as centring
from gramian.distances.mds import centre_weights, gram, gram_product, mean_squares, project_rows


@pytest.fixture
def points(rng):
    return rng.normal(size=(30, 4)) + 100


def apart(a, b):
    return np.linalg.norm(a[:, None] - b, axis=2)


@pytest.mark.parametrize("cached", [2**20, 1])
def test_gram_is_minus_half_of_the_centred_squares(points, monkeypatch, cached):
    monkeypatch.setattr(centring, "CACHED_BYTES", cached)
    D = apart(points, points)
    C = np.eye(30) - 1 / 30
    G, means = gram(D)
    np.testing.assert_allclose(G, -0.5 * C @ (D * D) @ C, atol=1e-9)
    np.testing.assert_allclose(G, (points - points.mean(0)) @ (points - points.mean(0)).T, atol=1e-9)
    np.testing.assert_allclose(means, mean_squares(D))
    again, _ = gram(D, overwrite=True)
    assert again is D
    np.testing.assert_array_equal(again, G)


def test_products_need_no_gram_matrix(points, rng):
    D = apart(points, points)
    G, means = gram(D)
    V = rng.normal(size=(30, 3))
    np.testing.assert_allclose(gram_product(D, means, V), G @ V, atol=1e-8)


def test_new_objects_are_projected_where_they_lie(points, rng):
    new = rng.normal(size=(5, 4)) + 100
    means = mean_squares(apart(points, points))
    weights = centre_weights(rng.normal(size=(30, 2)))
    centred = points - points.mean(0)
    np.testing.assert_allclose(weights.sum(axis=0), 0, atol=1e-12)
    found = project_rows(apart(new, points), means, weights)
    np.testing.assert_allclose(found, (new - points.mean(0)) @ centred.T @ weights, atol=1e-8)
