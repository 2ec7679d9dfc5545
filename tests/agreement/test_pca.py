"""Principal components against scikit-learn's, every solver of it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian as gm
from gramian.linear.layout import minka_log_evidence
from gramian.linear.pca import pca

LOADERS = [load_iris, load_wine, load_breast_cancer]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "arpack", "randomized"])
@pytest.mark.parametrize("whiten", [False, True])
def test_components_equal_every_solver(loader, solver, whiten):
    x = loader().data
    k = 3
    peer = PCA(k, svd_solver=solver, whiten=whiten, random_state=0, n_oversamples=20).fit(x)
    found = pca(gm.collect(x), n_components=k, whiten=whiten)
    # Randomized iterates to about 1e-7 of the largest value; the others are exact. wine's values span 1e5.
    loose = solver == "randomized"
    np.testing.assert_allclose(found.explained_variance, peer.explained_variance_, rtol=1e-5 if loose else 1e-9)
    np.testing.assert_allclose(found.components, peer.components_, atol=1e-5 if loose else 1e-9)
    np.testing.assert_allclose(
        found.explained_variance_ratio, peer.explained_variance_ratio_, rtol=1e-5 if loose else 1e-9
    )
    np.testing.assert_allclose(found.singular_values, peer.singular_values_, rtol=1e-5 if loose else 1e-9)
    assert found.noise_variance == pytest.approx(peer.noise_variance_, rel=1e-5)
    z, expected = (x - found.mean) @ found.weights, peer.transform(x)
    np.testing.assert_allclose(z, expected, atol=(1e-4 if loose else 1e-9) * np.abs(expected).max())
    back, expected = z @ found.inverse + found.mean, peer.inverse_transform(expected)
    np.testing.assert_allclose(back, expected, atol=(1e-4 if loose else 1e-9) * np.abs(expected).max())


@pytest.mark.parametrize("loader", LOADERS)
def test_all_components_are_kept_by_default(loader):
    x = loader().data
    peer, found = PCA().fit(x), pca(gm.collect(x))
    assert found.rank == x.shape[1]
    # Through the covariance, small eigenvalues are known to rounding of the largest: 1e-16 x 1e6 for breast cancer.
    np.testing.assert_allclose(
        found.explained_variance, peer.explained_variance_, rtol=1e-9, atol=1e-14 * peer.explained_variance_[0]
    )


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.9999])
def test_share_of_variance_keeps_as_many(loader, share):
    x = loader().data
    assert len(pca(gm.collect(x), n_components=share).components) == PCA(share, svd_solver="full").fit(x).n_components_


@pytest.mark.parametrize("loader", LOADERS)
def test_minka_chooses_as_many(loader):
    x = loader().data
    assert len(pca(gm.collect(x), n_components="mle").components) == PCA("mle").fit(x).n_components_


@pytest.mark.parametrize("kind", ["sum", "copy", "constant", "two"])
@pytest.mark.parametrize("n_factors", [0, 3])
@pytest.mark.parametrize("n", [11, 40, 200])
def test_minka_keeps_the_rank_of_redundant_numbers(kind, n_factors, n):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 9)) + 3 * rng.standard_normal((n, n_factors)) @ rng.standard_normal((n_factors, 9))
    if kind == "two":
        x[:, 8] = x[:, 1] - x[:, 2]
    more = {"sum": x[:, 0] + x[:, 1], "copy": x[:, 0], "constant": np.full(n, 0.1), "two": x[:, 0] + x[:, 1]}[kind]
    x = np.column_stack([x, more])
    expected = np.linalg.matrix_rank(x - x.mean(axis=0), tol=1e-8)
    if kind != "two":
        # With two redundant columns scikit-learn compares logarithms of rounding errors, which differ between processors.
        assert PCA("mle").fit(x).n_components_ == expected
    found = pca(gm.collect(x), n_components="mle")
    assert len(found.components) == expected
    assert np.isposinf(found.selection["log_evidence"][-1])


def test_minka_leaves_out_what_levels_and_few_rows_cannot_show():
    # Levels exclude each other, and rows fewer than columns span no more: neither says that there is no noise.
    rng = np.random.default_rng(0)
    city = rng.choice(list("abcdef"), 300)
    frame = pd.DataFrame({"city": city, "land": np.where(city < "c", "u", "v"), "x": rng.standard_normal(300)})
    found = pca(gm.collect(frame), n_components="mle")
    assert len(found.components) < found.rank
    few = pca(gm.collect(rng.standard_normal((20, 40))), n_components="mle")
    assert len(few.components) < few.rank == 19


def test_minka_evidence_equals_the_peer_for_every_number():
    peer = pytest.importorskip("sklearn.decomposition._pca")
    spectrum = PCA().fit(load_breast_cancer().data).explained_variance_
    expected = [peer._assess_dimension(spectrum, k, 569) for k in range(1, 30)]
    np.testing.assert_allclose(minka_log_evidence(spectrum, 569)[:-1], expected, rtol=1e-9)


@pytest.mark.parametrize("loader", LOADERS)
def test_scaled_components_equal_a_standardising_pipeline(loader):
    x = loader().data
    peer = make_pipeline(StandardScaler(), PCA()).fit(x)
    found = pca(gm.collect(x), scale=True)
    np.testing.assert_allclose(found.explained_variance, peer[-1].explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(found.components, peer[-1].components_, atol=1e-7)
    np.testing.assert_allclose((x - found.mean) @ found.weights, peer.transform(x), atol=1e-6)


def test_constant_pixels_are_left_out():
    x = load_digits().data
    peer, found = PCA().fit(x), pca(gm.collect(x))
    assert found.rank == np.linalg.matrix_rank(x - x.mean(axis=0)) == 61
    np.testing.assert_allclose(found.explained_variance, peer.explained_variance_[:61], rtol=1e-9)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 1000)) @ np.diag(np.geomspace(1, 30, 1000))
    peer, found = PCA().fit(x), pca(gm.collect(x))
    assert found.rank == 39
    np.testing.assert_allclose(found.explained_variance, peer.explained_variance_[:39], rtol=1e-9)
    np.testing.assert_allclose(found.components, peer.components_[:39], atol=1e-9)
    some, peer = pca(gm.collect(x), n_components=5), PCA(5, svd_solver="full").fit(x)
    assert some.noise_variance == pytest.approx(peer.noise_variance_)


@pytest.mark.parametrize(("scaled", "n_components"), [(False, 1), (False, 3), (False, None), (True, 1), (True, 12)])
def test_the_probabilistic_model_equals_the_peer(scaled, n_components):
    X = load_wine().data
    X = X / X.std(axis=0) if scaled else X
    ours = gm.PCA(n_components).fit(X[:150])
    theirs = PCA(n_components).fit(X[:150])
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-10)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        ours.get_precision(), theirs.get_precision(), atol=1e-10 * np.abs(theirs.get_precision()).max()
    )
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-10)
    assert ours.score(X[150:]) == pytest.approx(theirs.score(X[150:]), rel=1e-10)


def test_fewer_rows_than_columns_have_the_peers_density():
    X = np.random.default_rng(0).standard_normal((40, 600))
    ours, theirs = gm.PCA(5).fit(X[:30]), PCA(5, svd_solver="full").fit(X[:30])
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)


def test_a_grid_search_without_scoring_chooses_as_the_peer():
    X = load_wine().data
    X = X / X.std(axis=0)
    ours, theirs = (
        GridSearchCV(model, {"n_components": [1, 2, 4, 8, 12]}, cv=KFold(4)).fit(X) for model in (gm.PCA(), PCA())
    )
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-10)
