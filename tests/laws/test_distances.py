"""Laws of features from distances: identities of the Gram matrix, and solvers that must agree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.distance import cdist

from gramian.distances import saturation
from gramian.distances.mds import gram, gram_product
from gramian.distances.mdsfda import GRID, Labels, axes, choose, draw_folds, held_out_quality, oriented, solve
from gramian.distances.mdsfda_large import FoldSums, krylov_map, solve_features
from gramian.estimators.mds import ClassicalMDS
from gramian.estimators.mdsfda import MDSFDA
from gramian.estimators.spine.estimator import rng_of


def clouds(rng: np.random.Generator, n: int, p: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) % classes
    return rng.normal(size=(n, p)) + rng.normal(size=(classes, p))[y], y


def same_span(A: np.ndarray, B: np.ndarray) -> float:
    """Return the sine of the largest angle between two column spaces."""
    return float(np.sin(scipy.linalg.subspace_angles(A, B)).max())


def absolute(G: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(G)
    return (vectors * np.abs(values)) @ vectors.T


def test_gram_of_euclidean_distances_is_centred_inner_products(rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 7)) + 3
    G, _ = gram(cdist(X, X))
    centred = X - X.mean(axis=0)
    assert np.abs(G - centred @ centred.T).max() < 1e-10


def test_gram_is_the_centring_matrix_on_both_sides(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 3))
    D = cdist(X, X, "cityblock")
    C = np.eye(40) - 1 / 40
    G, means = gram(D)
    np.testing.assert_allclose(G, -0.5 * C @ (D * D) @ C, atol=1e-12)
    V = rng.normal(size=(40, 3))
    np.testing.assert_allclose(gram_product(D, means, V), G @ V, atol=1e-10)


@pytest.mark.parametrize("relative", [1e-8, 0.01, 0.3])
def test_mdsfda_of_vectors_spans_regularised_fisher(rng: np.random.Generator, relative: float) -> None:
    X, y = clouds(rng, 120, 6, 4)
    model = MDSFDA(3, regularization=relative).fit(cdist(X, X), y)
    centred = X - X.mean(axis=0)
    total = centred.T @ centred
    between = sum((y == k).sum() * np.outer(m, m) for k in range(4) for m in [centred[y == k].mean(axis=0)])
    ridge = relative * np.linalg.eigvalsh(total)[-1]
    values, W = scipy.linalg.eigh(between, total + ridge * np.eye(6))
    for k in range(1, 4):
        assert same_span(model.embedding_[:, :k], centred @ W[:, ::-1][:, :k]) < 1e-6
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], rtol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_mdsfda_agrees_with_the_literal_solve(rng: np.random.Generator, metric: str) -> None:
    X, y = clouds(rng, 300, 20, 4)
    D = cdist(X, X, metric)
    model = MDSFDA(3, regularization=0.05).fit(D, y)
    C = np.eye(300) - 1 / 300
    G = absolute(-0.5 * C @ (D * D) @ C)
    H = np.eye(4)[y]
    M = G @ H @ np.diag(1 / H.sum(axis=0)) @ H.T @ G
    left = G @ G + 0.05 * np.linalg.eigvalsh(G)[-1] * G
    values, V = np.linalg.eig(np.linalg.pinv(left, rcond=1e-12, hermitian=True) @ M)
    order = np.argsort(-values.real)[:3]
    np.testing.assert_allclose(model.eigenvalues_, values.real[order], rtol=1e-6)
    for k in range(1, 4):
        assert same_span(model.embedding_[:, :k], (G @ V[:, order].real)[:, :k]) < 1e-6


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "sqeuclidean"])
@pytest.mark.parametrize("model", [MDSFDA(2), MDSFDA(2, solver="iterative"), MDSFDA(2, n_landmarks=30), ClassicalMDS(3),
                                   ClassicalMDS(3, n_landmarks=30), ClassicalMDS(3, correction="lingoes"),
                                   ClassicalMDS(3, correction="cailliez")], ids=str)  # fmt: skip
def test_training_objects_land_on_the_embedding(rng: np.random.Generator, metric: str, model: object) -> None:
    X, y = clouds(rng, 90, 5, 3)
    D = cdist(X, X, metric)
    Z = model.fit_transform(D, y)  # type: ignore[attr-defined]
    np.testing.assert_allclose(model.transform(D), Z, atol=1e-8 * np.abs(Z).max())  # type: ignore[attr-defined]


def test_all_objects_as_landmarks_is_exact(rng: np.random.Generator) -> None:
    X, y = clouds(rng, 80, 10, 3)
    D = cdist(X, X, "cityblock")
    exact, landmarks = MDSFDA(2).fit(D, y), MDSFDA(2, n_landmarks=80).fit(D, y)
    np.testing.assert_allclose(landmarks.embedding_, exact.embedding_, atol=1e-8)
    np.testing.assert_allclose(landmarks.predict_proba(D[:9]), exact.predict_proba(D[:9]), atol=1e-8)
    np.testing.assert_allclose(landmarks.cv_results_["accuracy"], exact.cv_results_["accuracy"], atol=1e-12)
    scaled = ClassicalMDS(2).fit(D).embedding_
    np.testing.assert_allclose(ClassicalMDS(2, n_landmarks=80).fit(D).embedding_, scaled, atol=1e-9)


def test_krylov_in_full_dimension_is_exact(rng: np.random.Generator) -> None:
    X, y = clouds(rng, 70, 10, 3)
    D = cdist(X, X, "cityblock")
    exact, iterative = MDSFDA(2).fit(D, y), MDSFDA(2, solver="iterative").fit(D, y)
    np.testing.assert_allclose(iterative.embedding_, exact.embedding_, atol=1e-7)
    assert iterative.regularization_ == exact.regularization_


def test_krylov_finds_the_largest_eigenvalues(rng: np.random.Generator) -> None:
    X, _ = clouds(rng, 500, 12, 3)
    D = cdist(X, X, "cityblock")
    features, _ = krylov_map(D, rng, n_dimensions=160)
    values = np.linalg.eigvalsh(gram(D)[0])
    np.testing.assert_allclose(features.values[:10], values[::-1][:10], rtol=1e-6)


def test_cross_validation_equals_brute_force(rng: np.random.Generator) -> None:
    """Each fold's scores are those of a ridge regression with an intercept fitted without it, in the same coordinates."""
    X, y = clouds(rng, 75, 15, 3)
    D = cdist(X, X, "cityblock")
    labels = Labels.of(y, 3)
    folds = draw_folds(y, np.random.default_rng(3))
    values, vectors = np.linalg.eigh(gram(D)[0])
    found = solve(values, vectors, labels, n_components=2, regularization=None, folds=folds)
    pairs = [_brute_force(values, vectors, labels, folds, relative, 2) for relative in GRID]
    accuracy, probability = ([part.mean() for part in parts] for parts in zip(*pairs, strict=True))
    np.testing.assert_allclose(found.path.accuracy, accuracy, atol=1e-12)
    np.testing.assert_allclose(found.path.log_probability, probability, rtol=1e-6, atol=1e-8)
    assert found.path.chosen == GRID[choose(np.array(accuracy))]


def test_the_choice_of_a_saturation_equals_brute_force(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the same sampled objects: every rate by refits without each fold, the best where its lead exceeds its error."""
    monkeypatch.setattr(saturation, "SAMPLED_OBJECTS", 90)
    taken = []
    for spread in (0.2, 3.0):  # a ring around a disc, told apart by saturated distances; and one that cannot be told
        y = np.arange(140) % 2
        angle, radius = rng.uniform(0, 2 * np.pi, 140), y + spread * rng.normal(size=140)
        D = cdist(*[np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])] * 2, "cityblock")
        model = MDSFDA(1, random_state=4).fit(D, y)
        draws = rng_of(model.random_state).spawn(4)[2]
        some = saturation.sample_objects(y, draws)
        folds, labels = draw_folds(y[some], draws), Labels.of(y[some], 2)
        accuracies, rights = [], []
        for rate in saturation.RATES:
            part = saturation.saturated(D[np.ix_(some, some)], rate, saturation.typical_square(D))
            values, vectors = np.linalg.eigh(gram(part)[0])
            found = [_brute_force(values, vectors, labels, folds, relative, 1)[0] for relative in GRID]
            accuracies.append(max(right.mean() for right in found))
            rights.append(
                found[choose(np.array([right.mean() for right in found]))].reshape(len(folds), -1).mean(axis=0)
            )
        np.testing.assert_allclose(model.saturation_results_["accuracy"], accuracies, atol=1e-12)
        best = int(np.argmax(accuracies))
        lead = rights[best] - rights[0]
        assert model.saturation_ == (saturation.RATES[best] if lead.sum() > np.linalg.norm(lead) else None)
        taken.append(model.saturation_ is not None)
    assert taken == [True, False]


def test_without_regularisation_classes_collapse_and_held_out_objects_do_not(rng: np.random.Generator) -> None:
    """The printed method, made exact: with full rank every training class is one point, which says nothing of new objects."""
    y = np.arange(60) % 3
    for _ in range(4):
        X = rng.normal(size=(60, 200)) + 0.2 * y[:, None]
        model, limit = (MDSFDA(2, regularization=r).fit(cdist(X, X), y) for r in (0, 1e-9))
        for k in range(3):
            assert np.ptp(model.embedding_[y == k], axis=0).max() < 1e-6
        np.testing.assert_allclose(model.eigenvalues_, 1, atol=1e-9)
        # Every axis separates equally well: those of the limit are taken, up to a few objects that lie on the border.
        assert model.cv_results_["accuracy"][0] == pytest.approx(limit.cv_results_["accuracy"][0], abs=0.02)
        assert model.cv_results_["accuracy"][0] < 0.9


def _brute_force(
    values: np.ndarray, vectors: np.ndarray, labels: Labels, folds: np.ndarray, relative: float, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return which objects are right and their log-probabilities, from a regression without each fold."""
    features = vectors * np.sqrt(np.abs(values))
    Y, ridge = labels.scores(), relative * np.abs(values).max()
    fitted = _ridge(features, Y, features, ridge)
    _, Q = axes(Y.T @ fitted, k)
    Q = oriented(Q, labels.means(fitted))
    held = np.concatenate([_left_out(features, Y, deal, 0.8 * ridge) for deal in folds]) @ Q
    return held_out_quality(labels.means(fitted @ Q), held, labels.repeated(len(folds)))


def _ridge(X: np.ndarray, Y: np.ndarray, new: np.ndarray, penalty: float) -> np.ndarray:
    centred = X - X.mean(axis=0)
    coefficients = np.linalg.solve(centred.T @ centred + penalty * np.eye(X.shape[1]), centred.T @ Y)
    return (new - X.mean(axis=0)) @ coefficients + Y.mean(axis=0)


def _left_out(X: np.ndarray, Y: np.ndarray, deal: np.ndarray, penalty: float) -> np.ndarray:
    out = np.empty_like(Y)
    for f in np.unique(deal):
        out[deal == f] = _ridge(X[deal != f], Y[deal != f], X[deal == f], penalty)
    return out


def test_fold_sums_do_not_depend_on_the_stretches(rng: np.random.Generator) -> None:
    X, y = clouds(rng, 90, 6, 3)
    labels, folds = Labels.of(y, 3), draw_folds(y, rng)
    whole, parts = FoldSums(labels, folds, 6), FoldSums(labels, folds, 6)
    whole.add(slice(0, 90), X)
    for start in (0, 17, 60):
        stop = {0: 17, 17: 60, 60: 90}[start]
        parts.add(slice(start, stop), X[start:stop])
    a, b = (solve_features(s, labels, n_components=2, regularization=None) for s in (whole, parts))
    np.testing.assert_allclose(a.coefficients, b.coefficients, rtol=1e-9)


def test_order_of_objects_and_scale_of_distances_do_not_matter(rng: np.random.Generator) -> None:
    X, y = clouds(rng, 60, 5, 3)
    D = cdist(X, X, "cityblock")
    order = rng.permutation(60)
    model = MDSFDA(2, regularization=0.1).fit(D, y)
    turned = MDSFDA(2, regularization=0.1).fit(1000 * D[np.ix_(order, order)], y[order])
    np.testing.assert_allclose(turned.eigenvalues_, model.eigenvalues_, rtol=1e-9)
    assert same_span(turned.embedding_, model.embedding_[order]) < 1e-7


@pytest.mark.parametrize("correction", ["lingoes", "cailliez"])
@pytest.mark.parametrize("n", [40, 130])
def test_corrections_make_distances_euclidean(rng: np.random.Generator, correction: str, n: int) -> None:
    X = rng.normal(size=(n, 4))
    D = cdist(X, X, "sqeuclidean") + 0.0
    plain, fixed = ClassicalMDS(2).fit(D), ClassicalMDS(2, correction=correction).fit(D)
    assert plain.negative_share_ > 0.05
    assert fixed.correction_constant_ > 0
    assert fixed.eigenvalues_[-1] > -1e-8 * fixed.eigenvalues_[0]
    # The least such constant: the corrected matrix has one more zero eigenvalue than centring gives.
    assert abs(fixed.eigenvalues_[-2]) < 1e-7 * fixed.eigenvalues_[0]
