"""JointTargetEncoder: one ridge regression on all levels of all columns, written out with numpy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

import gramian as gm
from gramian.design.encoder import by_position
from gramian.errors import DataError


@pytest.fixture
def frame(rng):
    n = 300
    return pd.DataFrame(
        {
            "city": np.char.add("c", rng.integers(0, 12, n).astype(str)),
            "color": rng.choice(["red", "green", "blue"], n),
            "size": rng.standard_normal(n),
        }
    )


@pytest.fixture
def price(frame, rng):
    city, red = frame["city"].str[1:].astype(int), frame["color"] == "red"
    return city * 0.25 + red + frame["size"] + rng.standard_normal(len(frame))


@pytest.fixture
def label(price):
    return pd.Series(np.array(["low", "mid", "top"])[np.digitize(price, [1.0, 2.5])])


@pytest.mark.parametrize("ridge", [0.0, 4.0, 200.0])
def test_features_are_what_each_column_adds_to_one_ridge_regression(frame, price, ridge):
    columns = frame[["city", "color"]]
    encoder = gm.JointTargetEncoder(ridge=ridge).fit(columns, price)
    blocks = [pd.get_dummies(columns[name]).to_numpy(float) for name in columns]
    X = np.hstack([block - block.mean(axis=0) for block in blocks])
    y = (price - price.mean()).to_numpy()
    weights = np.linalg.lstsq(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ y, rcond=1e-12)[0]
    sizes = [block.shape[1] for block in blocks]
    expected = np.column_stack([X[:, : sizes[0]] @ weights[: sizes[0]], X[:, sizes[0] :] @ weights[sizes[0] :]])
    np.testing.assert_allclose(encoder.transform(columns), expected, atol=1e-9)
    assert encoder.ridge_ == ridge
    # Together they are the regression's prediction.
    residual = y - expected.sum(axis=1)
    assert encoder.r2_ == pytest.approx(1 - residual @ residual / (y @ y), rel=1e-9)


def test_it_is_the_general_form_with_features_by_column(frame, label):
    mine = gm.JointTargetEncoder(ridge=2.0, cv=None).fit(frame, label)
    general = gm.MahalanobisFeatures(structure="columns", ridge=2.0, cv=None).fit(frame, label)
    np.testing.assert_array_equal(mine.transform(frame), general.transform(frame))
    assert set(mine.get_params()) == {"ridge", "cv", "target_type", "categorical_features"}
    assert mine.component_r2_.shape == (0,)


def test_what_cannot_be_fitted_is_named(frame, price):
    with pytest.raises(DataError, match=r"ridge is .*; got -1"):
        gm.JointTargetEncoder(ridge=-1).fit(frame, price)
    with pytest.raises(DataError, match="needs a target"):
        gm.JointTargetEncoder().fit(frame)


def test_names_follow_source_columns_and_classes(frame, price, label):
    encoder = gm.JointTargetEncoder(ridge=1.0)
    assert encoder.fit(frame, price).get_feature_names_out().tolist() == ["city", "color", "size"]
    assert encoder.fit(frame, label == "low").get_feature_names_out().tolist() == ["city", "color", "size"]
    names = encoder.fit(frame, label).get_feature_names_out().tolist()
    assert names[:4] == ["city_low", "city_mid", "city_top", "color_low"]
    assert encoder.classes_.tolist() == ["low", "mid", "top"]
    assert list(encoder.set_output(transform="pandas").transform(frame).columns) == names
    canonical = gm.MahalanobisFeatures(ridge=1.0).fit(frame, label)
    assert canonical.get_feature_names_out().tolist() == ["mahalanobisfeatures0", "mahalanobisfeatures1"]
    array = gm.JointTargetEncoder(ridge=1.0).fit(frame[["size"]].to_numpy(), price)
    assert array.get_feature_names_out(["height"]).tolist() == ["height"]


def test_it_takes_target_encoders_place_in_a_column_transformer(frame, label):
    table = ColumnTransformer([("joint", gm.JointTargetEncoder(), ["city", "color"])], remainder="passthrough")
    model = make_pipeline(table, LogisticRegression(max_iter=500))
    assert model.fit(frame, label).score(frame, label) > 0.5


def test_a_saved_encoder_gives_the_same_features(frame, label, tmp_path):
    encoder = gm.JointTargetEncoder().fit(frame, label)
    gm.save(encoder, tmp_path / "encoder.gm")
    np.testing.assert_array_equal(gm.load(tmp_path / "encoder.gm").transform(frame), encoder.transform(frame))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_held_out_score_is_that_of_refitting_on_the_rows_of_the_other_folds(rng, weighted):
    n, ridge = 240, 20.0
    x = rng.lognormal(sigma=1.5, size=n)
    city = rng.choice(list("abcdef"), n)
    frame = pd.DataFrame({"city": city, "x": x, "gap": np.where(np.arange(n) % 7, x**2, np.nan)})
    target = np.log(x) + (city == "a") + rng.standard_normal(n)
    weight = rng.gamma(2.0, size=n) if weighted else np.ones(n)
    moments = gm.collect(frame.assign(y=target, w=weight), sample_weight="w", folds=5)
    found = gm.JointTargetEncoder(ridge=ridge).fit(moments, "y")
    error = base = 0.0
    for k in range(5):
        train, test = by_position(0, n, 5, 0) != k, by_position(0, n, 5, 0) == k
        alone = gm.JointTargetEncoder(ridge=ridge).fit(frame[train], target[train], sample_weight=weight[train])
        left = target[test] - np.average(target[train], weights=weight[train])
        error += weight[test] @ np.square(left - alone.transform(frame[test]).sum(axis=1))
        base += weight[test] @ np.square(left)
    assert found.r2_cv_ == pytest.approx(1 - error / base, abs=1e-9)


@pytest.mark.parametrize("kind", ["number", "binary", "classes"])
def test_what_differs_from_the_peer_is_what_the_docstring_says(frame, rng, kind):
    n = len(frame)
    y = {"number": rng.random(n), "binary": rng.integers(0, 2, n), "classes": rng.choice(list("pqr"), n)}[kind]
    city, strange = frame[["city"]], pd.DataFrame({"city": ["elsewhere"]})
    ours, peer = gm.JointTargetEncoder(ridge=0.0).fit(city, y), TargetEncoder(smooth=0.0).fit(city, y)
    assert ours.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()
    np.testing.assert_allclose(ours.transform(city), peer.transform(city) - peer.target_mean_, atol=1e-12)
    np.testing.assert_array_equal(ours.transform(strange), 0.0)
    np.testing.assert_allclose(peer.transform(strange)[0], np.atleast_1d(peer.target_mean_))
    # Two levels, or no more than classes: not cross-fitted here, and always by the peer.
    two = pd.DataFrame({"two": rng.choice(["u", "v"], n)})
    np.testing.assert_allclose(ours.fit_transform(two, y), ours.fit(two, y).transform(two), atol=1e-12)
    assert np.abs(peer.fit_transform(two, y) - peer.fit(two, y).transform(two)).max() > 1e-3
    assert np.abs(ours.fit_transform(city, y) - ours.fit(city, y).transform(city)).max() > 1e-3
    # By position: the same in every run.
    np.testing.assert_array_equal(ours.fit_transform(city, y), ours.fit_transform(city, y))


def test_numbers_are_not_encoded_unless_all_columns_are_categories(rng):
    frame = pd.DataFrame({"k": rng.integers(0, 5, 200)})
    y = rng.random(200)
    peer = TargetEncoder(smooth=0.0).fit(frame, y)
    every = gm.JointTargetEncoder(ridge=0.0, categorical_features="all").fit(frame, y)
    np.testing.assert_allclose(every.transform(frame), peer.transform(frame) - y.mean(), atol=1e-12)
    assert np.abs(gm.JointTargetEncoder(ridge=0.0).fit(frame, y).transform(frame) - every.transform(frame)).max() > 1e-3
