"""The summary says what the models, the moments and the rows say, as plain data; what it cannot say it names."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.reporting import summary

from .payments import ODD

ALL = {
    "read",
    "ranking",
    "dependence",
    "classes",
    "rows",
    "loadings",
    "scree",
    "anomalies",
    "associations",
    "reproduce",
}


@pytest.fixture(scope="module")
def whole(made: SimpleNamespace) -> dict:
    return summary(made.every, made.new, max_rows=500)


def test_the_summary_is_json_and_comes_back_the_same(whole: dict) -> None:
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole


def test_every_section_is_there_for_moments_models_and_rows(whole: dict) -> None:
    assert set(whole) >= ALL
    assert whole["absent"] == {}
    assert whole["target"] == "fraud"


def test_read_counts_rows_levels_and_gaps(whole: dict, made: SimpleNamespace) -> None:
    read = whole["read"]
    columns = {column["name"]: column for column in read["columns"]}
    assert read["n_rows"] == 6000
    assert columns["city"]["levels"] == len(pc.unique(made.features["city"]))
    loyalty = made.features["loyalty"]
    assert columns["loyalty"]["missing"] == pytest.approx(loyalty.null_count / 6000, abs=1e-4)
    assert columns["amount"]["mean"] == pytest.approx(pc.mean(made.features["amount"]).as_py(), rel=1e-5)
    assert columns["fraud"]["role"] == "target"
    assert sum(entry["share"] for entry in columns["card"]["shares"]) == pytest.approx(1, abs=1e-3)


def test_black_swans_are_the_values_never_collected(whole: dict) -> None:
    swans = whole["read"]["black_swans"]
    assert swans["rows"] == 3
    assert swans["columns"] == [
        {
            "column": "currency",
            "rows": 3,
            "n_values": 2,
            "values": [{"value": "XBT", "rows": 2}, {"value": "DOGE", "rows": 1}],
        }
    ]


def test_scree_is_the_spectrum_and_each_criterion_keeps_what_a_fit_would(whole: dict, made: SimpleNamespace) -> None:
    scree = whole["scree"]
    shares = [row["share"] for row in scree["components"]]
    full = gm.PCA().fit(made.moments, y="fraud")
    assert shares == pytest.approx(full.explained_variance_ratio_[: len(shares)], rel=1e-5)
    assert scree["n_components"] == full.n_components_
    chosen = {entry["rule"]: entry["k"] for entry in scree["chosen"]}
    assert chosen.pop("kept") == 6
    assert set(chosen) == {"elbow", "mle", "parallel", "cv"}
    for rule, k in chosen.items():
        assert gm.PCA(rule).fit(made.moments, y="fraud").n_components_ == k, rule


def test_the_mahalanobis_section_repeats_the_model(whole: dict, made: SimpleNamespace) -> None:
    model, found = made.models["mahalanobis"], whole["dependence"]
    assert found["statistic"] == pytest.approx(model.statistic_, rel=1e-5)
    assert found["r2_cv"] == pytest.approx(model.r2_cv_, rel=1e-4)
    assert [row["p_value"] for row in found["components"]] == pytest.approx(model.component_tests_["p_value"])


def test_the_confusion_counts_every_row_read_once(whole: dict, made: SimpleNamespace) -> None:
    found = whole["classes"]["confusion"]
    predicted = made.models["fisher"].predict(made.new)
    actual = np.array(made.new["fraud"].to_pylist())
    labels = found["labels"]
    direct = [[int(((actual == a) & (predicted == b)).sum()) for b in labels] for a in labels]
    assert found["counts"] == direct
    assert found["accuracy"] == pytest.approx((actual == predicted).mean(), abs=1e-4)


def test_the_area_under_the_roc_is_scikit_learns(whole: dict, made: SimpleNamespace) -> None:
    from sklearn.metrics import roc_auc_score

    placed = made.models["fisher"].transform(made.new)[:, 0]
    area = roc_auc_score(np.array(made.new["fraud"].to_pylist()) == "yes", placed)
    assert whole["classes"]["confusion"]["auc"] == pytest.approx(max(area, 1 - area), abs=1e-4)


def test_the_spread_of_each_class_adds_up_to_one_but_for_its_tails(whole: dict) -> None:
    for entry in whole["classes"]["spread"]["classes"]:
        assert 0.985 <= sum(entry["shares"]) <= 1.005


def test_ranked_columns_carry_the_independence_test(whole: dict, made: SimpleNamespace) -> None:
    rows = whole["ranking"]["columns"]
    assert {row["column"] for row in rows[:4]} >= {"channel", "kind"}
    for row in rows:
        test = gm.independence_test(made.moments, row["column"], "fraud")
        assert row["p_value"] == pytest.approx(test.p_value, rel=1e-3)
        assert row["df"] == test.df
    kept = [row["beyond_chance"] for row in rows]
    assert kept == sorted(kept, reverse=True)


def test_association_with_the_target_is_the_same_in_the_ranking_and_in_the_heat_map(whole: dict) -> None:
    columns, values = whole["associations"]["columns"], whole["associations"]["values"]
    for row in whole["ranking"]["columns"]:
        assert values[columns.index(row["column"])][columns.index("fraud")] == pytest.approx(
            row["association"], rel=2e-3
        )


def test_odd_rows_are_explained_by_what_was_planted(whole: dict, made: SimpleNamespace) -> None:
    found = whole["anomalies"]["rows"]
    scores = made.models["density"].anomaly_score(made.new)
    assert [row["position"] for row in found] == np.argsort(-scores, kind="stable")[: len(found)].tolist()
    assert {row["position"] for row in found if row["never_seen"]} == {7, 70, 700}
    assert "never seen" in found[0]["reasons"][0]["text"]
    planted = {k for k, odd in enumerate(made.new["odd"].to_pylist()) if odd}
    listed = [row for row in found if row["position"] in planted]
    assert len(listed) >= 6
    for row in listed:
        assert any(f"{name}={ODD[name]}" in reason["text"] for reason in row["reasons"] for name in ODD)
    assert whole["anomalies"]["above"] == int((made.models["density"].predict(made.new) == -1).sum())


def test_many_rows_never_seen_do_not_hide_the_other_odd_rows(made: SimpleNamespace) -> None:
    channel = made.new["channel"].to_pylist()
    channel[:200] = [f"new {k}" for k in range(200)]
    flooded = made.new.set_column(made.new.column_names.index("channel"), "channel", pa.array(channel))
    found = summary(made.models["density"], flooded, max_rows=50)["anomalies"]
    assert found["never_seen"]["rows"] >= 200
    assert found["never_seen"]["listed"] == sum(row["never_seen"] for row in found["rows"]) == 5
    assert sum(found["histogram"]["counts"]) == 3000 - found["never_seen"]["rows"]


def test_coordinates_are_what_transform_gives(whole: dict, made: SimpleNamespace) -> None:
    rows = whole["rows"]
    assert len(rows["positions"]) == 500
    shown = made.new.take(pa.array(rows["positions"]))
    features = {feature["name"]: feature["values"] for feature in rows["features"]}
    assert features["pca1"] == pytest.approx(made.models["pca"].transform(shown)[:, 1], rel=1e-3, abs=1e-6)
    assert rows["views"][0]["x"], rows["views"][0]["y"] == ("pca0", "pca1")
    for view in rows["views"]:
        assert {view["x"], view["y"]} <= set(features)
    colour = rows["colours"][0]
    assert [colour["levels"][code] for code in colour["codes"]] == shown["fraud"].to_pylist()
    # The most frequent class has the first colour.
    assert colour["levels"] == ["no", "yes"]


def test_the_oddest_rows_are_shown_whatever_the_draw(whole: dict) -> None:
    assert {row["position"] for row in whole["anomalies"]["rows"]} <= set(whole["rows"]["positions"])


def test_cells_of_shown_rows_are_those_of_the_source(whole: dict, made: SimpleNamespace) -> None:
    shown = made.new.take(pa.array(whole["rows"]["positions"]))
    columns = {column["name"]: column for column in whole["rows"]["columns"]}
    city = columns["city"]
    assert [city["levels"][code] for code in city["codes"]] == shown["city"].to_pylist()
    assert columns["age"]["values"] == shown["age"].to_pylist()
    hours = columns["when_hour"]
    assert [int(hours["levels"][code]) for code in hours["codes"]] == pc.hour(shown["when"]).to_pylist()


def test_loadings_repeat_the_weights_sorted_by_effect(whole: dict, made: SimpleNamespace) -> None:
    found = whole["loadings"]["models"][0]
    table = made.models["pca"].loadings().to_pylist()
    weights = {(row["column"], row["level"], row["feature"]): row["weight"] for row in table}
    for k in (0, 5, 20):
        for f, feature in enumerate(found["features"]):
            key = (found["column"][k], found["level"][k], feature)
            assert found["weights"][f][k] == pytest.approx(weights[key], rel=1e-3)
    most = np.abs(np.array(found["effects"])).max(axis=0)
    assert (np.diff(most) <= 1e-3 * most[:-1]).all()


# What may be passed


def test_moments_alone_say_what_needs_no_rows(made: SimpleNamespace) -> None:
    found = summary(made.moments)
    assert {"read", "scree", "loadings", "associations"} <= set(found)
    assert {"rows", "anomalies", "ranking", "dependence", "classes"} == set(found["absent"])
    assert "data=" in found["absent"]["rows"]


def test_a_table_with_a_target_gets_every_section(made: SimpleNamespace) -> None:
    found = summary(made.features, target="fraud", max_rows=100)
    assert set(found) >= ALL
    assert found["read"]["collect_seconds"] > 0
    assert [model["class"] for model in found["reproduce"]["models"] if model["fitted_for_report"]] == [
        "PCA",
        "DensityEmbedding",
        "MahalanobisFeatures",
        "FisherDiscriminant",
    ]


def test_a_loaded_model_without_rows_speaks_of_itself(made: SimpleNamespace, tmp_path: Path) -> None:
    gm.save(made.models["pca"], tmp_path / "pca.model")
    found = summary(gm.load(tmp_path / "pca.model"))
    assert found["read"]["n_rows"] is None
    assert [column["name"] for column in found["read"]["columns"]] == made.models["pca"]._features
    assert found["scree"]["components"] == summary(made.models["pca"])["scree"]["components"]
    assert found["loadings"]["models"][0]["features"][0] == "pca0"


def test_a_loaded_model_with_rows_takes_the_moments_of_the_rows(made: SimpleNamespace, tmp_path: Path) -> None:
    gm.save(made.models["density"], tmp_path / "density.model")
    found = summary(gm.load(tmp_path / "density.model"), made.new, "fraud", max_rows=50)
    assert found["read"]["of_sample"]
    assert found["read"]["n_rows"] == 3000
    # The model's own levels decide what was never seen, not those of the rows.
    assert found["read"]["black_swans"]["rows"] == 3
    assert "odd" not in [column["name"] for column in found["read"]["columns"]]


def test_a_continuous_target_has_no_classes(made: SimpleNamespace) -> None:
    found = summary(made.moments, made.features, "amount", max_rows=50)
    assert "classes" in found["absent"]
    assert found["rows"]["colours"][0]["kind"] == "number"
    assert found["dependence"]["p_value"] < 1e-12


def test_a_target_of_small_integers_is_classes(rng: np.random.Generator) -> None:
    y = rng.integers(0, 3, 300)
    frame = pd.DataFrame({"x": y + rng.normal(size=300), "z": rng.normal(size=300), "y": y})
    found = summary(frame, target="y")
    assert [entry["name"] for entry in found["classes"]["classes"]] == ["0", "1", "2"]
    assert np.sum(found["classes"]["confusion"]["counts"]) == 300


def test_a_label_that_only_the_rows_have_colours_the_map(made: SimpleNamespace) -> None:
    model = gm.PCA(3).fit(made.features.drop(["fraud"]))
    found = summary(model, made.features, "fraud", max_rows=60)
    assert found["rows"]["colours"][0]["levels"] == ["no", "yes"]
    assert "not among the collected columns" in found["absent"]["ranking"]


def test_arrays_and_values_as_target_are_taken(rng: np.random.Generator) -> None:
    X = rng.normal(size=(80, 3))
    model = gm.FisherDiscriminant().fit(X, (X[:, 0] > 0).astype(int))
    found = summary(model, X, max_rows=40)
    assert [column["name"] for column in found["read"]["columns"]][:3] == ["x0", "x1", "x2"]
    assert len(found["rows"]["positions"]) == 40
    assert found["classes"]["confusion"] is None


def test_objects_with_distances_are_shown_where_they_lie(rng: np.random.Generator) -> None:
    points = rng.normal(size=(40, 2))
    D = np.linalg.norm(points[:, None] - points[None], axis=2)
    model = gm.ClassicalMDS().fit(D)
    found = summary(model)
    assert found["rows"]["features"][0]["values"] == pytest.approx(model.embedding_[:, 0], rel=1e-3)
    assert sum(row["share"] for row in found["scree"]["components"]) == pytest.approx(1)


def test_a_constant_table_is_reported_with_the_reason(made: SimpleNamespace) -> None:
    found = summary(pa.table({"a": ["u"] * 20, "x": [1.0] * 20}))
    assert "no column varies" in found["absent"]["scree"]
    assert found["associations"]["values"] == [[None, None], [None, None]]


def test_a_model_chosen_by_a_rule_says_so_when_it_was_loaded(made: SimpleNamespace, tmp_path: Path) -> None:
    gm.save(gm.PCA("parallel").fit(made.moments, y="fraud"), tmp_path / "pca.model")
    chosen = {entry["rule"] for entry in summary(gm.load(tmp_path / "pca.model"))["scree"]["chosen"]}
    assert chosen == {"elbow", "mle", "parallel", "kept"}


# What cannot be reported


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"view": "pca"}, "view is one of"),
        ({"max_rows": 0}, "max_rows"),
        ({"target": ["fraud"]}, "target is the name"),
        ({"target": "fraudd"}, "did you mean 'fraud'"),
        ({"view": "umap"}, "pass them as data="),
    ],
)
def test_a_wrong_argument_is_named(made: SimpleNamespace, arguments: dict, said: str) -> None:
    with pytest.raises(DataError, match=said):
        summary(made.moments, **arguments)


def test_rows_without_a_column_of_the_model_are_refused_by_name(made: SimpleNamespace) -> None:
    with pytest.raises(ColumnError, match="'city'"):
        summary(made.models["pca"], made.new.drop(["city"]))


def test_two_sets_of_moments_are_refused(made: SimpleNamespace) -> None:
    with pytest.raises(DataError, match="merge"):
        summary([made.moments, made.moments])


def test_rows_in_a_list_of_models_are_refused(made: SimpleNamespace) -> None:
    with pytest.raises(DataError, match="data="):
        summary([made.models["pca"], made.new])


def test_an_unfitted_model_is_refused() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        summary(gm.PCA())


def test_a_generator_is_collected_and_its_rows_are_gone(made: SimpleNamespace) -> None:
    found = summary(made.features.slice(k, 2000) for k in (0, 2000, 4000))
    assert found["read"]["n_rows"] == 6000
    assert "rows" in found["absent"]
    with pytest.raises(DataError, match="only once"):
        summary(made.moments, iter([made.features]))
