"""Pair counts against tabmat's sandwich."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm

tabmat = pytest.importorskip("tabmat")


def test_covariance_equals_tabmats_sandwich(rng: np.random.Generator) -> None:
    n = 3000
    frame = pd.DataFrame(
        {
            "a": pd.Categorical(rng.choice(["p", "q", "r"], n)),
            "b": pd.Categorical(rng.choice([f"b{k}" for k in range(40)], n)),
            "x": rng.normal(size=n),
        }
    )
    matrix = tabmat.from_df(frame, cat_threshold=0)
    weights = rng.random(n)
    m = gm.collect(frame, sample_weight=weights)
    total = weights.sum()
    gram = np.asarray(matrix.sandwich(weights))
    sums = np.asarray(matrix.transpose_matvec(weights))
    expected = (gram - np.outer(sums, sums) / total) / total
    # Levels in tabmat's order: sorted categories, then the number.
    order = [m.design_names.index(f"{c}_{k}") for c in ("a", "b") for k in frame[c].cat.categories]
    order.append(m.design_names.index("x"))
    found = m.covariance(ddof=0)[np.ix_(order, order)]
    np.testing.assert_allclose(found, expected, atol=1e-13)
