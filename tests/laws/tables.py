"""Random tables for the laws, and comparisons that do not lean on `Moments.__eq__` or `isclose`."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

import gramian as gm

COLORS = ["red", "blue", "green", "1", "(rare)", "a b", "ünï"]

SCHEMA = pa.schema(
    [
        ("color", pa.string()),
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("large", pa.int64()),
        ("height", pa.float64()),
        ("far", pa.float64()),
        ("when", pa.timestamp("s")),
        ("weight", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Recipe:
    """What a random table is made from; hypothesis shrinks each of these."""

    seed: int
    n_rows: int
    missing: float
    offset: float
    n_large: int

    def table(self) -> pa.Table:
        return random_table(self.seed, self.n_rows, self.missing, self.offset, self.n_large)


def random_table(
    seed: int, n_rows: int, missing: float = 0.2, offset: float = 0.0, n_large: int = 500, *, colors: int = 7
) -> pa.Table:
    """Return text, booleans, small and large integers, floats near 0 and far from it, times, weights."""
    rng = np.random.default_rng(seed)
    start = datetime.datetime(2024, 1, 1)
    columns: dict[str, list[Any]] = {
        "color": [COLORS[k] for k in rng.integers(0, colors, n_rows)],
        "flag": rng.integers(0, 2, n_rows).astype(bool).tolist(),
        "small": rng.integers(-2, 3, n_rows).tolist(),
        "large": (rng.integers(0, n_large, n_rows) * 1_000_003).tolist(),
        "height": rng.normal(size=n_rows).tolist(),
        "far": (offset + rng.normal(size=n_rows)).tolist(),
        "when": [start + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 9000, n_rows)],
    }
    for name, values in columns.items():
        # NaN and null are both missing: numbers show either.
        gap = [None, float("nan")] if name in ("height", "far") else [None]
        for i in np.flatnonzero(rng.random(n_rows) < missing):
            values[i] = gap[int(i) % len(gap)]
    columns["weight"] = rng.integers(1, 4, n_rows).astype(float).tolist()
    return pa.table(columns, schema=SCHEMA)


def examples(n: int) -> settings:
    """Return settings that draw `n` examples where others draw 10 (tests/conftest.py), and more as they do: `make fuzz`."""
    return settings(max_examples=n * settings().max_examples // 10)


def recipes(min_rows: int = 1, max_rows: int = 150) -> st.SearchStrategy[Recipe]:
    """Strategy for random tables: few or many rows, none to all missing, near zero or at 1e8."""
    return st.builds(
        Recipe,
        seed=st.integers(0, 2**31),
        n_rows=st.integers(min_rows, max_rows),
        missing=st.sampled_from([0.0, 0.2, 0.9, 1.0]),
        offset=st.sampled_from([0.0, 1e8]),
        n_large=st.sampled_from([1, 10, 64, 1000]),
    )


def collected(table: pa.Table, **arguments: Any) -> gm.Moments:
    """Collect the columns of a random table, its weights left out unless they are asked for."""
    if "sample_weight" not in arguments and "columns" not in arguments:
        arguments.setdefault("exclude", "weight")
    return gm.collect(table, **arguments)


def by_label(moments: gm.Moments, column: str) -> dict[Any, Any]:
    """Return the counts of a column's levels, keyed by type and label."""
    labels = moments.levels(column)
    return {(type(k), k): c for k, c in zip(labels, moments.counts(column).tolist(), strict=True)}


def pairs_by_label(moments: gm.Moments, a: str, b: str) -> dict[Any, Any]:
    """Return the cells of a crosstab that are not zero, keyed by labels."""
    table = moments.crosstab(a, b)
    left, right = moments.levels(a), moments.levels(b)
    return {(left[i], right[j]): table[i, j].item() for i, j in zip(*np.nonzero(table), strict=True)}


def in_name_order(moments: gm.Moments) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return design names, means and covariances (ddof=0) with design columns sorted by name."""
    columns = moments.columns
    names = moments.design_names_of(columns)
    order = np.argsort(names)
    covariance = moments.covariance(columns, ddof=0)
    return [names[k] for k in order], moments.mean(columns)[order], covariance[np.ix_(order, order)]


def assert_same(a: gm.Moments, b: gm.Moments, *, rtol: float = 1e-12, folds: bool = True) -> None:
    """Assert that two moments give the same answers: counts exactly, numbers to `rtol` of their spread.

    Means are also allowed the rounding of the mean itself, units in its last place (2^-52), which at offset
    1e8 are more than 1e-12 spreads. A column whose spread is no more than that is constant: it may covary by as
    much.
    """
    if not folds:
        a, b = replace(a, folds=()), replace(b, folds=())
    assert a.n_rows == b.n_rows
    np.testing.assert_allclose(float(a.total_weight), float(b.total_weight), rtol=1e-13)
    assert sorted(a.columns) == sorted(b.columns)
    if not a.n_rows:
        return
    for name in a.columns:
        assert a.kind(name) == b.kind(name)
    a, b = _integers_alike(a, b)
    assert sorted(a.coded) == sorted(b.coded)
    exact = not (a.weighted or b.weighted)
    for name in a.coded:
        _assert_counts(by_label(a, name), by_label(b, name), exact)
        for other in a.coded:
            if other < name:
                _assert_counts(pairs_by_label(a, name, other), pairs_by_label(b, name, other), exact)
    names, mean, covariance = in_name_order(a)
    names_b, mean_b, covariance_b = in_name_order(b)
    assert names == names_b
    np.testing.assert_array_equal(np.isnan(mean), np.isnan(mean_b))
    ulp = 2.0**-52 * np.abs(np.nan_to_num(mean))
    spread = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    off = np.abs(np.nan_to_num(mean - mean_b)) > rtol * spread + 2 * ulp
    assert not off.any(), [names[k] for k in np.flatnonzero(off)]
    dust = np.where(spread <= 8 * ulp, 8 * ulp, 0.0)
    allowed = rtol * np.outer(spread, spread) + np.outer(dust, spread + dust) + np.outer(spread + dust, dust)
    off = np.abs(covariance - covariance_b) > allowed
    assert not off.any(), [(names[i], names[j]) for i, j in zip(*np.nonzero(off), strict=True)]
    assert a.isclose(b)
    for x, y in zip(a.folds, b.folds, strict=True):
        assert_same(x, y, rtol=rtol)


def _integers_alike(a: gm.Moments, b: gm.Moments) -> tuple[gm.Moments, gm.Moments]:
    """Return both with the integers that only one of them kept by level taken as numbers."""
    from gramian.moments.algebra.combine import conform

    folded = [n for n in a.columns if a.schema[n].form != b.schema[n].form]
    for name in folded:
        if a.schema[name].form == "integer":
            a = conform(a, a.schema.with_form(name, "number"))
        else:
            b = conform(b, b.schema.with_form(name, "number"))
    return a, b


def _assert_counts(mine: dict[Any, Any], theirs: dict[Any, Any], exact: bool) -> None:
    if exact:
        assert mine == theirs
        return
    assert mine.keys() == theirs.keys()
    # Sums of weights in another order: a few roundings.
    np.testing.assert_allclose(list(mine.values()), [theirs[key] for key in mine], rtol=1e-13)


@st.composite
def cuts(draw: Any, n_rows: int, at_most: int = 4) -> list[int]:
    """Strategy for the edges of consecutive parts of `n_rows` rows, empty parts included."""
    inner = draw(st.lists(st.integers(0, n_rows), max_size=at_most))
    return [0, *sorted(inner), n_rows]


def parts_of(table: pa.Table, edges: list[int]) -> list[pa.Table]:
    """Return consecutive slices of a table, those without rows left out."""
    parts = [table.slice(a, b - a) for a, b in pairwise(edges)]
    return [part for part in parts if part.num_rows]
