"""Forward selection, against a refit of every candidate at every step."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.selection.problem import problem_of
from gramian.selection.stepwise.forward import forward

from ..brute import explained, random_problem, score, target_basis


@pytest.mark.parametrize("seed", range(9))
def test_every_step_is_the_best_refit(seed):
    frame, target = random_problem(np.random.default_rng(seed), missing=seed % 3 == 0)
    columns = list(frame.columns)
    path = forward(problem_of(gm.collect(frame.assign(y=target)), columns, ["y"]))
    inside = []
    for step, got in enumerate(path.order):
        found = {name: score(frame, inside, name, target) for name in columns if name not in inside}
        open_ = {name: value for name, (value, rank) in found.items() if rank}
        if not open_:
            break
        # Columns that rounding alone tells apart may come in either order.
        assert open_[columns[got]] >= max(open_.values()) - 1e-7
        assert path.score[step] == pytest.approx(open_[columns[got]], abs=1e-9)
        inside.append(columns[got])
        share = explained(frame, inside, target)[0] / target_basis(target).shape[1]
        assert path.explained[step] == pytest.approx(share, abs=1e-9)
    assert sorted(path.order) == list(range(len(columns)))


def test_included_columns_enter_first(rng):
    frame, target = random_problem(rng)
    problem = problem_of(gm.collect(frame.assign(y=target)), list(frame.columns), ["y"])
    path = forward(problem, include=[5, 2], steps=2)
    assert path.order[:2] == [5, 2]
    assert len(path.order) == 4


def test_steps_stop_at_the_level_corrected_for_the_choice(rng):
    X = rng.standard_normal((300, 40))
    y = X[:, 3] - 0.8 * X[:, 17] + rng.standard_normal(300)
    problem = problem_of(gm.collect(np.column_stack([X, y])), [f"x{k}" for k in range(40)], ["x40"])
    path = forward(problem, alpha=0.001)
    assert sorted(path.order) == [3, 17]
    assert path.corrected[1] == pytest.approx(min(39 * path.p_value[1], 1.0))
    assert min(path.left_p_value.values()) * 38 > 0.001


def test_a_step_that_helps_nothing_is_not_taken(rng):
    X = rng.standard_normal((200, 5))
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    problem = problem_of(gm.collect(np.column_stack([X, y])), [f"x{k}" for k in range(5)], ["x5"])
    path = forward(problem, while_useful=True)
    assert path.order[0] == 0
    assert all(value > 0 for value in path.score)
    assert all(value <= 0 for value in path.left_score.values())


def test_steps_that_help_nothing_are_taken_while_there_is_room(rng):
    X = rng.standard_normal((200, 9))
    columns = [f"x{k}" for k in range(9)]
    moments = gm.collect(np.column_stack([X, 2 * X[:, 0], X[:, 0] + 0.1 * rng.standard_normal(200)]))
    problem = problem_of(moments, [*columns, "x9"], ["x10"])
    few = len(forward(problem, while_useful=True).order)
    assert few < 7
    assert len(forward(problem, while_useful=True, room=6.5).order) == 7
    # What the model explains already adds nothing, however much room there is.
    assert sorted(forward(problem, while_useful=True, room=100).order) == list(range(9))


def test_coefficients_of_each_step_are_least_squares(rng):
    X = rng.standard_normal((100, 4))
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.standard_normal(100)
    problem = problem_of(gm.collect(np.column_stack([X, y])), [f"x{k}" for k in range(4)], ["x4"])
    path = forward(problem, steps=3, with_coefficients=True)
    assert not path.coefficients[0].any()
    for size in (1, 2, 3):
        at = path.order[:size]
        beta = np.linalg.lstsq(X[:, at] - X[:, at].mean(axis=0), y - y.mean(), rcond=None)[0]
        np.testing.assert_allclose(path.coefficients[size][at, 0], beta, rtol=1e-9)


def test_equal_columns_enter_in_the_order_of_the_table(rng):
    x = rng.standard_normal(80)
    frame = pd.DataFrame({"a": rng.standard_normal(80), "b": x, "c": 3 * x + 1, "y": x + 0.1})
    path = forward(problem_of(gm.collect(frame), ["a", "b", "c"], ["y"]))
    assert path.order[0] == 1
    assert path.order[-1] == 2
