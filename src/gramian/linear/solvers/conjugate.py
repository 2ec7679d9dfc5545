"""Ridge systems (S + r D) x = b solved by products with S alone, for many right-hand sides and many r at once.

*Conjugate gradients.* Every column of the block has its own r and its own step lengths; they share one product S X a round,
which costs hardly more for eight columns than for one. The preconditioner is the diagonal S_ii + r d_i: columns of different
categories are nearly uncorrelated, and what is left of the spectrum is a few clusters.

*Null space.* Each category's levels sum to one, so S 1 = 0 for the ones over its levels, and the ridge solution has
coefficients that sum to zero over a category. Left as it is, r D 1 = r 1 would give these directions tiny eigenvalues beside
the preconditioner's, and the iteration would spend hundreds of rounds on them. So D is taken with the mean over each category
removed, D (I - 1 1^T / L): the solution differs by a constant per category at most, the system is singular and consistent,
and an iteration that starts in the range never sees the null space. A round of ten or so digits takes about ten products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.level_means import LevelMeans

Product = Callable[[Array, Array], Array]
"""Multiplies a (p, k) block by S; also given the k ridges, on which an S that had columns eliminated depends."""


def conjugate_gradients(
    apply: Product,
    diagonal: Array,
    rhs: Array,
    ridge: Array,
    unit: Array,
    *,
    spans: Sequence[slice] = (),
    reference: Array | None = None,
    tol: float = 1e-12,
    max_rounds: int = 2000,
    hopeless: int | None = None,
) -> tuple[Array, bool]:
    """Return X with (S + ridge_j diag(unit)) X_j = rhs_j, and whether every column reached the tolerance.

    Where there are `spans`, X_j is right up to a constant on each of them.

    Parameters
    ----------
    apply : callable
        Multiplies a (p, k) block by S; its second argument is the ridge of each column.
    diagonal : (p,) array
        Of S.
    rhs : (p, k) array
        Within the range of S where the ridge is 0.
    ridge : (k,) array
    unit : (p,) array
    spans : sequence of slices
        The design columns of each category, over which the right-hand sides sum to zero.
    reference : (p, k) array, optional
        What the residual is compared with, by default the right-hand side: where that is itself a small difference, what
        it is a difference of.
    tol : float
        Of the residual against the reference, both in the norm of the preconditioner.
    max_rounds : int
        Products with S.
    hopeless : int, optional
        After so many of them, end where at the pace so far `max_rounds` would not be enough.

    Examples
    --------
    >>> S = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> x, done = conjugate_gradients(lambda v, _: S @ v, np.diag(S), np.eye(2), np.array([0.0, 1.0]), np.ones(2))
    >>> np.allclose(S @ x[:, 0], [1, 0]), np.allclose((S + np.eye(2)) @ x[:, 1], [0, 1]), done
    (True, True, True)
    """
    shift = unit[:, None] * ridge
    whole = diagonal[:, None] + shift
    inverse = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
    x = np.zeros_like(rhs)
    residual = rhs.copy()
    scaled = inverse * residual
    strength = np.einsum("ij,ij->j", residual, scaled)
    aim = rhs if reference is None else reference
    enough = tol**2 * np.einsum("ij,ij->j", aim, inverse * aim)
    active = np.flatnonzero(strength > enough)
    start = strength.copy()
    direction = scaled[:, active]
    means = LevelMeans(spans, len(rhs))
    for done in range(max_rounds):
        if not len(active):
            break
        if (
            done > 0
            and done == hopeless
            and _is_slow(start[active], strength[active], enough[active], max_rounds / done)
        ):
            break
        image = apply(direction, ridge[active])
        image += shift[:, active] * means.removed(direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        # Rounding alone may leave no curvature in the null space of S.
        step = np.divide(strength[active], curvature, out=np.zeros(len(active)), where=curvature > 0)
        x[:, active] += step * direction
        left = residual[:, active]
        left -= step * image
        residual[:, active] = left
        scaled = inverse[:, active] * left
        before = strength[active]
        now = np.einsum("ij,ij->j", left, scaled)
        strength[active] = now
        going = (now > enough[active]) & (step > 0)
        direction = scaled[:, going] + (now / before)[going] * direction[:, going]
        active = active[going]
    return x, bool((strength <= 4 * enough).all())


def _is_slow(start: Array, now: Array, enough: Array, times: float) -> bool:
    """Whether some column would not get there in so many times the rounds that took it from `start` to `now`."""
    if not (enough > 0).all():
        return False
    return bool((times * np.log(np.maximum(start / now, 1.0)) < np.log(start / enough)).any())
