import numpy as np
import pytest
import scipy.sparse as sp

from gramian.moments.counting import joint_tables as byte_table
from gramian.moments.counting.joint_tables import ByteTable


def counted(first, second, shape):
    expected = np.zeros(shape, np.int64)
    np.add.at(expected, (first.astype(int), second.astype(int)), 1)
    return expected


def dense(block):
    return block.toarray() if sp.issparse(block) else block


@pytest.mark.parametrize("kinds", [(np.uint16, np.uint16), (np.uint16, np.uint32), (np.uint32, np.uint16)])
@pytest.mark.parametrize("shape", [(3, 4), (700, 900)])
def test_counts_are_exact_past_what_a_byte_holds(kinds, shape):
    rng = np.random.default_rng(3)
    table, expected = ByteTable(shape), np.zeros(shape, np.int64)
    for n in (0, 1, 5000, 300_000):
        # Squared, so that a few cells wrap often while most stay below 256.
        codes = [(rng.random(n) ** 6 * size).astype(kind) for kind, size in zip(kinds, shape, strict=True)]
        table.add(*codes)
        expected += counted(*codes, shape)
    assert expected.max() > 256
    block = table.take(shape)
    np.testing.assert_array_equal(dense(block), expected)
    assert block.dtype == (np.int16 if expected.max() < 2**15 else np.int32)


def test_a_count_that_is_a_multiple_of_256_is_not_lost_in_a_sparse_block():
    codes = np.repeat(np.arange(400, dtype=np.uint16), 256)
    table = ByteTable((400, 500))
    table.add(codes, codes)
    block = table.take((400, 500))
    assert sp.issparse(block)
    assert block.has_canonical_format
    np.testing.assert_array_equal(block.toarray(), 256 * np.eye(400, 500, dtype=np.int64))


def test_more_notes_than_there_is_room_for_are_all_kept():
    # Every cell stands at 255, so that each row of the next stretch is a note.
    codes = np.arange(4000, dtype=np.uint16)
    none = np.zeros(4000, np.uint16)
    table = ByteTable((4000, 1))
    for _ in range(256):
        table.add(codes, none)
    np.testing.assert_array_equal(dense(table.take((4000, 1))), np.full((4000, 1), 256))


def test_notes_summed_up_in_between_count_as_often_as_they_were_taken(monkeypatch):
    monkeypatch.setattr(byte_table, "MANY_NOTES", 3)
    table = ByteTable((2, 2))
    for _ in range(7):
        table.add(np.zeros(1000, np.uint16), np.ones(1000, np.uint16))
    assert table.take((2, 2)).tolist() == [[0, 7000], [0, 0]]


def test_a_grown_table_holds_the_same_counts():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 3000).astype(np.uint16), rng.integers(0, 2, 3000).astype(np.uint16)
    table = ByteTable((3, 2))
    table.add(*codes)
    larger = table.grown((5, 7))
    larger.add(np.array([4], np.uint16), np.array([6], np.uint16))
    expected = counted(*codes, (5, 7))
    expected[4, 6] += 1
    np.testing.assert_array_equal(larger.take((5, 7)), expected)
    assert not table.take((3, 2)).any()


def test_taking_empties_the_table_and_leaves_out_room_without_levels():
    table = ByteTable((4, 4))
    table.add(np.array([1], np.uint16), np.array([1], np.uint16))
    assert table.take((2, 3)).tolist() == [[0, 0, 0], [0, 1, 0]]
    assert not table.take((2, 3)).any()
    table.add(np.array([0], np.uint16), np.array([1], np.uint16))
    assert table.take((2, 3)).tolist() == [[0, 1, 0], [0, 0, 0]]
