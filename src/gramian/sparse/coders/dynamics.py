"""The locally competitive algorithm: neurons that are driven by the signal and inhibit those like them.

Each atom is a neuron of potential u_j and activity ``a_j = T(u_j)``, zero below a threshold (Rozell et al. 2008):

    du/dt = b - u - (G - I) a,

so a neuron is driven by its correlation with the signal and inhibited by every active one in proportion to their overlap. At
a fixed point ``u = a + (b - G a)``. With the soft threshold ``T(u) = sign(u) max(|u| - penalty, 0)`` that says: the
correlation with the residual ``q = b - G a`` equals ``penalty sign(a_j)`` for every active neuron and is at most `penalty` in
size for the others. These are the Lasso's conditions, for atoms of any length. The hard threshold ``T(u) = u where
|u| > penalty`` leaves the active coefficients at least squares; it descends on ``1/2 ||x - a D||^2`` plus ``penalty^2 / 2`` for
each active unit atom, and finds a local optimum.

Euler steps of size h multiply errors in the active neurons by ``I - h G_AA`` and in the silent ones by ``1 - h``, which
shrinks for ``h < 2 / max(1, largest eigenvalue of G)``; half that bound is the default. `tol` bounds ``|du/dt|`` relative to
the largest ``|b_j|``, which with the soft threshold is the violation of the Lasso's conditions.

Negative feedback: neurons that see what the others leave unexplained.

The reconstruction is taken off the input, and each neuron moves with its atom's correlation with that error:

    e = x - y D,   y <- y + step D e,   y = 0 at first.

This is gradient descent on ``1/2 ||x - y D||^2``: errors along an eigenvector of G of eigenvalue v shrink by ``1 -
step v``, so it converges exactly for ``0 < step < 2 / (largest eigenvalue)``, to the least-squares code of least
length. Half that bound is the default. Two constraints make the code sparse, each exact at the fixed point:
``positive`` cuts negative activities to zero after each step (non-negative least squares), and a `penalty` shrinks
each activity by ``step penalty`` (the Lasso).

Divisive input modulation: feedback that divides the input by its reconstruction instead of taking it off.

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
from gramian.compiling import kernel
from gramian.errors import DataError
from gramian.sparse.atoms import coded, largest_eigenvalue, require_step


def lca_step(atoms: Array, step: float | None) -> float:
    """Return the step to take, checked against the bound beyond which potentials diverge."""
    bound = 2 / max(1.0, largest_eigenvalue(atoms))
    if step is None:
        return bound / 2
    require_step(step, bound, "lca")
    return float(step)


def lca(
    signals: Array,
    atoms: Array,
    *,
    penalty: float,
    threshold: str = "soft",
    step: float | None = None,
    max_iter: int = 10_000,
    tol: float = 1e-7,
    positive: bool = False,
) -> tuple[Array, int]:
    """Return the activities that competing neurons settle at, (n, k), and how many signals had not settled.

    Parameters
    ----------
    signals : (n, p) array
    atoms : (k, p) array
    penalty : float
        The threshold.
    threshold : {"soft", "hard"}
    step : float, optional
        Of time, in units of the neurons' time constant.
    max_iter : int
        Steps, at most.
    tol : float
        Rate of change at which a signal has settled, relative to its largest correlation with an atom.
    positive : bool
        Activities are not negative.

    References
    ----------
    C. J. Rozell, D. H. Johnson, R. G. Baraniuk, B. A. Olshausen (2008), Sparse coding via thresholding and local competition
    in neural circuits.

    Examples
    --------
    >>> lca(np.array([[3.0, 0.5, -2.0]]), np.eye(3), penalty=1.0)[0].round(5)
    array([[ 2.,  0., -1.]])
    """
    gram = atoms @ atoms.T
    size = lca_step(atoms, step)
    hard = threshold == "hard"

    def code(block: Array, correlations: Array, codes: Array) -> int:
        return int(_settle(correlations, gram, float(penalty), hard, size, max_iter, float(tol), positive, codes))

    codes, unsettled = coded(signals, atoms, code)
    return codes, sum(unsettled)


@kernel("int64(float64[:,::1], float64[:,::1], float64, boolean, float64, int64, float64, boolean, float64[:,::1])")
def _settle(correlations, gram, penalty, hard, size, max_iter, tol, positive, codes):  # type: ignore[no-untyped-def]
    n, k = correlations.shape
    u, rate = np.empty(k), np.empty(k)
    unsettled = 0
    for i in range(n):
        b, a = correlations[i], codes[i]
        allowed = tol * np.abs(b).max()
        u[:] = 0.0
        done = False
        for _ in range(max_iter):
            for j in range(k):
                rate[j] = b[j] - u[j] + a[j]
            for t in range(k):
                if a[t] != 0:
                    weight, row = a[t], gram[t]
                    for j in range(k):
                        rate[j] -= weight * row[j]
            fastest = 0.0
            for j in range(k):
                fastest = max(fastest, abs(rate[j]))
                u[j] += size * rate[j]
                value = u[j]
                if value > penalty:
                    a[j] = value if hard else value - penalty
                elif value < -penalty and not positive:
                    a[j] = value if hard else value + penalty
                else:
                    a[j] = 0.0
            if fastest <= allowed:
                done = True
                break
        if not done:
            unsettled += 1
    return unsettled


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
