"""`gramian detect` writes scores, prints the oddest rows, and says why they are odd."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq

import gramian as gm


def test_detect_writes_scores_and_explains_the_oddest(gramian, folder):
    arguments = ["--keep", "merchant", "--top", "4", "--explain", "--json", "-o", "x.parquet"]
    found = gramian("detect", "density.model", "later.parquet", *arguments).ok().json
    table = pq.read_table(folder / "x.parquet")
    model, later = gm.load(folder / "density.model"), pq.read_table(folder / "later.parquet")
    scores, swans = model.anomaly_score(later), model.black_swans(later)
    assert table.column_names == ["row", "anomaly_score", "outlier", "black_swans", "merchant"]
    assert table["row"].to_pylist() == list(range(len(later)))
    np.testing.assert_allclose(table["anomaly_score"].to_numpy(), scores, rtol=1e-12)
    assert table["outlier"].to_pylist() == (model.predict(later) == -1).tolist()
    assert table["black_swans"].to_pylist() == swans.sum(axis=1).tolist()
    assert found["outliers"] == int((model.predict(later) == -1).sum())
    assert [row["row"] for row in found["top"]] == np.argsort(-scores, kind="stable")[:4].tolist()
    first = found["top"][0]
    assert first["black_swans"] == 1
    assert first["reasons"][0]["text"] == f"merchant={first['merchant']}: never seen in 4,000 rows"


def test_detect_prints_the_oddest_rows_without_a_file(gramian, folder):
    before = sorted(path.name for path in folder.iterdir())
    done = gramian("detect", "density.model", "later.parquet", "--explain", "--top", "2", "--keep", "city").ok()
    assert "never seen in 4,000 rows" in done.out
    model, later = gm.load(folder / "density.model"), pq.read_table(folder / "later.parquet")
    swans = model.black_swans(later).any(axis=1)
    told = f"; {swans.sum():,} with a value never seen in fit, "
    assert told in done.out.splitlines()[0]
    alone = int(done.out.splitlines()[0].partition(told)[2].partition(" of them flagged for that alone")[0])
    assert 0 <= alone <= swans.sum() <= (model.predict(later) == -1).sum()
    assert sorted(path.name for path in folder.iterdir()) == before


def test_alerts_are_a_budget_of_rows(gramian):
    found = gramian("detect", "density.model", "later.parquet", "--alerts", "7", "-o", "s.parquet", "--json").ok().json
    assert found["outliers"] == 7
    told = gramian("detect", "density.model", "later.parquet", "--alerts", "7", "--missing", "fill", "-o", "s.parquet")
    assert "--alerts" in told.at_fault(2)


def test_many_values_never_seen_do_not_hide_the_oddest_other_row(gramian, folder):
    later = pq.read_table(folder / "later.parquet")
    city = later["city"].to_pylist()
    at = later.column_names.index("city")
    pq.write_table(later.set_column(at, "city", [["Atlantis"] * 50 + city[50:]]), folder / "new.parquet")
    found = gramian("detect", "density.model", "new.parquet", "--top", "3", "--json").ok().json
    assert all(row["black_swans"] for row in found["top"])
    model, rows = gm.load(folder / "density.model"), pq.read_table(folder / "new.parquet")
    scores = np.where(model.black_swans(rows).any(axis=1), -np.inf, model.anomaly_score(rows))
    assert found["oddest_without_unseen"]["row"] == int(np.argmax(scores))
    done = gramian("detect", "density.model", "new.parquet", "--top", "3", "--explain").ok()
    assert f"the oddest row without a value never seen:\n\nrow {np.argmax(scores)}: score" in done.out
