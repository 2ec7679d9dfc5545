"""How to make the report again: calls that run, and what was left at its default."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import gramian as gm
from gramian.reporting.report import summary
from gramian.reporting.sections.summary import PACKAGES


def test_calls_name_what_was_changed_and_rebuild_the_models(whole: dict, made: SimpleNamespace) -> None:
    found = whole["reproduce"]
    assert [model["call"] for model in found["models"]] == [
        "gm.PCA(n_components=6)",
        "gm.FisherDiscriminant()",
        "gm.MahalanobisFeatures()",
        "gm.DensityEmbedding()",
    ]
    for entry, model in zip(found["models"], made.models.values(), strict=True):
        again = eval(entry["call"], {"gm": gm})
        assert again.get_params() == model.get_params()
        assert set(entry["parameters"]) == set(model.get_params())
    assert set(found["versions"]) == {"python", *PACKAGES}


def test_an_array_that_was_passed_is_no_default(rng: np.random.Generator) -> None:
    X = rng.normal(size=(30, 2))
    model = gm.FisherDiscriminant(priors=np.array([0.5, 0.5])).fit(X, (X[:, 0] > 0).astype(int))
    assert "priors=array([0.5, 0.5])" in summary(model)["reproduce"]["models"][0]["call"]
