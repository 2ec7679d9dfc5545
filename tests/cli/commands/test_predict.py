"""`gramian predict` writes classes and their probabilities."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq

import gramian as gm


def test_predict_writes_classes_and_their_probabilities(gramian, folder):
    done = gramian("predict", "fisher.model", "later.parquet", "--keep", "payment", "-o", "x.parquet").ok()
    assert done.out.splitlines() == [
        "wrote x.parquet: 1,000 rows",
        "next: gramian report fisher.model --data later.parquet -o report.html",
    ]
    table = pq.read_table(folder / "x.parquet")
    model, later = gm.load(folder / "fisher.model"), pq.read_table(folder / "later.parquet")
    assert table.column_names == ["payment", "prediction", "probability_0", "probability_1"]
    assert table["prediction"].to_pylist() == model.predict(later).tolist()
    np.testing.assert_allclose(table["probability_1"].to_numpy(), model.predict_proba(later)[:, 1], rtol=1e-12)
