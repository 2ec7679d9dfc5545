"""The Lasso's codes against scikit-learn's, and by its optimality conditions."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from gramian.sparse.coders.lasso import lasso


def violation(signals, atoms, codes, penalty, *, positive=False):
    """Largest violation of the optimality conditions."""
    near = (signals - codes @ atoms) @ atoms.T
    active = np.abs(near - penalty * np.sign(codes))[codes != 0].max(initial=0.0)
    silent = (near if positive else np.abs(near))[codes == 0].max(initial=0.0) - penalty
    return max(active, silent)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("penalty", [0.05, 0.5, 100.0])
def test_equals_scikit_learn(problem, penalty, positive):
    signals, atoms = problem
    peer = Lasso(penalty / 6, fit_intercept=False, positive=positive, tol=1e-13, max_iter=10**6)
    codes, unsettled = lasso(signals, atoms, penalty=penalty, tol=1e-11, positive=positive)
    assert unsettled == 0
    np.testing.assert_allclose(codes, peer.fit(atoms.T, signals.T).coef_, atol=1e-6)


@pytest.mark.parametrize("positive", [False, True])
def test_optimality_holds_to_the_tolerance(rng, positive):
    atoms = rng.normal(size=(60, 20)) * rng.uniform(0.1, 3, size=(60, 1))
    signals = rng.normal(size=(300, 20))
    codes, unsettled = lasso(signals, atoms, penalty=0.7, tol=1e-9, positive=positive)
    assert unsettled == 0
    # `tol` is relative to the largest correlation.
    assert violation(signals, atoms, codes, 0.7, positive=positive) <= 1e-8 * np.abs(signals @ atoms.T).max()


def test_without_a_penalty_it_is_least_squares(rng):
    atoms, signals = rng.normal(size=(4, 9)), rng.normal(size=(6, 9))
    expected = np.linalg.lstsq(atoms.T, signals.T, rcond=None)[0].T
    np.testing.assert_allclose(lasso(signals, atoms, penalty=0.0, tol=1e-12)[0], expected, atol=1e-8)


def test_rows_that_have_not_settled_are_counted(problem):
    signals, atoms = problem
    assert lasso(signals, atoms, penalty=0.01, max_iter=1, tol=1e-12)[1] > 30


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_codes_scale(problem, scale):
    signals, atoms = problem
    scaled = lasso(signals * scale, atoms, penalty=0.3 * scale, tol=1e-11)[0]
    np.testing.assert_allclose(scaled, scale * lasso(signals, atoms, penalty=0.3, tol=1e-11)[0], atol=1e-8 * scale)
