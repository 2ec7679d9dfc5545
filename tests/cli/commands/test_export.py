"""`gramian export` writes what the model says, in another language, and checks it before it writes."""

from __future__ import annotations

import duckdb
import onnx
import pyarrow.parquet as pq
import pytest

import gramian as gm


def test_a_query_gives_the_features(gramian, folder):
    said = gramian("export", "pca.model", "-o", "features.sql", "--check", "later.parquet").ok()
    assert "transform of PCA" in said.out
    assert float(said.out.rpartition(": ")[2]) < 1e-12
    with duckdb.connect() as database:
        database.register("rows", pq.read_table(folder / "later.parquet"))
        result = database.execute((folder / "features.sql").read_text())
        assert [each[0] for each in result.description] == list(gm.load(folder / "pca.model").get_feature_names_out())


def test_a_graph_is_checked_and_whole(gramian, folder):
    found = (
        gramian("export", "pca.model", "-o", "m.onnx", "--check", "later.parquet", "--dtype", "float64", "--json")
        .ok()
        .json
    )
    assert found["largest_difference"] < 1e-12
    onnx.checker.check_model(onnx.load_model(folder / "m.onnx"))


def test_lookup_tables_come_first(gramian, folder):
    gramian("export", "density.model", "-o", "s.sql", "--lookups", "tables", "--check", "later.parquet").ok()
    assert "anomaly_score" in (folder / "s.sql").read_text()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["-o", "m.pmml"], 2, "exported as .onnx or .sql"),
        (["-o", "m.sql", "--dialect", "oracle"], 1, "oracle"),
        (["-o", "m.sql", "--method", "score_samples"], 1, "cannot be exported"),
    ],
)
def test_what_cannot_be_written_says_so_and_leaves_no_file(gramian, folder, words, code, says):
    assert says in gramian("export", "pca.model", *words).at_fault(code)
    assert not (folder / words[1]).exists()
