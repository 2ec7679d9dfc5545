"""Association from moments equals what is computed directly from the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association as scipy_association

import gramian as gm
from gramian.moments.crosstabs import association


@pytest.fixture
def frame(rng: np.random.Generator) -> pd.DataFrame:
    n = 500
    a = rng.choice(list("uvwx"), n)
    b = np.where(rng.random(n) < 0.6, np.char.add(a, "!"), rng.choice(["r", "s"], n))
    x = rng.normal(1e6, 1.0, n) + (a == "u") * 2.0
    y = 0.5 * x + rng.normal(size=n)
    y[rng.random(n) < 0.1] = np.nan
    count = rng.integers(0, 9, n) + (a == "v") * 3
    wide = np.array([f"id{k}" for k in rng.integers(0, 4000, n)])
    gaps = np.where(rng.random(n) < 0.2, None, a)
    columns = {"a": a, "b": b, "x": x, "y": y, "count": count, "wide": wide, "gaps": gaps}
    return pd.DataFrame({**columns, "one": ["same"] * n, "flat": np.ones(n)})


def _direct(frame: pd.DataFrame, a: str, b: str) -> float:
    numeric = [name for name in (a, b) if pd.api.types.is_numeric_dtype(frame[name])]
    filled = {name: frame[name].fillna(frame[name].mean()) for name in numeric}
    if len(numeric) == 2:
        return abs(np.corrcoef(filled[a], filled[b])[0, 1])
    if not numeric:
        labels = [frame[name].astype(object).where(frame[name].notna(), "(missing)") for name in (a, b)]
        return float(scipy_association(pd.crosstab(*labels).to_numpy(), method="cramer"))
    (number,) = numeric
    category = frame[b if number == a else a]
    values = filled[number]
    means = values.groupby(category.astype(object).where(category.notna(), "(missing)")).transform("mean")
    return float(np.sqrt(((means - values.mean()) ** 2).sum() / ((values - values.mean()) ** 2).sum()))


def test_every_pair_of_kinds_equals_the_direct_computation(frame: pd.DataFrame) -> None:
    names = ["a", "b", "x", "y", "count", "wide", "gaps"]
    found = association(gm.collect(frame), names)
    for i, first in enumerate(names):
        for j, second in enumerate(names[:i]):
            # Values near a million with a spread of one: sums of squares keep about nine digits.
            assert found[i, j] == pytest.approx(_direct(frame, first, second), abs=1e-8), (first, second)
    assert np.array_equal(found, found.T)
    assert np.allclose(np.diagonal(found), 1.0)


def test_sparse_pair_counts_give_the_same_as_dense_ones(rng: np.random.Generator) -> None:
    n = 3000
    wide, other = rng.integers(0, 4000, n), rng.integers(0, 5000, n)
    other = np.where(rng.random(n) < 0.5, wide, other)
    frame = pd.DataFrame({"p": [f"p{k}" for k in wide], "q": [f"q{k}" for k in other]})
    moments = gm.collect(frame)
    assert not isinstance(moments.pairs.block(0, 1), np.ndarray)
    table = pd.crosstab(frame["p"], frame["q"]).to_numpy()
    chi2 = chi2_contingency(table, correction=False).statistic
    expected = np.sqrt(chi2 / n / (min(table.shape) - 1))
    assert association(moments, ["p", "q"])[0, 1] == pytest.approx(expected, rel=1e-10)


def test_a_column_that_does_not_vary_has_no_association(frame: pd.DataFrame) -> None:
    found = association(gm.collect(frame), ["a", "one", "flat"])
    assert found[0, 0] == 1
    assert np.isnan(found[1:]).all()
    assert np.isnan(found[:, 1:]).all()


def test_weights_count_as_repeated_rows(frame: pd.DataFrame, rng: np.random.Generator) -> None:
    times = rng.integers(1, 4, len(frame))
    names = ["a", "b", "x", "y", "count"]
    repeated = association(gm.collect(frame.loc[frame.index.repeat(times)]), names)
    weighted = association(gm.collect(frame, sample_weight=times.astype(float)), names)
    assert weighted == pytest.approx(repeated, abs=1e-9)
