"""Metrics against direct definitions, and the one function behind them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gramian.distances.metrics.pairwise import metric_names, pairwise_distances
from gramian.errors import DataError

WORDS = ["Smith", "Smyth", "Schmidt", "Jones", "Johnson", "", "Müller", "Mueller"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_gower_leaves_missing_columns_out_of_a_pair(make: object) -> None:
    columns = {"age": [20.0, 40.0, None, 60.0], "color": ["red", None, "red", "blue"], "city": ["a", "a", "b", "a"]}
    found = pairwise_distances(make(columns), metric="gower")  # type: ignore[operator]
    assert found[0, 1] == pytest.approx(np.mean([0.5, 0]))
    assert found[0, 2] == pytest.approx(np.mean([0, 1]))
    assert found[0, 3] == pytest.approx(np.mean([1, 1, 0]))
    np.testing.assert_array_equal(found, found.T)


def test_gower_measures_new_rows_with_the_reference_ranges() -> None:
    reference = pa.table({"x": [0.0, 10.0], "c": ["a", "b"]})
    found = pairwise_distances(pa.table({"c": ["z", "a"], "x": [100.0, 5.0]}), reference, metric="gower")
    np.testing.assert_allclose(found, [[1.0, 1.0], [0.25, 0.75]])


def test_float32_and_progress(capsys: pytest.CaptureFixture[str]) -> None:
    found = pairwise_distances(WORDS, metric="levenshtein", dtype="float32", progress=False)
    assert found.dtype == np.float32
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("objects", "options", "words"),
    [
        (["a"], {"metric": "levenstein"}, "did you mean 'levenshtein'"),
        (["a", None], {"metric": "levenshtein"}, "object 1 is None"),
        (["a", 3.5], {"metric": "indel"}, "object 1 is 3.5"),
        ("abc", {"metric": "indel"}, "one text"),
        (["a"], {"metric": "levenshtein", "window": 3}, "no parameter 'window'"),
        ([[1.0, np.nan]], {"metric": "dtw"}, "series 0 contains NaN"),
        ([[1.0], np.ones((2, 2))], {"metric": "dtw"}, "channels"),
        ([[1.0]], {"metric": "dtw", "window": -1}, "window is -1"),
        (["ab"], {"metric": "jaccard"}, "object 0 is 'ab'"),
        (np.array([[1.0, np.inf]]), {"metric": "euclidean"}, "row 0, column 1"),
        (["a"], {"metric": "levenshtein", "power": 0}, "power is 0"),
        (["a"], {"metric": "levenshtein", "dtype": "int8"}, "float64"),
        (
            pa.table({"a": [None, 1.0], "b": ["x", None]}),
            {"metric": "gower"},
            "share no observed column: one has only 'b', the other 'a'",
        ),
        (pa.table({"a": [1.0, None], "b": ["x", None]}), {"metric": "gower"}, "row 1 has no observed value"),
    ],
)
def test_bad_objects_are_one_clear_line(objects: object, options: dict[str, object], words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        pairwise_distances(objects, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_every_name_is_listed() -> None:
    assert {"levenshtein", "alignment", "dtw", "gower", "jaccard", "euclidean"} <= set(metric_names())
