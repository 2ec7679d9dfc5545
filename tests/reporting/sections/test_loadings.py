"""Loadings are the weights of the model, sorted by what they do."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow.compute as pc
import pytest

from gramian.reporting.sections.components import spread_of


def test_loadings_repeat_the_weights_sorted_by_effect(whole: dict, made: SimpleNamespace) -> None:
    found = whole["loadings"]["models"][0]
    table = made.models["pca"].loadings().to_pylist()
    weights = {(row["column"], row["level"], row["feature"]): row["weight"] for row in table}
    for k in (0, 5, 20):
        for f, feature in enumerate(found["features"]):
            key = (found["column"][k], found["level"][k], feature)
            assert found["weights"][f][k] == pytest.approx(weights[key], rel=1e-3)
    most = np.abs(np.array(found["effects"])).max(axis=0)
    assert (np.diff(most) <= 1e-3 * most[:-1]).all()


def test_the_spread_of_a_level_and_of_a_number_is_its_standard_deviation(made: SimpleNamespace) -> None:
    design = made.models["pca"].projection_.design
    found = dict(zip(made.models["pca"].design_names_, spread_of(design, made.moments), strict=True))
    debit = (pc.equal(made.features["card"], "debit")).to_numpy().astype(float)
    assert found["card_debit"] == pytest.approx(debit.std(), rel=1e-9)
    assert found["log_gap"] == pytest.approx(made.features["log_gap"].to_numpy().std(ddof=1), rel=1e-6)
