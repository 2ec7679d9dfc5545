"""A table is opened and checked once for a model; every batch is encoded, or its objects picked out, once."""

import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.engines import base
from gramian.errors import ColumnError, DataError
from gramian.estimators.spine import inputs
from gramian.estimators.spine.outputs import outputs_of
from gramian.maps.projection import Design, Rows
from gramian.tables import open_table

WORDS = ["ACDE", "ACDF", "WXYZ", "WXYV", "ACEE", "WXZZ"]


def written(model, table, tmp_path, **options):
    gm.transform_file(model, table, tmp_path / "out.parquet", **options)
    return pq.read_table(tmp_path / "out.parquet")


@pytest.mark.parametrize("method", ["transform", "predict_proba"])
def test_no_batch_is_opened_again_and_each_is_encoded_once(frame, tmp_path, monkeypatch, method):
    model = gm.FisherDiscriminant().fit(frame, "bought")
    expected = np.asarray(getattr(model, method)(frame))
    encoded, encode = [], Design.encode
    monkeypatch.setattr(base, "BATCH_ROWS", 50)
    monkeypatch.setattr(Design, "encode", lambda self, batch: encoded.append(batch.num_rows) or encode(self, batch))
    monkeypatch.setattr(inputs, "open_table", None)
    table = written(model, pa.Table.from_pandas(frame), tmp_path, method=method)
    assert sum(encoded) == len(frame)
    assert max(encoded) == 50
    found = np.column_stack([column.to_numpy() for column in table.columns])
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-12, atol=1e-14)


def test_encoded_rows_serve_every_method(frame):
    model = gm.FisherDiscriminant().fit(frame, "bought")
    rows = model.design_.encode(pa.RecordBatch.from_pandas(frame))
    assert isinstance(rows, Rows)
    np.testing.assert_allclose(model.transform(rows), model.transform(frame), rtol=1e-12)
    assert model.predict(rows).tolist() == model.predict(frame).tolist()
    np.testing.assert_array_equal(model.black_swans(rows), model.black_swans(frame))


def test_float32_numbers_are_computed_as_before(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    model = gm.PCA().fit(X)
    rows = model.design_.encode(pa.record_batch(list(X.T.copy()), names=["x0", "x1", "x2"]))
    assert model.transform(rows).dtype == np.float32
    assert model.transform(X).dtype == np.float32


@pytest.mark.parametrize("name", ["PCA", "Whitening", "MahalanobisFeatures", "DensityEmbedding"])
def test_every_fitted_model_over_columns_says_what_it_reads(frame, name):
    model = getattr(gm, name)()
    assert not hasattr(model, "design_")
    model.fit(frame, "bought")
    assert model.design_.origins == list(model.feature_names_in_)
    assert list(model.design_.names) == model.design_names_


def test_what_is_missing_is_said_at_once(frame):
    model = gm.PCA().fit(frame[["color", "size"]])
    table = open_table(pa.table({"size": [1.0]}))
    with pytest.raises(ColumnError, match="'color'"):
        outputs_of(model).reading(table)
    with pytest.raises(ColumnError, match="'id'"):
        outputs_of(model).map(open_table(pa.Table.from_pandas(frame)), print, keep=["id"])


def test_a_model_that_solves_when_it_is_first_asked_does_so_once(frame, monkeypatch):
    monkeypatch.setattr(base, "BATCH_ROWS", 20)
    model = gm.DensityEmbedding().fit(frame.drop(columns="bought"))
    asked, at_once = [], []

    def work(rows, batch):
        asked.append(1)
        first = len(asked) == 1
        at_once.append(first)
        if first:
            time.sleep(0.2)
            assert len(asked) == 1
        return batch.num_rows

    table = open_table(pa.Table.from_pandas(frame))
    assert sum(outputs_of(model).map(table, work)) == len(frame)
    assert at_once.count(True) == 1


MODELS = [
    (gm.PCA(2), None), (gm.FisherDiscriminant(), "bought"), (gm.DensityEmbedding(), None), (gm.MahalanobisFeatures(), "bought"),
    (gm.ELMClassifier(8, random_state=0), "bought"), (gm.RandomFeatures(3, random_state=0), None),
    (gm.MutualInformationFilter(k=2), "bought"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "y"), MODELS, ids=lambda given: type(given).__name__)
def test_names_and_types_are_known_before_any_row_is_read(frame, model, y):
    table = pa.Table.from_pandas(frame)
    given = outputs_of(model.fit(frame, y))
    assert set(given.columns) <= set(frame.columns)
    for method in given.methods:
        found = gm.transform_stream(model, table, method=method).schema
        assert found.names == given.names(method), method
        if method != "predict" or hasattr(model, "classes_"):
            assert found.types == given.types(method, table.schema, "float64"), method
        none = gm.transform_stream(model, table.slice(0, 0), method=method, missing="fill")
        assert none.read_all().num_rows == 0
        assert none.schema.names == found.names


def test_several_methods_stand_side_by_side_and_encode_once(frame, monkeypatch):
    model = gm.FisherDiscriminant().fit(frame, "bought")
    encoded, encode = [], Design.encode
    monkeypatch.setattr(base, "BATCH_ROWS", 50)
    monkeypatch.setattr(Design, "encode", lambda self, batch: encoded.append(batch.num_rows) or encode(self, batch))
    methods = ["predict", "transform", "predict_proba"]
    found = gm.transform_stream(model, pa.Table.from_pandas(frame), methods=methods, keep="size").read_all()
    assert sum(encoded) == len(frame)
    assert found.column_names == ["size", *(name for method in methods for name in outputs_of(model).names(method))]
    assert found["prediction"].to_pylist() == model.predict(frame).tolist()
    np.testing.assert_allclose(found.columns[-1].to_numpy(), model.predict_proba(frame)[:, -1], rtol=1e-12)
    with pytest.raises(DataError, match="has no method 'anomaly_score' for files; it has transform, predict"):
        gm.transform_stream(model, frame, methods=["transform", "anomaly_score"])


def test_a_verdict_is_that_of_the_other_methods(frame):
    model = gm.DensityEmbedding().fit(frame.drop(columns="bought"))
    strange = frame.assign(color=["never seen", *frame["color"][1:]])
    verdict = model.judge(strange)
    np.testing.assert_array_equal(verdict["anomaly_score"], model.anomaly_score(strange))
    np.testing.assert_array_equal(verdict["outlier"], model.predict(strange) == -1)
    np.testing.assert_array_equal(verdict["black_swans"], model.black_swans(strange).sum(axis=1))
    assert verdict["only_unseen"].tolist() == [True] + [False] * (len(frame) - 1)


def test_features_of_columns_load_nothing_about_distances():
    code = (
        "import sys, gramian as gm; model = gm.PCA(1).fit([[1.0, 2.0], [2.0, 1.0], [4.0, 4.0]]);"
        "gm.transform_stream(model, [[1.0, 2.0]]).read_all();"
        "print([name for name in sys.modules if name.startswith('gramian.distances')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# Objects


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
@pytest.mark.parametrize("method", ["transform", "predict", "predict_proba"])
def test_objects_in_the_only_column(tmp_path, monkeypatch, method, kind):
    monkeypatch.setattr(base, "BATCH_ROWS", 4)
    model = gm.MDSFDA(n_components=1, metric="levenshtein", regularization=0.1).fit(WORDS, [0, 0, 1, 1, 0, 1])
    new = ["ACDD", "WXYY", "ACDE", "ZZZZ", "AAAA"]
    column = pa.array(new).dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else pa.array(new, kind)
    table = written(model, pa.table({"protein": column}), tmp_path, method=method)
    found = np.column_stack([column.to_numpy() for column in table.columns])
    expected = np.asarray(getattr(model, method)(new))
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-12)


def test_never_one_of_several_columns_whatever_is_kept(tmp_path):
    model = gm.ClassicalMDS(metric="levenshtein").fit(WORDS)
    table = pa.table({"id": ["1", "2"], "protein": ["ACDD", "WXYY"]})
    for keep in (None, "id", "protein", ["id", "protein"]):
        with pytest.raises(DataError, match="2: 'id', 'protein'; pass a table of the objects' column alone") as caught:
            gm.transform_file(model, table, tmp_path / "out.parquet", keep=keep)
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
    kept = written(model, table.select(["protein"]), tmp_path, keep="protein")
    assert kept["protein"].to_pylist() == ["ACDD", "WXYY"]
    np.testing.assert_allclose(kept["classicalmds0"].to_numpy(), model.transform(["ACDD", "WXYY"])[:, 0], rtol=1e-12)


def test_an_object_that_is_missing_is_refused(tmp_path):
    model = gm.ClassicalMDS(metric="levenshtein").fit(WORDS)
    with pytest.raises(DataError, match="'protein' has a row without a value"):
        written(model, pa.table({"protein": ["ACDD", None]}), tmp_path)


@pytest.mark.parametrize("names", [None, ["u", "v", "w"]])
def test_rows_of_numbers_by_name_or_by_their_number(tmp_path, names):
    X = np.random.default_rng(1).normal(size=(9, 3))
    model = gm.ClassicalMDS(metric="euclidean").fit(X if names is None else pd.DataFrame(X, columns=names))
    data = pa.table({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2]})
    expected = model.transform(X if names is None else pd.DataFrame(X, columns=names))
    found = written(model, data if names is None else data.append_column("id", [range(9)]), tmp_path)
    np.testing.assert_allclose(found["classicalmds1"].to_numpy(), expected[:, 1], rtol=1e-10, atol=1e-12)
    if names is None:
        with pytest.raises(DataError, match=r"rows of 3 numbers, and .* has 4 columns"):
            written(model, data.append_column("id", [range(9)]), tmp_path, keep="id")
    with pytest.raises(DataError, match="holds string"):
        written(model, data.set_column(0, "u", [[str(k) for k in range(9)]]), tmp_path)


def test_rows_of_distances_and_of_mixed_tables(tmp_path):
    D = gm.pairwise_distances(WORDS, metric="levenshtein")
    given = gm.ClassicalMDS().fit(D)
    found = written(given, pa.table({f"d{k}": D[:3, k] for k in range(6)}), tmp_path)
    np.testing.assert_allclose(found["classicalmds0"].to_numpy(), given.transform(D[:3])[:, 0], rtol=1e-12)
    mixed = pa.table({"size": [1.0, 2.0, 5.0, 9.0], "color": ["red", "red", "blue", None]})
    gower = gm.ClassicalMDS(metric="gower").fit(mixed)
    found = written(gower, mixed.append_column("id", [range(4)]), tmp_path, keep="id")
    np.testing.assert_allclose(found["classicalmds0"].to_numpy(), gower.transform(mixed)[:, 0], rtol=1e-10, atol=1e-12)
