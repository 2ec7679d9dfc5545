"""The second moments of a regression are those of the rows, whichever way S is multiplied."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.targets import aim_of
from gramian.linear.scatter import wide as choice
from gramian.linear.scatter.sparse import NarrowScatter

COLUMNS = ["color", "shape", "grade", "size"]


@pytest.mark.parametrize("route", ["counts", "operator", "elimination"])
@pytest.mark.parametrize("target", ["cost", "kind"])
def test_moments_are_those_of_the_rows(mixed, design, rng, route, target, monkeypatch):
    if route == "operator":
        monkeypatch.setattr(NarrowScatter, "suits", staticmethod(lambda moments, layout: False))
    if route == "elimination":
        monkeypatch.setattr(choice, "DENSE", 2)
    m = gm.collect(mixed)
    aim = aim_of(m, [target])
    found = regression_of(aim.read(m), COLUMNS, aim)
    x = design(mixed, m, COLUMNS)
    h = mixed[["cost"]].to_numpy() if target == "cost" else pd.get_dummies(mixed["kind"], dtype=float).to_numpy()
    h = h - h.mean(axis=0)
    v = rng.standard_normal((x.shape[1], 3))
    np.testing.assert_allclose(found.scatter @ v, x.T @ (x @ v), atol=1e-9)
    np.testing.assert_allclose(found.cross, x.T @ h, atol=1e-10 * np.abs(x.T @ h).max())
    np.testing.assert_allclose(found.own, h.T @ h, rtol=1e-9)
    np.testing.assert_allclose(found.diagonal, np.square(x).sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.matrix, x.T @ x, atol=1e-9)


def test_directions_count_levels_less_one_and_numbers_that_vary(mixed):
    mixed["still"] = 7.5
    m = gm.collect(mixed)
    aim = aim_of(m, ["cost"])
    found = regression_of(m, [*COLUMNS, "still"], aim)
    assert found.directions == 2 + 2 + 1 + 1
    assert found.dimensions == found.directions


def test_centred_coefficients_predict_the_same(mixed, design, rng):
    m = gm.collect(mixed)
    found = regression_of(m, COLUMNS, aim_of(m, ["cost"]))
    raw = rng.standard_normal((found.width, 2))
    fixed = found.centred(raw)
    x = design(mixed, m, COLUMNS)
    np.testing.assert_allclose(x @ fixed, x @ raw, atol=1e-12)
    for span in found.layout.category_spans:
        np.testing.assert_allclose(found.mean[span] @ fixed[span], 0.0, atol=1e-14)
