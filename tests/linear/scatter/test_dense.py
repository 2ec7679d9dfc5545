import numpy as np

import gramian as gm
from gramian.linear.layout import layout_of
from gramian.linear.scatter.dense import DenseScatter, pairs_of_matrix, spectrum_of_matrix


def test_numbers_as_collected_are_shared_and_survive_eigenpairs(rng):
    m = gm.collect(rng.standard_normal((50, 6)))
    scatter = DenseScatter(m, layout_of(m, None))
    assert scatter.dense() is m.numbers.scatter
    before = m.numbers.scatter.copy()
    for k in (None, 2):
        DenseScatter(m, layout_of(m, None)).eigenpairs(k)
        scatter.eigenpairs(k)
        scatter.scaled(np.full(6, 2.0)).eigenpairs(k)
    np.testing.assert_array_equal(m.numbers.scatter, before)


def test_a_matrix_that_is_kept_is_not_worked_in(mixed):
    m = gm.collect(mixed)
    scatter = DenseScatter(m, layout_of(m, None))
    before = scatter.dense().copy()
    first = scatter.eigenpairs(3)
    np.testing.assert_array_equal(scatter.dense(), before)
    np.testing.assert_allclose(DenseScatter(m, layout_of(m, None)).eigenpairs(3).values, first.values, rtol=1e-12)


X = ("x", 1)


def test_values_and_rank_come_first_and_vectors_on_request():
    found = spectrum_of_matrix(np.diag([5.0, 3.0, 1.0, 0.0]), widest=X)
    np.testing.assert_allclose(found.values, [5, 3, 1, 0], atol=1e-15)
    assert found.rank == 3
    for count in (2, 0, 4):
        np.testing.assert_allclose(np.abs(found.vectors(count)), np.eye(4, count), atol=1e-15)
    # Columns of unlike variance: all positive pairs, each in units of its own.
    unlike = pairs_of_matrix(np.diag([1e20, 1e-4, 0.0]), 1, widest=X)
    np.testing.assert_allclose(unlike.values, [1e20, 1e-4], rtol=1e-12)
