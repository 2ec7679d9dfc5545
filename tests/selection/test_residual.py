"""What columns have left to say, against residuals of rows."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.selection.problem import problem_of
from gramian.selection.residual import Residual

from .brute import basis, expanded, explained, random_problem


def state_of(frame, target):
    problem = problem_of(gm.collect(frame.assign(y=target)), list(frame.columns), ["y"])
    return problem, Residual.of(problem)


@pytest.mark.parametrize("seed", range(5))
def test_gains_and_ranks_are_those_of_refits(seed):
    frame, target = random_problem(np.random.default_rng(seed), missing=True)
    _, state = state_of(frame, target)
    inside = []
    for group in (3, 0, 8, 7, 6):
        gain, rank = state.gains()
        base, directions = explained(frame, inside, target)
        for j, name in enumerate(frame):
            after, more = explained(frame, [*inside, name], target)
            assert gain[j] == pytest.approx(after - base, abs=1e-9)
            assert rank[j] == more - directions
        state.enter(group)
        inside.append(frame.columns[group])
        assert np.trace(state.explained) == pytest.approx(explained(frame, inside, target)[0], abs=1e-9)
        assert state.rank == explained(frame, inside, target)[1]


def test_what_is_left_of_a_column_is_its_residual_scatter(rng):
    frame, target = random_problem(rng)
    _, state = state_of(frame, target)
    state.enter(3)
    state.enter(7)
    z = basis(expanded(frame, ["c0", "sum"]))
    for j, name in enumerate(frame):
        own = basis(expanded(frame, [name]))
        assert state.left()[j] == pytest.approx(own.shape[1] - np.square(z.T @ own).sum(), abs=1e-9)


def test_coefficients_predict_as_least_squares_does(rng):
    frame, target = random_problem(rng)
    problem, state = state_of(frame, target)
    for group in (1, 4, 6):
        state.enter(group)
    unit = problem.unit[:, None]
    found = state.coefficients(problem.regression.cross / unit) / unit
    chosen = expanded(frame, ["n1", "c1", "c3"])
    at = np.concatenate([np.arange(s.start, s.stop) for s in (problem.spans[g] for g in (1, 4, 6))])
    # Only the columns inside have coefficients, and the normal equations hold.
    assert not np.delete(found, at, axis=0).any()
    left = problem.regression.cross - problem.regression.matrix @ found
    np.testing.assert_allclose(left[at], 0.0, atol=1e-9 * np.abs(problem.regression.cross).max())
    assert chosen.shape[1] == len(at)


@pytest.mark.parametrize("order", [["coarse", "size", "wide", "other"], ["size", "twin", "wide", "coarse"]])
def test_wide_categories_gain_as_in_refits_before_and_after_they_enter(rng, order):
    n = 300
    wide = rng.integers(0, 40, n)
    frame = pd.DataFrame(
        {
            "wide": [f"w{v}" for v in wide],
            "coarse": [f"g{v % 9}" for v in wide],
            "twin": [f"t{v}" for v in wide],
            "other": [f"o{v}" for v in rng.integers(0, 25, n)],
            "size": rng.standard_normal(n) + wide / 20,
        }
    )
    target = rng.standard_normal(n) + wide % 3 + frame["size"].to_numpy()
    _, state = state_of(frame, target)
    for step, name in enumerate(order):
        gain, rank = state.gains()
        base, directions = explained(frame, order[:step], target)
        for j, other in enumerate(frame):
            after, more = explained(frame, [*order[:step], other], target)
            assert gain[j] == pytest.approx(after - base, abs=1e-9)
            assert rank[j] == more - directions
        state.enter(list(frame).index(name))
    problem, state = state_of(frame, target)
    for name in order[:3]:
        state.enter(list(frame).index(name))
    unit = problem.unit[:, None]
    found = state.coefficients(problem.regression.cross / unit) / unit
    left = problem.regression.cross - problem.regression.matrix @ found
    at = np.concatenate([np.arange(n)[problem.spans[list(frame).index(name)]] for name in order[:3]])
    np.testing.assert_allclose(left[at], 0.0, atol=1e-9 * np.abs(problem.regression.cross).max())


def test_too_wide_a_scatter_is_read_column_by_column(rng, monkeypatch):
    frame, target = random_problem(rng)
    whole = state_of(frame, target)[1]
    monkeypatch.setattr("gramian.selection.problem.may_be_formed", lambda layout: False)
    monkeypatch.setattr("gramian.selection.problem.Problem.matrix", None)
    state = state_of(frame, target)[1]
    for group in (3, 8, 0):
        np.testing.assert_allclose(state.gains()[0], whole.gains()[0], atol=1e-10)
        state.enter(group)
        whole.enter(group)
