"""`gramian compare`."""

from __future__ import annotations

import pyarrow as pa

import gramian as gm


def test_compare_prints_the_largest_change_first_and_all_as_json(gramian, tmp_path):
    kept = tmp_path / "a.moments", tmp_path / "b.moments"
    for path, share in zip(kept, (30, 60), strict=True):
        rows = pa.table({"color": ["red"] * share + ["blue"] * (120 - share), "shape": ["box", "disc"] * 60})
        gm.collect(rows).save(path)
    done = gramian("compare", *map(str, kept)).ok()
    lines = done.out.splitlines()
    assert lines[0].endswith("3 comparisons, 1 beyond chance")
    assert lines[3].split()[:2] == ["color", "levels"]
    assert "25.0% -> 50.0%" in lines[3]
    told = gramian("compare", *map(str, kept), "--json").ok().json
    assert told["a"]["rows"] == 120
    assert [change["what"] for change in told["changes"]] == ["levels", "levels", "dependence"]
    assert told["changes"][0]["effect"] == 0.25
    alone = gramian("compare", *map(str, kept), "--no-pairs", "--top", "1").ok()
    assert "... and 1 more" in alone.out
