from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gramian.design.schema import RARE, Labels, align, canonical, label_family, positions
from gramian.errors import DataError


def text(*labels: str | None) -> Labels:
    return Labels(pa.array(labels, pa.large_string()))


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        (pa.string(), "text"),
        (pa.string_view(), "text"),
        (pa.dictionary(pa.int8(), pa.string()), "text"),
        (pa.uint8(), "number"),
        (pa.float32(), "number"),
        (pa.decimal128(5, 2), "number"),
        (pa.bool_(), "boolean"),
        (pa.null(), "null"),
        (pa.binary(), None),
        (pa.list_(pa.int8()), None),
        (pa.timestamp("s"), None),
    ],
    ids=str,
)
def test_families_of_types(kind: pa.DataType, family: str | None) -> None:
    assert label_family(kind) == family


def test_canonical_floats_have_one_zero_and_one_missing() -> None:
    assert canonical(pa.array([0.0, -0.0, float("nan"), None])).to_pylist() == [0.0, 0.0, None, None]
    assert np.copysign(1, canonical(pa.array([-0.0]))[0].as_py()) == 1.0


def test_canonical_refuses_what_is_no_label() -> None:
    with pytest.raises(DataError, match="cannot be levels"):
        canonical(pa.array([b"a"]))


def test_positions_match_null_with_null() -> None:
    among = pa.array(["b", None, "a"])
    assert positions(pa.array(["a", None, "z"]), among).tolist() == [2, 1, -1]
    assert positions(pa.nulls(1), among).tolist() == [1]
    assert positions(pa.array([1]), among).tolist() == [-1]


def test_codes_of_pooled_labels_are_rare() -> None:
    pooled, mapping = text("a", "b", "c", None).pool(np.array([False, True, False, True]))
    assert pooled.to_list() == ["a", "c", RARE]
    assert mapping.tolist() == [0, 2, 1, 2]
    assert pooled.codes(pa.array(["b", None, "z", "c"])).tolist() == [2, 2, -1, 1]


def test_a_label_named_rare_is_not_the_pooled_level() -> None:
    pooled, _ = text("a", RARE, "b").pool(np.array([False, False, True]))
    assert pooled.to_list() == pooled.names() == ["a", RARE, "(rare) (2)"]
    assert pooled.codes(pa.array([RARE, "b"])).tolist() == [1, 2]


def test_keep_drops_labels_but_not_the_memory_of_pooling() -> None:
    pooled, _ = text("a", "b", "c").pool(np.array([False, True, False]))
    kept = pooled.keep(np.array([False, True, False]))
    assert kept.to_list() == ["c"]
    assert kept.pooled.to_pylist() == ["b"]


def test_align_is_the_union_in_left_order() -> None:
    union, left, right = align(text("a", None), text("c", None, "a"), column="x")
    assert union.to_list() == ["a", None, "c"]
    assert (left.tolist(), right.tolist()) == ([0, 1], [2, 1, 0])


def test_align_folds_what_either_side_pooled() -> None:
    pooled, _ = text("a", "b").pool(np.array([False, True]))
    union, left, right = align(pooled, text("b", "c"), column="x")
    assert union.to_list() == ["a", "c", RARE]
    assert (left.tolist(), right.tolist()) == ([0, 2], [2, 1])
    union, left, right = align(text("b", "c"), pooled, column="x")
    assert union.to_list() == ["c", "a", RARE]
    assert (left.tolist(), right.tolist()) == ([2, 0], [1, 2])


def test_align_of_different_types_names_the_column() -> None:
    with pytest.raises(DataError, match=r"'x'.*text.*integer"):
        align(text("1"), Labels(pa.array([1])), column="x")


def test_align_of_nothing_but_missing_takes_the_other_type() -> None:
    union, left, right = align(Labels(pa.nulls(1)), Labels(pa.array([3, None])), column="x")
    assert union.to_list() == [None, 3]
    assert (left.tolist(), right.tolist()) == ([0], [1, 0])


def test_many_labels_align() -> None:
    n = 50_000
    left, right = text(*map(str, range(n))), text(*map(str, range(n // 2, n + n // 2)))
    union, _, right_map = align(left, right, column="x")
    assert len(union) == n + n // 2
    assert right_map[: n // 2].tolist() == list(range(n // 2, n))


def test_missing_code_and_names() -> None:
    labels = text("a", None)
    assert labels.missing_code == 1
    assert labels.names() == ["a", "(missing)"]
    assert text("a").missing_code is None


def test_a_label_named_missing_is_not_the_missing_level() -> None:
    assert text("(missing)", None, "(missing) (2)").names() == ["(missing)", "(missing) (3)", "(missing) (2)"]


def test_numbers_match_by_value_whatever_their_type() -> None:
    whole, floats, large = pa.array([2**53, 1, None]), pa.array([1.0, 2.5, None]), pa.array([2**63, 1], pa.uint64())
    assert positions(floats, whole).tolist() == [1, -1, 2]
    assert positions(whole, floats).tolist() == [-1, 0, 2]
    assert positions(large, whole).tolist() == [-1, 1]
    assert positions(pa.array([2**53 + 1]), pa.array([2.0**53])).tolist() == [-1]
    assert positions(pa.array([2**63 - 1]), pa.array([2.0**63])).tolist() == [-1]
    assert positions(pa.array([2.0**63, 2.0**64, -1.0, float("inf")]), large).tolist() == [0, -1, -1, -1]


def test_numbers_of_two_types_are_joined_exactly_or_refused_by_name() -> None:
    union, _, right = align(Labels(pa.array([1, 2])), Labels(pa.array([2.0, 7.0])), column="x")
    assert union.values.type == pa.int64()
    assert (union.to_list(), right.tolist()) == ([1, 2, 7], [1, 2])
    union, _, _ = align(Labels(pa.array([1])), Labels(pa.array([2.5])), column="x")
    assert union.names() == ["1", "2.5"]
    with pytest.raises(DataError, match=r"'x'.*exactly"):
        align(Labels(pa.array([2**53 + 1])), Labels(pa.array([0.5])), column="x")
    with pytest.raises(DataError, match=r"'x'.*exactly"):
        align(Labels(pa.array([-1])), Labels(pa.array([2**63 + 1], pa.uint64())), column="x")


def test_whole_numbers_are_written_alike_from_integers_and_floats() -> None:
    assert Labels(pa.array([3, None])).names() == Labels(pa.array([3.0, None])).names() == ["3", "(missing)"]
