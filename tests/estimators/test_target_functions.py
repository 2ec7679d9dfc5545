"""Target values as the columns they are collected under."""

import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import KFold

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.estimators.mahalanobis import derived_targets
from gramian.estimators.spine.training import TARGET, target_outputs


def test_one_output_has_one_name_and_several_have_numbers():
    assert list(target_outputs([1.0, 2.0])) == [TARGET]
    with pytest.warns(DataConversionWarning):
        assert list(target_outputs(np.array([[1.0], [2.0]]))) == [TARGET]
    for y in (np.ones((3, 2)), pd.DataFrame({"a": [1.0] * 3, "b": [2.0] * 3})):
        assert list(target_outputs(y)) == [f"{TARGET}0", f"{TARGET}1"]


def test_functions_are_of_single_values():
    y = {TARGET: pa.array([10.0, 30.0, 20.0, 20.0])}
    np.testing.assert_allclose(derived_targets(y, "ranks")[TARGET], [0.125, 0.875, 0.5, 0.5])
    np.testing.assert_array_equal(derived_targets(y, "slices")[TARGET], [1, 8, 5, 5])
    powers = derived_targets(y, lambda v: np.column_stack([v, v**2]))
    np.testing.assert_array_equal(powers[f"{TARGET}1"], [100.0, 900.0, 400.0, 400.0])


def test_a_weight_ranks_as_rows():
    found = derived_targets({TARGET: pa.array([1.0, 2.0, 3.0])}, "ranks", np.array([2.0, 1.0, 1.0]))[TARGET]
    rows = derived_targets({TARGET: pa.array([1.0, 1.0, 2.0, 3.0])}, "ranks")[TARGET]
    np.testing.assert_allclose(found, np.asarray(rows)[[0, 2, 3]])


def test_what_cannot_be_ranked_is_named():
    with pytest.raises(DataError, match="continuous target"):
        derived_targets({TARGET: pa.array(["a", "b"])}, "ranks")
    with pytest.raises(DataError, match="1 values for 2 rows"):
        derived_targets({TARGET: pa.array([1.0, 2.0])}, "ranks", np.ones(1))


# Rows in which a named target is missing


def with_gaps(rng):
    """Return rows, some without a class, some without a number to predict, and a last one that sums the others up."""
    n = 120
    frame = pd.DataFrame(
        {"color": rng.choice(["red", "blue", "green"], n), "size": rng.normal(size=n), "age": rng.integers(20, 60, n)}
    )
    frame["bought"] = np.where(frame["size"] + rng.normal(size=n) > 0, "yes", "no")
    frame["price"] = frame["size"] + (frame["color"] == "red") + 0.1 * rng.normal(size=n)
    total = {"color": None, "size": frame["size"].sum(), "age": frame["age"].sum(), "bought": None, "price": np.nan}
    frame = pd.concat([frame, pd.DataFrame([total])], ignore_index=True)
    frame.loc[[0, 17], "bought"] = None
    frame.loc[[17, 30, 31], "price"] = np.nan
    return frame


MODELS = [
    *[
        (model, "bought")
        for model in (gm.FisherDiscriminant(), gm.FisherDiscriminant(shrinkage=0.3), gm.ELMClassifier(20))
    ],
    *[(model, "price") for model in (gm.LassoSelector(), gm.ELMRegressor(20, direct_links=True))],
    *[
        (model, target)
        for model in (
            gm.MahalanobisFeatures(ridge=1.0),
            gm.MahalanobisFeatures(solver="sgd"),
            gm.JointTargetEncoder(ridge=1.0),
            gm.PearsonFilter(k=1),
            gm.MutualInformationFilter(k=1),
            gm.IndependenceFilter(),
            gm.RedundancyFilter(),
            gm.MRMRFilter(k=2),
            gm.ForwardSelector(),
            gm.RecursiveEliminator(k=1),
        )
        for target in ("bought", "price")
    ],
]


def learned(model):
    """Return what a fit has set, as numbers and texts."""
    names = ("coef_", "components_", "scores_", "support_", "classes_", "mean_", "n_components_")
    found = {name: np.asarray(getattr(model, name)) for name in names if hasattr(model, name)}
    assert found
    return found


CASES = [
    *[(model, target, "pandas") for model, target in MODELS],
    *[
        (model, target, container)
        for model, target in [(gm.FisherDiscriminant(), "bought"), (gm.ELMRegressor(20), "price")]
        for container in ("polars", "arrow", "parquet")
    ],
]


@pytest.mark.parametrize(("model", "target", "container"), CASES, ids=lambda each: str(each).replace(" ", ""))
def test_a_fit_is_that_of_the_rows_with_a_target(rng, caplog, tmp_path, model, target, container):
    from sklearn.base import clone

    frame = with_gaps(rng).drop(columns="price" if target == "bought" else "bought")
    whole = frame.dropna(subset=[target])
    frame.to_parquet(tmp_path / "rows.parquet")
    source = {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "parquet": tmp_path / "rows.parquet",
    }[container]
    with caplog.at_level(logging.INFO, logger="gramian"):
        found = clone(model).fit(source, target)
    expected = clone(model).fit(whole, target)
    for name, values in learned(expected).items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(getattr(found, name), values, rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(getattr(found, name), values)
    said = [record.getMessage() for record in caplog.records]
    count = len(frame) - len(whole)
    # An ELM of columns that are not scaled also names its saturated units.
    said = [text for text in said if "saturated" not in text]
    assert said == [f"left out {count} of 121 rows: target '{target}' is missing there"]


def test_pca_judged_by_a_target_leaves_rows_out(rng, caplog):
    frame = with_gaps(rng).drop(columns="bought")
    # Folds go by position, and rows left out keep theirs: the number chosen need not be that of the other rows alone.
    with caplog.at_level(logging.INFO, logger="gramian"):
        model = gm.PCA("cv-target").fit(frame, "price")
    assert model.moments_.n_rows == 117
    assert [record.getMessage() for record in caplog.records] == [
        "left out 4 of 121 rows: target 'price' is missing there"
    ]


@pytest.mark.parametrize("cv", [3, KFold(3)], ids=["folds", "splitter"])
def test_cross_fitted_features_are_there_for_every_row(rng, caplog, cv):
    frame = with_gaps(rng)[["color", "size", "bought"]]
    with caplog.at_level(logging.INFO, logger="gramian"):
        features = gm.MahalanobisFeatures(ridge=1.0, cv=cv).fit_transform(frame, "bought")
    assert features.shape == (121, 1)
    assert np.isfinite(features).all()
    assert [record.getMessage() for record in caplog.records] == [
        "left out 3 of 121 rows: target 'bought' is missing there"
    ]


def test_rows_that_are_added_leave_theirs_out(rng):
    frame = with_gaps(rng)[["color", "size", "bought"]]
    model = gm.FisherDiscriminant().partial_fit(frame[:60], "bought").partial_fit(frame[60:], "bought")
    whole = gm.FisherDiscriminant().fit(frame.dropna(subset=["bought"]), "bought")
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    assert model.moments_.rows_left_out == 3


@pytest.mark.parametrize(
    "y",
    [np.array([1.0, np.nan, 0.0, 1.0]), np.array(["a", None, "b", "a"], dtype=object), pa.array(["a", None, "b", "a"])],
)
def test_missing_values_of_an_array_raise_as_in_scikit_learn(y):
    X = pd.DataFrame({"color": ["r", "b", "r", "b"], "size": [1.0, 2.0, 3.0, 5.0]})
    for model in (gm.FisherDiscriminant(), gm.PearsonFilter(k=1), gm.MahalanobisFeatures(), gm.ELMClassifier(5)):
        with pytest.raises(DataError, match=r"missing values|NaN"):
            model.fit(X, y)


@pytest.mark.parametrize("target", ["bought", "price"])
def test_moments_whose_target_is_missing_somewhere_say_what_to_do(rng, target):
    frame = with_gaps(rng)
    moments = gm.collect(frame)
    again = rf"target '{target}' is missing in .* rows.*collect\(targets=\['{target}'\]\)"
    for model in (gm.MahalanobisFeatures(), gm.PearsonFilter(k=1), gm.ForwardSelector()):
        with pytest.raises(ColumnError, match=again):
            model.fit(moments, target)
    with pytest.raises(ColumnError, match=again):
        gm.rank_columns(moments, target)
    with pytest.raises(ColumnError, match=again):
        gm.independence_test(moments, "color", target)
    # What the line says works.
    assert gm.PearsonFilter(k=1).fit(gm.collect(frame, targets=target), target).support_.sum() == 1
    # A method without a target takes all rows, and leaves the column out.
    assert gm.PCA().fit(moments, target).moments_.n_rows == 121
