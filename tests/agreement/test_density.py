"""The density embedding against numpy and scikit-learn, and in front of other detectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.covariance import EmpiricalCovariance
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import gramian as gm


@pytest.fixture
def planted(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return texts in which odd rows combine frequent values as no usual row does."""
    n = 4000
    kind = rng.integers(0, 4, n)
    columns = [np.where(rng.random(n) < 0.97, kind, rng.integers(0, 4, n)) for _ in range(5)]
    odd = np.zeros(n, dtype=bool)
    odd[: n // 50] = True
    columns[0][odd] = (kind[odd] + 1) % 4
    columns[1][odd] = (kind[odd] + 2) % 4
    return np.array([[f"{k}" for k in column] for column in columns], dtype=object).T, odd


def test_numbers_agree_with_scikit_learn(rng):
    x = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 4)) + 7.0
    distance = EmpiricalCovariance().fit(x).mahalanobis(x)
    embedded = np.square(gm.DensityEmbedding().fit_transform(x)).sum(axis=1)
    # scikit-learn divides by n.
    np.testing.assert_allclose(embedded * 300 / 299, distance, rtol=1e-9)
    # The score has a ridge of a few rows, which turns the order of near neighbours.
    assert spearmanr(gm.DensityEmbedding().fit(x).anomaly_score(x), distance).statistic > 0.9


def test_combinations_of_frequent_values_are_found(planted):
    X, odd = planted
    shares = [{v: np.mean(X[:, j] == v) for v in set(X[:, j])} for j in range(X.shape[1])]
    by_frequency = -np.array([sum(np.log(s[v]) for s, v in zip(shares, row, strict=True)) for row in X])
    ours = gm.DensityEmbedding().fit(X).anomaly_score(X)
    assert roc_auc_score(odd, by_frequency) < 0.7
    assert roc_auc_score(odd, ours) > 0.97


def test_embedding_works_before_an_isolation_forest(planted):
    X, odd = planted
    pipeline = make_pipeline(gm.DensityEmbedding(), IsolationForest(random_state=0))
    assert roc_auc_score(odd, -pipeline.fit(X).score_samples(X)) > 0.85
    assert set(pipeline.predict(X)) == {-1, 1}


@pytest.mark.filterwarnings("ignore")
def test_embedding_works_before_pyod(planted):
    hbos = pytest.importorskip("pyod.models.hbos")
    X, odd = planted
    pipeline = make_pipeline(gm.DensityEmbedding(), hbos.HBOS())
    assert roc_auc_score(odd, pipeline.fit(X).decision_function(X)) > 0.8
