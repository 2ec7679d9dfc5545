"""A round trip through MLflow, in a store of files."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import gramian as gm

pytest.importorskip("mlflow", reason="mlflow is not installed")

# MLflow warns of its own store of files, and of what it imports.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def gm_mlflow():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import gramian.mlflow

        return gramian.mlflow


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 200
    return pd.DataFrame({
        "city": rng.choice(["Bonn", "Kiel", "Ulm"], n),
        "rooms": rng.normal(3, 1, n),
        "garden": rng.random(n) < 0.5,
        "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), unit="h"),
        "sold": rng.choice(["no", "yes"], n),
    })  # fmt: skip


def test_a_folder_keeps_model_signature_and_example(gm_mlflow, rows, tmp_path):
    import mlflow

    model = gm.FisherDiscriminant().fit(rows, "sold")
    gm_mlflow.save_model(model, tmp_path / "m")
    again = gm_mlflow.load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.transform(rows), model.transform(rows))
    assert not [path for path in (tmp_path / "m").rglob("*") if path.suffix in (".pkl", ".pickle")]
    scorer = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert {spec.name: spec.type.name for spec in scorer.metadata.get_input_schema()} == {
        "city": "string", "rooms": "double", "garden": "boolean", "seen": "datetime",
    }  # fmt: skip
    given = scorer.predict(rows.drop(columns="sold"))
    assert given["prediction"].tolist() == model.predict(rows).tolist()
    assert scorer.metadata.get_output_schema().input_names() == ["prediction"]
    example = scorer.metadata.load_input_example(str(tmp_path / "m"))
    assert len(scorer.predict(example)) == 1


def test_a_number_that_is_read_by_bins_and_crosses_alone_is_a_number(gm_mlflow, rows):
    moments = gm.collect(rows[["city", "rooms", "garden"]], bins={"rooms": 3}, crosses=[("rooms", "garden")])
    for columns in (["city", "rooms_bin"], ["city", "rooms & garden"]):
        model = gm.PCA(2).fit(moments.select(columns))
        types = {spec.name: spec.type.name for spec in gm_mlflow.signature_of(model, "transform").inputs}
        assert (types["city"], types["rooms"]) == ("string", "double")
    example = gm_mlflow.example_of(gm.PCA(2).fit(moments))
    assert example["rooms"][0] == pytest.approx(rows["rooms"].mean())
    assert np.isfinite(gm.PCA(2).fit(moments).transform(example)).all()


def test_a_run_logs_and_loads(gm_mlflow, rows, tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        model = gm.PCA(2).fit(rows.drop(columns="sold"))
        with mlflow.start_run():
            info = gm_mlflow.log_model(model, "features", method="transform")
        np.testing.assert_array_equal(gm_mlflow.load_model(info.model_uri).transform(rows), model.transform(rows))
        found = mlflow.pyfunc.load_model(info.model_uri).predict(rows.drop(columns="sold"))
        assert list(found) == ["pca0", "pca1"]
        np.testing.assert_allclose(found.to_numpy(), model.transform(rows))
    finally:
        mlflow.set_tracking_uri(None)


def test_a_model_of_objects_says_what_to_do(gm_mlflow, tmp_path):
    D = gm.pairwise_distances(np.random.default_rng(0).normal(size=(12, 2)))
    with pytest.raises(gm.errors.DataError, match="MLflow scores tables"):
        gm_mlflow.save_model(gm.MDSFDA().fit(D, [0, 1] * 6), tmp_path / "m")
