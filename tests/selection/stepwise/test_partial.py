import numpy as np
import pytest

import gramian as gm
from gramian.selection.problem import problem_of
from gramian.selection.residual import Residual
from gramian.selection.stepwise.forward import chance, p_value

from ..brute import basis, target_basis


def test_chance_is_the_mean_gain_over_permutations(rng):
    # Of a column that is permuted against model and target.
    n = 60
    inside, column = rng.standard_normal((n, 3)), rng.integers(0, 5, n)
    target = target_basis(rng.standard_normal(n) + inside[:, 0])
    z = basis(inside - inside.mean(axis=0))
    base = np.square(z.T @ target).sum()
    gains = []
    for _ in range(3000):
        hot = np.eye(5)[rng.permutation(column)]
        both = basis(np.column_stack([inside, hot]) - np.column_stack([inside, hot]).mean(axis=0))
        gains.append(np.square(both.T @ target).sum() - base)
    expected = chance(4, 1 - base, n, 3)
    assert np.mean(gains) == pytest.approx(expected, abs=4 * np.std(gains) / np.sqrt(3000))


def test_the_first_p_value_is_that_of_the_independence_test(mixed):
    m = gm.collect(mixed)
    columns = ["color", "shape", "size"]
    problem = problem_of(m, columns, ["kind"])
    state = Residual.of(problem)
    for j, name in enumerate(columns):
        found = p_value(problem, j, *state.adds(j), state.explained, 0)
        assert found == pytest.approx(gm.independence_test(m, name, "kind").p_value, rel=1e-6)


def test_a_later_p_value_is_near_that_of_the_partial_f(rng):
    from scipy import stats

    n = 400
    X = rng.standard_normal((n, 3))
    y = X[:, 0] + 0.15 * X[:, 1] + rng.standard_normal(n)
    m = gm.collect(np.column_stack([X, y]))
    problem = problem_of(m, ["x0", "x1", "x2"], ["x3"])
    state = Residual.of(problem)
    state.enter(0)
    for j in (1, 2):
        found = p_value(problem, j, *state.adds(j), state.explained, state.rank)
        one = [np.linalg.lstsq(np.column_stack([np.ones(n), X[:, a]]), y, rcond=None)[1][0] for a in ([0], [0, j])]
        f = (one[0] - one[1]) / (one[1] / (n - 3))
        # Permutation and normal theory agree to a tenth of the p-value for normal numbers.
        assert found == pytest.approx(stats.f.sf(f, 1, n - 3), rel=0.1)
