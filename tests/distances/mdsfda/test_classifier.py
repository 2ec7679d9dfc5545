"""The classifier on held-out scores: labels, posteriors and choices against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.distances.mdsfda import Labels, axes, choose, held_out_quality, nearest_mean
from gramian.errors import DataError


def test_scores_are_centred_indicators_over_the_root_of_the_counts():
    labels = Labels.of(np.array([0, 0, 1]), 2)
    indicators = np.array([[1, 0], [1, 0], [0, 1.0]])
    np.testing.assert_allclose(labels.scores(), (indicators - indicators.mean(0)) / np.sqrt([2, 1]))
    np.testing.assert_allclose(labels.means(np.array([[1.0], [3.0], [7.0]])), [[2.0], [7.0]])


def test_priors_are_observed_or_given():
    codes = np.array([0, 0, 1])
    np.testing.assert_allclose(Labels.of(codes, 2).priors, [2 / 3, 1 / 3])
    np.testing.assert_allclose(Labels.of(codes, 2, [3, 1]).priors, [0.75, 0.25])
    for wrong in ([1.0], [1.0, 0.0], [1.0, np.nan]):
        with pytest.raises(DataError, match="priors"):
            Labels.of(codes, 2, wrong)


def test_posteriors_are_those_of_gaussians(rng):
    codes = np.repeat([0, 1], 200)
    held = rng.normal(size=(400, 2)) + 3 * codes[:, None]
    labels = Labels.of(codes, 2)
    model = nearest_mean(labels.means(held), held, labels)
    found = model.log_proba(held[:5])
    inverse = model.whiten @ model.whiten.T
    gaps = np.array([[(z - m) @ inverse @ (z - m) for m in model.means] for z in held[:5]])
    brute = np.exp(-gaps / 2) * labels.priors
    np.testing.assert_allclose(np.exp(found), brute / brute.sum(axis=1, keepdims=True), rtol=1e-9)
    right, log_probability = held_out_quality(labels.means(held), held, labels)
    assert right.mean() > 0.95
    assert (log_probability <= 0).all()


def test_axes_come_strongest_first(rng):
    A = rng.normal(size=(4, 4))
    cross = A @ A.T / 50
    rho, Q = axes(cross, 2)
    np.testing.assert_allclose(rho, np.linalg.eigvalsh(cross)[::-1][:2])
    np.testing.assert_allclose(Q.T @ cross @ Q, np.diag(rho), atol=1e-12)


def test_of_equally_good_values_the_last_is_chosen():
    assert choose(np.array([0.5, 0.9, 0.9 - 1e-12, 0.1])) == 2
