"""What a subtraction leaves is the moments of some rows, or it is refused with the columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm
from gramian.moments.algebra.feasibility import JOINT_COLUMNS, Peak


def collected(columns: dict, **arguments) -> gm.Moments:
    return gm.collect(pa.table(columns), **arguments)


RISING = [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("whole", "part", "named"),
    [
        ({"x": RISING, "y": RISING}, {"x": [0.0, 1.0], "y": [1.0, 0.0]}, ["'x'", "'y'"]),
        ({"x": [0.0, 1.0]}, {"x": [5.0, 6.0]}, ["'x'"]),
        ({"x": [0.0, 1.0], "y": [0.0, 1.0]}, {"x": [0.0, 1.0], "y": [1.0, 0.0]}, ["'x'", "'y'"]),
        ({"x": [0.0, 1.0, 2.0]}, {"x": [0.5, 1.0]}, ["'x'", "one row"]),
        ({"c": list("aabb"), "x": RISING}, {"c": list("ab"), "x": [3.0, 0.0]}, ["'c'", "'x'"]),
        ({"c": list("aabb"), "x": RISING}, {"c": list("aa"), "x": [2.0, 3.0]}, ["'c'", "'x'"]),
        ({"k": [1, 1, 2, 2], "x": RISING}, {"k": [1, 2], "x": [3.0, 0.0]}, ["'k'", "'x'"]),
        ({"c": list("aabb"), "x": [None, 1.0, 2.0, 3.0]}, {"c": list("b"), "x": [None]}, ["'c'", "'x'"]),
        ({"c": list("aabb"), "x": [None, 1.0, None, 3.0]}, {"c": list("aa"), "x": [1.0, 3.0]}, ["'c'", "'x'"]),
        ({"x": [None, None, 1.0]}, {"x": [1.0, 1.0]}, ["'x'"]),
        ({"x": [None, 1.0, 2.0]}, {"x": [0.0, 3.0]}, ["'x'"]),
    ],
    ids=[
        "two numbers turned around",
        "as many rows of other values",
        "as many rows, two numbers turned around",
        "one row left that varies",
        "means by level",
        "a level without rows and its sum",
        "means by level of an integer",
        "missing in another level",
        "observed in another level",
        "observed more often",
        "values where nothing is left observed",
    ],
)
def test_an_impossible_part_is_refused_with_its_columns(whole: dict, part: dict, named: list[str]) -> None:
    types = {name: pa.array(values).type for name, values in whole.items()}
    given_part = {name: pa.array(values, types[name]) for name, values in part.items()}
    with pytest.raises(ValueError, match="cannot subtract") as raised:
        collected(whole) - collected(given_part)
    assert all(name in str(raised.value) for name in named), str(raised.value)
    assert "\n" not in str(raised.value)


def test_three_rows_cannot_hold_four_free_columns() -> None:
    # Means at 0, squares of 200, nothing together: no eigenvalue is negative, but there are four of them.
    whole, part = 10.0 * np.vstack([np.eye(4), -np.eye(4)]), np.zeros((5, 4))
    with pytest.raises(ValueError, match="3 rows are left"):
        gm.collect(whole) - gm.collect(part)


@pytest.mark.parametrize("width", [3, 40, 700])
def test_numbers_turned_around_are_refused_at_any_width(width: int, rng: np.random.Generator) -> None:
    x = rng.normal(size=(60, 1)) * np.ones(width) + 1e-3 * rng.normal(size=(60, width))
    part = x[:30].copy()
    part[:, -1] = part[::-1, -1]
    with pytest.raises(ValueError, match=f"'x{width - 1}'"):
        gm.collect(x) - gm.collect(part)
    assert (gm.collect(x) - gm.collect(x[:30])).n_rows == 30


def test_a_wide_category_is_checked_against_its_numbers(rng: np.random.Generator) -> None:
    n = 3 * JOINT_COLUMNS
    level = np.repeat(np.arange(JOINT_COLUMNS), 3)
    x = level + 0.01 * rng.normal(size=n)
    z = x + 0.01 * rng.normal(size=n)
    table = {"c": [f"c{k}" for k in level], "x": x, "z": z}
    part = {name: np.asarray(values)[::3] for name, values in table.items()}
    assert (collected(table) - collected(part)).n_rows == n - len(part["x"])
    with pytest.raises(ValueError, match=r"'[xz]' and 'c'"):
        collected(table) - collected({**part, "x": rng.permutation(part["x"]), "z": rng.permutation(part["z"])})
    # Levels, and each number by itself, fit; what does not is how the two go together within the levels.
    swapped = np.asarray(part["z"]).copy()
    inner = z - np.repeat(z.reshape(-1, 3).mean(axis=1), 3)
    swapped += -40 * (part["x"] - np.repeat(x.reshape(-1, 3).mean(axis=1), 3)[::3]) - inner[::3]
    with pytest.raises(ValueError, match=r"'x'|'z'"):
        collected(table) - collected({**part, "z": swapped})


@given(st.integers(0, 2**31), st.integers(2, 12), st.integers(1, 6))
def test_what_is_accepted_is_positive_semi_definite_and_of_few_rows(seed: int, n: int, k: int) -> None:
    """From the definition: M = sum of w z z^T over rows has no negative eigenvalue and no more positive ones than rows."""
    rng = np.random.default_rng(seed)

    def rows(m: int) -> dict:
        return {
            "c": rng.choice(list("ab"), m).tolist(),
            "x": rng.integers(0, 3, m).astype(float),
            "y": rng.integers(0, 3, m).astype(float),
        }

    whole, part = collected(rows(n)), collected(rows(min(k, n)))
    try:
        rest = whole - part
    except ValueError:
        return
    if not rest.n_rows:
        return
    columns = ["c", "x", "y"]
    scatter = rest.covariance(columns, ddof=0) * rest.n_rows
    values = np.linalg.eigvalsh(scatter)
    assert values[0] > -1e-6
    assert (values > 1e-6).sum() <= rest.n_rows - 1
    correlation = rest.correlation(columns)
    assert (np.abs(correlation[~np.isnan(correlation)]) <= 1).all()


def test_a_peak_keeps_the_larger_and_scales_with_weights() -> None:
    a, b = Peak(3, 2.0, {"x": 1.0, "y": 5.0}), Peak(2, 4.0, {"x": 3.0})
    assert a | b == Peak(3, 4.0, {"x": 3.0, "y": 5.0})
    assert (a | b).scale(0.5) == Peak(3, 2.0, {"x": 1.5, "y": 2.5})
