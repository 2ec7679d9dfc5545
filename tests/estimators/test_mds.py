"""ClassicalMDS and MDSFDA as scikit-learn estimators: inputs, outputs, slicing, files, and what they refuse."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian.distances.metrics.pairwise import pairwise_distances
from gramian.errors import DataError
from gramian.estimators.mds import ClassicalMDS
from gramian.estimators.mdsfda import MDSFDA
from gramian.estimators.spine.files import load, save


def _old_checks(estimator: Any) -> dict[str, str]:
    old = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
    precomputed = isinstance(estimator, MDSFDA) and estimator.metric == "precomputed"
    return {"check_dtype_object": "cut to a square, its rows leave one in a class"} if old and precomputed else {}


@parametrize_with_checks(
    [ClassicalMDS(), ClassicalMDS(metric="euclidean"), MDSFDA(), MDSFDA(metric="euclidean")],
    expected_failed_checks=_old_checks,
)
def test_sklearn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_words_by_name_of_metric_equal_their_matrix(words: tuple[list[str], np.ndarray]) -> None:
    texts, y = words
    D = pairwise_distances(texts, metric="levenshtein", power=0.5)
    by_name = MDSFDA(metric="levenshtein", metric_params={"power": 0.5}).fit(texts[:60], y[:60])
    by_matrix = MDSFDA().fit(D[:60, :60], y[:60])
    np.testing.assert_allclose(by_name.embedding_, by_matrix.embedding_)
    np.testing.assert_allclose(by_name.transform(texts[60:]), by_matrix.transform(D[60:, :60]))
    assert by_name.score(texts[60:], y[60:]) > 0.8
    assert by_matrix.classes_.tolist() == ["fi", "it", "xx"]


def test_distances_are_sliced_on_both_sides_in_cross_validation(words: tuple[list[str], np.ndarray]) -> None:
    texts, y = words
    D = pairwise_distances(texts, metric="levenshtein")
    scores = cross_val_score(MDSFDA(), D, y, cv=3)
    assert scores.mean() > 0.7
    search = GridSearchCV(MDSFDA(), {"regularization": [0.01, 0.1, "cv"]}, cv=3).fit(D, y)
    assert search.best_score_ > 0.7
    assert MDSFDA().__sklearn_tags__().input_tags.pairwise
    assert not MDSFDA(metric="levenshtein").__sklearn_tags__().input_tags.pairwise


def test_pipeline_after_a_distance_transformer(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    pipe = make_pipeline(FunctionTransformer(lambda rows: cdist(rows, X)), MDSFDA(1)).fit(X, y)
    assert pipe.score(X, y) > 0.8
    assert make_pipeline(ClassicalMDS(2, metric="cityblock"), MDSFDA(1, metric="euclidean")).fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 30}, {"solver": "iterative"}])
def test_float32_stays_float32(words: tuple[list[str], np.ndarray], options: dict[str, Any]) -> None:
    texts, y = words
    D = pairwise_distances(texts, metric="levenshtein")
    exact, single = MDSFDA(**options).fit(D, y), MDSFDA(**options).fit(D.astype(np.float32), y)
    assert single.embedding_.dtype == single.transform(D.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(np.abs(single.embedding_), np.abs(exact.embedding_), atol=2e-3)


def test_memory_mapped_distances_are_read_and_not_changed(tmp_path: Path, words: tuple[list[str], np.ndarray]) -> None:
    texts, y = words
    D = pairwise_distances(texts, metric="levenshtein", dtype="float32")
    np.save(tmp_path / "D.npy", D)
    mapped = np.load(tmp_path / "D.npy", mmap_mode="r")
    for options in ({}, {"solver": "iterative"}, {"n_landmarks": 20}):
        MDSFDA(**options).fit(mapped, y)  # type: ignore[arg-type]
    np.testing.assert_array_equal(mapped, D)


def test_duplicates_at_distance_zero_are_placed_together(words: tuple[list[str], np.ndarray]) -> None:
    texts, y = words
    texts, y = [*texts, *texts[:30]], np.concatenate([y, y[:30]])
    for model in (MDSFDA(metric="levenshtein"), ClassicalMDS(metric="levenshtein", correction="lingoes")):
        Z = model.fit_transform(texts, y)
        np.testing.assert_allclose(Z[:30], Z[90:], atol=1e-8)
        np.testing.assert_allclose(model.transform(texts), Z, atol=1e-8)


def test_mixed_table_with_missing_values(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"size": rng.normal(size=60), "color": rng.choice(["red", "blue"], 60)})
    y = np.where(frame["color"] == "red", "r", "b")
    frame.loc[3, "size"] = np.nan
    model = MDSFDA(metric="gower").fit(frame, y)
    assert model.score(frame, y) == 1
    np.testing.assert_allclose(model.transform(frame), model.embedding_, atol=1e-8)
    named = MDSFDA(metric="gower").fit(frame.assign(kind=y), "kind")
    np.testing.assert_allclose(named.embedding_, model.embedding_, atol=1e-8)
    assert named.score(frame.assign(kind=y), y) == 1
    with pytest.raises(DataError, match="did you mean 'kind'"):
        MDSFDA(metric="gower").fit(frame.assign(kind=y), "kinds")


def test_frames_by_set_output(words: tuple[list[str], np.ndarray]) -> None:
    texts, y = words
    model = MDSFDA(metric="levenshtein").set_output(transform="pandas").fit(texts, y)
    assert list(model.transform(texts).columns) == ["mdsfda0", "mdsfda1"]


@pytest.mark.parametrize("n_landmarks", [None, 25])
@pytest.mark.parametrize("metric", ["precomputed", "levenshtein"])
def test_saved_models_place_new_objects_alike(
    tmp_path: Path, words: tuple[list[str], np.ndarray], metric: str, n_landmarks: int | None
) -> None:
    texts, y = words
    X: Any = texts if metric != "precomputed" else pairwise_distances(texts, metric="levenshtein")
    for model in (
        MDSFDA(metric=metric, n_landmarks=n_landmarks, saturation=1.0),
        ClassicalMDS(metric=metric, n_landmarks=n_landmarks, correction="lingoes"),
    ):
        model.fit(X, y)
        save(model, tmp_path / "model")
        for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_allclose(again.transform(X), model.transform(X), atol=1e-12)
    assert load(tmp_path / "model").get_params() == clone(model).get_params()


@pytest.mark.parametrize("metric", ["dtw", "jaccard", "gower", "seuclidean"])
def test_saved_models_keep_what_the_metric_learned(tmp_path: Path, rng: np.random.Generator, metric: str) -> None:
    y = np.arange(20) % 2
    X: Any = rng.normal(size=(20, 6)) + y[:, None]
    if metric == "jaccard":
        X = [set(rng.choice(list("abcdef") if k else list("defghi"), 3)) for k in y]
    if metric == "gower":
        X = pd.DataFrame({"a": X[:, 0], "b": np.where(y, "u", "v")})
    model = MDSFDA(1, metric=metric).fit(X, y)
    save(model, tmp_path / "model")
    few = X[:5] if metric != "gower" else X.iloc[:5]
    np.testing.assert_allclose(load(tmp_path / "model").transform(few), model.embedding_[:5], atol=1e-8)


def test_a_callable_cannot_be_saved_and_says_so(tmp_path: Path) -> None:
    model = ClassicalMDS(1, metric=lambda a, b: abs(a - b)).fit([1.0, 2.0, 5.0])
    np.testing.assert_allclose(np.abs(np.diff(model.embedding_[:, 0])), [1, 3])
    with pytest.raises(DataError, match="metric is a function, which a model file cannot hold"):
        save(model, tmp_path / "model")


def distances() -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(8, 2))
    return cdist(X, X)


def changed(i: int, j: int, value: float) -> np.ndarray:
    D = distances()
    D[i, j] = value
    return D


TWO = [0, 1] * 4


@pytest.mark.parametrize(
    ("D", "y", "options", "words"),
    [
        (distances()[:5], TWO[:5], {}, r"shape \(5, 8\) and must be square"),
        (changed(2, 5, 9.0), TWO, {}, r"not symmetric: 9 at \(2, 5\) and 2?.* at \(5, 2\)"),
        (changed(3, 3, 0.5), TWO, {}, r"object 3 to itself is 0.5 at \(3, 3\)"),
        (-distances(), TWO, {}, "never negative"),
        (changed(1, 4, np.nan), TWO, {}, "NaN at row 1, column 4"),
        (np.exp(-distances()), TWO, {}, "diagonal is the maximum .*similarities"),
        (1 - np.exp(-distances()) * 2, TWO, {}, "never negative"),
        (np.corrcoef(np.random.default_rng(0).normal(size=(8, 5))), TWO, {}, "diagonal is the maximum .*similarities"),
        (np.zeros((8, 8)), TWO, {}, "every distance between the 8 objects is 0"),
        (distances(), [0] * 8, {}, "there is one class"),
        (distances(), [*TWO[:7], 2], {}, "class .*2.* has one object"),
        (distances(), TWO, {"n_landmarks": 9}, "n_landmarks=9 is more than the 8 objects"),
        (distances(), TWO, {"n_landmarks": 1}, "n_landmarks is None or a whole number from 2; got 1"),
        (distances(), None, {}, "requires y"),
        (distances(), "kind", {}, "names a column"),
        (distances(), [*"abababa", None], {}, "None"),
        (distances(), [*TWO[:7], np.nan], {}, "NaN"),
        (
            distances(),
            TWO,
            {"regularization": -1},
            "regularization is 'cv' or a share of the largest eigenvalue from 0; got -1",
        ),
        (distances(), TWO, {"saturation": 0}, "saturation is None, 'auto', 'cv' or a rate above 0; got 0"),
        (distances(), TWO, {"priors": [1.0]}, "priors must be 2"),
        (distances(), TWO, {"n_components": 0}, "n_components"),
        (distances(), TWO, {"solver": "fast"}, "solver is 'auto', 'exact' or 'iterative'; got 'fast'"),
        (["a", "b"], [0, 1], {}, "matrix of numbers"),
        (["a"] * 8, TWO, {"metric": "levenstein"}, "did you mean"),
    ],
)
def test_bad_input_is_one_clear_line(D: Any, y: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        MDSFDA(**options).fit(D, y)
    assert "\n" not in str(caught.value)


def test_rows_of_distances_need_a_column_for_each_training_object() -> None:
    D = distances()
    model = MDSFDA().fit(D, TWO)
    with pytest.raises(DataError, match="distances of one object to the 8 training objects"):
        model.transform(D[:, :5])
    with pytest.raises(DataError, match="never negative"):
        model.transform(-D)


def test_asymmetry_of_rounding_is_no_offence() -> None:
    D = distances() * (1 + 1e-9 * np.random.default_rng(1).random((8, 8)))
    assert MDSFDA().fit(D, TWO).embedding_.shape == (8, 1)
