"""The leading eigenpairs of a symmetric operator that only multiplies: block Krylov with thick restarts.

From an orthonormal block Q_0 the spaces K = [Q_0, S Q_0, S^2 Q_0, ...] are built, each new block made orthogonal to all
before it, and the eigenpairs of the small matrix K^T S K approximate those of S. When K is full it restarts from its best
vectors. A block multiplies as fast as memory is read, where single-vector Lanczos waits for it at each step.

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


def _orthonormal(block: Array) -> Array:
    return np.asarray(scipy.linalg.qr(block, mode="economic", check_finite=False)[0])


def leading_eigenpairs(
    apply: Product, p: int, k: int, *, steps: int = 12, tol: float = 1e-9, max_restarts: int = 60, seed: int = 0
) -> tuple[Array, Array]:
    """Return the k largest eigenvalues, descending, and their vectors as columns.

    Parameters
    ----------
    apply : callable
        Multiplies a (p, b) block by S.
    p, k : int
        Order of S, and how many pairs; k well below p.
    steps : int
        Products between restarts: the degree of the polynomial in S that separates wanted from unwanted.
    tol : float
        Residuals |S x - l x| are brought below `tol` times the largest eigenvalue; eigenvalues are then right to rounding.
    max_restarts : int
        After which the best found is returned.
    seed : int
        Of the starting block.

    Notes
    -----
    The block is about twice as wide as what is wanted: convergence goes by the gap between the last value wanted and the
    first beyond the block, and in tables with many alike levels the values next to the last one crowd around it.
    """
    width = min(max(2 * k, k + 32), p)
    block = _orthonormal(np.random.default_rng(seed).standard_normal((p, width)))
    steps = min(steps, max(p // width - 1, 0))
    values, vectors = np.zeros(k), block[:, :k]
    for _ in range(max_restarts):
        basis = np.empty((p, (steps + 1) * width))
        small = np.zeros(2 * (basis.shape[1],))
        basis[:, :width] = block
        for step in range(steps + 1):
            here, done = slice(step * width, (step + 1) * width), (step + 1) * width
            image = apply(block)
            small[:done, here] = basis[:, :done].T @ image
            if step == steps:
                break
            image -= basis[:, :done] @ small[:done, here]
            block = _orthonormal(image)
            # Once more: what lies within the basis already leaves rounding behind, which may point back into it.
            block = _orthonormal(block - basis[:, :done] @ (basis[:, :done].T @ block))
            basis[:, done : done + width] = block
        upper = np.triu(small)
        values, inner = eigh_descending(upper + np.triu(upper, 1).T, width)
        block = basis @ inner
        vectors = block[:, :k]
        residual = np.linalg.norm(apply(vectors) - vectors * values[:k], axis=0)
        if residual.max(initial=0.0) <= tol * max(values[0], np.finfo(np.float64).tiny) or width >= p:
            break
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
