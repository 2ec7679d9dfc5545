"""A selector's section has the columns it keeps, its path and its held-out scores."""

from __future__ import annotations

import numpy as np
import pytest

import gramian as gm
from gramian.estimators.registry import METHODS
from gramian.reporting import report
from gramian.reporting.page import render
from gramian.reporting.report import summary
from gramian.reporting.sections.supervised import MEANINGS


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    return X, X[:, 1] - X[:, 3] + rng.standard_normal(200)


@pytest.mark.parametrize("model", [gm.ForwardSelector("cv"), gm.LassoSelector(), gm.RecursiveEliminator("cv")])
def test_the_choice_stands_beside_its_curve(model, table, monkeypatch):
    monkeypatch.setattr(render, "vega_bundle", lambda: "")
    model.fit(*table)
    made = report(model)
    (found,) = made.summary["selection"]["models"]
    assert found["n_kept"] == model.get_support().sum()
    assert [row["kept"] for row in found["columns"]] == sorted((row["kept"] for row in found["columns"]), reverse=True)
    scores = found["held_out"]["points"]
    best = max(scores, key=lambda point: point["y"])
    chosen = found["held_out"]["chosen"]
    assert chosen == pytest.approx(best["x"], rel=1e-3)
    assert found["path"]["points"]
    assert "Columns that were selected" in made.html()


def test_a_score_below_zero_has_no_bar_and_stands_last(table):
    X, y = table
    (found,) = summary(gm.ForwardSelector().fit(X, y))["selection"]["models"]
    left = [row for row in found["columns"] if not row["kept"]]
    assert min(row["score"] for row in left) < 0
    assert [row["score"] for row in left] == sorted((row["score"] for row in left), reverse=True)
    assert all(row["strength"] == max(row["score"], 0) for row in left)
    (found,) = summary(gm.PearsonFilter(2).fit(X, y))["selection"]["models"]
    assert min(row["score"] for row in found["columns"][:2]) < -0.4
    assert all(row["strength"] == pytest.approx(abs(row["score"]), rel=1e-3) for row in found["columns"])


def test_every_selector_says_what_its_score_is():
    selectors = {method.class_name for method in METHODS if method.selects}
    assert selectors == set(MEANINGS)


def test_filters_have_scores_alone_and_other_models_no_section(table):
    (found,) = summary(gm.PearsonFilter(2).fit(*table))["selection"]["models"]
    assert found["path"] is None
    assert found["held_out"] is None
    assert found["tested"]
    assert "selection" not in summary(gm.PCA().fit(table[0]))
