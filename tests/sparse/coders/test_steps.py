"""Activities over time are those of the coder stopped after each step."""

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.sparse.coders.choice import Coder, steps_of


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("lca", {"penalty": 0.3}),
        ("lca", {"penalty": 0.3, "threshold": "hard", "positive": True}),
        ("feedback", {"step": 0.1}),
        ("feedback", {"penalty": 0.2, "positive": True}),
        ("dim", {}),
        ("dim", {"epsilon": 0.02}),
    ],
)
def test_each_step_is_the_coder_stopped_there(problem, algorithm, settings):
    signals, atoms = (np.abs(part) for part in problem)
    path = steps_of(Coder.of(algorithm, **settings), signals, atoms, 6)
    assert path.shape == (40, 7, 12)
    np.testing.assert_array_equal(path[:, 0], 0)
    for t in (1, 2, 6):
        stopped = Coder.of(algorithm, max_iter=t, tol=0.0, **settings)(signals, atoms)
        np.testing.assert_allclose(path[:, t], stopped, rtol=1e-10, atol=1e-12)


def test_only_dynamics_have_steps():
    with pytest.raises(DataError, match="no steps in time"):
        steps_of(Coder.of("omp"), np.eye(2), np.eye(2), 3)
    with pytest.raises(DataError, match="n_steps"):
        steps_of(Coder.of("lca"), np.eye(2), np.eye(2), 0)
