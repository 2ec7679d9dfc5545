"""Solvers that know nothing of moments: ridge systems, leading eigenpairs, and singular systems.

**Conjugate gradients** solve (S + r D) x = b by products with S alone, for many right-hand sides and many r at once. Every
column of the block has its own r and its own step lengths; they share one product S X a round, which costs hardly more for
eight columns than for one. The preconditioner is the diagonal S_ii + r d_i: columns of different categories are nearly
uncorrelated, and what is left of the spectrum is a few clusters.

*Null space.* Each category's levels sum to one, so S 1 = 0 for the ones over its levels, and the ridge solution has
coefficients that sum to zero over a category. Left as it is, r D 1 = r 1 would give these directions tiny eigenvalues beside
the preconditioner's, and the iteration would spend hundreds of rounds on them. So D is taken with the mean over each category
removed, D (I - 1 1^T / L): the solution differs by a constant per category at most, the system is singular and consistent,
and an iteration that starts in the range never sees the null space. A round of ten or so digits takes about ten products.

**Leading eigenpairs** of a symmetric operator that only multiplies are found by block Krylov with thick restarts. From an
orthonormal block Q_0 the spaces K = [Q_0, S Q_0, S^2 Q_0, ...] are built, each new block made orthogonal to all before it, and
the eigenpairs of the small matrix K^T S K approximate those of S. When K is full it restarts: it keeps its best vectors and
goes on with the block that was to come next (Wu and Simon 2000). A block multiplies as fast as memory is read, where
single-vector Lanczos waits for it at each step.

Where the rank of S is known to be small one product with a random block of that many columns already spans its range
(Halko, Martinsson and Tropp 2011), and the same Rayleigh-Ritz step is exact.

**Singular systems** that are positive semi-definite are solved by a Cholesky factor with pivots, which finds the rank. In
units of their own spread the columns have a scatter with ones on the diagonal. At each step the column with the most variance
left after those already taken is taken next (LAPACK's `pstrf`); what is left of the diagonal is 1 - R^2 of each column given
the others, so the first that is only rounding ends the factor, at the rank. Solving on the columns taken, zeros elsewhere,
gives one of the solutions of S X = C, and all of them give the same fitted values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from gramian.arrays.linalg import eigh_descending, fix_signs
from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.linear.layout import LevelMeans

ShiftedProduct = Callable[[Array, Array], Array]
"""Multiplies a (p, k) block by S; also given the k ridges, on which an S that had columns eliminated depends."""


def conjugate_gradients(
    apply: ShiftedProduct,
    diagonal: Array,
    rhs: Array,
    ridge: Array,
    unit: Array,
    *,
    spans: Sequence[slice] = (),
    reference: Array | None = None,
    tol: float = 1e-12,
    least: float = 0.0,
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
    least : float
        A residual whose square is below this in that norm is small enough, whatever the reference.
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
    enough = np.maximum(tol**2 * np.einsum("ij,ij->j", aim, inverse * aim), least)
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


Product = Callable[[Array], Array]

BLOCKS = 20
"""Blocks that the space has when it restarts."""

KEPT = 0.4
"""Of the blocks, how many a restart keeps."""

RESIDUAL = 1e-9
"""Residuals |S x - l x| are brought below this times the largest eigenvalue; eigenvalues are then right to rounding."""


def _orthonormal(block: Array) -> Array:
    return np.asarray(scipy.linalg.qr(block, mode="economic", check_finite=False)[0])


def _beside(known: Array, block: Array, rng: np.random.Generator) -> Array:
    """Return an orthonormal block orthogonal to known columns, from one that is so but for rounding.

    An image that lies within the known columns leaves rounding alone, which may point back into them: what is lost on the way
    is taken off again, and random directions take the place of those that vanish.
    """
    for _ in range(5):
        block, triangle = scipy.linalg.qr(block - known @ (known.T @ block), mode="economic", check_finite=False)
        left = np.abs(np.diagonal(triangle))
        if left.min(initial=1.0) > 0.5:
            break
        gone = np.flatnonzero(left < 1e-8)
        block[:, gone] = rng.standard_normal((len(block), len(gone))) / np.sqrt(len(block))
    return np.asarray(block)


def leading_eigenpairs(apply: Product, p: int, k: int, *, max_restarts: int = 60) -> tuple[Array, Array, float]:
    """Return the k largest eigenvalues, descending, their vectors as columns, and the largest residual over the first value.

    Parameters
    ----------
    apply : callable
        Multiplies a (p, b) block by S.
    p, k : int
        Order of S, and how many pairs; k well below p.
    max_restarts : int
        After which the best found is returned.

    Notes
    -----
    A block is a little wider than what is wanted, so that it finds every copy of a multiple eigenvalue. Convergence goes by the
    gap between the last value wanted and the first that a restart does not keep: in tables with many alike levels the values
    next to the last one crowd around it.
    """
    # Two blocks and the next one have room, or one block is everything.
    width = k + 6 if 3 * (k + 6) <= p else p
    blocks = max(min(BLOCKS, p // width - 1), 1)
    # The columns of a block lie side by side in memory, and so do those of all blocks before it.
    basis, small = np.empty((p, blocks * width), order="F"), np.zeros(2 * (blocks * width,))
    rng = np.random.default_rng(0)
    block, start = _orthonormal(rng.standard_normal((p, width))), 0
    for _ in range(max_restarts):
        for begin in range(start, blocks * width, width):
            done = begin + width
            known = basis[:, :done]
            basis[:, begin:done] = block
            image = apply(block)
            # S maps a block into itself, its neighbours and, the first after a restart, into all that was kept.
            near = slice(0 if begin <= start + width else begin - width, done)
            small[near, begin:done] = basis[:, near].T @ image
            if blocks == 1:
                break
            image -= basis[:, near] @ small[near, begin:done]
            block = _beside(known, _orthonormal(image), rng)
        upper = np.triu(small)
        kept = max(int(KEPT * blocks), 1) * width
        values, inner = eigh_descending(upper + np.triu(upper, 1).T, kept)
        ritz = basis @ inner
        vectors = ritz[:, :k]
        residual = float(np.linalg.norm(apply(vectors) - vectors * values[:k], axis=0).max(initial=0.0))
        residual /= max(float(values[0]), np.finfo(np.float64).tiny)
        if residual <= RESIDUAL or width >= p:
            break
        # S maps the kept vectors onto themselves and the block that comes next.
        basis[:, :kept], start = ritz, kept
        small[:] = 0.0
        small[np.arange(kept), np.arange(kept)] = values[:kept]
    return values[:k], fix_signs(vectors), residual


def eigenpairs_of_low_rank(apply: Product, p: int, rank: int) -> tuple[Array, Array]:
    """Return every eigenpair of a positive semi-definite S whose rank is at most `rank`, descending, as columns."""
    width = min(rank + 5, p)
    basis = _orthonormal(apply(np.random.default_rng(0).standard_normal((p, width))))
    # A second product turns the basis towards the range where the first was uneven.
    basis = _orthonormal(apply(basis))
    small = basis.T @ apply(basis)
    values, inner = eigh_descending((small + small.T) / 2)
    return values[:rank], fix_signs(basis @ inner[:, :rank])


CUT = 16
"""How many times `max(p, 64) eps` counts as rounding: the scatter itself is a rounded sum."""


def solve_semidefinite(matrix: Array, rhs: Array, *, reference: Array | None = None) -> tuple[Array, int]:
    """Return a solution of S X = C, for C in the range of S, and the rank of S.

    Parameters
    ----------
    matrix : (p, p) array
        Symmetric, positive semi-definite. Not changed.
    rhs : (p, m) array
    reference : (p,) array, optional
        The diagonal that rounding is relative to, by default that of S: where S is what is left after other columns were
        eliminated, the diagonal before.

    Examples
    --------
    >>> S = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> x, rank = solve_semidefinite(S, np.array([[2.0], [-2.0]]))
    >>> rank, S @ x
    (1, array([[ 2.],
           [-2.]]))
    """
    diagonal = np.diagonal(matrix) if reference is None else reference
    cut = CUT * max(len(matrix), 64) * np.finfo(np.float64).eps
    spread = np.sqrt(np.maximum(diagonal, 0.0))
    # LAPACK takes the first pivot unseen.
    varies = np.flatnonzero((spread > 0) & (np.diagonal(matrix) > cut * diagonal))
    out = np.zeros_like(rhs)
    if not len(varies):
        return out, 0
    unit = spread[varies]
    scaled = matrix if len(varies) == len(matrix) else matrix[np.ix_(varies, varies)]
    scaled = scaled / unit
    scaled /= unit[:, None]
    # The transpose of a symmetric C-ordered matrix is itself in LAPACK's order.
    factor, pivots, rank, info = lapack.dpstrf(scaled.T, tol=cut, lower=1, overwrite_a=0)
    if info < 0:
        raise DataError("the scatter of the features holds values that are not finite")
    taken = pivots[:rank] - 1
    lower = np.asfortranarray(factor[:rank, :rank])
    aim = rhs[varies[taken]] / unit[taken, None]
    inner = lapack.dpotrs(lower, aim, lower=1)[0]
    # One step of refinement: the factor squares the condition, the residual does not.
    inner += lapack.dpotrs(lower, aim - scaled[np.ix_(taken, taken)] @ inner, lower=1)[0]
    out[varies[taken]] = inner / unit[taken, None]
    return out, int(rank)
