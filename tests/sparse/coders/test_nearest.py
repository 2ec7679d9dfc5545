"""Vector quantisation is the nearest atom, far from zero too."""

import numpy as np
import pytest

from gramian.sparse.coders.nearest import nearest, nearest_atom


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_atom_is_the_nearest(rng, offset, scale):
    atoms, signals = rng.normal(size=(9, 4)), rng.normal(size=(600, 4))
    expected = ((signals[:, None] - atoms) ** 2).sum(axis=2).argmin(axis=1)
    found = nearest_atom((signals + offset) * scale, (atoms + offset) * scale)
    # The offset itself rounds the data at 1e-8 of their spread: only near ties may differ.
    assert np.mean(found != expected) <= (0.001 if offset else 0.0)


def test_ties_and_duplicates_go_to_the_first():
    codes = nearest(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(codes, [[0, 1, 0], [1, 0, 0]])
