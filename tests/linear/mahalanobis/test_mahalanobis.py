"""The solver behind the features: choices, folds, wide columns."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.mahalanobis import fold_weights, mahalanobis
from gramian.linear.regression import ridge as ridge_module
from gramian.linear.scatter import wide as choice


@pytest.fixture
def frame(mixed):
    mixed["price"] = mixed["grade"] + (mixed["color"] == "red") + np.linspace(0, 1, len(mixed))
    return mixed


COLUMNS = ["color", "shape", "grade", "size", "cost"]


def test_the_wide_route_agrees_with_the_dense_one(frame, monkeypatch):
    m = gm.collect(frame, folds=3)
    for structure in ("canonical", "columns", "krylov"):
        for target in ("price", "kind"):
            monkeypatch.undo()
            dense = mahalanobis(m, COLUMNS, [target], structure=structure, ridge=3.0)
            monkeypatch.setattr(ridge_module, "EIGEN", 1)
            monkeypatch.setattr(choice, "DENSE", 2)
            wide = mahalanobis(m, COLUMNS, [target], structure=structure, ridge=3.0)
            scale = np.abs(dense.weights).max()
            np.testing.assert_allclose(wide.weights, dense.weights, atol=1e-8 * scale)
            assert wide.test.statistic == pytest.approx(dense.test.statistic, rel=1e-8)
            assert wide.r2 == pytest.approx(dense.r2, rel=1e-8)


@pytest.mark.parametrize("structure", ["canonical", "columns", "krylov"])
def test_fold_weights_of_all_rows_are_the_weights(frame, structure):
    m = gm.collect(frame)
    options = {} if structure != "krylov" else {"n_components": 3}
    found = mahalanobis(m, COLUMNS, ["kind"], structure=structure, ridge=3.0, **options)
    again = fold_weights(found, found.aim.read(m), COLUMNS)
    centred = m.covariance(COLUMNS)
    # Equal as features: coefficients of a category may differ by a constant.
    gap = again - found.weights
    assert np.einsum("ij,ij->", gap, centred @ gap) < 1e-16 * np.einsum("ij,ij->", again, centred @ again)


def test_a_column_of_ids_explains_every_row(frame, monkeypatch):
    # Each row its own level: nothing is left for the other columns, and rounding must not be chased.
    frame["id"] = [f"i{k}" for k in range(len(frame))]
    monkeypatch.setattr(ridge_module, "EIGEN", 1)
    monkeypatch.setattr(choice, "DENSE", 2)
    found = mahalanobis(gm.collect(frame, folds=4), ["id", "color", "shape"], ["price"])
    assert np.square(found.test.correlations).sum() == pytest.approx(1.0, abs=1e-8)
    assert found.r2_cv > 0.02
    assert found.ridge >= 1


def test_too_many_components_say_what_else_there_is(frame):
    with pytest.raises(DataError, match="structure='columns'"):
        mahalanobis(gm.collect(frame), COLUMNS, ["price"], n_components=2)
    with pytest.raises(DataError, match="directions that the Krylov"):
        mahalanobis(gm.collect(frame), ["size"], ["price"], structure="krylov", n_components=1000)


def test_unrelated_constants_give_one_zero_feature(rng):
    frame = pd.DataFrame({"x": np.ones(30), "y": rng.standard_normal(30)})
    for structure in ("canonical", "krylov"):
        found = mahalanobis(gm.collect(frame), ["x"], ["y"], structure=structure, ridge=0.0)
        np.testing.assert_array_equal(found.weights, [[0.0]])
        assert found.test.p_value == 1.0


def test_several_targets_share_the_features(frame):
    m = gm.collect(frame)
    found = mahalanobis(m, ["color", "shape", "size"], ["price", "kind"], ridge=0.0)
    assert found.weights.shape[1] == 3
    assert found.test.rank_y == 3
    columns = mahalanobis(m, ["color", "shape"], ["price", "kind"], structure="columns", ridge=0.0)
    assert columns.names == [f"{c}_{k}" for c in ("color", "shape") for k in ("price", "a", "b", "c")]
