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
import numpy.typing as npt
import scipy.linalg

from gramian.arrays import eigh_descending, fix_signs

Array = npt.NDArray[np.float64]
Product = Callable[[Array], Array]


def _orthonormal(block: Array) -> Array:
    return np.asarray(scipy.linalg.qr(block, mode="economic", check_finite=False)[0])


def leading_eigenpairs(
    apply: Product, p: int, k: int, *, steps: int = 5, tol: float = 1e-11, max_restarts: int = 200, seed: int = 0
) -> tuple[Array, Array]:
    """Return the k largest eigenvalues, descending, and their vectors as columns.

    Parameters
    ----------
    apply : callable
        Multiplies a (p, b) block by S.
    p, k : int
        Order of S, and how many pairs; k well below p.
    steps : int
        Blocks added between restarts.
    tol : float
        Residuals |S x - l x| are brought below `tol` times the largest eigenvalue; eigenvalues are then right to its square.
    max_restarts : int
        After which the best found is returned.
    seed : int
        Of the starting block.
    """
    width = min(k + max(10, k // 4), p)
    basis = _orthonormal(np.random.default_rng(seed).standard_normal((p, width)))
    image = apply(basis)
    for _ in range(max_restarts):
        latest = image
        for _ in range(steps if (steps + 1) * width < p else 0):
            grown = latest - basis @ (basis.T @ latest)
            grown -= basis @ (basis.T @ grown)
            block = _orthonormal(grown)
            # A block that lies within the basis already leaves rounding behind, which may point back into it.
            block = _orthonormal(block - basis @ (basis.T @ block))
            latest = apply(block)
            basis, image = np.hstack([basis, block]), np.hstack([image, latest])
        small = basis.T @ image
        values, inner = eigh_descending((small + small.T) / 2, min(width, basis.shape[1]))
        # Products of turned vectors are turned products: nothing is multiplied again on a restart.
        basis, image = basis @ inner, image @ inner
        residual = np.linalg.norm(image[:, :k] - basis[:, :k] * values[:k], axis=0)
        if residual.max(initial=0.0) <= tol * max(values[0], np.finfo(np.float64).tiny) or basis.shape[1] >= p:
            break
    return values[:k], fix_signs(basis[:, :k])


def eigenpairs_of_low_rank(apply: Product, p: int, rank: int, *, seed: int = 0) -> tuple[Array, Array]:
    """Return every eigenpair of a positive semi-definite S whose rank is at most `rank`, descending, as columns."""
    width = min(rank + 5, p)
    basis = _orthonormal(apply(np.random.default_rng(seed).standard_normal((p, width))))
    # A second product turns the basis towards the range where the first was uneven.
    basis = _orthonormal(apply(basis))
    small = basis.T @ apply(basis)
    values, inner = eigh_descending((small + small.T) / 2)
    return values[:rank], fix_signs(basis @ inner[:, :rank])
