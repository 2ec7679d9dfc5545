from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.errors import DataError
from gramian.tables import ArrayTable, ArrowTable, open_table


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_floats_come_as_themselves(rng, dtype, order):
    array = np.asarray(rng.normal(size=(7, 3)), dtype=dtype, order=order)
    for source in (array, array[::2], array[:, ::-1]):
        table = open_table(source)
        assert isinstance(table, ArrayTable)
        assert (table.names, table.n_rows, table.dtype) == (["x0", "x1", "x2"], len(source), dtype)
        for _ in range(2):
            (chunk,) = table.chunks()
            assert chunk is source


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix, sp.dok_array])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_sparse_of_every_format_comes_as_float_rows(make, dtype, monkeypatch):
    monkeypatch.setattr("gramian.tables.memory.arrays.BATCH_ROWS", 2)
    dense = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=dtype)
    table = open_table(make(dense))
    chunks = list(table.chunks())
    assert [c.shape for c in chunks] == [(2, 3), (1, 3)]
    assert all(isinstance(c, sp.csr_array) for c in chunks)
    assert all(c.dtype == (np.float32 if dtype == np.float32 else np.float64) for c in chunks)
    assert table.sparse
    np.testing.assert_array_equal(np.vstack([c.toarray() for c in chunks]), dense)


def test_a_csr_array_is_not_copied():
    matrix = sp.csr_array(np.eye(3))
    (chunk,) = open_table(matrix).chunks()
    assert np.shares_memory(chunk.data, matrix.data)


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.array([[1, 2], [3, 4]], dtype=np.int16), pa.int16()),
        (np.array([[1, 2], [3, 4]], dtype=">i4"), pa.int32()),
        (np.array([[1, 0], [0, 1]], dtype=np.uint8), pa.uint8()),
        (np.array([[True, False], [False, True]]), pa.bool_()),
        (np.array([["a", "b"], ["c", "d"]]), pa.string()),
        (np.array([["a", "long text"]], dtype=np.dtypes.StringDType()), pa.string()),
        (np.array([["2024-01-01", "2024-01-02"]], dtype="M8[s]"), pa.timestamp("s")),
    ],
)
def test_other_arrays_are_typed_columns(array, kind, rows):
    table = open_table(array)
    assert isinstance(table, ArrowTable)
    assert table.schema == pa.schema([("x0", kind), ("x1", kind)])
    assert table.n_rows == len(array)
    assert rows(table) == {f"x{j}": array[:, j].tolist() for j in range(2)}


def test_nested_lists(rows):
    assert isinstance(open_table([[1.0, 2.0], [3.0, 4.0]]), ArrayTable)
    (chunk,) = open_table([[1, 2.5], [3, 4]]).chunks()
    np.testing.assert_array_equal(chunk, [[1, 2.5], [3, 4]])
    assert rows(open_table([[1, 2], [3, 4]])) == {"x0": [1, 3], "x1": [2, 4]}
    assert rows(open_table([["a", 1], ["b", None]])) == {"x0": ["a", "b"], "x1": [1, None]}
    assert rows(open_table((("a", 1), ("b", 2)))) == {"x0": ["a", "b"], "x1": [1, 2]}
    with pytest.raises(DataError, match="unequal lengths, 1 to 2"):
        open_table([["a", 1], ["b"]])
    with pytest.raises(DataError, match="unequal lengths, 1 to 2"):
        open_table([[1.0, 2.0], [3.0]])


def test_structured_arrays_keep_their_names(rows):
    array = np.array([("a", 1, 1.5), ("b", 2, 2.5)], dtype=[("c", "U1"), ("n", "i4"), ("x", "f8")])
    assert rows(open_table(array)) == {"c": ["a", "b"], "n": [1, 2], "x": [1.5, 2.5]}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (np.arange(3.0), r"reshape\(-1, 1\)"),
        ([1.0, 2.0], r"reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), "3 dimensions; 2 are needed"),
        (np.float64(3), "0 dimensions|is not a source"),
        (np.array(3.0), "0 dimensions"),
        (np.zeros((3, 0)), "no columns"),
        (np.zeros((2, 2), dtype=complex), "complex"),
        (sp.csr_array(np.eye(2) * 1j), "complex"),
        (sp.csr_array((3, 0)), "no columns"),
        (np.ma.masked_array([[1, 2]], mask=[[True, False]]), "masked"),
    ],
)
def test_arrays_that_are_no_table_say_why(source, words):
    with pytest.raises(DataError, match=words):
        open_table(source)


def test_masked_floats_are_missing():
    (chunk,) = open_table(np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])).chunks()
    np.testing.assert_array_equal(chunk, [[np.nan, 2.0]])


def wild_sparse(kind):
    """Return a sparse matrix with an index that leads outside it: scipy looks at none when it is built from another."""
    if kind.startswith("coo"):
        wild = sp.coo_array(np.eye(4) + 1)
        wild.coords[0][1] = 2**29 if kind == "coo" else -7
        return wild
    wild = {"csc": sp.csc_array, "bsr": sp.bsr_array}.get(kind, sp.csr_array)(np.eye(4) + 1)
    if kind == "rows":
        wild.indptr[2] = 2**30
    elif kind == "empty":
        # The last pointer says that there is nothing, the others that there is.
        wild.indptr[1:] = [2**30, 2**30, 2**30, 0]
    elif kind == "wrapped":
        # Every difference of these, in 32 bits, is positive.
        wild.indptr[1:4] = [2**31 - 1, -(2**31), -(2**30)]
    elif kind == "short":
        wild.data = wild.data[:3]
    else:
        wild.indices[-1] = -5 if kind == "negative" else 2**29
    return wild


@pytest.mark.parametrize(
    "kind", ["csr", "csc", "bsr", "coo", "coo negative", "negative", "rows", "empty", "wrapped", "short"]
)
def test_sparse_indices_that_lead_outside_are_refused(kind):
    sound = np.eye(4) + 1
    with pytest.raises(DataError, match="is damaged") as caught:
        open_table(wild_sparse(kind))
    assert "\n" not in str(caught.value)
    for model in (gm.PCA().fit(sound), gm.VarianceFilter().fit(sound)):
        with pytest.raises(DataError, match="is damaged"):
            model.transform(wild_sparse(kind))
        with pytest.raises(DataError, match="is damaged"):
            type(model)().fit(wild_sparse(kind))


def test_looking_at_a_sparse_matrix_changes_nothing_of_it():
    given = sp.csr_array((np.arange(1.0, 6.0), np.array([1, 0, 0, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    before = [part.copy() for part in (given.data, given.indices, given.indptr)]
    m = gm.collect(given)
    for part, old in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)
    np.testing.assert_allclose(m.mean(), [(2 + 3 + 4) / 2, 0.5])


@pytest.mark.parametrize("dtype", [">f8", ">f4", np.longdouble])
def test_floats_of_any_order_of_bytes_and_width_are_previewed(dtype):
    array = np.arange(6.0).reshape(3, 2).astype(dtype)
    assert gm.preview(array).n_rows == gm.preview(pd.DataFrame(array, columns=["a", "b"])).n_rows == 3


def test_floats_beyond_float64_are_refused_by_column():
    with pytest.raises(DataError, match="'x0'"):
        gm.collect(np.array([[np.longdouble("1e4000")], [1]]))
