import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.selection.stepwise import design_matrix, importances, target_beside


@pytest.mark.parametrize("step", [1, 2, 0.3])
def test_numbers_leave_in_the_order_of_rfe(rng, step):
    X = rng.standard_normal((200, 9)) * rng.uniform(0.5, 2, 9)
    y = X @ rng.standard_normal(9) + rng.standard_normal(200)
    peer = RFE(LinearRegression(), n_features_to_select=3, step=step).fit(X, y)
    model = gm.RecursiveEliminator(3, estimator=LinearRegression(), step=step).fit(X, y)
    np.testing.assert_array_equal(model.ranking_, peer.ranking_)
    np.testing.assert_array_equal(model.get_support(), peer.support_)


def test_levels_leave_together(frame):
    X = frame.drop(columns=["bought", "when"])
    model = gm.RecursiveEliminator(1, estimator=LogisticRegression(max_iter=500)).fit(X, frame["bought"])
    assert model.get_feature_names_out().tolist() == ["color"]
    assert len(model.estimator_.coef_[0]) == 4
    by_name = gm.RecursiveEliminator(1, estimator=LogisticRegression(max_iter=500)).fit(
        frame.drop(columns="when"), "bought"
    )
    np.testing.assert_array_equal(by_name.ranking_, model.ranking_)


def test_importances_of_trees_and_weights_serve_too(frame):
    X = frame.drop(columns=["bought", "when"])
    forest = RandomForestClassifier(10, random_state=0)
    weights = np.ones(len(X))
    model = gm.RecursiveEliminator(2, estimator=forest, include="flag").fit(X, frame["bought"], sample_weight=weights)
    assert "flag" in model.get_feature_names_out()
    assert model.get_support().sum() == 2
    assert len(model.path_["column"]) == X.shape[1] - 2


def test_the_matrix_holds_numbers_and_levels(frame):
    X = frame[["color", "size", "when"]]
    design = gm.VarianceFilter().fit(X).design_
    from gramian.tables import open_table

    matrix, owner = design_matrix(design, open_table(X))
    assert matrix.shape == (len(X), len(owner))
    assert set(np.unique(owner)) == {0, 1, 2}
    np.testing.assert_array_equal(matrix[:, owner == 0].sum(axis=1), 1.0)
    np.testing.assert_allclose(matrix[:, owner == 1][:, 0], X["size"].fillna(X["size"].mean()))


def test_a_model_of_selected_columns_has_no_p_values(frame):
    X, y = frame[["size", "count"]].fillna(0), np.arange(len(frame)) % 7
    model = gm.RecursiveEliminator(1, estimator=gm.Ridge(0)).fit(X, y).estimator_
    with pytest.raises(DataError, match="RecursiveEliminator selected these columns on the same rows"):
        model.inference()
    assert len(model.fit(X.to_numpy()[:, :1], y).inference()) == 2


def test_models_without_importances_and_rows_that_are_none(frame):
    X = frame[["size", "count"]].fillna(0)
    with pytest.raises(DataError, match="needs coef_ or feature_importances_ once fitted, and KNeighborsClassifier"):
        gm.RecursiveEliminator(1, estimator=KNeighborsClassifier()).fit(X, frame["bought"])
    with pytest.raises(DataError, match="is fitted to rows, and Moments have none"):
        gm.RecursiveEliminator(1, estimator=LinearRegression()).fit(gm.collect(frame), "bought")
    with pytest.raises(DataError, match="is stopped by k alone"):
        gm.RecursiveEliminator("cv", estimator=LinearRegression()).fit(X, frame["bought"])
    with pytest.raises(DataError, match="call fit, or leave estimator out"):
        gm.RecursiveEliminator(1, estimator=LinearRegression()).partial_fit(X, frame["bought"])


def test_coefficients_of_several_classes_are_summed_in_squares():
    model = LogisticRegression()
    model.coef_ = np.array([[3.0, 0.0], [4.0, 1.0]])
    np.testing.assert_allclose(importances(model), [5.0, 1.0])


def test_rows_in_any_container_leave_alike(rng):
    X = rng.standard_normal((60, 3))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "weight": rng.integers(1, 4, 60), "y": X[:, 1] + X[:, 2]})
    model = gm.RecursiveEliminator(1, estimator=LinearRegression())
    wanted = model.fit(frame, "y", sample_weight="weight").scores_
    for source in (
        frame.to_dict("records"),
        frame.to_dict("list"),
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        [frame[:20], frame[20:]],
    ):
        np.testing.assert_allclose(model.fit(source, "y", sample_weight="weight").scores_, wanted, rtol=1e-9)
    floats = frame.drop(columns="weight")
    wanted = model.fit(floats, "y").scores_
    np.testing.assert_allclose(model.fit([floats[:20], floats[20:]], "y").scores_, wanted, rtol=1e-9)


def test_what_is_no_model_is_refused(frame):
    with pytest.raises(DataError, match=r"estimator is None or a scikit-learn model.*got 'lasso'"):
        gm.RecursiveEliminator(1, estimator="lasso").fit(frame, "bought")


@pytest.mark.parametrize("kind", ["pandas", "polars", "dicts"])
def test_rows_without_a_named_target_do_not_reach_the_model(frame, kind):
    frame = frame.drop(columns="when").astype({"bought": object})
    frame.loc[[0, 7, len(frame) - 1], "bought"] = None
    weights = np.arange(len(frame)) + 1.0
    given = frame["bought"].notna().to_numpy()
    model = gm.RecursiveEliminator(2, estimator=LogisticRegression(max_iter=500))
    source = {"pandas": frame, "polars": pl.from_pandas(frame), "dicts": frame.to_dict("records")}[kind]
    found = model.fit(source, "bought", sample_weight=weights)
    support, importance = found.get_support(), found.scores_
    whole = model.fit(frame[given], "bought", sample_weight=weights[given])
    np.testing.assert_array_equal(support, whole.get_support())
    np.testing.assert_allclose(importance, whole.scores_, rtol=1e-6)


def test_a_part_of_a_date_is_a_target(frame):
    forest = RandomForestClassifier(5, random_state=0)
    model = gm.RecursiveEliminator(1, estimator=forest).fit(frame, "when_dayofweek")
    assert model.classes_.tolist() == sorted(gm.collect(frame).levels("when_dayofweek"))
    assert model.score(frame, "when_dayofweek") == np.mean(
        model.predict(frame) == target_beside(frame, "when_dayofweek")
    )


def test_a_selector_predicts_and_scores_with_its_model(frame):
    X, y = frame.drop(columns=["bought", "when"]), frame["bought"]
    model = gm.RecursiveEliminator(2, estimator=LogisticRegression(max_iter=500)).fit(X, y)
    kept = X[model.get_feature_names_out()]
    # From the definition: the model on the design columns of what stays.
    columns = []
    for name in model.design_names_:
        source, _, level = name.partition("_")
        if source in kept:
            values = kept[source]
            own = values.isna() if level == "(missing)" else values.astype(str) == level
            columns.append(own if level else values.fillna(values.mean()))
    design = np.column_stack(columns).astype(float)
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(design))
    np.testing.assert_allclose(model.predict_proba(X), model.estimator_.predict_proba(design))
    np.testing.assert_allclose(model.predict_log_proba(X), model.estimator_.predict_log_proba(design))
    np.testing.assert_allclose(model.decision_function(X), model.estimator_.decision_function(design))
    weights = np.arange(len(X)) % 3
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(np.average(model.predict(X) == y, weights=weights))
    assert model.score(frame, "bought") == model.score(X, y)
    np.testing.assert_array_equal(model.classes_, model.estimator_.classes_)


def test_a_selector_is_what_its_model_is(rng):
    X = rng.standard_normal((90, 5))
    y = X[:, 2] + 0.1 * rng.standard_normal(90)
    regressor = gm.RecursiveEliminator(2, estimator=LinearRegression())
    assert is_regressor(regressor)
    assert not is_classifier(regressor)
    assert is_classifier(gm.RecursiveEliminator(2, estimator=LogisticRegression()))
    assert not hasattr(regressor, "predict_proba")
    plain = gm.RecursiveEliminator(2)
    assert not is_regressor(plain)
    for name in ("predict", "predict_proba", "decision_function", "score", "classes_"):
        assert not hasattr(plain, name)
        assert not hasattr(plain.fit(X, y), name)
    ours = cross_val_score(regressor, X, y, cv=3)
    theirs = cross_val_score(RFE(LinearRegression(), n_features_to_select=2), X, y, cv=3)
    np.testing.assert_allclose(ours, theirs)
    with pytest.raises(NotFittedError):
        regressor.predict(X)
