"""Dictionaries give way to what they stand for."""

from __future__ import annotations

import pyarrow as pa

from gramian.tables.base import decoded, decoded_schema


def batch(values):
    coded = pa.array(values).dictionary_encode()
    return pa.record_batch(
        {"c": coded, "n": pa.array(range(len(values))), "k": pa.array([7] * len(values)).dictionary_encode()}
    )


def test_values_and_types_are_those_that_dictionaries_stand_for():
    given = batch(["b", None, "a", "b"])
    found = decoded(given)
    assert found.to_pydict() == given.to_pydict() == {"c": ["b", None, "a", "b"], "n": [0, 1, 2, 3], "k": [7] * 4}
    assert (
        found.schema
        == decoded_schema(given.schema)
        == pa.schema([("c", pa.string()), ("n", pa.int64()), ("k", pa.int64())])
    )
    found.validate(full=True)


def test_batches_of_other_dictionaries_join():
    parts = [decoded(batch(values)) for values in (["a", "b"], ["z"], [])]
    assert pa.Table.from_batches(parts[:2])["c"].to_pylist() == ["a", "b", "z"]
    assert parts[2].num_rows == 0
