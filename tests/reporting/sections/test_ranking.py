"""Columns are ranked by the test and the association that the public functions give."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.reporting.report import summary
from gramian.reporting.sections.columns import measure_of


def test_ranked_columns_carry_the_independence_test(whole: dict, made: SimpleNamespace) -> None:
    rows = whole["ranking"]["columns"]
    assert {row["column"] for row in rows[:4]} >= {"card", "category"}
    for row in rows:
        test = gm.independence_test(made.moments, row["column"], "fraud")
        assert row["p_value"] == pytest.approx(test.p_value, rel=1e-3)
        assert row["df"] == test.df
    kept = [row["beyond_chance"] for row in rows]
    assert kept == sorted(kept, reverse=True)


def test_association_beyond_chance_vanishes_for_noise(rng: np.random.Generator) -> None:
    n = 3000
    frame = pd.DataFrame({"noise": rng.choice(list("abcdefgh"), n), "y": rng.choice(["u", "v"], n)})
    frame["told"] = np.where(rng.random(n) < 0.8, frame["y"], "u")
    rows = {row["column"]: row for row in summary(gm.collect(frame), target="y")["ranking"]["columns"]}
    assert rows["noise"]["beyond_chance"] < rows["noise"]["association"] < 0.1
    assert rows["told"]["beyond_chance"] > 0.5
    assert rows["told"]["measure"] == measure_of("categorical", "categorical") == "Cramér's V"
