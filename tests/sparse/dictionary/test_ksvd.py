"""K-SVD: each refit lowers the error, supports stay, and one atom ends at the singular vector."""

import numpy as np

from gramian.sparse.dictionary import ksvd_sweep


def test_no_sweep_raises_the_error_and_supports_stay(rng):
    signals, codes = rng.normal(size=(50, 6)), rng.normal(size=(50, 8)) * (rng.random((50, 8)) < 0.3)
    atoms = rng.normal(size=(8, 6))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    support = codes != 0
    before = np.square(signals - codes @ atoms).sum()
    for _ in range(5):
        atoms, codes = ksvd_sweep(signals, codes, atoms)
        after = np.square(signals - codes @ atoms).sum()
        assert after <= before * (1 + 1e-12)
        before = after
    assert not (codes != 0)[~support].any()
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1, rtol=1e-12)


def test_one_atom_ends_at_the_first_singular_pair(rng):
    signals = rng.normal(size=(40, 5)) * [3, 1, 1, 1, 1]
    atoms, codes = np.eye(5)[:1], signals[:, :1].copy()
    for _ in range(200):
        atoms, codes = ksvd_sweep(signals, codes, atoms)
    left, sizes, right = np.linalg.svd(signals, full_matrices=False)
    np.testing.assert_allclose(codes @ atoms, sizes[0] * np.outer(left[:, 0], right[0]), atol=1e-8)


def test_positive_codes_stay_positive(rng):
    signals, codes = rng.normal(size=(30, 4)), np.abs(rng.normal(size=(30, 3)))
    assert ksvd_sweep(signals, codes, np.eye(4)[:3], positive=True)[1].min() >= 0
