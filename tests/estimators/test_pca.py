"""PCA as an estimator: numpy's eigenvectors, densities of a normal law, and parameters that are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.pca import PCA


@pytest.fixture
def x(rng):
    return rng.normal(size=(80, 5)) @ rng.normal(size=(5, 5)) + np.arange(5)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("whiten", [False, True])
def test_attributes_are_those_of_the_covariance(x, ddof, whiten):
    model = PCA(3, ddof=ddof, whiten=whiten).fit(x)
    values, vectors = np.linalg.eigh(np.cov(x, rowvar=False, ddof=ddof))
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(5)])
    np.testing.assert_allclose(model.components_, vectors.T[:3], atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, values[:3], rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio_, values[:3] / values.sum(), rtol=1e-10)
    np.testing.assert_allclose(model.singular_values_, np.sqrt(values[:3] * (80 - ddof)), rtol=1e-10)
    np.testing.assert_allclose(model.mean_, x.mean(axis=0), rtol=1e-12)
    assert model.noise_variance_ == pytest.approx(values[3:].mean(), rel=1e-9)
    expected = (x - x.mean(axis=0)) @ vectors[:, :3] / (np.sqrt(values[:3]) if whiten else 1.0)
    np.testing.assert_allclose(model.transform(x), expected, atol=1e-9)
    assert (model.n_components_, model.n_samples_, model.n_features_in_) == (3, 80, 5)
    assert model.get_feature_names_out().tolist() == ["pca0", "pca1", "pca2"]


@pytest.mark.parametrize("whiten", [False, True])
def test_rows_have_the_density_of_the_normal_law_it_stands_for(x, whiten):
    model = PCA(2, whiten=whiten).fit(x)
    covariance = model.components_.T @ np.diag(model.explained_variance_ - model.noise_variance_) @ model.components_
    covariance += model.noise_variance_ * np.eye(5)
    np.testing.assert_allclose(model.get_covariance(), covariance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.get_precision() @ covariance, np.eye(5), atol=1e-9)
    expected = multivariate_normal(x.mean(axis=0), covariance).logpdf(x)
    np.testing.assert_allclose(model.score_samples(x), expected, rtol=1e-9)
    assert model.score(x) == pytest.approx(expected.mean(), rel=1e-10)


def test_categories_are_taken_in_the_chi_squared_metric(rng):
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 200, p=[0.6, 0.3, 0.1]), "b": rng.choice(list("uv"), 200)})
    model = PCA(ddof=0).fit(frame)
    one_hot = np.hstack([pd.get_dummies(frame[name]).to_numpy(float) for name in frame])
    share = one_hot.mean(axis=0)
    scaled = (one_hot - share) / np.sqrt(share)
    values = np.linalg.eigvalsh(scaled.T @ scaled / 200)[::-1][:3]
    np.testing.assert_allclose(model.explained_variance_, values, rtol=1e-9)
    np.testing.assert_allclose(np.sort(model.metric_), np.sort(1 / np.sqrt(share)), rtol=1e-9)
    assert model.n_components_ == 3


def test_correlations_on_request(x):
    model = PCA(scale=True, ddof=0).fit(x)
    expected = np.linalg.eigvalsh(np.corrcoef(x, rowvar=False))[::-1]
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-9)


def test_a_target_is_asked_for_only_where_it_chooses(x):
    y = x[:, 0] + x[:, 1]
    assert PCA("cv-target").__sklearn_tags__().target_tags.required
    assert not PCA("cv").__sklearn_tags__().target_tags.required
    with pytest.raises(DataError, match="PCA needs a target"):
        PCA("cv-target").fit(x)
    model = PCA("cv-target").fit(x, y)
    assert len(model.moments_.folds) == 5
    assert 1 <= model.n_components_ <= 5
    assert PCA(2).fit(x, y).n_components_ == 2


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n_components": 0}, "n_components"), ({"n_components": 1.5}, "n_components"),
        ({"n_components": "most"}, "n_components"), ({"scale": "yes"}, "scale"), ({"whiten": "no"}, "whiten"),
        ({"ddof": -1}, "ddof"), ({"categorical_features": "some"}, "categorical_features"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(x, options, named):
    with pytest.raises(DataError, match=named) as caught:
        PCA(**options).fit(x)
    assert "\n" not in str(caught.value)


def test_parameters_come_back_and_moments_fit_as_rows_do(x):
    model = PCA(2, scale=True, whiten=True, ddof=0)
    assert clone(model).get_params() == model.get_params()
    np.testing.assert_array_equal(clone(model).fit(gm.collect(x)).components_, model.fit(x).components_)
