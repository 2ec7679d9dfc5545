"""The embedding of least variance first, against eigenvectors of the pseudo-inverse of the rows' covariance."""

import numpy as np
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.density.detector import density_embedding

COLUMNS = ["color", "shape", "size"]


def test_components_are_those_of_the_inverse_covariance(mixed, design):
    m = gm.collect(mixed)
    x = design(mixed, m, COLUMNS)
    values, vectors = np.linalg.eigh(np.linalg.pinv(np.cov(x.T), rcond=1e-10, hermitian=True))
    found = density_embedding(m, COLUMNS)
    assert found.rank == 5
    np.testing.assert_allclose(found.precision_eigenvalues, values[::-1][:5], rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(found.components * vectors.T[::-1][:5], axis=1)), 1.0, rtol=1e-8)
    # The squared length of a row is its Mahalanobis distance, and the way back is exact.
    z = x @ found.weights
    distance = np.einsum("ij,jk,ik->i", x, np.linalg.pinv(np.cov(x.T), rcond=1e-10), x)
    np.testing.assert_allclose(np.square(z).sum(axis=1), distance, rtol=1e-8)
    np.testing.assert_allclose(z @ found.inverse, x, atol=1e-9)


def test_features_beyond_the_rank_are_zero_and_fewer_are_the_first(mixed):
    m = gm.collect(mixed)
    whole, some, more = (density_embedding(m, COLUMNS, n_components=k) for k in (None, 2, 7))
    np.testing.assert_array_equal(some.weights, whole.weights[:, :2])
    np.testing.assert_array_equal(more.weights[:, :5], whole.weights)
    assert not more.weights[:, 5:].any()
    assert not more.precision_eigenvalues[5:].any()
    with pytest.raises(DataError, match="n_components"):
        density_embedding(m, COLUMNS, n_components=8)
