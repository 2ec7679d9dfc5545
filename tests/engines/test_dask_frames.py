"""Functions of rows over Dask frames and arrays: lazy, and of the types that their meta says."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dask
from gramian.engines.dask import map_frame

FRAME = pd.DataFrame({"c": ["a", "b", "a", None], "x": [1.0, 2.0, 3.0, 4.0]}, index=[3, 5, 7, 9])


def doubled(rows):
    values = rows if isinstance(rows, np.ndarray) else rows[["x"]].to_numpy()
    assert len(values), "nothing is asked of no rows"
    return np.column_stack([values[:, 0], 2 * values[:, 0]])


def single(rows):
    return doubled(rows)[:, 1]


def test_nothing_is_computed_until_it_is_asked_for():
    def never(part):
        raise AssertionError("computed")

    lazy = map_frame(dd.from_pandas(FRAME, npartitions=2).map_partitions(never, meta=FRAME), doubled, ["u", "v"])
    assert list(lazy.columns) == ["u", "v"]
    assert (lazy.dtypes == np.float64).all()


@pytest.mark.parametrize("convert", [True, False])
def test_frames_keep_index_and_divisions(convert):
    with dask.config.set({"dataframe.convert-string": convert}):
        frame = dd.from_pandas(FRAME, npartitions=2)
        lazy = map_frame(frame, doubled, ["u", "v"])
        assert lazy.divisions == frame.divisions
        expected = pd.DataFrame({"u": FRAME["x"], "v": 2 * FRAME["x"]})
        pd.testing.assert_frame_equal(lazy.compute(), expected)


def test_one_value_a_row_is_a_series():
    found = map_frame(dd.from_pandas(FRAME, npartitions=2), single, ["score"])
    pd.testing.assert_series_equal(found.compute(), pd.Series(2 * FRAME["x"], name="score"))


def test_partitions_without_rows_have_the_columns():
    frame = dd.from_pandas(FRAME, npartitions=4)
    found = map_frame(frame[frame["x"] > 3], doubled, ["u", "v"]).compute()
    pd.testing.assert_frame_equal(found, pd.DataFrame({"u": [4.0], "v": [8.0]}, index=[9]))


def test_arrays_stay_arrays():
    values = np.arange(10.0).reshape(5, 2)
    array = da.from_array(values, chunks=(2, 1))
    lazy = map_frame(array, doubled, ["u", "v"])
    assert (lazy.shape, lazy.chunks[0]) == ((5, 2), (2, 2, 1))
    np.testing.assert_array_equal(lazy.compute(), doubled(values))
    np.testing.assert_array_equal(map_frame(array, single, ["s"]).compute(), single(values))
    kept = map_frame(array[array[:, 0] > 3], single, ["s"])
    np.testing.assert_array_equal(kept.compute(), [8.0, 12.0, 16.0])
