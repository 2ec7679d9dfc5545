"""MDS-FDA from an eigendecomposition: folds, held-out scores and signs against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.distances.mds import gram
from gramian.distances.mdsfda import GRID, Labels, draw_folds, oriented, share_kept, solve, solve_left


def inner_products(rng, codes):
    X = rng.normal(size=(len(codes), 4)) + codes[:, None]
    return gram(np.linalg.norm(X[:, None] - X, axis=2))[0]


def test_folds_are_equal_and_classes_spread_over_them(rng):
    codes = np.repeat([0, 1], [50, 25])
    for folds in draw_folds(codes, rng):
        assert np.bincount(folds).tolist() == [15] * 5
        assert np.bincount(folds[codes == 1]).tolist() == [5] * 5


def test_signs_put_the_farthest_class_on_the_positive_side():
    means = np.array([[-3.0, 1.0], [1.0, 1.0], [2.0, -2.0]])
    turned = means @ oriented(np.eye(2), means)
    assert turned[np.abs(turned).argmax(axis=0), [0, 1]].tolist() == [3.0, 2.0]


def test_a_positive_definite_system_is_solved_and_another_refused(rng):
    A = rng.normal(size=(5, 5))
    left, right = A @ A.T + np.eye(5), rng.normal(size=(5, 2))
    np.testing.assert_allclose(solve_left(left.copy(), right), np.linalg.solve(left, right), rtol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        solve_left(-np.eye(3), np.ones((3, 1)))


def test_four_fifths_of_the_objects_keep_four_fifths_of_the_ridge():
    assert share_kept(5) == pytest.approx(0.8)


def test_the_embedding_lies_in_the_span_of_the_regressions(rng):
    codes = np.arange(45) % 3
    G, labels = inner_products(rng, codes), Labels.of(codes, 3)
    folds = draw_folds(codes, rng)[:1]
    found = solve(*np.linalg.eigh(G), labels, n_components=2, regularization=0.05, folds=folds)
    ridge = 0.05 * np.linalg.eigvalsh(G)[-1]
    fitted = G @ np.linalg.solve(G + ridge * np.eye(45), labels.scores())
    rest = found.embedding - fitted @ np.linalg.lstsq(fitted, found.embedding, rcond=None)[0]
    np.testing.assert_allclose(rest, 0, atol=1e-8 * np.abs(found.embedding).max())
    assert (np.diff(found.eigenvalues) <= 0).all()


def test_the_regularisation_is_the_best_of_the_grid(rng):
    codes = np.arange(60) % 2
    folds = draw_folds(codes, rng)[:1]
    found = solve(
        *np.linalg.eigh(inner_products(rng, codes)),
        Labels.of(codes, 2),
        n_components=1,
        regularization=None,
        folds=folds,
    )
    assert found.path.chosen in GRID
    assert found.path.accuracy.max() == found.path.accuracy[list(GRID).index(found.path.chosen)]
