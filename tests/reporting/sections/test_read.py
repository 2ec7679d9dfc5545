"""What was read is what the moments and the rows hold."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.compute as pc
import pytest

import gramian as gm
from gramian.reporting.report import summary
from gramian.reporting.sections.columns import BINS


def test_read_counts_rows_levels_and_gaps(whole: dict, made: SimpleNamespace) -> None:
    read = whole["read"]
    columns = {column["name"]: column for column in read["columns"]}
    assert read["n_rows"] == made.features.num_rows
    assert columns["city"]["levels"] == len(pc.unique(made.features["city"]))
    assert columns["city"]["missing"] == pytest.approx(
        made.features["city"].null_count / made.features.num_rows, abs=1e-4
    )
    assert columns["log_gap"]["mean"] == pytest.approx(pc.mean(made.features["log_gap"]).as_py(), rel=1e-5)
    assert columns["fraud"]["role"] == "target"
    assert sum(entry["share"] for entry in columns["card"]["shares"]) == pytest.approx(1, abs=1e-3)


def test_black_swans_are_the_values_never_collected(whole: dict) -> None:
    swans = whole["read"]["black_swans"]
    assert swans["rows"] == 3
    assert swans["columns"] == [
        {
            "column": "entry",
            "rows": 3,
            "n_values": 2,
            "values": [{"value": "iris scan", "rows": 2}, {"value": "barter", "rows": 1}],
        }
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
    assert found["read"]["n_rows"] == made.new.num_rows
    # The model's own levels decide what was never seen, not those of the rows.
    assert found["read"]["black_swans"]["rows"] == 3
    assert "payment" not in [column["name"] for column in found["read"]["columns"]]


def test_histograms_of_numbers_leave_out_the_tails_alone(whole: dict, made: SimpleNamespace) -> None:
    columns = {column["name"]: column for column in whole["read"]["columns"]}
    bins = columns["log_amount"]["histogram"]
    low, high = np.quantile(made.new["log_amount"].to_numpy(), [0.01, 0.99])
    assert bins["low"] == pytest.approx(low, rel=1e-5)
    assert len(bins["counts"]) == BINS
    inside = made.new["log_amount"].to_numpy()
    assert sum(bins["counts"]) == ((inside >= low) & (inside <= high)).sum()
