"""What the arguments of `collect` do."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gramian as gm

TABLE = pa.table(
    {
        "color": ["red", "blue", None, "red"],
        "flag": [True, False, True, None],
        "year": [2020, 2021, 2020, 2020],
        "age": [31.0, None, 28.0, 30.0],
        "price": [Decimal("1.50"), Decimal("2.25"), Decimal("3.00"), None],
        "day": [datetime.date(2024, 1, 1), datetime.date(2024, 2, 4), None, datetime.date(2024, 1, 1)],
        "at": [datetime.datetime(2024, 1, 1, 5), datetime.datetime(2024, 2, 4, 23), None, None],
        "clock": [datetime.time(5, 30), datetime.time(23), datetime.time(0), None],
    }
)


def test_kinds_are_inferred() -> None:
    m = gm.collect(TABLE)
    assert m.columns == [
        "color", "flag", "year", "age", "price", "day_dayofweek", "day_month", "at_dayofweek", "at_month", "at_hour",
        "clock_hour",
    ]  # fmt: skip
    numeric = [name for name in m.columns if m.kind(name) == "numeric"]
    assert numeric == ["year", "age", "price"]


def test_levels_stand_in_order_of_first_sight() -> None:
    m = gm.collect(
        pa.table({"c": ["b", None, "a", "b"], "k": pa.array([7, None, 3, 7]), "f": [False, True, None, True]})
    )
    assert m.levels("c") == ["b", None, "a"]
    assert m.levels("k") == [7, None, 3]
    assert m.levels("f") == [False, True, None]


def test_design_names_are_one_a_design_column() -> None:
    m = gm.collect(TABLE.select(["color", "flag", "year"]))
    assert sorted(m.design_names[:3]) == ["color_(missing)", "color_blue", "color_red"]
    assert m.design_names[-1] == "year"
    assert len(m.design_names) == len(m.mean()) == 7


def test_design_names_that_collide_are_told_apart() -> None:
    m = gm.collect(pa.table({"a": ["b_c", "x"], "a_b": ["c", "c"], "a_x": [1.0, 2.0]}))
    assert len(set(m.design_names)) == len(m.design_names) == 4


def test_dates_become_parts() -> None:
    m = gm.collect(TABLE.select(["day", "at"]))
    assert set(m.levels("day_dayofweek")) == {0, 6, None}
    assert set(m.levels("at_hour")) == {5, 23, None}
    assert m.select("day").columns == ["day_dayofweek", "day_month"]


def test_null_and_nan_are_both_missing() -> None:
    values = pa.array([1.0, None, float("nan"), 3.0])
    m = gm.collect(pa.table({"x": values}))
    assert m.mean("x")[0] == 2.0
    as_levels = gm.collect(pa.table({"x": values}), categorical="x")
    assert dict(zip(as_levels.levels("x"), as_levels.counts("x"), strict=True)) == {1.0: 1, None: 2, 3.0: 1}


def test_labels_match_by_type() -> None:
    numbers = gm.collect(pa.table({"c": [1, 2]}), categorical="c")
    text = gm.collect(pa.table({"c": ["1", "2"]}))
    assert numbers.levels("c") == [1, 2]
    assert text.levels("c") == ["1", "2"]
    assert numbers != text


def test_dictionary_entries_without_rows_are_no_levels() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["b", "b"], categories=["a", "b"])})
    assert gm.collect(frame).levels("c") == ["b"]
    enum = pl.DataFrame({"c": pl.Series(["b", "b"], dtype=pl.Enum(["a", "b"]))})
    assert gm.collect(enum).levels("c") == ["b"]


def test_categorical_and_numeric_override() -> None:
    m = gm.collect(TABLE, categorical=["age", "year"], numeric=["flag"])
    assert m.kind("age") == m.kind("year") == "categorical"
    assert m.kind("flag") == "numeric"
    assert m.mean("flag")[0] == pytest.approx(2 / 3)


def test_columns_are_taken_in_the_order_asked_for() -> None:
    assert gm.collect(TABLE, columns=["year", "color"]).columns == ["year", "color"]
    assert gm.collect(TABLE, columns="year").columns == ["year"]


def test_columns_of_arrays_have_names() -> None:
    m = gm.collect(np.arange(12.0).reshape(4, 3), columns=["x2", "x0"])
    assert m.columns == ["x2", "x0"]
    assert m.mean().tolist() == [6.5, 4.5]


def test_arrays_take_every_argument() -> None:
    values = np.column_stack([np.arange(40.0) % 3, np.arange(40.0), np.ones(40)])
    m = gm.collect(values, categorical="x0", targets="x1", sample_weight="x2", folds=2, fold_by="x0")
    assert m.columns == ["x0", "x1"]
    assert sorted(m.levels("x0")) == [0.0, 1.0, 2.0]
    assert m.targets == ["x1"]
    assert len(m.folds) == 2


def test_targets_are_never_features() -> None:
    m = gm.collect(TABLE, targets=["year"])
    assert m.targets == ["year"]
    assert "year" in m.columns
    assert "year" not in m.design_names
    assert m.covariance().shape[0] == len(m.design_names)


def test_targets_are_collected_beside_columns() -> None:
    m = gm.collect(TABLE, columns=["age"], targets="year")
    assert m.columns == ["age", "year"]


def test_like_takes_the_kinds_of_other_moments(tmp_path) -> None:
    m = gm.collect(TABLE, categorical="year", exclude="at")
    path = tmp_path / "m.moments"
    m.save(path)
    shuffled = TABLE.select(TABLE.column_names[::-1])
    for like in (m, path, str(path)):
        again = gm.collect(shuffled, like=like)
        assert again.schema == m.schema
        assert again == m


def test_fold_by_a_column_that_is_excluded() -> None:
    m = gm.collect(TABLE, exclude="color", folds=2, fold_by="color")
    assert "color" not in m.columns
    assert sum(fold.n_rows for fold in m.folds) == 4


def test_the_source_is_left_as_it_was() -> None:
    values = np.array([[1.0, np.nan], [2.0, 5.0]])
    before = values.copy()
    gm.collect(values)
    np.testing.assert_array_equal(values, before)
    frame = TABLE.to_pandas()
    copy = frame.copy(deep=True)
    gm.collect(frame)
    pd.testing.assert_frame_equal(frame, copy)


def test_read_only_arrays_are_read() -> None:
    values = np.arange(12.0).reshape(4, 3)
    weights = np.ones(4)
    values.flags.writeable = weights.flags.writeable = False
    assert gm.collect(values, sample_weight=weights).n_rows == 4
    frame = pd.DataFrame({"c": ["a", "b", "a", "b"], "x": values[:, 0]})
    assert gm.collect(frame, sample_weight=weights).n_rows == 4


def test_a_column_of_nothing_but_missing_values() -> None:
    m = gm.collect(pa.table({"x": pa.nulls(3, pa.float64()), "c": pa.nulls(3, pa.string()), "n": pa.nulls(3)}))
    assert np.isnan(m.mean("x")[0])
    assert m.covariance("x")[0, 0] == 0.0
    assert m.levels("c") == [None]
    assert m.levels("n") == [None]


def test_one_row_has_a_mean_and_no_covariance() -> None:
    m = gm.collect(TABLE.slice(0, 1))
    assert m.mean("age")[0] == 31.0
    with pytest.raises(ValueError, match="ddof"):
        m.covariance()


def test_crosstab_labels_follow_the_library_of_the_source() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]})
    assert isinstance(gm.collect(frame).crosstab("a", "b", labels=True), pd.DataFrame)
    assert isinstance(gm.collect(pl.from_pandas(frame)).crosstab("a", "b", labels=True), pl.DataFrame)
    assert isinstance(gm.collect(pa.Table.from_pandas(frame)).crosstab("a", "b", labels=True), pa.Table)


def test_progress_goes_to_standard_error_only(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    from gramian import progress

    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    gm.collect(TABLE, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "rows" in shown.err
    gm.collect(TABLE, progress=False)
    gm.collect(TABLE)
    assert capsys.readouterr() == ("", "")


def test_progress_is_closed_when_a_pass_fails(monkeypatch, capsys) -> None:
    from gramian import progress

    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)

    def batches():
        yield TABLE
        raise RuntimeError("the source gave up")

    with pytest.raises(RuntimeError, match="gave up"):
        gm.collect(batches(), progress=True)
    assert capsys.readouterr().out == ""


def test_no_thread_outlives_a_pass() -> None:
    import threading

    gm.collect(TABLE, n_jobs=3)
    assert not [t.name for t in threading.enumerate() if t.name.startswith("gramian")]


def test_no_thread_outlives_a_pass_that_fails() -> None:
    import threading

    def batches():
        for _ in range(50):
            yield TABLE
        raise RuntimeError("the source gave up")

    with pytest.raises(RuntimeError, match="gave up"):
        gm.collect(batches())
    assert not [t.name for t in threading.enumerate() if t.name.startswith("gramian")]
