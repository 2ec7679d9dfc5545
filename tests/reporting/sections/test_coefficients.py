"""The section on coefficients: a test per column, and intervals for the strongest."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.reporting.page import charts


@pytest.fixture
def shop(rng) -> pd.DataFrame:
    n = 400
    color, size = rng.choice(["red", "blue", "green"], n), rng.normal(size=n)
    paid = 3 * size + (color == "red") + rng.normal(size=n)
    return pd.DataFrame({"color": color, "size": size, "noise": rng.normal(size=n), "paid": paid})


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.Table.from_pandas])
def test_columns_are_tested_and_the_strongest_drawn_first(shop, tmp_path, kind):
    model = gm.Ridge(0).fit(kind(shop), "paid")
    made = gm.report(model)
    found = made.summary["coefficients"]
    assert [row["column"] for row in found["columns"]] == ["size", "color", "noise"]
    assert [panel["column"] for panel in found["panels"]] == ["size", "color", "noise"]
    assert found["panels"][1]["points"][0]["level"] == "red"
    assert [panel["reference"] for panel in found["panels"]] == [None, "blue", None]
    tests = model.anova()
    assert found["columns"][1]["p_value"] == pytest.approx(float(np.asarray(tests["p_value"])[0]), rel=1e-3)
    made.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Coefficients" in page
    assert page.count('data-chart="coefficients"') == 3


def test_forests_satisfy_the_schema_and_name_no_data(shop):
    panel = gm.report(gm.GLM("gaussian").fit(shop, "paid")).summary["coefficients"]["panels"][1]
    spec = charts.forest(panel)
    charts.altair().Chart.from_dict(spec, validate=True)
    assert next(point["level"] for point in spec.pop("datasets")["forest"]) == "red"
    assert "green" not in json.dumps(spec)


def test_a_penalty_says_why_there_are_no_errors(shop):
    assert "no p-values after a penalty" in gm.report(gm.Ridge(1.0).fit(shop, "paid")).summary["absent"]["coefficients"]
