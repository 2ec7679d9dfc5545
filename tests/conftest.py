"""Settings and fixtures of every test: one seed; property tests draw the same examples on every run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

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
settings.load_profile("repeatable")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240)
