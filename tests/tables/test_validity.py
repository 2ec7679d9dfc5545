"""Arrow data is looked at before anything relies on it: what is refused is what Arrow itself would refuse, and no more."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError, FileFormatError
from gramian.tables.schemas import Inspector

TEXT = pa.array(["red", None, "blue", "", "a longer one"] * 3)
ACCENTS = pa.array(["é", "ü", None, "日本", "\U0001f600"] * 3)


def with_buffers(column, change):
    """Return a column whose buffers were changed by a function of their list."""
    buffers = column.buffers()
    change(buffers)
    return pa.Array.from_buffers(column.type, len(column), buffers, null_count=column.null_count)


def offset(at, value):
    def change(buffers):
        offsets = np.frombuffer(buffers[1], np.int32).copy()
        offsets[at] = value
        buffers[1] = pa.py_buffer(offsets)

    return change


def dictionary(indices, entries):
    return pa.DictionaryArray.from_arrays(indices, entries, safe=False)


SOUND = {
    "text": TEXT,
    "accents": ACCENTS,
    "slice of text": TEXT.slice(4, 7),
    "large text": TEXT.cast(pa.large_string()),
    "no text": pa.array([], pa.string()),
    "only nulls": pa.array([None, None], pa.string()),
    "empty texts": pa.array(["", ""]),
    "codes": TEXT.dictionary_encode(),
    "codes of accents": ACCENTS.dictionary_encode().slice(2),
    "codes of 8 bits": TEXT.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "unsigned codes": TEXT.dictionary_encode().cast(pa.dictionary(pa.uint16(), pa.string())),
    "no codes": pa.array([], pa.dictionary(pa.int32(), pa.string())),
    "anything behind a null": dictionary(pa.array(np.array([0, 99]), mask=np.array([False, True])), pa.array(["x"])),
    "numbers": pa.array([1.5, None, np.nan]),
    "booleans": pa.array([True, None, False]),
    "a date that is not midnight": pa.array([1], pa.int64()).view(pa.date64()),
    "a time beyond the day": pa.array([10**9], pa.int32()).view(pa.time32("s")),
    "a day": pa.array([datetime.date(2024, 2, 29)]),
    "decimals": pa.array([decimal.Decimal("1.50")]),
    "lists": pa.array([[1, 2], None]),
    "views": pa.array(["a", "b"], pa.string_view()),
    "nothing": pa.nulls(3),
}

DAMAGED = {
    "an offset beyond the text": with_buffers(TEXT, offset(5, 2**30)),
    "an offset below zero": with_buffers(TEXT, offset(3, -4)),
    "offsets that go back": with_buffers(TEXT, offset(4, 20)),
    "half a character": with_buffers(ACCENTS, offset(1, 1)),
    "bytes that are no text": with_buffers(TEXT, lambda b: b.__setitem__(2, pa.py_buffer(b"\xff" * b[2].size))),
    "nulls counted wrongly": pa.Array.from_buffers(pa.string(), len(TEXT), TEXT.buffers(), null_count=1),
    "an index beyond the dictionary": dictionary(pa.array([0, 3, 1]), pa.array(["a", "b", "c"])),
    "an index below zero": dictionary(pa.array([0, -1, 1]), pa.array(["a", "b", "c"])),
    "an index of 8 bits below zero": dictionary(pa.array([0, -100], pa.int8()), pa.array(["a"])),
    "indices without entries": dictionary(pa.array([0]), pa.array([], pa.string())),
    "entries that are damaged": dictionary(pa.array([0] * 15), with_buffers(TEXT, offset(5, 2**30))),
    "lists beyond their values": pa.ListArray.from_arrays(pa.array([0, 900, 3], pa.int32()), pa.array([1, 2, 3])),
}


@pytest.mark.parametrize("kind", SOUND)
def test_what_is_sound_passes_as_it_is(kind):
    batch = pa.record_batch({"c": SOUND[kind]})
    assert Inspector("a table").check(batch) is batch


@pytest.mark.parametrize("kind", DAMAGED)
def test_what_arrow_would_refuse_is_refused_by_column(kind):
    with pytest.raises(pa.ArrowException):
        DAMAGED[kind].validate(full=True)
    batch = pa.record_batch({"n": np.arange(len(DAMAGED[kind])), "c": DAMAGED[kind]})
    with pytest.raises(FileFormatError, match=r"^column 'c' of day.arrow is damaged: .*; write it again$") as caught:
        Inspector("day.arrow", FileFormatError).check(batch)
    assert "\n" not in str(caught.value)


def test_a_dictionary_that_changes_is_looked_at_again():
    inspector = Inspector("a table")
    inspector.check(pa.record_batch({"c": TEXT.dictionary_encode()}))
    with pytest.raises(DataError, match="damaged"):
        inspector.check(pa.record_batch({"c": DAMAGED["entries that are damaged"]}))


class Exported:
    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", ["an offset beyond the text", "an index beyond the dictionary"])
@pytest.mark.parametrize(
    "handed",
    [
        lambda t: t,
        lambda t: t.to_batches()[0],
        lambda t: pa.RecordBatchReader.from_batches(t.schema, t.to_batches()),
        Exported,
        lambda t: [t, t],
        lambda t: (each for each in [t]),
    ],
    ids=["table", "batch", "reader", "stream", "list", "generator"],
)
def test_every_way_of_handing_it_over_is_refused(kind, handed):
    column = DAMAGED[kind]
    table = pa.table({"c": column, "n": np.arange(len(column))})
    with pytest.raises(DataError, match=r"column 'c' of .* is damaged"):
        gm.collect(handed(table))
    model = gm.PCA(n_components=1).fit(pa.table({"c": ["a", "b", "c"], "n": [1, 2, 2]}))
    with pytest.raises(DataError, match=r"column 'c' of .* is damaged"):
        gm.transform_stream(model, handed(table)).read_all()
    with pytest.raises(DataError, match=r"column 'c' of .* is damaged"):
        model.transform(table)
