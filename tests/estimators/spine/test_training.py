"""What may stand for X and y, and the tables and columns that come of it."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.estimators.spine.inputs import (
    all_float32,
    check_array_like,
    is_array_like,
    is_path,
    open_rows,
    open_training,
)
from gramian.estimators.spine.training import (
    categorical_names,
    named_targets,
    names_categories,
    plain_target,
    read,
    refuse_listed_names,
    row_weights,
    target_outputs,
    target_values,
)
from gramian.maps.projection import Design
from gramian.tables import ArrayTable, open_table

FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})


@pytest.mark.parametrize("X", ["a.csv", Path("a.csv"), ["a.csv", Path("b.csv")], ("a.csv",)])
def test_paths(X):
    assert is_path(X)


@pytest.mark.parametrize("X", [[], [["a.csv"]], ["a.csv", 1], FRAME, np.array(["a.csv"]), b"a.csv", None])
def test_what_is_no_path(X):
    assert not is_path(X)


@pytest.mark.parametrize("X", [np.eye(2), sp.eye_array(2), [[1, 2]], [["a"]], [], ((1,),), 3.0, None])
def test_rows_without_names(X):
    assert is_array_like(X)


@pytest.mark.parametrize(
    "X",
    [FRAME, pl.DataFrame({"a": [1]}), pa.table({"a": [1]}), [{"a": 1}], [FRAME], [np.eye(2)], iter([]),
     np.zeros(2, dtype=[("a", float)])],
)  # fmt: skip
def test_rows_with_names_and_batches(X):
    assert not is_array_like(X)


@pytest.mark.parametrize(
    ("X", "typed", "kind"),
    [
        ([[1, 2], [3, 4]], False, "f"),
        ([[1, 2], [3, 4]], True, "i"),
        ([[1, 2**53 + 1]], False, "i"),
        ([[1, -(2**53)]], False, "f"),
        (np.ones((2, 2), np.int8), False, "f"),
        (np.ones((2, 2), np.float32), True, "f"),
        ([["a", 1]], False, "O"),
        ([[2**63, -1]], False, "O"),
        ([[True, False]], False, "b"),
    ],
)
def test_values_keep_their_type_unless_floats_are_the_same(X, typed, kind):
    found = check_array_like(BaseEstimator(), X, reset=True, typed=typed)
    assert found.dtype.kind == kind
    assert found.tolist() == np.asarray(X, dtype=object).tolist()


def test_masked_values_are_missing_and_missing_ones_are_welcome():
    given = np.ma.masked_array([[1.0, 2.0], [np.nan, 4.0]], mask=[[True, False], [False, False]])
    found = check_array_like(BaseEstimator(), given, reset=True, typed=False)
    np.testing.assert_array_equal(found, [[np.nan, 2.0], [np.nan, 4.0]])
    with pytest.raises(ValueError, match="Expected 2D array"):
        check_array_like(BaseEstimator(), [1.0, 2.0], reset=True, typed=False)


def names_of(table):
    return list(table.names) if isinstance(table, ArrayTable) else table.schema.names


def test_training_rows_have_the_names_they_came_with_or_those_seen():
    for X, seen, names, named in (
        (FRAME, None, ["a", "b"], True),
        (FRAME.to_numpy(), None, ["x0", "x1"], False),
        (FRAME.to_numpy(), ["u", "v"], ["u", "v"], False),
    ):
        estimator = BaseEstimator()
        estimator.n_features_in_ = 2
        table, found = open_training(estimator, X, typed=False, seen=seen)
        assert (names_of(table), found) == (names, named)


def test_rows_to_be_transformed_are_matched_by_name_or_by_position():
    estimator = BaseEstimator()
    estimator.n_features_in_ = 2
    design = Design.of(gm.collect(FRAME), ["a", "b"])
    assert names_of(open_rows(estimator, FRAME.to_numpy(), design)) == ["a", "b"]
    assert names_of(open_rows(estimator, FRAME[["b", "a"]], design)) == ["b", "a"]
    (rows,) = design.rows(open_table(FRAME))
    assert open_rows(estimator, rows, design) is rows
    with pytest.raises(DataError, match=r"transform takes rows in memory; for files use"):
        open_rows(estimator, "rows.parquet", design)
    with pytest.raises(ValueError, match="3 features"):
        open_rows(estimator, np.ones((1, 3)), design)
    estimator.feature_names_in_ = np.array(["a", "b"], dtype=object)
    assert names_of(open_rows(estimator, FRAME.rename(columns={"a": "z"}), design)) == ["z", "b"]


def test_float32_throughout():
    single = FRAME.astype("float32")
    assert all_float32(open_table(single), ["a"])
    assert not all_float32(open_table(FRAME), ["a"])
    mixed = open_table(pa.table({"a": pa.array([1.0], pa.float32()), "b": ["x"]}))
    assert all_float32(mixed, ["a", "gone"])
    assert not all_float32(mixed, ["a", "b"])
    assert all_float32(Design.of(gm.collect(single), ["a"]).encode(pa.RecordBatch.from_pandas(single)), ["a"])


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        (None, []), ("from_dtype", []), ("all", ["a", "b", "c"]), (["b"], ["b"]), ([0, -1], ["a", "c"]), ([], []),
        ([True, False, True], ["a", "c"]), (np.array([False] * 3), []),
    ],
)  # fmt: skip
def test_categories_by_name_position_and_mask(wanted, chosen):
    assert categorical_names(wanted, ["a", "b", "c"]) == chosen
    assert names_categories(wanted) is bool(chosen)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ([True], "a mask of 1 values for 3 columns"),
        ([0, 3], "names position 3, and there are 3 columns"),
        ([-4], "names position -4"),
    ],
)
def test_categories_that_are_not_there_are_named(wanted, words):
    with pytest.raises(DataError, match=words):
        categorical_names(wanted, ["a", "b", "c"])


@pytest.mark.parametrize("kind", ["Int64", "uint8[pyarrow]", "boolean"])
def test_nullable_targets_are_plain_and_missing_ones_are_left(kind):
    y = pd.Series([1, 0, 1], dtype=kind)
    assert isinstance(plain_target(y).dtype, np.dtype)
    assert plain_target(y).tolist() == y.tolist()
    held = pd.Series([1, None], dtype=kind)
    assert plain_target(held) is held


def test_other_targets_are_left_as_they_are():
    for y in (["a", "b"], [1.5, 2.0], [], np.array([1, 2]), pd.Series(["x"])):
        assert plain_target(y) is y
    assert plain_target([1, 2**63]).dtype == np.uint64


def test_target_values_are_one_arrow_column():
    assert target_values(pa.chunked_array([[1], [2]])).to_pylist() == [1, 2]
    assert target_values(pd.Series([True, False], dtype="boolean")).type == pa.bool_()
    with pytest.warns(DataConversionWarning):
        assert target_values(np.array([[1.0], [2.0]])).to_pylist() == [1.0, 2.0]
    for y, words in (
        ([1.0, np.nan], "y contains NaN or infinity"),
        ([1.0, np.inf], "y contains NaN or infinity"),
        (np.array(["a", None], dtype=object), "y contains NaN or None"),
        (np.array(["a", 1], dtype=object), "y mixes types"),
    ):
        with pytest.raises(DataError, match=words):
            target_values(y)


def test_targets_of_moments_are_named():
    frame = pd.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2024-01-01", "2024-05-02"])})
    schema = gm.collect(frame).schema
    assert named_targets(None, schema) == []
    assert named_targets("a", schema) == named_targets(("a",), schema) == ["a"]
    for y in ([1.0, 2.0], (1, "a"), np.array([1])):
        with pytest.raises(DataError, match="y is the name of a collected column"):
            named_targets(y, schema)
    for y in ("when", ("when",), ("a", "when")):
        with pytest.raises(
            ColumnError, match="y='when' is a date or time; name one of its parts: 'when_dayofweek', 'when_month'"
        ):
            named_targets(y, schema)
    assert named_targets(("a", "when"), schema, followed=False) == ["a", "when_dayofweek", "when_month", "when_hour"]
    with pytest.raises(ColumnError, match="gone"):
        named_targets("gone", schema)


def test_a_list_of_names_is_told_to_be_a_tuple():
    names = ["a", "b", "y"]
    for given in (["y", "a"], np.array(["y", "a"]), pd.Index(["y", "a"]), {"(target)": pa.array(["y", "a"])}):
        with pytest.raises(DataError, match=r"y holds 'y' and others, .* to name columns pass y=\('y', 'a'\)"):
            refuse_listed_names(given, names)
    with pytest.raises(DataError, match="pass y='y'"):
        refuse_listed_names(["y"], names)
    with pytest.raises(DataError, match=r"pass y=\('a', 'y'\)"):
        refuse_listed_names({"y", "a"}, names)
    # Labels: some of them no columns, or one of them twice.
    for values in (
        ["y", "n"],
        ["a", "b", "a"],
        [],
        None,
        3,
        [1.0, 2.0],
        np.zeros((2, 2)),
        ("y", "a"),
        {"p": 1, "q": 2},
    ):
        refuse_listed_names(values, names)


def test_rows_of_unequal_lists_are_one_line():
    with pytest.raises(ValueError, match=r"X|list|row|sequence") as caught:
        gm.PCA().fit([[1, [2]], [3, [4]]])
    assert "\n" not in str(caught.value)


def test_long_doubles_are_read_as_floats(rng):
    values = rng.normal(size=(9, 2))
    for wide in (values.astype(np.longdouble), pd.DataFrame(values.astype(np.longdouble))):
        np.testing.assert_allclose(
            gm.HebbianPCA(1, random_state=0).fit(wide).weights_, gm.HebbianPCA(1, random_state=0).fit(values).weights_
        )
    with pytest.raises(DataError, match="'x0'"):
        gm.PCA().fit(np.array([[np.longdouble("1e4000")], [1], [2]]))


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "color": ["a", "b", "a"],
            "year": [2001, 2002, 2001],
            "when": [datetime.date(2026, 1, 1)] * 3,
            "y": [0.5, 1.5, 2.5],
        }
    )


def forms(plan):
    return {column.name: (column.form, column.target) for column in plan}


def test_integers_are_numbers_dates_are_categories_and_targets_are_what_is_asked(table):
    model = gm.RandomFeatures()
    training = read(model, table, "y", targets=target_outputs)
    assert forms(training.schema()) == {
        "color": ("category", False),
        "year": ("number", False),
        "when_dayofweek": ("category", False),
        "when_month": ("category", False),
        "y": ("number", True),
    }
    assert forms(training.schema(classes=True))["y"] == ("category", True)
    model.set_params(categorical_features=["year"])
    assert forms(read(model, table).schema())["year"] == ("category", False)


def test_later_rows_are_read_like_the_first(table):
    model = gm.ELMRegressor(5).fit(table, "y")
    with pytest.raises(DataError, match="column 'color'"):
        model.partial_fit(table.drop(columns="color"), "y")
    more = table.assign(year=[2001.5, 2000.0, 1999.0])
    model.partial_fit(more[["when", "y", "year", "color"]], "y")
    expected = gm.ELMRegressor(5).fit(pd.concat([table, more]), "y")
    np.testing.assert_allclose(model.predict(table), expected.predict(table), atol=1e-9)


def test_what_is_not_there_is_named(table):
    model = gm.ELMRegressor(5)
    with pytest.raises(ColumnError, match="did you mean 'year'"):
        model.fit(table, "years")
    with pytest.raises(ColumnError, match="column 'w' is not in"):
        model.fit(table, "y", sample_weight="w")
    with pytest.raises(DataError, match="one value per row"):
        model.fit(table, "y", sample_weight=np.ones((3, 1)))
    with pytest.raises(DataError, match="no feature columns"):
        model.fit(table[["y"]], "y")
    with pytest.raises(DataError, match="every sample weight is zero"):
        model.fit(table, "y", sample_weight=np.zeros(3))


def test_weights_are_values_a_number_or_a_column():
    frame = pd.DataFrame({"x": [1.0, 2.0], "w": [3, 4], "text": ["a", "b"]})
    assert row_weights(None, 2, frame) is None
    np.testing.assert_array_equal(row_weights([1, 2], 2), [1.0, 2.0])
    np.testing.assert_array_equal(row_weights(0.5, 2), [0.5, 0.5])
    for held in (frame, pa.table(frame), [frame[:1], frame[1:]]):
        np.testing.assert_array_equal(row_weights("w", 2, held), [3.0, 4.0])
    with pytest.raises(DataError, match="gives its batches once"):
        row_weights("w", 2, iter([frame]))
    with pytest.raises(ColumnError, match="column 'v' is not in"):
        row_weights("v", 2, frame)
    with pytest.raises(ColumnError, match="column 'v' is not in"):
        row_weights("v", 2, np.eye(2))
    with pytest.raises(ColumnError, match="weights must be numbers"):
        row_weights("text", 2, frame)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -1.0], "sample_weight has a negative value"),
        ([1.0, np.nan], "sample_weight has missing values"),
        ([1.0, np.inf], "sample_weight has an infinite value"),
        ([0.0, 0.0], "only zeros"),
        ([1.0], "sample_weight has 1 values for 2 rows"),
        ([[1.0], [1.0]], "one value per row; got shape"),
        (["a", "b"], "numbers, one per row"),
        (0.0, "leaves out every row"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights, words):
    with pytest.raises(DataError, match=words):
        row_weights(weights, 2)
