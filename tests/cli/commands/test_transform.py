"""`gramian transform` writes features in every format, and nothing else to a pipe."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
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


def test_a_day_that_lacks_a_column_or_rows_is_served_where_asked(gramian, folder):
    rows = pq.read_table(folder / "later.parquet")
    pq.write_table(rows.drop(["merchant"]), folder / "fewer.parquet")
    pq.write_table(rows.slice(0, 0), folder / "empty.parquet")
    said = gramian("transform", "pca.model", "fewer.parquet", "-o", "f.parquet").at_fault(1)
    assert said.endswith("'merchant'; add them, or take them as missing values with --missing fill")
    gramian("transform", "pca.model", "fewer.parquet", "--missing", "fill", "-o", "f.parquet").ok()
    filled = rows.set_column(rows.schema.get_field_index("merchant"), "merchant", pa.nulls(len(rows)))
    expected = gm.load(folder / "pca.model").transform(filled)
    np.testing.assert_allclose(np.column_stack(pq.read_table(folder / "f.parquet").columns), expected)
    for command, model in (("transform", "pca"), ("predict", "fisher"), ("detect", "density")):
        assert "has no rows" in gramian(command, f"{model}.model", "empty.parquet", "-o", "e.parquet").at_fault(1)
        gramian(command, f"{model}.model", "empty.parquet", "--missing", "fill", "-o", "e.parquet").ok()
        full = gramian(command, f"{model}.model", "later.parquet", "-o", "l.parquet").ok()
        assert full.code == 0
        assert pq.read_table(folder / "e.parquet").schema.equals(pq.read_table(folder / "l.parquet").schema)
