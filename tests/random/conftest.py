import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def mixed(rng):
    """Two categories, one of them with a rare level, and two numbers."""
    n = 400
    return pd.DataFrame(
        {
            "color": np.where(np.arange(n) == 7, "rare", rng.choice(["red", "blue", "green"], n)),
            "size": rng.standard_normal(n),
            "shape": rng.choice(["round", "square"], n),
            "tail": rng.standard_t(2, n),
        }
    )
