"""`missing="fill"` of the methods of rows: a column that the rows lack is missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError

N = 60
TRAINING = pd.DataFrame(
    {
        "color": np.resize(["red", "blue", "green", "red"], N),
        "store": np.resize([1, 2, 3], N).astype(str),
        "size": np.arange(N) % 7 + 0.5,
        "price": np.arange(N) % 11 * 1.5,
    }
)
CLASSES = np.where((TRAINING["size"] > 3) ^ (TRAINING["color"] == "red"), "yes", "no")
VALUES = TRAINING["size"] + (TRAINING["color"] == "red")

MODELS = {
    "pca": gm.PCA(2).fit(TRAINING),
    "encoder": gm.JointTargetEncoder().fit(TRAINING, VALUES),
    "fisher": gm.FisherDiscriminant().fit(TRAINING, CLASSES),
    "density": gm.DensityEmbedding(contamination=0.1).fit(TRAINING),
    "mahalanobis": gm.MahalanobisFeatures().fit(TRAINING, VALUES),
    "ridge": gm.Ridge().fit(TRAINING, VALUES),
    "logistic": gm.LogisticRegression().fit(TRAINING, CLASSES),
    "elm": gm.ELMClassifier(5, random_state=0).fit(TRAINING, CLASSES),
    "random features": gm.RandomFeatures(4, random_state=0).fit(TRAINING),
}
METHODS = (
    "transform", "predict", "predict_proba", "predict_log_proba", "decision_function", "anomaly_score", "score_samples",
    "black_swans", "explain",
)  # fmt: skip

ROWS = [{"color": "red", "price": 1.5}, {"color": "violet", "price": None}, {"color": "blue", "price": 3.0}]
LACKING = pa.Table.from_pylist(ROWS)
EXPLICIT = [{"color": row["color"], "store": None, "size": None, "price": row["price"]} for row in ROWS]


def values_of(found: Any) -> Any:
    """Return what a method gives as lists, whatever holds it."""
    if hasattr(found, "to_pydict"):
        return found.to_pydict()
    if isinstance(found, pd.DataFrame | pl.DataFrame):
        return pa.table(found).to_pydict() if isinstance(found, pl.DataFrame) else found.to_dict("list")
    return np.asarray(found).tolist()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "rows",
    [ROWS, LACKING.to_pydict(), LACKING.to_pandas(), pl.from_arrow(LACKING), LACKING, LACKING.to_batches()[0]],
    ids=["dicts", "columns", "pandas", "polars", "arrow", "batch"],
)
def test_rows_that_lack_columns_are_rows_with_missing_values(name: str, rows: Any) -> None:
    model = MODELS[name]
    methods = [method for method in METHODS if hasattr(model, method)]
    assert methods
    for method in methods:
        found, expected = getattr(model, method)(rows, missing="fill"), getattr(model, method)(EXPLICIT)
        if method == "explain":
            assert type(found).__module__.split(".")[0] in {type(rows).__module__.split(".")[0], "pandas"}
        np.testing.assert_equal(values_of(found), values_of(expected), err_msg=method)
        with pytest.raises(
            ColumnError, match=r"columns seen in fit are missing: 'store', 'size'.*missing='fill'.*predict"
        ):
            getattr(model, method)(rows)


@pytest.mark.parametrize("name", MODELS)
def test_one_dict_is_encoded_at_once_and_as_a_frame_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, row = MODELS[name], ROWS[0]
    methods = [method for method in METHODS if hasattr(model, method) and method != "explain"]
    frames = [getattr(model, method)(pa.Table.from_pylist([row]), missing="fill") for method in methods]
    monkeypatch.setattr("gramian.estimators.spine.inputs.open_table", None)
    for method, expected in zip(methods, frames, strict=True):
        np.testing.assert_array_equal(getattr(model, method)(row, missing="fill"), expected)


def test_a_frame_keeps_its_index_and_stays_as_it_was() -> None:
    model = gm.PCA(2).fit(TRAINING).set_output(transform="pandas")
    rows = LACKING.to_pandas().set_index(pd.Index([7, 8, 9]))
    assert list(model.transform(rows, missing="fill").index) == [7, 8, 9]
    assert list(rows.columns) == ["color", "price"]


def test_batches_may_lack_different_columns() -> None:
    parts = [TRAINING[["color", "size"]][:5], TRAINING[["store", "price"]][5:9]]
    found = MODELS["ridge"].predict(parts, missing="fill")
    expected = [MODELS["ridge"].predict(part, missing="fill") for part in parts]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-12)


def test_rows_that_lack_nothing_give_what_they_gave() -> None:
    for missing in ("raise", "fill"):
        np.testing.assert_array_equal(
            MODELS["ridge"].predict(TRAINING, missing=missing), MODELS["ridge"].predict(TRAINING)
        )


def test_the_option_ends_with_the_call() -> None:
    with pytest.raises(DataError):
        MODELS["ridge"].predict({"price": "dear"}, missing="fill")
    with pytest.raises(ColumnError):
        MODELS["ridge"].predict({"price": 1.0})


def test_a_pipeline_hands_it_to_its_last_step() -> None:
    from sklearn.pipeline import make_pipeline

    alone = make_pipeline(gm.Ridge()).fit(TRAINING, VALUES)
    np.testing.assert_array_equal(
        alone.predict(LACKING.to_pandas(), missing="fill"), alone.predict(pa.Table.from_pylist(EXPLICIT))
    )


@pytest.mark.parametrize(
    ("model", "missing", "message"),
    [
        (MODELS["pca"], "ignore", "missing is 'raise' or 'fill'; got 'ignore'"),
        (MODELS["pca"], None, "missing is 'raise' or 'fill'; got None"),
        (gm.PCA(1).fit([[1.0, 2.0], [3.0, 1.0]]), "fill", "needs columns with names, and PCA was not fitted on any"),
        (gm.ClassicalMDS(1, metric="euclidean").fit([[1.0], [2.0], [4.0]]), "fill", "needs columns with names"),
        (gm.VarianceFilter(k=1).fit(TRAINING), "fill", "missing='fill' of transform cannot be had of VarianceFilter"),
    ],
)
def test_what_cannot_be_filled_is_said_in_one_line(model: Any, missing: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        model.transform(LACKING, missing=missing)
    assert "\n" not in str(raised.value)


def test_lazy_frames_are_refused_in_one_line() -> None:
    dd = pytest.importorskip("dask.dataframe")
    lazy = dd.from_pandas(LACKING.to_pandas(), npartitions=1)
    with pytest.raises(
        DataError, match="missing='fill' of transform is for rows in memory; add the columns to the Dask"
    ):
        MODELS["pca"].transform(lazy, missing="fill")
