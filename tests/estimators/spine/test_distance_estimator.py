"""Objects or distances in, coordinates out: new objects by Gower's formula, and the columns that hold objects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.spatial.distance import cdist

from gramian.errors import DataError, FileFormatError
from gramian.estimators.mds import ClassicalMDS
from gramian.estimators.spine.distance_estimator import DistanceTransformer, NumberRows
from gramian.estimators.spine.fields import held, restore
from gramian.tables import open_table


@pytest.fixture
def x(rng):
    return rng.normal(size=(25, 3))


@pytest.mark.parametrize("n_landmarks", [None, 10])
def test_new_objects_are_placed_by_their_distances_to_the_reference_objects(x, rng, n_landmarks):
    new = rng.normal(size=(6, 3))
    model = ClassicalMDS(2, n_landmarks=n_landmarks).fit(cdist(x, x))
    assert isinstance(model, DistanceTransformer)
    marks = np.arange(25) if n_landmarks is None else model.landmarks_
    squares = cdist(x[marks], x[marks]) ** 2
    np.testing.assert_allclose(model.mean_squares_, squares.mean(axis=0), rtol=1e-12)
    # -1/2 of the squares, less their means over the reference objects, on the weights; the means of rows fall out.
    rows = -0.5 * (cdist(new, x[marks]) ** 2 - squares.mean(axis=0))
    expected = (rows - rows.mean(axis=1, keepdims=True)) @ model.weights_
    found = model.transform(cdist(new, x))
    # Weights are on centred rows of squares, whatever factor they carry.
    ratio = found / expected
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-8)
    np.testing.assert_allclose(model.transform(cdist(x, x)), model.embedding_, atol=1e-9)


def test_a_metric_by_name_gives_what_its_matrix_gives(x):
    by_name = ClassicalMDS(3, metric="euclidean").fit(x)
    by_matrix = ClassicalMDS(3).fit(cdist(x, x))
    np.testing.assert_allclose(by_name.embedding_, by_matrix.embedding_, atol=1e-9)
    # Three coordinates of points in space have their distances.
    np.testing.assert_allclose(cdist(by_name.embedding_, by_name.embedding_), cdist(x, x), atol=1e-9)
    assert (by_matrix.objects_, by_matrix.n_features_in_, by_name.n_features_in_) == (None, 25, 3)
    np.testing.assert_array_equal(by_name.fit_transform(x), by_name.embedding_)


def test_float32_stays_and_can_be_asked_for(x):
    D = cdist(x, x)
    assert ClassicalMDS(2).fit(D.astype(np.float32)).transform(D.astype(np.float32)).dtype == np.float32
    assert ClassicalMDS(2, dtype="float32").fit(D).embedding_.dtype == np.float32
    assert ClassicalMDS(2).fit(D).embedding_.dtype == np.float64


def objects_of(model, table, columns=None):
    names, read = model._object_reader(open_table(table), columns)
    (batch,) = open_table(table).batches(names)
    return names, read(batch)


def test_rows_of_numbers_are_read_from_their_columns(x):
    model = ClassicalMDS(2, metric="euclidean").fit(x)
    table = pa.table({f"c{k}": x[:, k] for k in range(3)})
    names, rows = objects_of(model, table)
    assert names == ["c0", "c1", "c2"]
    assert isinstance(rows, NumberRows)
    np.testing.assert_array_equal(rows.values, x)
    np.testing.assert_allclose(model.transform(rows), model.embedding_, atol=1e-9)
    single = pa.table({f"c{k}": pa.array(x[:, k], pa.float32()) for k in range(3)})
    assert objects_of(model, single)[1].dtype == np.float32
    with pytest.raises(DataError, match=r"ClassicalMDS was fitted on rows of 3 numbers, and .* has 4 columns"):
        objects_of(model, table.append_column("more", [x[:, 0]]))
    with pytest.raises(DataError, match=r"column 'c0' of .* holds string; rows of numbers are needed here"):
        objects_of(model, table.set_column(0, "c0", [["text"] * 25]))


def test_words_are_read_from_their_one_column():
    model = ClassicalMDS(1, metric="levenshtein").fit(["ab", "abc", "b", "xyz"])
    assert objects_of(model, pa.table({"word": ["ab", "q"]})) == (["word"], ["ab", "q"])
    two = pa.table({"word": ["ab", "q"], "id": [1, 2]})
    with pytest.raises(DataError, match=r"measures objects, which stand in one column, and .* has 2: 'word', 'id'"):
        objects_of(model, two)
    assert objects_of(model, two, ["word"])[1] == ["ab", "q"]
    with pytest.raises(DataError, match="column 'word' has a row without a value"):
        objects_of(model, pa.table({"word": ["ab", None]}))


@pytest.mark.parametrize(
    ("options", "X", "words"),
    [
        ({"dtype": "int8"}, None, "dtype is 'float32', 'float64' or None; got 'int8'"),
        ({"n_components": 0}, None, "n_components"),
        ({"metric_params": 3}, None, "metric_params"),
        ({}, np.zeros((1, 1)), "needs at least 2 objects; got n_samples = 1"),
    ],
)
def test_what_cannot_be_fitted_is_named(x, options, X, words):
    with pytest.raises(DataError, match=words):
        ClassicalMDS(**{"n_components": 1, **options}).fit(cdist(x, x) if X is None else X)


def test_rows_of_distances_have_one_for_each_training_object(x):
    model = ClassicalMDS(2).fit(cdist(x, x))
    with pytest.raises(DataError, match="X has 3 features, but ClassicalMDS is expecting 25 features as input"):
        model.transform(np.ones((2, 3)))
    with pytest.raises(DataError, match="minimum of 1 is required"):
        model.transform(np.ones((0, 25)))
    assert model.__sklearn_tags__().input_tags.pairwise


def test_parts_of_a_file_that_do_not_fit_are_refused(x):
    values = held(ClassicalMDS(2, n_landmarks=10).fit(cdist(x, x)))
    restore(ClassicalMDS(2, n_landmarks=10), values)
    for name, value in (
        ("weights_", values["weights_"][:-1]),
        ("mean_squares_", values["mean_squares_"].astype(int)),
        ("landmarks_", values["landmarks_"] - 100),
        ("landmarks_", values["landmarks_"] + 100),
        ("landmarks_", None),
    ):
        with pytest.raises(FileFormatError, match=name if name != "weights_" else "mean_squares_"):
            restore(ClassicalMDS(2, n_landmarks=10), {**values, name: value})


def test_damaged_or_odd_columns_of_arrow_are_one_line():
    wild = pa.DictionaryArray.from_arrays(pa.array([0, 9]), pa.array(["red"]), safe=False)
    nested = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([{"a": 1}, {"a": 2}]))
    for metric in ("euclidean", "gower"):
        for column in (wild, nested):
            with pytest.raises((TypeError, ValueError), match=r"number|distance|damaged|float") as caught:
                ClassicalMDS(metric=metric).fit(pa.table({"c": column}))
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("values", [np.zeros((0, 2)), np.array([[1.0, np.inf], [2.0, 3.0]])])
def test_gower_needs_rows_and_numbers_that_are_finite(values):
    with pytest.raises(DataError, match=r"no rows|infinite"):
        ClassicalMDS(metric="gower").fit(pd.DataFrame(values, columns=["a", "b"]))
