import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import gramian as gm
from gramian.errors import DataError
from gramian.online.schedules import angle_between


@pytest.fixture(scope="module")
def digits():
    return load_digits().data


@pytest.mark.parametrize("k", [1, 2, 10])
def test_the_code_spans_the_principal_subspace(digits, k):
    model, pca = gm.LinearAutoencoder(k).fit(digits), gm.PCA(k).fit(digits)
    assert angle_between(model.encoder_, pca.components_) < 1.0
    assert angle_between(model.decoder_, pca.components_) < 1.0


def test_its_error_is_the_variance_left_out(digits):
    model, pca = gm.LinearAutoencoder(5).fit(digits), gm.PCA(ddof=0).fit(digits)
    assert model.reconstruction_error_ == pytest.approx(pca.explained_variance_[5:].sum(), rel=1e-3)
    left = digits - model.reconstruct(digits)
    assert (left**2).sum(axis=1).mean() == pytest.approx(model.reconstruction_error_, rel=1e-10)
    errors = model.history_["error"]
    assert errors[-1] == model.reconstruction_error_
    assert errors[-1] <= errors[0]


@pytest.mark.parametrize("tied", [True, False])
def test_a_rate_of_your_own_gets_there_too(rng, tied):
    X = rng.normal(size=(400, 4)) * [3.0, 2.0, 0.8, 0.6]
    model = gm.LinearAutoencoder(2, tied=tied, learning_rate=0.03, n_epochs=200).fit(X)
    assert angle_between(model.decoder_, gm.PCA(2).fit(X).components_) < 1.0
    assert (model.encoder_ is model.decoder_) or np.array_equal(model.encoder_, model.decoder_) == tied


def test_categories_are_rebuilt_as_their_likely_levels(rng):
    a = rng.choice(["x", "y", "z"], 300)
    table = pd.DataFrame({"a": a, "b": np.where(a == "x", "u", "v"), "c": np.where(a == "z", "s", "t")})
    back = gm.LinearAutoencoder(2).fit(table).reconstruct(table)
    assert (back["a"] == table["a"]).all()
    assert (back["b"] == table["b"]).all()


def test_set_output_does_not_change_what_is_rebuilt(digits):
    model = gm.LinearAutoencoder(2, n_epochs=2).fit(digits).set_output(transform="pandas")
    assert isinstance(model.transform(digits), pd.DataFrame)
    assert isinstance(model.reconstruct(digits), np.ndarray)


def test_divergence_is_reported(digits):
    with pytest.raises(
        DataError, match=r"learning_rate=1\.0 diverges: at update \d+ .*or less does not, nor does 'auto'"
    ):
        gm.LinearAutoencoder(2, learning_rate=1.0).fit(digits)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tied": "yes"}, "tied is True or False; got 'yes'"),
        ({"learning_rate": "slow"}, "learning_rate is 'auto'"),
        ({"schedule": "1/t"}, "needs a number as learning_rate"),
        ({"n_components": 65}, "n_components=65 is more than the 64 design columns"),
    ],
)
def test_a_parameter_out_of_range_is_named(digits, parameters, message):
    with pytest.raises(DataError, match=message):
        gm.LinearAutoencoder(**parameters).fit(digits)
