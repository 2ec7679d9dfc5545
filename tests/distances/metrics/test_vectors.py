"""Vectors by scipy's names, and functions of the user's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gramian.distances.metrics.pairwise import pairwise_distances
from gramian.distances.metrics.vectors import NAMES


@pytest.mark.parametrize(
    "metric", sorted(set(NAMES) - {"yule", "russellrao", "jensenshannon", "mahalanobis", "seuclidean"})
)
def test_scipy_names_are_scipy(rng: np.random.Generator, metric: str) -> None:
    X = rng.integers(0, 2, size=(20, 6)).astype(float) if metric in BOOLEAN else rng.random((20, 6))
    np.testing.assert_allclose(pairwise_distances(X, metric=metric, n_jobs=2), cdist(X, X, metric), atol=1e-12)


BOOLEAN = {"dice", "hamming", "jaccard", "rogerstanimoto", "sokalsneath"}


def test_variances_are_those_of_the_reference(rng: np.random.Generator) -> None:
    X, new = rng.normal(size=(30, 3)) * [1, 5, 9], rng.normal(size=(4, 3))
    expected = cdist(new, X, "seuclidean", V=X.var(axis=0, ddof=1))
    np.testing.assert_allclose(pairwise_distances(new, X, metric="seuclidean"), expected)
    expected = cdist(new, X, "mahalanobis", VI=np.linalg.inv(np.cov(X.T)))
    np.testing.assert_allclose(pairwise_distances(new, X, metric="mahalanobis"), expected)


def test_a_callable_is_called_once_a_pair() -> None:
    calls = []

    def gap(a: int, b: int) -> float:
        calls.append((a, b))
        return abs(a - b)

    found = pairwise_distances(list(range(40)), metric=gap)
    np.testing.assert_array_equal(found, np.abs(np.subtract.outer(range(40), range(40))))
    assert len(calls) == 40 * 39 / 2
