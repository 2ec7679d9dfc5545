"""Whitening against scikit-learn and against scipy's matrix functions."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA

import gramian as gm
from gramian.linear.whitening import whitening


@pytest.mark.parametrize("loader", [load_iris, load_wine])
def test_pca_whitening_equals_the_peer(loader):
    x = loader().data
    found = whitening(gm.collect(x))
    expected = PCA(whiten=True, svd_solver="full").fit_transform(x)
    np.testing.assert_allclose((x - found.mean) @ found.weights, expected, atol=1e-7)


@pytest.mark.parametrize("loader", [load_iris, load_wine])
def test_zca_is_the_inverse_square_root_of_the_covariance(loader):
    x = loader().data
    expected = scipy.linalg.inv(scipy.linalg.sqrtm(np.cov(x.T)))
    found = whitening(gm.collect(x), method="zca")
    # wine's covariance has condition 1e7.
    np.testing.assert_allclose(found.weights, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("ddof", [0, 1])
def test_cholesky_is_gram_schmidt_in_column_order(ddof):
    x = load_wine().data
    lower = np.linalg.cholesky(np.cov(x.T, ddof=ddof))
    found = whitening(gm.collect(x), method="cholesky", ddof=ddof)
    np.testing.assert_allclose(found.weights, np.linalg.inv(lower).T, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.inverse, lower.T, rtol=1e-9, atol=1e-9)
