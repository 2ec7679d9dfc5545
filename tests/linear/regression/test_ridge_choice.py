"""The ridge chosen from moments is the one that refitting on rows would choose."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.design.encoder import by_position
from gramian.errors import DataError
from gramian.linear.regression import ridge as ridge_choice
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.ridge import choose_ridge, ridges_for
from gramian.linear.regression.targets import aim_of


@pytest.fixture
def frame(rng):
    n = 400
    a = rng.integers(0, 60, n)
    return pd.DataFrame(
        {
            "a": np.char.add("a", a.astype(str)),
            "b": rng.choice(["x", "y", "z"], n),
            "size": rng.lognormal(sigma=2.0, size=n),
            "y": np.sin(a) + rng.standard_normal(n),
            "kind": rng.choice(["p", "q", "r"], n, p=[0.5, 0.3, 0.2]),
        }
    )


def rows_of(frame, moments):
    a = (frame["a"].to_numpy()[:, None] == np.array(moments.levels("a"), dtype=object)).astype(float)
    b = (frame["b"].to_numpy()[:, None] == np.array(moments.levels("b"), dtype=object)).astype(float)
    return np.hstack([a, b, frame[["size"]].to_numpy()])


def brute_force(x, h, fold_of, amount):
    """Return R^2 of predicting each fold from a fit to the rows of the others, a level they lack as the average row."""
    categories = [slice(0, x.shape[1] - 4), slice(x.shape[1] - 4, x.shape[1] - 1)]
    error = base = 0.0
    for k in np.unique(fold_of):
        train, test = fold_of != k, fold_of == k
        mx, mh = x[train].mean(axis=0), h[train].mean(axis=0)
        xc = x[train] - mx
        v = np.append(np.ones(x.shape[1] - 1), x[train, -1].var())
        fit = np.linalg.solve(xc.T @ xc + amount * np.diag(v), xc.T @ (h[train] - mh))
        gap = x[test] - mx
        for span in categories:
            gap[(x[test][:, span] @ mx[span]) == 0, span] = 0.0
        error += np.square(h[test] - mh - gap @ fit).sum()
        base += np.square(h[test] - mh).sum()
    return 1 - error / base


@pytest.mark.parametrize("target", ["y", "kind"])
def test_cross_validation_from_moments_equals_refitting(frame, target, route):
    moments = gm.collect(frame, folds=5)
    aim = aim_of(moments, [target])
    read = aim.read(moments)
    problem = regression_of(read, ["a", "b", "size"], aim)
    best, curve = choose_ridge(read, ["a", "b", "size"], aim, problem, "auto")
    x, fold_of = rows_of(frame, moments), by_position(0, len(frame), 5, 0)
    y = frame[target].to_numpy()
    h = y[:, None] if target == "y" else (y[:, None] == np.unique(y)).astype(float)
    expected = [brute_force(x, h, fold_of, amount) for amount in curve["ridge"]]
    np.testing.assert_allclose(curve["r2"], expected, atol=1e-8)
    assert best == curve["ridge"][np.argmax(expected)]


def test_generalised_cross_validation_equals_its_formula_on_rows(frame):
    moments = gm.collect(frame)
    aim = aim_of(moments, ["y"])
    problem = regression_of(moments, ["a", "b", "size"], aim)
    _, curve = choose_ridge(moments, ["a", "b", "size"], aim, problem, "auto")
    x, y = rows_of(frame, moments), frame["y"].to_numpy()
    x, y = x - x.mean(axis=0), y - y.mean()
    v = np.append(np.ones(x.shape[1] - 1), x[:, -1].var())
    for amount, score in zip(curve["ridge"], curve["gcv"], strict=True):
        hat = x @ np.linalg.solve(x.T @ x + amount * np.diag(v), x.T)
        free = len(y) - 1 - np.trace(hat)
        assert score == pytest.approx(
            len(y) ** 2 * np.square(y - hat @ y).sum() / np.square(y).sum() / free**2, rel=1e-8
        )


def test_what_generalised_cross_validation_leaves_over_is_that_of_the_ridge_regression(frame, route):
    moments = gm.collect(frame)
    aim = aim_of(moments, ["y"])
    problem = regression_of(moments, ["a", "b", "size"], aim)
    curve = ridge_choice.generalised(aim, problem, np.array([0.3, 30.0]))
    free = (len(frame) - 1 - curve["effective_columns"]) / len(frame)
    x, y = rows_of(frame, moments), frame["y"].to_numpy()
    x, y = x - x.mean(axis=0), y - y.mean()
    v = np.append(np.ones(x.shape[1] - 1), x[:, -1].var())
    for amount, left in zip(curve["ridge"], curve["gcv"] * np.square(free), strict=True):
        fitted = x @ np.linalg.solve(x.T @ x + amount * np.diag(v), x.T @ y)
        assert left == pytest.approx(np.square(y - fitted).sum() / np.square(y).sum(), rel=1e-6)


def test_the_trace_by_random_signs_is_close(frame, monkeypatch):
    moments = gm.collect(frame)
    aim = aim_of(moments, ["y"])
    problem = regression_of(moments, ["a", "b", "size"], aim)
    ridges = np.array([1.0, 10.0, 100.0])
    exact = ridge_choice.generalised(aim, problem, ridges)["effective_columns"]
    monkeypatch.setattr(ridge_choice, "EIGEN", 1)
    found = ridge_choice.generalised(aim, problem, ridges)["effective_columns"]
    np.testing.assert_allclose(found, exact, rtol=0.2)
    assert (found != exact).any()


def test_noise_is_shrunk_away_and_signal_is_not(rng):
    n = 2000
    frame = pd.DataFrame({"a": np.char.add("a", rng.integers(0, 300, n).astype(str)), "x": rng.standard_normal(n)})
    noise = gm.MahalanobisFeatures().fit(frame[["a"]], rng.standard_normal(n))
    signal = gm.MahalanobisFeatures().fit(frame[["x"]], frame["x"] + 0.1 * rng.standard_normal(n))
    assert noise.ridge_ >= 30
    assert signal.ridge_ <= 3


def test_cv_without_folds_names_collect(frame):
    with pytest.raises(DataError, match=r"collect\(folds=5\)"):
        gm.MahalanobisFeatures(ridge="cv").fit(gm.collect(frame), "y")


def test_the_path_reaches_from_nothing_to_all_rows(frame):
    moments = gm.collect(frame)
    aim = aim_of(moments, ["y"])
    ridges = ridges_for(regression_of(moments, ["a", "b"], aim))
    assert ridges[0] == pytest.approx(0.01)
    assert ridges[-1] >= len(frame)
    assert (np.diff(ridges) > 0).all()
