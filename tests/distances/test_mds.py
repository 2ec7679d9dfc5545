"""Classical scaling against its definition, and the constants that make distances Euclidean."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.distances import mds
from gramian.distances.mds import classical_scaling, corrected, correction_constant, gram, negative_share
from gramian.errors import DataError


def apart(X):
    return np.linalg.norm(X[:, None] - X, axis=2)


@pytest.fixture
def odd(rng):
    """Distances of no points: a detour may be shorter than the way."""
    D = rng.random((12, 12)) + 0.2
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D


def test_distances_of_points_come_back(rng):
    D = apart(rng.normal(size=(15, 3)))
    np.testing.assert_allclose(apart(classical_scaling(D, 3).embedding), D, atol=1e-9)


@pytest.mark.parametrize("correction", ["lingoes", "cailliez"])
def test_the_constant_is_the_smallest_that_leaves_no_negative_eigenvalue(odd, correction):
    constant = correction_constant(odd, correction)
    assert constant > 0
    scale = np.abs(np.linalg.eigvalsh(gram(odd)[0])).max()
    assert np.linalg.eigvalsh(gram(corrected(odd, correction, constant))[0])[0] > -1e-7 * scale
    assert np.linalg.eigvalsh(gram(corrected(odd, correction, 0.98 * constant))[0])[0] < -1e-4 * scale


def test_the_iterative_constant_is_the_dense_one(odd, monkeypatch):
    dense = correction_constant(odd, "cailliez")
    monkeypatch.setattr(mds, "DENSE_CAILLIEZ", 1)
    np.testing.assert_allclose(correction_constant(odd, "cailliez"), dense, rtol=1e-6)


def test_equal_objects_stay_equal(odd):
    odd[1], odd[:, 1] = odd[0], odd[:, 0]
    odd[0, 1] = odd[1, 0] = odd[1, 1] = 0
    assert corrected(odd, "lingoes", 1.0)[0, 1] == 0
    with pytest.raises(DataError, match="'lingoes' or 'cailliez'"):
        correction_constant(odd, "other")


def test_negative_share_is_that_of_the_sizes():
    assert negative_share(np.array([3.0, 1.0, -1.0])) == pytest.approx(0.2)
    assert negative_share(np.array([3.0, 1.0])) == 0
