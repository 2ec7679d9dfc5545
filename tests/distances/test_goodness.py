"""Stress and class distances are what their definitions say, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from gramian.distances.mds import class_distances, some_objects, stress


def test_stress_is_kruskals_over_pairs(rng):
    X = rng.normal(size=(30, 4))
    D, Z = pdist(X), pdist(X[:, :2])
    expected = np.sqrt(((D - Z) ** 2).sum() / (D**2).sum())
    # Squared lengths cancel in the distances of near points: half the digits of a double at worst.
    assert stress(squareform(D), X[:, :2]) == pytest.approx(expected, rel=1e-7)
    assert stress(squareform(D), X) < 1e-7


def test_stress_of_no_distance_is_unknown():
    assert np.isnan(stress(np.zeros((3, 3)), np.zeros((3, 1))))


def test_class_distances_are_means_over_pairs_of_two_objects(rng):
    codes = np.array([0, 0, 0, 1, 1, 3])
    D = squareform(pdist(rng.normal(size=(6, 2))))
    found = class_distances(D, codes, 4)
    for a in range(4):
        for b in range(4):
            pairs = [D[i, j] for i in range(6) for j in range(6) if i != j and codes[i] == a and codes[j] == b]
            expected = np.mean(pairs) if pairs else np.nan
            assert found[a, b] == pytest.approx(expected, nan_ok=True), (a, b)


def test_some_objects_are_distinct_and_reach_over_all():
    found = some_objects(10_000, 400)
    assert len(set(found.tolist())) == 400
    assert found[0] == 0
    assert found[-1] == 9975
    assert some_objects(5).tolist() == [0, 1, 2, 3, 4]
