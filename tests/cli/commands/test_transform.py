"""`gramian transform` writes features in every format, and nothing else to a pipe."""

from __future__ import annotations

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import gramian as gm

READERS = {"parquet": pq.read_table, "csv.gz": pyarrow.csv.read_csv, "arrow": pyarrow.feather.read_table}


@pytest.mark.parametrize("suffix", READERS)
def test_transform_writes_the_features_in_every_format(gramian, folder, suffix):
    arguments = ["--keep", "payment", "--keep", "city", "-o", f"x.{suffix}", "--json"]
    found = gramian("transform", "pca.model", "later.parquet", *arguments).ok().json
    table = READERS[suffix](folder / f"x.{suffix}")
    later = pq.read_table(folder / "later.parquet")
    expected = gm.load(folder / "pca.model").transform(later)
    assert table.column_names == ["payment", "city", *found["features"]]
    assert table["payment"].to_pylist() == later["payment"].to_pylist()
    np.testing.assert_allclose(np.column_stack(table.columns[2:]), expected, rtol=1e-12, atol=1e-14)
    assert found["rows"] == len(later)


def test_progress_shows_only_on_a_terminal(gramian):
    done = gramian("transform", "pca.model", "payments.parquet", "-o", "x.parquet").ok()
    assert done.err == ""
