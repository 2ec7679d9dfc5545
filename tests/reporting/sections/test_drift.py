"""The section on what changed says what `gm.compare` says, and nothing of two halves of one table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.reporting.report import report, summary


def orders(rng, n, share=0.2, together=True):
    red = rng.random(n) < share
    size = np.where(together, np.where(red, "big", "small"), rng.permutation(np.where(red, "big", "small")))
    color = np.where(red, "red", "blue")
    late = np.where(rng.random(n) < 0.3, "yes", "no")
    return pa.table(
        {"color": color, "size": size, "price": rng.normal(20, 5, n), "late": late, "id": [f"k{j}" for j in range(n)]}
    )


def said(found):
    return [line["text"] for line in found["sentences"] if line["about"] == "what changed"]


def test_a_planted_change_is_stated_with_its_shares(rng, tmp_path):
    before, now = orders(rng, 4000), orders(rng, 3000, share=0.45)
    gm.collect(before).save(tmp_path / "monday.moments")
    found = summary(now, target="late", since=tmp_path / "monday.moments", keep="id")
    shares = [np.mean(np.asarray(t["color"]) == "red") for t in (before, now)]
    (text,) = said(found)
    assert "comparisons with monday.moments changed beyond chance, most of all" in text
    words = {
        change["column"]: change["words"]
        for change in found["drift"]["changes"]
        if change["what"] == "shares of levels"
    }
    assert f"red {shares[0]:.1%} → {shares[1]:.1%}" in words["color"]
    assert {change["column"] for change in found["drift"]["changes"] if change["certain"]} == {"color", "size"}
    assert not any(change["column"] == "id" for change in found["drift"]["changes"])
    page = report(now, since=gm.collect(before)).html()
    assert page.index('id="drift"') < page.index('id="read"')
    assert words["color"] in page


def test_a_change_of_a_pair_with_unchanged_margins_comes_first(rng):
    found = summary(orders(rng, 3000, together=False), since=gm.collect(orders(rng, 3000)))
    first = found["drift"]["changes"][0]
    assert (first["column"], first["what"], first["certain"]) == ("color and size", "how they go together", True)


def test_of_halves_of_one_table_nothing_is_said_to_have_changed(rng):
    alarms = 0
    for _ in range(10):
        table = orders(rng, 1000)
        found = summary(gm.collect(table.slice(500)), since=gm.collect(table.slice(0, 500)))
        (text,) = said(found)
        nothing = text.startswith("Nothing changed beyond chance since the moments before: ")
        assert nothing == (not found["drift"]["certain"])
        alarms += not nothing
    # One table in twenty at most: three of ten would be a fault.
    assert alarms <= 2


def test_what_cannot_be_compared_is_refused_or_said(rng):
    table = orders(rng, 200)
    with pytest.raises(DataError, match="since= takes Moments or the path of a moments file; got Table"):
        report(table, since=table)
    assert said(summary(table)) == []
    other = gm.collect(pa.table({"shape": ["box", "disc"] * 50}))
    with pytest.raises(DataError, match="no column in common"):
        report(table, since=other)
