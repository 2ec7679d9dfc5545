"""Every estimator that can be saved can be reported on, with rows and without."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.estimators.registry import METHODS, estimator_class
from gramian.reporting import report
from gramian.reporting.page import render

DISTANCES = {"ClassicalMDS", "MDSFDA"}
SEQUENCES = {"EchoStateFeatures", "EchoStateRegressor", "LiquidStateFeatures"}
SLOW = {"TSNEMap", "UMAPMap"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted({method.class_name for method in METHODS} - SLOW))
def test_a_model_of_any_kind_has_a_report(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "vega_bundle", lambda: "")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = np.abs(np.column_stack([y + rng.normal(size=60), rng.normal(size=(60, 2))]))
    kind = estimator_class(name)
    model = kind(np.eye(3)) if name == "SparseCoder" else kind()
    model.set_params(**{name: 10 for name in ("n_hidden", "n_reservoir") if name in model.get_params()})
    data: object = None
    if name in DISTANCES:
        model.fit(np.linalg.norm(X[:, None] - X, axis=2), y)
    elif name in SEQUENCES:
        model.fit(X if name.endswith("Regressor") else [X[:20], X[20:]])
    else:
        data = X
        model.fit(X, y)
    for rows in (None, data):
        made = report(model, rows)
        assert made.summary["models"] == [name]
        assert made.summary["reproduce"]["models"][0]["class"] == name
        assert "<main" in made.html()
        assert {"rows", "objects"} & set(made.summary) or rows is None
