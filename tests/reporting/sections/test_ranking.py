"""Columns are ranked by the share of the target that their groups explain, as its definition gives it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.reporting.groups import Grouped, Groups
from gramian.reporting.report import summary


def test_ranked_columns_carry_the_independence_test(whole: dict, made: SimpleNamespace) -> None:
    rows = whole["ranking"]["columns"]
    assert {row["column"] for row in rows[:4]} >= {"card", "category"}
    by_level = [row for row in rows if row["by"] == "levels" and row["kind"] == "categorical"]
    assert len(by_level) > 3
    for row in by_level:
        test = gm.independence_test(made.moments, row["column"], "fraud")
        assert row["p_value"] == pytest.approx(test.p_value, rel=1e-3)
        assert row["df"] == test.df
    kept = [row["share"] for row in rows]
    assert kept == sorted(kept, reverse=True)


def test_noise_explains_nothing(rng: np.random.Generator) -> None:
    n = 3000
    frame = pd.DataFrame({"noise": rng.choice(list("abcdefgh"), n), "y": rng.choice(["u", "v"], n)})
    frame["told"] = np.where(rng.random(n) < 0.8, frame["y"], "u")
    rows = {row["column"]: row for row in summary(gm.collect(frame), target="y")["ranking"]["columns"]}
    assert rows["noise"]["share"] < 0.005
    assert rows["told"]["share"] > 0.5


def test_numbers_without_rows_are_compared_along_a_line(rng: np.random.Generator) -> None:
    n = 1000
    x = rng.normal(size=n)
    table = pa.table({"x": x, "y": x + rng.normal(size=n)})
    (row,) = summary(gm.collect(table), target="y")["ranking"]["columns"]
    r2 = np.corrcoef(x, np.asarray(table["y"]))[0, 1] ** 2
    assert (row["by"], row["share"]) == ("a line", pytest.approx(1 - (1 - r2) * (n - 1) / (n - 2), rel=1e-3))


@pytest.mark.parametrize("kind", ["number", "large", "count", "classes", "two"])
@pytest.mark.parametrize("folds", [0, 4])
def test_shares_are_those_of_the_definition(rng: np.random.Generator, kind: str, folds: int) -> None:
    n = 400
    g = rng.integers(0, 30, n)
    score = rng.normal(size=30)[g] + rng.normal(size=n)
    y = {
        "number": score,
        "large": 1e9 + score,
        "count": np.rint(3 * score).astype(int),
        "classes": np.digitize(score, [-1, 1]).astype(str),
        "two": np.where(score > 0.5, "yes", "no"),
    }[kind]
    table = pa.table({"g": [f"g{k}" for k in g], "part": [f"p{k % 7}" for k in range(n)], "y": y})
    m = gm.collect(table, targets="y", folds=folds, fold_by="part" if folds else None)
    grouped = Grouped(m, "y")
    columns = (
        np.eye(len(np.unique(y)))[np.unique(y, return_inverse=True)[1]] if y.dtype.kind == "U" else y[:, None] * 1.0
    )
    columns = columns - columns.mean(axis=0)
    if not folds:
        within = sum(((columns[g == k] - columns[g == k].mean(axis=0)) ** 2).sum() for k in np.unique(g))
        used = len(np.unique(g))
        wanted = 1 - (within / (n - used)) / ((columns**2).sum() / (n - 1))
    else:
        part = np.array([k % 7 for k in range(n)])
        fold_of = {}
        for k, fold in enumerate(m.folds):
            fold_of |= {int(label[1:]): k for label in (fold.levels("part") if fold.n_rows else [])}
        at = np.array([fold_of[p] for p in part])
        errors = against = 0.0
        for k in set(fold_of.values()):
            train, test = columns[at != k], columns[at == k]
            prediction, mean = drawn_means(train, g[at != k], g[at == k])
            errors += ((test - prediction) ** 2).sum()
            against += ((test - mean) ** 2).sum()
        wanted = 1 - errors / against
    assert grouped.share("g") == pytest.approx(wanted, rel=1e-6)


def drawn_means(y: np.ndarray, g: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Predict groups by their means drawn to the overall mean, the variances those of an analysis of variance."""
    mean, n = y.mean(axis=0), len(y)
    counts = np.bincount(g, minlength=30)
    sums = np.array([y[g == k].sum(axis=0) for k in range(30)])
    means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], mean)
    within = ((y - means[g]) ** 2).sum()
    between = (counts[:, None] * (means - mean) ** 2).sum()
    used = (counts > 0).sum()
    noise = within / (n - used)
    spread = max((between - (used - 1) * noise) / (n - (counts**2).sum() / n), 0)
    w = counts / (counts + noise / spread) if spread > 0 else 0 * counts
    return (mean + w[:, None] * (means - mean))[wanted], mean


def test_tests_of_bins_keep_their_word() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(25):
        n = 200
        columns = {f"x{k}": rng.standard_t(2, n) for k in range(10)}
        table = pa.table(columns | {"y": rng.choice(["u", "v"], n, p=[0.9, 0.1])})
        groups = Groups(gm.collect(table, targets="y"), "y", list(columns), table)
        assert set(groups.bins) == set(columns)
        found += [groups.test(name)[1] for name in columns]
    share = np.mean(np.array(found) <= 0.05)
    assert 0.01 <= share <= 0.09, share  # two tests share the 5%, and agree in part; five standard errors up


@pytest.mark.parametrize("cells", [0, 2**20])
def test_sparse_tables_have_the_same_shares(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    n = 4000
    wide = rng.integers(0, 900, n)
    y = np.char.add("y", ((wide + rng.integers(0, 40, n)) % 120).astype(str))
    m = gm.collect(pa.table({"wide": np.char.add("w", wide.astype(str)), "y": y}), targets="y", folds=4)
    wanted = Grouped(m, "y").share("wide")
    monkeypatch.setattr("gramian.reporting.groups.DENSE", cells)
    assert sp.issparse(Grouped(m, "y").sums("wide").sums) == (cells == 0)
    assert Grouped(m, "y").share("wide") == pytest.approx(wanted, rel=1e-9)


def test_a_level_of_one_fold_and_no_noise_within_levels(recwarn):
    """The rest of that fold has no row of the level, and nothing within levels to draw it towards the mean: 0 / 0."""
    frame = pd.DataFrame({"c": ["a", "b"] * 100 + ["once"], "y": [1.0, 0.0] * 100 + [1.0]})
    found = gm.report.summary(frame, target="y")["ranking"]["columns"]
    assert found[0]["column"] == "c"
    assert found[0]["share"] > 0.9
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]
