"""`gramian fit` fits data, moments, objects and distances alike."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import gramian as gm


def test_fit_from_data_and_from_moments_is_the_same(gramian, folder):
    wanted = ["--method", "mahalanobis", "--target", "fraud", "--set", "ridge=5", "--exclude"]
    described = gramian("fit", "payments.moments", *wanted, "city", "-o", "a.model", "--json").ok().json
    gramian("fit", "payments.parquet", *wanted, "city", "--exclude", "payment", "-o", "b.model").ok()
    a, b = gm.load(folder / "a.model"), gm.load(folder / "b.model")
    np.testing.assert_allclose(a.components_, b.components_, rtol=1e-9, atol=1e-12)
    assert "city" not in described["columns"]
    assert described["parameters"]["ridge"] == 5
    assert described["learned"]["statistic_"] == pytest.approx(a.statistic_)


def test_fit_writes_a_report_beside_the_model(gramian, folder):
    arguments = ["--method", "fisher", "--target", "fraud", "--exclude", "payment", "--report", "x.html"]
    done = gramian("fit", "payments.parquet", *arguments, "-o", "x.model").ok()
    assert done.out.splitlines()[-2:] == [
        "wrote x.model and x.html",
        "next: gramian predict x.model payments.parquet -o predicted.parquet",
    ]
    assert "gramian fit payments.parquet" in (folder / "x.html").read_text()


def test_objects_in_a_column_are_fitted_transformed_and_predicted(gramian, folder):
    metric = ["--set", "metric=levenshtein", "--set", 'metric_params={"power": 0.5}']
    columns = ["--column", "word", "--target", "language"]
    gramian("fit", "words.csv", "-m", "mdsfda", *columns, *metric, "-o", "w.model").ok()
    # The column's name is remembered, and a file of lines needs none.
    gramian("transform", "w.model", "words.csv", "--keep", "word", "-o", "a.csv").ok()
    gramian("transform", "w.model", "words.txt", "-o", "b.csv").ok()
    a, b = pyarrow.csv.read_csv(folder / "a.csv"), pyarrow.csv.read_csv(folder / "b.csv")
    assert a.column_names == ["word", "mdsfda0"]
    assert a["mdsfda0"].to_pylist() == b["mdsfda0"].to_pylist()
    gramian("predict", "w.model", "words.csv", "-o", "c.csv").ok()
    assert pyarrow.csv.read_csv(folder / "c.csv").column_names == ["prediction", "probability_de", "probability_en"]


def test_a_matrix_of_distances_is_fitted_and_new_rows_are_placed(gramian, folder):
    points = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    D = gm.pairwise_distances(points)
    np.save(folder / "d.npy", D)
    pyarrow.csv.write_csv(pa.table(list(D), names=list("abcd")), folder / "d.csv")
    for name in ("d.npy", "d.csv"):
        gramian("fit", name, "-m", "mds", "-o", "d.model").ok()
        gramian("transform", "d.model", name, "-o", "x.csv").ok()
        placed = np.column_stack(pyarrow.csv.read_csv(folder / "x.csv").columns)
        np.testing.assert_allclose(gm.pairwise_distances(placed), D, atol=1e-9)


def test_what_was_found_is_said_in_words(gramian):
    shown = gramian("fit", "payments.moments", "-m", "mahalanobis", "--target", "fraud", "-o", "x.model").ok().out
    names = [line.split("  ")[0] for line in shown.splitlines()[2:-3]]
    assert {"columns", "p-value", "R² on held-out folds", "ridge, in rows", "features"} <= set(names)
    assert [name for name in names if "_" in name] == []


def test_the_only_column_beside_the_target_holds_the_objects(gramian):
    metric = ["--set", "metric=levenshtein"]
    gramian("fit", "words.csv", "-m", "mdsfda", "--target", "language", *metric, "-o", "a.model").ok()
    assert gramian("inspect", "a.model", "--json").ok().json["notes"]["column"] == "word"


@pytest.mark.parametrize(
    ("method", "target", "settings"),
    [("logistic", "bought", []), ("ridge", "paid", ["--set", "alpha=0"]), ("poisson", "visits", [])],
)
def test_coefficients_are_shown_with_their_errors(gramian, folder, rng, method, target, settings):
    color, size = rng.choice(["red", "blue"], 300), rng.normal(size=300)
    columns = {"bought": rng.random(300) < 0.4, "paid": size + rng.normal(size=300), "visits": rng.poisson(2.0, 300)}
    pa.csv.write_csv(pa.table({"color": color, "size": size, target: columns[target]}), folder / "shop.csv")
    wanted = ["shop.csv", "--method", method, "--target", target, *settings, "-o", "r.model"]
    done = gramian("fit", *wanted, "--inference").ok()
    assert "std err" in done.out
    assert "Reference levels: color=blue." in done.out
    described = gramian("fit", *wanted, "--inference", "--json").ok().json
    assert [row["column"] for row in described["inference"]] == ["(intercept)", "color", "size"]
    assert [row["column"] for row in described["anova"]] == ["color", "size"]
    assert "inference" not in gramian("fit", *wanted, "--json").ok().json


def test_errors_that_are_not_there_are_refused_and_nothing_is_written(gramian, folder):
    no_errors = gramian("fit", "payments.parquet", "-m", "pca", "--inference", "-o", "r.model")
    assert "method pca has no standard errors; --inference is for ridge, logistic, poisson" in no_errors.err
    shrunk = gramian(
        "fit",
        "payments.parquet",
        "-m",
        "ridge",
        "--target",
        "log_amount",
        "--exclude",
        "payment",
        "--inference",
        "-o",
        "r.model",
    )
    assert "fit with --set alpha=0" in shrunk.err
    assert not (folder / "r.model").exists()


def test_an_additive_model_predicts_classes_or_numbers_as_the_target_is(gramian, folder):
    rng = np.random.default_rng(0)
    n = 1500
    a, b = rng.choice(["u", "v"], n), rng.choice(["r", "s", "t"], n)
    won = ((a == "u") ^ (b == "r")) ^ (rng.random(n) < 0.2)
    table = pa.table({"a": a, "b": b, "won": won.astype(int), "paid": won + rng.normal(size=n)})
    pa.parquet.write_table(table, folder / "pairs.parquet")
    for target, kind in (("won", gm.AdditiveClassifier), ("paid", gm.AdditiveRegressor)):
        aside = ["--exclude", "paid" if target == "won" else "won"]
        done = gramian("fit", "pairs.parquet", "--method", "additive", "--target", target, *aside, "-o", "p.model")
        assert done.code == 0
        assert ("about 7 passes" if target == "won" else "3 passes over the rows") in done.err
        model = gm.load(folder / "p.model")
        assert isinstance(model, kind)
        assert model.crosses_ == [("a", "b")]
        ranks = gramian("select", "pairs.parquet", "--crosses", "--target", target, *aside, "--json").json
        assert [(row["left"], row["right"]) for row in ranks] == [("a", "b")]
        assert ranks[0]["q_value"] < 1e-9
        shown = gramian("select", "pairs.parquet", "--crosses", "--target", target, *aside)
        assert shown.code == 0
        assert "q_value" in shown.out
    assert "--crosses needs rows" in gramian("select", "payments.moments", "--crosses", "--target", "fraud").at_fault(2)
