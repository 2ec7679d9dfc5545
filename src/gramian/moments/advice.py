"""One line of advice, where a column has so many rare levels that pooling them would help every method after the pass."""

from __future__ import annotations

import warnings

import numpy as np

from gramian.errors import Call, WideColumnWarning
from gramian.moments.value import Moments

MANY = 2000
"""Levels below which no column is worth a word: everything after the pass is quick."""

HELD = 0.9
"""Share of the rows that the levels kept must hold."""


def pooling_advice(moments: Moments) -> WideColumnWarning | None:
    """Return which column to pool and by how much, None where it would not help.

    It helps where one column makes most of the design columns and nine rows of ten hold half of its levels or fewer: the
    other half then costs as much as all else, for a tenth of the rows.
    """
    features = set(moments.schema.features)
    sizes = {
        name: len(weights)
        for name, weights in zip(moments.coded, moments.pairs.level_weights, strict=True)
        if name in features and moments.schema[name].form == "category"
    }
    width = sum(sizes.values()) + sum(1 for name in features if name not in sizes)
    name = max(sizes, key=lambda each: sizes[each], default=None)
    if name is None or sizes[name] < max(MANY, width / 2):
        return None
    counts = np.sort(moments.pairs.level_weights[moments.coded_at[name]].astype(np.float64))[::-1]
    held = np.cumsum(counts)
    kept = int(np.searchsorted(held, HELD * held[-1])) + 1
    least = int(counts[min(kept, len(counts)) - 1])
    kept = int((counts >= least).sum())
    if least < 2 or kept > sizes[name] / 2:
        return None
    return WideColumnWarning(
        f"column {name!r} has {sizes[name]:,} of the {width:,} design columns, and {held[kept - 1] / held[-1]:.0%} of the "
        f"rows hold {kept:,} of its levels; ",
        Call("pool", min_count=least),
        " folds the others into one, and every method is faster",
    )


def advise_pooling(moments: Moments) -> None:
    """Warn where pooling would help."""
    advice = pooling_advice(moments)
    if advice is not None:
        warnings.warn(advice, stacklevel=3)
