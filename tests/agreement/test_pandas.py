"""Counts and contingency tables against pandas, exactly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm


def frame_of(rng: np.random.Generator, n: int = 5000, levels: int = 12) -> pd.DataFrame:
    a = pd.Series([f"a{k}" for k in rng.integers(0, levels, n)], dtype=object)
    a[rng.random(n) < 0.1] = None
    return pd.DataFrame(
        {
            "a": a,
            "b": rng.integers(0, 5, n),
            "c": pd.Categorical(rng.choice(["x", "y", "z"], n), categories=["never", "x", "y", "z"]),
            "d": rng.random(n) < 0.5,
        }
    )


PAIRS = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "d"), ("d", "b"), ("a", "a")]


@pytest.mark.parametrize("levels", [12, 300, 4000])
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_crosstab_equals_pandas(rng: np.random.Generator, levels: int, left: str, right: str) -> None:
    frame = frame_of(rng, levels=levels)
    m = gm.collect(frame)
    table = m.crosstab(left, right)
    assert table.dtype == np.int64
    filled = frame.astype(object).fillna({"a": "(missing)"})
    expected = pd.crosstab(filled[left], filled[right].rename("other"))
    rows = ["(missing)" if k is None else k for k in m.levels(left)]
    cols = ["(missing)" if k is None else k for k in m.levels(right)]
    assert sorted(map(str, expected.index)) == sorted(map(str, rows))
    # By position: a list of booleans would be taken for a mask.
    at = [expected.index.get_loc(k) for k in rows], [expected.columns.get_loc(k) for k in cols]
    np.testing.assert_array_equal(table, expected.to_numpy()[np.ix_(*at)])
    np.testing.assert_array_equal(m.crosstab(left, right, sparse=True).toarray(), table)


def test_two_wide_columns_equal_pandas(rng: np.random.Generator) -> None:
    n = 20_000
    frame = pd.DataFrame(
        {"u": [f"u{k}" for k in rng.integers(0, 5000, n)], "v": [f"v{k}" for k in rng.integers(0, 4000, n)]}
    )
    m = gm.collect(frame)
    found = m.crosstab("u", "v", sparse=True).tocoo()
    pairs = frame.value_counts()
    left, right = m.levels("u"), m.levels("v")
    assert found.nnz == len(pairs)
    mine = {(left[i], right[j]): v for i, j, v in zip(*found.coords, found.data, strict=True)}
    assert mine == pairs.to_dict()


@pytest.mark.parametrize("column", ["a", "b", "c", "d"])
def test_counts_equal_value_counts(rng: np.random.Generator, column: str) -> None:
    frame = frame_of(rng)
    m = gm.collect(frame)
    expected = frame[column].value_counts(dropna=False)
    expected = {None if pd.isna(k) else k: c for k, c in expected.items() if c}
    assert dict(zip(m.levels(column), m.counts(column).tolist(), strict=True)) == expected


def test_labelled_crosstab_equals_pandas(rng: np.random.Generator) -> None:
    frame = frame_of(rng)
    table = gm.collect(frame).crosstab("d", "c", labels=True)
    assert isinstance(table, pd.DataFrame)
    expected = pd.crosstab(frame["d"], frame["c"].astype(object))
    np.testing.assert_array_equal(table.sort_index().sort_index(axis=1).to_numpy(), expected.to_numpy())
    assert table.index.name == "d"
    assert table.columns.name == "c"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_date_parts_equal_pandas(rng: np.random.Generator, unit: str) -> None:
    when = pd.Series(pd.to_datetime(rng.integers(0, 2 * 10**9, 500), unit="s").astype(f"datetime64[{unit}]"))
    m = gm.collect(pd.DataFrame({"when": when}))
    assert m.columns == ["when_dayofweek", "when_month", "when_hour"]
    for part, series in (("dayofweek", when.dt.day_of_week), ("month", when.dt.month), ("hour", when.dt.hour)):
        expected = series.value_counts().to_dict()
        assert dict(zip(m.levels(f"when_{part}"), m.counts(f"when_{part}").tolist(), strict=True)) == expected


def test_time_zones_give_the_local_hour() -> None:
    when = pd.Series(pd.to_datetime(["2024-06-01 23:30"]).tz_localize("Europe/Berlin"))
    m = gm.collect(pd.DataFrame({"when": when}))
    assert m.levels("when_hour") == [23]
    assert m.levels("when_dayofweek") == [5]


def test_durations_are_seconds() -> None:
    m = gm.collect(pd.DataFrame({"took": pd.to_timedelta([1, 2, 6], unit="min")}))
    assert m.mean("took")[0] == 180.0
