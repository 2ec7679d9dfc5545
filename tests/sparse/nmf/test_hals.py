"""Non-negative least squares, row by row, against scipy's."""

import numpy as np
import pytest
from scipy.optimize import nnls

from gramian.sparse.nmf import descend_rows, descend_sums


def solved(values, weights, basis, **options):
    codes = np.zeros((len(values), len(basis)))
    descend_rows(values, weights, basis, codes, sweeps=20_000, pays=1e-26, **options)
    return codes


def test_equals_non_negative_least_squares(rng):
    values, basis = rng.normal(size=(700, 8)), rng.normal(size=(4, 8))
    expected = [nnls(basis.T, x)[0] for x in values]
    np.testing.assert_allclose(solved(values, None, basis), expected, atol=1e-8)


def test_weights_and_missing_entries(rng):
    values, basis = rng.normal(size=(30, 9)), rng.normal(size=(3, 9))
    weights = rng.random((30, 9)) * (rng.random((30, 9)) < 0.7)
    roots = np.sqrt(weights)
    expected = [nnls((basis * r).T, x * r)[0] for x, r in zip(values, roots, strict=True)]
    np.testing.assert_allclose(solved(np.where(weights > 0, values, 0.0), weights, basis), expected, atol=1e-7)


def test_a_ridge_is_more_rows_of_zeros(rng):
    values, basis, ridge = rng.normal(size=(10, 6)), rng.normal(size=(3, 6)), np.array([0.5, 1.0, 2.0])
    wide = np.hstack([basis, np.diag(np.sqrt(ridge))])
    expected = [nnls(wide.T, np.append(x, np.zeros(3)))[0] for x in values]
    np.testing.assert_allclose(solved(values, None, basis, ridge=ridge), expected, atol=1e-8)


def test_no_sweep_raises_the_loss(rng):
    values, basis, codes = rng.random((20, 7)), rng.random((4, 7)), rng.random((20, 4))
    before = np.square(values - codes @ basis).sum(axis=1)
    for _ in range(5):
        descend_rows(values, None, basis, codes, sweeps=1)
        after = np.square(values - codes @ basis).sum(axis=1)
        assert (after <= before * (1 + 1e-12)).all()
        before = after
    assert codes.min() >= 0


def test_nothing_observed_changes_nothing(rng):
    codes = rng.random((2, 3))
    before = codes.copy()
    descend_rows(np.zeros((2, 4)), np.zeros((2, 4)), rng.random((3, 4)), codes, sweeps=3)
    np.testing.assert_array_equal(codes, before)


@pytest.mark.parametrize("own", [False, True])
def test_from_sums(rng, own):
    values, basis, codes = rng.random((5, 6)), rng.random((2, 6)), np.zeros((5, 2))
    gram = (basis @ basis.T)[None]
    descend_sums(values @ basis.T, np.repeat(gram, 5, axis=0) if own else gram, codes, sweeps=10_000, pays=1e-26)
    np.testing.assert_allclose(codes, solved(values, None, basis), atol=1e-10)
