from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import hadamard

import gramian as gm
from gramian.random.features import FAST, Hadamard


@pytest.mark.parametrize(("p", "k"), [(1, 1), (5, 3), (8, 8), (6, 20), (16, 40)])
def test_the_weights_are_rows_of_three_signed_transforms(p, k):
    found = Hadamard.drawn(p, k, seed=4)
    q = found.signs.shape[2]
    assert q >= p > q // 2
    H = hadamard(q).astype(float)
    blocks = [H @ np.diag(s[0]) @ H @ np.diag(s[1]) @ H @ np.diag(s[2]) / q for s in found.signs]
    expected = np.vstack(blocks)[found.chosen][:, :p].T
    np.testing.assert_allclose(found.weights(), expected, atol=1e-12)
    assert len(set(found.chosen.tolist())) == k


def test_at_full_size_lengths_are_kept_exactly():
    weights = Hadamard.drawn(32, 32, seed=0).weights()
    np.testing.assert_allclose(weights @ weights.T, 32 * np.eye(32), atol=1e-12)


def test_the_fast_route_gives_what_the_matrix_gives(rng):
    X = rng.standard_normal((20, FAST + 3))
    X[3, 5] = np.nan
    for activation in (None, "tanh", "cos"):
        model = gm.RandomFeatures(700, projection="hadamard", activation=activation).fit(X)
        weights = model.weights_
        net = np.nan_to_num(X) @ weights[:-1] + weights[-1]
        expected = {None: net, "tanh": np.tanh(net), "cos": np.sqrt(2 / 700) * np.cos(net)}[activation]
        np.testing.assert_allclose(model.transform(X), expected, atol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 9])
def test_rows_of_random_length_are_standard_normal(p):
    weights = Hadamard.drawn(p, 20_000, seed=1, normal=True).weights()
    for row in [*weights, *(weights[i] + weights[j] for i in range(p) for j in range(i))]:
        # Any sum of entries of a row is normal, so its kernel is exp(-t^2 var / 2).
        variance = 1.0 if row.std() < 1.2 else 2.0
        for t in (0.5, 1.0, 2.0):
            assert abs(np.cos(t * row).mean() - np.exp(-(t**2) * variance / 2)) < 5 / np.sqrt(20_000)


def test_a_model_of_an_older_file_keeps_its_weights(rng, tmp_path):
    """Before, rows of a Hadamard projection had one length with every activation."""
    X = rng.standard_normal((6, FAST))
    model = gm.RandomFeatures(700, projection="hadamard", activation="cos").fit(X)
    old = Hadamard.drawn(FAST, 700, model._drawn_from).weights() / np.sqrt(FAST)
    model.projection_ = replace(model.projection_, weights=old)
    del model._normal_rows
    gm.save(model, tmp_path / "old.model")
    expected = np.sqrt(2 / 700) * np.cos(X @ old + model.weights_[-1])
    np.testing.assert_allclose(gm.load(tmp_path / "old.model").transform(X), expected, atol=1e-12)
