"""Methods of rows on distributed frames: lazy, and the same as on the rows here."""

from __future__ import annotations

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.spine.outputs import ROW_METHODS, RowMethod
from gramian.moments.value import Moments


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 120
    return pd.DataFrame(
        {
            "c": rng.choice(["a", "b", "c"], n),
            "k": pd.Categorical(rng.choice(["u", "v"], n)),
            "x": rng.normal(size=n),
            "n": rng.integers(0, 4, n),
            "y": rng.choice(["yes", "no"], n),
        },
        index=np.arange(n) * 3,
    )


@pytest.fixture(scope="module")
def lazy_frame(frame):
    return dd.from_pandas(frame, npartitions=4)


MODELS = [
    (gm.PCA(2), None), (gm.FisherDiscriminant(), "y"), (gm.DensityEmbedding(), None),
    (gm.DensityEmbedding(method="mahalanobis"), None),
    (gm.MahalanobisFeatures(), "y"), (gm.ELMClassifier(8, random_state=0), "y"), (gm.ELMRegressor(8, random_state=0), "x"),
    (gm.RandomFeatures(3, random_state=0), None), (gm.MutualInformationFilter(k=2), "y"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "y"), MODELS, ids=lambda given: type(given).__name__)
def test_every_method_of_rows_is_lazy_and_the_same(frame, lazy_frame, model, y):
    model = model.fit(lazy_frame, y)
    asked = [name for name in ROW_METHODS if hasattr(model, name)]
    assert asked
    for name in asked:
        lazy, here = getattr(model, name)(lazy_frame), getattr(model, name)(frame)
        found = lazy.compute()
        assert (found.index == frame.index).all(), name
        assert type(lazy).__module__.startswith("dask")
        if np.asarray(here).dtype.kind == "f":
            np.testing.assert_allclose(found.to_numpy(), np.asarray(here), rtol=1e-12, atol=1e-14, err_msg=name)
        else:
            assert found.astype(str).to_numpy().tolist() == pd.DataFrame(here).astype(str).to_numpy().squeeze().tolist()
        known = lazy._meta
        assert found.dtypes.equals(known.dtypes) if known.ndim == 2 else found.dtype == known.dtype


def test_names_are_those_of_the_features(frame, lazy_frame):
    model = gm.PCA(2).fit(lazy_frame)
    assert list(model.transform(lazy_frame).columns) == ["pca0", "pca1"]
    assert list(model.fit_transform(lazy_frame).columns) == ["pca0", "pca1"]
    assert list(model.black_swans(lazy_frame).columns) == list(frame.columns)
    assert model.set_output(transform="pandas").transform(lazy_frame).compute().shape == (120, 2)
    classifier = gm.FisherDiscriminant().fit(lazy_frame, "y")
    assert list(classifier.predict_proba(lazy_frame).columns) == ["probability_no", "probability_yes"]
    assert classifier.predict(lazy_frame).name == "prediction"


@pytest.mark.parametrize(("model", "y"), MODELS[:2], ids=lambda given: type(given).__name__)
def test_fit_on_partitions_is_fit_on_the_rows(frame, lazy_frame, model, y):
    there, here = model.fit(lazy_frame, y).transform(frame), model.fit(frame, y).transform(frame)
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-12)


def test_arrays_are_mapped_to_arrays():
    values = np.random.default_rng(0).normal(size=(50, 4))
    array = da.from_array(values, chunks=(20, 2))
    model = gm.PCA(2).fit(array)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(model.transform(array).compute(), gm.PCA(2).fit(values).transform(values), atol=1e-12)


def test_unseen_levels_and_missing_values_behave_as_here(frame, lazy_frame):
    model = gm.PCA(2).fit(lazy_frame)
    strange = frame.assign(c=["new", None] * 60)
    lazy = model.transform(dd.from_pandas(strange, npartitions=3))
    np.testing.assert_array_equal(lazy.compute().to_numpy(), model.transform(strange))
    assert model.black_swans(dd.from_pandas(strange, npartitions=3)).compute()["c"].all()


def test_a_missing_column_is_named_before_anything_is_computed(lazy_frame):
    model = gm.PCA(2).fit(lazy_frame)
    with pytest.raises(DataError, match="'x'"):
        model.transform(lazy_frame.drop(columns="x"))


def test_an_unfitted_model_says_so(lazy_frame):
    with pytest.raises(NotFittedError):
        gm.PCA(2).transform(lazy_frame)


def test_values_of_y_beside_partitions_are_refused(lazy_frame):
    with pytest.raises(DataError, match="y is given as values"):
        gm.FisherDiscriminant().fit(lazy_frame[["c", "x"]], lazy_frame["y"])


def test_a_model_travels_without_its_moments(frame, lazy_frame):
    model = gm.DensityEmbedding().fit(frame)
    function = RowMethod(model, "anomaly_score")
    expected = function(frame)
    sent = pickle.dumps(function)
    assert "moments_" not in vars(pickle.loads(sent)._model)
    np.testing.assert_array_equal(pickle.loads(sent)(frame), expected)
    assert isinstance(model.moments_, Moments)


def test_what_was_asked_is_answered_by_the_model_of_then(frame, lazy_frame):
    model = gm.PCA(2).fit(frame)
    before, lazy = model.transform(frame), model.transform(lazy_frame)
    model.fit(frame[["x", "n"]])
    np.testing.assert_array_equal(lazy.compute().to_numpy(), before)


def test_a_share_of_outliers_is_calibrated_on_the_partitions(frame, lazy_frame):
    there, here = (gm.DensityEmbedding(contamination=0.1).fit(rows) for rows in (lazy_frame, frame))
    np.testing.assert_allclose(there.offset_, here.offset_, rtol=1e-12)
    assert (there.predict(lazy_frame).compute() == here.predict(frame)).all()


def test_the_score_of_a_model_is_a_number(frame, lazy_frame):
    model = gm.PCA(2).fit(frame[["x", "n"]])
    np.testing.assert_allclose(model.score(lazy_frame), model.score(frame), rtol=1e-12)
