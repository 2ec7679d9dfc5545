"""Dictionaries: what is refused, lengths at any scale, the bound on steps."""

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.sparse.atoms import as_dictionary, largest_eigenvalue, lengths_of, require_unit, unit_rows


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "dictionary is None"),
        ([1.0, 2.0], "shape"),
        (np.zeros((0, 3)), "shape"),
        ([["a", "b"]], "not numbers"),
        ([[1.0, 0.0], [np.nan, 1.0]], "atom 1 .* NaN"),
        ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], "atom 2 .* is zero"),
    ],
)
def test_what_is_no_dictionary_is_refused_in_one_line(given, said):
    with pytest.raises(DataError, match=said) as raised:
        as_dictionary(given)
    assert "\n" not in str(raised.value)


def test_zero_atoms_are_centres_of_quantisation():
    assert as_dictionary([[0.0, 0.0]], zero_atoms=True).shape == (1, 2)


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e8, 1e200])
def test_lengths_hold_at_any_scale(rng, scale):
    rows = rng.normal(size=(5, 7))
    np.testing.assert_allclose(lengths_of(rows * scale), scale * np.sqrt((rows**2).sum(axis=1)), rtol=1e-14)
    np.testing.assert_allclose(unit_rows(rows * scale), unit_rows(rows), rtol=1e-13)


def test_an_atom_of_another_length_is_named():
    require_unit(np.eye(3, dtype=np.float32).astype(float))
    with pytest.raises(DataError, match="atom 1 of the dictionary has length 2 "):
        require_unit(np.diag([1.0, 2.0, 1.0]))


def test_the_largest_eigenvalue_is_that_of_the_gram_matrix(problem):
    _, atoms = problem
    assert largest_eigenvalue(atoms) == pytest.approx(np.linalg.eigvalsh(atoms @ atoms.T)[-1], rel=1e-12)
