import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.preprocessing import StandardScaler

import gramian as gm
from gramian.errors import DataError, FileFormatError

FEATURES = ["color", "shape", "size", "count", "flag", "when"]
MODELS = [
    (gm.PCA(3), "transform"),
    (gm.PCA("elbow", scale=True), "transform"),
    (gm.Whitening("cholesky"), "transform"),
    (gm.FisherDiscriminant(shrinkage=0.2), "predict_proba"),
]


@pytest.mark.parametrize(("model", "method"), MODELS)
def test_a_loaded_model_answers_to_the_last_bit(frame, tmp_path, model, method):
    model.fit(frame, "bought")
    gm.save(model, tmp_path / "a.model")
    loaded = gm.load(tmp_path / "a.model")
    np.testing.assert_array_equal(getattr(loaded, method)(frame), getattr(model, method)(frame))
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(loaded.black_swans(frame), model.black_swans(frame))


def test_a_model_trained_by_parts_is_solved_before_it_is_saved(frame, tmp_path):
    model = gm.PCA(2).partial_fit(frame[FEATURES])
    gm.save(model, tmp_path / "a.model")
    loaded = gm.load(tmp_path / "a.model")
    np.testing.assert_array_equal(loaded.components_, model.components_)
    with pytest.raises(DataError, match="no moments"):
        loaded.partial_fit(frame[FEATURES])
    assert loaded.fit(frame[FEATURES]).n_components_ == 2


def test_pickles_keep_the_moments(frame):
    model = pickle.loads(pickle.dumps(gm.PCA(2).fit(frame[FEATURES])))
    assert model.partial_fit(frame[FEATURES]).moments_.n_rows == 2 * len(frame)


def test_load_opens_moments_too(frame, tmp_path):
    m = gm.collect(frame)
    gm.save(m, tmp_path / "m", metadata={"site": "north"})
    assert gm.load(tmp_path / "m") == m


def test_broken_files_are_refused_in_one_line(frame, tmp_path):
    path = tmp_path / "a.model"
    gm.save(gm.PCA(2).fit(frame[FEATURES]), path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) * 3 // 4] ^= 1
    for name, content in {
        "flipped": bytes(flipped),
        "truncated": whole[: len(whole) // 2],
        "pickle": pickle.dumps({"a": 1}),
        "empty": b"",
    }.items():
        broken = tmp_path / f"{name}.model"
        broken.write_bytes(content)
        with pytest.raises(FileFormatError, match=name) as raised:
            gm.load(broken)
        assert "\n" not in str(raised.value)


def test_what_cannot_be_saved_says_so(frame, tmp_path):
    with pytest.raises(DataError, match="StandardScaler"):
        gm.save(StandardScaler(), tmp_path / "x")
    with pytest.raises(Exception, match="not fitted"):
        gm.save(gm.PCA(), tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_tables_come_back_in_the_same_library_after_a_file(frame, library, tmp_path):
    rows = library(frame[["color", "size", "flag"]])
    model = gm.PCA(2).fit(rows)
    gm.save(model, tmp_path / "model")
    loaded = gm.load(tmp_path / "model")
    features = model.transform(rows)
    for before, after in (
        (model.inverse_transform(features), loaded.inverse_transform(features)),
        (model.loadings(), loaded.loadings()),
    ):
        assert type(after) is type(before)
        assert type(after).__module__.split(".")[0] == type(rows).__module__.split(".")[0]
    moments = gm.collect(rows)
    moments.save(tmp_path / "moments")
    crosstab = gm.load(tmp_path / "moments").crosstab("color", "flag", labels=True)
    assert type(crosstab) is type(moments.crosstab("color", "flag", labels=True))
    from_file = gm.PCA(2).fit(gm.load(tmp_path / "moments"))
    assert type(from_file.inverse_transform(features)) is type(model.inverse_transform(features))


@pytest.mark.parametrize(
    "make",
    [gm.PCA, gm.Whitening, gm.FisherDiscriminant, gm.MahalanobisFeatures, gm.JointTargetEncoder, gm.DensityEmbedding],
)
def test_a_model_with_categories_survives_what_rebuilds_objects_from_attributes(frame, make):
    skops = pytest.importorskip("skops.io")
    X, y = frame.drop(columns="bought"), frame["bought"]
    # Wide enough for blocks of their own, with labels that are numbers, texts, booleans and missing.
    X = X.assign(user=[f"u{k}" for k in range(len(X))], kind=pd.Categorical(np.arange(len(X)) % 3 * 1.5))
    model = make().fit(X, y)
    expected = model.transform(X)
    for stored in (skops.dumps(model), skops.dumps(make().fit(X, y))):
        loaded = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
        np.testing.assert_array_equal(loaded.transform(X), expected)
        np.testing.assert_array_equal(
            loaded.black_swans(X.assign(color="new")), model.black_swans(X.assign(color="new"))
        )
        if hasattr(model, "predict"):
            np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.moments_ == model.moments_
        assert loaded.partial_fit(X, y).moments_.n_rows == 2 * len(X)
    assert pickle.loads(pickle.dumps(model)).moments_ == model.moments_
