"""The heat map agrees with the ranking, and leaves out what is known beforehand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.reporting.report import summary
from gramian.reporting.sections.columns import MAPPED


def test_association_with_the_target_is_the_same_in_the_ranking_and_in_the_heat_map(whole: dict) -> None:
    columns, values = whole["associations"]["columns"], whole["associations"]["values"]
    for row in whole["ranking"]["columns"]:
        assert values[columns.index(row["column"])][columns.index("fraud")] == pytest.approx(
            row["association"], rel=2e-3
        )


def test_parts_of_one_date_are_no_finding(whole: dict) -> None:
    pairs = [{pair["a"], pair["b"]} for pair in whole["associations"]["strongest"]]
    assert {"when_hour", "when_month"} not in pairs
    assert {"country", "currency"} in pairs


def test_of_many_columns_the_first_in_the_ranking_are_mapped(rng: np.random.Generator) -> None:
    n = 120
    frame = pd.DataFrame(rng.normal(size=(n, MAPPED + 4)), columns=[f"x{k}" for k in range(MAPPED + 4)])
    frame["y"] = frame[f"x{MAPPED + 3}"] + 0.1 * rng.normal(size=n)
    found = summary(gm.collect(frame), target="y")
    names = found["associations"]["columns"]
    assert len(names) == MAPPED
    assert names[0] == f"x{MAPPED + 3}"
    assert names[-1] == "y"
    assert found["associations"]["left_out"] == 5
