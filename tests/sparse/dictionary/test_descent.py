"""Atoms from sums: exact steps that never raise the error, lengths as asked, incoherence."""

import numpy as np
import pytest

from gramian.sparse.dictionary import CodeSums, descend


@pytest.fixture
def given(rng):
    signals, codes = rng.normal(size=(60, 6)), rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.6)
    return signals, codes, CodeSums.of(signals, codes)


def test_free_atoms_end_at_least_squares(given):
    signals, codes, sums = given
    found = descend(np.zeros((5, 6)) + 0.1, sums, length="free", passes=2000)
    np.testing.assert_allclose(found, np.linalg.lstsq(codes, signals, rcond=None)[0], atol=1e-10)


@pytest.mark.parametrize("length", ["free", "ball", "sphere"])
@pytest.mark.parametrize("positive", [False, True])
def test_no_pass_raises_the_error_and_lengths_are_kept(rng, given, length, positive):
    _, _, sums = given
    atoms = np.abs(rng.normal(size=(5, 6)))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    before = sums.squared_error(atoms)
    for _ in range(8):
        atoms = descend(atoms, sums, length=length, positive=positive)
        after = sums.squared_error(atoms)
        assert after <= before * (1 + 1e-12)
        before = after
    sizes = np.linalg.norm(atoms, axis=1)
    assert not positive or atoms.min() >= 0
    if length == "ball":
        assert sizes.max() <= 1 + 1e-12
    if length == "sphere":
        np.testing.assert_allclose(sizes, 1, rtol=1e-12)


def test_in_the_ball_the_start_does_not_matter(rng, given):
    _, _, sums = given
    a, b = (descend(rng.normal(size=(5, 6)) / 10, sums, length="ball", passes=5000) for _ in range(2))
    np.testing.assert_allclose(a, b, atol=1e-9)
    # Kuhn and Tucker: the gradient of an atom is a multiple, not positive, of the atom, and zero inside the ball.
    slopes = sums.code_code @ a - sums.code_signal
    for atom, slope in zip(a, slopes, strict=True):
        pressure = -(slope @ atom)
        assert pressure > -1e-8
        np.testing.assert_allclose(slope, -pressure * atom if np.linalg.norm(atom) > 1 - 1e-9 else 0, atol=1e-7)


def test_incoherence_is_minimised_with_the_error(rng, given):
    _, _, sums = given
    atoms = rng.normal(size=(5, 6))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    weight = 3.0 * np.diag(sums.code_code).mean()

    def objective(atoms):
        gram = atoms @ atoms.T
        return 0.5 * sums.squared_error(atoms) + 0.5 * weight * (np.square(gram).sum() - np.square(np.diag(gram)).sum())

    before = objective(atoms)
    for _ in range(20):
        atoms = descend(atoms, sums, length="sphere", incoherence=3.0)
        assert objective(atoms) <= before * (1 + 1e-12)
        before = objective(atoms)
    plain = descend(atoms, sums, length="sphere", passes=200)
    largest = [np.abs(np.triu(d @ d.T, 1)).max() for d in (atoms, plain)]
    assert largest[0] < largest[1]


def test_an_atom_without_codes_stays(rng, given):
    signals, codes, _ = given
    codes = codes.copy()
    codes[:, 3] = 0
    atoms = rng.normal(size=(5, 6))
    found = descend(atoms, CodeSums.of(signals, codes), length="sphere")
    np.testing.assert_array_equal(found[3], atoms[3])
    np.testing.assert_array_equal(descend(atoms, CodeSums.empty(5, 6), length="ball"), atoms)
