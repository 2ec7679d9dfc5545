"""Sums by fold: those of all folds but one are what the rows of the others give."""

from __future__ import annotations

import numpy as np

from gramian.distances.mdsfda import Labels, draw_folds
from gramian.distances.mdsfda_large import FoldSums, solve_features


def test_centred_sums_are_those_of_the_rows_left(rng):
    codes = np.arange(40) % 2
    features, labels = rng.normal(size=(40, 3)) + codes[:, None], Labels.of(codes, 2)
    folds = draw_folds(codes, rng)[:2]
    sums = FoldSums(labels, folds, 3)
    for part in (slice(0, 17), slice(17, 40)):
        sums.add(part, features[part])
    scores = labels.scores()
    for deal in (0, 1):
        for fold in (None, 2):
            rows = np.ones(40, dtype=bool) if fold is None else folds[deal] != fold
            x, y = features[rows], scores[rows]
            A, c, mean, score = sums.centred(deal, fold)
            np.testing.assert_allclose(A, (x - x.mean(0)).T @ (x - x.mean(0)), atol=1e-12)
            np.testing.assert_allclose(c, (x - x.mean(0)).T @ (y - y.mean(0)), atol=1e-12)
            np.testing.assert_allclose(mean, x.mean(0))
            np.testing.assert_allclose(score, y.mean(0), atol=1e-12)


def test_two_classes_of_features_give_the_ridge_direction(rng):
    codes = np.arange(60) % 2
    features, labels = rng.normal(size=(60, 3)) + codes[:, None], Labels.of(codes, 2)
    sums = FoldSums(labels, draw_folds(codes, rng)[:1], 3)
    sums.add(slice(0, 60), features)
    found = solve_features(sums, labels, n_components=1, regularization=0.1)
    centred = features - features.mean(0)
    A = centred.T @ centred
    ridge = 0.1 * np.linalg.eigvalsh(A)[-1]
    direction = np.linalg.solve(A + ridge * np.eye(3), centred.T @ (codes - 0.5))
    cosine = direction @ found.coefficients[:, 0] / np.linalg.norm(direction) / np.linalg.norm(found.coefficients)
    assert abs(cosine) > 1 - 1e-9
