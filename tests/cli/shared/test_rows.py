"""Rows mapped by a model, batch by batch, in order."""

from __future__ import annotations

import numpy as np
import pytest

import gramian as gm
from gramian.cli.shared.rows import mapped
from gramian.cli.shared.sources import open_data
from gramian.cli.shared.usage import UsageError
from gramian.errors import ColumnError


def test_every_row_is_mapped_once_and_in_order(files):
    model, table = gm.load(files / "pca.model"), open_data([str(files / "later.parquet")])
    parts = list(
        mapped(
            model, table, lambda rows, batch: (model.transform(rows), batch["payment"]), keep=["payment"], outputs=["a"]
        )
    )
    np.testing.assert_allclose(
        np.concatenate([features for features, _ in parts]), model.transform(str_table(files)), rtol=1e-12, atol=1e-14
    )
    kept = [value for _, column in parts for value in column.to_pylist()]
    assert kept == str_table(files)["payment"].to_pylist()


def str_table(files):
    import pyarrow.parquet as pq

    return pq.read_table(files / "later.parquet")


def test_what_cannot_be_kept_is_refused_before_a_row_is_read(files):
    model, table = gm.load(files / "pca.model"), open_data([str(files / "later.parquet")])
    with pytest.raises(UsageError, match="--keep payment"):
        mapped(model, table, lambda rows, batch: rows, keep=["payment"], outputs=["payment"])
    with pytest.raises(ColumnError, match="'payment'"):
        mapped(model, table, lambda rows, batch: rows, keep=["paymnt"], outputs=[])
