"""The section on additive models: terms, curves and heat maps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.reporting.page import charts


@pytest.fixture
def people(rng: np.random.Generator) -> pd.DataFrame:
    n = 1500
    frame = pd.DataFrame(
        {
            "age": rng.integers(5, 105, n).astype(float),
            "smoker": rng.choice(["no", "yes"], n),
            "city": rng.choice(["R & D", "Ulm"], n),
        }
    )
    frame["cost"] = np.where(frame["smoker"] == "yes", 0.1, 0.02) * frame["age"] + rng.normal(0, 0.3, n)
    frame["group"] = np.where(frame["cost"] > 4, "high", np.where(frame["cost"] > 1, "middle", "low"))
    return frame


def test_terms_are_drawn_the_most_important_first(people: pd.DataFrame, tmp_path: Path) -> None:
    crosses = [("age", "smoker"), ("smoker", "city")]
    model = gm.AdditiveRegressor(8, crosses).fit(people.drop(columns="group"), "cost")
    made = gm.report(model)
    found = made.summary["shapes"]
    importance = [row["importance"] for row in found["terms"]]
    assert importance == sorted(importance, reverse=True)
    forms = {panel["term"]: panel["form"] for panel in found["panels"]}
    assert forms == {
        "age": "curve",
        "smoker": "forest",
        "city": "forest",
        "age & smoker": "heat",
        "smoker & city": "heat",
    }
    pair = next(panel for panel in found["panels"] if panel["term"] == "age & smoker")
    assert pair["columns"] == ["no", "yes"]
    # Along the line, not by the alphabet: 100 comes after 20.
    starts = [float(row.lstrip("([").split(",")[0]) for row in pair["rows"]]
    assert starts == sorted(starts)
    effects = model.explain_global().query("term == 'age & smoker'").set_index("level")["effect"]
    for point in pair["points"]:
        assert point["value"] == pytest.approx(effects[f"{point['left']} & {point['right']}"], rel=1e-5)
    other = next(panel for panel in found["panels"] if panel["term"] == "smoker & city")
    assert other["columns"] == ["R & D", "Ulm"]
    made.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count('data-chart="shapes"') == 5
    assert "What each column and each pair adds" in page


def test_charts_satisfy_the_schema_and_name_no_data(people: pd.DataFrame) -> None:
    model = gm.AdditiveClassifier(8, [("age", "smoker")]).fit(people.drop(columns="cost"), "group")
    found = gm.report(model).summary["shapes"]
    assert found["shown_class"] == "middle"
    for panel in found["panels"]:
        draw = {"heat": charts.heat, "curve": charts.curve, "forest": charts.forest}[panel["form"]]
        spec = draw(panel)
        charts.altair().Chart.from_dict(spec, validate=True)
        assert spec.pop("datasets")[panel["form"]]
        if panel["form"] != "heat":
            assert "inf" not in json.dumps(spec)


def test_other_models_have_no_such_section(people: pd.DataFrame) -> None:
    found = gm.report(gm.Ridge(1.0).fit(people[["age", "smoker", "cost"]], "cost")).summary
    assert "shapes" not in found
    assert "shapes" not in found["absent"]
