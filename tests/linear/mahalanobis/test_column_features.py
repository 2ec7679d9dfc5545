"""One feature per source column: which are encoded, which are whole, and that both carry the regression."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.layout import Layout, layout_of
from gramian.linear.mahalanobis import by_column, feature_names, mahalanobis, way_back, whole_columns
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.targets import aim_of

LAYOUT = Layout(["flag", "color", "city", "size"], [2, 3, 7, 1], ["category", "category", "category", "number"])


@pytest.fixture
def frame(rng):
    n = 500
    city, color = rng.integers(0, 7, n), rng.integers(0, 3, n)
    frame = pd.DataFrame({"flag": rng.choice(["yes", "no"], n), "color": color.astype(str), "city": city.astype(str)})
    frame["size"] = 1e4 * rng.standard_normal(n)
    signal = np.sin(city) + color + (frame["flag"] == "yes") + 1e-4 * frame["size"] + rng.standard_normal(n)
    frame["y"] = signal
    frame["two"] = np.where(signal > 1, "high", "low")
    frame["three"] = np.array(["low", "mid", "top"])[np.digitize(signal, [0.5, 2.0])]
    return frame


@pytest.mark.parametrize(
    ("targets", "whole"),
    [
        (["y"], [True, False, False, True]),
        (["two"], [True, False, False, True]),
        (["three"], [True, True, False, True]),
        (["three", "y"], [True, True, False, True]),
    ],
)
def test_a_column_is_whole_where_it_has_no_more_directions_than_the_target(frame, targets, whole):
    moments = gm.collect(frame, targets=["y", "two", "three"])
    aim = aim_of(moments, targets).one_per_class()
    layout = layout_of(moments, LAYOUT.columns)
    assert whole_columns(layout, aim).tolist() == whole
    assert len(feature_names(layout, aim)) == 4 * aim.size


def test_weights_carry_the_coefficients(rng):
    coefficients = rng.standard_normal((LAYOUT.width, 3))
    weights = by_column(LAYOUT, coefficients)
    np.testing.assert_array_equal(weights.reshape(LAYOUT.width, 4, 3).sum(axis=1), coefficients)
    assert (np.count_nonzero(weights, axis=1) == 3).all()


@pytest.mark.parametrize("target", ["y", "two", "three"])
def test_a_regression_on_the_features_is_the_regression_on_all_columns(frame, target):
    moments = gm.collect(frame, targets=["y", "two", "three"])
    found = mahalanobis(moments, LAYOUT.columns, [target], structure="columns", ridge=0.0)
    scatter = moments.covariance(LAYOUT.columns, ddof=0) * len(frame)
    # Lengths of features differ by the unit of their column, which the rank must not see.
    length = np.sqrt(np.diagonal(found.weights.T @ scatter @ found.weights))
    weights = found.weights / length
    x = pd.get_dummies(frame[LAYOUT.columns], dtype=float)[[*moments.design_names_of(LAYOUT.columns)]].to_numpy()
    z, x = (x - x.mean(axis=0)) @ weights, x - x.mean(axis=0)
    h = frame[["y"]].to_numpy() if target == "y" else pd.get_dummies(frame[target], dtype=float).to_numpy()
    h = h - h.mean(axis=0)
    left = [h - design @ np.linalg.lstsq(design, h, rcond=1e-9)[0] for design in (z, x / x.std(axis=0))]
    np.testing.assert_allclose(left[0], left[1], atol=1e-8)


def test_the_way_back_does_not_depend_on_units(frame):
    # Features of unit length 1 beside some of 1e9 are no rounding error.
    encoder = gm.JointTargetEncoder(ridge=0.0)
    columns = frame[LAYOUT.columns]
    small = encoder.fit(columns, frame["y"])
    back = small.inverse_transform(small.transform(columns), design=True)
    large = gm.JointTargetEncoder(ridge=0.0).fit(columns.assign(size=1e9 * columns["size"]), frame["y"])
    again = large.inverse_transform(large.transform(columns.assign(size=1e9 * columns["size"])), design=True)
    assert np.abs(back[:, -1] - columns["size"]).max() < 1e-6
    np.testing.assert_allclose(again[:, :-1], back[:, :-1], atol=1e-6)


def test_the_way_back_of_more_features_than_design_columns_is_the_regression_on_them(frame):
    moments = gm.collect(frame.assign(size=1e6 * frame["size"], again=frame["size"]))
    columns = [*LAYOUT.columns, "again"]
    problem = regression_of(moments, columns, aim_of(moments, ["y"]))
    scatter = moments.covariance(columns, ddof=0) * len(frame)
    weights = np.hstack([np.diag(np.linspace(1, 2, problem.width)), np.eye(problem.width)[:, ::-1] * 1e-3])
    found = way_back(problem, weights)
    assert found.shape == weights.T.shape
    # The regression of x on z = x W, whatever combination of features that depend on each other it takes.
    inner = weights.T @ scatter @ weights
    size = np.sqrt(np.diagonal(scatter))
    np.testing.assert_allclose((inner @ found) / size, (weights.T @ scatter) / size, atol=1e-9 * np.abs(inner).max())
    np.testing.assert_allclose(
        scatter @ (weights @ found) / size / size[:, None], scatter / size / size[:, None], atol=1e-8
    )
