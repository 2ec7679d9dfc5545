import numpy as np
import pytest

import gramian as gm
from gramian.random.readout import Readout
from gramian.random.reservoirs.echo_state import RUNS, STEPS, Reservoir, best_running, free_runs_of


def test_stretches_lie_in_what_is_learned_from(rng):
    sequences = [rng.standard_normal((900, 2)), rng.standard_normal((300, 2)), rng.standard_normal((22, 2))]
    runs = free_runs_of(sequences, 20)
    assert RUNS <= len(runs) <= RUNS + 2
    for run in runs:
        part = sequences[run.sequence]
        assert 20 <= run.step < len(part)
        np.testing.assert_array_equal(run.inputs, part[run.step])
        np.testing.assert_array_equal(run.future, part[run.step + 1 : run.step + 1 + len(run.future)])
        assert len(run.future) == min(STEPS, (len(part) - 20) // 4)
    assert free_runs_of([np.zeros((3, 1))], 0) == []


def test_the_readout_that_runs_best_is_taken(rng):
    # A reservoir of one silent unit: the readout sees the input alone, and the sequence is u(t + 1) = 0.9 u(t).
    silent = np.zeros((1, 1))
    reservoir = Reservoir(np.zeros((1, 1), np.uint32), silent, silent, np.zeros(1), 1.0, "tanh")
    sequence = 0.9 ** np.arange(80.0)[:, None]
    runs = free_runs_of([sequence], 0)
    for run in runs:
        run.state = np.zeros(1)

    def readout(factor, ridge):
        return Readout(np.array([[0.0], [factor]]), np.zeros(1), np.zeros(2), ridge, {}, [])

    path = [readout(1e40, 0.1), readout(0.8, 1.0), readout(0.9, 10.0), readout(1.0, 100.0)]
    found = best_running(reservoir, path, runs, True)
    assert found.ridge == 10.0
    scores = found.selection["log_error"]
    # What explodes is a run lost: an error of 1, whose logarithm is 0.
    assert scores[0] == pytest.approx(0.0)
    assert scores[2] < scores[1] < scores[0]


def test_a_short_sequence_falls_back_on_cross_validation():
    model = gm.EchoStateRegressor(5).fit([0.0, 1.0, 0.5])
    assert "gcv" in model.selection_
