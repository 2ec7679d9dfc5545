"""Coders that are dynamics: activities of neurons, one per atom, that settle at a sparse code.

**Local competition ("lca").** Each atom is a neuron of potential u_j and activity ``a_j = T(u_j)``, zero below a threshold
(Rozell et al. 2008):

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

**Negative feedback ("feedback").** The reconstruction is subtracted from the input, and each neuron moves with its atom's
correlation with that error:

    e = x - y D,   y <- y + step D e,   y = 0 at first.

This is gradient descent on ``1/2 ||x - y D||^2``: errors along an eigenvector of G of eigenvalue v shrink by ``1 -
step v``, so it converges exactly for ``0 < step < 2 / (largest eigenvalue)``, to the least-squares code of least
length. Half that bound is the default. Two constraints make the code sparse, each exact at the fixed point:
``positive`` sets negative activities to zero after each step (non-negative least squares), and a `penalty` shrinks
each activity by ``step penalty`` (the Lasso).

**Divisive input modulation ("dim")** divides the input by its reconstruction. With D the atoms, D' the atoms each divided by
its sum, and ``[v]_e = max(e, v)`` entry by entry,

    e = x / [y D]_epsilon,   y <- [y]_epsilon * (D' e),   y = 0 at first.

Where the input is under-explained e is above 1 and the atoms that would explain it grow; where it is over-explained they
shrink. Without the floors this is the multiplicative update of the Kullback-Leibler divergence between x and y D (Lee & Seung;
Richardson & Lucy), which never rises: so activities settle at its minimum over ``y >= 0``. The floors keep the division
defined and let a silent neuron come back; a neuron that explains nothing ends below `epsilon`, and not at zero. Spratling's
first form adds epsilon where this one takes the larger of the two; they differ by O(epsilon).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.errors import Argument, DataError
from gramian.sparse.atoms import coded, largest_eigenvalue

Rows = npt.NDArray[np.intp]


def step_size(algorithm: str, atoms: Array, step: float | None) -> float:
    """Return the step to take, by default half the bound beyond which "lca" or "feedback" diverges.

    Examples
    --------
    >>> step_size("feedback", np.eye(2), None)
    1.0
    >>> step_size("lca", np.diag([2.0, 1.0]), 0.9)
    Traceback (most recent call last):
    gramian.errors.DataError: step=0.9 diverges: 'lca' needs a step between 0 and 0.5, 2 / largest eigenvalue of D D^T
    """
    largest = largest_eigenvalue(atoms)
    bound = 2 / (max(1.0, largest) if algorithm == "lca" else largest)
    if step is None:
        return bound / 2
    if not 0 < step < bound:
        raise DataError(
            Argument("step", step),
            f" diverges: {algorithm!r} needs a step between 0 and {bound:.6g}, 2 / largest eigenvalue of D D^T",
        )
    return float(step)


def cut(values: Array, at: float, *, hard: bool = False, positive: bool = False) -> Array:
    """Return values with those below a threshold set to zero, and the others shrunk by it unless it is hard."""
    sizes = values if positive else np.abs(values)
    kept = values if hard else np.sign(values) * (sizes - at)
    return np.where(sizes > at, kept, 0.0)


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
    size = step_size("lca", atoms, step)
    hard = threshold == "hard"

    def code(block: Array, correlations: Array, codes: Array) -> int:
        return int(_settle(correlations, gram, float(penalty), hard, size, max_iter, float(tol), positive, codes))

    return coded(signals, atoms, code)


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
    size = step_size("feedback", atoms, step)

    def code(block: Array, correlations: Array, codes: Array) -> int:
        def update(y: Array, rows: Rows) -> Array:
            return after_feedback(y, block[rows], atoms, size, penalty, positive=positive)

        return _settle_rows(codes, np.arange(len(block)), update, max_iter, tol)

    return coded(signals, atoms, code)


def after_feedback(y: Array, signals: Array, atoms: Array, size: float, penalty: float, *, positive: bool) -> Array:
    """Return the activities one step of feedback later."""
    moved = y + size * ((signals - y @ atoms) @ atoms.T)
    return cut(moved, size * penalty, positive=positive) if penalty or positive else moved


def _settle_rows(codes: Array, running: Rows, update: Callable[[Array, Rows], Array], max_iter: int, tol: float) -> int:
    """Update the codes of some rows, each until it has settled; return how many had not after `max_iter` steps."""
    for _ in range(max_iter):
        before = codes[running]
        after = update(before, running)
        codes[running] = after
        running = running[np.abs(after - before).max(axis=1) > tol * np.abs(after).max(axis=1)]
        if not len(running):
            break
    return len(running)


DIVISIVE_STEPS = 1000
"""Steps of "dim" by default."""

FLOOR = 0.01
"""The floor of "dim" by default, relative to the largest value of the signal."""


def dim(
    signals: Array,
    atoms: Array,
    *,
    epsilon: float | None = None,
    max_iter: int = DIVISIVE_STEPS,
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
    require_nonnegative_atoms(atoms)
    require_nonnegative(signals, "row {row} has the negative value {value:g}; 'dim' divides, and takes signals >= 0")
    forward = atoms / atoms.sum(axis=1, keepdims=True)

    def code(block: Array, correlations: Array, codes: Array) -> int:
        floors = floors_of(block, epsilon)

        def update(y: Array, rows: Rows) -> Array:
            return after_division(y, block[rows], atoms, forward, floors[rows, None])

        return _settle_rows(codes, np.flatnonzero(floors > 0), update, max_iter, tol)

    return coded(signals, atoms, code)


def floors_of(signals: Array, epsilon: float | None) -> Array:
    """Return the floor of each signal."""
    return np.full(len(signals), epsilon) if epsilon is not None else FLOOR * signals.max(axis=1)


def after_division(y: Array, signals: Array, atoms: Array, forward: Array, floor: Array) -> Array:
    """Return the activities one step of divisive modulation later; `forward` are the atoms, each divided by its sum."""
    return np.maximum(y, floor) * ((signals / np.maximum(y @ atoms, floor)) @ forward.T)


def require_nonnegative_atoms(atoms: Array) -> None:
    """Raise for the first atom that has a negative value."""
    require_nonnegative(
        atoms, "atom {row} of the dictionary has the negative value {value:g}; 'dim' divides, and takes atoms >= 0"
    )


def require_nonnegative(rows: Array, message: str) -> None:
    """Raise for the first row that has a negative value."""
    lowest = rows.min(axis=1)
    bad = np.flatnonzero(lowest < 0)
    if len(bad):
        raise DataError(message.format(row=bad[0], value=lowest[bad[0]]))
