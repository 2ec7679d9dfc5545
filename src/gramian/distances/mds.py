"""Classical multidimensional scaling (Torgerson): coordinates whose distances are those given, as nearly as k allow.

With ``G = -1/2 C (D o D) C = U diag(w) U'`` the coordinates are the columns ``u_j sqrt(w_j)`` of the largest w. A new object
with centred inner products g (Gower) lies at ``g u_j / sqrt(w_j)``, and training objects land where they were.

Negative eigenvalues, which only distances that are not Euclidean have, belong to no real coordinate: they are left out, and
their share ``sum |w < 0| / sum |w|`` is reported. Two corrections make D Euclidean instead, by a constant between every two
objects: Lingoes adds 2a to the squared distances, a = -min(w); Cailliez adds a to the distances, a being the largest real
eigenvalue of ``[[0, 2 G], [-I, -4 G1]]`` with G1 = -1/2 C D C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import fix_signs
from gramian.arrays.types import Array
from gramian.distances.centring import centre_weights, gram, gram_product, mean_squares
from gramian.errors import DataError, shown

MAX_EXACT = 5000
"""Objects up to which one full decomposition is taken: about half a minute on two cores."""

DENSE_CAILLIEZ = 100


@dataclass(frozen=True)
class Scaling:
    """Coordinates of objects.

    Attributes
    ----------
    means : (n,) array
        Column means of the squared (corrected) distances.
    weights : (n, k) array
    embedding : (n, k) array
    eigenvalues : array
        Of G, descending: all, or for more than `MAX_EXACT` objects the k largest and the least.
    negative_share : float
        NaN where the eigenvalues are not all known.
    """

    means: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    embedding: npt.NDArray[np.float64]
    eigenvalues: npt.NDArray[np.float64]
    negative_share: float


def classical_scaling(D: Array, n_components: int, *, overwrite: bool = False) -> Scaling:
    """Return the coordinates of objects from their distances.

    Parameters
    ----------
    D : (n, n) array
    n_components : int
        Columns beyond the number of positive eigenvalues are zero.
    overwrite : bool
        D may be destroyed.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> D = np.linalg.norm(X[:, None] - X, axis=2)
    >>> Z = classical_scaling(D, 2).embedding
    >>> bool(np.allclose(np.linalg.norm(Z[:, None] - Z, axis=2), D))
    True
    """
    n = len(D)
    if n <= MAX_EXACT:
        import scipy.linalg

        G, means = gram(D, overwrite=overwrite)
        eps = np.finfo(G.dtype).eps
        values, vectors = scipy.linalg.eigh(G, driver="evd", overwrite_a=True, check_finite=False)
        values, vectors = values[::-1].astype(np.float64), vectors[:, ::-1][:, :n_components].astype(np.float64)
        share = negative_share(values)
    else:
        values, vectors, means = _largest(D, n_components)
        eps, share = np.finfo(D.dtype).eps, float("nan")
    top = values[:n_components].copy()
    positive = top > n * eps * max(abs(values[0]), abs(values[-1]))
    root = np.sqrt(np.where(positive, top, 1.0))
    vectors = fix_signs(vectors)
    weights = centre_weights(np.where(positive, vectors / root, 0.0))
    return Scaling(means, weights, np.where(positive, vectors * root, 0.0), values, share)


def negative_share(values: npt.NDArray[np.float64]) -> float:
    """Return the share of the eigenvalues' absolute sum that is negative, rounding left out."""
    cut = len(values) * np.finfo(float).eps * np.abs(values).max()
    return float(np.abs(values[values < -cut]).sum() / np.abs(values).sum())


def _largest(D: Array, n_components: int) -> tuple[Array, Array, npt.NDArray[np.float64]]:
    """Return the largest eigenvalues and the least, with the vectors of the former, by Lanczos over blocks of D."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    means = mean_squares(D)
    n = len(D)
    operator = LinearOperator(
        (n, n),
        matvec=lambda v: gram_product(D, means, v.reshape(-1, 1).astype(D.dtype))[:, 0].astype(np.float64),
        dtype=np.float64,
    )
    first = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(operator, k=n_components, which="LA", v0=first, tol=1e-6 if D.dtype == np.float32 else 0)
    least = eigsh(operator, k=1, which="SA", v0=first, tol=1e-3, return_eigenvectors=False)
    order = np.argsort(-values)
    return np.append(values[order], least), vectors[:, order], means


def correction_constant(D: Array, correction: str) -> float:
    """Return the constant that makes the distances Euclidean: for squared distances (lingoes) or distances (cailliez).

    Objects at distance 0 are one object, counted once.
    """
    D = np.asarray(D, dtype=np.float64)
    distinct = np.flatnonzero((D == 0).argmax(axis=0) == np.arange(len(D)))
    D = D[np.ix_(distinct, distinct)]
    n = len(D)
    G, _ = gram(D)
    if correction == "lingoes":
        return 2 * max(0.0, -float(np.linalg.eigvalsh(G)[0]))
    if correction != "cailliez":
        raise DataError(f"correction is {shown(correction)}; use None, 'lingoes' or 'cailliez'")
    G1, _ = gram(np.sqrt(D))
    if n <= DENSE_CAILLIEZ:
        top = np.hstack([np.zeros((n, n)), 2 * G])
        values = np.linalg.eigvals(np.vstack([top, np.hstack([-np.eye(n), -4 * G1])]))
        return max(0.0, float(values.real.max()))
    from scipy.sparse.linalg import LinearOperator, eigs

    def product(v: Array) -> Array:
        upper, lower = v[:n].ravel(), v[n:].ravel()
        return np.concatenate([2 * (G @ lower), -upper - 4 * (G1 @ lower)])

    operator = LinearOperator((2 * n, 2 * n), matvec=product, dtype=np.float64)
    first = np.random.default_rng(0).standard_normal(2 * n)
    eigenvalues = eigs(operator, k=1, which="LR", v0=first, return_eigenvectors=False, ncv=40)
    return max(0.0, float(eigenvalues.real.max()))


def corrected(D: Array, correction: str, constant: float) -> npt.NDArray[np.float64]:
    """Return distances with the constant added between every two objects; objects at distance 0 are one object.

    Parameters
    ----------
    D : (m, n) array
    correction : "lingoes" or "cailliez"
    constant : float
    """
    out = np.array(D, dtype=np.float64)
    apart = out > 0
    if correction == "lingoes":
        return np.sqrt(out * out + constant, out=out, where=apart)
    return np.add(out, constant, out=out, where=apart)
