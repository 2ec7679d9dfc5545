"""A selector's section has the columns it keeps, its path and its held-out scores."""

from __future__ import annotations

import numpy as np
import pytest

import gramian as gm
from gramian.reporting import report, summary
from gramian.reporting.page import render


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


def test_filters_have_scores_alone_and_other_models_no_section(table):
    (found,) = summary(gm.PearsonFilter(2).fit(*table))["selection"]["models"]
    assert found["path"] is None
    assert found["held_out"] is None
    assert found["tested"]
    assert "selection" not in summary(gm.PCA().fit(table[0]))
