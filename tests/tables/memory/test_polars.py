from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest

from gramian.errors import DataError
from gramian.tables import ArrayTable, open_table
from gramian.tables.memory.polars import LazyTable, PolarsTable

pl = pytest.importorskip("polars")


@pytest.fixture
def frame():
    return pl.DataFrame(
        {
            "text": ["a", None, "b", "a"],
            "cat": pl.Series(["x", "y", None, "x"], dtype=pl.Categorical),
            "enum": pl.Series(["u", "v", "u", None], dtype=pl.Enum(["v", "u"])),
            "count": [1, 2, None, 4],
            "height": [1.5, None, 2.5, 3.5],
            "flag": [True, False, None, True],
        }
    )


@pytest.mark.parametrize("lazy", [False, True])
def test_rows_come_back(frame, rows, monkeypatch, lazy):
    monkeypatch.setattr("gramian.tables.base.BATCH_ROWS", 3)
    table = open_table(frame.lazy() if lazy else frame)
    assert isinstance(table, LazyTable if lazy else PolarsTable)
    assert table.one_shot is False
    assert table.n_rows == (None if lazy else 4)
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert pa.types.is_large_string(kinds["text"]) or pa.types.is_string(kinds["text"])
    assert pa.types.is_dictionary(kinds["cat"])
    assert pa.types.is_dictionary(kinds["enum"])
    assert rows(table) == frame.to_dict(as_series=False)
    assert rows(table, ["flag", "cat"]) == frame.select("flag", "cat").to_dict(as_series=False)
    assert len(list(table.batches())) == 2


def test_a_lazy_frame_computes_only_the_columns_asked_for(frame, rows):
    def explode(_):
        raise RuntimeError("must not run")

    lazy = frame.lazy().with_columns(bad=pl.col("count").map_batches(explode, return_dtype=pl.Int64))
    assert rows(open_table(lazy), ["text"]) == {"text": ["a", None, "b", "a"]}
    with pytest.raises(DataError, match="a polars lazy frame could not be collected"):
        list(open_table(lazy).batches(["bad"]))


def test_a_lazy_frame_of_a_missing_column_is_one_line(frame):
    with pytest.raises(DataError, match="could not be collected") as caught:
        open_table(frame.lazy().select("nope"))
    assert "\n" not in str(caught.value)


def test_an_abandoned_lazy_frame_leaves_no_thread_behind(frame, monkeypatch):
    monkeypatch.setattr("gramian.tables.base.BATCH_ROWS", 10)
    names = {thread.name for thread in threading.enumerate()}
    batches = open_table(pl.LazyFrame({"a": range(1000), "b": ["x"] * 1000})).batches()
    next(batches)
    batches.close()
    assert not {t.name for t in threading.enumerate() if t.name.startswith("gramian")} - names


def test_a_frame_of_floats_is_an_array_with_names():
    frame = pl.DataFrame({"a": [1.0, None], "b": pl.Series([2.0, 3.0], dtype=pl.Float32)})
    table = open_table(frame)
    assert isinstance(table, ArrayTable)
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(np.vstack(list(table.chunks())), [[1.0, 2.0], [np.nan, 3.0]])


def test_a_series_is_refused():
    with pytest.raises(DataError, match="to_frame"):
        open_table(pl.Series([1, 2]))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pl.Series("o", [object(), object()], dtype=pl.Object), "Python objects; convert it"),
        *(
            (
                pl.Series("o", [1, 2], dtype=getattr(pl, f"{kind}128")),
                f"{kind}128, and integers are read up to 64 bits; cast it to {kind}64",
            )
            for kind in ("Int", "UInt")
            if hasattr(pl, f"{kind}128")
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value.dtype),
)
def test_what_arrow_cannot_hold_is_refused_where_it_is_read(column, words):
    frame = pl.DataFrame([column, pl.Series("x", [1.0, 2.0])])
    for source in (frame, frame.lazy()) if column.dtype != pl.Object else (frame,):
        with pytest.raises(DataError, match=f"column 'o' of a polars .*holds {words}"):
            open_table(source).batches()
        assert [batch.column(0).to_pylist() for batch in open_table(source).batches(["x"])] == [[1.0, 2.0]]
