from __future__ import annotations

import pyarrow as pa
import pytest

from gramian.tables.schemas import cast_array, common_type, merge_schemas, plain_type

TEXT = pa.dictionary(pa.int32(), pa.string())
KINDS = [
    pa.null(),
    pa.int8(),
    pa.int32(),
    pa.int64(),
    pa.uint16(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
    pa.string(),
    pa.large_string(),
    TEXT,
    pa.dictionary(pa.int8(), pa.large_string()),
    pa.dictionary(pa.int8(), pa.int64()),
    pa.date32(),
    pa.timestamp("s"),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.time64("us"),
    pa.duration("s"),
    pa.duration("ns"),
    pa.decimal128(5, 2),
    pa.decimal128(9, 4),
    pa.list_(pa.int8()),
]


@pytest.mark.parametrize("a", KINDS, ids=str)
def test_the_common_type_is_symmetric_and_holds_both(a):
    for b in KINDS:
        kind = common_type(a, b)
        assert kind == common_type(b, a), b
        if kind is not None:
            assert common_type(kind, a) == common_type(kind, b) == kind, b
            for part in (a, b):
                assert cast_array(pa.nulls(3, part), kind).type == kind, b


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.int64(), pa.float32(), pa.float64()),
        (pa.null(), pa.date32(), pa.date32()),
        (pa.string(), TEXT, TEXT),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("us")),
        (pa.date32(), pa.timestamp("us"), None),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), None),
        (pa.string(), pa.int64(), None),
        (pa.bool_(), pa.int64(), None),
    ],
    ids=str,
)
def test_common_types(a, b, kind):
    assert common_type(a, b) == kind


def test_views_inside_dictionaries_become_plain():
    kind = pa.dictionary(pa.uint32(), pa.string_view())
    assert plain_type(kind) == pa.dictionary(pa.uint32(), pa.large_string())


def test_casting_codes_keeps_values_and_nulls():
    array = pa.array(["b", None, "a", "b"]).dictionary_encode()
    cast = cast_array(array, pa.dictionary(pa.int8(), pa.large_string()))
    assert cast.to_pylist() == ["b", None, "a", "b"]


def test_the_first_schema_gives_the_order():
    first, second = (
        pa.schema([("b", pa.int8()), ("a", pa.null())]),
        pa.schema([("a", pa.string()), ("b", pa.int8())]),
    )
    expected = pa.schema([("b", pa.int8()), ("a", pa.string())])
    assert merge_schemas([("1", first), ("2", second)]) == (expected, {})
