from __future__ import annotations

import datetime
import decimal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from gramian.errors import ColumnError, DataError
from gramian.tables import ArrayTable, ArrowTable, open_table
from gramian.tables.memory.pandas import PandasFloats, PandasTable

pd = pytest.importorskip("pandas")


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr("gramian.tables.base.BATCH_ROWS", 3)


def test_columns_that_are_not_one_block_are_taken_in_pieces(small_batches):
    frame = pd.DataFrame({"a": range(7), "b": list("abcdefg")})
    table = open_table(frame)
    assert isinstance(table, PandasTable)
    assert [batch.num_rows for batch in table.batches()] == [3, 3, 1]
    floats = open_table(pd.DataFrame({"a": np.arange(7.0), "b": np.arange(7.0).astype(np.float32)}))
    assert isinstance(floats, PandasFloats)
    assert [len(chunk) for chunk in floats.chunks()] == [3, 3, 1]


def test_types_and_missing_values(rows, small_batches):
    frame = pd.DataFrame(
        {
            "text": ["a", None, "b", "a"],
            "kind": pd.Categorical(["x", "y", None, "x"], categories=["y", "x"]),
            "count": [1, 2, 3, 4],
            "maybe": pd.array([1, None, 3, 4], dtype="Int64"),
            "height": [1.5, np.nan, 2.5, 3.5],
            "flag": [True, False, True, True],
            "when": pd.to_datetime(["2024-01-01", None, "2024-01-03", "2024-01-04"]),
            "wait": pd.to_timedelta([1, 2, None, 4], unit="s"),
        },
        index=[9, 8, 7, 6],
    )
    table = open_table(frame)
    assert isinstance(table, ArrowTable)
    assert (table.n_rows, table.one_shot, table.describe) == (4, False, "a pandas frame")
    assert [b.num_rows for b in table.batches()] == [3, 1]
    found = rows(table)
    assert found["text"] == ["a", None, "b", "a"]
    assert found["kind"] == ["x", "y", None, "x"]
    assert found["maybe"] == [1, None, 3, 4]
    assert found["height"][0] == 1.5
    assert np.isnan(found["height"][1])
    assert found["flag"] == [True, False, True, True]
    assert found["when"][1] is None
    assert found["when"][2] == datetime.datetime(2024, 1, 3)
    assert found["wait"][2] is None
    assert rows(table, ["flag", "text"]) == {"flag": found["flag"], "text": found["text"]}


def test_all_batches_share_the_categories(small_batches):
    frame = pd.DataFrame({"c": pd.Categorical(list("abcabcabc")), "d": range(9)})
    batches = list(open_table(frame).batches(["c"]))
    assert len(batches) == 3
    assert len({b.column(0).dictionary.buffers()[2].address for b in batches}) == 1


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", None, np.nan], pa.string()),
        ([1, None, 3], pa.int64()),
        ([1, 2.5, None], pa.float64()),
        ([True, None, False], pa.bool_()),
        ([np.int64(1), 2, np.nan], pa.float64()),
        ([None, None, None], pa.null()),
        ([datetime.date(2024, 1, 1), None, pd.NaT], pa.date32()),
        ([decimal.Decimal("1.50"), None, decimal.Decimal("2.25")], pa.decimal128(3, 2)),
    ],
)
def test_objects_of_one_kind_get_its_type(rows, values, kind):
    table = open_table(pd.DataFrame({"o": pd.Series(values, dtype=object)}))
    assert table.schema.field("o").type == kind
    assert rows(table)["o"] == [None if pd.isna(v) else v for v in values]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", 1], "mixes int and str"),
        (["a", 1.5], "mixes float and str"),
        ([True, 3], "mixes bool and int"),
        ([datetime.date(2024, 1, 1), "x"], "mixes date and str"),
        ([1 + 2j, 3j], "cannot be used"),
        ([object(), object()], "cannot be used"),
        ([2**80, 1], "cannot be used"),
    ],
)
def test_objects_of_two_kinds_are_named(values, words):
    with pytest.raises(DataError, match=rf"column 'o' of a pandas frame {words}.*exclude=\['o'\]") as caught:
        list(open_table(pd.DataFrame({"o": pd.Series(values, dtype=object)})).batches())
    assert "\n" not in str(caught.value)


def test_mixed_types_are_found_beyond_the_first_batch(small_batches):
    frame = pd.DataFrame({"o": pd.Series(["a"] * 10 + [1], dtype=object)})
    with pytest.raises(DataError, match="mixes int and str"):
        open_table(frame)


def test_names_become_text_and_must_differ():
    assert open_table(pd.DataFrame({0: ["a"], "b": ["c"]})).schema.names == ["0", "b"]
    with pytest.raises(ColumnError, match="'1' occurs 2 times in a pandas frame"):
        open_table(pd.DataFrame([["a", "b"]], columns=[1, "1"]))
    with pytest.raises(DataError, match="has no columns"):
        open_table(pd.DataFrame(index=[1, 2]))
    with pytest.raises(DataError, match="to_frame"):
        open_table(pd.Series([1, 2]))


def test_a_frame_of_floats_in_one_block_is_handed_on_as_it_lies(rng, small_batches):
    data = rng.normal(size=(50, 3))
    frame = pd.DataFrame(data, columns=["a", "b", "c"])
    table = open_table(frame)
    assert isinstance(table, ArrayTable)
    assert table.names == ["a", "b", "c"]
    (chunk,) = table.chunks()
    assert np.shares_memory(chunk, frame.to_numpy())
    np.testing.assert_array_equal(chunk, data)


def test_a_frame_of_separate_float_columns_is_converted_by_slices(rng, small_batches):
    frame = pd.DataFrame({"a": rng.normal(size=8)})
    frame["b"] = rng.normal(size=8).astype(np.float32)
    chunks = list(open_table(frame).chunks())
    assert [len(chunk) for chunk in chunks] == [3, 3, 2]
    assert open_table(frame).dtype == np.float64
    np.testing.assert_array_equal(np.vstack(chunks), frame.to_numpy())


def test_extension_types(rows):
    frame = pd.DataFrame(
        {
            "s": pd.array(["a", None], dtype="string"),
            "p": pd.array(["a", None], dtype=pd.ArrowDtype(pa.string())),
            "z": pd.arrays.SparseArray([0, 1]),
            "i": pd.Categorical([3, 1]),
        }
    )
    assert rows(open_table(frame)) == {"s": ["a", None], "p": ["a", None], "z": [0, 1], "i": [3, 1]}


def test_an_unusable_type_names_its_column():
    frame = pd.DataFrame({"t": ["a", "b"], "bad": np.array([1j, 2j])})
    with pytest.raises(DataError, match=r"column 'bad' of a pandas frame"):
        open_table(frame)


def test_a_frame_without_rows_keeps_its_schema():
    table = open_table(pd.DataFrame({"a": pd.Series([], dtype="str"), "b": pd.Series([], dtype=np.int64)}))
    assert table.schema.names == ["a", "b"]
    assert list(table.batches()) == []


def test_importing_the_layer_does_not_import_frame_libraries():
    code = "import sys, gramian.tables; print([m for m in ('pandas', 'polars', 'duckdb') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"


def test_periods_are_refused_with_the_way_out():
    frame = pd.DataFrame({"p": pd.period_range("2024", periods=2), "q": ["a", "b"]})
    with pytest.raises(DataError, match=r"column 'p' of a pandas frame holds periods.*to_timestamp"):
        open_table(frame)


def test_a_subclass_of_a_frame_is_a_frame(rows):
    class Special(pd.DataFrame):
        pass

    table = open_table(Special({"a": ["x", "y"]}))
    assert (table.describe, table.one_shot) == ("a pandas frame", False)
    assert rows(table) == {"a": ["x", "y"]}


def test_codes_that_pandas_was_told_not_to_look_at_are_refused():
    wild = pd.Categorical.from_codes(np.array([0, 1, 7], dtype=np.int8), ["x", "y"], validate=False)
    table = open_table(pd.DataFrame({"kind": wild, "n": [1, 2, 3]}))
    with pytest.raises(DataError, match="'kind' of a pandas frame is damaged: a code leads outside its categories"):
        list(table.batches())


def test_text_of_arrow_in_a_frame_is_looked_at():
    offsets = np.array([0, 1, 2**20, 3], dtype=np.int32)
    wild = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"abc")])
    frame = pd.DataFrame({"c": pd.Series(pd.arrays.ArrowExtensionArray(wild)), "n": [1, 2, 3]})
    with pytest.raises(DataError, match="column 'c' of a pandas frame is damaged"):
        list(open_table(frame).batches())
