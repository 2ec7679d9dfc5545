"""`NeuralICA`: sources found without tuning, whitened by moments, beside FastICA and Picard."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

import gramian as gm
from gramian.errors import DataError
from gramian.online.ica import amari_index

N, K = 4000, 4


def sources(kind, rng):
    uniform, laplace = rng.uniform(-1, 1, (N, K)), rng.laplace(size=(N, K))
    return {"uniform": uniform, "laplace": laplace, "mixed": np.hstack([uniform[:, :2], laplace[:, 2:]])}[kind]


@pytest.fixture
def mixed(rng):
    mixing = rng.normal(size=(K, K))
    return sources("mixed", rng) @ mixing.T + 5.0, mixing


@pytest.mark.parametrize("kind", ["uniform", "laplace", "mixed"])
@pytest.mark.parametrize("mode", ["minibatch", "online"])
def test_auto_separates_every_kind_of_source(rng, kind, mode):
    mixing = rng.normal(size=(K, K))
    model = gm.NeuralICA(mode=mode, n_epochs=10).fit(sources(kind, rng) @ mixing.T)
    assert amari_index(model.unmixing_ @ mixing) < 0.05
    # mixing_ has the columns of the mixing, up to order, sign and scale.
    assert amari_index(np.linalg.pinv(model.mixing_) @ mixing) < 0.05


def test_tanh_fails_on_super_gaussian_sources(rng):
    mixing = rng.normal(size=(K, K))
    X = sources("laplace", rng) @ mixing.T
    assert amari_index(gm.NeuralICA(nonlinearity="tanh").fit(X).unmixing_ @ mixing) > 0.3
    assert amari_index(gm.NeuralICA(nonlinearity="y-tanh").fit(X).unmixing_ @ mixing) < 0.05


def test_its_sources_are_those_of_fastica_up_to_order_and_sign(mixed):
    X, _ = mixed
    ours = gm.NeuralICA().fit_transform(X)
    theirs = FastICA(whiten="unit-variance", random_state=0, max_iter=1000).fit_transform(X)
    correlation = np.abs(np.corrcoef(ours.T, theirs.T)[:K, K:])
    assert np.sort(correlation.argmax(axis=1)).tolist() == list(range(K))
    assert correlation.max(axis=1).min() > 0.999


def test_white_rows_and_sources_have_identity_covariance(mixed):
    X, _ = mixed
    model = gm.NeuralICA().fit(X)
    white = (X - model.mean_) @ model.whitening_.T
    np.testing.assert_allclose(white.T @ white / N, np.eye(K), atol=1e-10)
    found = model.transform(X)
    np.testing.assert_allclose(found.T @ found / N, np.eye(K), atol=1e-10)
    np.testing.assert_allclose(model.weights_ @ model.whitening_, model.unmixing_, atol=1e-12)
    np.testing.assert_allclose(model.unmixing_ @ model.mixing_, np.eye(K), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(found), X, atol=1e-8)


def test_sources_come_in_order_of_kurtosis_with_fixed_signs(mixed):
    model = gm.NeuralICA().fit(mixed[0])
    assert (np.diff(np.abs(model.kurtosis_)) <= 0).all()
    assert model.nonlinearities_ == ["y-tanh"] * 2 + ["tanh"] * 2
    largest = np.abs(model.unmixing_).argmax(axis=1)
    assert (model.unmixing_[np.arange(K), largest] > 0).all()


@pytest.mark.parametrize("solver", ["fixed-point", "picard"])
def test_other_solvers_find_the_same(mixed, solver):
    if solver == "picard":
        pytest.importorskip("picard")
    X, mixing = mixed
    model = gm.NeuralICA(solver=solver).fit(X)
    assert amari_index(model.unmixing_ @ mixing) < 0.05
    with pytest.raises(DataError, match="takes no weights"):
        gm.NeuralICA(solver=solver).fit(X, sample_weight=np.ones(N))
    with pytest.raises(DataError, match="needs all rows at once"):
        gm.NeuralICA(solver=solver).partial_fit(X)


@pytest.mark.parametrize("mode", ["minibatch", "online"])
def test_a_rate_of_your_own_separates_too(rng, mode):
    mixing = rng.normal(size=(K, K))
    X = sources("uniform", rng) @ mixing.T
    model = gm.NeuralICA(mode=mode, learning_rate=2e-3, nonlinearity="tanh").fit(X)
    assert amari_index(model.unmixing_ @ mixing) < 0.05


def test_rows_that_arrive_in_parts_end_alike(mixed):
    X, mixing = mixed
    model = gm.NeuralICA()
    for start in range(0, N, 500):
        model.partial_fit(X[start : start + 500])
    assert amari_index(model.unmixing_ @ mixing) < 0.08
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    assert len(model.history_["turned"]) == 8


def test_fewer_sources_are_found_among_the_first_components(mixed):
    X, _ = mixed
    model = gm.NeuralICA(2).fit(X)
    assert model.transform(X).shape == (N, 2)
    first = gm.PCA(2).fit(X).components_
    outside = model.unmixing_ - model.unmixing_ @ first.T @ first
    assert np.abs(outside).max() < 1e-8 * np.abs(model.unmixing_).max()


def test_files_and_new_levels(rng, tmp_path):
    table = pd.DataFrame({"a": rng.choice(["x", "y"], 300), "b": rng.laplace(size=300), "c": rng.uniform(size=300)})
    table.to_parquet(tmp_path / "rows.parquet")
    model = gm.NeuralICA().fit(str(tmp_path / "rows.parquet"))
    np.testing.assert_allclose(model.unmixing_, gm.NeuralICA().fit(table).unmixing_, atol=1e-8)
    gm.save(model, tmp_path / "m.model")
    np.testing.assert_array_equal(gm.load(tmp_path / "m.model").transform(table), model.transform(table))
    grown = gm.NeuralICA(2).partial_fit(table).partial_fit(table.assign(a=np.where(table["b"] > 0, "z", table["a"])))
    assert "a_z" in grown.design_names_


def test_weights_are_repeated_rows(rng):
    X, weights = rng.laplace(size=(500, 3)) @ rng.normal(size=(3, 3)), rng.integers(0, 3, 500)
    one = gm.NeuralICA(shuffle=False, batch_size=5000).fit(X, sample_weight=weights)
    many = gm.NeuralICA(shuffle=False, batch_size=5000).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(one.unmixing_, many.unmixing_, atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nonlinearity": "relu"}, "nonlinearity is 'auto', 'tanh', 'cube' or 'y-tanh'; got 'relu'"),
        ({"mode": "batch"}, "mode is 'minibatch' or 'online'"),
        ({"solver": "exact"}, "solver is 'neural', 'fixed-point' or 'picard'"),
        ({"n_components": 5}, "n_components=5 is more than the rank of the 4 design columns, 4"),
        ({"learning_rate": 1e6, "nonlinearity": "cube"}, r"learning_rate=1000000\.0 diverges"),
    ],
)
def test_a_parameter_out_of_range_is_named(mixed, parameters, message):
    with pytest.raises(DataError, match=message):
        gm.NeuralICA(**parameters).fit(mixed[0])


def test_what_has_no_rows_or_gives_them_once_is_refused(mixed):
    X, _ = mixed
    with pytest.raises(DataError, match="Moments have none"):
        gm.NeuralICA().fit(gm.collect(X))
    with pytest.raises(DataError, match="pass a list"):
        gm.NeuralICA().fit(iter([X[:100], X[100:]]))


def test_a_rotation_that_still_turns_warns(mixed, rng):
    X = mixed[0]
    for epochs in (1, 2):
        with pytest.warns(
            ConvergenceWarning, match=rf"last of {epochs} epochs turned the rotation by .* more n_epochs"
        ):
            gm.NeuralICA(n_epochs=epochs, random_state=1).fit(X[:60])
    assert gm.NeuralICA().fit(X).history_["turned"][-1] < 1.0
    # One source has nothing to turn.
    gm.NeuralICA(1, n_epochs=1).fit(X)
