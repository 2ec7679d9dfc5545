"""Quantisation: means of cells, and a stream that ends at the mean of all it has stood for."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from gramian.sparse.coders.nearest import move_atoms, quantise


def test_atoms_are_the_means_of_their_cells(rng):
    signals = rng.normal(size=(300, 2)) + 5 * rng.integers(0, 3, size=(300, 1))
    weights = rng.integers(1, 4, 300).astype(float)
    atoms, uses, error, _ = quantise(signals, 3, row_weights=weights, seed=1)
    cell = ((signals[:, None] - atoms) ** 2).sum(axis=2).argmin(axis=1)
    for j in range(3):
        np.testing.assert_allclose(
            atoms[j], np.average(signals[cell == j], axis=0, weights=weights[cell == j]), rtol=1e-4
        )
        assert uses[j] == weights[cell == j].sum()
    assert error == pytest.approx((weights * ((signals - atoms[cell]) ** 2).sum(axis=1)).sum(), rel=1e-6)
    assert error <= 1.5 * KMeans(3, n_init=5, random_state=0).fit(signals, sample_weight=weights).inertia_


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_a_stream_of_one_cell_ends_at_the_mean(rng, offset):
    signals = rng.normal(size=(100, 3)) + offset
    atoms, uses = signals[:1].copy(), np.ones(1)
    for batch in np.array_split(signals[1:], 7):
        atoms, uses = move_atoms(atoms, uses, batch)
    assert uses[0] == 100
    np.testing.assert_allclose(atoms[0] - offset, (signals - offset).mean(axis=0), atol=1e-13 + 1e-15 * offset * 10)


def test_weights_count_rows_as_often(rng):
    atoms, uses, rows = rng.normal(size=(3, 2)), np.array([2.0, 0.0, 1.0]), rng.normal(size=(6, 2))
    weights = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 1.0])
    a, b = move_atoms(atoms, uses, rows, weights), move_atoms(atoms, uses, np.repeat(rows, weights.astype(int), axis=0))
    np.testing.assert_allclose(a[0], b[0], rtol=1e-12)
    np.testing.assert_allclose(a[1], b[1])
