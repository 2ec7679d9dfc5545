"""Mahalanobis features against scikit-learn: ridge regression, discriminant analysis, target encoding, PLS."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

import gramian as gm


@pytest.fixture
def frame(rng):
    n = 900
    return pd.DataFrame(
        {
            "city": np.char.add("c", rng.integers(0, 25, n).astype(str)),
            "color": rng.choice(["red", "green", "blue"], n),
        }
    )


@pytest.fixture
def y(frame, rng):
    return (np.sin(frame["city"].str[1:].astype(int)) + (frame["color"] == "red") + rng.standard_normal(900)).to_numpy()


def test_the_feature_predicts_as_ridge_regression_does(frame, y):
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(frame)
    for amount in (1.0, 50.0):
        theirs = Ridge(alpha=amount).fit(one_hot, y).predict(one_hot)
        mine = gm.JointTargetEncoder(ridge=amount).fit(frame, y).transform(frame).sum(axis=1)
        np.testing.assert_allclose(mine + y.mean(), theirs, atol=1e-9)


def test_classes_give_the_axes_of_discriminant_analysis(rng):
    x = rng.standard_normal((400, 4))
    label = np.digitize(x[:, 0] + x[:, 1] ** 2 + rng.standard_normal(400), [0.0, 1.5])
    mine = gm.MahalanobisFeatures(ridge=0.0).fit(x, label).transform(x)
    theirs = LinearDiscriminantAnalysis(solver="svd").fit(x, label).transform(x)
    for k in range(2):
        assert abs(np.corrcoef(mine[:, k], theirs[:, k])[0, 1]) == pytest.approx(1.0, abs=1e-8)


def test_one_column_alone_is_its_target_encoding(rng):
    # Without other columns and with little smoothing a joint encoding is a target encoding, up to the mean.
    level = np.char.add("l", rng.integers(0, 8, 500).astype(str))
    frame = pd.DataFrame({"level": level})
    y = rng.standard_normal(500) + (level == "l3")
    mine = gm.JointTargetEncoder(ridge=0.0).fit(frame, y).transform(frame)
    theirs = TargetEncoder(smooth=1e-9, target_type="continuous").fit(frame, y).transform(frame)
    np.testing.assert_allclose(mine + y.mean(), theirs, atol=1e-7)


def test_krylov_features_fit_as_partial_least_squares_does(rng):
    x = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 6))
    y = x @ rng.standard_normal(6) + rng.standard_normal(300)
    for d in (1, 2, 4):
        z = gm.MahalanobisFeatures(d, structure="krylov").fit(x, y).transform(x)
        mine = LinearRegression().fit(z, y).predict(z)
        theirs = PLSRegression(d, scale=True).fit(x, y).predict(x).ravel()
        np.testing.assert_allclose(mine, theirs, atol=1e-8 * np.abs(y).max())


def test_the_joint_encoding_does_not_count_the_same_news_twice(rng):
    level = rng.integers(0, 5, 800)
    frame = pd.DataFrame({"code": np.char.add("c", level.astype(str)), "name": np.char.add("n", level.astype(str))})
    y = level + 0.1 * rng.standard_normal(800)
    joint = gm.JointTargetEncoder(ridge=1.0).fit(frame, y).transform(frame).sum(axis=1)
    apart = (TargetEncoder(target_type="continuous").fit(frame, y).transform(frame) - y.mean()).sum(axis=1)
    assert np.polyfit(joint, y, 1)[0] == pytest.approx(1.0, abs=0.02)
    assert np.polyfit(apart, y, 1)[0] == pytest.approx(0.5, abs=0.02)
