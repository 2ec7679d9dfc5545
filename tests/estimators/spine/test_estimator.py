"""A fit sets everything or nothing, on every estimator; asking for what is not there neither solves nor raises."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import gramian as gm
from gramian.errors import DataError, UnsolvedError
from gramian.estimators.registry import METHODS
from gramian.estimators.spine.estimator import is_public
from gramian.estimators.spine.moments_estimator import MomentsEstimator

# Positive, as factors of parts without signs ask for.
X = np.abs(np.random.default_rng(0).normal(size=(24, 3)) + np.repeat([0.0, 1.0], 12)[:, None])
Y = np.repeat([0, 1], 12)
NAMES = [method.class_name for method in METHODS]

pytestmark = pytest.mark.usefixtures("umap_stays_at_its_start")


def made(name: str, **parameters: Any) -> Any:
    method = next(method for method in METHODS if method.class_name == name)
    known = method.parameters
    fixed = {
        "metric": "euclidean",
        "random_state": 0,
        "perplexity": 4.0,
        "n_neighbors": 4,
        "dictionary": np.eye(3),
        "n_nonzero": 1,
        "n_hidden": 5,
        "n_reservoir": 9,
        "k": 2,
        # Without a penalty rows that are told apart have no finite coefficients.
        **({"alpha": 1.0} if name == "LogisticRegression" else {}),
    }
    return method.estimator(**{**{k: v for k, v in fixed.items() if k in known}, **parameters})


def on_moments() -> list[str]:
    return [method.class_name for method in METHODS if issubclass(method.estimator, MomentsEstimator)]


def learned(model: Any) -> set[str]:
    return set(vars(model)) - set(model.get_params(deep=False)) - {"_learned"}


def set_last(name: str, method: str) -> str:
    """Return the attribute that a fit sets for the first time after all the others."""
    model = made(name)
    getattr(model, method)(X, Y)
    return [attribute for attribute in vars(model) if attribute in learned(model)][-1]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("fitted_before", "method"), [(True, "fit"), (False, "fit_transform")])
def test_a_failed_fit_leaves_the_estimator_unfitted(name: str, fitted_before: bool, method: str, monkeypatch) -> None:
    model = made(name)
    method = method if hasattr(model, method) else "fit"
    last = set_last(name, method)
    if fitted_before:
        model.fit(X, Y)
        check_is_fitted(model)
    parameters = model.get_params()

    def fails(self: Any, attribute: str, value: Any) -> None:
        if attribute == last:
            raise RuntimeError("interrupted")
        object.__setattr__(self, attribute, value)

    with monkeypatch.context() as patch:
        patch.setattr(type(model), "__setattr__", fails, raising=False)
        with pytest.raises(RuntimeError, match="interrupted"):
            getattr(model, method)(X, Y)
    assert learned(model) == set()
    assert str(model.get_params()) == str(parameters)
    if model.__sklearn_tags__().requires_fit:
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
    check_is_fitted(model.fit(X, Y))


@pytest.mark.parametrize("name", NAMES)
def test_bad_rows_leave_the_estimator_unfitted(name: str) -> None:
    bad = X.copy()
    bad[3, 1] = np.inf
    if name == "RandomFeatures":
        pytest.skip("it looks at columns and levels, not at numbers")
    model = made(name)
    with pytest.raises(ValueError, match=r"inf|NaN"):
        model.fit(bad, Y)
    assert learned(model) == set()


def test_classes_that_cannot_be_separated_leave_nothing() -> None:
    model = gm.MDSFDA(metric="euclidean")
    with pytest.raises(DataError, match="class 1 has one object"):
        model.fit(X, [0] * 23 + [1])
    assert not hasattr(model, "classes_")
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("name", on_moments())
def test_a_failed_partial_fit_leaves_what_was_there(name: str) -> None:
    model = made(name).partial_fit(X[6:18], Y[6:18])
    answer = model.transform if hasattr(type(model), "transform") else model.predict
    rows, transformed = model.moments_, answer(X)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"features|columns"):
        model.partial_fit(X[:, :2], Y)
    assert vars(model) == before
    assert model.moments_ is rows
    np.testing.assert_array_equal(answer(X), transformed)
    fresh = made(name)
    with pytest.raises(ValueError, match=r"1 sample|1D|Expected 2D"):
        fresh.partial_fit(X[0], Y)
    assert learned(fresh) == set()


@pytest.mark.parametrize("name", on_moments())
def test_asking_for_what_is_not_there_never_solves(name: str, monkeypatch) -> None:
    model = made(name).partial_fit(X, Y)

    def solved(self: Any) -> None:
        raise AssertionError("solved")

    for copied in (model, copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with monkeypatch.context() as patch:
            patch.setattr(type(model), "_solve", solved)
            for asked in ("feature_names_in_", "shape", "__array__", "_private", "moments"):
                assert not hasattr(copied, asked)
            assert copied.n_features_in_ == 3
            assert copied.moments_.n_rows == 24
            check_is_fitted(copied)
        assert not hasattr(copied, "xyz_")
        assert hasattr(copied, "scores_" if hasattr(type(model), "get_support") else "projection_")
    assert learned(clone(model)) == set()
    assert not hasattr(made(name), "components_")


@pytest.mark.parametrize("name", on_moments())
def test_every_attribute_of_a_solution_is_computed_when_it_is_asked_for(name: str) -> None:
    fitted = made(name).fit(X, Y)
    for attribute in filter(is_public, vars(fitted)):
        assert hasattr(made(name).partial_fit(X, Y), attribute), attribute


def test_a_batch_without_a_solution_waits_for_the_next() -> None:
    one_class = gm.FisherDiscriminant().partial_fit(X[:12], Y[:12], classes=[0, 1])
    assert not hasattr(one_class, "coef_")
    for _ in range(2):
        with pytest.raises(UnsolvedError, match="class"):
            one_class.predict(X)
    one_class.partial_fit(X[12:], Y[12:])
    np.testing.assert_allclose(one_class.coef_, gm.FisherDiscriminant().fit(X, Y).coef_, rtol=1e-9)
    assert issubclass(UnsolvedError, DataError)
    assert issubclass(UnsolvedError, AttributeError)


def test_batches_of_arrays_solve_no_more_often_than_frames(monkeypatch) -> None:
    calls = []
    solve = gm.PCA._solve
    monkeypatch.setattr(gm.PCA, "_solve", lambda self: (calls.append(1), solve(self))[1])
    for rows in (X, pd.DataFrame(X, columns=list("abc"))):
        model = gm.PCA()
        for _ in range(4):
            model.partial_fit(rows)
        assert not calls
        model.transform(rows)
        assert len(calls) == 1
        calls.clear()


def test_signatures_and_requests_stay_as_declared() -> None:
    assert list(inspect.signature(gm.PCA.fit).parameters) == ["self", "X", "y", "sample_weight"]
    assert list(inspect.signature(gm.FisherDiscriminant.partial_fit).parameters)[3] == "classes"


@pytest.mark.parametrize("estimator", [gm.FisherDiscriminant(), gm.PCA("cv-target")])
def test_several_targets_are_refused_where_one_is_taken(estimator: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y, z=1 - Y)
    with pytest.raises(DataError, match=r"takes one target; got y=\('y', 'z'\)"):
        estimator.fit(frame, ("y", "z"))
    with pytest.raises(DataError, match="takes one target"):
        estimator.fit(gm.collect(frame, folds=3), ("y", "z"))
    assert estimator.fit(frame.drop(columns="z"), ("y",)).n_features_in_ == 3
    # Where the target is not read, names only say what is no feature.
    assert gm.PCA().fit(frame, ("y", "z")).n_features_in_ == 3
    assert gm.MahalanobisFeatures().fit(frame, ("y", "z")).n_features_in_ == 3


@pytest.mark.parametrize("name", NAMES)
def test_a_subclass_with_its_own_constructor_keeps_what_it_sets(name: str) -> None:
    plain = made(name)

    class Own(type(plain)):  # type: ignore[misc]
        def __init__(self, label: str = "mine") -> None:
            super().__init__(**plain.get_params(deep=False))
            self.label = label
            self._notes = ["a note"]

        def fit(self, X: Any, y: Any = None) -> Any:
            self.n_given_ = len(X)
            return super().fit(X, y)

    own = clone(Own("ours"))
    settings = dict(vars(own))
    for rows in (18, 24):
        own.fit(X[:rows], Y[:rows])
        assert {key: vars(own)[key] for key in settings} == settings
        assert own.n_given_ == rows
    same = plain.fit(X, Y)
    for attribute in filter(is_public, vars(same)):
        assert hasattr(own, attribute), attribute
    if hasattr(same, "transform") and name != "UMAPMap":
        np.testing.assert_array_equal(own.transform(X), same.transform(X))
    with pytest.raises(ValueError, match=r"inf|NaN|2D"):
        own.fit(np.full((24, 3), np.inf), Y) if name != "RandomFeatures" else own.fit(X[0])
    # What a subclass sets before it calls the fit of its base is its own affair.
    assert vars(own) == {**settings, "n_given_": 24 if name != "RandomFeatures" else 3}


def test_a_subclass_of_pca_keeps_its_scale() -> None:
    class Correlations(gm.PCA):
        def __init__(self, k: int = 1) -> None:
            super().__init__(k, scale=True)
            self.k = k

    np.testing.assert_allclose(
        Correlations(2).fit(X).transform(X), gm.PCA(2, scale=True).fit(X).transform(X), rtol=1e-12
    )
    np.testing.assert_allclose(
        Correlations(2).partial_fit(X).partial_fit(X).components_, gm.PCA(2, scale=True).fit(X).components_, rtol=1e-9
    )


def test_a_sum_and_a_loaded_model_are_fitted_anew(tmp_path) -> None:
    one, other = made("ELMClassifier").fit(X, Y), made("ELMClassifier").fit(X[:20], Y[:20])
    gm.save(one, tmp_path / "model")
    for model in (one + other, gm.load(tmp_path / "model")):
        assert model.fit(X, Y).moments_.n_rows == 24
        with pytest.raises(ValueError, match="y"):
            model.fit(X)
        assert learned(model) == set()
