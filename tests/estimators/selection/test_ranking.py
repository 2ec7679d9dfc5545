import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError


def test_tables_come_in_the_callers_library(frame):
    pandas = gm.rank_columns(frame, "bought")
    assert isinstance(pandas, pd.DataFrame)
    assert pandas["column"].iloc[0] == "color"
    assert isinstance(gm.rank_columns(pl.from_pandas(frame), "bought"), pl.DataFrame)
    arrow = gm.rank_columns(pa.Table.from_pandas(frame, preserve_index=False), "bought", methods="pearson")
    assert arrow.column_names == ["column", "kind", "correlation", "beyond_chance", "measure"]
    assert gm.rank_columns(gm.collect(frame), "bought").equals(pandas)


def test_every_source_column_has_one_row(frame):
    found = gm.rank_columns(frame, "bought")
    assert sorted(found["column"]) == sorted(c for c in frame if c != "bought")


def test_several_targets(frame):
    found = gm.rank_columns(frame, ["bought", "count"], ["pearson", "independence", "mutual-information"])
    assert set(found["measure"]) == {"canonical"}
    assert len(found) == 5


def test_targets_must_be_there(frame):
    with pytest.raises(DataError, match="did you mean 'bought'"):
        gm.rank_columns(frame, "bougth")
    with pytest.raises(DataError, match="rank_columns needs a target"):
        gm.rank_columns(frame, None)
    assert len(gm.rank_columns(frame, pd.Index(["bought", "count"]), "pearson")) == 5
    for values in (frame["bought"], [], list(range(len(frame))), np.zeros(len(frame)), 3):
        # Also labels, which are texts as names are.
        with pytest.raises(DataError, match=r"^target is the name of a column, or several names; got "):
            gm.rank_columns(frame, values)
    with pytest.raises(DataError, match="no feature columns are left"):
        gm.rank_columns(frame[["bought"]], "bought")


def test_hundreds_of_numbers_take_a_moment(rng):
    X = rng.standard_normal((1500, 600))
    m = gm.collect(np.column_stack([X, X[:, :20].sum(axis=1) + rng.standard_normal(1500)]))
    gm.rank_columns(m, "x600")
    start = time.perf_counter()
    found = gm.rank_columns(m, "x600")
    # A second is for 2,000 on a quiet machine; this guards against a loop over pairs.
    assert time.perf_counter() - start < 5
    assert found.num_rows == 600


@pytest.mark.parametrize("methods", ["zzz", 3, ["pearson", None]])
def test_methods_are_checked_before_anything_is_read(methods):
    with pytest.raises(DataError, match="it can name 'variance'"):
        gm.rank_columns("no such file.parquet", "y", methods)


def test_an_identifier_is_no_target(rng):
    frame = pd.DataFrame({"id": [f"i{k}" for k in range(60)], "x": rng.standard_normal(60)})
    with pytest.raises(DataError, match="target 'id' has 60 classes in 60 rows, 60 of them of one row"):
        gm.rank_columns(frame, "id")
    frame["id"] = [f"i{k // 2}" for k in range(60)]
    assert list(gm.rank_columns(frame, "id")["column"]) == ["x"]
