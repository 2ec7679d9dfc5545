"""Negative feedback: neurons that see what the others leave unexplained.

The reconstruction is taken off the input, and each neuron moves with its atom's correlation with that error:

    e = x - y D,   y <- y + step D e,   y = 0 at first.

This is gradient descent on ``1/2 ||x - y D||^2``: errors along an eigenvector of G of eigenvalue v shrink by ``1 -
step v``, so it converges exactly for ``0 < step < 2 / (largest eigenvalue)``, to the least-squares code of least
length. Half that bound is the default. Two constraints make the code sparse, each exact at the fixed point:
``positive`` cuts negative activities to zero after each step (non-negative least squares), and a `penalty` shrinks
each activity by ``step penalty`` (the Lasso).
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.sparse.atoms import largest_eigenvalue, require_step
from gramian.sparse.coders.rows import coded


def feedback_step(atoms: Array, step: float | None) -> float:
    """Return the step to take, checked against the bound beyond which errors grow."""
    bound = 2 / largest_eigenvalue(atoms)
    if step is None:
        return bound / 2
    require_step(step, bound, "feedback")
    return float(step)


def feedback(
    signals: Array,
    atoms: Array,
    *,
    penalty: float = 0.0,
    step: float | None = None,
    max_iter: int = 10_000,
    tol: float = 1e-7,
    positive: bool = False,
) -> tuple[Array, int]:
    """Return the activities after negative feedback on the residual, (n, k), and how many signals had not settled.

    Parameters
    ----------
    signals : (n, p) array
    atoms : (k, p) array
    penalty : float
        By how much activities are shrunk, a unit of step.
    step : float, optional
        By default 1 over the largest eigenvalue of the Gram matrix.
    max_iter : int
        Steps, at most.
    tol : float
        Change of an activity in one step at which a signal has settled, relative to its largest activity.
    positive : bool
        Activities are not negative.

    Examples
    --------
    Two steps: the errors are (4, 2), then (3, 1.5) for the first neuron, whose activity goes from 0 to 1 to 1.75.

    >>> feedback(np.array([[4.0, 2.0]]), np.array([[1.0, 0.0]]), step=0.25, max_iter=2)[0]
    array([[1.75]])
    """
    size = feedback_step(atoms, step)
    shrink = size * penalty

    def code(block: Array, correlations: Array, codes: Array) -> int:
        running = np.arange(len(block))
        for _ in range(max_iter):
            y = codes[running]
            after = y + size * ((block[running] - y @ atoms) @ atoms.T)
            if penalty:
                after = np.sign(after) * np.maximum(np.abs(after) - shrink, 0.0)
            if positive:
                after = np.maximum(after, 0.0)
            codes[running] = after
            moving = np.abs(after - y).max(axis=1) > tol * np.abs(after).max(axis=1)
            running = running[moving]
            if not len(running):
                break
        return len(running)

    codes, unsettled = coded(signals, atoms, code)
    return codes, sum(unsettled)
