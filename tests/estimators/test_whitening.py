"""Whitening as an estimator: identity covariance, each method by its own definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import sqrtm
from sklearn.feature_selection import VarianceThreshold

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.pca import Whitening

METHODS = ["pca", "zca", "cholesky"]


@pytest.fixture
def x(rng):
    return rng.normal(size=(70, 4)) @ rng.normal(size=(4, 4)) + 100.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ddof", [0, 1])
def test_features_have_identity_covariance(x, method, ddof):
    model = Whitening(method, ddof=ddof).fit(x)
    z = model.transform(x)
    np.testing.assert_allclose(np.cov(z, rowvar=False, ddof=ddof), np.eye(4), atol=1e-9)
    np.testing.assert_allclose(z, (x - model.mean_) @ model.whitening_, atol=1e-8)
    np.testing.assert_allclose(model.inverse_transform(z), x, rtol=1e-9)
    assert model.rank_ == 4
    covariance = np.cov(x, rowvar=False, ddof=ddof)
    if method == "zca":
        np.testing.assert_allclose(model.whitening_, np.linalg.inv(sqrtm(covariance)).real, rtol=1e-7, atol=1e-9)
    elif method == "pca":
        turned = model.whitening_.T @ model.whitening_
        np.testing.assert_allclose(turned, np.diag(1 / np.linalg.eigvalsh(covariance)[::-1]), rtol=1e-7, atol=1e-9)
    else:
        # Feature j is made of columns up to j, or from j on: triangular.
        assert np.allclose(model.whitening_, np.triu(model.whitening_)) or np.allclose(
            model.whitening_, np.tril(model.whitening_)
        )


@pytest.mark.parametrize(("method", "width"), [("pca", 3), ("cholesky", 3), ("zca", 5)])
def test_dependent_columns_keep_their_rank(rng, method, width):
    frame = pd.DataFrame({"c": rng.choice(list("xyz"), 90), "u": rng.normal(size=90)})
    frame["v"] = 2 * frame["u"] + 5
    model = Whitening(method).fit(frame)
    z = model.transform(frame)
    assert (model.rank_, z.shape[1]) == (3, width)
    values = np.linalg.eigvalsh(np.cov(z, rowvar=False))
    np.testing.assert_allclose(values, [0.0] * (width - 3) + [1.0] * 3, atol=1e-9)


def test_names_of_features_count_them(x):
    assert Whitening().fit(x).get_feature_names_out().tolist() == [f"whitening{k}" for k in range(4)]


@pytest.mark.parametrize(("options", "named"), [({"method": "svd"}, "method"), ({"ddof": -1}, "ddof")])
def test_wrong_parameters_are_named(x, options, named):
    with pytest.raises(DataError, match=named):
        Whitening(**options).fit(x)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array, sp.coo_matrix])
@pytest.mark.parametrize("value", [0.1, 1e8 / 3, -1e-7])
def test_a_constant_column_does_not_vary_whatever_holds_it(rng, container, value):
    dense = np.column_stack([rng.standard_normal((1000, 2)), np.full(1000, value)])
    rows = container(dense)
    assert Whitening().fit(rows).rank_ == 2
    assert gm.PCA(whiten=True).fit(rows).n_components_ == gm.PCA(scale=True).fit(rows).n_components_ == 2
    peer = VarianceThreshold().fit(dense)
    np.testing.assert_array_equal(gm.VarianceFilter().fit(rows).get_support(), peer.get_support())
    assert Whitening().partial_fit(rows[:500] if container is not sp.coo_matrix else rows).partial_fit(rows).rank_ == 2
