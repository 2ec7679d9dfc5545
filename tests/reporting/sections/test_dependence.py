"""The Mahalanobis section repeats the model."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gramian.reporting.sections.supervised import POINTS


def test_the_mahalanobis_section_repeats_the_model(whole: dict, made: SimpleNamespace) -> None:
    model, found = made.models["mahalanobis"], whole["dependence"]
    assert found["statistic"] == pytest.approx(model.statistic_, rel=1e-5)
    assert found["r2_cv"] == pytest.approx(model.r2_cv_, rel=1e-4)
    assert [row["p_value"] for row in found["components"]] == pytest.approx(model.component_tests_["p_value"])


def test_the_curve_of_the_ridge_peaks_at_the_ridge(whole: dict, made: SimpleNamespace) -> None:
    points = whole["dependence"]["ridge_curve"]["points"]
    assert 3 <= len(points) <= POINTS
    best = max(points, key=lambda point: point["score"])
    assert best["ridge"] == pytest.approx(made.models["mahalanobis"].ridge_, rel=1e-5)
