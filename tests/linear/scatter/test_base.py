import numpy as np
import pytest

import gramian as gm
from gramian.linear.layout import layout_of
from gramian.linear.scatter.dense import Eigenpairs, Scatter, matrix_of


class Doubled(Scatter):
    """Twice the identity: what a representation must bring along, and what it then has."""

    def _times(self, v):
        return 2 * v

    def eigenpairs(self, k=None):
        return Eigenpairs(np.full(3, 2.0), np.eye(3), 3)


@pytest.fixture
def moments():
    return gm.collect(np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 1.0], [3.0, 1.0, 5.0], [0.0, 0.0, 0.0]]))


def test_a_representation_brings_products_and_eigenpairs_and_has_the_rest(moments):
    metric = np.array([1.0, 2.0, 3.0])
    found = Doubled(moments, layout_of(moments, None), metric)
    v = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(found @ v, 2 * v * metric[:, None] ** 2)
    np.testing.assert_array_equal(found @ v[:, 0], 2 * v[:, 0] * metric**2)
    np.testing.assert_array_equal(found.along(v), v.T @ (found @ v))
    np.testing.assert_array_equal(found.variance_along(v), np.diagonal(found.along(v)))
    np.testing.assert_allclose(found.mean, moments.mean() * metric)
    np.testing.assert_allclose(found.dense(), 3 * moments.covariance() * np.outer(metric, metric), atol=1e-12)
    np.testing.assert_allclose(found.diagonal(), np.diagonal(found.dense()))
    np.testing.assert_array_equal(found.scaled(metric).metric, metric**2)
    # An array on the left would be taken for one of objects.
    with pytest.raises(TypeError):
        v.T @ found


def test_the_matrix_in_a_metric_leaves_the_moments_alone(moments):
    before = moments.numbers.scatter.copy()
    layout = layout_of(moments, None)
    assert matrix_of(moments, layout, None) is moments.numbers.scatter
    matrix_of(moments, layout, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(moments.numbers.scatter, before)
