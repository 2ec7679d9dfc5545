"""Which system a frame is at home in."""

import sys

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from gramian.tables.base import home_of


def test_dask_frames_and_arrays_are_at_home_in_dask():
    frame = dd.from_pandas(pd.DataFrame({"x": [1.0]}), npartitions=1)
    assert home_of(frame) == home_of(frame["x"]) == home_of(da.ones((2, 2))) == "dask"


@pytest.mark.parametrize("source", [pd.DataFrame({"x": [1.0]}), np.ones((2, 2)), "a.parquet", ["a.parquet"], None, {}])
def test_all_else_is_at_home_nowhere(source):
    assert home_of(source) is None


def test_nothing_is_imported_to_find_out(monkeypatch):
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert home_of(frame) == "spark"
