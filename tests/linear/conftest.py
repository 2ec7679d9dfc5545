"""Small tables with everything a solver meets: categories, integers by level, numbers, missing values, several scales."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240611)


def centred_design(frame: pd.DataFrame, moments: gm.Moments, columns: list[str]) -> np.ndarray:
    """Return the centred design matrix in the order of the moments, numbers filled with their means."""
    parts = []
    for name in columns:
        if moments.kind(name) == "categorical":
            parts.append(
                (frame[name].to_numpy()[:, None] == np.array(moments.levels(name), dtype=object)).astype(float)
            )
        else:
            parts.append(frame[[name]].fillna(frame[name].mean()).to_numpy(float))
    x = np.hstack(parts)
    return x - x.mean(axis=0)


@pytest.fixture
def design():
    return centred_design


ROUTES = ["factored", "iterated", "too slow to iterate", "complement", "wide, complement", "wide, iterated"]
"""The ways to a ridge solution."""


@pytest.fixture(params=ROUTES)
def route(request, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force one of the ways, whatever it would cost."""
    from gramian.linear.regression import ridge
    from gramian.linear.scatter import wide as choice
    from gramian.linear.scatter.wide import WideScatter

    chosen = str(request.param)
    if chosen != "factored":
        monkeypatch.setattr(ridge, "EIGEN", 1)
        monkeypatch.setattr(ridge, "_pays", lambda problem, n, rival: chosen == "complement")
    if chosen == "too slow to iterate":
        monkeypatch.setattr(ridge, "ROUNDS", 2)
    if chosen.startswith("wide"):
        monkeypatch.setattr(choice, "DENSE", 2)
        formed = chosen.endswith("complement")
        monkeypatch.setattr(WideScatter, "is_factored", lambda self, n: formed and self.rest.width > 0)
    return chosen
