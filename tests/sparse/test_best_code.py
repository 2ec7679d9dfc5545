"""Exercises 12 and 13 of the source, and choices between codes by their definition."""

import numpy as np
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.sparse.best_code import best_code

X = [-0.95, -0.05]
ATOMS = np.array(
    [[-0.6, 0.4], [-0.45, 0.55], [-0.5, 0.5], [0.9, -0.1], [-0.5, -0.5], [0.1, 0.9], [0.5, 0.5], [0.55, 0.45]]
)
CODES = {"A": [1, 0, 0, 0, 1, 0, 0, 0], "B": [0, 0, 1, 0, 0, 0, -1, 0], "C": [0, 0, 0, -1, 0, 0, 0, 0]}


def of(names, **settings):
    return gm.best_code(X, ATOMS, {name: CODES[name] for name in names}, **settings)


def test_errors_and_counts_are_those_of_the_exercises():
    found = of("ABC")
    np.testing.assert_allclose(found.errors, [0.158114, 0.070711, 0.158114], atol=5e-7)
    assert found.counts.tolist() == [2, 2, 1]
    np.testing.assert_allclose(found.reconstructions, [[-1.1, -0.1], [-1, 0], [-0.9, 0.1]], atol=1e-12)


def test_the_choice_of_the_exercises():
    assert of("AB").best == "B"
    assert "least error" in of("AB").reason
    tied = of("AC")
    assert tied.best == "C"
    assert "same error" in tied.reason
    assert "1 against 2" in tied.reason
    assert of("ABC").best == "B"


@pytest.mark.parametrize(
    ("penalty", "squared", "best"),
    [
        (0.0, True, "B"),
        (0.019, True, "B"),
        (0.02, True, "C"),
        (0.021, True, "C"),
        (0.0874, False, "B"),
        (0.08741, False, "C"),
    ],
)
def test_the_penalty_decides_between_b_and_c(penalty, squared, best):
    assert of("ABC", penalty=penalty, squared=squared).best == best


def test_candidates_may_be_rows_and_the_order_of_ties_is_that_of_sparsity():
    found = best_code([1.0, 1.0], np.vstack([np.eye(2), [[1.0, 1.0]]]), [[1, 1, 0], [0, 0, 1]], penalty=0.0)
    assert found.best == 1
    np.testing.assert_array_equal(found.code, [0, 0, 1])
    both = best_code([1.0, 1.0], np.vstack([np.eye(2)] * 2), [[1, 1, 0, 0], [0, 0, 1, 1]])
    assert both.best == 0
    assert "the first" in both.reason


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_ties_do_not_depend_on_the_unit(scale):
    found = gm.best_code(np.array(X) * scale, ATOMS * scale, CODES, penalty=0.02 * scale**2)
    assert found.best == "C"
    assert of("AC").best == gm.best_code(np.array(X) * scale, ATOMS * scale, {k: CODES[k] for k in "AC"}).best


def test_a_hopeless_candidate_does_not_blur_the_others():
    found = best_code([1.0, 0.0], np.eye(2), [[0.999, 0], [1, 1e-4], [1e9, 1e9]])
    assert found.best == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1.0], np.eye(2), [[1, 0]]), "x has shape"),
        (([1.0, 0.0], np.eye(2), [[1, 0, 0]]), "candidate 0 has shape"),
        (([1.0, np.nan], np.eye(2), [[1, 0]]), "x holds NaN"),
        (([1.0, 0.0], np.eye(2), []), "no candidates"),
        (([1.0, 0.0], np.eye(2), [[1, 0]], -1.0), "penalty"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, said):
    with pytest.raises(DataError, match=said):
        best_code(*arguments)


def test_atoms_in_columns_are_told_to_be_turned():
    with pytest.raises(DataError, match="transpose the dictionary: atoms are rows"):
        best_code([1.0, 2.0], [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[1, 0], [0, 1]])
