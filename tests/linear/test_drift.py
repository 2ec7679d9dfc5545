"""What changed between two sets of rows: calibrated on halves of one table, and found where it was planted."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.drift import _law_of_cells, _same_odds, changes


def rows_of(table):
    return {(row["column"], row["other"], row["what"]): row for row in table.to_pylist()}


def kinds_of_columns(n, rng):
    """Return a table with columns of very different kinds."""
    two = rng.choice(["a", "b"], n, p=[0.7, 0.3])
    return pa.table(
        {
            "two": two,
            "many": rng.integers(0, 30, n).astype(str),
            "rare": np.where(rng.random(n) < 8 / n, "hit", "no"),
            "zipf": np.minimum(rng.zipf(1.6, n), 500).astype(str),
            "count": rng.poisson(2, n),
            "heavy": rng.standard_t(2, size=n),
            "holes": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.2),
            "id": [f"u{k}" for k in range(n)],
            "like_two": np.where(rng.random(n) < 0.6, two, rng.choice(["a", "b", "c"], n)),
            "w": rng.integers(1, 4, n).astype(float),
        }
    )


@pytest.mark.parametrize(("n", "part", "weights"), [(400, 0.5, None), (400, 0.1, None), (400, 0.5, "w")])
def test_halves_of_one_table_raise_as_many_alarms_as_the_level_says(rng, n, part, weights):
    alarms, tests, tables, runs = 0, 0, 0, 12
    for _ in range(runs):
        table, cut = kinds_of_columns(n, rng), int(n * part)
        a = gm.collect(table[:cut], sample_weight=weights, exclude=None if weights else "w")
        b = gm.collect(table[cut:], sample_weight=weights, exclude=None if weights else "w")
        found = [change for change in changes(a, b) if change.what != "identifier"]
        alarms += sum(change.p_value < 0.1 for change in found)
        tests += len(found)
        tables += any(change.adjusted < 0.05 for change in found)
    assert tests > 300
    # About 400 tests, of which those of heavy tails are careful: three standard errors of a tenth are 0.045.
    assert 0.05 < alarms / tests < 0.15
    assert tables <= 4


def test_a_pair_that_changes_with_its_margins_unchanged_is_found(rng):
    n = 4000

    def day(together):
        x = rng.permutation(np.repeat(["a", "b"], n // 2))
        y = np.empty(n, dtype=object)
        for level, other in (("a", "u"), ("b", "v")):
            size = int(n // 2 * (0.5 + together))
            rest = {"u": "v", "v": "u"}[other]
            y[x == level] = rng.permutation([other] * size + [rest] * (n // 2 - size))
        return pa.table({"x": x, "y": y.astype(str), "z": rng.normal(size=n), "q": rng.choice(list("pqrst"), n)})

    first, *others = gm.compare(gm.collect(day(0.0)), gm.collect(day(0.1))).to_pylist()
    assert (first["column"], first["other"], first["what"]) == ("x", "y", "dependence")
    assert (first["a"], first["b"]) == pytest.approx((0.0, 0.2))
    assert first["total_variation"] == pytest.approx(0.1, rel=1e-6)
    assert first["adjusted"] < 1e-10
    assert all(other["adjusted"] > 0.05 for other in others)


def test_changed_margins_alone_are_no_changed_dependence(rng):
    n = 6000

    def day(share, other):
        x = rng.random(n) < share
        y = rng.random(n) < other
        both = rng.random(n) < 0.5  # odds of x and y together
        return pa.table({"x": np.where(x, "a", "b"), "y": np.where(y, "u", "v"), "noise": both.astype(str)})

    found = rows_of(gm.compare(gm.collect(day(0.3, 0.3)), gm.collect(day(0.7, 0.7))))
    assert found["x", None, "levels"]["adjusted"] < 1e-10
    assert found["x", None, "levels"]["total_variation"] == pytest.approx(0.4, abs=0.03)
    assert found["x", "y", "dependence"]["p_value"] > 0.01


def test_planted_changes_of_one_column_are_found_and_measured(rng):
    n = 3000
    before = pa.table(
        {
            "region": rng.choice(["north", "south"], n, p=[0.2, 0.8]),
            "amount": rng.normal(10.0, 2.0, n),
            "wide": rng.normal(0.0, 1.0, n),
            "gaps": rng.normal(size=n),
        }
    )
    after = pa.table(
        {
            "region": rng.choice(["north", "south", "west"], n, p=[0.3, 0.6, 0.1]),
            "amount": rng.normal(11.0, 2.0, n),
            "wide": rng.normal(0.0, 1.5, n),
            "gaps": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
        }
    )
    found = rows_of(gm.compare(gm.collect(before), gm.collect(after)))
    region = found["region", None, "levels"]
    assert (region["new_levels"], region["vanished_levels"]) == (1, 0)
    assert region["total_variation"] == pytest.approx(0.2, abs=0.03)
    assert region["psi"] == pytest.approx(
        0.1 * np.log(1.5) - 0.2 * np.log(0.75) + 0.1 * np.log(0.1 / (0.5 / n)), abs=0.15
    )
    assert "west 0.0% -> " in region["change"]
    assert found["amount", None, "mean"]["mean_difference"] == pytest.approx(0.5, abs=0.08)
    assert found["wide", None, "spread"]["b"] == pytest.approx(1.5, rel=0.05)
    assert found["gaps", None, "missing"]["effect"] == pytest.approx(0.1, abs=0.02)
    certain = {key for key, row in found.items() if row["adjusted"] is not None and row["adjusted"] < 0.05}
    assert {key[:2] for key in certain if key[1] is None} == {(name, None) for name in before.column_names}
    assert ("wide", None, "mean") not in certain


def test_a_changed_correlation_and_changed_level_means_are_found(rng):
    n = 3000
    x, g = rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    before = pa.table({"x": x, "y": rng.normal(size=n), "g": g, "z": rng.normal(size=n)})
    shift = np.select([g == "a", g == "b"], [0.4, -0.4])
    after = pa.table({"x": x, "y": 0.3 * x + rng.normal(size=n), "g": g, "z": shift + rng.normal(size=n)})
    found = rows_of(gm.compare(gm.collect(before), gm.collect(after)))
    assert found["x", "y", "dependence"]["adjusted"] < 1e-6
    assert found["g", "z", "dependence"]["adjusted"] < 1e-6
    assert found["g", "x", "dependence"]["p_value"] > 0.01
    assert found["x", "y", "dependence"]["law"] == "normal"


def test_the_statistic_of_a_pair_has_the_law_of_all_permutations():
    counts = np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0]])
    cells = np.repeat(np.arange(6), counts.astype(int).ravel())
    n, k = len(cells), 4
    rows = np.zeros((n, 5))
    rows[np.arange(n), cells // 3] = 1
    rows[np.arange(n), 2 + cells % 3] = 1
    joint = np.eye(6)[cells]
    hat = joint @ np.linalg.pinv(joint) - rows @ np.linalg.pinv(rows)
    values = []
    for chosen in itertools.combinations(range(n), k):
        s = np.zeros(n)
        s[list(chosen)] = 1.0
        s -= s.mean()
        values.append((n - 1) * (s @ hat @ s) / (s @ s))
    law = _law_of_cells(counts, k)
    assert law.mean == pytest.approx(np.mean(values), rel=1e-9)
    assert law.variance == pytest.approx(np.var(values), rel=1e-9)
    assert law.skewness == pytest.approx(np.mean((values - np.mean(values)) ** 3) / np.std(values) ** 3, rel=1e-8)


def test_the_fitted_tables_keep_all_margins_and_have_equal_odds():
    one, two = np.array([[10.0, 5.0, 3.0], [2.0, 8.0, 4.0]]), np.array([[3.0, 3.0, 9.0], [7.0, 1.0, 5.0]])
    a, b = _same_odds(one, two)
    for fitted, given in ((a, one), (b, two)):
        np.testing.assert_allclose(fitted.sum(axis=0), given.sum(axis=0), rtol=1e-6)
        np.testing.assert_allclose(fitted.sum(axis=1), given.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(a + b, one + two, rtol=1e-6)

    def odds(table):
        return table[0, 0] * table[1, 1:] / (table[1, 0] * table[0, 1:])

    np.testing.assert_allclose(odds(a), odds(b), rtol=1e-5)


def test_one_row_is_compared_and_says_nothing_it_cannot_know():
    a = gm.collect(pa.table({"c": ["r", "b"] * 20, "x": np.arange(40.0), "y": np.arange(40.0) % 7}))
    b = gm.collect(pa.table({"c": ["g"], "x": [20.5], "y": [1.0]}))
    found = rows_of(gm.compare(a, b))
    # One of 41 rows is this one: a level of its own is as rare as that.
    assert found["c", None, "levels"]["p_value"] == pytest.approx(1 / 41, rel=1e-6)
    assert found["x", None, "mean"]["p_value"] > 0.5
    assert not any(key[1] for key in found)


def test_columns_that_cannot_be_compared_are_listed():
    a = gm.collect(pa.table({"c": ["r", "b"] * 20, "only": ["x", "y"] * 20, "k": ["1", "2"] * 20}))
    b = gm.collect(pa.table({"c": ["r", "b"] * 20, "k": [1.5, 2.5] * 20, "more": ["x", "y"] * 20}))
    found = rows_of(gm.compare(a, b))
    assert {key[0] for key in found if key[2] == "columns"} == {"only", "k", "more"}
    assert found["k", None, "columns"]["change"] == "text in the first, numbers in the second"
    assert found["c", None, "levels"]["p_value"] == 1.0


def test_bins_stand_for_their_numbers_in_pairs(rng):
    def day():
        return gm.collect(
            pa.table({"x": rng.normal(size=500), "g": rng.choice(["a", "b"], 500)}), bins={"x": [-1.0, 0.0, 1.0]}
        )

    found = rows_of(gm.compare(day(), day()))
    assert {key for key in found if key[1]} == {("x_bin", "g", "dependence")}
    assert found["x_bin", "g", "dependence"]["law"] == "permutation"


def test_nothing_to_compare_is_an_error():
    m = gm.collect(pa.table({"c": ["r", "b"]}))
    with pytest.raises(DataError, match="first moments have no rows"):
        gm.compare(m - m, m)
    with pytest.raises(DataError, match="no column in common"):
        gm.compare(m, gm.collect(pa.table({"d": ["r", "b"]})))
    with pytest.raises(DataError, match="takes two Moments; got Table"):
        gm.compare(pa.table({"c": ["r"]}), m)
