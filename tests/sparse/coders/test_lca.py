"""Competing neurons: step by step by hand, the Lasso's conditions at rest, hard thresholds, divergence."""

import re

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.sparse.coders.dynamics import lca, step_size


def by_hand(x, atoms, penalty, step, n_steps, *, hard=False):
    u, a = np.zeros(len(atoms)), np.zeros(len(atoms))
    for _ in range(n_steps):
        drive = atoms @ x
        inhibition = (atoms @ atoms.T - np.eye(len(atoms))) @ a
        u = u + step * (drive - u - inhibition)
        a = np.where(np.abs(u) > penalty, u if hard else u - np.sign(u) * penalty, 0.0)
    return a


@pytest.mark.parametrize("threshold", ["soft", "hard"])
@pytest.mark.parametrize("n_steps", [1, 2, 7])
def test_steps_are_those_of_the_equation(problem, threshold, n_steps):
    signals, atoms = problem
    codes, _ = lca(signals, atoms, penalty=0.3, threshold=threshold, step=0.1, max_iter=n_steps, tol=0.0)
    expected = [by_hand(x, atoms, 0.3, 0.1, n_steps, hard=threshold == "hard") for x in signals]
    np.testing.assert_allclose(codes, expected, atol=1e-12)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("length", [1.0, 0.4, 2.5])
def test_the_soft_fixed_point_satisfies_the_conditions_of_the_lasso(problem, length, positive):
    signals, atoms = problem
    atoms = atoms * length
    codes, unsettled = lca(signals, atoms, penalty=0.3, tol=1e-8, max_iter=200_000, positive=positive)
    assert unsettled == 0
    near = (signals - codes @ atoms) @ atoms.T
    assert np.abs(near - 0.3 * np.sign(codes))[codes != 0].max() <= 1e-6
    assert (near if positive else np.abs(near))[codes == 0].max() <= 0.3 + 1e-6
    assert not positive or codes.min() >= 0


def test_the_hard_fixed_point_is_least_squares_on_its_support(problem):
    signals, atoms = problem
    codes, unsettled = lca(signals, atoms, penalty=0.8, threshold="hard", tol=1e-10, max_iter=100_000)
    settled = 0
    for x, code in zip(signals, codes, strict=True):
        support = np.flatnonzero(code)
        if len(support) and np.abs(atoms[support] @ (x - code @ atoms)).max() < 1e-7:
            settled += 1
            assert np.abs(code[support]).min() > 0.8 - 1e-6
    assert settled >= len(signals) - unsettled - np.count_nonzero(~codes.any(axis=1))
    assert settled > 20


def test_a_divergent_step_is_refused(problem):
    _, atoms = problem
    bound = 2 / np.linalg.eigvalsh(atoms @ atoms.T)[-1]
    with pytest.raises(DataError, match=re.escape(f"{bound:.6g}")):
        step_size("lca", atoms, bound * 1.01)
    assert step_size("lca", atoms, bound * 0.99) == bound * 0.99
    assert step_size("lca", atoms, None) == pytest.approx(bound / 2)
    assert step_size("lca", np.eye(2) * 0.1, None) == 1.0


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_codes_scale(problem, scale):
    signals, atoms = problem
    a, b = (lca(signals * s, atoms, penalty=0.3 * s, max_iter=50, tol=0.0)[0] for s in (1.0, scale))
    np.testing.assert_allclose(b, scale * a, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("algorithm", ["lca", "feedback"])
@pytest.mark.parametrize("step", [0.0, -1.0, 0.5, 0.7])
def test_a_divergent_step_names_the_bound(algorithm, step):
    with pytest.raises(DataError, match=r"between 0 and 0\.5"):
        step_size(algorithm, np.diag([2.0, 1.0]), step)
    assert step_size(algorithm, np.diag([2.0, 1.0]), 0.499) == 0.499
