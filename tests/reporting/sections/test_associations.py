"""The heat map shows how features go together, and leaves out what is known beforehand."""

from __future__ import annotations

import numpy as np
import pandas as pd

import gramian as gm
from gramian.moments.crosstabs import association
from gramian.reporting.report import summary
from gramian.reporting.sections.columns import MAPPED


def test_the_heat_map_has_the_association_of_every_two_features(whole: dict, made) -> None:
    columns, values = whole["associations"]["columns"], whole["associations"]["values"]
    assert "fraud" not in columns  # compared with each column by another measure, above
    assert np.allclose(np.array(values, dtype=float), association(made.moments, columns), atol=1e-3, equal_nan=True)


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
    assert "y" not in names
    assert found["associations"]["left_out"] == 4
