import json

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.schema import Column, Labels
from gramian.errors import DataError, FileFormatError
from gramian.maps.state import pack, unpack


def there_and_back(value):
    tensors = {}
    description = json.loads(json.dumps(pack(value, tensors, "state")))
    return unpack(description, tensors)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        "text",
        0.1,
        float("inf"),
        [1, "a", None],
        (1.5, (2,)),
        {"a": [1], "b": {"c": 2.5}},
        Column("a", "number", "a"),
    ],
)
def test_plain_values_come_back(value):
    found = there_and_back(value)
    assert found == value
    assert type(found) is type(value)


def test_nan_comes_back():
    assert np.isnan(there_and_back(float("nan")))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.array(3),
        np.array([True, False]),
        np.zeros((0, 4)),
        np.array(["a", None], dtype=object),
    ],
)
def test_arrays_come_back(array):
    found = there_and_back(array)
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype
    assert found.shape == array.shape


def test_labels_come_back():
    labels = Labels(pa.array(["a", None, "é"], pa.large_string()), True, pa.array(["z"], pa.large_string()))
    found = there_and_back(labels)
    assert found.to_list() == labels.to_list()
    assert found.pooled.to_pylist() == ["z"]


def test_code_cannot_be_stored():
    with pytest.raises(DataError, match="function"):
        pack({"metric": lambda a, b: 0.0}, {}, "parameters")


def test_an_unknown_description_is_refused():
    with pytest.raises(FileFormatError, match="does not know"):
        unpack({"value": "Popen", "fields": {}}, {})


def test_a_value_of_another_release_is_refused_in_one_line():
    with pytest.raises(FileFormatError, match=r"PairSurprise.*fit the model again"):
        unpack({"value": "PairSurprise", "fields": {}}, {})


def test_moments_come_back(rng):
    table = {"a": rng.choice(["x", "y"], 50), "b": rng.normal(size=50), "c": rng.integers(0, 5, 50)}
    m = gm.collect(pa.table(table))
    assert there_and_back({"counts": m})["counts"] == m


def test_texts_are_as_wide_as_they_were_unless_that_takes_memory():
    assert unpack({"labels_array": ["a", "bc"], "shape": [2], "width": 9}, {}).dtype == np.dtype("U9")
    # A width of 400 million letters is 1.6 GB.
    read = unpack({"labels_array": ["a", "bc"], "shape": [2], "width": 400_000_000}, {})
    assert (read.dtype, read.tolist()) == (np.dtype("U2"), ["a", "bc"])


def test_a_part_of_a_date_that_is_none_is_refused():
    column = pack(Column("when", "category", "when", "month"), {}, "column")
    column["fields"]["part"] = "century"
    with pytest.raises(FileFormatError):
        unpack(column, {})
