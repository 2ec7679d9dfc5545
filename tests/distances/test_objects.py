"""Training objects answer the same questions whether they are given as distances or measured."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.distances.metrics.pairwise import Measure
from gramian.distances.objects import GivenDistances, MeasuredObjects


@pytest.fixture
def both(rng):
    X = rng.normal(size=(20, 3))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    return D, GivenDistances(D), MeasuredObjects(Measure("euclidean", None, vectors=True), X, 1, np.float64)


def test_every_question_has_one_answer(both):
    D, given, measured = both
    some = np.array([3, 7, 1])
    for training in (given, measured):
        assert training.n == 20
        np.testing.assert_allclose(training.matrix()[0], D, atol=1e-12)
        np.testing.assert_allclose(training.between(some), D[np.ix_(some, some)], atol=1e-12)
        np.testing.assert_allclose(np.ravel(training.from_to(some, 5)), D[some, 5], atol=1e-12)
        whole = np.concatenate([block for _, block in training.to(some)])
        np.testing.assert_allclose(whole, D[:, some], atol=1e-12)


def test_what_was_given_is_never_overwritten_and_what_was_measured_may_be(both):
    _, given, measured = both
    assert not given.matrix()[1]
    assert measured.matrix()[1]
    assert given.reference(None) is None
    assert len(measured.reference(np.array([0, 4]))) == 2
