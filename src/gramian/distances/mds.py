"""Classical multidimensional scaling (Torgerson): coordinates whose distances are those given, as nearly as k allow.

*Double centring* gives inner products about the mean, from distances, without a centring matrix. For points with squared
distances s_ij = |x_i - x_j|^2, the inner products of the points about their mean are

    g_ij = -1/2 (s_ij - m_i - m_j + m),     m_i = mean_j s_ij,   m = mean_i m_i,

in matrices ``G = -1/2 C (D o D) C`` with the *element-wise* square (the matrix product D D is another thing) and
``C = I - 11'/n``. A new object with squared distances s_j to the same points has (Gower) the inner products

    g_j = -1/2 (s_j - mean(s) - m_j + m).

Where these are multiplied with weights whose columns sum to zero, as eigenvectors of G do, mean(s) and m drop out, and
``-1/2 (s - m_j) W`` is all that is left: `project_rows`.

G is a matrix of inner products exactly where D is Euclidean; otherwise it has negative eigenvalues.

*Scaling.* With ``G = -1/2 C (D o D) C = U diag(w) U'`` the coordinates are the columns ``u_j sqrt(w_j)`` of the largest w. A
new object with centred inner products g (Gower) lies at ``g u_j / sqrt(w_j)``, and training objects land where they were.

Negative eigenvalues, which only distances that are not Euclidean have, belong to no real coordinate: they are left out, and
their share ``sum |w < 0| / sum |w|`` is reported. Two corrections make D Euclidean instead, by a constant between every two
objects: Lingoes adds 2a to the squared distances, a = -min(w); Cailliez adds a to the distances, a being the largest real
eigenvalue of ``[[0, 2 G], [-I, -4 G1]]`` with G1 = -1/2 C D C.

*What an embedding is worth.* Kruskal's stress-1 compares the distances d_ij that were given with those of the coordinates,
e_ij:

    stress = sqrt( sum_{i<j} (d_ij - e_ij)^2 / sum_{i<j} d_ij^2 )

0 where every distance is kept; it never exceeds 1 for coordinates that are a projection, whose distances are at most d. Of
many objects a sample is enough: `some_objects` are at even steps, so that the figure is the same in every run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import fix_signs
from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.arrays.types import Array
from gramian.errors import DataError, shown


def mean_squares(D: Array) -> npt.NDArray[np.float64]:
    """Return the mean of each column of squared distances, (n,), reading blocks of rows."""
    total = np.zeros(D.shape[1])
    for rows in row_blocks(D, CACHED_BYTES):
        block = np.asarray(D[rows])
        total += np.einsum("ij,ij->j", block, block, dtype=np.float64)
    return total / len(D)


def gram(D: Array, *, overwrite: bool = False) -> tuple[Array, npt.NDArray[np.float64]]:
    """Return the Gram matrix of distances and the column means of their squares.

    Parameters
    ----------
    D : (n, n) array
    overwrite : bool
        Put the Gram matrix where the distances were.

    Returns
    -------
    G : (n, n) array
        ``-1/2 C (D o D) C``, of the type of D.
    means : (n,) array

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> G, _ = gram(abs(X - X.T))
    >>> bool(np.allclose(G, (X - 2) @ (X - 2).T))
    True
    """
    means = mean_squares(D)
    grand = float(means.mean())
    out = D if overwrite else np.empty_like(D)
    for rows in row_blocks(D, CACHED_BYTES):
        block = np.square(D[rows], dtype=np.float64)
        block -= means
        block -= means[rows, None] - grand
        block *= -0.5
        out[rows] = block
    return out, means


def gram_product(D: Array, means: npt.NDArray, V: Array) -> Array:
    """Return ``G V`` by blocks of rows of the distances; G is never formed.

    ``G V = -1/2 C (D o D) C V``: the columns of V are centred first, and the product after.
    """
    V = V - V.mean(axis=0)
    out = np.empty((len(D), V.shape[1]), dtype=V.dtype)
    for rows in row_blocks(D):
        block = np.asarray(D[rows])
        out[rows] = (block * block) @ V
    out *= -0.5
    return out - out.mean(axis=0)


def centre_weights(weights: Array) -> Array:
    """Return weights whose columns sum to zero, which changes no product with a centred row."""
    return weights - weights.mean(axis=0)


def project_rows(rows: Array, means: npt.NDArray, weights: Array) -> npt.NDArray[np.float64]:
    """Return the coordinates of objects from their distances to the reference objects.

    Parameters
    ----------
    rows : (m, n) array
        Distances to the n reference objects.
    means : (n,) array
        Column means of the squared distances between those.
    weights : (n, k) array
        With columns that sum to zero.
    """
    out = np.empty((len(rows), weights.shape[1]))
    for part in row_blocks(rows):
        block = np.square(rows[part], dtype=np.float64)
        # Before the product, not after: squared distances share a large part that would cancel.
        block -= means
        out[part] = block @ weights
    out *= -0.5
    return out


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


SAMPLED = 400
"""Objects between which distances are compared: 79,800 pairs."""


def some_objects(n: int, most: int = SAMPLED) -> npt.NDArray[np.int64]:
    """Return the positions of at most `most` of n objects, at even steps.

    Examples
    --------
    >>> some_objects(3), some_objects(10, 4)
    (array([0, 1, 2]), array([0, 2, 5, 7]))
    """
    k = min(n, most)
    return np.arange(k) * n // max(k, 1)


def stress(D: Array, Z: Array) -> float:
    """Return Kruskal's stress-1 of coordinates Z against distances D; NaN where all distances are 0.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> D = np.linalg.norm(X[:, None] - X, axis=2)
    >>> stress(D, X), round(stress(D, X[:, :1]), 3)
    (0.0, 0.632)
    """
    D, Z = np.asarray(D, dtype=np.float64), np.asarray(Z, dtype=np.float64)
    squares = np.square(Z).sum(axis=1)
    embedded = np.sqrt(np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0.0))
    np.fill_diagonal(embedded, 0.0)
    given = float(np.square(D).sum())
    return float(np.sqrt(np.square(D - embedded).sum() / given)) if given > 0 else float("nan")


def class_distances(D: Array, codes: npt.NDArray[np.int64], n_classes: int) -> npt.NDArray[np.float64]:
    """Return the mean distance between objects of every two classes, (c, c); within a class over pairs of two objects.

    NaN for a class of no object, and within a class of one.

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 5.0], [0.0, 1.0, 5.0]))
    >>> class_distances(D, np.array([0, 0, 1]), 2)
    array([[1. , 4.5],
           [4.5, nan]])
    """
    member = np.eye(n_classes)[codes]
    counts = member.sum(axis=0)
    pairs = np.outer(counts, counts) - np.diag(counts)
    sums = member.T @ np.asarray(D, dtype=np.float64) @ member
    return np.divide(sums, pairs, out=np.full_like(sums, np.nan), where=pairs > 0)
