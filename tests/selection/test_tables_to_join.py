"""`rank_tables` finds what joining each table and cross-validating finds, and its test permutes keys."""

from __future__ import annotations

import datetime
import logging

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.encoder import by_position
from gramian.errors import ColumnError, DataError
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.ridge import held_out_scores, ridge_coefficients
from gramian.linear.regression.targets import aim_of
from gramian.moments.advice import near_zero
from gramian.selection.tables_to_join import RIDGES

FOLDS = 4


def facts_with(rng: np.random.Generator, n: int, n_keys: int, effect: np.ndarray) -> pd.DataFrame:
    key = rng.integers(0, n_keys, n)
    x = rng.normal(size=n)
    frame = pd.DataFrame({"key": key, "x": x, "color": rng.choice(["red", "blue", "green"], n)})
    frame["y"] = x + (frame["color"] == "red") + effect[key] + rng.normal(size=n)
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    return frame


def table_of(rng: np.random.Generator, n_keys: int) -> pd.DataFrame:
    """Return a table that lacks some keys and some values."""
    kind = pd.Series(rng.choice(["a", "b", "c", None], n_keys))
    size = pd.Series(rng.normal(size=n_keys)).where(rng.random(n_keys) > 0.2)
    table = pd.DataFrame({"key": np.arange(n_keys), "kind": kind, "size": size, "rooms": rng.integers(1, 5, n_keys)})
    return table[rng.random(n_keys) > 0.1]


def held_out_r2(frame: pd.DataFrame, numbers: list[str], categories: list[str]) -> float:
    """Return the held-out R^2 of ridge regression from rows, at the best of the ridges."""
    fold = by_position(0, len(frame), FOLDS, 0)
    errors, base = np.zeros(len(RIDGES)), 0.0
    for k in range(FOLDS):
        train, test = frame[fold != k], frame[fold == k]
        parts, penalties = [], []
        for name in numbers:
            mean = train[name].mean()
            parts.append((train[name].fillna(mean), test[name].fillna(mean)))
            penalties.append([train[name].fillna(mean).var(ddof=0)])
        for name in categories:
            levels = frame[name].fillna("missing").astype(object).unique()
            texts = [rows[name].fillna("missing").to_numpy(object) for rows in (train, test)]
            both = [(text[:, None] == levels).astype(float) for text in texts]
            parts.append(both)
            penalties.append(np.ones(len(levels)))
        a, b = (np.column_stack([part[i] for part in parts]) for i in (0, 1))
        mean, centre = a.mean(axis=0), train["y"].mean()
        for i, ridge in enumerate(RIDGES):
            matrix = (a - mean).T @ (a - mean) + ridge * np.diag(np.concatenate(penalties))
            beta = np.linalg.solve(matrix, (a - mean).T @ (train["y"] - centre))
            errors[i] += ((test["y"] - centre - (b - mean) @ beta) ** 2).sum()
        base += ((test["y"] - centre) ** 2).sum()
    return float(1 - errors.min() / base)


def test_gains_are_those_of_joining_and_cross_validating() -> None:
    rng = np.random.default_rng(3)
    frame, table = facts_with(rng, 2_000, 60, rng.normal(size=60)), table_of(rng, 60)
    m = gm.collect(frame, categorical="key", folds=FOLDS)
    found = gm.rank_tables(m, "y", {"key": {"shops": table}}).set_index("column")
    joined = frame.merge(table, on="key", how="left")
    base = held_out_r2(frame, ["x"], ["color"])
    expected = {
        "kind": held_out_r2(joined, ["x"], ["color", "kind"]),
        "size": held_out_r2(joined, ["x", "size"], ["color"]),
        "rooms": held_out_r2(joined, ["x", "rooms"], ["color"]),
        None: held_out_r2(joined, ["x", "size", "rooms"], ["color", "kind"]),
    }
    assert {c: found["gain"][c] for c in expected if c} == pytest.approx(
        {c: r2 - base for c, r2 in expected.items() if c}, abs=1e-10
    )
    assert found["gain"].iloc[0] == pytest.approx(expected[None] - base, abs=1e-10)


PASSES = [{}, {"sample_weight": "w"}, {"fold_by": "part"}, {"fold_by": "key", "sample_weight": "w"}]


@pytest.mark.parametrize("options", PASSES, ids=str)
@pytest.mark.parametrize("target", ["y", "grade"])
def test_gains_are_those_of_attaching(target: str, options: dict) -> None:
    """Whatever the base model lacks: integers and numbers with missing values, a number that one fold alone shows."""
    rng = np.random.default_rng(6)
    n, n_keys = 900, 40
    frame = facts_with(rng, n, n_keys, rng.normal(size=n_keys))
    frame["key"] = frame["key"].astype(float).where(rng.random(n) > 0.05)
    frame["rank"] = pd.Series(rng.integers(0, 9, n)).where(rng.random(n) > 0.1).astype("Int64")
    frame["part"] = rng.integers(0, 12, n)
    frame["once"] = pd.Series(rng.normal(size=n)).where(frame["part"] == 3)
    frame["w"] = rng.gamma(2.0, size=n)
    frame["grade"] = np.where(frame["y"] > 1, "high", np.where(frame["y"] > 0, "mid", "low"))
    frame = frame.drop(columns="grade" if target == "y" else "y").astype({"key": "Int64"})
    table = table_of(rng, n_keys)
    table["rank"] = table["rooms"].where(rng.random(len(table)) > 0.2).astype("Int64")
    table["still"] = 0.1
    table["rare"] = np.where(table["key"] == 7, 3.5, 0.7)
    exclude = [name for name in ("part", "w") if name not in options.values()]
    m = gm.collect(frame, categorical="key", folds=FOLDS, exclude=exclude, **options)

    def r2(moments: gm.Moments, columns: list[str]) -> float:
        aim = aim_of(moments, [target])
        moments = aim.read(near_zero(moments, [target]))
        scores, _ = held_out_scores(
            moments, columns, aim, regression_of(moments, columns, aim),
            lambda f: [np.stack([ridge_coefficients(f, r) for r in RIDGES])],
        )  # fmt: skip
        return float(scores.max())

    base = [name for name in m.columns if name not in ("key", target)]
    alone = r2(m, base)
    found = gm.rank_tables(m, target, {"key": {"t": table}}).set_index("column")["gain"]
    star = m.attach("key", table, prefix="t_")
    added = [name for name in star.columns if name.startswith("t_")]
    assert set(found.index.dropna()) == {name.removeprefix("t_") for name in added} == {*table.columns} - {"key"}
    for name in added:
        assert found[name.removeprefix("t_")] == pytest.approx(r2(star, [*base, name]) - alone, abs=1e-10)
    assert found.iloc[0] == pytest.approx(r2(star, [*base, *added]) - alone, abs=1e-10)


@pytest.mark.parametrize("columns", [["kind"], ["size"], ["kind", "size", "rooms"]])
def test_p_values_are_shares_of_permutations_of_keys(columns: list[str]) -> None:
    """The law over permutations is taken by its moments; drawing permutations of a table's rows gives the same."""
    rng = np.random.default_rng(11)
    table = table_of(rng, 60)
    # Few keys of very many facts: far from chi-squared.
    key = np.minimum(rng.pareto(1.0, 5_000), 59).astype(int)
    frame = pd.DataFrame({"key": key, "y": rng.normal(size=60)[key] + rng.normal(size=5_000)})
    m = gm.collect(frame, categorical="key", folds=2)

    sums = (frame["y"] - frame["y"].mean()).groupby(frame["key"]).sum()
    r, rows = sums.to_numpy() - sums.mean(), table.set_index("key").reindex(sums.index)
    design = [pd.get_dummies(rows[c].fillna("?")).to_numpy(float) for c in columns if c == "kind"]
    design += [rows[c].fillna(rows[c].mean()).to_numpy()[:, None] for c in columns if c != "kind"]
    e = np.column_stack(design)
    e = e - e.mean(axis=0)
    hat = e @ np.linalg.pinv(e.T @ e) @ e.T
    drawn = np.array([rng.permutation(r) for _ in range(4_000)])
    drawn, seen = np.einsum("kl,lm,km->k", drawn, hat, drawn, optimize=True), r @ hat @ r
    share = np.mean(drawn >= seen * (1 - 1e-12))
    found = gm.rank_tables(m, "y", {"key": {"t": table[["key", *columns]]}})
    # Four standard errors of the draws, and what three moments leave open.
    assert found["p_value"].iloc[0] == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 4_000) + 0.02)


@pytest.mark.parametrize("target", ["y", "bought"])
def test_null_tables_are_calibrated_where_keys_differ(target: str) -> None:
    """Keys differ by themselves, some have most of the facts: a test that permutes rows would find every table useful."""
    rng = np.random.default_rng(5)
    n_keys, n = 150, 6_000
    frame = facts_with(rng, n, n_keys, np.zeros(n_keys))
    frame["key"] = np.minimum(rng.exponential(30, n).astype(int), n_keys - 1)
    frame["y"] += 2 * rng.normal(size=n_keys)[frame["key"]]
    frame["bought"] = np.where(frame["y"] > 2, "no", np.where(frame["y"] > 0, "yes", "late"))
    m = gm.collect(frame.drop(columns=["y", "bought"]).assign(t=frame[target]), categorical="key", folds=2)
    tables = {f"t{k}": table_of(rng, n_keys) for k in range(60)}
    found = gm.rank_tables(m, "t", {"key": tables})
    for p_values in (found["p_value"][found["column"].isna()], found["p_value"][found["column"] == "kind"]):
        # Binomial of 60: bounds that are passed by chance once in 1,000 or less.
        assert (p_values < 0.05).sum() <= 9
        assert 17 <= (p_values < 0.5).sum() <= 43


def test_a_planted_table_is_first_among_thirty() -> None:
    rng = np.random.default_rng(8)
    effect = rng.normal(size=200)
    frame = facts_with(rng, 5_000, 200, effect)
    frame["other"] = rng.integers(0, 40, len(frame))
    tables = {f"t{k}": table_of(rng, 200) for k in range(29)}
    tables["useful"] = tables["t3"].assign(level=effect[tables["t3"]["key"]] + 0.5 * rng.normal(size=len(tables["t3"])))
    others = {f"o{k}": table_of(rng, 40).rename(columns={"key": "other"}) for k in range(3)}
    m = gm.collect(frame, categorical=["key", "other"], folds=3)
    found = gm.rank_tables(m, "y", {"key": tables, "other": others})
    assert found[["key", "table"]].iloc[0].tolist() == ["key", "useful"]
    assert found["column"].iloc[1] == "level"
    assert found["p_value"].iloc[1] < 1e-10
    assert found["table"].iloc[0] == "useful"
    assert len(found) == 33 + sum(t.shape[1] - 1 for t in [*tables.values(), *others.values()])


def test_without_features_the_base_is_the_mean_and_dates_are_one_column() -> None:
    rng = np.random.default_rng(2)
    shop = rng.integers(0, 30, 600)
    opened = [datetime.date(2024, 1 + int(k % 12), 3) for k in range(30)]
    facts = pa.table({"shop": pa.array([f"s{k}" for k in shop]), "y": rng.normal(size=600) + shop % 12})
    shops = pa.table({"shop": [f"s{k}" for k in range(30)], "opened": opened})
    found = gm.rank_tables(gm.collect(facts, folds=3), "y", {"shop": {"shops": shops}}).to_pylist()
    assert [row["column"] for row in found] == [None, "opened"]
    assert found[1]["gain"] > 0.8
    assert found[0]["gain"] == found[1]["gain"]


def test_columns_that_say_nothing_have_no_gain_and_a_p_value_of_one() -> None:
    """What is the same for every key, or for every key of a fold, leaves rounding behind, which is not a column."""
    rng = np.random.default_rng(9)
    key = rng.integers(0, 37, 700)
    m = gm.collect(pa.table({"key": key, "y": rng.normal(size=700) + key}), categorical="key", folds=3)
    same = {f"c{k}": [value] * 31 for k, value in enumerate((0.1, 1 / 3, 123.456, 1e9 + 0.1, 1e-200))}
    found = gm.rank_tables(
        m, "y", {"key": {"t": pa.table({"key": np.arange(6, 37), **same, "none": pa.nulls(31, pa.float64())})}}
    )
    assert found.column("p_value").to_pylist() == [1.0] * 7
    np.testing.assert_allclose(found.column("gain").to_numpy(), 0.0, atol=1e-12)
    empty = pa.table(
        {"key": pa.array([], pa.int64()), "x": pa.array([], pa.float64()), "word": pa.array([], pa.string())}
    )
    unkeyed = gm.collect(
        pa.table({"key": pa.nulls(9, pa.int64()), "y": rng.normal(size=9)}), categorical="key", folds=3
    )
    shops = pa.table({"key": [1, 2], "x": [1.5, 2.5], "word": ["a", "b"]})
    for of_facts, table in ((m, empty), (unkeyed, shops), (unkeyed, empty)):
        found = gm.rank_tables(of_facts, "y", {"key": {"t": table}})
        assert found.column("p_value").to_pylist() == [1.0] * 3
        np.testing.assert_allclose(found.column("gain").to_numpy(), 0.0, atol=1e-12)


def test_wide_columns_have_a_test_and_no_gain(caplog) -> None:
    rng = np.random.default_rng(4)
    key = rng.integers(0, 3_000, 9_000)
    facts = pa.table({"key": key, "y": rng.normal(size=9_000)})
    table = pa.table(
        {"key": np.arange(3_000), "town": [f"t{k // 2}" for k in range(3_000)], "size": rng.normal(size=3_000)}
    )
    with caplog.at_level(logging.INFO, logger="gramian"):
        found = gm.rank_tables(gm.collect(facts, categorical="key", folds=2), "y", {"key": {"t": table}}).to_pylist()
    assert {row["column"]: row["gain"] is None for row in found} == {None: False, "size": False, "town": True}
    assert 0 < found[-1]["p_value"] <= 1
    assert "more than 1,000 levels" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("y", {"shop": "shops.csv"}), "tables by name, by key"),
        (("shop", {"shop": {}}), "is the target"),
        (("y", {"shp": {"t": []}}), "did you mean 'shop'"),
        (("z", {"shop": {}}), "column 'z'"),
        (
            ("y", {"shop": {"t": pa.table({"shop": ["a", "a"], "x": [1, 2]})}}),
            "candidate 't' of 'shop': .* 2 rows for 'shop'",
        ),
        (
            ("y", {"shop": {"t": pa.table({"shop": [1], "x": [1]})}}),
            "candidate 't' of 'shop': .* holds int64 in the table",
        ),
    ],
)
def test_mistakes_are_named(arguments, message) -> None:
    m = gm.collect(pa.table({"shop": ["a", "b"] * 4, "y": [1.0, 2.0, 3.0, 4.5] * 2}), folds=2)
    with pytest.raises((DataError, ColumnError), match=message):
        gm.rank_tables(m, *arguments)


def test_moments_without_folds_name_the_way_out() -> None:
    m = gm.collect(pa.table({"shop": ["a", "b"] * 4, "y": [1.0, 2.0, 3.0, 4.5] * 2}))
    with pytest.raises(DataError, match=r"collect\(folds=5\)"):
        gm.rank_tables(m, "y", {"shop": {"t": pa.table({"shop": ["a"], "size": [1.0]})}})
