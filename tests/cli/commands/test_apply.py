"""The rows of files as a model takes them: in order, each once, and refused beforehand where a column cannot be kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.cli.commands.apply import Rows
from gramian.cli.wording import UsageError
from gramian.engines import base
from gramian.errors import ColumnError


def test_every_row_is_mapped_once_and_in_order(files, monkeypatch):
    monkeypatch.setattr(base, "BATCH_ROWS", 100)
    model, path = gm.load(files / "pca.model"), files / "later.parquet"
    found = Rows(model, ["transform", "score_samples"], [str(path)], ["payment"], "raise").stream().read_all()
    rows = pq.read_table(path)
    assert found.column_names == ["payment", *model.get_feature_names_out(), "score_samples"]
    assert found["payment"].to_pylist() == rows["payment"].to_pylist()
    features = np.column_stack([column.to_numpy() for column in found.columns[1:-1]])
    np.testing.assert_allclose(features, model.transform(rows), rtol=1e-12, atol=1e-14)


def test_what_cannot_be_kept_is_refused_before_a_row_is_read(files):
    model, paths = gm.load(files / "pca.model"), [str(files / "later.parquet")]
    with pytest.raises(UsageError, match="--keep payment"):
        Rows(model, ["transform"], paths, ["payment"], "raise", names=["payment"])
    with pytest.raises(ColumnError, match="'payment'"):
        Rows(model, ["transform"], paths, ["paymnt"], "raise")


def test_columns_of_the_data_may_be_called_like_those_of_the_output(gramian, folder):
    table = pa.table({"outlier": ["a", "b"] * 40, "row": ["c", "d"] * 40, "anomaly_score": [1.0, 2.0, 3.0, 4.0] * 20})
    pq.write_table(table, folder / "named.parquet")
    gramian("fit", "named.parquet", "-m", "density", "-o", "named.model").ok()
    found = gramian("detect", "named.model", "named.parquet", "--top", "3", "--explain", "--json").ok().json
    scores = gm.load(folder / "named.model").anomaly_score(table)
    assert [row["row"] for row in found["top"]] == np.argsort(-scores, kind="stable")[:3].tolist()
    assert [set(row) for row in found["top"]] == [{"row", "anomaly_score", "outlier", "black_swans", "reasons"}] * 3


def test_a_model_of_a_pandas_frame_is_explained(gramian, folder):
    rows = pq.read_table(folder / "later.parquet")
    gm.save(gm.DensityEmbedding().fit(rows.drop(["payment"]).to_pandas()), folder / "frame.model")
    found = gramian("detect", "frame.model", "later.parquet", "--top", "1", "--explain", "--json").ok().json
    assert found["top"][0]["reasons"]
