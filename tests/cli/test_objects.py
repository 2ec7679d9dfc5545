"""Objects for methods of distances: columns, lines, arrays, and what is asked where that is not clear."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.cli.objects import read_objects
from gramian.cli.wording import UsageError
from gramian.errors import DataError


def test_a_column_its_classes_and_where_they_stood(files):
    found = read_objects([str(files / "words.csv")], column="word", target="language")
    assert found.values[:2] == ["haus", "maus"]
    assert found.target[-1] == "en"
    assert found.notes == {"column": "word"}


def test_lines_and_arrays_have_no_columns(files, tmp_path):
    assert len(read_objects([str(files / "words.txt")]).values) == 12
    np.save(tmp_path / "d.npy", np.eye(3))
    np.testing.assert_array_equal(read_objects([str(tmp_path / "d.npy")]).values, np.eye(3))
    with pytest.raises(UsageError, match="no columns"):
        read_objects([str(files / "words.txt")], column="word")


def test_columns_of_numbers_are_vectors_and_others_a_table(tmp_path, files):
    (tmp_path / "v.csv").write_text("a,b\n1,2\n3,4.5\n")
    found = read_objects([str(tmp_path / "v.csv")], metric="euclidean")
    np.testing.assert_array_equal(found.values, [[1, 2], [3, 4.5]])
    assert found.notes == {"columns": '["a", "b"]'}
    mixed = read_objects([str(files / "words.csv")], metric="gower")
    assert mixed.values.column_names == ["word", "language"]


def test_texts_ask_for_a_metric_and_several_columns_for_one(files):
    with pytest.raises(DataError, match=r"metric='levenshtein'"):
        read_objects([str(files / "words.csv")], metric="precomputed")
    with pytest.raises(DataError, match=r"\(word, language\).*--column"):
        read_objects([str(files / "words.csv")], metric="levenshtein")
    alone = read_objects([str(files / "words.csv")], metric="levenshtein", exclude=["language"])
    assert alone.notes == {"column": "word"}


def test_an_object_must_be_there(tmp_path):
    (tmp_path / "w.csv").write_text("w,x\na,1\n,2\n")
    with pytest.raises(DataError, match="row 1"):
        read_objects([str(tmp_path / "w.csv")], column="w")
