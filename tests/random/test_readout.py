import numpy as np
import pytest
from sklearn.linear_model import Ridge

import gramian as gm
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.targets import aim_of
from gramian.random.readout import read_out, ridges_for_units


def test_it_is_ridge_regression_on_units_of_unit_variance(rng):
    X = np.tanh(rng.standard_normal((200, 30)))
    Y = X[:, :2] @ [[1.0, 2.0], [0.5, -1.0]] + 0.1 * rng.standard_normal((200, 2)) + [3.0, 50.0]
    moments = gm.collect(np.column_stack([X, Y]))
    names = [f"x{k}" for k in range(30)]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    for ridge in (0.0, 0.3, 40.0):
        found = read_out(moments, names, ["x30", "x31"], ridge=ridge, target_type="continuous")
        peer = Ridge(alpha=ridge, solver="svd").fit(scaled, Y)
        np.testing.assert_allclose(X @ found.coefficients + found.intercept, peer.predict(scaled), rtol=1e-9)


@pytest.mark.parametrize("width", [20, 500])
def test_generalised_cross_validation_is_its_definition(rng, width):
    n = 700
    X = np.tanh(rng.standard_normal((n, 4)) @ rng.standard_normal((4, width)))
    y = X[:, 0] + 0.3 * rng.standard_normal(n)
    moments = gm.collect(np.column_stack([X, y]))
    found = read_out(moments, [f"x{k}" for k in range(width)], [f"x{width}"], target_type="continuous")
    centred, target = (X - X.mean(axis=0)) / X.std(axis=0), y - y.mean()
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    expected = []
    for r in found.selection["ridge"]:
        share = values**2 / (values**2 + r)
        residual = target - left @ (share * (left.T @ target))
        free = n - 1 - 1.4 * share.sum()
        expected.append(n**2 * (residual @ residual) / (target @ target) / free**2 if free > 0 else np.inf)
    # Beyond 450 units the trace is an estimate from 8 random signs.
    np.testing.assert_allclose(found.selection["gcv"], expected, rtol=1e-6 if width < 450 else 0.2)
    assert found.ridge == found.selection["ridge"][np.argmin(found.selection["gcv"])]


def test_the_path_begins_where_rounding_moves_predictions_by_a_hundred_millionth(rng):
    X = rng.standard_normal((1000, 11))
    moments = gm.collect(X)
    problem = regression_of(moments, [f"x{k}" for k in range(10)], aim_of(moments, ["x10"]))
    exact, rounding = ridges_for_units(problem, "exact"), ridges_for_units(problem, "rounding")
    eps = np.finfo(float).eps
    assert exact[0] / 10 < eps * 1000 * 10 / 4e-8 <= exact[0]
    assert rounding[0] / 10 < eps * 1000 * 10 <= rounding[0]
    assert exact[-1] == rounding[-1] == 1000


def test_two_classes_have_one_function():
    frame = {"x": [0.0, 1.0, 2.0, 3.0], "y": ["a", "b", "a", "b"]}
    import pyarrow as pa

    moments = gm.collect(pa.table(frame), targets="y")
    found = read_out(moments, ["x"], ["y"], ridge=0.0, target_type="multiclass")
    assert found.classes == [["a", "b"]]
    assert found.coefficients.shape == (1, 1)
    np.testing.assert_allclose(found.coefficients[0, 0], 0.2)
