"""Charts satisfy the schema and hold the numbers of the summary, and no name of the data outside their data sets."""

from __future__ import annotations

import json

from gramian.reporting.page import charts


def test_charts_satisfy_the_vega_lite_schema_and_name_no_data(whole: dict) -> None:
    specs = [
        charts.scree(whole["scree"]),
        charts.cumulative(whole["scree"]),
        charts.spread(whole["classes"]["spread"]),
        charts.ridge(whole["dependence"]["ridge_curve"]),
        charts.scores(whole["anomalies"]),
        charts.associations(whole["associations"]),
        *charts.maps(whole["rows"]),
    ]
    for spec in specs:
        charts.altair().Chart.from_dict(spec, validate=True)
        spec.pop("datasets", None)
        assert "issuer" not in json.dumps(spec)


def test_marks_stand_over_the_components_that_criteria_keep(whole: dict) -> None:
    data = charts.scree(whole["scree"])["datasets"]
    chosen = {rule: mark["k"] for mark in data["chosen"] for rule in mark["rules"].split(", ")}
    shown = len(whole["scree"]["components"])
    assert chosen == {entry["rule"]: entry["k"] for entry in whole["scree"]["chosen"] if entry["k"] <= shown}


def test_every_pair_of_the_heat_map_is_a_cell(whole: dict) -> None:
    cells = charts.associations(whole["associations"])["datasets"]["associations"]
    n = len(whole["associations"]["columns"])
    assert len(cells) == n * n - sum(value is None for row in whole["associations"]["values"] for value in row)


def test_series_are_told_apart_in_the_order_of_first_sight() -> None:
    points = [{"k": k, "v": k * w, "series": s} for s, w in (("b", 1), ("a", 2)) for k in range(3)]
    spec = charts.lines(points, "k", "v", x_title="step", y_title="value")
    assert [row["c"] for row in spec["datasets"]["points"]] == [0, 0, 0, 1, 1, 1]
    charts.altair().Chart.from_dict(spec, validate=True)
