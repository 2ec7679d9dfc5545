"""What a report fits for itself: from the same moments, rare levels pooled where columns are too wide to solve for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.moments.covariance import design_sizes
from gramian.reporting import context
from gramian.reporting.context import most_levels
from gramian.reporting.report import summary

WIDEST = 150


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a report solve for fewer columns, so that a small table is wide."""
    monkeypatch.setattr(context, "WIDEST", WIDEST)


@pytest.fixture(scope="module")
def wide() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    n = 2000
    user = rng.zipf(1.3, n).clip(max=900)
    return pd.DataFrame(
        {
            "user": [f"u{k}" for k in user],
            "shop": [f"s{k}" for k in rng.integers(0, 300, n)],
            "color": rng.choice(["red", "blue"], n),
            "size": rng.normal(size=n),
            "bought": np.where((user < 3) ^ (rng.random(n) < 0.2), "yes", "no"),
        }
    )


def test_pooling_fills_the_width_and_no_more(wide: pd.DataFrame) -> None:
    moments = gm.collect(wide)
    features = ["user", "shop", "color", "size"]
    most = most_levels(moments, features, "bought")
    assert most is not None
    width = sum(design_sizes(moments.pool(max_levels=most), features))
    assert WIDEST - 4 <= width <= WIDEST


def test_columns_of_many_levels_get_every_section(wide: pd.DataFrame) -> None:
    found = summary(wide, target="bought", max_rows=100)
    assert found["absent"] == {}
    assert all(model["pooled"] for model in found["reproduce"]["models"])
    # What was read, and how columns go together, is told of all levels.
    assert found["read"]["columns"][1]["levels"] == wide["shop"].nunique()


def test_a_table_that_fits_is_not_pooled() -> None:
    moments = gm.collect(pd.DataFrame({"a": ["u", "v"] * 9, "x": np.arange(18.0)}))
    assert most_levels(moments, ["a", "x"], None) is None
    found = summary(moments)
    assert not any(model["pooled"] for model in found["reproduce"]["models"])


def test_more_numbers_than_a_report_solves_for_are_said_to_be(rng: np.random.Generator) -> None:
    moments = gm.collect(rng.normal(size=(WIDEST + 50, WIDEST + 1)))
    assert "fit PCA and pass it" in summary(moments)["absent"]["scree"]


def test_few_rows_of_many_numbers_have_components(rng: np.random.Generator) -> None:
    found = summary(rng.normal(size=(30, WIDEST + 1)))
    assert found["scree"]["n_components"] == 29
    assert len(found["rows"]["positions"]) == 30
