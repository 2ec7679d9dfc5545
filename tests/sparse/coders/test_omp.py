"""Orthogonal matching pursuit against scikit-learn, against its definition, and where it must stop."""

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.linear_model import orthogonal_mp_gram

from gramian.errors import DataError
from gramian.sparse.coders.omp import omp


def by_definition(x, atoms, most, *, positive=False):
    """The atom nearest to the residual, then least squares over all chosen."""
    chosen, code = [], np.zeros(len(atoms))
    for _ in range(most):
        near = atoms @ (x - code @ atoms)
        near[chosen] = 0
        chosen.append(int(np.argmax(near if positive else np.abs(near))))
        fit = nnls(atoms[chosen].T, x)[0] if positive else np.linalg.lstsq(atoms[chosen].T, x, rcond=None)[0]
        code = np.zeros(len(atoms))
        code[chosen] = fit
    return code


@pytest.mark.parametrize("most", [1, 2, 5, 6])
def test_equals_scikit_learn(problem, most):
    signals, atoms = problem
    expected = orthogonal_mp_gram(atoms @ atoms.T, atoms @ signals.T, n_nonzero_coefs=most).T
    # Both solve the same small systems, of condition numbers up to some thousands.
    np.testing.assert_allclose(omp(signals, atoms, n_nonzero=most), expected, atol=1e-9)


def test_equals_the_definition(problem):
    signals, atoms = problem
    expected = [by_definition(x, atoms, 4) for x in signals]
    np.testing.assert_allclose(omp(signals, atoms, n_nonzero=4), expected, atol=1e-9)


def test_many_atoms_and_rows_across_blocks(rng):
    atoms = rng.normal(size=(70, 30))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    signals = rng.normal(size=(700, 30))
    expected = orthogonal_mp_gram(atoms @ atoms.T, atoms @ signals.T, n_nonzero_coefs=11).T
    np.testing.assert_allclose(omp(signals, atoms, n_nonzero=11), expected, atol=1e-9)


def test_stops_at_a_squared_error(problem):
    signals, atoms = problem
    squares = (signals**2).sum(axis=1)
    expected = orthogonal_mp_gram(atoms @ atoms.T, atoms @ signals.T, tol=0.5, norms_squared=squares).T
    codes = omp(signals, atoms, n_nonzero=12, tol=0.5)
    np.testing.assert_allclose(codes, expected, atol=1e-9)
    assert ((signals - codes @ atoms) ** 2).sum(axis=1).max() <= 0.5


def test_positive_codes_are_those_of_the_definition(problem):
    signals, atoms = problem
    codes = omp(signals, atoms, n_nonzero=3, positive=True)
    assert codes.min() >= 0
    same = 0
    for x, code in zip(signals, codes, strict=True):
        expected = by_definition(x, atoms, 3, positive=True)
        # Where least squares sends a chosen atom to zero the definition above keeps its place and ours gives it to another.
        if np.count_nonzero(expected) == 3:
            np.testing.assert_allclose(code, expected, atol=1e-7)
            same += 1
        else:
            assert np.linalg.norm(x - code @ atoms) <= np.linalg.norm(x - expected @ atoms) + 1e-9
    assert same > 20


def test_duplicate_atoms_a_zero_signal_and_an_exact_one():
    atoms = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    codes = omp(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 3.0]]), atoms, n_nonzero=3)
    np.testing.assert_array_equal(codes, [[0, 0, 0], [2, 0, 0], [2, 0, 3]])


@pytest.mark.parametrize("scale", [1e-8, 1e8, 1e-150, 1e150])
def test_codes_scale_with_the_signals(problem, scale):
    signals, atoms = problem
    np.testing.assert_allclose(
        omp(signals * scale, atoms, n_nonzero=3), scale * omp(signals, atoms, n_nonzero=3), rtol=1e-9
    )


def test_atoms_of_another_length_are_refused(problem):
    signals, atoms = problem
    with pytest.raises(DataError, match="length 2 "):
        omp(signals, atoms * 2, n_nonzero=1)
