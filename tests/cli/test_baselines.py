"""The detectors and features that the demo compares itself with do what their names say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gramian.cli.payments import one_hot_logistic, rarity


def test_rarity_is_the_sum_of_minus_log_frequencies():
    table = pa.table({"a": ["x", "x", "x", "y"], "b": ["u", "v", "u", "v"], "id": [1, 2, 3, 4], "n": [0.5] * 4})
    score = rarity(table, table, ["id"])
    frequency = {"x": 3 / 4, "y": 1 / 4, "u": 1 / 2, "v": 1 / 2}
    brute = [-np.log(frequency[a]) - np.log(frequency[b]) for a, b in zip("xxxy", "uvuv", strict=True)]
    # Whatever is added for values never seen moves all rows alike, or hardly at all.
    assert np.argsort(-score, kind="stable")[0] == 3
    assert np.corrcoef(score, brute)[0, 1] > 0.99


def test_one_hot_columns_separate_what_a_column_decides():
    table = pa.table({"a": ["x", "y"] * 20, "n": np.linspace(0, 1, 40), "t": [0, 1] * 20})
    model = one_hot_logistic(["t"]).fit(table, table["t"].to_numpy())
    decided = model.decision_function(table)
    assert ((decided > 0) == (np.array([0, 1] * 20) == 1)).all()
    assert model[-1].n_features_in_ == 3
