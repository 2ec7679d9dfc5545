"""A few rows of Python values give what they give through Arrow: the same answers, and the same errors."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.tables import examples

import gramian as gm
from gramian.maps.projection import Design

START = datetime.datetime(2024, 1, 1)


def table() -> pa.Table:
    rng = np.random.default_rng(0)
    n = 300
    return pa.table({
        "text": rng.choice(["a", "it's", "😀", ""], n),
        "gap": [None if k == 0 else "xyz"[k - 1] for k in rng.integers(0, 4, n)],
        "flag": rng.random(n) < 0.5,
        "code": rng.integers(-2, 4, n),
        "number": rng.normal(size=n),
        "large": rng.integers(0, 10**6, n) + 2**60,
        "when": [START + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 9000, n)],
        "day": [(START + datetime.timedelta(days=int(d))).date() for d in rng.integers(0, 400, n)],
        "kind": rng.choice(["u", "v", "w"], n),
        "price": rng.normal(size=n),
    })  # fmt: skip


FEATURES = ["text", "gap", "flag", "code", "number", "large", "when", "day"]


@pytest.fixture(scope="module")
def models():
    rows = table()
    moments = gm.collect(rows.select(FEATURES), categorical=["code"], bins={"number": [-1.0, 0.5]})
    return [
        (gm.PCA(4).fit(moments.pool(min_count=60)), ["transform", "score_samples"]),
        (gm.FisherDiscriminant().fit(rows.drop(["price"]), "kind"), ["predict", "predict_proba", "black_swans"]),
        (gm.Ridge().fit(rows.drop(["kind"]), "price"), ["predict"]),
        (gm.JointTargetEncoder().fit(rows.drop(["kind"]), "price"), ["transform"]),
        (gm.DensityEmbedding(2).fit(rows.select(FEATURES)), ["anomaly_score", "predict"]),
        (gm.ELMRegressor(9, direct_links=True).fit(rows.drop(["kind"]), "price"), ["predict"]),
    ]


def outcome(model: Any, method: str, X: Any) -> Any:
    try:
        return getattr(model, method)(X)
    except Exception as error:
        return type(error), str(error)


def assert_same(models: Any, X: Any, *, few: bool | None = None) -> None:
    for model, methods in models:
        if few is not None:
            assert (model.design_.encode_few(X) is not None) == few
        for method in methods:
            quick = outcome(model, method, X)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Design, "encode_few", lambda self, X: None)
                slow = outcome(model, method, X)
            assert type(quick) is type(slow)
            if isinstance(slow, tuple):
                assert quick == slow
            elif np.asarray(slow).dtype.kind == "f":
                np.testing.assert_allclose(quick, slow, rtol=1e-12, atol=1e-12)
            else:
                np.testing.assert_array_equal(quick, slow)


ROW = {"text": "a", "gap": "x", "flag": True, "code": 1, "number": 0.25, "large": 2**60 + 7, "when": START,
       "day": START.date()}  # fmt: skip


def test_plain_rows_take_the_short_path(models):
    rows = [ROW, {**ROW, "text": "new", "gap": None, "number": None}]
    for X in (ROW, rows, pd.DataFrame([ROW]), pl.DataFrame([ROW]), {**ROW, "more": 1}):
        assert_same(models, X, few=True)


VALUES = {
    "text": st.sampled_from(["a", "it's", "😀", "", "new", None]),
    "gap": st.sampled_from(["x", "zz", None]),
    "flag": st.booleans() | st.none(),
    "code": st.integers(-3, 5) | st.none() | st.sampled_from([1.0, 1.5]),
    "number": st.floats(-3, 3) | st.none() | st.just(float("nan")) | st.integers(-2, 2) | st.sampled_from([-1.0, 0.5]),
    "large": st.integers(2**60, 2**60 + 10**6) | st.none(),
    "when": st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2100, 1, 1)) | st.none(),
    "day": st.dates(datetime.date(1950, 1, 1), datetime.date(2100, 1, 1)) | st.none(),
}


@given(st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=3))
@examples(20)
def test_any_rows_give_the_same(models, rows):
    assert_same(models, rows)
    assert_same(models, rows[0], few=True)
    assert_same(models, pd.DataFrame(rows[:1]))


ODD = [
    ("number", "3"), ("number", float("inf")), ("number", True), ("number", Decimal("1.5")), ("number", 2**70),
    ("number", np.float64(0.5)), ("number", np.float32(0.5)), ("text", 3), ("text", b"a"), ("text", "\ud800"),
    ("text", ["a", "b"]),
    ("flag", 1), ("flag", "yes"), ("code", "1"), ("code", True), ("code", float("inf")), ("code", 2**70),
    ("when", "2024-01-01"),
    ("when", START.date()), ("when", START.replace(tzinfo=datetime.UTC)), ("when", START.time()), ("day", START),
    ("large", 2**60 + 0.5), ("large", 2**63), ("when", pd.NaT), ("text", pd.NA), ("text", float("nan")), ("gap", float("nan")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), ODD, ids=lambda each: repr(each)[:20])
def test_odd_values_give_the_same_answer_or_error(models, name, value):
    assert_same(models, {**ROW, name: value})
    assert_same(models, [ROW, {**ROW, name: value}])


def test_columns_that_lack_or_are_more_are_told_alike(models):
    assert_same(models, {name: value for name, value in ROW.items() if name != "flag"}, few=False)
    assert_same(models, {**ROW, 3: 4}, few=False)
    assert_same(models, {**ROW, "more": [1, 2]}, few=False)
    assert_same(models, [ROW, {**ROW, "more": 1}], few=False)
    assert_same(models, {}, few=False)
    assert_same(models, [], few=False)


@pytest.mark.parametrize(
    "kinds",
    [
        {"text": "category", "gap": "string"}, {"code": "Int64", "flag": "boolean", "number": "Float64"},
        {"number": "float32", "code": "int8"}, {"text": object},
    ],
)  # fmt: skip
def test_frames_of_every_kind_of_column(models, kinds):
    assert_same(models, pd.DataFrame([ROW]).astype(kinds))


def test_float32_stays_float32():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"), dtype="float32")
    model = gm.PCA(2).fit(frame)
    assert model.transform(frame.iloc[[0]]).dtype == np.float32
    np.testing.assert_allclose(model.transform(frame.iloc[[0]]), model.transform(frame)[:1], rtol=1e-5)


def test_a_model_without_names_takes_rows_as_before():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = gm.PCA(1).fit(X)
    assert_same([(model, ["transform"])], {"x0": 1.0, "x1": 2.0})
    with pytest.warns(UserWarning, match="without feature names|feature names"):
        model.transform(pd.DataFrame({"a": [1.0], "b": [2.0]}))


def test_no_table_is_made(models, monkeypatch):
    model = models[1][0]
    model.predict(ROW)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a table was made")

    monkeypatch.setattr("gramian.estimators.spine.inputs.open_table", refuse)
    monkeypatch.setattr(Design, "encode", refuse)
    for X in (ROW, [ROW], pd.DataFrame([ROW])):
        assert len(model.predict(X)) == 1
