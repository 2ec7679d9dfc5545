"""Classes: gaps, areas and spreads are those of the rows and of the moments."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from gramian.reporting.report import summary
from gramian.reporting.sections.supervised import CLASSES_DRAWN


def test_the_confusion_counts_every_row_read_once(whole: dict, made: SimpleNamespace) -> None:
    found = whole["classes"]["confusion"]
    predicted = made.models["fisher"].predict(made.new)
    actual = np.array(made.new["fraud"].to_pylist())
    labels = [int(label) for label in found["labels"]]
    direct = [[int(((actual == a) & (predicted == b)).sum()) for b in labels] for a in labels]
    assert found["counts"] == direct
    assert found["accuracy"] == pytest.approx((actual == predicted).mean(), abs=1e-4)


def test_the_area_under_the_roc_is_scikit_learns(whole: dict, made: SimpleNamespace) -> None:
    from sklearn.metrics import roc_auc_score

    placed = made.models["fisher"].transform(made.new)[:, 0]
    area = roc_auc_score(made.new["fraud"].to_numpy(), placed)
    assert whole["classes"]["confusion"]["auc"] == pytest.approx(max(area, 1 - area), abs=1e-4)


def test_the_spread_of_each_class_adds_up_to_one_but_for_its_tails(whole: dict) -> None:
    for entry in whole["classes"]["spread"]["classes"]:
        assert 0.985 <= sum(entry["shares"]) <= 1.005


def test_the_gap_is_that_of_the_class_means_in_standard_deviations(made: SimpleNamespace, whole: dict) -> None:
    placed, y = made.models["fisher"].transform(made.features)[:, 0], made.features["fraud"].to_numpy()
    one, other = placed[y == 0], placed[y == 1]
    within = ((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum()
    expected = abs(one.mean() - other.mean()) / np.sqrt(within / (len(y) - 2))
    assert whole["classes"]["axes"][0]["gap"] == pytest.approx(expected, rel=1e-3)


def test_no_more_classes_are_drawn_than_there_are_colours(rng: np.random.Generator) -> None:
    y = np.repeat(np.arange(14), 20)
    frame = pd.DataFrame({"x": y + rng.normal(size=280), "y": [f"class {k}" for k in y]})
    found = summary(frame, target="y")
    assert len(found["classes"]["spread"]["classes"]) == CLASSES_DRAWN
    assert found["rows"]["colours"][0]["levels"][-1] == "5 others"
