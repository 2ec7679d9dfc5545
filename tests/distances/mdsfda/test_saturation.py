"""Saturated distances: Euclidean where the distances are, and taken up only where held-out objects ask for them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gramian.distances import mdsfda_large as krylov
from gramian.distances import saturation
from gramian.distances.mds import gram
from gramian.distances.mdsfda import Labels
from gramian.distances.saturation import RATES, choose_rate, sample_objects, saturated, typical_square
from gramian.estimators.mdsfda import MDSFDA


def rings(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A disc and a ring around it: no linear coordinate tells them apart."""
    y = np.arange(n) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, n), y + 0.25 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def clouds(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian classes: the best border is linear."""
    y = np.arange(n) % 2
    return rng.normal(size=(n, 3)) + 1.5 * y[:, None], y


@pytest.mark.parametrize("rate", [0.3, 1.0, 3.0])
def test_saturated_euclidean_distances_are_euclidean(rng: np.random.Generator, rate: float) -> None:
    X = rng.normal(size=(60, 4))
    D = cdist(X, X)
    found = saturated(D, rate, typical_square(D))
    assert np.linalg.eigvalsh(gram(found)[0])[0] > -1e-12
    # A small rate only rescales: d'^2 / rate tends to d^2 / typical.
    small = saturated(D, 1e-9, typical_square(D))
    np.testing.assert_allclose(small**2 / 1e-9, D**2 / typical_square(D), rtol=1e-6, atol=1e-12)


def test_typical_square_is_the_median_of_what_is_apart() -> None:
    assert typical_square(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])) == 4
    assert typical_square(np.zeros((3, 3))) == 1


def test_a_rate_is_taken_where_it_helps_and_only_there(rng: np.random.Generator) -> None:
    for make, helps in ((rings, True), (clouds, False)):
        X, y = make(rng, 300)
        model = MDSFDA(1, metric="euclidean").fit(X[:200], y[:200])
        assert (model.saturation_ is not None) == helps
        plain = MDSFDA(1, metric="euclidean", saturation=None).fit(X[:200], y[:200])
        gain = model.score(X[200:], y[200:]) - plain.score(X[200:], y[200:])
        assert gain > 0.2 if helps else gain == 0
        np.testing.assert_array_equal(model.saturation_results_["saturation"], [0, 0.3, 1, 3])
        assert plain.saturation_results_["accuracy"].size == 0


def test_a_lead_within_chance_is_not_taken(rng: np.random.Generator) -> None:
    """Labels without any relation to the objects: some rate is ahead by luck, and none is taken."""
    taken = []
    for _ in range(12):
        X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
        D = cdist(X, X)
        rate, accuracy = choose_rate(
            D, Labels.of(y, 2), typical=typical_square(D), n_components=1, regularization=0.1, rng=rng
        )
        taken.append(rate is not None)
        assert accuracy.shape == (len(RATES),)
    assert sum(taken) <= 4


def test_a_number_for_the_regularisation_leaves_distances_alone(rng: np.random.Generator) -> None:
    X, y = rings(rng, 120)
    D = cdist(X, X)
    auto, plain = MDSFDA(1, regularization=0.1).fit(D, y), MDSFDA(1, regularization=0.1, saturation=None).fit(D, y)
    np.testing.assert_array_equal(auto.embedding_, plain.embedding_)
    assert MDSFDA(1, regularization=0.1, saturation="cv").fit(D, y).saturation_ is not None


def test_many_objects_are_judged_by_a_sample(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rings(rng, 400)
    sizes = []
    chosen = choose_rate
    monkeypatch.setattr(saturation, "SAMPLED_OBJECTS", 90)
    monkeypatch.setattr(
        "gramian.estimators.mdsfda.choose_rate", lambda D, *a, **k: sizes.append(len(D)) or chosen(D, *a, **k)
    )
    for options in ({}, {"n_landmarks": 150}, {"solver": "iterative"}):
        assert MDSFDA(1, **options).fit(cdist(X, X), y).saturation_ is not None  # type: ignore[arg-type]
    assert sizes == [90] * 3


def test_without_room_for_a_second_matrix_rows_saturate_as_they_are_read(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rings(rng, 120)
    D = cdist(X, X)
    roomy = MDSFDA(1, solver="iterative", saturation=1.0).fit(D, y)
    monkeypatch.setattr(krylov, "FORMED_BYTES", 0)
    monkeypatch.setattr(saturation, "available_memory", lambda: 1000)
    tight = MDSFDA(1, solver="iterative", saturation=1.0).fit(D, y)
    assert isinstance(saturation.saturated_rows(D, 1.0, 1.0), saturation.SaturatedRows)
    np.testing.assert_allclose(tight.embedding_, roomy.embedding_, atol=1e-7)


def test_samples_keep_the_shares_of_the_classes(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = rng.permutation(np.repeat([0, 1, 2, 3], [600, 300, 99, 1]))
    monkeypatch.setattr(saturation, "SAMPLED_OBJECTS", 100)
    found = sample_objects(codes, rng)
    assert np.abs(np.bincount(codes[found], minlength=4) - [60, 30, 10, 0]).max() <= 1
    assert len(np.unique(found)) == len(found)


def test_objects_that_say_nothing_choose_no_rate(rng: np.random.Generator) -> None:
    options = {"typical": 1.0, "n_components": 1, "regularization": None, "rng": rng}
    for D, codes, classes in ((np.ones((4, 4)), [0] * 4, 1), (np.zeros((4, 4)), [0, 1] * 2, 2)):
        rate, accuracy = choose_rate(D, Labels.of(np.array(codes), classes), **options)  # type: ignore[arg-type]
        assert rate is None
        assert np.isnan(accuracy).all()
