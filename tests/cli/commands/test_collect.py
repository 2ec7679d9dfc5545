"""`gramian collect` writes what `gramian.collect` collects, and says what it saw."""

from __future__ import annotations

import gramian as gm


def test_collect_writes_what_the_library_collects(gramian, folder):
    arguments = ["--exclude", "payment", "--targets", "fraud", "--folds", "3", "--fold-by", "city", "--jobs", "1"]
    done = gramian("collect", "days", *arguments, "--weights", "log_gap", "-o", "x.moments").ok()
    expected = gm.collect(
        folder / "days", exclude="payment", targets="fraud", folds=3, fold_by="city", sample_weight="log_gap"
    )
    found = gm.Moments.load(folder / "x.moments")
    assert found.isclose(expected)
    assert len(found.folds) == 3
    assert "merchant" in done.out
    assert done.out.splitlines()[-2:] == [
        "wrote x.moments",
        "next: gramian fit x.moments --method mahalanobis --target fraud -o x.model",
    ]
    assert max(map(len, done.out.splitlines())) <= 120


def test_collect_says_as_json_what_it_saw(gramian):
    arguments = ["--categorical", "fraud", "--numeric", "log_gap", "--json"]
    found = gramian("collect", "payments.parquet", *arguments, "-o", "x.moments").ok().json
    assert found["n_rows"] == 4_000
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert (kinds["fraud"], kinds["log_gap"], kinds["when_hour"]) == ("categorical", "numeric", "categorical")


def test_collect_like_enforces_columns_and_kinds(gramian, folder):
    gramian("collect", "later.parquet", "--like", "payments.moments", "-o", "x.moments").ok()
    assert gm.load(folder / "x.moments").columns == gm.load(folder / "payments.moments").columns
