"""Divisive input modulation: feedback that divides the input by its reconstruction instead of taking it off.

With D the atoms, D' the atoms each divided by its sum, and ``[v]_e = max(e, v)`` entry by entry,

    e = x / [y D]_epsilon,   y <- [y]_epsilon * (D' e),   y = 0 at first.

Where the input is under-explained e is above 1 and the atoms that would explain it grow; where it is over-explained they
shrink. Without the floors this is the multiplicative update of the Kullback-Leibler divergence between x and y D (Lee & Seung;
Richardson & Lucy), which never rises: so activities settle at its minimum over ``y >= 0``. The floors keep the division
defined and let a silent neuron come back; a neuron that explains nothing ends below `epsilon`, and not at zero.

Spratling's first form adds epsilon where this one takes the larger of the two; they differ by O(epsilon).
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.sparse.coders.rows import coded

MAX_ITER = 1000
"""Steps by default."""

FLOOR = 0.01
"""The floor by default, relative to the largest value of the signal."""


def dim(
    signals: Array,
    atoms: Array,
    *,
    epsilon: float | None = None,
    max_iter: int = MAX_ITER,
    tol: float = 1e-5,
) -> tuple[Array, int]:
    """Return the activities after divisive input modulation, (n, k), and how many signals had not settled.

    Parameters
    ----------
    signals : (n, p) array
        Not negative.
    atoms : (k, p) array
        Not negative.
    epsilon : float, optional
        The floor of reconstructions and activities; by default a hundredth of each signal's largest value.
    max_iter : int
        Steps, at most.
    tol : float
        Change of an activity in one step at which a signal has settled, relative to its largest activity.

    References
    ----------
    M. W. Spratling, K. De Meyer, R. Kompass (2009), Unsupervised learning of overlapping image components using divisive
    input modulation.

    Examples
    --------
    One step: e = x / 0.01 = (100, 0), so y = 0.01 * (100, 50).

    >>> dim(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 1.0]]), epsilon=0.01, max_iter=1)[0]
    array([[1. , 0.5]])
    """
    require_nonnegative(
        atoms, "atom {row} of the dictionary has the negative value {value:g}; 'dim' divides, and takes atoms >= 0"
    )
    sums = atoms.sum(axis=1)
    forward = atoms / sums[:, None]

    def code(block: Array, correlations: Array, codes: Array) -> int:
        floors = np.full(len(block), epsilon) if epsilon is not None else FLOOR * block.max(axis=1)
        running = np.flatnonzero(floors > 0)
        for _ in range(max_iter):
            y, floor = codes[running], floors[running, None]
            errors = block[running] / np.maximum(y @ atoms, floor)
            after = np.maximum(y, floor) * (errors @ forward.T)
            codes[running] = after
            moving = np.abs(after - y).max(axis=1) > tol * np.abs(after).max(axis=1)
            running = running[moving]
            if not len(running):
                break
        return len(running)

    require_nonnegative(signals, "row {row} has the negative value {value:g}; 'dim' divides, and takes signals >= 0")
    codes, unsettled = coded(signals, atoms, code)
    return codes, sum(unsettled)


def require_nonnegative(rows: Array, message: str) -> None:
    """Raise for the first row that has a negative value."""
    lowest = rows.min(axis=1)
    bad = np.flatnonzero(lowest < 0)
    if len(bad):
        raise DataError(message.format(row=bad[0], value=lowest[bad[0]]))
