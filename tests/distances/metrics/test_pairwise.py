"""Metrics against direct definitions, and the one function behind them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.spatial.distance import cdist

from gramian.distances.metrics.pairwise import metric_names, pairwise_distances
from gramian.distances.metrics.vectors import NAMES
from gramian.errors import DataError, MissingPackageError

WORDS = ["Smith", "Smyth", "Schmidt", "Jones", "Johnson", "", "Müller", "Mueller"]


def warped(a: np.ndarray, b: np.ndarray, window: int) -> float:
    table = np.full((len(a) + 1, len(b) + 1), np.inf)
    table[0, 0] = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if abs(i - j) <= max(window, abs(len(a) - len(b))):
                cost = np.sum((a[i - 1] - b[j - 1]) ** 2)
                table[i, j] = cost + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return float(np.sqrt(table[-1, -1]))


def edits(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, before = [i], row
        for j, z in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != z)))
    return row[-1]


def test_levenshtein_counts_edits() -> None:
    found = pairwise_distances(WORDS, metric="levenshtein")
    np.testing.assert_array_equal(found, [[edits(a, b) for b in WORDS] for a in WORDS])
    np.testing.assert_allclose(pairwise_distances(WORDS, metric="levenshtein", power=0.5), np.sqrt(found))


@pytest.mark.parametrize("metric", ["levenshtein", "indel", "hamming", "jaro", "jaro_winkler", "osa"])
def test_one_list_or_two_and_any_threads_agree(metric: str) -> None:
    found = pairwise_distances(WORDS, metric=metric)
    np.testing.assert_array_equal(pairwise_distances(WORDS, WORDS, metric=metric, n_jobs=1), found)
    np.testing.assert_array_equal(found, found.T)
    assert (found.diagonal() == 0).all()


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_texts_come_in_any_container(make: object) -> None:
    found = pairwise_distances(make(WORDS), metric="levenshtein")  # type: ignore[operator]
    np.testing.assert_array_equal(found, pairwise_distances(WORDS, metric="levenshtein"))


def test_sequences_of_symbols_are_texts() -> None:
    states = [["work", "work", "school"], ["school", "work", "school"], ["jobless"]]
    letters = ["wws", "sws", "j"]
    for metric in ("levenshtein", "indel", "hamming"):
        np.testing.assert_array_equal(
            pairwise_distances(states, metric=metric), pairwise_distances(letters, metric=metric)
        )


@pytest.mark.parametrize("window", [None, 2, 0.2])
def test_dtw_is_the_dynamic_programme(rng: np.random.Generator, window: float | None) -> None:
    series = [rng.normal(size=n) for n in (12, 9, 12, 15)]
    found = pairwise_distances(series, metric="dtw", window=window)

    def width(a: np.ndarray, b: np.ndarray) -> int:
        longest = max(len(a), len(b))
        return longest if window is None else int(window) if window >= 1 else int(np.ceil(window * longest))

    expected = [[warped(a, b, width(a, b)) for b in series] for a in series]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_dtw_of_channels_and_window_zero(rng: np.random.Generator) -> None:
    series = rng.normal(size=(5, 8, 3))
    plain = cdist(series.reshape(5, -1), series.reshape(5, -1))
    np.testing.assert_allclose(pairwise_distances(series, metric="dtw", window=0), plain, atol=1e-12)
    free = pairwise_distances(series, metric="dtw", window=None)
    assert free[0, 1] == pytest.approx(warped(series[0], series[1], 8))


def test_jaccard_is_one_less_the_common_share() -> None:
    sets = [{"a", "b", "c"}, {"b", "c"}, {"d"}, set()]
    expected = [[1 - len(a & b) / len(a | b) if a | b else 0.0 for b in sets] for a in sets]
    np.testing.assert_allclose(pairwise_distances(sets, metric="jaccard"), expected)
    np.testing.assert_allclose(pairwise_distances(sets[:2], sets, metric="jaccard"), expected[:2])


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


@pytest.mark.parametrize(
    "metric", sorted(set(NAMES) - {"yule", "russellrao", "jensenshannon", "mahalanobis", "seuclidean"})
)
def test_scipy_names_are_scipy(rng: np.random.Generator, metric: str) -> None:
    X = rng.integers(0, 2, size=(20, 6)).astype(float) if metric in BOOLEAN else rng.random((20, 6))
    np.testing.assert_allclose(pairwise_distances(X, metric=metric, n_jobs=2), cdist(X, X, metric), atol=1e-12)


BOOLEAN = {"dice", "hamming", "jaccard", "rogerstanimoto", "sokalsneath"}


def test_variances_are_those_of_the_reference(rng: np.random.Generator) -> None:
    X, new = rng.normal(size=(30, 3)) * [1, 5, 9], rng.normal(size=(4, 3))
    expected = cdist(new, X, "seuclidean", V=X.var(axis=0, ddof=1))
    np.testing.assert_allclose(pairwise_distances(new, X, metric="seuclidean"), expected)
    expected = cdist(new, X, "mahalanobis", VI=np.linalg.inv(np.cov(X.T)))
    np.testing.assert_allclose(pairwise_distances(new, X, metric="mahalanobis"), expected)


def test_alignment_is_the_score_as_inner_product() -> None:
    pytest.importorskip("Bio")
    found = pairwise_distances(["MKVL", "MKVI", "WWWW"], metric="alignment")
    # BLOSUM62: M 5, K 5, V 4, L 4, I 4, I/L 2.
    assert found[0, 1] == pytest.approx(np.sqrt(18 + 18 - 2 * 16))
    assert found[0, 2] > found[0, 1]
    with pytest.raises(DataError, match="holds '1'"):
        pairwise_distances(["M1"], metric="alignment")
    with pytest.raises(DataError, match="no substitution matrix"):
        pairwise_distances(["MK"], metric="alignment", matrix="BLOSUM1")


def test_a_callable_is_called_once_a_pair() -> None:
    calls = []

    def gap(a: int, b: int) -> float:
        calls.append((a, b))
        return abs(a - b)

    found = pairwise_distances(list(range(40)), metric=gap)
    np.testing.assert_array_equal(found, np.abs(np.subtract.outer(range(40), range(40))))
    assert len(calls) == 40 * 39 / 2


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


def test_absent_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rapidfuzz", None)
    with pytest.raises(MissingPackageError, match="pip install"):
        pairwise_distances(["a"], metric="levenshtein")


def test_every_name_is_listed() -> None:
    assert {"levenshtein", "alignment", "dtw", "gower", "jaccard", "euclidean"} <= set(metric_names())
