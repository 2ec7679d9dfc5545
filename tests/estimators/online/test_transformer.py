"""What every online estimator does with its input: containers, categories, weights, growth, and bad rows."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.estimators.online.transformer import generator

MODELS = [
    gm.HebbianPCA(2, rule="sanger"),
    gm.HebbianPCA(2, rule="subspace", mode="online", learning_rate=1e-3),
    gm.LinearAutoencoder(2),
    gm.LinearAutoencoder(2, tied=False, learning_rate=1e-2),
]
IDS = ["auto", "online", "autoencoder", "untied"]


def weights_of(model):
    return model.components_ if hasattr(model, "components_") else model.encoder_


@pytest.fixture
def table(rng):
    n = 400
    return pd.DataFrame(
        {
            "color": rng.choice(["red", "green", "blue"], n, p=[0.6, 0.3, 0.1]),
            "size": rng.normal(size=n) + 2.0,
            "shape": rng.choice(list("abcde"), n),
            "age": rng.integers(0, 50, n) / 25,
        }
    )


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_codes_are_learnt_as_the_one_hot_matrix_is(model, table):
    from sklearn.base import clone

    found = clone(model).fit(table)
    one_hot = pd.get_dummies(table, columns=["color", "shape"], dtype=float)
    # Dummies are in alphabetical order, levels in order of first sight.
    plain = clone(model).fit(one_hot[found.design_names_])
    np.testing.assert_allclose(found.mean_, plain.mean_, atol=1e-12)
    np.testing.assert_allclose(weights_of(found), weights_of(plain), atol=1e-9)
    np.testing.assert_allclose(found.transform(table), plain.transform(one_hot), atol=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_every_container_of_the_same_values_gives_the_same(model, rng, tmp_path):
    from sklearn.base import clone

    X = rng.normal(size=(300, 4)) * [3.0, 2.0, 1.0, 0.5]
    X[rng.random(X.shape) < 0.5] = 0.0
    names = list("abcd")
    frame = pd.DataFrame(X, columns=names)
    frame.to_parquet(tmp_path / "rows.parquet")
    sources = [X, np.asfortranarray(X), sp.csr_array(X), sp.csc_matrix(X), X.tolist(), frame, pl.DataFrame(frame)]
    sources += [pa.table(frame), str(tmp_path / "rows.parquet"), [frame[:100], frame[100:]]]
    expected = weights_of(clone(model).fit(X))
    for source in sources:
        np.testing.assert_allclose(weights_of(clone(model).fit(source)), expected, atol=1e-8)
    np.testing.assert_allclose(weights_of(clone(model).fit(X.astype(np.float32))), expected, atol=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_pickles_and_files_go_on_learning_alike(model, table, tmp_path):
    from sklearn.base import clone

    fitted = clone(model).partial_fit(table[:200])
    gm.save(fitted, tmp_path / "m.model")
    loaded, copied = gm.load(tmp_path / "m.model"), pickle.loads(pickle.dumps(fitted))
    for each in (fitted, loaded, copied):
        each.partial_fit(table[200:])
    np.testing.assert_array_equal(weights_of(loaded), weights_of(fitted))
    np.testing.assert_array_equal(weights_of(copied), weights_of(fitted))
    np.testing.assert_array_equal(loaded.transform(table), fitted.transform(table))
    assert loaded.history_["updates"].tolist() == fitted.history_["updates"].tolist()


@pytest.mark.parametrize("model", [*MODELS, gm.HebbianPCA(tol=1e-3), gm.NeuralICA(2)], ids=[*IDS, "tol", "ica"])
def test_a_fitted_model_is_the_same_from_a_file(model, table, tmp_path):
    from sklearn.base import clone

    fitted = clone(model).fit(table)
    gm.save(fitted, tmp_path / "m.model")
    loaded = gm.load(tmp_path / "m.model")
    np.testing.assert_array_equal(loaded.transform(table), fitted.transform(table))
    assert loaded.history_.keys() == fitted.history_.keys()


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_new_levels_join_while_learning(model, table):
    from sklearn.base import clone

    late = table.assign(color=np.where(table.index < 200, "red", table["color"]))
    found = clone(model).partial_fit(late[:200])
    assert [name for name in found.design_names_ if name.startswith("color")] == ["color_red"]
    found.partial_fit(late[200:])
    assert {"color_red", "color_green", "color_blue"} < set(found.design_names_)
    expected = pd.get_dummies(late, columns=["color", "shape"], dtype=float)[found.design_names_].mean()
    np.testing.assert_allclose(found.mean_, expected, atol=1e-12)
    assert found.n_samples_seen_ == 400
    assert found.history_["weights"].shape[2] == len(found.design_names_)


def test_rows_of_weight_zero_and_their_levels_are_not_seen(table):
    weights = np.where(table["color"] == "blue", 0.0, 1.0)
    found = gm.HebbianPCA().fit(table, sample_weight=weights)
    kept = gm.HebbianPCA().fit(table[weights > 0])
    assert found.design_names_ == kept.design_names_
    np.testing.assert_allclose(found.weights_, kept.weights_, atol=1e-12)
    named = gm.HebbianPCA().fit(table.assign(w=weights), sample_weight="w")
    np.testing.assert_allclose(named.weights_, kept.weights_, atol=1e-12)


def test_a_named_target_is_no_feature(table):
    found = gm.HebbianPCA().fit(table, y="age")
    assert "age" not in found.design_names_
    assert found.n_features_in_ == 3


def test_missing_numbers_sit_at_the_mean(rng):
    X = rng.normal(size=(500, 3)) * [4.0, 2.0, 1.0] + 10.0
    X[rng.random(X.shape) < 0.2] = np.nan
    found = gm.HebbianPCA(2, rule="sanger").fit(X)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(found.mean_, np.nanmean(X, axis=0))
    np.testing.assert_allclose(found.weights_, gm.HebbianPCA(2, rule="sanger").fit(filled).weights_, atol=1e-9)
    np.testing.assert_allclose(found.transform(X), found.transform(filled), atol=1e-9)


def test_integers_are_numbers_and_named_categories_are_not(rng):
    X = np.column_stack([rng.integers(0, 3, 100), rng.integers(0, 100, 100)])
    assert gm.HebbianPCA().fit(X).design_names_ == ["x0", "x1"]
    found = gm.HebbianPCA(categorical_features=[0]).fit(X)
    assert sorted(found.design_names_) == ["x0_0", "x0_1", "x0_2", "x1"]


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_bad_rows_are_named(model, rng):
    from sklearn.base import clone

    X = rng.normal(size=(50, 4))
    with pytest.raises(DataError, match=r"n_components=2 is more than the 1 design columns"):
        clone(model).fit(X[:, :1])
    with pytest.raises(ValueError, match=r"3 features, but .* is expecting 4"):
        clone(model).partial_fit(X).partial_fit(X[:, :3])
    with pytest.raises(DataError, match="at least 2 rows; got n_samples = 1"):
        clone(model).fit(X[:1])
    with pytest.raises(DataError, match="infinite"):
        clone(model).fit(np.where(X > 1, np.inf, X))
    with pytest.raises(DataError, match="Moments have none"):
        clone(model).fit(gm.collect(X))
    with pytest.raises(DataError, match="sample_weight has 3 values, and the table has 50 rows"):
        clone(model).fit(X, sample_weight=[1, 2, 3])
    with pytest.raises(ColumnError, match="'colour' is not in"):
        clone(model).fit(pd.DataFrame(X, columns=list("abcd")), y="colour")
    with pytest.raises(ColumnError, match="missing: 'd'"):
        clone(model).partial_fit(pd.DataFrame(X, columns=list("abcd"))).partial_fit(
            pd.DataFrame(X[:, :3], columns=list("abc"))
        )


def test_a_call_that_fails_leaves_what_was_learnt(rng):
    X = rng.normal(size=(100, 3))
    model = gm.HebbianPCA().partial_fit(X)
    before = model.weights_.copy()
    with pytest.raises(DataError):
        model.partial_fit(np.where(X > 1, np.inf, X))
    np.testing.assert_array_equal(model.weights_, before)
    model.partial_fit(X)


@pytest.mark.parametrize("model", MODELS[:1] + MODELS[2:3], ids=["auto", "autoencoder"])
def test_one_row_at_a_time_ends_near_the_components(model, rng):
    from sklearn.base import clone

    X = rng.normal(size=(600, 4)) * [4.0, 3.0, 1.0, 1.0] + 100.0
    found = clone(model)
    for row in X:
        found.partial_fit(row[None])
    exact = gm.PCA(2).fit(X).components_
    # 600 rows at a gap of 9 to 1 leave about 2 degrees of sampling error.
    assert np.linalg.norm(weights_of(found) - (weights_of(found) @ exact.T) @ exact, 2) < np.sin(np.radians(6))
    np.testing.assert_allclose(found.mean_, X.mean(axis=0))


def test_generators_of_one_seed_are_alike_and_of_another_purpose_not():
    assert generator(3, 1).random() == generator(np.int64(3), 1).random()
    assert generator(3, 1).random() != generator(3, 2).random()
    assert generator(np.random.RandomState(0)).random() == generator(np.random.RandomState(0)).random()
    generator(None)


@pytest.mark.parametrize("make", [gm.HebbianPCA, gm.LinearAutoencoder, gm.NeuralICA])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame])
def test_numbers_whose_squares_overflow_are_refused_by_column(rng, make, container):
    values = rng.normal(size=(20, 2))
    values[3, 1] = -1e200
    with pytest.raises(DataError, match=r"'?(x1|1)'? .*overflow"):
        make(n_components=1).fit(container(values))
