"""`column_importance()` against its definition on rows, and what it says of noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError


@pytest.fixture
def frame(rng):
    n = 600
    g = rng.choice(["a", "b", "c"], n)
    x = rng.normal(size=n)
    y = 2.0 * x + np.select([g == "a", g == "b"], [1.0, -1.0]) + rng.normal(size=n)
    return pd.DataFrame(
        {"g": g, "x": x, "noise": rng.choice(list("pqrst"), n), "y": y, "won": np.where(y > 0, "yes", "no")}
    )


def parts_of(model, rows):
    """Return the prediction of each column alone, centred on the rows of the fit."""
    design = model.design_
    blocks = []
    for column in design.columns:
        span = design.spans[column.name]
        if column.form == "category":
            levels = next(labels for c, labels in zip(design.categorical, design.labels, strict=True) if c is column)
            block = np.stack([(rows[column.name] == level).to_numpy(float) for level in levels.to_list()], axis=1)
        else:
            block = rows[[column.name]].to_numpy(float)
        blocks.append((block - design.mean[span]) @ model.projection_.weights[span])
    return blocks


def test_importance_is_the_share_of_squares_that_a_column_explains(frame):
    model = gm.Ridge(alpha=30.0).fit(frame[["g", "x", "noise", "y"]], y="y")
    found = dict(zip(*(model.column_importance()[name] for name in ("column", "importance")), strict=True))
    y = frame["y"] - frame["y"].mean()
    parts = [part[:, 0] for part in parts_of(model, frame)]
    whole = sum(parts)
    for name, part in zip(["g", "x", "noise"], parts, strict=True):
        assert found[name] == pytest.approx((2 * part @ y - part @ whole) / (y @ y), rel=1e-9)
    assert sum(found.values()) == pytest.approx(model.score(frame[["g", "x", "noise"]], frame["y"]), rel=1e-9)


def test_held_out_importance_adds_up_to_the_held_out_r2_and_noise_has_none(frame):
    moments = gm.collect(frame.drop(columns="won"), folds=4, targets="y")
    table = gm.Ridge(alpha=1.0).fit(moments, y="y").column_importance()
    assert set(table["measure"]) == {"held-out"}
    assert table["column"].tolist() == ["x", "g", "noise"]
    errors = total = 0.0
    for train, test in zip([moments.without_fold(k) for k in range(4)], moments.folds, strict=True):
        model = gm.Ridge(alpha=1.0).fit(train, y="y")
        weights, mean = model.projection_.weights[:, 0], float(model.projection_.offset[0])
        columns = model.design_.names
        names = test.design_names_of(["g", "x", "noise"])
        order = [names.index(name) for name in columns]
        both = test.covariance(["g", "x", "noise", "y"], ddof=0)
        at = test.mean(["g", "x", "noise", "y"])
        gap = at[order] @ weights - model.design_.mean @ weights + mean
        spread = weights @ both[np.ix_(order, order)] @ weights - 2 * weights @ both[order, -1] + both[-1, -1]
        errors += test.n_rows * (spread + (gap - at[-1]) ** 2)
        total += test.n_rows * (both[-1, -1] + (at[-1] - mean) ** 2)
    assert table["importance"].sum() == pytest.approx(1 - errors / total, rel=1e-9)
    noise = table[table["column"] == "noise"].iloc[0]
    assert abs(noise["importance"]) < 4 * noise["std_error"] + 0.01


@pytest.mark.parametrize("make", [gm.FisherDiscriminant, gm.MahalanobisFeatures, gm.JointTargetEncoder])
@pytest.mark.parametrize("folds", [0, 4])
def test_features_for_classes_rank_the_columns(frame, make, folds):
    moments = gm.collect(frame.drop(columns="y"), targets="won", folds=folds)
    table = make().fit(moments, y="won").column_importance()
    assert table["column"].tolist() == ["x", "g", "noise"]
    assert table["importance"].sum() == pytest.approx(0.55, abs=0.05)
    assert table["importance"].iloc[2] < 0.02
    assert table["std_error"].notna().all() == bool(folds)


def test_fisher_and_mahalanobis_explain_the_same_of_two_classes(frame):
    moments = gm.collect(frame.drop(columns="y"), targets="won")
    a = gm.FisherDiscriminant().fit(moments, y="won").column_importance()
    model = gm.MahalanobisFeatures(ridge=0).fit(moments, y="won")
    b = model.column_importance()
    assert b["importance"].sum() == pytest.approx(model.r2_)
    np.testing.assert_allclose(a["importance"], b["importance"], atol=1e-8)


def test_models_with_a_link_divide_their_predictor(frame):
    model = gm.LogisticRegression(alpha=1.0).fit(frame.drop(columns="y"), y="won")
    table = model.column_importance()
    assert table["importance"].sum() == pytest.approx(1.0)
    whole = sum(parts_of(model, frame))
    by_name = dict(zip(table["column"], table["importance"], strict=True))
    for name, part in zip(["g", "x", "noise"], parts_of(model, frame), strict=True):
        assert by_name[name] == pytest.approx(float((part * whole).sum() / (whole**2).sum()), rel=1e-7, abs=1e-9)
    assert set(table["measure"]) == {"predictor"}


def test_bins_count_with_their_number(frame):
    moments = gm.collect(frame.drop(columns="won"), targets="y", bins={"x": 8})
    table = gm.Ridge(alpha=1.0).fit(moments, y="y").column_importance()
    assert sorted(table["column"]) == ["g", "noise", "x"]


def test_a_model_from_a_file_says_that_it_cannot(frame, tmp_path):
    gm.save(gm.Ridge().fit(frame.drop(columns="won"), y="y"), tmp_path / "m")
    with pytest.raises(DataError, match="holds no moments"):
        gm.load(tmp_path / "m").column_importance()
