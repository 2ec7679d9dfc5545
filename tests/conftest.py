"""Settings and fixtures of every test: one seed; property tests draw the same examples on every run.

`make fuzz` sets GRAMIAN_HYPOTHESIS=fuzz: then they draw others each time, many more of them, and shrink what fails.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    import gramian as gm

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    # Examples are small already: shrinking them further takes minutes where a law fails.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=200,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile(os.environ.get("GRAMIAN_HYPOTHESIS", "repeatable"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240)


@pytest.fixture
def mixed(rng: np.random.Generator) -> pd.DataFrame:
    n = 400
    color = rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2])
    shape = np.where(
        rng.random(n) < 0.6, np.where(color == "red", "disc", "box"), rng.choice(["disc", "box", "rod"], n)
    )
    size = rng.standard_normal(n) + (color == "red")
    frame = pd.DataFrame(
        {
            "color": color,
            "shape": shape,
            "grade": rng.integers(0, 6, n),
            "size": size,
            "cost": 1e4 * size + 3e3 * rng.standard_normal(n) + 5e5,
            "kind": np.where(rng.random(n) < 0.7, np.where(size > 0.5, "a", "b"), "c"),
        }
    )
    frame.loc[5:30, "size"] = np.nan
    return frame


def in_folds(parts: list[pd.DataFrame], **options: Any) -> gm.Moments:
    """Return moments whose folds are the given tables, so that a test knows the rows of each."""
    import gramian as gm

    folds = [gm.collect(part, **options) for part in parts]
    return replace(gm.merge(folds), folds=tuple(folds))


@pytest.fixture
def collect_in_folds():
    return in_folds
