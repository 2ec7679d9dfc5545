"""The Lasso code: squared error plus a price on the sum of absolute coefficients, by coordinate descent on the Gram matrix.

The objective is ``1/2 ||x - y D||^2 + penalty ||y||_1``, scikit-learn's `sparse_encode(algorithm="lasso_cd")`. With
``q = b - G y`` the correlations of the atoms with the residual, the optimum has

    q_j = penalty sign(y_j) where y_j is not 0,   |q_j| <= penalty elsewhere,

and one coordinate's best value is ``soft(q_j + G_jj y_j, penalty) / G_jj``. A change of y_j takes ``(change) G_j`` off q.
Sweeps run over the atoms in use until they settle; one over all atoms then finds those that must come in. Where atoms in
use are nearly dependent sweeps crawl, and a step of feature-sign search (Lee et al. 2007) ends it: with the signs s of the
coefficients fixed the objective is quadratic, its minimum ``G_AA^-1 (b_A - penalty s)``, and the code moves there, or as far
as the first coefficient that would change its sign, which becomes zero. Neither kind of step raises the objective.

The largest violation of the conditions above, relative to ``max |b|``, is what `tol` bounds. A signal takes tens of
microseconds, where a loop over scikit-learn's solver spends some hundred on the call alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.sparse.atoms import coded

SWEEPS = 10
"""Sweeps over the atoms in use after which the minimum under their signs is solved for."""


def lasso(
    signals: Array,
    atoms: Array,
    *,
    penalty: float,
    max_iter: int = 10_000,
    tol: float = 1e-7,
    positive: bool = False,
) -> tuple[Array, int]:
    """Return codes of least 1/2 squared error plus `penalty` times their absolute sum, (n, k), and how many did not settle.

    Parameters
    ----------
    signals : (n, p) array
    atoms : (k, p) array
    penalty : float
    max_iter : int
        Sweeps, at most.
    tol : float
        Largest violation of the optimality conditions, relative to the largest correlation of the signal with an atom.
    positive : bool
        Coefficients are not negative.

    Examples
    --------
    >>> lasso(np.array([[3.0, 0.5, -2.0]]), np.eye(3), penalty=1.0)[0]
    array([[ 2.,  0., -1.]])
    """
    gram = atoms @ atoms.T

    def code(block: Array, correlations: Array, codes: Array) -> int:
        return int(_descend(correlations, gram, float(penalty), max_iter, float(tol), positive, codes))

    return coded(signals, atoms, code)


@njit(inline="always")
def _best(aim, length, penalty, positive):  # type: ignore[no-untyped-def]
    """Return the best value of one coordinate, the others fixed."""
    if aim > penalty:
        return (aim - penalty) / length
    if aim < -penalty and not positive:
        return (aim + penalty) / length
    return 0.0


@kernel("int64(float64[:,::1], float64[:,::1], float64, int64, float64, boolean, float64[:,::1])")
def _descend(correlations, gram, penalty, max_iter, tol, positive, codes):  # type: ignore[no-untyped-def]
    n, k = correlations.shape
    active = np.empty(k, dtype=np.int64)
    inner, slopes, before = np.empty(k * k), np.empty(k), np.empty(k)
    lower, move, used = np.empty((k, k)), np.empty(k), np.empty(k, dtype=np.int64)
    unsettled = 0
    for i in range(n):
        q, y = correlations[i], codes[i]
        allowed = 0.0
        for j in range(k):
            allowed = max(allowed, abs(q[j]))
        allowed *= tol
        sweeps, done = 0, False
        while not done and sweeps < max_iter:
            # Over all atoms: a coordinate's distance from its best value, in units of correlations, is what it violates.
            worst, count = 0.0, 0
            for j in range(k):
                length = gram[j, j]
                old = y[j]
                new = _best(q[j] + length * old, length, penalty, positive)
                if new != old:
                    worst = max(worst, abs(new - old) * length)
                    step = new - old
                    row = gram[j]
                    for t in range(k):
                        q[t] -= step * row[t]
                    y[j] = new
                if new != 0:
                    active[count] = j
                    count += 1
            sweeps += 1
            done = worst <= allowed
            if done or count == 0:
                continue
            # Over the atoms in use alone, on a copy of their part of the Gram matrix that the first cache holds.
            for s in range(count):
                slopes[s], before[s] = q[active[s]], y[active[s]]
                for t in range(count):
                    inner[s * count + t] = gram[active[s], active[t]]
            settled, calm = False, 0
            while not settled and sweeps < max_iter:
                worst = 0.0
                for s in range(count):
                    length = inner[s * count + s]
                    old = y[active[s]]
                    new = _best(slopes[s] + length * old, length, penalty, positive)
                    if new != old:
                        worst = max(worst, abs(new - old) * length)
                        step = new - old
                        row = inner[s * count : (s + 1) * count]
                        for t in range(count):
                            slopes[t] -= step * row[t]
                        y[active[s]] = new
                sweeps += 1
                calm += 1
                settled = worst <= allowed
                if settled or calm < SWEEPS:
                    continue
                calm = 0
                # The minimum under the present signs: Cholesky's factor of the part that is not zero, and two solves.
                size = 0
                for s in range(count):
                    if y[active[s]] != 0:
                        used[size] = s
                        size += 1
                definite = size > 0
                for s in range(size):
                    for t in range(s + 1):
                        value = inner[used[s] * count + used[t]]
                        for w in range(t):
                            value -= lower[s, w] * lower[t, w]
                        if t < s:
                            lower[s, t] = value / lower[t, t]
                        elif value > 1e-12 * inner[used[s] * count + used[s]]:
                            lower[s, s] = np.sqrt(value)
                        else:
                            definite = False
                    if not definite:
                        break
                    # What is missing to the conditions: the move solves G_AA move = slopes - penalty signs.
                    value = slopes[used[s]] - (penalty if y[active[used[s]]] > 0 else -penalty)
                    for w in range(s):
                        value -= lower[s, w] * move[w]
                    move[s] = value / lower[s, s]
                if not definite:
                    continue
                share, stopped = 1.0, -1
                for s in range(size - 1, -1, -1):
                    value = move[s]
                    for t in range(s + 1, size):
                        value -= lower[t, s] * move[t]
                    move[s] = value / lower[s, s]
                    old = y[active[used[s]]]
                    if old * (old + share * move[s]) < 0:
                        share, stopped = -old / move[s], s
                for s in range(size):
                    place = active[used[s]]
                    step = share * move[s] if s != stopped else -y[place]
                    row = inner[used[s] * count : (used[s] + 1) * count]
                    for t in range(count):
                        slopes[t] -= step * row[t]
                    y[place] += step
                settled = stopped < 0
            for s in range(count):
                step = y[active[s]] - before[s]
                if step != 0:
                    row = gram[active[s]]
                    for t in range(k):
                        q[t] -= step * row[t]
        if not done:
            unsettled += 1
    return unsettled
