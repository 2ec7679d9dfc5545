"""The leading eigenpairs of a symmetric operator that only multiplies: block Krylov with thick restarts.

From an orthonormal block Q_0 the spaces K = [Q_0, S Q_0, S^2 Q_0, ...] are built, each new block made orthogonal to all
before it, and the eigenpairs of the small matrix K^T S K approximate those of S. When K is full it restarts: it keeps its best
vectors and goes on with the block that was to come next (Wu and Simon 2000). A block multiplies as fast as memory is read,
where single-vector Lanczos waits for it at each step.

Where the rank of S is known to be small one product with a random block of that many columns already spans its range
(Halko, Martinsson and Tropp 2011), and the same Rayleigh-Ritz step is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from gramian.arrays.linalg import eigh_descending, fix_signs
from gramian.arrays.types import Array

Product = Callable[[Array], Array]

KEPT = 0.4
"""Of the blocks, how many a restart keeps."""


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


def leading_eigenpairs(
    apply: Product, p: int, k: int, *, blocks: int = 20, tol: float = 1e-9, max_restarts: int = 60, seed: int = 0
) -> tuple[Array, Array]:
    """Return the k largest eigenvalues, descending, and their vectors as columns.

    Parameters
    ----------
    apply : callable
        Multiplies a (p, b) block by S.
    p, k : int
        Order of S, and how many pairs; k well below p.
    blocks : int
        How many blocks K has when it restarts. It keeps the best `KEPT` of them.
    tol : float
        Residuals |S x - l x| are brought below `tol` times the largest eigenvalue; eigenvalues are then right to rounding.
    max_restarts : int
        After which the best found is returned.
    seed : int
        Of the starting block.

    Notes
    -----
    A block is a little wider than what is wanted, so that it finds every copy of a multiple eigenvalue. Convergence goes by the
    gap between the last value wanted and the first that a restart does not keep: in tables with many alike levels the values
    next to the last one crowd around it.
    """
    # Two blocks and the next one have room, or one block is everything.
    width = k + 6 if 3 * (k + 6) <= p else p
    blocks = max(min(blocks, p // width - 1), 1)
    # The columns of a block lie side by side in memory, and so do those of all blocks before it.
    basis, small = np.empty((p, blocks * width), order="F"), np.zeros(2 * (blocks * width,))
    rng = np.random.default_rng(seed)
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
        residual = np.linalg.norm(apply(vectors) - vectors * values[:k], axis=0)
        if residual.max(initial=0.0) <= tol * max(values[0], np.finfo(np.float64).tiny) or width >= p:
            break
        # S maps the kept vectors onto themselves and the block that comes next.
        basis[:, :kept], start = ritz, kept
        small[:] = 0.0
        small[np.arange(kept), np.arange(kept)] = values[:kept]
    return values[:k], fix_signs(vectors)


def is_settled(apply: Product, values: Array, vectors: Array, *, tol: float = 1e-8) -> bool:
    """Return whether residuals |S x - l x| lie below `tol` times the largest eigenvalue."""
    residual = np.linalg.norm(apply(vectors) - vectors * values, axis=0)
    return bool(residual.max(initial=0.0) <= tol * max(values.max(initial=0.0), np.finfo(np.float64).tiny))


def eigenpairs_of_low_rank(apply: Product, p: int, rank: int, *, seed: int = 0) -> tuple[Array, Array]:
    """Return every eigenpair of a positive semi-definite S whose rank is at most `rank`, descending, as columns."""
    width = min(rank + 5, p)
    basis = _orthonormal(apply(np.random.default_rng(seed).standard_normal((p, width))))
    # A second product turns the basis towards the range where the first was uneven.
    basis = _orthonormal(apply(basis))
    small = basis.T @ apply(basis)
    values, inner = eigh_descending((small + small.T) / 2)
    return values[:rank], fix_signs(basis @ inner[:, :rank])
