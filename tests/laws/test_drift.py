"""Five daily files that drift: read as one, merged day by day, slid, and served."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gramian as gm


@pytest.fixture
def days(tmp_path, rng):
    """A plain day; a new column; an integer that became a float, with new levels; a column of nulls; no rows."""
    n = 60
    tables = []
    for k in range(5):
        rows = {
            "store": rng.integers(1, 5, n).tolist(),
            "item": [f"i{j}" for j in rng.integers(0, 4, n)],
            "price": np.round(rng.lognormal(2, 0.5, n), 2).tolist(),
        }
        if k == 1:
            rows["coupon"] = [str(c) for c in rng.choice(["spring", "none"], n)]
        if k == 2:
            rows["store"] = [None, *map(float, rows["store"][1:])]
            rows["item"] = [f"new{j % 3}" for j in range(n)]
        if k == 3:
            rows["price"] = [None] * n
        tables.append(pa.table(rows).slice(0, 0 if k == 4 else n))
    paths = [tmp_path / f"{k}.parquet" for k in range(5)]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path)
    return paths


def test_days_that_drift_are_one_table_and_its_parts(days, tmp_path):
    how = {"missing": "fill", "categorical": "store"}
    whole = gm.collect(days, **how)
    parts = [gm.collect(day, **how) for day in days]
    week = gm.merge(parts, missing="fill")
    assert week.n_rows == 240
    assert week.isclose(whole)
    # 3 and 3.0 are one store, and a null is no store of its own kind.
    assert sorted(map(str, week.levels("store"))) == ["1", "2", "3", "4", "None"]
    slid = week - parts[0]
    assert slid.isclose(gm.merge(parts[1:], missing="fill"))
    model = gm.DensityEmbedding().fit(week)
    for day, part in zip(days, parts, strict=True):
        out = tmp_path / "scores.parquet"
        assert gm.transform_file(model, day, out, method="anomaly_score", missing="fill") == part.n_rows
        assert np.isfinite(pq.read_table(out)["anomaly_score"].to_numpy()).all()
