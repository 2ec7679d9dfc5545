"""Means, scatters and correlations of moments against numpy on design matrices written out in full."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError, MemoryLimitError
from gramian.linear.layout import layout_of
from gramian.linear.scatter.dense import scatter_diagonal
from gramian.moments.covariance import (
    centred_counts,
    correlation,
    covariance,
    design_sizes,
    divisor_of,
    grid,
    level_values,
    mean,
    room_for,
    scatter,
)


@pytest.fixture
def table(rng: np.random.Generator) -> pd.DataFrame:
    n = 90
    frame = pd.DataFrame(
        {
            "x": 1e3 + rng.gamma(2.0, size=n),
            "c": rng.choice(["a", "b", "d"], n, p=[0.6, 0.3, 0.1]),
            "k": rng.integers(-3, 4, n).astype(float),
            "e": rng.choice(["u", "v"], n),
            "z": rng.normal(size=n),
            "w": rng.integers(1, 4, n).astype(float),
        }
    )
    frame.loc[:7, "x"] = np.nan
    frame.loc[5:12, "c"] = None
    frame["k"] = frame["k"].astype("Int64")
    frame.loc[20:25, "k"] = pd.NA
    return frame


def written_out(m: gm.Moments, frame: pd.DataFrame, names: list[str], weight: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the design matrix, row by row, and the means: numbers imputed at the mean of the rows that have one."""
    columns, means = [], []
    for name in names:
        if m.schema[name].form == "category":
            for level in m.levels(name):
                hits = [pd.isna(v) if level is None else (not pd.isna(v) and v == level) for v in frame[name]]
                columns.append(np.array(hits, float))
                means.append(np.average(columns[-1], weights=weight))
        else:
            values = frame[name].astype(float).to_numpy()
            seen = ~np.isnan(values)
            means.append(np.average(values[seen], weights=weight[seen]))
            columns.append(np.where(seen, values, means[-1]))
    return np.column_stack(columns), np.array(means)


@pytest.mark.parametrize("names", [["x", "c", "k", "e", "z"], ["k", "z", "c"], ["c"], ["e", "c"], ["x", "z"], ["k"]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["integer", "category"])
def test_moments_of_columns_are_those_of_the_design_matrix(table, names, weighted, kind):
    frame = table if weighted else table.drop(columns="w")
    options = {"sample_weight": "w"} if weighted else {}
    m = gm.collect(frame, categorical=["k"] if kind == "category" else [], **options)
    assert m.schema["k"].form == kind
    weight = table["w"].to_numpy() if weighted else np.ones(len(table))
    design, means = written_out(m, table, names, weight)
    centred = design - means
    expected = (weight[:, None] * centred).T @ centred
    assert design_sizes(m, names) == [len(m.levels(n)) if m.schema[n].form == "category" else 1 for n in names]
    np.testing.assert_allclose(mean(m, names), means, rtol=1e-12)
    # Relative to the spreads of the two columns: of a product that cancels no more digits are known.
    size = np.sqrt(np.outer(np.diagonal(expected), np.diagonal(expected)))
    assert (np.abs(scatter(m, names) - expected) <= 1e-11 * size).all()
    assert (np.abs(covariance(m, names, 1) - expected / (weight.sum() - 1)) <= 1e-11 * size).all()
    np.testing.assert_allclose(correlation(m, names), expected / size, atol=1e-11)


def test_levels_of_an_integer_deviate_from_its_mean_and_missing_ones_do_not():
    m = gm.collect(pd.DataFrame({"k": pd.array([10, 10, 14, None], "Int64"), "j": pd.array([None] * 4, "Int64")}))
    at = m.coded_at["k"]
    centre, deviation = level_values(m, at)
    assert centre == pytest.approx(34 / 3)
    expected = {10: 10 - 34 / 3, 14: 14 - 34 / 3, None: 0.0}
    np.testing.assert_allclose(deviation, [expected[level] for level in m.labels[at].to_list()], rtol=1e-12)
    centre, deviation = level_values(m, m.coded_at["j"])
    assert np.isnan(centre)
    assert not deviation.any()


@pytest.mark.parametrize("weight", [10, 2**30, 2**40])
def test_centred_counts_of_integers_are_exact_while_they_fit(rng, weight):
    rows, cols = rng.integers(0, weight, 5), rng.integers(0, weight, 3)
    block = rng.integers(0, weight, (5, 3))
    found = centred_counts(block, rows, cols, float(weight))
    for i in range(5):
        for j in range(3):
            exact = (weight * int(block[i, j]) - int(rows[i]) * int(cols[j])) / weight
            assert found[i, j] == pytest.approx(
                exact, rel=1e-15 if weight < 2**31 else 0, abs=1e-3 if weight > 2**31 else 0
            )


@pytest.mark.parametrize(
    ("rows", "columns"), [([2, 3], [0, 1]), ([3, 1], [0]), ([0, 2], [1, 2]), ([], [1]), ([1], [3])]
)
def test_a_grid_names_the_cells_of_its_rows_and_columns(rows, columns):
    a = np.arange(20).reshape(4, 5)
    found = a[grid(np.array(rows, np.intp), np.array(columns, np.intp))]
    assert found.tolist() == [[a[i, j] for j in columns] for i in rows]


def test_a_constant_has_no_correlation_and_lost_digits_are_refused(table, monkeypatch):
    m = gm.collect(pd.DataFrame({"x": [0.1] * 5, "z": [1.0, 2.0, 4.0, 8.0, 9.0]}))
    assert np.isnan(correlation(m, ["x", "z"])).tolist() == [[True, True], [True, False]]
    monkeypatch.setattr("gramian.moments.covariance.scatter", lambda *_: np.array([[1.0, 3.0], [3.0, 1.0]]))
    with pytest.raises(DataError, match=r"the correlation of 'x' and 'z' comes out as 3: .* collect these rows anew"):
        correlation(m, ["x", "z"])


def test_what_no_rows_and_one_row_leave_is_said():
    frame = pd.DataFrame({"x": [1.0], "w": [0.5]})
    one = gm.collect(frame[["x"]])
    assert divisor_of(one, 0) == 1.0
    with pytest.raises(DataError, match=r"a covariance with ddof=1 needs a total weight above 1; got n_samples=1$"):
        divisor_of(one, 1)
    with pytest.raises(DataError, match=r"of total weight 0.5: a weight means repeated rows"):
        divisor_of(gm.collect(frame, sample_weight="w"), 1, "a spread")
    none = one - one
    with pytest.raises(DataError, match="moments of no rows leave nothing for a spread"):
        divisor_of(none, 0, "a spread")
    with pytest.raises(DataError, match="moments of no rows have no mean"):
        mean(none, ["x"])


def test_a_matrix_beyond_memory_is_refused_before_it_is_made():
    assert room_for(3).tolist() == [[0.0] * 3] * 3
    with pytest.raises(
        MemoryLimitError, match=r"a dense matrix of 5000000 x 5000000 design columns.*pool\(\) rare levels"
    ):
        room_for(5_000_000)


def weighted_constants(rng, n):
    return pd.DataFrame(
        {
            "one": ["a"] * n,
            "x": rng.standard_normal(n),
            "c": rng.choice(["u", "v"], n),
            "k": np.full(n, 3),
            "flat": np.full(n, 0.1),
            "w": rng.random(n),
        }
    )


@pytest.mark.parametrize("parts", ["whole", "merged", "scaled", "a zero weight beside"])
def test_constants_of_fractional_weights_do_not_vary_at_all(rng, parts):
    # Weights of the level and of all rows are added up in different orders.
    for n in (7, 23, 40, 61, 100):
        frame = weighted_constants(rng, n)
        if parts == "a zero weight beside":
            frame.loc[0, ["one", "w"]] = ["b", 0.0]
        m = gm.collect(frame, sample_weight="w")
        if parts == "merged":
            m = gm.merge([gm.collect(frame.iloc[k : k + 7], sample_weight="w") for k in range(0, n, 7)])
        m = m * 0.3 if parts == "scaled" else m
        still = [j for j, name in enumerate(m.design_names) if name.startswith(("one", "flat", "k"))]
        found = m.covariance(ddof=0)
        assert not found[still].any()
        assert not found[:, still].any()
        assert np.isnan(m.correlation()[still]).all()
        assert not scatter_diagonal(m, layout_of(m, None))[still].any()
        others = [j for j in range(len(found)) if j not in still]
        assert np.isfinite(m.correlation()[np.ix_(others, others)]).all()


def test_a_rare_level_of_fractional_weights_keeps_its_digits(rng):
    w = np.append(rng.random(1000), 1e-9)
    m = gm.collect(pd.DataFrame({"c": ["a"] * 1000 + ["b"], "w": w}), sample_weight="w")
    share = 1e-9 / w.sum()
    np.testing.assert_allclose(m.covariance(ddof=0), share * (1 - share) * np.array([[1, -1], [-1, 1]]), rtol=1e-9)
