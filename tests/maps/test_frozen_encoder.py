"""Rows encoded against the labels of a fit, one dictionary look-up at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.maps import projection as module
from gramian.maps.projection import Design, Rows
from gramian.tables import open_table


@pytest.fixture
def frame(rng):
    n = 60
    return pd.DataFrame(
        {
            "u": np.where(rng.random(n) < 0.2, np.nan, rng.normal(1e6, 1, n)),
            "a": rng.choice(np.array(["x", "y", None], dtype=object), n),
            "v": rng.normal(size=n),
            "b": [f"level {k % 7}" for k in range(n)],
        }
    )


@pytest.fixture
def design(frame):
    m = gm.collect(frame)
    return Design.of(m, m.columns)


def test_a_design_is_what_moments_say_of_its_columns(frame, design):
    assert [c.name for c in design.categorical] == ["a", "b"]
    assert [c.name for c in design.numeric] == ["u", "v"]
    assert design.origins == ["u", "a", "v", "b"]
    assert design.spans == {"u": slice(0, 1), "a": slice(1, 4), "v": slice(4, 5), "b": slice(5, 12)}
    assert design.number_places.tolist() == [0, 4]
    assert (design.names[0], design.names[4], len(design.names)) == ("u", "v", 12)
    assert design.offsets is None
    means = [frame["u"].mean(), frame["v"].mean()]
    np.testing.assert_allclose(design.mean[[0, 4]], means, rtol=1e-12)
    shares = [frame["a"].isna().mean() if v is None else (frame["a"] == v).mean() for v in design.labels[0].to_list()]
    np.testing.assert_allclose(design.mean[1:4], shares, rtol=1e-12)


@pytest.mark.parametrize("parallel", [False, True])
def test_codes_are_places_among_the_labels_and_new_levels_come_after(frame, design, parallel, monkeypatch):
    monkeypatch.setattr(module, "PARALLEL_ROWS", 1 if parallel else 2**15)
    asked = frame.iloc[:20].copy()
    asked.loc[[2, 3], "a"] = ["new", "newer"]
    asked.loc[3, "b"] = None
    rows = design.encode(pa.RecordBatch.from_pandas(asked, preserve_index=False))
    for k, name in enumerate(["a", "b"]):
        places = {level: code for code, level in enumerate(design.labels[k].to_list())}
        expected = [places.get(None if pd.isna(value) else value, len(places)) for value in asked[name]]
        assert rows.codes[k].tolist() == expected
    np.testing.assert_array_equal(rows.numbers, asked[["u", "v"]].to_numpy())
    assert (len(rows), rows.n_rows, rows.single) == (20, 20, False)
    unseen = np.zeros((20, 4), dtype=bool)
    unseen[2, 1] = unseen[3, 1] = unseen[3, 3] = True
    assert np.array_equal(design.unseen(rows), unseen)
    some = rows.part([3, 0])
    assert np.array_equal(some.codes, rows.codes[:, [3, 0]])
    np.testing.assert_array_equal(some.numbers, rows.numbers[[3, 0]])


def test_columns_are_found_by_name_in_any_order_and_rows_pass_as_they_are(frame, design):
    turned = frame[["b", "v", "u", "a"]].assign(extra=1)
    (expected,) = design.rows(open_table(frame))
    (found,) = design.rows(open_table(turned))
    assert np.array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.numbers, expected.numbers)
    assert [rows for rows, batch in design.read(found) if batch is None] == [found]


@pytest.mark.parametrize("holder", [np.asarray, sp.csr_array])
def test_an_array_of_numbers_is_read_as_it_lies(rng, holder):
    x = rng.normal(size=(9, 3))
    m = gm.collect(x)
    (rows,) = Design.of(m, ["x2", "x0"]).rows(open_table(holder(x)))
    values = rows.numbers.toarray() if sp.issparse(rows.numbers) else rows.numbers
    assert np.array_equal(values, x[:, [2, 0]])
    assert rows.codes.shape == (0, 9)


def test_float_codes_of_an_array_are_levels():
    x = np.array([[1.0, 5.0], [2.0, 6.0], [1.0, 7.0]])
    design = Design.of(gm.collect(x, categorical=["x0"]), ["x0", "x1"])
    (rows,) = design.rows(open_table(np.array([[2.0, 0.0], [9.0, 0.0]])))
    assert rows.codes.tolist() == [[design.labels[0].to_list().index(2.0), 2]]


def test_float32_throughout_is_single(frame):
    narrow = frame[["v"]].astype("float32")
    design = Design.of(gm.collect(narrow), ["v"])
    assert design.encode(pa.RecordBatch.from_pandas(narrow)).single
    assert not design.encode(pa.RecordBatch.from_pandas(frame[["v"]])).single


def test_offsets_are_taken_off_numbers_and_put_back_on_means():
    base = 2**60
    values = pa.array([base + 3, base + 5, base + 10, base + 10], pa.int64())
    design = Design.of(gm.collect(pa.table({"k": values}), numeric=["k"]), ["k"])
    assert design.offsets is None
    held = Design(design.columns, (), np.array([7.0]), design.names, np.array([float(base)]))
    assert held.encode(pa.record_batch({"k": values})).numbers.ravel().tolist() == [3, 5, 10, 10]
    assert held.as_given(np.array([[7.0], [0.0]])).tolist() == [[float(base + 7)], [float(base)]]
    assert held.mean.tolist() == [7.0]
    for given in (np.array([[base + 1024.0]]), sp.csr_array(np.array([[base + 1024.0]]))):
        assert np.asarray(held.encode_array(given).numbers).tolist() == [[1024.0]]


def test_wide_columns_have_wide_codes():
    labels = [f"id {k}" for k in range(2**16)]
    design = Design.of(gm.collect(pa.table({"id": labels}), categorical=["id"]), ["id"])
    rows = design.encode(pa.record_batch({"id": [labels[-1], "new"]}))
    assert rows.codes.dtype == np.uint32
    assert rows.codes.tolist() == [[design.labels[0].to_list().index(labels[-1]), 2**16]]


def test_columns_that_cannot_be_read_as_in_fit_are_named(design):
    with pytest.raises(
        ColumnError,
        match=r"columns seen in fit are missing: 'b'; add them, or take them as missing values with missing='fill'",
    ):
        design.check(["a", "u", "v"])
    with pytest.raises(ValueError, match="'v' holds text"):
        design.encode(pa.record_batch({"a": ["x"], "b": ["y"], "u": [1.0], "v": ["many"]}))


def test_an_infinite_value_is_named(frame, design):
    with pytest.raises(DataError, match="column 'v' holds an infinite value"):
        list(design.rows(open_table(frame.assign(v=np.inf))))
    x = np.eye(3)
    plain = Design.of(gm.collect(x), ["x0", "x1", "x2"])
    x[1, 1] = -np.inf
    with pytest.raises(DataError, match="column 'x1' holds an infinite value"):
        list(plain.rows(open_table(x)))
    with pytest.raises(DataError, match="the sparse matrix holds an infinite value"):
        list(plain.rows(open_table(sp.csr_array(x))))


def test_large_numbers_whose_sum_overflows_are_no_infinite_values():
    x = np.full((4, 1), 1e308)
    design = Design.of(gm.collect(np.ones((4, 1))), ["x0"])
    (rows,) = design.rows(open_table(x))
    assert isinstance(rows, Rows)
    assert np.array_equal(rows.numbers, x)
