"""Where factorisation begins: non-negative, near the data, the same for repeated and weighted rows."""

import numpy as np
import pytest

from gramian.sparse.nmf import random_start, singular_start


@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
@pytest.mark.parametrize("n_atoms", [1, 3, 8])
def test_parts_are_positive_and_better_than_the_mean(rng, shape, n_atoms):
    values = rng.gamma(0.4, size=(shape[0], 3)) @ rng.gamma(0.4, size=(3, shape[1]))
    codes, atoms = singular_start(values, None, None, n_atoms)
    assert codes.shape == (shape[0], n_atoms)
    assert min(codes.min(), atoms.min()) > 0
    scale = (values * (codes @ atoms)).sum() / np.square(codes @ atoms).sum()
    assert np.square(values - scale * (codes @ atoms)).sum() < np.square(values - values.mean()).sum()


def test_a_repeated_row_is_a_row_of_weight_two(rng):
    values = rng.random((8, 5))
    counts = np.array([1, 2, 1, 3, 1, 1, 2, 1])
    a = singular_start(values, None, counts.astype(float), 3)
    b = singular_start(np.repeat(values, counts, axis=0), None, None, 3)
    np.testing.assert_allclose(a[1], b[1], rtol=1e-8)
    np.testing.assert_allclose(np.repeat(a[0], counts, axis=0), b[0], rtol=1e-8)


def test_zero_data_and_missing_entries(rng):
    codes, atoms = singular_start(np.zeros((3, 4)), None, None, 2)
    assert np.isfinite(codes @ atoms).all()
    values = rng.random((20, 4))
    weights = (rng.random((20, 4)) < 0.7).astype(float)
    filled = np.where(weights > 0, values, np.average(values, axis=0, weights=weights))
    a, b = singular_start(values * weights, weights, None, 2), singular_start(filled, None, None, 2)
    np.testing.assert_allclose(a[1], b[1], rtol=1e-10)


def test_draws_are_seeded(rng):
    values = rng.random((6, 4))
    a, b = (random_start(values, 2, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(a[0], b[0])
    assert a[1].min() >= 0
