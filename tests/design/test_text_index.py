import numpy as np
import pyarrow as pa
import pytest

from gramian.design.codebook import TextIndex


def words(rng, n, *, longest, alphabet="ab"):
    letters = np.array(list(alphabet))
    return ["".join(letters[rng.integers(len(letters), size=rng.integers(0, longest + 1))]) for _ in range(n)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("longest", [3, 9, 40])
def test_codes_decode_to_the_texts_in_order_of_first_sight(kind, longest):
    rng = np.random.default_rng(longest)
    values = [None if rng.random() < 0.1 else word for word in words(rng, 3000, longest=longest)]
    index = TextIndex()
    codes = np.concatenate([index.codes(pa.array(values[k : k + 700], kind)) for k in range(0, 3000, 700)])
    labels = index.labels().to_pylist()
    assert [labels[code] for code in codes] == values
    assert labels == list(dict.fromkeys(values))


def test_texts_that_differ_in_one_byte_are_different():
    # Lengths around the eight bytes that are read at a time, the differing byte everywhere.
    for length in range(1, 26):
        base = "x" * length
        texts = [base, *(base[:k] + "y" + base[k + 1 :] for k in range(length)), base + "x"]
        index = TextIndex()
        assert index.codes(pa.array(texts)).tolist() == list(range(len(texts)))
        assert index.codes(pa.array(texts)).tolist() == list(range(len(texts)))


def test_slices_read_their_own_rows():
    index = TextIndex()
    column = pa.array(["skip", "a", None, "b", "a", "skip"])
    assert index.codes(column.slice(1, 4)).tolist() == [0, 1, 2, 0]
    assert index.labels().to_pylist() == ["a", None, "b"]


def test_looking_up_adds_nothing():
    index = TextIndex()
    index.codes(pa.array(["a"]))
    assert index.codes(pa.array(["b", None, "a"]), insert=False).tolist() == [-1, -1, 0]
    assert len(index) == 1


def test_growing_keeps_every_code():
    index = TextIndex()
    texts = pa.array([f"label number {k}" for k in range(20_000)])
    first = index.codes(texts)
    assert (first == np.arange(20_000)).all()
    assert (index.codes(texts) == first).all()


def test_empty_texts_and_long_ones():
    index = TextIndex()
    long = "z" * 100_000
    assert index.codes(pa.array(["", long, "", "é" * 5, long])).tolist() == [0, 1, 0, 2, 1]
    assert index.labels().to_pylist() == ["", long, "é" * 5]


def test_labels_that_differ_little_spread_over_the_table():
    index = TextIndex()
    index.codes(pa.array([f"level {k:06d}" for k in range(50_000)]))
    taken = np.flatnonzero(index._slots)
    # Evenly spread labels leave short runs: with 38% of the slots taken, probing 64 in a row is out of the question.
    breaks = np.flatnonzero(np.diff(taken) > 1)
    runs = np.diff(np.concatenate([[-1], breaks, [len(taken) - 1]]))
    assert runs.max() < 64


def test_large_texts_are_read_in_parts_where_they_have_too_many_letters(monkeypatch):
    texts = [f"{k % 7}" * (k % 23) if k % 5 else None for k in range(200)]
    expected = TextIndex().codes(pa.array(texts))
    monkeypatch.setattr("gramian.design.codebook._MOST_LETTERS", 100)
    found = TextIndex().codes(pa.array(["before", *texts], pa.large_string())[1:])
    np.testing.assert_array_equal(found, expected)


def test_bytes_are_those_that_labels_use():
    index = TextIndex()
    index.codes(pa.array([f"{k:020d}" for k in range(5000)]))
    # Letters, a start, two ends and a length each; slots, a power of two, more than two and at most eight of them a label.
    assert 5000 * (20 + 8 + 16 + 1) + 4 * 2 * 5000 < index.nbytes <= 5000 * (20 + 8 + 16 + 1) + 4 * 8 * 5000
    assert index.label_bytes == 5000 * (20 + 8)
    assert index.labels().nbytes == index.label_bytes
