"""Double centring: inner products about the mean, from distances, without a centring matrix.

For points with squared distances s_ij = |x_i - x_j|^2, the inner products of the points about their mean are

    g_ij = -1/2 (s_ij - m_i - m_j + m),     m_i = mean_j s_ij,   m = mean_i m_i,

in matrices ``G = -1/2 C (D o D) C`` with the *element-wise* square (the matrix product D D is another thing) and
``C = I - 11'/n``. A new object with squared distances s_j to the same points has (Gower) the inner products

    g_j = -1/2 (s_j - mean(s) - m_j + m).

Where these are multiplied with weights whose columns sum to zero, as eigenvectors of G do, mean(s) and m drop out, and
``-1/2 (s - m_j) W`` is all that is left: `project_rows`.

G is a matrix of inner products exactly where D is Euclidean; otherwise it has negative eigenvalues, and what is done
with those is the business of `gramian.distances.mds` and `gramian.distances.mdsfda.mdsfda`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.arrays.types import Array


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
