from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gramian.design.codebook import Codebook, FrozenCodebook, IntegerCodebook, OutsideDictionary, TooManyLevels
from gramian.design.schema import Labels, number_values


def decoded(book: Codebook | IntegerCodebook, codes: np.ndarray) -> list:
    labels = book.labels().to_list()
    return [labels[k] for k in codes]


VALUES = {
    "text": (["b", None, "a", "b"], pa.string()),
    "large text": (["b", None, "a", "b"], pa.large_string()),
    "text view": (["b", None, "a", "b"], pa.string_view()),
    "dictionary": (["b", None, "a", "b"], pa.dictionary(pa.int8(), pa.string())),
    "wide dictionary": (["b", None, "a", "b"], pa.dictionary(pa.int64(), pa.large_string())),
    "booleans": ([True, None, False, True], pa.bool_()),
    "integers": ([5, None, 3, 5], pa.int16()),
    "floats": ([0.5, None, 3.0, 0.5], pa.float32()),
    "only missing": ([None, None], pa.string()),
    "null": ([None, None], pa.null()),
}


@pytest.mark.parametrize("kind", VALUES)
def test_codes_decode_to_the_values(kind: str) -> None:
    values, arrow = VALUES[kind]
    column = pa.array(values, arrow if not pa.types.is_dictionary(arrow) else arrow.value_type).cast(arrow)
    book = Codebook()
    assert decoded(book, book.encode(column)) == values
    # A second batch, sliced so that offsets are not zero, keeps the codes.
    again = book.encode(column.slice(1))
    assert decoded(book, again) == values[1:]
    assert len(book) == len(set(values))


def test_dictionaries_that_differ_share_labels() -> None:
    book = Codebook()
    first = book.encode(pa.DictionaryArray.from_arrays([0, 1], ["a", "b"]))
    second = book.encode(pa.DictionaryArray.from_arrays([0, 1, 2], ["b", "c", "a"]))
    assert first[1] == second[0]
    assert first[0] == second[2]
    assert len(book) == 3


def test_unused_dictionary_entries_are_no_labels() -> None:
    book = Codebook()
    book.encode(pa.DictionaryArray.from_arrays([2, 2], ["a", "b", "c"]))
    assert book.labels().to_list() == ["c"]
    later = book.encode(pa.DictionaryArray.from_arrays([1, 2], ["a", "b", "c"]))
    assert decoded(book, later) == ["b", "c"]


def test_a_dictionary_with_a_null_entry() -> None:
    book = Codebook()
    codes = book.encode(pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None])))
    assert decoded(book, codes) == ["a", None, None]


def test_spellings_of_one_float_are_one_label() -> None:
    book = Codebook()
    codes = book.encode(pa.array([0.0, -0.0, float("nan"), None]))
    assert decoded(book, codes) == [0.0, 0.0, None, None]
    assert len(book) == 2


def test_more_than_65536_levels_take_wider_codes() -> None:
    book = Codebook()
    narrow = book.encode(pa.array([str(k) for k in range(2**16)]))
    assert narrow.dtype == np.uint16
    wide = book.encode(pa.array([str(k) for k in range(2**16 - 1, 2**16 + 2)]))
    assert wide.dtype == np.uint32
    assert wide.tolist() == [2**16 - 1, 2**16, 2**16 + 1]


def test_a_dictionary_at_a_recycled_address_is_matched_again() -> None:
    # The codebook skips dictionaries whose memory it has seen: that memory must not have been freed and reused.
    book = Codebook()
    for k in range(50):
        words = [f"w{k}", f"v{k}"]
        codes = book.encode(pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(words)))
        assert decoded(book, codes) == words


@pytest.mark.parametrize("step", [1, 256, 2**40])
def test_integers_keep_64_levels_and_missing(step: int) -> None:
    book = IntegerCodebook()
    values = [k * step for k in range(-32, 32)]
    assert decoded(book, book.encode(pa.array([*values, None, *values]))) == [*values, None, *values]
    with pytest.raises(TooManyLevels):
        book.encode(pa.array([10**15 + 1]))


def test_integers_past_int64_are_levels_too() -> None:
    book = IntegerCodebook()
    assert book.encode(pa.array([2**63, 3, None, 2**63], pa.uint64())).tolist() == [0, 1, 2, 0]
    assert book.labels().to_list() == [2**63, 3, None]


def test_integers_in_sliced_batches() -> None:
    column = pa.array([None, 1, None, 2, 3, None])
    book = IntegerCodebook()
    assert decoded(book, book.encode(column.slice(1, 2))) == [1, None]
    assert decoded(book, book.encode(column.slice(3))) == [2, 3, None]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.array([1, None], pa.int8()), [1.0, np.nan]),
        (pa.array([True, None]), [1.0, np.nan]),
        (pa.array([1.5, None], pa.float32()), [1.5, np.nan]),
        (pa.array([1500, None], pa.duration("ms")), [1.5, np.nan]),
        (pa.nulls(2), [np.nan, np.nan]),
        (pa.array([7, 7, None]).dictionary_encode(), [7.0, 7.0, np.nan]),
    ],
    ids=["integers", "booleans", "float32", "durations", "null", "dictionary"],
)
def test_numbers_are_float64_with_nan(column: pa.Array, values: list) -> None:
    found = number_values(column)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("n_rows", [1, 511, 512, 513, 2000])
def test_no_index_is_followed_outside_its_dictionary(rng, n_rows: int, nulls: bool) -> None:
    entries = pa.array(["a", "b", "c"])
    sound = rng.integers(0, 3, n_rows).astype(np.int32)
    for place in sorted({0, n_rows // 2, n_rows - 1}):
        for wild in (3, -1, 2**31 - 1, -(2**31)):
            indices = sound.copy()
            indices[place] = wild
            mask = np.zeros(n_rows + 1, dtype=bool)
            mask[-1] = nulls
            column = pa.DictionaryArray.from_arrays(pa.array(np.append(indices, 0), mask=mask), entries, safe=False)
            grown = Codebook()
            grown.encode(entries)
            # With every entry known, and with none.
            for book in (grown, Codebook()):
                with pytest.raises(OutsideDictionary, match="an index leads outside its dictionary of 3"):
                    book.encode(column)
            with pytest.raises(OutsideDictionary):
                FrozenCodebook(Labels(entries)).encode(column, np.empty(n_rows + 1, dtype=np.uint16))
            # Behind a null there may stand anything.
            mask[place] = True
            hidden = pa.DictionaryArray.from_arrays(pa.array(np.append(indices, 0), mask=mask), entries, safe=False)
            book = Codebook()
            expected = [None if m else "abc"[k] for k, m in zip(np.append(sound, 0), mask, strict=True)]
            assert decoded(book, book.encode(hidden)) == expected


def test_a_dictionary_without_entries_has_no_index_to_follow() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array([], pa.string()), safe=False)
    with pytest.raises(OutsideDictionary):
        Codebook().encode(column)
    with pytest.raises(OutsideDictionary):
        FrozenCodebook(Labels(pa.array(["a"]))).encode(column, np.empty(1, dtype=np.uint16))
