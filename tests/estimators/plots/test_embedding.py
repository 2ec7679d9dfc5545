"""`plot()` draws the embedding, a colour per class, and names matplotlib where it is missing."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import gramian as gm
from gramian.estimators.plots.drawings import PlotsEmbedding

WORDS, CLASSES = ["aab", "aba", "baa", "aabb", "xyz", "yxz", "zyx", "xyyz"], list("aaaaxxxx")


@pytest.fixture(autouse=True)
def no_screen():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


def points(ax) -> np.ndarray:
    return np.concatenate([np.asarray(drawn.get_offsets()) for drawn in ax.collections])


def test_points_are_the_embedding():
    model = gm.ClassicalMDS(metric="levenshtein").fit(WORDS)
    assert isinstance(model, PlotsEmbedding)
    ax = model.plot()
    np.testing.assert_allclose(points(ax), model.embedding_)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("classicalmds0", "classicalmds1")
    assert ax.get_legend() is None


def test_classes_of_the_fit_have_a_colour_each_and_one_axis_is_a_line():
    model = gm.MDSFDA(1, metric="levenshtein").fit(WORDS, CLASSES)
    ax = model.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "x"]
    assert [len(drawn.get_offsets()) for drawn in ax.collections] == [4, 4]
    np.testing.assert_allclose(points(ax), np.column_stack([model.embedding_[:, 0], np.zeros(8)]))


def test_labels_and_axes_that_are_passed_are_used():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    model = gm.ClassicalMDS(metric="levenshtein").fit(WORDS)
    assert model.plot(CLASSES, ax=ax, s=3) is ax
    assert len(ax.collections) == 2
    with pytest.raises(ValueError, match="inconsistent"):
        model.plot(["a"])


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        gm.ClassicalMDS().plot()


def test_missing_matplotlib_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"gramian\[plot\]"):
        gm.ClassicalMDS(metric="levenshtein").fit(WORDS).plot()
