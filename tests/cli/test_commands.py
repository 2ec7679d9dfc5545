"""Every command does what it says, in each format it knows, and says so as JSON too."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import gramian as gm

READERS = {"parquet": pq.read_table, "csv.gz": pyarrow.csv.read_csv, "arrow": pyarrow.feather.read_table}


def ok(done):
    assert done.code == 0, done.err
    assert done.err == ""
    return done


def test_collect_writes_what_the_library_collects(gramian, folder):
    arguments = ["--exclude", "payment", "--targets", "fraud", "--folds", "3", "--fold-by", "city", "--jobs", "1"]
    done = ok(gramian("collect", "days", *arguments, "--weights", "log_gap", "-o", "x.moments"))
    expected = gm.collect(
        folder / "days", exclude="payment", targets="fraud", folds=3, fold_by="city", sample_weight="log_gap"
    )
    found = gm.Moments.load(folder / "x.moments")
    assert found.isclose(expected)
    assert len(found.folds) == 3
    assert "merchant" in done.out
    assert done.out.endswith("wrote x.moments\n")
    assert max(map(len, done.out.splitlines())) <= 120


def test_collect_says_as_json_what_it_saw(gramian):
    arguments = ["--categorical", "fraud", "--numeric", "log_gap", "--json"]
    found = ok(gramian("collect", "payments.parquet", *arguments, "-o", "x.moments")).json
    assert found["n_rows"] == 4_000
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert (kinds["fraud"], kinds["log_gap"], kinds["when_hour"]) == ("categorical", "numeric", "categorical")


def test_collect_like_enforces_columns_and_kinds(gramian, folder):
    ok(gramian("collect", "later.parquet", "--like", "payments.moments", "-o", "x.moments"))
    assert gm.load(folder / "x.moments").columns == gm.load(folder / "payments.moments").columns


def test_merge_and_subtract_undo_each_other(gramian, folder):
    ok(gramian("merge", "monday.moments", "tuesday.moments", "-o", "both.moments"))
    assert gm.load(folder / "both.moments").isclose(gm.load(folder / "week.moments"))
    done = ok(gramian("subtract", "both.moments", "monday.moments", "-o", "rest.moments", "--json"))
    assert done.json["n_rows"] == 2_000
    assert gm.load(folder / "rest.moments").isclose(gm.load(folder / "tuesday.moments"))


def test_fit_from_data_and_from_moments_is_the_same(gramian, folder):
    wanted = ["--method", "mahalanobis", "--target", "fraud", "--set", "ridge=5", "--exclude"]
    described = ok(gramian("fit", "payments.moments", *wanted, "city", "-o", "a.model", "--json")).json
    ok(gramian("fit", "payments.parquet", *wanted, "city", "--exclude", "payment", "-o", "b.model"))
    a, b = gm.load(folder / "a.model"), gm.load(folder / "b.model")
    np.testing.assert_allclose(a.components_, b.components_, rtol=1e-9, atol=1e-12)
    assert "city" not in described["columns"]
    assert described["parameters"]["ridge"] == 5
    assert described["learned"]["statistic_"] == pytest.approx(a.statistic_)


@pytest.mark.parametrize("suffix", READERS)
def test_transform_writes_the_features_in_every_format(gramian, folder, suffix):
    arguments = ["--keep", "payment", "--keep", "city", "-o", f"x.{suffix}", "--json"]
    found = ok(gramian("transform", "pca.model", "later.parquet", *arguments)).json
    table = READERS[suffix](folder / f"x.{suffix}")
    later = pq.read_table(folder / "later.parquet")
    expected = gm.load(folder / "pca.model").transform(later)
    assert table.column_names == ["payment", "city", *found["features"]]
    assert table["payment"].to_pylist() == later["payment"].to_pylist()
    np.testing.assert_allclose(np.column_stack(table.columns[2:]), expected, rtol=1e-12, atol=1e-14)
    assert found["rows"] == len(later)


def test_predict_writes_classes_and_their_probabilities(gramian, folder):
    done = ok(gramian("predict", "fisher.model", "later.parquet", "--keep", "payment", "-o", "x.parquet"))
    assert done.out == "wrote x.parquet: 1,000 rows\n"
    table = pq.read_table(folder / "x.parquet")
    model, later = gm.load(folder / "fisher.model"), pq.read_table(folder / "later.parquet")
    assert table.column_names == ["payment", "prediction", "probability_0", "probability_1"]
    assert table["prediction"].to_pylist() == model.predict(later).tolist()
    np.testing.assert_allclose(table["probability_1"].to_numpy(), model.predict_proba(later)[:, 1], rtol=1e-12)


def test_detect_writes_scores_and_explains_the_oddest(gramian, folder):
    arguments = ["--keep", "merchant", "--top", "4", "--explain", "--json", "-o", "x.parquet"]
    found = ok(gramian("detect", "density.model", "later.parquet", *arguments)).json
    table = pq.read_table(folder / "x.parquet")
    model, later = gm.load(folder / "density.model"), pq.read_table(folder / "later.parquet")
    scores, swans = model.anomaly_score(later), model.black_swans(later)
    assert table.column_names == ["row", "anomaly_score", "outlier", "black_swans", "merchant"]
    assert table["row"].to_pylist() == list(range(len(later)))
    np.testing.assert_allclose(table["anomaly_score"].to_numpy(), scores, rtol=1e-12)
    assert table["outlier"].to_pylist() == (model.predict(later) == -1).tolist()
    assert table["black_swans"].to_pylist() == swans.sum(axis=1).tolist()
    assert found["outliers"] == int((model.predict(later) == -1).sum())
    assert [row["row"] for row in found["top"]] == np.argsort(-scores, kind="stable")[:4].tolist()
    first = found["top"][0]
    assert first["black_swans"] == 1
    assert first["reasons"][0]["text"] == f"merchant={first['merchant']}: never seen in 4,000 rows"


def test_detect_prints_the_oddest_rows_without_a_file(gramian, folder):
    before = sorted(path.name for path in folder.iterdir())
    done = ok(gramian("detect", "density.model", "later.parquet", "--explain", "--top", "2", "--keep", "city"))
    assert "never seen in 4,000 rows" in done.out
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(("name", "kind"), [("payments.moments", "moments"), ("pca.model", "model"), ("days", "data")])
def test_inspect_shows_any_file(gramian, name, kind):
    found = ok(gramian("inspect", name, "--json")).json
    assert found["kind"] == kind
    assert "merchant" in str(found["columns"])


def test_inspect_shows_data_as_a_table(gramian):
    shown = ok(gramian("inspect", "payments.parquet")).out
    assert "payment: nearly every value differs: an id? --exclude payment" in shown
    assert max(map(len, shown.splitlines())) <= 120


def test_inspect_says_how_a_model_was_made(gramian):
    ok(gramian("fit", "payments.moments", "-m", "klt", "-k", "0.1", "-o", "a.model"))
    assert ok(gramian("inspect", "a.model", "--json")).json["notes"] == {
        "command": "gramian fit payments.moments -m klt -k 0.1 -o a.model"
    }


def test_report_of_models_moments_and_data(gramian, folder):
    ok(gramian("report", "density.model", "payments.moments", "--data", "later.parquet", "-o", "x.html"))
    assert (folder / "x.html").read_text().lstrip().lower().startswith("<!doctype html")
    found = ok(gramian("report", "payments.parquet", "--target", "fraud", "-o", "y.html", "--json")).json
    assert found["output"] == "y.html"
    assert (folder / "y.html").stat().st_size > 10_000


def test_fit_writes_a_report_beside_the_model(gramian, folder):
    arguments = ["--method", "fisher", "--target", "fraud", "--exclude", "payment", "--report", "x.html"]
    done = ok(gramian("fit", "payments.parquet", *arguments, "-o", "x.model"))
    assert done.out.endswith("wrote x.model and x.html\n")
    assert "gramian fit payments.parquet" in (folder / "x.html").read_text()


def test_methods_lists_every_method_of_the_registry(gramian):
    from gramian.estimators.io.registry import METHODS

    found = ok(gramian("methods", "--json")).json
    assert [method["name"] for method in found] == [method.name for method in METHODS]
    shown = ok(gramian("methods")).out
    assert [method.name for method in METHODS if method.name not in shown] == []
    one = ok(gramian("methods", "lda")).out
    assert "shrinkage" in one
    assert json.loads(gramian("methods", "lda", "--json").out)["needs_target"]


def test_objects_in_a_column_are_fitted_transformed_and_predicted(gramian, folder):
    metric = ["--set", "metric=levenshtein", "--set", 'metric_params={"power": 0.5}']
    ok(
        gramian(
            "fit", "words.csv", "-m", "mdsfda", "--column", "word", "--target", "language", *metric, "-o", "w.model"
        )
    )
    # The column's name is remembered, and a file of lines needs none.
    ok(gramian("transform", "w.model", "words.csv", "--keep", "word", "-o", "a.csv"))
    ok(gramian("transform", "w.model", "words.txt", "-o", "b.csv"))
    a, b = pyarrow.csv.read_csv(folder / "a.csv"), pyarrow.csv.read_csv(folder / "b.csv")
    assert a.column_names == ["word", "mdsfda0"]
    assert a["mdsfda0"].to_pylist() == b["mdsfda0"].to_pylist()
    ok(gramian("predict", "w.model", "words.csv", "-o", "c.csv"))
    assert pyarrow.csv.read_csv(folder / "c.csv").column_names == ["prediction", "probability_de", "probability_en"]


def test_a_matrix_of_distances_is_fitted_and_new_rows_are_placed(gramian, folder):
    points = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    D = gm.pairwise_distances(points)
    np.save(folder / "d.npy", D)
    pyarrow.csv.write_csv(pa.table(list(D), names=list("abcd")), folder / "d.csv")
    for name in ("d.npy", "d.csv"):
        ok(gramian("fit", name, "-m", "mds", "-o", "d.model"))
        ok(gramian("transform", "d.model", name, "-o", "x.csv"))
        placed = np.column_stack(pyarrow.csv.read_csv(folder / "x.csv").columns)
        np.testing.assert_allclose(gm.pairwise_distances(placed), D, atol=1e-9)


def test_progress_shows_only_on_a_terminal(gramian):
    done = ok(gramian("transform", "pca.model", "payments.parquet", "-o", "x.parquet"))
    assert done.err == ""


def test_the_version_and_an_empty_command_line(gramian):
    assert ok(gramian("--version")).out == f"gramian {gm.__version__}\n"
    assert ok(gramian()).out == ok(gramian("--help")).out
