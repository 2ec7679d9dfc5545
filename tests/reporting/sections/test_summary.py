"""The summary is plain data; what it cannot say it names, with the reason."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa

import gramian as gm
from gramian.reporting.report import summary
from gramian.reporting.request import request_of
from gramian.reporting.sections.summary import SECTIONS, summarise


def test_the_summary_is_json_and_comes_back_the_same(whole: dict) -> None:
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole


def test_every_section_is_there_for_moments_models_and_rows(whole: dict) -> None:
    assert set(whole) >= ALL
    assert whole["absent"] == {}
    assert whole["target"] == "fraud"


def test_moments_alone_say_what_needs_no_rows(made: SimpleNamespace) -> None:
    found = summary(made.moments)
    assert {"read", "scree", "loadings", "associations"} <= set(found)
    assert {"rows", "anomalies", "ranking", "dependence", "classes"} == set(found["absent"])
    assert "data=" in found["absent"]["rows"]


def test_a_table_with_a_target_gets_every_section(made: SimpleNamespace) -> None:
    found = summary(made.features, target="fraud", max_rows=100)
    assert set(found) >= ALL
    assert found["read"]["collect_seconds"] > 0
    assert [model["class"] for model in found["reproduce"]["models"] if model["fitted_for_report"]] == [
        "PCA",
        "DensityEmbedding",
        "MahalanobisFeatures",
        "FisherDiscriminant",
    ]


def test_a_continuous_target_has_no_classes(made: SimpleNamespace) -> None:
    found = summary(made.moments, made.features, "log_gap", max_rows=50)
    assert "classes" in found["absent"]
    assert found["rows"]["colours"][0]["kind"] == "number"
    assert found["dependence"]["p_value"] > 0


def test_a_target_of_small_integers_is_classes(rng: np.random.Generator) -> None:
    y = rng.integers(0, 3, 300)
    frame = pd.DataFrame({"x": y + rng.normal(size=300), "z": rng.normal(size=300), "y": y})
    found = summary(frame, target="y")
    assert [entry["name"] for entry in found["classes"]["classes"]] == ["0", "1", "2"]
    assert np.sum(found["classes"]["confusion"]["counts"]) == 300


def test_arrays_and_values_as_target_are_taken(rng: np.random.Generator) -> None:
    X = rng.normal(size=(80, 3))
    model = gm.FisherDiscriminant().fit(X, (X[:, 0] > 0).astype(int))
    found = summary(model, X, max_rows=40)
    assert [column["name"] for column in found["read"]["columns"]][:3] == ["x0", "x1", "x2"]
    assert len(found["rows"]["positions"]) == 40
    assert found["classes"]["confusion"] is None


def test_a_constant_table_is_reported_with_the_reason(made: SimpleNamespace) -> None:
    found = summary(pa.table({"a": ["u"] * 20, "x": [1.0] * 20}))
    assert "no column varies" in found["absent"]["scree"]
    assert found["associations"]["values"] == [[None, None], [None, None]]


ALL = {section.name for section in SECTIONS} - {
    "objects",
    "atoms",
    "coefficients",
    "drift",
    "shapes",
    "learning",
    "selection",
    "units",
}


def test_a_report_of_columns_does_not_miss_what_concerns_objects(whole: dict) -> None:
    assert "objects" not in whole
    assert "objects" not in whole["absent"]


def test_a_report_of_objects_does_not_miss_columns(words: SimpleNamespace) -> None:
    found = summarise(request_of(words.mds))
    assert found["absent"] == {}
    assert {"rows", "objects", "scree", "reproduce"} <= set(found)
