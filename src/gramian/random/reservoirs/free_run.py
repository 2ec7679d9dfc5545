"""Which ridge lets a reservoir run on its own predictions: judged by doing so.

A readout that predicts the next value best may amplify its own small errors when it is fed back: one-step errors, and so
cross-validation of any kind over steps, do not see that. So every ridge of the path is run freely from a few states that the
training sequences passed through, and judged by how far it gets from what came next there. The error of a run is the mean
squared error in units of the variance of the sequence, at most 1, so that one run that is lost counts as one run lost; the
score of a ridge is the mean over runs of its logarithm, as errors of runs that succeed lie orders of magnitude apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.random.readout import Readout
from gramian.random.reservoirs.echo_state import Reservoir

RUNS = 10
"""Stretches that are run."""
STEPS = 100
"""Their length at most; a quarter of what there is to learn from where that is less."""


@dataclass(eq=False)
class FreeRun:
    """A stretch of a sequence to be forecast.

    Attributes
    ----------
    sequence : int
        Which one.
    step : int
        The last step that is known.
    inputs : (channels,) array
        The value there.
    future : (steps, channels) array
        What came next.
    spread : (channels,) array
        Variance of the sequence.
    state : (n,) array
        Of the reservoir after that step, once it has been there.
    """

    sequence: int
    step: int
    inputs: Array
    future: Array
    spread: Array
    state: Array = field(default_factory=lambda: np.zeros(0))


def free_runs_of(sequences: Sequence[Array], washout: int) -> list[FreeRun]:
    """Return stretches spread evenly over what a readout learns from, none where sequences are too short."""
    total = sum(len(part) - washout for part in sequences)
    share = [max(1, round(RUNS * (len(part) - washout) / total)) for part in sequences]
    runs = []
    for k, (part, count) in enumerate(zip(sequences, share, strict=True)):
        steps = min(STEPS, (len(part) - washout) // 4)
        if steps < 1:
            continue
        spread = part.var(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        for step in np.unique(np.linspace(washout, len(part) - 1 - steps, count + 1)[1:].astype(int)):
            runs.append(FreeRun(k, int(step), part[step].copy(), part[step + 1 : step + 1 + steps], spread))
    return runs


def best_running(reservoir: Reservoir, path: Sequence[Readout], runs: Sequence[FreeRun], direct: bool) -> Readout:
    """Return the readout of the path that runs best, with the scores of all.

    Parameters
    ----------
    reservoir : Reservoir
    path : sequence of Readout
        One a ridge.
    runs : sequence of FreeRun
        With their states.
    direct : bool
        Whether the readout sees the inputs too.
    """
    scores = np.array([_score(reservoir, readout, runs, direct) for readout in path])
    selection = {"ridge": np.array([readout.ridge for readout in path]), "log_error": scores}
    return replace(path[int(np.argmin(scores))], selection=selection)


def _score(reservoir: Reservoir, readout: Readout, runs: Sequence[FreeRun], direct: bool) -> float:
    """Return the mean over runs of the logarithm of the squared error."""
    weights = np.ascontiguousarray(readout.coefficients.T)
    total = 0.0
    for run in runs:
        try:
            forecast = reservoir.free_run(len(run.future), run.state, run.inputs, weights, readout.intercept, direct)
            error = float((np.square(forecast - run.future) / run.spread).mean())
        except DataError:
            error = 1.0
        total += float(np.log(min(max(error, 1e-30), 1.0)))
    return total / len(runs)
