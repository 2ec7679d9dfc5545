"""Columns chosen after the pass are the columns collected alone, in any order, folds and sums by level with them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.moments.algebra import levels as columns


@pytest.fixture
def frame(mixed: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return mixed.assign(
        few=rng.integers(0, 4, len(mixed)), gaps=np.where(rng.random(len(mixed)) < 0.3, np.nan, mixed["size"])
    )


@pytest.mark.parametrize(
    "chosen", [["gaps", "color", "few"], ["size"], ["shape", "color"], ["gaps", "size", "few", "shape"]]
)
def test_columns_selected_are_those_collected_alone(frame: pd.DataFrame, chosen: list[str]) -> None:
    picked = columns.select(gm.collect(frame, folds=2), chosen)
    alone = gm.collect(frame[chosen], folds=2)
    assert picked.columns == chosen
    assert picked.isclose(alone)
    # Products of other shapes round differently.
    np.testing.assert_allclose(picked.covariance(), alone.covariance(), rtol=1e-12, atol=1e-14)


def test_numbers_follow_the_schema(frame: pd.DataFrame) -> None:
    moments = gm.collect(frame[["gaps", "color", "size"]])
    swapped = columns.select(moments, ["size", "color", "gaps"])
    # As the schema of another part would have them: the numbers are still in their own order.
    mixed_up = gm.Moments(**{**vars_of(swapped), "schema": moments.schema})
    assert mixed_up.numbers.names == ("size", "gaps")
    assert columns.in_schema_order(mixed_up) == moments
    assert columns.in_schema_order(moments) is moments


def vars_of(moments: gm.Moments) -> dict:
    return {name: getattr(moments, name) for name in moments.__dataclass_fields__}
