"""The exercises of the lecture notes, recomputed: every printed digit."""

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.linear.fisher import fisher, fisher_criterion
from gramian.linear.pca import pca

KLT_ROWS = np.array([[1.0, 2, 1], [2, 3, 1], [3, 5, 1], [2, 2, 1]])
SIX_DIGITS = 5e-7


def test_klt_exercises_4_and_5():
    m = gm.collect(KLT_ROWS)
    np.testing.assert_allclose(m.mean(), [2, 3, 1])
    np.testing.assert_allclose(m.covariance(ddof=0), [[0.5, 0.75, 0], [0.75, 1.5, 0], [0, 0, 0]], atol=1e-15)
    found = pca(m, n_components=2, ddof=0)
    np.testing.assert_allclose(found.explained_variance, [1.901388, 0.098612], atol=SIX_DIGITS)
    np.testing.assert_allclose(found.components, [[0.471858, 0.881675, 0], [0.881675, -0.471858, 0]], atol=SIX_DIGITS)
    # The lecture's second axis points the other way; here the largest entry is positive.
    lecture = np.array([[-1.353533, 0.409817], [0, 0], [2.235207, 0.062041], [-0.881675, -0.471858]])
    np.testing.assert_allclose((KLT_ROWS - found.mean) @ found.weights, lecture * [1, -1], atol=SIX_DIGITS)
    np.testing.assert_allclose(np.cumsum(found.explained_variance_ratio), [0.950694, 1.0], atol=SIX_DIGITS)
    assert found.rank == 2


def test_klt_eigenvalues_with_the_sample_divisor():
    np.testing.assert_allclose(pca(gm.collect(KLT_ROWS)).explained_variance, [2.535184, 0.131483], atol=SIX_DIGITS)


FISHER_ROWS = np.array([[1.0, 2], [2, 1], [3, 3], [6, 5], [7, 8]])
FISHER_CLASSES = [1, 1, 1, 2, 2]


@pytest.mark.parametrize(("w", "expected"), [((-1, 5), 2.314286), ((2, -3), 0.525974), ((1, 0), 8.1)])
def test_fisher_exercise_10(w, expected):
    assert fisher_criterion(FISHER_ROWS, FISHER_CLASSES, w) == pytest.approx(expected, abs=SIX_DIGITS)
    m = gm.collect(pa.table({"a": FISHER_ROWS[:, 0], "b": FISHER_ROWS[:, 1], "class": FISHER_CLASSES}))
    assert fisher_criterion(m, "class", w) == pytest.approx(expected, abs=SIX_DIGITS)


def test_fisher_exercise_10_has_its_optimum_along_the_first_column():
    m = gm.collect(pa.table({"a": FISHER_ROWS[:, 0], "b": FISHER_ROWS[:, 1], "class": FISHER_CLASSES}))
    found = fisher(m, None, "class")
    np.testing.assert_allclose(found.criterion, [8.1], atol=SIX_DIGITS)
    w = found.weights[:, 0]
    np.testing.assert_allclose(w / np.linalg.norm(w), [1, 0], atol=SIX_DIGITS)
