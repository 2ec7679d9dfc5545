"""Every estimator takes what `collect` takes, and gives what scikit-learn gives."""

from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

import gramian as gm
from gramian.errors import ColumnError, DataError, MemoryLimitError  # noqa: F401
from gramian.estimators.registry import METHODS

FEATURES = ["color", "shape", "size", "count", "flag", "when"]


def sources(frame, folder):
    """Yield the same rows as every kind of source."""
    frame.to_parquet(folder / "all.parquet")
    yield "path", folder / "all.parquet"
    yield "moments", gm.collect(frame)
    yield "arrow", pa.Table.from_pandas(frame, preserve_index=False)
    yield "polars", pl.from_pandas(frame)
    yield "generator", (frame[k : k + 100] for k in range(0, len(frame), 100))


@pytest.mark.parametrize("make", [lambda: gm.PCA(3), lambda: gm.Whitening("zca"), lambda: gm.FisherDiscriminant()])
def test_every_source_gives_the_same_model(frame, tmp_path, make):
    expected = make().fit(frame, "bought").transform(frame)
    for kind, source in sources(frame, tmp_path):
        found = make().fit(source, "bought").transform(frame)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max(), err_msg=kind)


@pytest.mark.parametrize("make", [lambda: gm.PCA(3), lambda: gm.FisherDiscriminant()])
def test_partial_fit_by_chunks_equals_fit(frame, make):
    X, y = frame[FEATURES], frame["bought"]
    whole, parts = make().fit(X, y), make()
    for start in range(0, len(frame), 150):
        parts.partial_fit(X[start : start + 150], y[start : start + 150])
    expected = whole.transform(X)
    np.testing.assert_allclose(parts.transform(X), expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert parts.moments_.n_rows == len(frame)


def test_a_target_as_values_equals_a_target_by_name(frame):
    by_name = gm.FisherDiscriminant().fit(frame, "bought")
    by_value = gm.FisherDiscriminant().fit(frame[FEATURES], frame["bought"])
    np.testing.assert_allclose(by_name.transform(frame), by_value.transform(frame), atol=1e-10)
    assert by_name.classes_.tolist() == by_value.classes_.tolist() == ["no", "yes"]
    assert by_name.n_features_in_ == len(FEATURES)
    assert by_name.feature_names_in_.tolist() == FEATURES


def test_columns_are_matched_by_name_extra_ones_ignored_missing_ones_named(frame):
    model = gm.PCA(2).fit(frame[FEATURES])
    expected = model.transform(frame[FEATURES])
    np.testing.assert_array_equal(model.transform(frame[FEATURES[::-1]].assign(extra=1)), expected)
    with pytest.raises(ColumnError, match="'size'"):
        model.transform(frame.drop(columns="size"))


def test_a_column_of_another_type_is_named(frame):
    model = gm.PCA(2).fit(frame[FEATURES])
    with pytest.raises(ColumnError, match="'size'"):
        model.transform(frame[FEATURES].assign(size="large"))
    with pytest.raises(ColumnError, match="'color'"):
        model.transform(frame[FEATURES].assign(color=1.5))


def test_columns_after_a_date_are_checked_by_their_own_labels():
    days = pd.date_range("2026-01-01", periods=20, freq="D")
    table = pd.DataFrame(
        {"when": days, "city": ["Bonn", "Oslo"] * 10, "paid": [True, False] * 10, "x": np.arange(20.0)}
    )
    model = gm.PCA(n_components=2).fit(table)
    assert model.transform(table).shape == (20, 2)
    with pytest.raises(ColumnError, match="'city' holds whole numbers"):
        model.transform(table.assign(city=range(20)))


def test_unseen_levels_sit_at_the_mean_and_are_shown(frame):
    model = gm.PCA(2).fit(frame[["color", "size"]])
    rows = pd.DataFrame({"color": ["purple", "red"], "size": [np.nan, 50.0]})
    np.testing.assert_allclose(model.transform(rows)[0], 0, atol=1e-12)
    assert model.black_swans(rows).tolist() == [[True, False], [False, False]]


def test_a_row_does_not_depend_on_its_neighbours(frame):
    model = gm.PCA(4).fit(frame[FEATURES])
    whole = model.transform(frame[FEATURES])
    for k in (0, 17, 599):
        np.testing.assert_allclose(model.transform(frame[FEATURES][k : k + 1])[0], whole[k], rtol=1e-12, atol=1e-12)


def test_missing_where_none_was_seen_is_a_black_swan():
    model = gm.PCA(1).fit(pd.DataFrame({"c": ["a", "b"] * 5, "x": np.arange(10.0)}))
    rows = pd.DataFrame({"c": ["a", None], "x": [1.0, 2.0]})
    assert model.black_swans(rows)[:, 0].tolist() == [False, True]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_gives_the_library_asked_for(frame, library):
    model = gm.PCA(2).set_output(transform=library).fit(frame[FEATURES])
    out = model.transform(frame[FEATURES])
    assert type(out).__module__.split(".")[0] == library
    assert list(out.columns) == ["pca0", "pca1"] == model.get_feature_names_out().tolist()


def test_arrays_need_no_names_and_keep_float32():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    model = gm.PCA(2).fit(X)
    assert not hasattr(model, "feature_names_in_")
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    np.testing.assert_allclose(model.transform(sp.csr_array(X)), model.transform(X), atol=1e-12)
    np.testing.assert_allclose(gm.PCA(2).fit(gm.collect(X)).transform(X), model.transform(X), atol=1e-12)


def test_arrays_of_text_are_categories_and_positions_choose_them(frame):
    X = frame[["color", "shape"]].astype(object).to_numpy()
    np.testing.assert_allclose(
        gm.PCA(2).fit_transform(X), gm.PCA(2).fit_transform(frame[["color", "shape"]].astype(object)), atol=1e-10
    )
    numbers = frame[["count", "size"]].to_numpy()
    chosen = gm.PCA(2, categorical_features=[0]).fit(numbers)
    masked = gm.PCA(2, categorical_features=[True, False]).fit(numbers)
    assert chosen.design_names_ == masked.design_names_
    assert len(chosen.design_names_) == 7
    with pytest.raises(DataError, match="position 5"):
        gm.PCA(2, categorical_features=[5]).fit(numbers)


def test_bad_combinations_say_what_to_do(frame, tmp_path):
    m = gm.collect(frame)
    with pytest.raises(DataError, match="name of a collected column"):
        gm.FisherDiscriminant().fit(m, frame["bought"])
    with pytest.raises(DataError, match="sample_weight"):
        gm.PCA().fit(m, sample_weight=np.ones(len(frame)))
    with pytest.raises(DataError, match="rows"):
        gm.PCA().fit_transform(m)
    with pytest.raises(DataError, match="transform_file"):
        gm.PCA(1).fit(frame[FEATURES]).transform("some.parquet")
    with pytest.raises(ColumnError, match="did you mean 'bought'"):
        gm.FisherDiscriminant().fit(m, "bougth")
    with pytest.raises(ColumnError, match="when_month"):
        gm.FisherDiscriminant().fit(m, "when")
    with pytest.raises(DataError, match="design columns"):
        gm.PCA(500).fit(frame[FEATURES])
    with pytest.raises(DataError, match="collect\\(folds=5\\)"):
        gm.PCA("cv").fit(m)
    with pytest.raises(DataError, match="n_components is None"):
        gm.PCA("best").fit(frame[FEATURES])


def test_inverse_transform_gives_back_levels_and_numbers(frame):
    clean = frame[["color", "shape", "size"]].dropna()
    model = gm.PCA().fit(clean)
    back = model.inverse_transform(model.transform(clean))
    assert (back["color"].to_numpy() == clean["color"].to_numpy()).all()
    assert (back["shape"].to_numpy() == clean["shape"].astype(str).to_numpy()).all()
    np.testing.assert_allclose(back["size"], clean["size"], rtol=1e-9)
    assert model.inverse_transform(model.transform(clean), design=True).shape == (len(clean), len(model.design_names_))


def test_loadings_have_a_row_a_column_level_and_feature(frame):
    model = gm.PCA(2).fit(frame[["color", "size"]])
    table = model.loadings()
    assert list(table.columns) == ["column", "level", "feature", "weight"]
    assert len(table) == 2 * len(model.design_names_)
    assert set(table["feature"]) == {"pca0", "pca1"}


def test_works_inside_pipelines_column_transformers_and_searches(frame):
    X, y = frame[FEATURES], (frame["bought"] == "yes").to_numpy()
    whole = make_pipeline(gm.PCA(4), LogisticRegression())
    assert cross_val_score(whole, X, y, cv=3).mean() > 0.6
    parts = ColumnTransformer([("words", gm.PCA(2), ["color", "shape"]), ("rest", gm.Whitening(), ["size", "count"])])
    assert make_pipeline(parts, LogisticRegression()).fit(X, y).predict(X).shape == (len(X),)
    search = GridSearchCV(whole, {"pca__n_components": [1, 4]}, cv=3).fit(X, y)
    assert search.best_params_["pca__n_components"] == 4
    assert clone(search.best_estimator_)[0].n_components == 4


def test_sample_weights_are_repetitions(frame):
    weights = np.random.default_rng(3).integers(0, 4, len(frame))
    repeated = frame.loc[frame.index.repeat(weights)]
    weighted = gm.FisherDiscriminant().fit(frame[FEATURES], frame["bought"], sample_weight=weights)
    plain = gm.FisherDiscriminant().fit(repeated[FEATURES], repeated["bought"])
    np.testing.assert_allclose(weighted.transform(frame), plain.transform(frame), atol=1e-9)
    by_name = gm.PCA(2).fit(frame[FEATURES].assign(w=weights), sample_weight="w")
    np.testing.assert_allclose(by_name.components_, gm.PCA(2).fit(repeated[FEATURES]).components_, atol=1e-9)
    assert "w" not in by_name.feature_names_in_


def test_input_is_never_modified(frame):
    before = frame.copy()
    gm.FisherDiscriminant().fit(frame, "bought").transform(frame)
    pd.testing.assert_frame_equal(frame, before)
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[3, 1] = np.nan
    copy = X.copy()
    gm.PCA(2).fit(X).transform(X)
    np.testing.assert_array_equal(X, copy)


def test_parquet_partitions_fit_like_the_whole(frame, tmp_path):
    pq.write_to_dataset(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "by", partition_cols=["bought"])
    model = gm.FisherDiscriminant().fit(tmp_path / "by", "bought")
    assert model.moments_.n_rows == len(frame)


def test_partial_fit_after_fit_goes_on_from_it(frame):
    X = frame[FEATURES]
    model = gm.PCA(2).fit(X[:300])
    before = model.explained_variance_.copy()
    model.partial_fit(X[300:])
    np.testing.assert_allclose(model.explained_variance_, gm.PCA(2).fit(X).explained_variance_, rtol=1e-9)
    assert not np.allclose(model.explained_variance_, before)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_way_back_has_the_width_of_the_features(frame, kind):
    numbers = np.random.default_rng(0).normal(size=(50, 3)).astype(kind)
    model = gm.PCA(2).fit(numbers)
    assert model.inverse_transform(model.transform(numbers)).dtype == kind
    mixed = gm.PCA(2).fit(frame[["color", "size"]])
    features = mixed.transform(frame).astype(kind)
    assert mixed.inverse_transform(features)["size"].dtype == kind
    assert mixed.inverse_transform(features, design=True).dtype == kind
    np.testing.assert_allclose(
        mixed.inverse_transform(features)["size"], mixed.inverse_transform(features, True)[:, -1]
    )


WEIGHTED = [
    *(method.estimator for method in METHODS if "sample_weight" in signature(method.estimator.fit).parameters),
    lambda: gm.MahalanobisFeatures(solver="sgd"),
    lambda: gm.HebbianPCA(2, rule="sanger", mode="online", forgetting=0.99),
    lambda: gm.NeuralICA(learning_rate=1e-3, nonlinearity="tanh", n_epochs=3),
]
AT_ONCE = [
    lambda: gm.MahalanobisFeatures(influence="ranks"),
    lambda: gm.DensityEmbedding(contamination=0.1),
    lambda: gm.RecursiveEliminator(2, estimator=LinearRegression()),
]
"""Those that `partial_fit` has no use for."""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [*WEIGHTED, *AT_ONCE])
def test_one_weight_is_the_weight_of_every_row(make, rng):
    X = rng.random((80, 4)) @ rng.random((4, 4))
    classes = make in (gm.FisherDiscriminant, gm.ELMClassifier, gm.LogisticRegression, gm.AdditiveClassifier)
    y = (X[:, 0] > X[:, 1]).astype(int) if classes else X[:, 0] + 0.1 * rng.random(80)

    def answers(method, weight):
        model = make()
        getattr(model, method)(X, y, sample_weight=weight)
        names = [name for name in ("transform", "predict", "score_samples", "scores_") if hasattr(model, name)]
        return [getattr(model, name)(X) if callable(getattr(model, name)) else getattr(model, name) for name in names]

    for method in ["fit", "partial_fit"] if hasattr(make, "partial_fit") and make not in AT_ONCE else ["fit"]:
        for weight, same in ((1, None), (np.float32(2.5), np.full(80, 2.5))):
            for found, expected in zip(answers(method, weight), answers(method, same), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        with pytest.raises(DataError, match="sample_weight"):
            getattr(make(), method)(X, y, sample_weight=-1.0)
        with pytest.raises(DataError, match="sample_weight"):
            getattr(make(), method)(X, y, sample_weight=0)


def test_one_weight_serves_frames_splitters_and_batches(rng):
    frame = pd.DataFrame({"c": rng.choice(list("abc"), 90), "x": rng.standard_normal(90)})
    y = frame["x"] + rng.standard_normal(90)
    for cv in (5, KFold(3)):
        one = gm.JointTargetEncoder(cv=cv).fit_transform(frame, y, sample_weight=2.0)
        np.testing.assert_allclose(
            one, gm.JointTargetEncoder(cv=cv).fit_transform(frame, y, sample_weight=np.full(90, 2.0))
        )
    batches = [frame[:50], frame[50:]]
    model = gm.PCA().fit(iter(batches), sample_weight=2.0)
    assert model.moments_.total_weight == 180
    assert gm.ELMRegressor(5).fit(frame.assign(y=y), "y", sample_weight=2.0).moments_.total_weight == 180
