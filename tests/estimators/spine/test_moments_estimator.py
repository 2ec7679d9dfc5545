"""The shared estimator with the smallest solution there is: the mean of what was collected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError, UnsolvedError
from gramian.estimators.spine.moments_estimator import ProjectionTransformer
from gramian.estimators.spine.training import TARGET


class Centre(ProjectionTransformer):
    """Features are the centred design columns; counts how often it is solved."""

    _takes_target = True

    def __init__(self, categorical_features="from_dtype", folds=False):
        self.categorical_features = categorical_features
        self.folds = folds

    def _wants_folds(self):
        return self.folds

    def _solve(self):
        self.solved_ = self.__dict__.get("_times", 0) + 1
        self._times = self.solved_
        self.mean_ = self._moments.mean(self._features)
        self.projection_ = self._project(np.eye(len(self.mean_)))


class ForClasses(Centre):
    _needs_target = True
    _target_is_class = True

    def _solve(self):
        super()._solve()
        self.classes_ = self._classes_of(self._targets[0]).levels(self._targets[0])


@pytest.fixture
def frame(rng):
    return pd.DataFrame({"u": rng.normal(size=30), "c": rng.choice(["x", "y"], 30), "y": ["p", "q", "r"] * 10})


def centred(frame):
    one_hot = pd.get_dummies(frame["c"]).to_numpy(float)
    x = np.column_stack([frame["u"], one_hot])
    return x - x.mean(axis=0)


@pytest.mark.parametrize(
    "holder", [lambda f: f, pl.from_pandas, pa.Table.from_pandas, gm.collect, lambda f: [f[:9], f[9:]]]
)
def test_every_source_gives_the_mean_and_its_names(frame, holder):
    X = frame[["u", "c"]]
    model = Centre().fit(holder(X))
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["u", "c"]
    assert model.design_names_ == model.moments_.design_names_of(["u", "c"])
    order = [0, *(1 + np.argsort(model.moments_.levels("c")))]
    np.testing.assert_allclose(model.transform(X)[:, order], centred(frame), atol=1e-12)
    assert model.solved_ == 1


def test_arrays_have_no_names_and_their_integers_are_numbers():
    X = np.arange(12).reshape(6, 2) % 5
    model = Centre().fit(X)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)
    some = Centre(categorical_features=[1]).fit(X)
    assert [some.moments_.schema[name].form for name in ("x0", "x1")] == ["number", "category"]
    assert len(some.mean_) == 1 + len(set(X[:, 1]))


def test_rows_that_are_added_are_solved_when_asked_for(frame):
    X = frame[["u", "c"]]
    model = Centre().partial_fit(X[:7]).partial_fit(X[7:])
    assert "mean_" not in vars(model)
    whole = Centre().fit(X)
    np.testing.assert_allclose(model.mean_, whole.mean_, rtol=1e-12)
    assert model.solved_ == 1
    model.partial_fit(X)
    assert "mean_" not in vars(model)
    assert (model.moments_.n_rows, model.solved_) == (60, 2)


def test_what_cannot_be_solved_yet_says_so_and_can_be_added_to(frame):
    X = frame[["u", "c"]]
    model = Centre().partial_fit(X[:1])
    with pytest.raises(UnsolvedError, match="Centre needs at least 2 rows; got n_samples = 1"):
        model.mean_  # noqa: B018
    assert not hasattr(model, "nonsense_")
    with pytest.raises(AttributeError, match="'Centre' object has no attribute 'nonsense'"):
        model.nonsense  # noqa: B018
    np.testing.assert_allclose(model.partial_fit(X[1:]).mean_, Centre().fit(X).mean_, rtol=1e-12)
    with pytest.raises(DataError, match="needs at least 2 rows"):
        Centre().fit(X[:1])


def test_a_solution_that_fails_leaves_nothing_behind(frame):
    class Stuck(Centre):
        def _solve(self):
            super()._solve()
            raise DataError("nothing varies")

    model = Stuck().partial_fit(frame)
    before = set(vars(model))
    with pytest.raises(UnsolvedError, match="nothing varies"):
        model.mean_  # noqa: B018
    assert set(vars(model)) == before


def test_targets_are_values_or_names_and_no_features(frame):
    by_value = ForClasses().fit(frame[["u", "c"]], frame["y"])
    by_name = ForClasses().fit(frame, "y")
    from_moments = ForClasses().fit(gm.collect(frame), "y")
    assert (by_value._targets, by_name._targets) == ([TARGET], ["y"])
    for model in (by_value, by_name, from_moments):
        assert model._features == ["u", "c"]
        assert sorted(model.classes_) == ["p", "q", "r"]
        np.testing.assert_array_equal(model.mean_, by_value.mean_)
    numbers = ForClasses().fit(frame[["u"]], np.arange(30) % 4)
    assert sorted(numbers.classes_) == [0, 1, 2, 3]


def test_weights_are_values_or_a_name(frame, rng):
    weight = rng.integers(1, 4, 30).astype(float)
    expected = np.average(frame["u"], weights=weight)
    X = frame[["u"]]
    assert Centre().fit(X, sample_weight=weight).mean_[0] == pytest.approx(expected, rel=1e-12)
    named = Centre().fit(X.assign(w=weight), sample_weight="w")
    assert named.mean_[0] == pytest.approx(expected, rel=1e-12)
    assert named.feature_names_in_.tolist() == ["u"]


def test_folds_are_collected_where_a_parameter_asks(frame):
    assert [len(Centre(folds=each).fit(frame).moments_.folds) for each in (False, True)] == [0, 5]


def test_what_cannot_be_fitted_is_one_line(frame):
    m = gm.collect(frame)
    for model, arguments, kind, words in (
        (ForClasses(), (frame,), DataError, "the target y is None: ForClasses needs a target"),
        (Centre(), (frame, ("u", "y")), DataError, "Centre takes one target"),
        (Centre(), (frame[["y"]], "y"), DataError, "no feature columns are left beside the target"),
        (Centre(), (m, None, np.ones(30)), DataError, "these moments have their weights already"),
        (Centre(), (m, frame["y"]), DataError, "y is the name of a collected column"),
        (
            ForClasses(),
            (gm.collect(frame.assign(y=["p", "q", None] * 10)), "y"),
            ColumnError,
            "target 'y' is missing in 10 of 30 rows",
        ),
    ):
        with pytest.raises(kind, match=words) as caught:
            model.fit(*arguments)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="fit_transform needs rows, and Moments have none"):
        Centre().fit_transform(m)
    continuous = gm.collect(pd.DataFrame({"u": [1.0, 2.0], "z": [0.5, 1.5]}))
    with pytest.raises(
        ColumnError,
        match=r"target 'z' was collected as a number.*pass them as y, or collect it with categorical=\['z'\]",
    ):
        ForClasses().fit(continuous, "z")


def test_tags_say_what_is_welcome():
    tags = ForClasses().__sklearn_tags__()
    assert tags.target_tags.required
    assert not Centre().__sklearn_tags__().target_tags.required
    assert tags.input_tags.categorical
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse


def test_values_beside_moments_are_refused_by_methods_that_take_no_target_too(frame):
    class Without(Centre):
        _takes_target = False

    moments = gm.collect(frame)
    for model in (Centre(), Without()):
        with pytest.raises(DataError, match="with Moments, y is the name of a collected column"):
            model.fit(moments, y=frame["y"])
    assert Without().fit(frame[["u", "c"]], y=frame["y"]).n_features_in_ == 2


@pytest.fixture
def payments(rng, tmp_path):
    """A table with a date and a column with gaps: as a frame, a file and moments."""
    n = 60
    frame = pd.DataFrame(
        {
            "a": rng.standard_normal(n),
            "b": rng.choice(list("xyz"), n),
            "when": pd.date_range("2024-01-01", periods=n, freq="49h"),
            "gaps": np.where(np.arange(n) % 7 == 0, np.nan, rng.standard_normal(n)),
        }
    )
    frame.to_parquet(tmp_path / "payments.parquet")
    return {"frame": frame, "file": tmp_path / "payments.parquet", "moments": gm.collect(frame)}


@pytest.mark.parametrize("source", ["frame", "file", "moments"])
def test_a_date_is_no_target_and_one_of_its_parts_is(payments, source):
    rows = payments[source]
    for model in (gm.FisherDiscriminant(), gm.JointTargetEncoder(), gm.RedundancyFilter()):
        with pytest.raises(ColumnError, match="y='when' is a date or time; name one of its parts: 'when_dayofweek'"):
            model.fit(rows, "when")
    model = gm.FisherDiscriminant().fit(rows, "when_dayofweek")
    assert model._targets == ["when_dayofweek"]
    assert model._features == ["a", "b", "when_month", "when_hour", "gaps"]
    assert model.scalings_ == pytest.approx(
        gm.FisherDiscriminant().fit(payments["moments"], "when_dayofweek").scalings_
    )


def test_dates_are_no_values_of_a_target(payments):
    frame = payments["frame"]
    for values in (frame["when"], frame["when"].dt.date, frame["when"].to_numpy()):
        with pytest.raises(DataError, match="y holds dates or times"):
            gm.MahalanobisFeatures().fit(frame[["a", "b"]], values)


@pytest.mark.parametrize("source", ["frame", "file", "moments"])
def test_a_column_named_beside_an_unsupervised_method_is_left_out_whatever_it_holds(payments, source):
    wanted = gm.PCA().fit(payments["frame"][["a", "b"]])
    model = gm.PCA().fit(payments[source], ("when", "gaps"))
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(model.explained_variance_, wanted.explained_variance_, rtol=1e-12)
    with pytest.raises(ColumnError, match=r"gaps' is not in|did you mean 'gaps'"):
        gm.PCA().fit(payments[source], "gap")
    # A method that needs it leaves out the rows without it, which moments cannot do any more.
    if source == "moments":
        with pytest.raises(DataError, match="target 'gaps' is missing in some rows"):
            gm.PCA("cv-target").fit(gm.collect(payments["frame"], folds=3), "gaps")
    else:
        seen = gm.PCA("cv-target").fit(payments[source], "gaps").moments_
        assert 0 < seen.rows_left_out == len(payments["frame"]) - seen.n_rows


@pytest.mark.parametrize(
    "model", [gm.PCA(), gm.JointTargetEncoder(), gm.ForwardSelector(1), gm.ELMRegressor(), gm.HebbianPCA()]
)
def test_a_list_of_names_is_never_taken_for_values(payments, model):
    with pytest.raises(DataError, match=r"pass y=\('a', 'gaps'\)"):
        model.fit(payments["frame"], ["a", "gaps"])


@pytest.mark.parametrize("source", ["frame", "file", "moments"])
def test_names_of_targets_are_some_and_different(payments, source):
    for model in (gm.JointTargetEncoder(), gm.PCA()):
        with pytest.raises(ColumnError, match="column 'b' is asked for twice"):
            model.fit(payments[source], ("b", "b"))
    with pytest.raises(DataError, match="JointTargetEncoder needs a target"):
        gm.JointTargetEncoder().fit(payments[source], ())
    assert gm.PCA().fit(payments[source], ()).n_features_in_ == 4
