"""Sums of codes: a monoid with subtraction and scaling, and the squared error they stand for."""

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.sparse.dictionary import CodeSums


@pytest.fixture
def parts(rng):
    signals, codes = rng.normal(size=(30, 5)), rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    return [CodeSums.of(signals[rows], codes[rows]) for rows in (slice(0, 7), slice(7, 20), slice(20, 30))], (
        signals,
        codes,
    )


def test_addition_is_associative_commutative_and_of_all_rows(parts):
    (a, b, c), (signals, codes) = parts
    whole = CodeSums.of(signals, codes)
    for found in ((a + b) + c, a + (b + c), c + b + a, CodeSums.empty(4, 5) + a + b + c):
        assert found.isclose(whole)
    assert not (a + b).isclose(whole)
    assert whole.uses.tolist() == np.count_nonzero(codes, axis=0).tolist()


def test_subtraction_and_scaling(parts):
    (a, b, _), _ = parts
    assert (a + b - b).isclose(a)
    assert (a * 2.0).isclose(a + a)
    with pytest.raises(DataError, match="cannot be part"):
        _ = a - (a + b)
    with pytest.raises(DataError, match="do not add"):
        _ = a + CodeSums.empty(3, 5)


def test_the_squared_error_is_that_of_the_rows(parts, rng):
    (a, b, c), (signals, codes) = parts
    atoms = rng.normal(size=(4, 5))
    assert (a + b + c).squared_error(atoms) == pytest.approx(((signals - codes @ atoms) ** 2).sum(), rel=1e-12)


def test_without_an_atom_sums_are_those_of_codes_without_it(parts):
    _, (signals, codes) = parts
    silent = codes.copy()
    silent[:, 2] = 0
    assert CodeSums.of(signals, codes).without(np.array([2])).isclose(CodeSums.of(signals, silent))
