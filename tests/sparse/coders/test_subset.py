"""The best subset against trying every subset."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

from gramian.errors import DataError
from gramian.sparse.coders.subset import best_subset


def least_cost(x, atoms, penalty, most, *, positive):
    best = x @ x
    for size in range(1, most + 1):
        for chosen in map(list, combinations(range(len(atoms)), size)):
            if positive:
                code, length = nnls(atoms[chosen].T, x)
                error, count = length**2, np.count_nonzero(code)
            else:
                code = np.linalg.lstsq(atoms[chosen].T, x, rcond=None)[0]
                error, count = ((x - code @ atoms[chosen]) ** 2).sum(), size
            best = min(best, error + penalty * count)
    return best


def cost(x, code, atoms, penalty):
    return ((x - code @ atoms) ** 2).sum() + penalty * np.count_nonzero(code)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(
    ("columns", "n_atoms", "penalty", "most"),
    [(2, 8, 0.02, None), (4, 7, 0.3, None), (6, 4, 0.1, None), (5, 8, None, 3), (8, 7, 0.5, 4), (3, 6, 0.0, None)],
)
def test_no_subset_is_better(rng, columns, n_atoms, penalty, most, positive):
    atoms = rng.normal(size=(n_atoms, columns)) * rng.uniform(0.5, 3, size=(n_atoms, 1))
    signals = rng.normal(size=(8, columns))
    codes = best_subset(signals, atoms, penalty=penalty, n_nonzero=most, positive=positive)
    for x, code in zip(signals, codes, strict=True):
        expected = least_cost(x, atoms, penalty or 0.0, most or min(n_atoms, columns), positive=positive)
        assert cost(x, code, atoms, penalty or 0.0) == pytest.approx(expected, rel=1e-9, abs=1e-10 * (x @ x))
        assert not positive or code.min() >= 0
        assert most is None or np.count_nonzero(code) <= most


def test_the_exercise_has_a_better_code_than_its_candidates():
    atoms = np.array(
        [[-0.6, 0.4], [-0.45, 0.55], [-0.5, 0.5], [0.9, -0.1], [-0.5, -0.5], [0.1, 0.9], [0.5, 0.5], [0.55, 0.45]]
    )
    x = np.array([-0.95, -0.05])
    (code,) = best_subset(x[None], atoms, penalty=0.03)
    assert np.flatnonzero(code).tolist() == [3]
    assert cost(x, code, atoms, 0.03) < 0.025 + 0.03


def test_a_strong_signal_is_found_among_many_atoms_without_a_long_search(rng):
    atoms = rng.normal(size=(20, 40))
    signal = 5 * atoms[3] - 4 * atoms[11] + 0.01 * rng.normal(size=40)
    (code,) = best_subset(signal[None], atoms, penalty=1.0, max_iter=5000)
    assert np.flatnonzero(code).tolist() == [3, 11]


def test_a_search_without_end_says_what_to_change(rng):
    with pytest.raises(DataError, match="n_nonzero"):
        best_subset(rng.normal(size=(1, 10)), rng.normal(size=(20, 10)), penalty=1e-9, max_iter=50)


def test_duplicates_zero_signals_and_ties_give_the_sparser():
    atoms = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    codes = best_subset(np.array([[0.0, 0.0], [2.0, 2.0], [1.0, 0.0]]), atoms, penalty=0.0)
    np.testing.assert_allclose(codes, [[0, 0, 0, 0], [0, 0, 0, 2], [1, 0, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_codes_scale(rng, scale):
    atoms, signals = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    expected = best_subset(signals, atoms, penalty=0.2)
    scaled = best_subset(signals * scale, atoms, penalty=0.2 * scale**2)
    np.testing.assert_allclose(scaled, scale * expected, rtol=1e-9)
    np.testing.assert_allclose(best_subset(signals, atoms * scale, penalty=0.2) * scale, expected, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-200, 1e-160, 1e150, 1e300])
def test_codes_of_very_small_and_large_signals_are_those_of_ordinary_ones(rng, factor):
    atoms, signals = rng.standard_normal((6, 4)), rng.standard_normal((5, 4))
    expected = best_subset(signals, atoms, n_nonzero=2)
    np.testing.assert_allclose(best_subset(signals * factor, atoms, n_nonzero=2), expected * factor, rtol=1e-9)
    mixed = np.vstack([signals * factor, signals, np.zeros((1, 4))])
    found = best_subset(mixed, atoms, penalty=0.3)
    np.testing.assert_allclose(found[5:10], best_subset(signals, atoms, penalty=0.3), rtol=1e-9)
    # Beside a price that is small, all of a large signal is worth its atoms; beside a large one, nothing of a small one.
    np.testing.assert_array_equal(np.count_nonzero(found[:5], axis=1), 0 if factor < 1 else 4)
    np.testing.assert_array_equal(found[10], 0.0)
