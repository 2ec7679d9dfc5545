"""Backward elimination, against a refit without every column at every step."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.selection.problem import problem_of
from gramian.selection.stepwise.backward import backward

from ..brute import random_problem, score


@pytest.mark.parametrize("seed", range(6))
def test_every_step_leaves_out_what_is_missed_least(seed):
    frame, target = random_problem(np.random.default_rng(seed), missing=seed % 3 == 0)
    columns = list(frame.columns)
    path = backward(problem_of(gm.collect(frame.assign(y=target)), columns, ["y"]))
    inside = list(columns)
    for step, got in enumerate(path.order):
        losses = {name: _loss(frame, inside, name, target) for name in inside}
        # Columns without a direction of their own leave first.
        nothing = {name: loss for name, (loss, rank) in losses.items() if not rank}
        rivals = nothing or {name: loss for name, (loss, _) in losses.items()}
        assert rivals[columns[got]] <= min(rivals.values()) + 1e-6
        assert path.score[step] == pytest.approx(rivals[columns[got]], abs=1e-6)
        inside.remove(columns[got])


def _loss(frame, inside, name, target):
    from ..brute import explained, target_basis

    whole, rank = explained(frame, inside, target)
    rest, less = explained(frame, [other for other in inside if other != name], target)
    r = target_basis(target).shape[1]
    return whole - rest - 2 * (rank - less) * (r - whole) / (len(frame) - 1 - rank), rank - less


def test_the_last_two_are_those_that_tell_most(rng):
    X = rng.standard_normal((500, 12))
    y = X[:, 3] - X[:, 7] + 0.5 * rng.standard_normal(500)
    problem = problem_of(gm.collect(np.column_stack([X, y])), [f"x{k}" for k in range(12)], ["x12"])
    assert set(backward(problem).order[-2:]) == {3, 7}
    assert set(backward(problem, alpha=0.01).left_score) == {3, 7}
    kept = backward(problem, include=[0], keep=3).left_score
    assert set(kept) == {0, 3, 7}


def test_a_single_column_left_has_the_score_of_the_first_step(rng):
    frame, target = random_problem(rng)
    columns = list(frame.columns)
    path = backward(problem_of(gm.collect(frame.assign(y=target)), columns, ["y"]), keep=1)
    (last,) = path.left_score
    # Alone it is judged against what it leaves unexplained, not against everything.
    value, rank = score(frame, [], columns[last], target)
    assert path.left_score[last] >= value
    assert rank >= 1


def test_coefficients_of_each_step_are_least_squares(rng):
    X = rng.standard_normal((100, 4))
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    y = X[:, :4] @ [1.0, 2.0, 0.0, -1.0] + rng.standard_normal(100)
    problem = problem_of(gm.collect(np.column_stack([X, y])), [f"x{k}" for k in range(5)], ["x5"])
    path = backward(problem, with_coefficients=True)
    inside = list(range(5))
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    for step in range(5):
        fit = Xc[:, inside] @ np.linalg.lstsq(Xc[:, inside], yc, rcond=None)[0]
        # Where columns repeat each other coefficients are not unique, predictions are.
        np.testing.assert_allclose(Xc @ path.coefficients[step][:, 0], fit, atol=1e-6)
        if step < len(path.order):
            inside.remove(path.order[step])


def test_many_columns_are_eliminated_through_smaller_matrices(rng):
    X = rng.standard_normal((400, 60))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(400)
    problem = problem_of(gm.collect(np.column_stack([X, y])), [f"x{k}" for k in range(60)], ["x60"])
    path = backward(problem)
    inside = list(range(60))
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    for got in path.order:
        rest = np.linalg.lstsq(Xc[:, inside], yc, rcond=None)[0]
        inverse = np.diagonal(np.linalg.inv(Xc[:, inside].T @ Xc[:, inside]))
        t2 = dict(zip(inside, rest**2 / inverse, strict=True))
        assert t2[got] == pytest.approx(min(t2.values()), rel=1e-6)
        inside.remove(got)


def test_columns_without_a_direction_of_their_own_leave_first(rng):
    X = rng.standard_normal((80, 6))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.insert(0, "unit", 1.0)
    frame.insert(2, "twice_b", 2 * frame["b"])
    # No column but a says anything: all others have a score below that of a column that changes nothing.
    frame["y"] = frame["a"] + 0.3 * rng.standard_normal(80)
    columns = list(frame.columns[:-1])
    path = backward(problem_of(gm.collect(frame), columns, ["y"]))
    assert [columns[j] for j in path.order[:2]] == ["unit", "b"]
    np.testing.assert_allclose(path.gain[:2], 0.0, atol=1e-9)
    assert columns[path.order[-1]] == "a"


def test_more_columns_than_rows_leave_by_their_coefficients_of_least_length(rng):
    X = rng.standard_normal((40, 60))
    y = 3 * X[:, 59] + 2 * X[:, 30] + 0.5 * rng.standard_normal(40)
    names = [f"x{k}" for k in range(60)]
    path = backward(problem_of(gm.collect(np.column_stack([X, y])), names, ["x60"]))
    assert set(path.order[-2:]) == {30, 59}
    inside = list(range(60))
    unit = (X - X.mean(axis=0)) / X.std(axis=0)
    for got in path.order[:20]:
        size = np.abs(np.linalg.pinv(unit[:, inside]) @ (y - y.mean()))
        assert inside[int(np.argmin(size))] == got
        inside.remove(got)


def test_alpha_stops_where_no_column_fails_the_test(rng):
    # Of 120 levels, surely not independent of the target, and yet worth less than its levels cost: the least score of all.
    level = rng.integers(0, 120, 600)
    frame = pd.DataFrame({"level": [f"l{k}" for k in level], **{f"x{k}": rng.standard_normal(600) for k in range(4)}})
    frame["y"] = 0.33 * rng.standard_normal(120)[level] + rng.standard_normal(600)
    problem = problem_of(gm.collect(frame), list(frame.columns[:-1]), ["y"])
    path = backward(problem, alpha=0.05)
    assert path.left_score[0] < 0
    assert path.left_p_value[0] * 5 <= 0.05
    assert set(path.left_score) == {0}


def test_alpha_keeps_next_to_nothing_of_noise():
    # The last of sixty columns is the best of sixty.
    names, kept = [f"x{k}" for k in range(60)], 0
    for seed in range(10):
        X = np.random.default_rng(seed).standard_normal((300, 61))
        kept += len(backward(problem_of(gm.collect(X), names, ["x60"]), alpha=0.05).left_score)
    assert kept <= 3
