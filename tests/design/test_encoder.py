from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from gramian.design.codebook import OutsideDictionary
from gramian.design.encoder import Encoder
from gramian.design.kinds import plan_columns, types_of

TABLE = pa.table({"c": ["a", "b", "a"], "k": [1, 2, 1], "x": [0.5, None, 2.5], "w": [1.0, 0.0, 2.0]})


def encoder(**arguments) -> Encoder:
    return Encoder(plan_columns(types_of(TABLE.schema), exclude="w"), **arguments)


def test_a_stretch_is_codes_and_numbers() -> None:
    rows = encoder().encode(TABLE.to_batches())
    assert rows.coded == ("c", "k")
    assert rows.numeric == ("x",)
    assert [codes.tolist() for codes in rows.codes] == [[0, 1, 0], [0, 1, 0]]
    assert rows.n_levels == [2, 2]
    np.testing.assert_array_equal(rows.numbers, [[0.5], [np.nan], [2.5]])
    assert rows.weights is None
    assert rows.folds is None


def test_batches_become_one_stretch() -> None:
    apart = encoder().encode(TABLE.to_batches(max_chunksize=1))
    together = encoder().encode(TABLE.to_batches())
    for a, b in zip(apart.codes, together.codes, strict=True):
        np.testing.assert_array_equal(a, b)


def test_short_batches_with_dictionaries_of_their_own_become_one_stretch() -> None:
    parts = [
        pa.table({"c": [f"l{k % 7}", None, "a"], "k": [k, 1, None], "x": [0.5, None, k], "w": [1.0] * 3})
        for k in range(9)
    ]
    coded = [part.set_column(0, "c", part["c"].dictionary_encode()).to_batches()[0] for part in parts]
    apart, together = encoder().encode(coded), encoder().encode(pa.concat_tables(parts).combine_chunks().to_batches())
    for a, b in zip([*apart.codes, apart.numbers], [*together.codes, together.numbers], strict=True):
        np.testing.assert_array_equal(a, b)


def test_short_batches_with_an_index_outside_their_dictionary_are_refused() -> None:
    wild = pa.DictionaryArray.from_arrays(pa.array([0, 9_999_999, 0]), pa.array(["a"]), safe=False)
    batches = [*TABLE.to_batches()] * 2
    coded = [batch.set_column(0, "c", column) for batch, column in zip(batches, (wild, wild), strict=True)]
    with pytest.raises(OutsideDictionary, match="column 'c' is damaged: an index leads outside its dictionary of 1"):
        encoder().encode(coded)


def test_rows_of_weight_zero_leave_before_levels_are_given() -> None:
    rows = encoder(weight_column="w").encode(TABLE.to_batches())
    assert rows.n_rows == 2
    assert rows.weights.tolist() == [1.0, 2.0]
    assert rows.n_levels == [1, 1]


def test_integers_turn_into_numbers_mid_pass() -> None:
    book = encoder()
    assert book.encode(TABLE.to_batches()).coded == ("c", "k")
    many = pa.table({"c": ["a"] * 100, "k": list(range(100)), "x": [1.0] * 100, "w": [1.0] * 100})
    rows = book.encode(many.to_batches())
    assert rows.coded == ("c",)
    assert rows.numeric == ("k", "x")
    np.testing.assert_array_equal(rows.numbers[:, 0], np.arange(100))
    assert book.schema["k"].form == "number"
    assert book.encode(TABLE.to_batches()).coded == ("c",)


def test_folds_pick_their_rows() -> None:
    rows = encoder(n_folds=2).encode(TABLE.to_batches())
    with ThreadPoolExecutor(2) as pool:
        parts = rows.by_fold(2, pool)
    assert [part.n_rows for part in parts] == np.bincount(rows.folds, minlength=2).tolist()
    for k, part in enumerate(parts):
        np.testing.assert_array_equal(part.numbers, rows.numbers[rows.folds == k])
        for found, whole in zip(part.codes, rows.codes, strict=True):
            np.testing.assert_array_equal(found, whole[rows.folds == k])


@pytest.mark.parametrize("column", ["c", "x"])
def test_only_columns_asked_for_are_read(column: str) -> None:
    book = Encoder(plan_columns(types_of(TABLE.schema), columns=column), weight_column="w", fold_column="k", n_folds=2)
    assert book.source_columns == [column, "w", "k"]
