import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def frame():
    """A mixed table with missing values, and a target that depends on it."""
    rng = np.random.default_rng(7)
    n = 600
    color = rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2])
    size = rng.normal(50, 10, n)
    table = pd.DataFrame(
        {
            "color": np.where(rng.random(n) < 0.05, None, color),
            "shape": pd.Categorical(rng.choice(list("abcde"), n)),
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "count": rng.integers(0, 6, n),
            "flag": rng.random(n) < 0.4,
            "when": pd.Timestamp("2025-03-01") + pd.to_timedelta(rng.integers(0, 200, n), unit="D"),
        }
    )
    table["bought"] = np.where((color == "red") ^ (rng.random(n) < 0.2), "yes", "no")
    return table


@pytest.fixture
def words(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Words of three made-up languages, each with its own letters in common use."""
    y = np.arange(90) % 3
    letters = [list("aeklmn"), list("aoprst"), list("eiuvxz")]
    return ["".join(rng.choice(letters[k], rng.integers(4, 8))) for k in y], np.array(["fi", "it", "xx"])[y]
