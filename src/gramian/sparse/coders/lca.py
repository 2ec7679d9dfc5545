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
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.sparse.atoms import largest_eigenvalue, require_step
from gramian.sparse.coders.rows import coded


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
