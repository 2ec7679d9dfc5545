"""How a pass groups the batches it reads."""

import pyarrow as pa
import pytest

from gramian.tables.base import stretches


def batches(*rows: int) -> list[pa.RecordBatch]:
    return [pa.record_batch({"x": pa.array(range(n))}) for n in rows]


@pytest.mark.parametrize(
    ("given", "least", "expected"),
    [
        ([4, 4, 4], None, [[4, 4, 2], [2]]),
        ([4, 4, 4], 5, [[4, 4], [4]]),
        ([6, 6], 5, [[6], [6]]),
        ([25], 5, [[10], [10], [5]]),
        ([4, 9], 5, [[4, 6], [3]]),
    ],
)
def test_a_stretch_ends_as_soon_as_it_has_enough_rows_and_never_has_too_many(given, least, expected):
    groups = [[batch.num_rows for batch in group] for group in stretches(batches(*given), 10, least)]
    assert groups == expected


def test_a_stretch_with_enough_rows_is_not_kept_until_the_next_batch_is_read():
    read = []

    def source():
        for batch in batches(6, 6):
            read.append(batch)
            yield batch

    next(stretches(source(), 10, 5))
    assert len(read) == 1


def test_a_stretch_ends_with_so_many_bytes_whatever_its_rows_dictionaries_aside():
    texts = [pa.record_batch({"t": pa.array(["x" * 1000] * 4)}) for _ in range(6)]
    assert [len(group) for group in stretches(texts, 10**6, None, 9000)] == [3, 3]
    coded = [pa.record_batch({"t": pa.array(["x" * 10_000] * 4).dictionary_encode()}) for _ in range(6)]
    assert [len(group) for group in stretches(coded, 10**6, None, 9000)] == [6]


class Counted:
    """Twenty rows of one column, which know how often their bytes were asked for."""

    num_rows, type, asked = 20, pa.int64(), 0

    @property
    def columns(self):
        return [self]

    @property
    def nbytes(self):
        self.asked += 1
        return 160

    def slice(self, start, length):
        return self


def test_the_bytes_of_each_batch_are_counted_once():
    """Adding up all that wait for every batch that joins them takes time by the square of their number."""
    given = [Counted() for _ in range(500)]
    groups = list(stretches(given, 10**6, None, 20_000))
    assert [batch.asked for batch in given] == [1] * 500
    # 160 bytes per batch: 125 of them are 20,000 bytes.
    assert [len(group) for group in groups] == [125] * 4
