"""`FisherDiscriminant` has the shapes and the manners of scikit-learn's linear discriminant analysis."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import gramian as gm
from gramian.errors import DataError


@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_have_the_shapes_and_values_of_the_peer(classes):
    x, y = load_iris(return_X_y=True)
    x, y = x[y < classes], np.array(["z", "b", "q"])[y[y < classes]]
    model, peer = gm.FisherDiscriminant().fit(x, y), LinearDiscriminantAnalysis(solver="lsqr").fit(x, y)
    assert model.classes_.tolist() == peer.classes_.tolist()
    assert model.coef_.shape == peer.coef_.shape
    assert model.intercept_.shape == peer.intercept_.shape
    assert model.decision_function(x).shape == peer.decision_function(x).shape
    scores = x @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(np.squeeze(scores), model.decision_function(x), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(x), peer.predict_proba(x), atol=1e-9)
    np.testing.assert_array_equal(model.predict(x), peer.predict(x))
    if classes == 2:
        np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-7)
        np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_stand_over_the_design_columns(frame, classes):
    frame = frame.drop(columns="when")
    y = (
        frame.pop("bought")
        if classes == 2
        else frame["shape"].map(dict(zip("abcde", "uvwuv", strict=True))).astype(str)
    )
    frame = frame.drop(columns=["bought"] if classes == 3 else [])
    model = gm.FisherDiscriminant(shrinkage=0.1).fit(frame, y)
    filled = frame.assign(size=frame["size"].fillna(frame["size"].mean()))
    columns = []
    for name in model.design_names_:
        source = next(c for c in frame if name == c or name.startswith(f"{c}_"))
        if name == source:
            columns.append(filled[source].to_numpy(float))
        else:
            labels = filled[source].astype(object).where(filled[source].notna(), "(missing)").astype(str)
            columns.append((labels == name[len(source) + 1 :]).to_numpy(float))
    scores = np.column_stack(columns) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(np.squeeze(scores), model.decision_function(frame), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", ["auto", "cv"])
@pytest.mark.parametrize("wide", [False, True])
def test_refitting_with_the_chosen_shrinkage_reproduces_the_fit(rng, rule, wide):
    n = 60 if wide else 150
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(rng.standard_normal((n, 600 if wide else 4)) + y[:, None] / 2).add_prefix("x")
    frame["x1"] *= 1e4
    frame["color"] = np.where(rng.random(n) < 0.3, y, rng.integers(0, 3, n)).astype(str)
    found = gm.FisherDiscriminant(shrinkage=rule).fit(frame, y)
    again = gm.FisherDiscriminant(shrinkage=found.shrinkage_).fit(frame, y)
    assert again.shrinkage_ == found.shrinkage_
    np.testing.assert_allclose(again.predict_proba(frame), found.predict_proba(frame), atol=1e-12)
    np.testing.assert_allclose(again.transform(frame), found.transform(frame), atol=1e-9)


@pytest.mark.parametrize("shrinkage", [0.2, 1.0, "auto", "cv"])
def test_the_unit_of_a_column_does_not_matter_to_shrinkage(rng, shrinkage):
    y = rng.integers(0, 3, 200)
    x = rng.standard_normal((200, 4)) + y[:, None] / 2
    x[:, 1] += x[:, 0]
    other = x * np.array([1e-3, 1.0, 1e4, 7.0])
    found, again = (gm.FisherDiscriminant(shrinkage=shrinkage).fit(rows, y) for rows in (x, other))
    assert again.shrinkage_ == pytest.approx(found.shrinkage_, rel=1e-9)
    np.testing.assert_allclose(again.predict_proba(other), found.predict_proba(x), atol=1e-9)


def test_as_many_classes_as_rows_are_refused(rng):
    x = rng.standard_normal((3, 2))
    with pytest.raises(ValueError, match="more than the number of classes"):
        LinearDiscriminantAnalysis().fit(x, [0, 1, 2])
    with pytest.raises(DataError, match="more than the number of classes"):
        gm.FisherDiscriminant().fit(x, [0, 1, 2])


def test_fisher_has_no_inverse_transform(rng):
    x, y = rng.standard_normal((60, 3)), rng.integers(0, 3, 60)
    assert not hasattr(gm.FisherDiscriminant(), "inverse_transform")
    assert not hasattr(gm.FisherDiscriminant().fit(x, y), "inverse_transform")
    assert not hasattr(gm.FisherDiscriminant().partial_fit(x, y), "inverse_transform")


def test_directions_of_the_ascent_have_no_inverse_transform(rng):
    model = gm.MahalanobisFeatures(solver="sgd", sgd_options={"max_epochs": 1})
    assert not hasattr(model, "inverse_transform")
    x = rng.standard_normal((60, 3))
    assert not hasattr(model.fit(x, x[:, 0]), "inverse_transform")


@pytest.mark.parametrize(
    "model",
    [
        gm.PCA(2),
        gm.Whitening("zca"),
        gm.DensityEmbedding(),
        gm.MahalanobisFeatures(),
        gm.MahalanobisFeatures(structure="columns"),
        gm.MahalanobisFeatures(structure="krylov"),
        gm.JointTargetEncoder(),
    ],
    ids=str,
)
def test_those_with_a_way_back_have_it_before_and_after_fit(rng, model):
    x = rng.standard_normal((60, 3))
    y = x @ [1.0, 2.0, 0.0] + rng.standard_normal(60)
    assert hasattr(model, "inverse_transform")
    assert np.isfinite(model.fit(x, y).inverse_transform(model.transform(x))).all()
    assert model.inverse_transform(model.transform(x)).shape == x.shape


def test_too_many_levels_for_a_way_back_leave_no_method(rng, monkeypatch):
    monkeypatch.setattr("gramian.linear.scatter.wide.DENSE", 3)
    table = pd.DataFrame({"a": rng.choice(list("pqrst"), 80), "b": rng.choice(list("uvw"), 80)})
    model = gm.MahalanobisFeatures().fit(table, rng.standard_normal(80))
    assert not hasattr(model, "inverse_transform")
    assert model.transform(table).shape == (80, 1)


def test_priors_are_divided_by_their_sum_as_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    priors = np.array([0.5, 0.6, 0.1])
    with pytest.warns(UserWarning, match=r"priors do not sum to 1 .* Renormalizing"):
        model = gm.FisherDiscriminant(priors=priors).fit(X, y)
    with pytest.warns(UserWarning, match="priors do not sum to 1"):
        peer = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    np.testing.assert_allclose(model.priors_, priors / 1.2)
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8):
        # Before, its predictions used the covariance of other priors than those given.
        np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-9)
    # To rounding they sum to 1: nothing to say.
    gm.FisherDiscriminant(priors=[1 / 3, 1 / 3, 1 / 3 + 1e-9]).fit(X, y)
