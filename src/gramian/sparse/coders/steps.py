"""Competition over time: the activities after each step of the coders that are dynamics.

A coder started anew with one step more repeats all steps before it; kept as they pass, they are the same numbers. These few
lines say each step once more in plain arrays, which the tests hold against the coders themselves.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError, shown
from gramian.sparse.coders.choice import PENALTY, Coder
from gramian.sparse.coders.dim import FLOOR
from gramian.sparse.coders.feedback import feedback_step
from gramian.sparse.coders.lca import lca_step


def steps_of(coder: Coder, signals: Array, atoms: Array, n_steps: int) -> Array:
    """Return the activities of signals from zero over so many steps, (n, n_steps + 1, k).

    Parameters
    ----------
    coder : Coder
        `"lca"`, `"feedback"` or `"dim"`.
    signals : (n, p) array
    atoms : (k, p) array
    n_steps : int

    Examples
    --------
    >>> steps_of(Coder.of("feedback", step=0.5), np.array([[1.0]]), np.array([[1.0]]), 3)[0, :, 0]
    array([0.   , 0.5  , 0.75 , 0.875])
    """
    if coder.algorithm not in ("lca", "feedback", "dim"):
        raise DataError(f"algorithm {coder.algorithm!r} has no steps in time; use 'lca', 'feedback' or 'dim'")
    if isinstance(n_steps, bool) or not isinstance(n_steps, int | np.integer) or n_steps < 1:
        raise DataError(f"n_steps is a whole number from 1; got {shown(n_steps)}")
    signals = np.asarray(signals, dtype=np.float64)
    settings = coder.settings
    out = np.zeros((len(signals), n_steps + 1, len(atoms)))
    positive = bool(settings.get("positive", False))
    if coder.algorithm == "dim":
        floor = np.full(len(signals), settings["epsilon"]) if "epsilon" in settings else FLOOR * signals.max(axis=1)
        floor = np.where(floor > 0, floor, 1.0)[:, None]
        forward = (atoms / atoms.sum(axis=1, keepdims=True)).T
        for t in range(n_steps):
            errors = signals / np.maximum(out[:, t] @ atoms, floor)
            out[:, t + 1] = np.maximum(out[:, t], floor) * (errors @ forward)
        return out
    if coder.algorithm == "feedback":
        step, penalty = feedback_step(atoms, settings.get("step")), settings.get("penalty", 0.0)
        for t in range(n_steps):
            moved = out[:, t] + step * ((signals - out[:, t] @ atoms) @ atoms.T)
            out[:, t + 1] = _cut(moved, step * penalty, positive=positive)
        return out
    step, penalty = lca_step(atoms, settings.get("step")), settings.get("penalty", PENALTY)
    potentials, hard = np.zeros((len(signals), len(atoms))), settings.get("threshold") == "hard"
    for t in range(n_steps):
        active = out[:, t]
        potentials += step * ((signals - active @ atoms) @ atoms.T - potentials + active)
        out[:, t + 1] = _cut(potentials, penalty, hard=hard, positive=positive)
    return out


def _cut(values: Array, at: float, *, hard: bool = False, positive: bool = False) -> Array:
    """Return values with those below a threshold at zero, the others shrunk by it unless it is hard."""
    sizes = values if positive else np.abs(values)
    kept = values if hard else np.sign(values) * (sizes - at)
    return np.where(sizes > at, kept, 0.0)
