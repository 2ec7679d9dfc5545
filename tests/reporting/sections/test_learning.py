"""The section on learning shows the history of models that have one, and nobody misses it elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.reporting.report import summary
from gramian.reporting.sections.units import HISTORY_POINTS, WEIGHTS


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 4)) * [3.0, 2.0, 1.0, 0.5]
    return pd.DataFrame(numbers, columns=list("abcd")).assign(color=rng.choice(["red", "blue"], 300))


def test_a_hebbian_model_shows_weights_norms_and_angles(table: pd.DataFrame) -> None:
    model = gm.HebbianPCA(2, rule="sanger", learning_rate=1e-4, n_epochs=5).fit(table)
    found = summary(model)["learning"]["models"][0]
    assert (found["model"], found["rule"], found["mode"], found["rate"]) == ("HebbianPCA", "sanger", "minibatch", 1e-4)
    assert found["entries"] == 6
    history = model.history_
    first = [point for point in found["norms"] if point["series"] == "hebbianpca0"]
    assert [point["value"] for point in first] == pytest.approx(history["norms"][:, 0], rel=1e-5)
    assert [point["updates"] for point in first] == history["updates"].tolist()
    assert found["measure"]["last"] == pytest.approx(history["angle"][-1], rel=1e-3)
    largest = np.argmax(np.abs(model.weights_[0]))
    assert found["weights"][0]["series"] == model.design_names_[largest]
    assert len({point["series"] for point in found["weights"]}) == min(WEIGHTS, len(model.design_names_))


@pytest.mark.parametrize(
    ("model", "measure"), [(gm.LinearAutoencoder(2), "error"), (gm.NeuralICA(2), "turned"), (gm.HebbianPCA(), "angle")]
)
def test_each_model_has_its_measure(table: pd.DataFrame, model, measure) -> None:
    found = summary(model.fit(table))
    assert found["learning"]["models"][0]["measure"]["name"] == measure
    # Learned components are listed with the loadings of any linear map.
    if measure != "turned":
        assert "loadings" not in found["absent"]
    page = gm.report(model, data=table).html()
    assert "How it was learnt" in page


def test_long_histories_are_thinned(table: pd.DataFrame) -> None:
    model = gm.HebbianPCA()
    for start in range(0, 300, 2):
        model.partial_fit(table[start : start + 2])
    found = summary(model)["learning"]["models"][0]
    assert found["entries"] == 150
    assert len([p for p in found["norms"] if p["series"] == "hebbianpca0"]) == HISTORY_POINTS
    assert found["measure"] is None


def test_other_models_have_no_such_section(table: pd.DataFrame) -> None:
    found = summary(gm.PCA(2).fit(table))
    assert "learning" not in found
    assert "learning" not in found["absent"]
