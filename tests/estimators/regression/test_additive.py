"""Additive models: laws of the fit, contributions, crosses that a test finds, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit

import gramian as gm
from gramian.design.encoder import Encoder
from gramian.engines import fold_passes, weighted
from gramian.engines.base import CollectOptions
from gramian.engines.collect import collect_attached
from gramian.errors import ColumnError, DataError
from gramian.estimators.regression import additive as estimators
from gramian.linear.regression.expansion import Expansion, total, without
from gramian.tables import open_table

N = 2400


@pytest.fixture
def rows(rng: np.random.Generator) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N).astype(float),
            "smoker": rng.choice(["yes", "no"], N, p=[0.3, 0.7]),
            "city": rng.choice(["Ulm", "Bonn", "R & D"], N),
            "kids": rng.integers(0, 5, N),
        }
    )
    frame.loc[::40, "age"] = np.nan
    yes = frame["smoker"] == "yes"
    old = frame["age"].fillna(40) > 50
    frame["cost"] = 3.0 * old + 1.0 * yes + 4.0 * (old & yes) + 0.5 * frame["kids"] + rng.normal(0, 1, N)
    frame["ill"] = np.where(rng.random(N) < expit(3.0 * (old ^ yes) - 1.5), "yes", "no")
    frame["group"] = np.where(old ^ yes, np.where(rng.random(N) < 0.8, "a", "b"), rng.choice(["a", "b", "c"], N))
    return frame


FEATURES = ["age", "smoker", "city", "kids"]


def test_fold_steps_are_the_fits_without_each_fold(rng: np.random.Generator) -> None:
    x = np.column_stack([np.ones(200), rng.normal(size=(200, 3))])
    y = x @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=200)
    fold, penalty, here = np.arange(200) % 4, np.array([0.0, 3.0, 3.0, 3.0]), rng.normal(size=4)
    parts = []
    for k in range(4):
        z, r = x[fold == k], (y - x @ here)[fold == k]
        parts.append(Expansion(z.T @ z, z.T @ r, float(r @ r), float(len(r))))
    for k in range(4):
        z, t = x[fold != k], y[fold != k]
        expected = np.linalg.solve(z.T @ z + np.diag(penalty), z.T @ t)
        np.testing.assert_allclose(without(parts, k).step(here, penalty), expected, rtol=1e-9)
    some = np.array([0, 2])
    after = total(parts).step(here, penalty, some)
    rest = y - x[:, [1, 3]] @ here[[1, 3]]
    z = x[:, some]
    np.testing.assert_allclose(after[some], np.linalg.solve(z.T @ z + np.diag(penalty[some]), z.T @ rest), rtol=1e-9)
    assert (after[[1, 3]] == here[[1, 3]]).all()
    first, both = total(parts).steps(here, penalty, np.array([2, 0]), [1, 2])
    np.testing.assert_allclose(first, total(parts).step(here, penalty, np.array([2])), rtol=1e-12)
    np.testing.assert_allclose(both, after, rtol=1e-12)
    step = after - here
    assert total(parts).deviance_at(step) == pytest.approx(float(np.square(y - x @ after).sum()), rel=1e-9)


def test_regressor_is_the_ridge_on_bins_and_cells_made_beforehand(rows: pd.DataFrame) -> None:
    edges = [30.0, 50.0, 65.0]
    model = gm.AdditiveRegressor({"age": edges}, [("city", "smoker")], alpha=7.0).fit(rows[[*FEATURES, "cost"]], "cost")
    age = rows["age"].fillna(rows["age"].mean())
    bins = pd.cut(rows["age"], [-np.inf, *edges, np.inf], right=False).astype(object).where(rows["age"].notna(), "")
    blocks = [(age - age.mean()) / age.std(ddof=0), (rows["kids"] - rows["kids"].mean()) / rows["kids"].std(ddof=0)]
    blocks += [pd.get_dummies(each, dtype=float) for each in (bins, rows["smoker"], rows["city"])]
    main = np.column_stack(blocks)
    cells = pd.get_dummies(rows["city"] + rows["smoker"], dtype=float).to_numpy()
    x = np.column_stack([np.ones(N), main - main.mean(axis=0), cells])
    penalty = np.array([0.0, 1.0, 1.0] + [56.0] * 5 + [7.0] * 5 + [model.cross_alpha_] * cells.shape[1])
    theta = np.linalg.solve(x.T @ x + np.diag(penalty), x.T @ rows["cost"])
    np.testing.assert_allclose(model.predict(rows), x @ theta, atol=1e-8)
    assert model.deviance_ == pytest.approx(float(np.square(rows["cost"] - x @ theta).sum()), rel=1e-8)


def test_classifier_is_at_its_optimum(rows: pd.DataFrame) -> None:
    model = gm.AdditiveClassifier(None, 0, alpha=4.0).fit(rows[["city", "smoker", "ill"]], "ill")
    share = (rows["ill"] == "yes").mean()
    x = pd.get_dummies(rows[["city", "smoker"]], dtype=float).to_numpy()
    slope = ((rows["ill"] == "yes") - model.predict_proba(rows)[:, 1]).to_numpy()
    names = [f"{column}_{level}" for column in ("city", "smoker") for level in sorted(rows[column].unique())]
    beta = model.projection_.weights[[model.design_names_.index(name) for name in names], 0]
    # The last step is short of the optimum by its square: a thousandth of a row or so.
    np.testing.assert_allclose(x.T @ slope, 4.0 * share * (1 - share) * beta, atol=0.05)
    assert slope.sum() == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("target", ["cost", "ill", "group"])
def test_contributions_add_up_and_files_hold_the_model(rows: pd.DataFrame, target: str, tmp_path: Path) -> None:
    table = rows[[*FEATURES, target]]
    model = (gm.AdditiveRegressor if target == "cost" else gm.AdditiveClassifier)().fit(table, target)
    assert ("age", "smoker") in model.crosses_
    score = model.predict(table) if target == "cost" else model.decision_function(table)
    parts = model.explain(table)
    numbers = parts.drop(columns=[name for name in ("row", "class") if name in parts])
    np.testing.assert_allclose(numbers.sum(axis=1), np.ravel(score), atol=1e-9)
    assert list(numbers.columns) == ["(intercept)", *model.terms_["term"]]
    gm.save(model, tmp_path / "model")
    again = gm.load(tmp_path / "model")
    assert (again.predict(table) == model.predict(table)).all()
    assert again.crosses_ == model.crosses_
    assert again.explain(table).equals(parts)
    assert again.explain_global().equals(model.explain_global())
    if target != "cost":
        np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1.0)
    rest = table.drop(columns=target)
    rest.to_parquet(tmp_path / "rows.parquet")
    gm.transform_file(model, tmp_path / "rows.parquet", tmp_path / "out.parquet", method="predict")
    assert (pd.read_parquet(tmp_path / "out.parquet").iloc[:, 0].to_numpy() == model.predict(table)).all()


def test_crosses_are_found_and_noise_is_not(rows: pd.DataFrame, rng: np.random.Generator) -> None:
    model = gm.AdditiveRegressor().fit(rows[[*FEATURES, "cost"]], "cost")
    plain = gm.AdditiveRegressor(crosses=0).fit(rows[[*FEATURES, "cost"]], "cost")
    assert model.crosses_[0] == ("age", "smoker")
    assert plain.crosses_ == []
    assert model.score(rows, rows["cost"]) > plain.score(rows, rows["cost"]) + 0.05
    noise = rows.assign(cost=rng.permutation(rows["cost"].to_numpy()))
    assert gm.AdditiveRegressor().fit(noise[[*FEATURES, "cost"]], "cost").crosses_ == []


def test_effects_are_what_levels_contribute(rows: pd.DataFrame) -> None:
    model = gm.AdditiveClassifier(crosses=[("age", "smoker")]).fit(rows[[*FEATURES, "ill"]], "ill")
    effects = model.explain_global()
    parts = model.explain(rows)
    of_city = effects[effects["term"] == "city"].set_index("level")
    np.testing.assert_allclose(parts["city"], of_city.loc[rows["city"], "effect"], atol=1e-12)
    assert (of_city["rows"] == rows["city"].value_counts()[of_city.index]).all()
    of_age = effects[effects["term"] == "age"]
    # The mean over the rows of all bins is taken off, but for bins that lie across an edge of the cross.
    assert np.average(of_age["effect"], weights=of_age["rows"]) == pytest.approx(0, abs=0.02)
    assert ((effects["upper"] - effects["lower"]) > 0).all()
    assert list(model.terms_["kind"]) == ["number", "category", "category", "number", "cross"]
    assert np.sqrt(np.square(parts["city"]).mean()) == pytest.approx(
        model.terms_.set_index("term").loc["city", "importance"], rel=1e-9
    )


@pytest.mark.parametrize("target", ["cost", "group"])
def test_crosses_have_no_margins_and_columns_have_them(rows: pd.DataFrame, target: str) -> None:
    crosses = [("city", "smoker"), ("age", "smoker")]
    kind = gm.AdditiveRegressor if target == "cost" else gm.AdditiveClassifier
    model = kind(crosses=crosses).fit(rows[[*FEATURES, target]], target)
    effects, parts = model.explain_global(), model.explain(rows)
    if target == "group":
        effects, parts = (table[table["class"] == "b"].reset_index(drop=True) for table in (effects, parts))
    cells = effects[effects["term"] == "city & smoker"]
    sides = cells["level"].str.replace("&&", "+").str.split(" & ", expand=True)
    beyond = cells["rows"] * cells["effect"]
    for j in (0, 1):
        assert beyond.groupby(sides[j]).sum().abs().max() < 1e-9 * N
    # Every cell has rows, so that a level contributes the same wherever it stands.
    of_city = effects[effects["term"] == "city"].set_index("level")["effect"]
    np.testing.assert_allclose(parts["city"], of_city.loc[rows["city"]], atol=1e-10)
    importance = model.terms_.set_index("term")["importance"]
    if target == "cost":
        for name in ("city", "city & smoker", "age & smoker"):
            assert np.sqrt(np.square(parts[name]).mean()) == pytest.approx(importance[name], rel=1e-6)
        assert np.sqrt(np.square(parts["age"]).mean()) == pytest.approx(importance["age"], rel=0.02)
        # Old smokers cost 4 more than both say; one of the eight bins has rows on either side of 50.
        of_pair = effects[effects["term"] == "age & smoker"].set_index("level")["effect"]
        assert importance["age & smoker"] == pytest.approx(4 * np.sqrt(0.3 * 0.7 * 0.48 * 0.52), rel=0.25)
        assert of_pair[[level.endswith("yes") and level.startswith("(-inf") for level in of_pair.index]].iloc[0] < -1


@pytest.mark.parametrize("weights", [None, 2.5])
def test_numbers_without_bins_take_what_a_slope_can(rows: pd.DataFrame, weights: float | None) -> None:
    table = rows.assign(club=(rows["kids"] > 2).astype(int)).drop(columns="kids")
    features = ["age", "smoker", "city", "club"]
    model = gm.AdditiveRegressor(bins=None, crosses=[("club", "smoker"), ("age", "city")])
    model.fit(table[[*features, "cost"]], "cost", sample_weight=weights)
    parts, effects = model.explain(table), model.explain_global()
    np.testing.assert_allclose(parts.sum(axis=1), model.predict(table), atol=1e-9)
    slope = effects.query("term == 'club'")
    assert slope["level"].tolist() == ["per unit"]
    by_club = parts.groupby(table["club"])["club"].mean()
    assert by_club[1] - by_club[0] == pytest.approx(slope["effect"].iloc[0], rel=1e-9)
    cells = effects.query("term == 'club & smoker'")
    assert (cells["rows"] * cells["effect"]).sum() == pytest.approx(0, abs=1e-6)
    # The line of age cannot take the steps of its cells: those keep them.
    assert parts["age"].corr(table["age"].fillna(table["age"].mean())) == pytest.approx(1)


def test_an_unseen_cell_is_predicted_from_its_two_columns(rows: pd.DataFrame) -> None:
    seen = rows[~((rows["city"] == "Ulm") & (rows["smoker"] == "yes"))]
    model = gm.AdditiveRegressor(crosses=[("city", "smoker")]).fit(seen[[*FEATURES, "cost"]], "cost")
    row = rows[(rows["city"] == "Ulm") & (rows["smoker"] == "yes")][:1]
    assert model.explain(row)["city & smoker"].tolist() == [0.0]
    new = row.assign(city="Jena")
    assert model.explain(new)[["city", "city & smoker"]].to_numpy().tolist() == [[0.0, 0.0]]
    assert model.black_swans(new).tolist() == [[False, False, True, False]]


def test_rows_read_again_give_the_same_model(
    rows: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows[[*FEATURES, "ill"]].to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    kept = gm.AdditiveClassifier(crosses=2).fit(tmp_path / "rows.parquet", "ill")
    ranks = gm.rank_crosses(kept, tmp_path / "rows.parquet")
    monkeypatch.setattr(weighted, "available_memory", lambda: 0)
    again = gm.AdditiveClassifier(crosses=2).fit(tmp_path / "rows.parquet", "ill")
    assert again.crosses_ == kept.crosses_
    assert again.n_iter_ == kept.n_iter_
    np.testing.assert_allclose(again.decision_function(rows), kept.decision_function(rows), rtol=1e-9)
    assert gm.rank_crosses(kept, tmp_path / "rows.parquet").equals(ranks)


@pytest.mark.parametrize("weights", [None, "w"])
def test_fold_moments_of_the_first_pass_are_the_expansions_of_a_pass(
    rows: pd.DataFrame, rng: np.random.Generator, weights: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = rows[[*FEATURES, "cost"]].assign(w=rng.uniform(0.5, 2.0, N))
    seen = []
    whole = estimators.fit_main
    monkeypatch.setattr(estimators, "fit_main", lambda fit, **asked: (seen.append(fit), whole(fit, **asked)))
    gm.AdditiveRegressor(crosses=0).fit(table, "cost", sample_weight=weights)
    fit = seen[0]
    at = {0: estimators.projection_of(fit.design, fit.about)}
    passed = fold_passes.expansions(fit.rows, fit.reader, fit.columns, fit.family, at, fit.events)[0]
    assert len(passed) == 5
    for one, other in zip(fit.expansions[0], passed, strict=True):
        scale = np.sqrt(np.outer(other.gram.diagonal(), other.gram.diagonal())) + 1
        assert (np.abs(one.gram - other.gram) / scale).max() < 1e-10
        np.testing.assert_allclose(
            one.slope / np.sqrt(scale.diagonal()), other.slope / np.sqrt(scale.diagonal()), atol=1e-8
        )
        assert one.deviance == pytest.approx(other.deviance, rel=1e-10)
        assert one.weight == pytest.approx(other.weight, rel=1e-12)


def test_passes_are_few_and_a_sample_is_where_they_begin(
    rows: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gm.AdditiveRegressor().fit(rows[[*FEATURES, "cost"]], "cost").n_iter_ == 3
    assert gm.AdditiveRegressor(crosses=0).fit(rows[[*FEATURES, "cost"]], "cost").n_iter_ == 1
    for target in ("ill", "group"):
        table = rows[[*FEATURES, target]]
        table.to_parquet(tmp_path / "rows.parquet", row_group_size=400)
        every = gm.AdditiveClassifier(alpha=4.0).fit(table, target)
        assert every.n_iter_ <= 7
        with monkeypatch.context() as some:
            some.setattr(fold_passes, "SAMPLE", 300)
            few = gm.AdditiveClassifier(alpha=4.0).fit(tmp_path / "rows.parquet", target)
        assert few.n_iter_ <= 9
        assert few.crosses_ == every.crosses_
        # Both end within a tenth of a standard error or so; bins of crosses are those of the sample.
        assert np.abs(few.decision_function(rows) - every.decision_function(rows)).mean() < 0.15


@pytest.mark.parametrize("sizes", [[10] * 20, [200], [3, 90, 107]])
def test_the_sample_is_evenly_spaced(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold_passes, "SAMPLE", 20)
    found: list[fold_passes.SamplingEncoder] = []

    def keep(inner: Encoder) -> Encoder:
        found.append(fold_passes.SamplingEncoder(inner))
        return found[-1]

    starts = np.cumsum([0, *sizes])
    tables = [pa.table({"x": np.arange(a, a + n, dtype=float)}) for a, n in zip(starts, sizes, strict=False)]
    collect_attached(open_table(iter(tables)), {}, CollectOptions(), keep)
    kept = np.concatenate([part.numbers[:, 0] for part in found[0].sample])
    assert kept.tolist() == list(range(0, 200, found[0].every))
    assert 20 <= len(kept) <= 40


@pytest.mark.parametrize("model", [gm.AdditiveClassifier(crosses=0), gm.LogisticRegression(alpha=1.0)])
def test_ranking_finds_the_pair(rows: pd.DataFrame, model: object) -> None:
    table = rows[[*FEATURES, "ill"]]
    model.fit(table, "ill")
    ranks = gm.rank_crosses(model, table)
    assert len(ranks) == 6
    assert (ranks["left"][0], ranks["right"][0]) == ("age", "smoker")
    assert ranks["q_value"][0] < 1e-6
    assert (ranks["p_value"][1:] > 1e-3).all()
    assert (ranks["q_value"] >= ranks["p_value"]).all()
    beside = gm.rank_crosses(model, table.drop(columns="ill"), table["ill"])
    assert beside.equals(ranks)


def test_of_a_cross_in_the_model_what_its_ridge_takes_is_left(rows: pd.DataFrame) -> None:
    table = rows[[*FEATURES, "cost"]]
    gains = []
    for crosses in ([], [("age", "smoker")]):
        model = gm.AdditiveRegressor(crosses=crosses).fit(table, "cost")
        ranks = gm.rank_crosses(model, table).set_index(["left", "right"])
        gains.append(ranks.loc[("age", "smoker"), "gain"])
    assert gains[1] < 0.05 * gains[0]


@pytest.mark.parametrize(
    ("crosses", "words"),
    [
        ([("age", "age")], "cross of column 'age' with itself"),
        ([("age", "smokr")], "did you mean 'smoker'"),
        ([("age",)], "takes pairs of column names"),
        ("many", "crosses is 'auto', a whole number"),
    ],
)
def test_bad_crosses_are_refused_in_one_line(rows: pd.DataFrame, crosses: object, words: str) -> None:
    with pytest.raises((DataError, ColumnError), match=words):
        gm.AdditiveClassifier(crosses=crosses).fit(rows[[*FEATURES, "ill"]], "ill")


def test_moments_and_other_models_are_refused_in_one_line(rows: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="Moments have none; pass rows or files"):
        gm.AdditiveClassifier().fit(gm.collect(rows, targets="ill"), "ill")
    with pytest.raises(DataError, match="AdditiveRegressor needs numbers"):
        gm.AdditiveRegressor().fit(rows[[*FEATURES, "ill"]], "ill")
    pca = gm.PCA(1).fit(rows[["age", "kids"]])
    with pytest.raises(DataError, match="takes a fitted AdditiveClassifier"):
        gm.rank_crosses(pca, rows)
    model = gm.AdditiveClassifier(crosses=0).fit(rows[FEATURES], rows["ill"])
    with pytest.raises(DataError, match="pass them to rank_crosses as y"):
        gm.rank_crosses(model, rows[FEATURES])


def test_a_few_rows_are_predicted_as_many(rows: pd.DataFrame) -> None:
    model = gm.AdditiveRegressor(crosses=[("age", "smoker")]).fit(rows[[*FEATURES, "cost"]], "cost")
    every = model.predict(rows)
    for row in (1, 40, 77):
        assert model.predict(rows[row : row + 1])[0] == pytest.approx(every[row], rel=1e-12)


def test_plots_are_returned(rows: pd.DataFrame) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    model = gm.AdditiveClassifier(crosses=[("city", "smoker")]).fit(rows[[*FEATURES, "ill"]], "ill")
    axes = model.plot()
    assert sorted(ax.get_title() for ax in axes) == sorted(model.terms_["term"])
    heat = model.plot("city & smoker")
    assert [text.get_text() for text in heat.get_yticklabels()] == ["Bonn", "R & D", "Ulm"]
    assert len(model.plot("age").lines[0].get_xdata()) == len(model.explain_global().query("term == 'age'"))
    matplotlib.pyplot.close("all")


def test_the_statistic_of_a_rare_class_has_its_mean(rng: np.random.Generator) -> None:
    # Observed squares of residuals are a quarter too large with 30 events; what is expected of them is known.
    found = []
    for _ in range(12):
        table = pd.DataFrame({name: rng.choice(list("abcdefgh"), 3000) for name in ("u", "v", "w", "x")})
        eta = sum(table[name].map(dict(zip("abcdefgh", rng.normal(0, 0.8, 8), strict=True))) for name in table)
        table["won"] = rng.random(3000) < expit(eta - 5.5)
        found.append(gm.rank_crosses(gm.AdditiveClassifier(crosses=0, alpha=4.0).fit(table, "won"), table))
    every = pd.concat(found)
    assert every["statistic"].sum() / every["df"].sum() == pytest.approx(1.0, abs=0.12)
