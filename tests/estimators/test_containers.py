"""Categories in arrays, batches without values, and rows that come in another container than those of fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import gramian as gm
from gramian.errors import ColumnError, DataError


@pytest.fixture
def colours(rng) -> pd.DataFrame:
    return pd.DataFrame(rng.choice(list("xyz"), (200, 3)), columns=["x0", "x1", "x2"])


@pytest.fixture
def codes(colours) -> np.ndarray:
    return OrdinalEncoder().fit_transform(colours)


@pytest.fixture
def target(colours, rng) -> np.ndarray:
    return np.where(rng.random(200) < 0.1, 1, (colours.x0 == "x").astype(int))


@pytest.fixture
def mixed(rng) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "text": rng.choice(list("ab"), 60),
            "flag": rng.random(60) < 0.5,
            "when": pd.date_range("2025-01-01", periods=60, freq="7h"),
            "number": rng.normal(size=60),
        }
    )


# Categories in arrays


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16, np.float32, np.float64, object])
@pytest.mark.parametrize("which", ["all", [0, 1, 2], [True, True, True]], ids=["all", "positions", "mask"])
def test_categories_of_an_array_classify_as_those_of_a_frame(colours, codes, target, kind, which):
    expected = gm.FisherDiscriminant().fit(colours, target)
    found = gm.FisherDiscriminant(categorical_features=which).fit(codes.astype(kind), target)
    np.testing.assert_allclose(found.predict_proba(codes.astype(kind)), expected.predict_proba(colours), atol=1e-6)
    assert found.score(codes.astype(kind), target) == expected.score(colours, target) > 0.8


@pytest.mark.parametrize(
    "make", [gm.PCA, gm.Whitening, gm.MahalanobisFeatures, gm.JointTargetEncoder, gm.DensityEmbedding]
)
def test_features_of_categories_in_an_array_vary_beside_numbers(codes, target, rng, make):
    X = np.column_stack([codes, rng.normal(size=200)])
    features = make(categorical_features=[0, 1, 2]).fit(X, target).transform(X)
    assert len(np.unique(features.round(9), axis=0)) == 200
    levels = make(categorical_features="all").fit(codes, target).transform(codes)
    assert len(np.unique(levels.round(9), axis=0)) == len(np.unique(codes, axis=0))


@pytest.mark.parametrize("fitted", ["default", "pandas", "polars"])
@pytest.mark.parametrize("asked", ["default", "pandas", "polars"])
@pytest.mark.filterwarnings("ignore:X has feature names", "ignore:X does not have valid feature names")
def test_ordinal_codes_in_a_pipeline_are_categories_whatever_its_output(colours, fitted, asked):
    expected = gm.PCA().fit(colours).transform(colours)
    model = make_pipeline(OrdinalEncoder(), gm.PCA(categorical_features="all"))
    model.set_output(transform=fitted).fit(colours)
    found = np.asarray(model.set_output(transform=asked).transform(colours))
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)


def test_cross_fitted_features_of_an_array_are_those_of_a_frame(colours, codes, target):
    for cv in (5, KFold(3)):
        expected = gm.JointTargetEncoder(ridge=1.0, cv=cv).fit_transform(colours, target)
        found = gm.JointTargetEncoder(ridge=1.0, cv=cv, categorical_features="all").fit_transform(codes, target)
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_the_ascent_reads_categories_of_an_array(colours, codes, target):
    options: Any = {"solver": "sgd", "sgd_options": {"max_epochs": 3, "random_state": 0}}
    expected = gm.MahalanobisFeatures(**options).fit(colours, target).transform(colours)
    found = gm.MahalanobisFeatures(**options, categorical_features="all").fit(codes, target).transform(codes)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_files_of_features_come_from_arrays_too(codes, target):
    model = gm.FisherDiscriminant(categorical_features="all").fit(codes, target)
    found = gm.transform_stream(model, codes, method="predict").read_all()["prediction"].to_pylist()
    assert found == model.predict(codes).tolist()


def test_unseen_values_of_an_array_are_named_in_explanations(codes):
    model = gm.DensityEmbedding(categorical_features="all").fit(codes)
    row = codes[:1].copy()
    row[0, 0] = 9.0
    assert model.black_swans(row).tolist() == [[True, False, False]]
    assert model.explain(row, top=1)["text"].to_pylist()[0] == "x0=9: never seen in 200 rows"


def test_a_sparse_matrix_has_categories(codes, target):
    model = gm.FisherDiscriminant(categorical_features="all").fit(sp.csr_matrix(codes), target)
    np.testing.assert_array_equal(model.predict(sp.csc_array(codes)), model.predict(codes))
    assert model.score(codes, target) > 0.8


def test_booleans_and_dates_of_an_array_are_those_of_a_frame(mixed):
    flags = np.column_stack([mixed.flag, mixed.number > 0, mixed.number > 1])
    days = mixed[["when"]].to_numpy()
    for array in (flags, days):
        frame = pd.DataFrame({f"x{k}": array[:, k] for k in range(array.shape[1])})
        expected = gm.PCA(2).fit(frame)
        found = gm.PCA(2).fit(array)
        assert found.design_names_ == expected.design_names_
        np.testing.assert_allclose(found.transform(array), expected.transform(frame), atol=1e-12)


def test_lists_of_rows_keep_the_type_of_every_value():
    rows = [["a", 1.5], ["b", 2.5], ["a", 3.0], ["b", 0.5]]
    model = gm.PCA().fit(rows)
    assert model.design_names_ == ["x0_a", "x0_b", "x1"]
    np.testing.assert_allclose(model.transform(rows), model.transform(np.array(rows, dtype=object)))


def test_masked_floats_are_missing_and_structured_arrays_have_names(codes):
    masked = np.ma.masked_equal(codes, 1.0)
    holes = np.where(codes == 1.0, np.nan, codes)
    model = gm.PCA(2, categorical_features=[0]).fit(masked)
    assert model.design_names_ == gm.PCA(2, categorical_features=[0]).fit(holes).design_names_
    np.testing.assert_allclose(model.transform(masked), model.transform(holes))
    records = np.array([("a", 1.5), ("b", 2.5), ("a", 3.0)], dtype=[("k", "U1"), ("v", "f8")])
    assert gm.PCA().fit(records).design_names_ == ["k_a", "k_b", "v"]


def test_arrow_tables_of_float32_give_float32(codes):
    X = codes.astype(np.float32)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    for which in ("from_dtype", "all"):
        model = gm.PCA(2, categorical_features=which).fit(X)
        for rows in (X, frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
            assert np.asarray(model.transform(rows)).dtype == np.float32


# Batches in which a column has no value


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def emptied(frame: pd.DataFrame, column: str) -> pa.Table:
    """Return the frame with nulls of the right type in a column."""
    table = arrow(frame)
    at = table.schema.get_field_index(column)
    return table.set_column(at, column, pa.nulls(len(frame), table.schema.field(column).type))


def without(frame: pd.DataFrame, column: str) -> dict[str, Any]:
    """Return the frame with nothing in a column, as every library writes that."""
    return {
        "NaN": frame.assign(**{column: np.nan}),
        "None": frame.assign(**{column: None}),
        "NA": frame.assign(**{column: pd.NA}),
        "polars null": pl.from_pandas(frame).with_columns(pl.lit(None).alias(column)),
        "polars text": pl.from_pandas(frame).with_columns(pl.lit(None, dtype=pl.String).alias(column)),
        "polars float": pl.from_pandas(frame).with_columns(pl.lit(None, dtype=pl.Float64).alias(column)),
        "objects": frame.assign(**{column: None}).to_numpy(dtype=object),
    }


@pytest.mark.parametrize("column", ["text", "flag", "when", "number"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_column_without_values_is_missing_whatever_its_type(mixed, column):
    model = gm.DensityEmbedding().fit(mixed)
    expected = emptied(mixed, column)
    for words, rows in without(mixed, column).items():
        np.testing.assert_allclose(model.transform(rows), model.transform(expected), atol=1e-12, err_msg=words)
        np.testing.assert_array_equal(model.black_swans(rows), model.black_swans(expected), err_msg=words)
        np.testing.assert_allclose(model.anomaly_score(rows), model.anomaly_score(expected), err_msg=words)


@pytest.mark.parametrize("column", ["text", "flag", "when", "number"])
def test_rows_without_values_in_a_column_can_be_added(mixed, column):
    expected = gm.PCA().fit(pa.concat_tables([arrow(mixed), emptied(mixed, column)]))
    for words, rows in without(mixed, column).items():
        if words == "objects":
            continue
        found = gm.PCA().fit(mixed).partial_fit(rows)
        assert found.design_names_ == expected.design_names_, words
        np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, atol=1e-12, err_msg=words)
    batches = [mixed, mixed.assign(**{column: np.nan}), mixed]
    assert gm.collect(batches) == gm.collect(iter(batches))
    assert gm.collect(batches[1:]).n_rows == 120


def test_another_type_with_values_is_refused_by_name(mixed):
    model = gm.PCA().fit(mixed)
    for column, value in {"text": 1.5, "flag": "yes", "when": 3, "number": "many"}.items():
        rows = mixed.assign(**{column: [value] + [None] * 59})
        with pytest.raises(ColumnError, match=f"'{column}' holds .*in fit it was"):
            model.transform(rows)
        with pytest.raises((ColumnError, DataError), match=f"'{column}'"):
            gm.PCA().fit(mixed).partial_fit(rows)
        with pytest.raises(DataError, match=f"'{column}'"):
            gm.collect(iter([mixed, rows]))


# Numbers that are labels


def test_integers_that_a_missing_value_made_floats_are_the_same_levels():
    whole = pd.DataFrame({"k": [3, 1, 2, 3, 1, 2], "x": np.arange(6.0)})
    holes = pd.DataFrame({"k": [3.0, np.nan], "x": [0.0, 1.0]})
    model = gm.PCA(categorical_features=["k"]).fit(whole)
    assert model.black_swans(holes).tolist() == [[False, False], [True, False]]
    np.testing.assert_allclose(model.transform(holes)[0], model.transform(whole)[0])
    added = gm.PCA(categorical_features=["k"]).fit(whole).partial_fit(holes)
    assert added.design_names_ == ["k_3", "k_1", "k_2", "k_(missing)", "x"]
    assert added.moments_.counts("k").tolist() == [3, 2, 2, 1]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"k": [1.0, 2.0, np.nan, 1.0], "j": [0.5, 0.5, 1.5, np.nan]}),
        pd.DataFrame({"k": [1.0, 2.0, None, 1.0], "j": [0.5, 0.5, 1.5, None]}, dtype="Float64"),
        pl.DataFrame({"k": [1.0, 2.0, None, 1.0], "j": [0.5, 0.5, 1.5, None]}),
        pa.table({"k": [1.0, 2.0, None, 1.0], "j": [0.5, 0.5, 1.5, float("nan")]}),
    ],
    ids=["pandas", "nullable", "polars", "arrow"],
)
def test_frames_of_floats_alone_have_categories(frame):
    model = gm.PCA(categorical_features="all").fit(frame)
    assert model.design_names_ == ["k_1", "k_2", "k_(missing)", "j_0.5", "j_1.5", "j_(missing)"]
    assert len(np.unique(np.asarray(model.transform(frame)).round(9), axis=0)) == 4


# Another container than in fit


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_an_array_goes_by_position_after_a_frame(colours, codes):
    frame = pd.DataFrame(codes, columns=["a", "b", "c"])
    model = gm.PCA(categorical_features=["a", "b", "c"]).fit(frame)
    for rows in (codes, codes.astype(int), codes.tolist(), sp.csr_array(codes)):
        np.testing.assert_allclose(model.transform(rows), model.transform(frame), atol=1e-12)
    more = gm.PCA(categorical_features="all").fit(frame).partial_fit(codes)
    assert more.moments_.n_rows == 400


def test_a_frame_goes_by_position_after_an_array_and_scikit_learn_says_so(codes):
    model = gm.PCA(categorical_features="all").fit(codes)
    frame = pd.DataFrame(codes, columns=["a", "b", "c"])
    for rows in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        with pytest.warns(UserWarning, match="fitted without feature names"):
            np.testing.assert_allclose(model.transform(rows), model.transform(codes), atol=1e-12)
    with pytest.raises(ColumnError, match="missing"):
        model.transform(frame[["a", "b"]])
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert model.partial_fit(frame).moments_.n_rows == 400


# Targets in the columns of pandas that hold missing values


NULLABLE = ["Int64", "int64[pyarrow]", "UInt64", "uint64[pyarrow]", "boolean", "bool[pyarrow]"]


@pytest.mark.parametrize("kind", NULLABLE)
@pytest.mark.parametrize(("shape", "start"), [("series", 2**53), ("array", 2**60), ("frame", 0)])
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_a_nullable_target_is_that_of_numpy(kind, start, shape, rng):
    k = np.arange(60) % 2
    rows = pd.DataFrame({"x": rng.normal(size=60) + 3 * k})
    series = pd.Series(k == 1 if "bool" in kind else start + k, dtype=kind)
    plain = series.to_numpy(series.dtype.numpy_dtype)
    y = {"series": series, "array": series.array, "frame": series.to_frame("y")}[shape]
    distances = np.abs(rows.to_numpy() - rows.to_numpy().T)
    for model, X in ((gm.FisherDiscriminant(), rows), (gm.MDSFDA(), distances)):
        expected = model.fit(X, plain).predict(X)
        found = model.fit(X, y).predict(X)
        np.testing.assert_array_equal(found, expected, strict=True)
        assert model.score(X, y) == model.score(X, plain) > 0.8
    halves = gm.FisherDiscriminant().partial_fit(rows[:30], y[:30], classes=np.unique(plain))
    found = halves.partial_fit(rows[30:], y[30:]).predict(rows)
    np.testing.assert_array_equal(found, gm.FisherDiscriminant().fit(rows, plain).predict(rows), strict=True)
    for estimator in (gm.MahalanobisFeatures, gm.JointTargetEncoder):
        assert estimator(ridge=0.0).fit(rows, y).r2_ == estimator(ridge=0.0).fit(rows, plain).r2_ > 0.5


@pytest.mark.parametrize("kind", NULLABLE)
@pytest.mark.parametrize("model", [gm.FisherDiscriminant(), gm.MahalanobisFeatures()])
def test_a_missing_value_of_a_nullable_target_is_refused(kind, model):
    y = pd.Series([0, 1, None, 1] if "bool" not in kind else [True, False, None, True], dtype=kind)
    with pytest.raises(DataError, match="contains NaN"):
        model.fit(pd.DataFrame({"x": [0.0, 1.0, 2.0, 4.0]}), y)


def test_a_list_of_classes_on_both_sides_of_int64_is_exact(rng):
    classes = [1, 2**63, 2**63 + 1]
    y = [classes[i % 3] for i in range(60)]
    rows = pd.DataFrame({"x": rng.normal(size=60) + 9 * (np.arange(60) % 3)})
    model = gm.FisherDiscriminant().fit(rows, y)
    assert model.classes_.tolist() == classes
    assert model.score(rows, y) == 1.0


@pytest.mark.parametrize("labels", [["no", "yes"], np.array(["a", "b"], dtype="U9"), [2**60, 2**60 + 1], [False, True]])
def test_predictions_have_the_same_type_after_load(labels, rng, tmp_path):
    y = np.array(labels)[np.arange(60) % 2]
    rows = rng.normal(size=(60, 1)) + 3 * (np.arange(60) % 2)[:, None]
    for model, X in ((gm.FisherDiscriminant(), rows), (gm.MDSFDA(), np.abs(rows - rows.T))):
        gm.save(model.fit(X, y), tmp_path / "model")
        loaded = gm.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X), strict=True)
        assert loaded.classes_.dtype == model.classes_.dtype
