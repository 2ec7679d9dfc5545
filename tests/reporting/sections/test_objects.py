"""Objects known by their distances: the section repeats the model and the pairs of objects."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import gramian as gm
from gramian.distances.mds import stress
from gramian.reporting.report import summary
from gramian.reporting.sections.distance_models import SURE, TYPICAL


def test_stress_is_that_of_the_map(words: SimpleNamespace) -> None:
    found = summary(words.mds)["objects"]
    D = gm.pairwise_distances(words.objects, metric="levenshtein")
    assert found["stress"] == pytest.approx(stress(D, words.mds.embedding_), rel=1e-3)
    kept = words.mds.eigenvalues_[:2].sum() / np.abs(words.mds.eigenvalues_).sum()
    assert found["kept"] == pytest.approx(kept, rel=1e-3)
    assert found["confusion"] is None
    assert found["distances"] is None


def test_confusion_and_distances_are_those_of_the_training_objects(words: SimpleNamespace) -> None:
    found = summary(words.fda)["objects"]
    taken, labels = words.fda.predict(words.objects), list(words.fda.classes_)
    actual = np.array(words.classes)
    expected = [[int(((actual == a) & (taken == b)).sum()) for b in labels] for a in labels]
    assert found["confusion"]["counts"] == expected
    D = gm.pairwise_distances(words.objects, metric="levenshtein")
    own, other = (
        D[np.ix_(actual == labels[0], actual == labels[0])],
        D[np.ix_(actual == labels[0], actual == labels[1])],
    )
    assert found["distances"]["values"][0][0] == pytest.approx(own.sum() / (25 * 24), rel=1e-3)
    assert found["distances"]["values"][0][1] == found["distances"]["between"] == pytest.approx(other.mean(), rel=1e-3)
    chosen = words.fda.cv_results_["regularization"] == words.fda.regularization_
    assert found["held_out"] == pytest.approx(words.fda.cv_results_["accuracy"][chosen][0], abs=1e-4)


def test_examples_are_the_nearest_to_the_mean_and_the_least_sure(words: SimpleNamespace) -> None:
    belief = words.fda.predict_proba(words.objects)
    actual = np.array(words.classes)
    for k, example in enumerate(summary(words.fda)["objects"]["examples"]):
        own = np.flatnonzero(actual == words.fda.classes_[k])
        away = np.abs(words.fda.embedding_[own, 0] - words.fda.embedding_[own, 0].mean())
        assert example["typical"] == [words.objects[i] for i in own[np.argsort(away, kind="stable")[:TYPICAL]]]
        assert example["objects"] == len(own)
        for one in example["doubtful"]:
            place = words.objects.index(one["object"])
            assert one["belief"] == pytest.approx(belief[place, k], abs=2e-3)
            assert one["belief"] < SURE


def test_a_saved_model_says_the_same_as_the_one_that_was_fitted(words: SimpleNamespace, tmp_path: Path) -> None:
    gm.save(words.fda, tmp_path / "fda.model")
    assert summary(gm.load(tmp_path / "fda.model"))["objects"] == summary(words.fda)["objects"]


def test_classes_of_a_table_that_describes_the_objects_are_taken(words: SimpleNamespace) -> None:
    found = summary(words.mds, words.table, "class")
    D = squareform(pdist(words.mds.embedding_))
    actual = np.array(words.classes)
    late = found["objects"]["distances"]["labels"].index("late letters")
    own = D[np.ix_(actual == "late letters", actual == "late letters")]
    assert found["objects"]["distances"]["values"][late][late] == pytest.approx(own.sum() / (35 * 34), rel=1e-3)
    assert "embedding" in found["objects"]["distances"]["words"]


def test_a_model_of_rows_has_no_objects(whole: dict) -> None:
    assert "objects" not in whole
