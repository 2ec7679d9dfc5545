"""ClassicalMDS against peers: scikit-learn's kernel PCA and a published worked example."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA, KernelPCA

from gramian.estimators.mds import ClassicalMDS


def test_classical_scaling_of_vectors_is_pca(rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 6)) * np.arange(6, 0, -1)
    new = rng.normal(size=(9, 6))
    model, pca = ClassicalMDS(3).fit(cdist(X, X)), PCA(3).fit(X)
    signs = np.sign((model.embedding_ * pca.transform(X)).sum(axis=0))
    np.testing.assert_allclose(model.embedding_ * signs, pca.transform(X), atol=1e-10)
    np.testing.assert_allclose(model.transform(cdist(new, X)) * signs, pca.transform(new), atol=1e-10)


def test_classical_scaling_is_kernel_pca_of_half_negative_squares(rng: np.random.Generator) -> None:
    X, new = rng.normal(size=(40, 4)), rng.normal(size=(5, 4))
    D, rows = cdist(X, X, "cityblock"), cdist(new, X, "cityblock")
    model = ClassicalMDS(3).fit(D)
    peer = KernelPCA(3, kernel="precomputed").fit(-0.5 * D**2)
    signs = np.sign((model.embedding_ * peer.transform(-0.5 * D**2)).sum(axis=0))
    np.testing.assert_allclose(model.transform(rows) * signs, peer.transform(-0.5 * rows**2), atol=1e-10)
    np.testing.assert_allclose(model.eigenvalues_[:3], peer.eigenvalues_, rtol=1e-10)
