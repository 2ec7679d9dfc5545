import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.selection.lasso.path import LassoProblem, Walk, alpha_grid, entry_alphas, lasso_path
from gramian.selection.problem import problem_of
from gramian.selection.ranking import criteria_table, ranks


@pytest.fixture
def moments(rng):
    n = 400
    x = rng.standard_normal((n, 3))
    frame = pd.DataFrame(
        {
            "strong": x[:, 0],
            "copy": x[:, 0] * 2 + 0.1 * x[:, 2],
            "weak": x[:, 1],
            "noise": rng.standard_normal(n),
            "many": [f"m{v}" for v in rng.integers(0, 60, n)],
            "id": [f"i{k}" for k in range(n)],
            "y": x[:, 0] + 0.3 * x[:, 1] + 0.5 * rng.standard_normal(n),
        }
    )
    return gm.collect(frame)


COLUMNS = ["id", "many", "noise", "weak", "copy", "strong"]


def test_all_criteria_agree_on_what_matters(moments):
    found = criteria_table(moments, COLUMNS, ["y"])
    table = pd.DataFrame(found).set_index("column")
    assert set(found["column"][:3]) == {"strong", "copy", "weak"}
    assert table.loc["strong", "forward"] == table.loc["strong", "mrmr"] == table.loc["strong", "lasso"] == 1
    assert table.loc["copy", "explained_by"] == "strong"
    assert table.loc["id", "beyond_chance"] == 0
    assert table.loc["id", "p_value"] > 0.05
    assert abs(table.loc["id", "information"]) < 1e-9
    assert pd.isna(table.loc["id", "forward"])


def test_methods_choose_the_columns_of_the_table(moments):
    assert list(criteria_table(moments, COLUMNS, ["y"], "rfe")) == ["column", "kind", "rfe"]
    with pytest.raises(DataError, match="methods names 'anova'; it can name 'variance'"):
        criteria_table(moments, COLUMNS, ["y"], ["anova"])


def test_ranks_count_from_one():
    assert ranks(np.array([1]), 2) == [None, 1]


def test_mrmr_ranks_an_identifier_last(moments):
    found = criteria_table(moments, ["id", "copy", "strong"], ["y"], "mrmr")
    assert dict(zip(found["column"], found["mrmr"], strict=True)) == {"strong": 1, "copy": 2, "id": 3}


def test_the_lasso_path_ends_once_every_column_is_in(rng, monkeypatch):
    n = 300
    frame = pd.DataFrame({name: rng.choice([f"{name}{i}" for i in range(30)], n) for name in "abc"})
    frame["d"] = frame["a"].where(rng.random(n) < 0.9, frame["b"])
    frame["same"] = "one"
    frame["y"] = frame["a"].str[-1].where(rng.random(n) < 0.7, "0")
    moments = gm.collect(frame)
    table = criteria_table(moments, [*"abcd", "same"], ["y"], ["lasso"])
    found = dict(zip(table["column"], table["lasso"], strict=True))
    lasso = LassoProblem.of(problem_of(moments, [*"abcd", "same"], ["y"]), scale=True)
    alphas = alpha_grid(lasso, 1.0)
    entered = entry_alphas(lasso, alphas, lasso_path(lasso, alphas))
    assert (entered > 0).sum() == 4
    assert [found[name] for name in np.array([*"abcd"])[np.argsort(-entered[:4], kind="stable")]] == [1, 2, 3, 4]
    assert found["same"] is None
    # Without an end the optimum would be found at each of the thirteen alphas that are eight apart, and at some between.
    visited = []
    reached = Walk.to
    monkeypatch.setattr(Walk, "to", lambda walk, alpha: visited.append(alpha) or reached(walk, alpha))
    criteria_table(moments, [*"abcd", "same"], ["y"], ["lasso"])
    assert min(visited) > 1.5 * alphas[-1]


def test_the_widest_columns_have_no_rank_where_levels_are_too_many(rng, monkeypatch, caplog):
    frame = pd.DataFrame({f"c{k}": [f"v{v}" for v in rng.integers(0, 5 * (k + 1), 400)] for k in range(4)})
    frame["y"] = (frame["c1"] == "v1") + rng.standard_normal(400)
    whole = gm.rank_columns(frame, "y").set_index("column")
    assert whole["lasso"].notna().all()
    monkeypatch.setattr("gramian.selection.ranking.WIDEST", 35)
    with caplog.at_level("INFO", "gramian"):
        table = gm.rank_columns(frame, "y").set_index("column")
    assert table.index[table["lasso"].isna()].tolist() == ["c3"]
    assert [record.message.split(" gets")[0] for record in caplog.records] == ["column 'c3' has 20 levels and"]
    assert table["p_value"].equals(whole["p_value"])
    only = gm.rank_columns(frame.drop(columns="c3"), "y").set_index("column")
    assert table["lasso"].drop("c3").tolist() == only["lasso"].tolist()
    caplog.clear()
    gm.rank_columns(frame, "y", methods="pearson")
    assert not caplog.records
