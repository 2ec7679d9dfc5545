"""Triangular factors in place of a decomposition: the same solution where D is Euclidean, and no answer where it is not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.distance import cdist

from gramian.distances import mdsfda as definite
from gramian.distances import mdsfda as exact
from gramian.distances.mds import gram
from gramian.distances.mdsfda import Discriminant, Labels, draw_folds, largest_eigenvalue, solve, solve_definite
from gramian.estimators.mdsfda import MDSFDA


def clouds(rng: np.random.Generator, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) % 3
    return rng.normal(size=(n, p)) + rng.normal(size=(3, p))[y], y


def by_decomposition(G: np.ndarray, labels: Labels, relative: float, folds: np.ndarray) -> Discriminant:
    values, vectors = scipy.linalg.eigh(G)
    return solve(values, vectors, labels, n_components=2, regularization=relative, folds=folds)


@pytest.mark.parametrize("metric", ["euclidean", "root of cityblock"])
@pytest.mark.parametrize("relative", [1e-5, 0.03, 10.0])  # the first needs more rounds than are allowed
def test_factors_give_what_the_decomposition_gives(rng: np.random.Generator, metric: str, relative: float) -> None:
    X, y = clouds(rng, 230, 12)
    # The root of a city-block distance is Euclidean, of full rank; 12 numbers span 12 dimensions.
    D = cdist(X, X) if metric == "euclidean" else np.sqrt(cdist(X, X, "cityblock"))
    G, _ = gram(D)
    labels, folds = Labels.of(y, 3), draw_folds(y, rng)[:1]
    before = G.copy()
    found = solve_definite(G, labels, n_components=2, regularization=relative, folds=folds[0])
    np.testing.assert_array_equal(G, before)
    expected = by_decomposition(G, labels, relative, folds)
    assert found is not None
    # Rounding of the factor grows with largest / r, that of the decomposition does not.
    slack = 1e-13 / min(relative, 1.0)
    for name in ("embedding", "eigenvalues"):
        a, b = np.asarray(getattr(found, name)), np.asarray(getattr(expected, name))
        np.testing.assert_allclose(a, b, atol=max(1e-10, 100 * slack) * np.abs(b).max(), err_msg=name)
    # Weights themselves may differ by what no row of inner products meets.
    np.testing.assert_allclose(G @ found.weights, found.embedding, atol=1e-9 * np.abs(found.embedding).max())
    np.testing.assert_allclose(found.classifier.means, expected.classifier.means, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(found.path.accuracy, expected.path.accuracy)
    np.testing.assert_array_equal(found.path.right, expected.path.right)
    assert found.negative_share == 0


def test_rounds_and_the_inverse_of_the_factor_agree(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = clouds(rng, 150, 40)
    G, _ = gram(cdist(X, X))
    options = {"n_components": 2, "regularization": 0.1, "folds": draw_folds(y, rng)[0]}
    by_blocks = []
    solutions = definite._block_solutions
    monkeypatch.setattr(definite, "_block_solutions", lambda *a: by_blocks.append(True) or solutions(*a))
    rounds = solve_definite(G, Labels.of(y, 3), **options)  # type: ignore[arg-type]
    assert not by_blocks
    monkeypatch.setattr(definite, "ROUNDS", 8)
    inverse = solve_definite(G, Labels.of(y, 3), **options)  # type: ignore[arg-type]
    assert by_blocks
    assert rounds is not None
    assert inverse is not None
    np.testing.assert_allclose(rounds.embedding, inverse.embedding, atol=1e-7)


@pytest.mark.parametrize("corner", [10, 150])  # too few objects to show it, and all of them
def test_a_negative_eigenvalue_is_never_passed_over(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, corner: int
) -> None:
    monkeypatch.setattr(definite, "CORNER", corner)
    X, y = clouds(rng, 150, 160)
    G, _ = gram(cdist(X, X))
    labels, folds = Labels.of(y, 3), draw_folds(y, rng)[0]
    values, vectors = np.linalg.eigh(G)
    at = 30
    for share in (-0.3, -1e-3, -1e-8):
        values[at] = share * values[-1]
        changed = (vectors * values) @ vectors.T
        changed = (changed + changed.T) / 2
        assert solve_definite(changed, labels, n_components=2, regularization=0.05, folds=folds) is None


def test_a_corner_shows_most_distances_that_are_not_euclidean(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No product with the whole matrix is spent on them."""
    asked = []
    monkeypatch.setattr(definite, "CORNER", 40)
    monkeypatch.setattr(definite, "largest_eigenvalue", lambda G: asked.append(len(G)) or largest_eigenvalue(G))
    X, y = clouds(rng, 150, 12)
    for D, spared in ((cdist(X, X, "cityblock"), True), (cdist(X, X), False)):
        found = solve_definite(
            gram(D)[0], Labels.of(y, 3), n_components=2, regularization=0.05, folds=draw_folds(y, rng)[0]
        )
        assert (found is None) == spared
        assert asked == ([] if spared else [150])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_estimator_takes_factors_for_a_given_regularisation(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    X, y = clouds(rng, 520, 10)
    new = X[:20] + rng.normal(size=(20, 10))
    D, rows = (np.sqrt(cdist(part, X, "cityblock")).astype(dtype) for part in (X, new))
    used = []
    monkeypatch.setattr(exact, "solve", lambda *a, **k: used.append(True) or solve(*a, **k))  # type: ignore[func-returns-value]
    quick = MDSFDA(2, regularization=0.05).fit(D, y)
    assert not used
    tolerance = 1e-8 if dtype == "float64" else 2e-3
    np.testing.assert_allclose(quick.transform(D), quick.embedding_, atol=tolerance * np.abs(quick.embedding_).max())
    monkeypatch.setattr(exact, "MIN_OBJECTS", 10**9)
    whole = MDSFDA(2, regularization=0.05).fit(D, y)
    assert used
    np.testing.assert_allclose(quick.embedding_, whole.embedding_, atol=tolerance * np.abs(whole.embedding_).max())
    np.testing.assert_allclose(quick.transform(rows), whole.transform(rows), atol=10 * tolerance)
    np.testing.assert_allclose(quick.predict_proba(rows), whole.predict_proba(rows), atol=10 * tolerance)
    assert quick.negative_share_ == pytest.approx(whole.negative_share_, abs=1e-4)


def test_distances_that_are_not_euclidean_are_decomposed(rng: np.random.Generator) -> None:
    X, y = clouds(rng, 520, 10)
    D = cdist(X, X, "cityblock")
    model = MDSFDA(2, regularization=0.05).fit(D, y)
    assert model.negative_share_ > 0.05
    np.testing.assert_allclose(model.transform(D), model.embedding_, atol=1e-8 * np.abs(model.embedding_).max())


def test_largest_eigenvalue_has_all_its_digits(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 40))  # forty eigenvalues close to each other
    G, _ = gram(cdist(X, X))
    assert largest_eigenvalue(G) == pytest.approx(np.linalg.eigvalsh(G)[-1], rel=1e-11)
