"""`gramian predict` writes classes and their probabilities."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
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


def test_several_channels_and_several_targets_have_a_column_each(gramian, folder):
    steps = np.arange(120)
    table = pa.table({"a": np.sin(steps / 5), "b": np.cos(steps / 5), "u": steps % 2, "v": steps % 3})
    pq.write_table(table, folder / "steps.parquet")
    channels = gm.EchoStateRegressor(20, washout=5).fit(table.select(["a", "b"]))
    gm.save(channels, folder / "channels.model")
    gramian("predict", "channels.model", "steps.parquet", "-o", "next.parquet").ok()
    found = pq.read_table(folder / "next.parquet")
    assert found.column_names == ["prediction_a", "prediction_b"]
    np.testing.assert_allclose(
        np.column_stack([found[name] for name in found.column_names]), channels.predict(table), rtol=1e-12
    )
    both = gm.ELMClassifier(10).fit(table, ("u", "v"))
    gm.save(both, folder / "both.model")
    gramian("predict", "both.model", "steps.parquet", "-o", "both.parquet").ok()
    found = pq.read_table(folder / "both.parquet")
    assert found.column_names == [
        *["prediction_u", "prediction_v", "probability_u_0", "probability_u_1"],
        *["probability_v_0", "probability_v_1", "probability_v_2"],
    ]
    np.testing.assert_array_equal(np.column_stack([found["prediction_u"], found["prediction_v"]]), both.predict(table))
    assert gm.transform_file(both, table, folder / "p.parquet", method="predict_proba") == 120
    assert pq.read_table(folder / "p.parquet").column_names == found.column_names[2:]
