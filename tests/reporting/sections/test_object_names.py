"""Objects are called by themselves, by a table that describes them, or by their position."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

import gramian as gm
from gramian.reporting.sections.distance_models import namer


def test_texts_vectors_and_sets_name_themselves() -> None:
    vectors = np.arange(30.0).reshape(5, 6)
    model = gm.ClassicalMDS(1, metric="euclidean").fit(vectors)
    assert namer(model)(1) == "(6, 7, 8, 9, …)"
    sets = [["a", "b"], ["b"], ["c", "a"]]
    assert namer(gm.ClassicalMDS(1, metric="jaccard").fit(sets))(0) == "a b"


def test_of_landmarks_alone_the_others_have_their_position(words: SimpleNamespace) -> None:
    model = gm.ClassicalMDS(1, metric="levenshtein", n_landmarks=5).fit(words.objects)
    names = [namer(model)(k) for k in range(60)]
    assert [names[k] for k in model.landmarks_] == [words.objects[k] for k in model.landmarks_]
    assert sum(name.startswith("object ") for name in names) == 55


def test_a_column_of_distinct_texts_names_objects_known_by_distances() -> None:
    model = gm.ClassicalMDS(1).fit(np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0])))
    table = pa.table({"kind": ["a", "a", "b"], "name": ["x", "y", "z"]})
    assert namer(model, table)(2) == "z"
    assert namer(model, table.select(["kind"]))(2) == "object 2"
