import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.random import features
from gramian.tables import open_table


def one_hot(frame, names):
    """The design matrix, from the names of its columns."""
    columns = []
    for name in names:
        source, _, level = name.partition("_")
        columns.append((frame[source] == level) if level else frame[source])
    return np.column_stack(columns).astype(float)


@pytest.mark.parametrize("projection", ["gaussian", "uniform", "sparse", "hadamard"])
@pytest.mark.parametrize("activation", [None, "tanh", "sigmoid", "relu", "step"])
def test_features_are_those_of_the_explicit_one_hot_matrix(mixed, projection, activation):
    model = gm.RandomFeatures(11, projection=projection, activation=activation).fit(mixed)
    X, weights = one_hot(mixed, model.design_names_), model.weights_
    assert weights.shape == (X.shape[1] + 1, 11)
    again = gm.RandomFeatures(weights=weights, activation=activation).fit(X)
    np.testing.assert_allclose(model.transform(mixed), again.transform(X), atol=1e-12)
    net = X @ weights[:-1] + weights[-1]
    expected = {
        None: net,
        "tanh": np.tanh(net),
        "sigmoid": 1 / (1 + np.exp(-net)),
        "relu": np.maximum(net, 0),
        "step": (net >= 0) * 1.0,
    }[activation]
    if activation != "step":  # A net input may be within rounding of 0.
        np.testing.assert_allclose(model.transform(mixed), expected, atol=1e-12)


def test_an_unseen_level_and_a_missing_number_add_nothing(mixed):
    model = gm.RandomFeatures(6, activation="relu").fit(mixed)
    rows = mixed.head(2).copy()
    rows.loc[0, "color"] = "violet"
    rows.loc[1, "size"] = np.nan
    X, weights = one_hot(rows, model.design_names_), model.weights_
    assert X[0, :4].sum() == 0
    np.testing.assert_allclose(
        model.transform(rows), np.maximum(np.nan_to_num(X) @ weights[:-1] + weights[-1], 0), atol=1e-12
    )
    assert model.black_swans(rows).tolist() == [[True, False, False, False], [False] * 4]


def test_products_of_fourier_features_estimate_the_gaussian_kernel(rng):
    X = rng.standard_normal((30, 4))
    Z = gm.RandomFeatures(20_000, activation="cos", scale=1.5).fit_transform(X)
    squared = np.square(X[:, None] - X[None]).sum(axis=2)
    # Each product is a mean of 20,000 values between -2 and 2.
    np.testing.assert_allclose(Z @ Z.T, np.exp(-(1.5**2) * squared / (2 * 4)), atol=5 / np.sqrt(20_000))


KERNELS = {
    "gaussian": lambda d, s: np.exp(-((s * d) ** 2) / 2),
    "hadamard": lambda d, s: np.exp(-((s * d) ** 2) / 2),
    "uniform": lambda d, s: np.sinc(np.sqrt(3) * s * d / np.pi),
    "sparse": lambda d, s: 2 / 3 + np.cos(np.sqrt(3) * s * d) / 3,
}
"""The characteristic function of a weight of variance s^2, of each projection."""


@pytest.mark.parametrize("projection", KERNELS)
@pytest.mark.parametrize("p", [1, 2, 5, 16])
def test_the_error_of_each_kernel_falls_with_the_root_of_the_features(rng, projection, p):
    X = 1.5 * rng.standard_normal((25, p))
    kernel = KERNELS[projection](X[:, None] - X[None], 1 / np.sqrt(p)).prod(axis=2)

    def error(k):
        squares = []
        for seed in range(6):
            Z = gm.RandomFeatures(k, activation="cos", projection=projection, random_state=seed).fit_transform(X)
            squares.append(np.mean((Z @ Z.T - kernel) ** 2))
        return np.sqrt(np.mean(squares))

    # A product is a mean of k values whose variance is at most 1; features that share a block are not independent.
    assert error(64) < 1.6 / np.sqrt(64)
    assert error(4096) < 1.6 / np.sqrt(4096)


def test_products_of_fourier_features_of_levels_estimate_the_gaussian_kernel(rng):
    frame = pd.DataFrame({"a": list("uvwu"), "b": list("xxyy"), "n": [0.0, 1.0, -1.0, 0.5]})
    for projection in ("gaussian", "hadamard"):
        model = gm.RandomFeatures(40_000, activation="cos", projection=projection).fit(frame)
        X, Z = one_hot(frame, model.design_names_), model.transform(frame)
        squared = np.square(X[:, None] - X[None]).sum(axis=2)
        np.testing.assert_allclose(Z @ Z.T, np.exp(-squared / (2 * 3)), atol=5 / np.sqrt(40_000))


def test_net_inputs_have_the_spread_that_scale_names(rng):
    for frame in (
        rng.standard_normal((500, 8)),
        pd.DataFrame({f"c{j}": rng.choice(list("abcdef"), 500) for j in range(8)}),
    ):
        model = gm.RandomFeatures(2000, activation="relu", scale=3.0).fit(frame)
        model.set_params(activation=None)
        net = model.transform(frame) - model.weights_[-1]
        assert abs(net.std() - 3.0) < 0.3


def test_given_weights_must_fit_the_design(mixed):
    with pytest.raises(DataError, match="weights has 3 rows, and there are 8 design columns: give 8 rows, or 9"):
        gm.RandomFeatures(weights=np.ones((3, 2))).fit(mixed)
    with pytest.raises(DataError, match="finite numbers"):
        gm.RandomFeatures(weights=[[np.nan, 1.0]]).fit([[1.0]])


def test_with_or_without_a_bias(rng):
    X, V = rng.standard_normal((5, 3)), rng.standard_normal((4, 2))
    np.testing.assert_allclose(gm.RandomFeatures(weights=V[:3]).fit_transform(X), X @ V[:3], atol=1e-14)
    np.testing.assert_allclose(gm.RandomFeatures(weights=V).fit_transform(X), X @ V[:3] + V[3], atol=1e-14)


def test_blocks_of_rows_are_the_rows(mixed, monkeypatch):
    model = gm.RandomFeatures(5, activation="tanh").fit(mixed)
    whole = features.RandomMap(model.projection_, "tanh", (np.ones((6, 3)),))
    rows = next(whole.design.rows(open_table(mixed)))
    monkeypatch.setattr(features, "BLOCK_VALUES", 70)
    found = np.concatenate([part for _, part in whole.blocks(rows)])
    np.testing.assert_allclose(
        found, np.tanh(np.tanh(whole.projection.apply_rows(rows)).sum(axis=1) + 1)[:, None].repeat(3, 1)
    )
    np.testing.assert_array_equal(whole.apply([rows]), whole.apply_rows(rows))


def test_filling_in_place_is_applying(rng, mixed):
    for X, activation in (
        (rng.standard_normal((30, 4)), "tanh"),
        (mixed, "relu"),
        (rng.standard_normal((30, 4)), "step"),
    ):
        whole = features.RandomMap(gm.RandomFeatures(5, activation=activation).fit(X).projection_, activation)
        rows = next(whole.design.rows(open_table(X)))
        room = np.full((len(rows), 7), -1.0)
        whole.fill(rows, room[:, :5])
        np.testing.assert_allclose(room[:, :5], whole.apply_rows(rows), atol=1e-12)
        assert (room[:, 5:] == -1.0).all()
    gaps = rng.standard_normal((30, 4))
    gaps[3, 2] = np.nan
    rows = next(whole.design.rows(open_table(gaps)))
    whole.fill(rows, room[:, :5])
    np.testing.assert_allclose(room[:, :5], whole.apply_rows(rows), atol=1e-12)
