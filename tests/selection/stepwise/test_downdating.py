"""A downdated matrix is that of the columns left."""

import numpy as np
import pandas as pd

import gramian as gm
from gramian.selection.problem import problem_of
from gramian.selection.stepwise.downdating import Downdated


def test_inverse_and_coefficients_without_groups_are_those_of_the_rest(rng):
    frame = pd.DataFrame({f"x{k}": rng.standard_normal(80) for k in range(9)}).assign(c=rng.choice(list("abc"), 80))
    y = frame["x0"] - frame["x4"] + rng.standard_normal(80)
    problem = problem_of(gm.collect(frame.assign(y=y)), list(frame), ["y"])
    shifted = problem.matrix + 0.1 * np.eye(12)
    model = Downdated(problem)
    model.matrix = np.asfortranarray(np.linalg.inv(shifted))
    model.solution = model.matrix @ model.cross
    left = list(range(12))
    # Past the share at which the matrices are made smaller, too.
    for group in (4, 0, 9, 7, 1):
        span = model.spans[group]
        left = [j for j in left if not span.start <= j < span.stop]
        assert list(model.without(group)) == left
        model.downdate(group)
        inverse = np.linalg.inv(shifted[np.ix_(left, left)])
        at = model.position[left]
        np.testing.assert_allclose(model.matrix[np.ix_(at, at)], inverse, atol=1e-12)
        np.testing.assert_allclose(model.solution[at], inverse @ model.cross[left], atol=1e-12)
        np.testing.assert_allclose(
            model.coefficients[left, 0], (inverse @ model.cross[left])[:, 1] / problem.unit[left], rtol=1e-9
        )
    assert len(model.at) < 12
    sizes = np.sqrt(np.square(model.solution[model.position[left], 0]))
    np.testing.assert_allclose(model.sizes(), sizes)
    some = Downdated(problem, {2: problem.spans[2], 9: problem.spans[9]})
    assert list(some.at) == [2, 9, 10, 11]
