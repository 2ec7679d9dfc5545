"""Which objects stand for all: drawn by a seed, at random or spread out, each once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gramian.distances import objects as landmarks
from gramian.distances.metrics.pairwise import Measure
from gramian.distances.objects import CHOICES, GivenDistances, MeasuredObjects, Training, choose_landmarks
from gramian.errors import DataError
from gramian.estimators.mds import ClassicalMDS
from gramian.estimators.mdsfda import MDSFDA
from gramian.estimators.spine.estimator import rng_of


def given(X: np.ndarray) -> Training:
    return GivenDistances(cdist(X, X))


def measured(X: np.ndarray) -> Training:
    return MeasuredObjects(Measure("euclidean", None, vectors=True), X, 1, np.float64)


@pytest.fixture
def crowd_and_hamlets(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Five hundred points in one place, and eight places far off with two points each."""
    places = np.concatenate([np.zeros(500, dtype=int), np.repeat(np.arange(1, 9), 2)])
    return rng.normal(size=(516, 8)) + 500 * np.eye(9, 8, k=-1)[places], places


@pytest.mark.parametrize("make", [given, measured])
@pytest.mark.parametrize("how", CHOICES)
def test_landmarks_are_distinct_and_drawn_by_the_seed(rng: np.random.Generator, make: object, how: str) -> None:
    training = make(rng.normal(size=(200, 3)))  # type: ignore[operator]
    draws = [choose_landmarks(training, 20, np.random.default_rng(seed), how=how) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
    assert all(len(np.unique(draw)) == 20 and (np.diff(draw) > 0).all() for draw in draws)


@pytest.mark.parametrize("how", CHOICES)
def test_given_and_measured_distances_draw_the_same(rng: np.random.Generator, how: str) -> None:
    X = rng.normal(size=(150, 3))
    a, b = (choose_landmarks(make(X), 12, np.random.default_rng(3), how=how) for make in (given, measured))
    np.testing.assert_array_equal(a, b)


def test_spread_landmarks_reach_every_far_place(crowd_and_hamlets: tuple[np.ndarray, np.ndarray]) -> None:
    X, places = crowd_and_hamlets
    reached = {}
    for how in CHOICES:
        drawn = [choose_landmarks(given(X), 12, np.random.default_rng(seed), how=how) for seed in range(5)]
        reached[how] = [len(set(places[found])) for found in drawn]
    assert reached["k-means++"] == [9] * 5
    assert max(reached["random"]) < 5


def test_draws_follow_the_squared_distance_to_the_nearest(rng: np.random.Generator) -> None:
    """After the first of three points on a line, at 0, 1 and 3, the second is at distance d with probability d^2 / sum."""
    training = given(np.array([[0.0], [1.0], [3.0]]))
    pairs = [tuple(choose_landmarks(training, 2, rng, how="k-means++")) for _ in range(3000)]
    # First 0: 1 or 9 of 10; first 1: 1 or 4 of 5; first 3: 9 or 4 of 13.
    share = {(0, 1): (0.1 + 0.2) / 3, (0, 2): (0.9 + 9 / 13) / 3, (1, 2): (0.8 + 4 / 13) / 3}
    for pair, expected in share.items():
        assert pairs.count(pair) / 3000 == pytest.approx(expected, abs=0.03)


def test_duplicates_fill_up_where_places_run_out() -> None:
    training = given(np.repeat([[0.0], [5.0]], 10, axis=0))
    found = choose_landmarks(training, 6, np.random.default_rng(0), how="k-means++")
    assert len(np.unique(found)) == 6
    assert {i // 10 for i in found} == {0, 1}


def test_many_objects_are_drawn_from_a_pool(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    training = measured(rng.normal(size=(1000, 2)))
    monkeypatch.setattr(landmarks, "POOL", 50)
    sizes = []
    asked = MeasuredObjects.from_to
    monkeypatch.setattr(
        MeasuredObjects, "from_to", lambda self, some, other: sizes.append(len(some)) or asked(self, some, other)
    )
    choose_landmarks(training, 10, rng, how="k-means++")
    assert sizes == [80] * 9


@pytest.mark.parametrize("model", [MDSFDA(1, n_landmarks=30, landmarks="k-means++"),
                                   ClassicalMDS(2, n_landmarks=30, landmarks="k-means++")], ids=str)  # fmt: skip
def test_training_objects_land_on_the_embedding(rng: np.random.Generator, model: object) -> None:
    X = rng.normal(size=(90, 4))
    Z = model.fit_transform(cdist(X, X), X[:, 0] > 0)  # type: ignore[attr-defined]
    np.testing.assert_allclose(model.transform(cdist(X, X)), Z, atol=1e-8 * np.abs(Z).max())  # type: ignore[attr-defined]


def test_regularisation_does_not_depend_on_how_landmarks_are_drawn(
    crowd_and_hamlets: tuple[np.ndarray, np.ndarray],
) -> None:
    """It is relative to all objects: spread landmarks, half of them in far places, leave its unit alone."""
    X, _ = crowd_and_hamlets
    D, y = cdist(X, X), (X[:, 0] > 0).astype(int)
    exact = MDSFDA(1, regularization=0.01).fit(D, y).eigenvalues_[0]
    found = [MDSFDA(1, regularization=0.01, n_landmarks=40, landmarks=how).fit(D, y).eigenvalues_[0] for how in CHOICES]
    np.testing.assert_allclose(found, exact, rtol=0.05)


def test_bad_choices_are_one_clear_line() -> None:
    D = cdist(np.arange(8.0)[:, None], np.arange(8.0)[:, None])
    with pytest.raises(DataError, match=r"landmarks is 'random' or 'k-means\+\+'; got 'far'"):
        ClassicalMDS(n_landmarks=3, landmarks="far").fit(D)
    D[:] = 0
    D[:7, 7] = D[7, :7] = 1  # seven objects in one place
    seeds = (s for s in range(99) if 7 not in choose_landmarks(GivenDistances(D), 2, rng_of(s)))
    with pytest.raises(DataError, match="landmarks lie at distance 0 from each other"):
        ClassicalMDS(n_landmarks=2, random_state=next(seeds)).fit(D)
