"""Landmarks: few distances at a time, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.distances import mdsfda_large as features
from gramian.distances.metrics import pairwise
from gramian.estimators.mds import ClassicalMDS
from gramian.estimators.mdsfda import MDSFDA


@pytest.fixture
def words(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    y = np.arange(400) % 4
    letters = [list("aeklmn"), list("aoprst"), list("eiuvxz"), list("bdgjmu")]
    return ["".join(rng.choice(letters[k], rng.integers(4, 9))) for k in y], y


def test_blocks_do_not_change_the_result_and_stay_small(
    monkeypatch: pytest.MonkeyPatch, words: tuple[list[str], np.ndarray]
) -> None:
    texts, y = words
    whole = MDSFDA(3, metric="levenshtein", n_landmarks=40).fit(texts, y)
    sizes = []
    measured = pairwise.Measure.block

    def noted(self: pairwise.Measure, rows: list[str], cols: list[str], *options: object) -> np.ndarray:
        sizes.append(len(rows) * len(cols))
        return measured(self, rows, cols, *options)  # type: ignore[arg-type]

    monkeypatch.setattr(pairwise.Measure, "block", noted)
    monkeypatch.setattr(pairwise, "PAIRS_AT_ONCE", 2000)
    stretched = MDSFDA(3, metric="levenshtein", n_landmarks=40).fit(texts, y)
    assert max(sizes) <= 2000
    np.testing.assert_allclose(stretched.embedding_, whole.embedding_, atol=1e-8)


def test_few_landmarks_are_nearly_as_accurate(words: tuple[list[str], np.ndarray]) -> None:
    texts, y = words
    exact = MDSFDA(3, metric="levenshtein").fit(texts[:300], y[:300])
    few = MDSFDA(3, metric="levenshtein", n_landmarks=60).fit(texts[:300], y[:300])
    assert few.score(texts[300:], y[300:]) >= exact.score(texts[300:], y[300:]) - 0.05
    assert len(few.objects_) == len(few.landmarks_) == 60


def test_scoring_some_of_many_rows_chooses_much_the_same(
    monkeypatch: pytest.MonkeyPatch, words: tuple[list[str], np.ndarray]
) -> None:
    texts, y = words
    whole = MDSFDA(3, metric="levenshtein", n_landmarks=40).fit(texts, y)
    monkeypatch.setattr(features, "SCORED_CELLS", 40 * 133)
    some = MDSFDA(3, metric="levenshtein", n_landmarks=40).fit(texts, y)
    assert abs(np.log10(some.regularization_ / whole.regularization_)) <= 2
    assert some.score(texts, y) >= whole.score(texts, y) - 0.03


def test_landmarks_are_drawn_by_the_seed(words: tuple[list[str], np.ndarray]) -> None:
    texts, _ = words
    draws = [ClassicalMDS(metric="indel", n_landmarks=20, random_state=s).fit(texts).landmarks_ for s in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
