"""The map: rows where the models put them, the oddest among them, coloured by class or by rank."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

import gramian as gm
from gramian.reporting.report import summary
from gramian.reporting.sections import sampled_rows as rows


def test_coordinates_are_what_transform_gives(whole: dict, made: SimpleNamespace) -> None:
    rows = whole["rows"]
    assert len(rows["positions"]) == 500
    shown = made.new.take(pa.array(rows["positions"]))
    features = {feature["name"]: feature["values"] for feature in rows["features"]}
    assert features["pca1"] == pytest.approx(made.models["pca"].transform(shown)[:, 1], rel=1e-3, abs=1e-6)
    assert rows["views"][0]["x"], rows["views"][0]["y"] == ("pca0", "pca1")
    for view in rows["views"]:
        assert {view["x"], view["y"]} <= set(features)
    colour = rows["colours"][0]
    assert [int(colour["levels"][code]) for code in colour["codes"]] == shown["fraud"].to_pylist()
    # The most frequent class has the first colour.
    assert colour["levels"] == ["0", "1"]


def test_the_oddest_rows_are_shown_whatever_the_draw(whole: dict) -> None:
    assert {row["position"] for row in whole["anomalies"]["rows"]} <= set(whole["rows"]["positions"])


def test_a_label_that_only_the_rows_have_colours_the_map(made: SimpleNamespace) -> None:
    model = gm.PCA(3).fit(made.features.drop(["fraud"]))
    found = summary(model, made.features, "fraud", max_rows=60)
    assert found["rows"]["colours"][0]["levels"] == ["0", "1"]
    assert "not among the collected columns" in found["absent"]["ranking"]


def test_scores_are_coloured_by_rank_and_values_never_seen_are_apart(whole: dict, made: SimpleNamespace) -> None:
    colour = next(colour for colour in whole["rows"]["colours"] if colour["name"] == "anomaly score")
    scores = made.models["density"].anomaly_score(made.new)
    swans = made.models["density"].black_swans(made.new).any(axis=1)
    for position, value, rank in zip(whole["rows"]["positions"], colour["values"], colour["ranks"], strict=True):
        assert value == pytest.approx(scores[position], rel=1e-3)
        below = (scores < scores[position]).sum() / (len(scores) - 1)
        assert rank == (None if swans[position] else pytest.approx(below, abs=1e-5))
    assert colour["ranks"].count(None) == 3


def test_a_report_on_a_detector_is_coloured_by_its_scores(made: SimpleNamespace) -> None:
    found = summary(made.models["density"], made.new, "fraud", max_rows=30)
    assert [colour["name"] for colour in found["rows"]["colours"]] == ["anomaly score", "fraud"]


@pytest.mark.parametrize("view", ["tsne", "umap"])
def test_a_neighbour_map_comes_first_among_the_views(
    view: str, made: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The libraries have tests of their own; here only what is done with their maps.
    fake = lambda random_state: SimpleNamespace(fit_transform=lambda X: 2 * X[:, :2])  # noqa: E731
    monkeypatch.setattr(rows, "TSNEMap", fake)
    monkeypatch.setattr(rows, "UMAPMap", fake)
    table = made.features.slice(0, 60)
    found = summary(made.models["pca"], table, view=view)
    assert found["rows"]["views"][0]["x"] == f"{view}0"
    expected = 2 * made.models["pca"].transform(table)[:, 0]
    assert found["rows"]["features"][0]["values"] == pytest.approx(expected, rel=1e-3, abs=1e-6)
