"""Symmetric matrices: eigenpairs with one sign rule, rank relative to the largest value, inverses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gramian.arrays.lapack import answering, eigh, is_long, tridiagonal
from gramian.arrays.memory import PRODUCT
from gramian.arrays.threads import threads_for


def definite_inverse(a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the inverse of a symmetric positive definite matrix, symmetric to the last bit.

    With A = L L^T it is L^-T L^-1: half the arithmetic of a general inverse, and the product of a matrix with its own
    transpose, which is the fastest thing BLAS does.

    Examples
    --------
    >>> definite_inverse(np.array([[2.0, 1.0], [1.0, 2.0]])).round(3)
    array([[ 0.667, -0.333],
           [-0.333,  0.667]])
    """
    from scipy.linalg import lapack

    factor, failed = lapack.dpotrf(a.T, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    root, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    product = answering(lambda: root.T @ root) if is_long(len(a), PRODUCT) else root.T @ root
    return np.asarray(product)


def fix_signs(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the columns with the entry of largest absolute value positive, the first of them where several tie.

    Entries within 1e-10 of the largest count as ties: a symmetric problem (two levels of equal share) has them equal up
    to rounding, and rounding must not choose the sign.

    Examples
    --------
    >>> fix_signs(np.array([[0.6, -0.8], [-0.8, -0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    if vectors.size == 0:
        return vectors
    size = np.abs(vectors)
    first = np.argmax(size >= (1 - 1e-10) * size.max(axis=0), axis=0)
    negative = vectors[first, np.arange(vectors.shape[1])] < 0
    return vectors * np.where(negative, -1.0, 1.0) if negative.any() else vectors


def relative_rank(values: npt.NDArray[np.float64], *, size: int | None = None, slack: float = 1.0) -> int:
    """Return how many eigenvalues stand above rounding, which is relative to the largest.

    Parameters
    ----------
    values : (k,) array
        Eigenvalues of a positive semi-definite matrix, in any order.
    size : int, optional
        Order of that matrix, where `values` are only some of its eigenvalues.
    slack : float
        By how much the matrix is more rounded than its eigenvalues show: what it was a difference of, over itself.

    Notes
    -----
    The cut is `max(size, 64) eps slack` of the largest eigenvalue: LAPACK's own error grows with the order, and below 64
    columns the rounding of the sums behind the matrix is what is left to stay above.

    Examples
    --------
    >>> relative_rank(np.array([2.0, 1.0, 1e-15]))
    2
    """
    top = float(np.max(values, initial=0.0))
    if top <= 0 or not np.isfinite(top):
        return 0
    order = max(len(values) if size is None else size, 64)
    return int(np.count_nonzero(values > order * np.finfo(np.float64).eps * slack * top))


def eigh_descending(
    a: npt.NDArray[np.float64], k: int | None = None, *, overwrite: bool = False
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the `k` largest eigenvalues of a symmetric matrix, descending, and their vectors as columns.

    Parameters
    ----------
    a : (p, p) array
    k : int, optional
        By default all of them.
    overwrite : bool
        Whether the matrix may be destroyed, which saves a copy.

    Notes
    -----
    All vectors: divide and conquer (`evd`), a third faster than `evr` at p = 2,000 and orthogonal to the last bit. Few: one
    reduction to tridiagonal form, then only those vectors (see `eigh_values_first`), at half the cost.

    Examples
    --------
    >>> values, vectors = eigh_descending(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values, vectors.round(3)
    (array([3., 1.]), array([[ 0.707,  0.707],
           [ 0.707, -0.707]]))
    """
    p = len(a)
    if k is not None and k < p // 4:
        values, leading = eigh_values_first(a, overwrite=overwrite)
        return values[:k], leading(k)
    with threads_for(p):
        values, vectors = eigh(a, overwrite=overwrite)
    count = p if k is None else k
    return values[::-1][:count].copy(), fix_signs(vectors[:, ::-1][:, :count])


def eigh_values_first(
    a: npt.NDArray[np.float64], *, overwrite: bool = False
) -> tuple[npt.NDArray[np.float64], Callable[[int], npt.NDArray[np.float64]]]:
    """Return all eigenvalues of a symmetric matrix, descending, and a function that gives the first k vectors.

    The reduction A = Q T Q^T to tridiagonal form is nearly all of the work for few vectors; the values of T are then
    almost free, so that how many vectors to find can depend on all of them.
    """
    import scipy.linalg
    from scipy.linalg import lapack

    p = len(a)
    if p < 3:
        values, every = eigh_descending(a, overwrite=overwrite)
        return values, lambda k: every[:, :k]
    with threads_for(p):
        reduced, diagonal, off, tau = tridiagonal(a, overwrite=overwrite)
    values = scipy.linalg.eigh_tridiagonal(diagonal, off, eigvals_only=True, lapack_driver="sterf", check_finite=False)

    def vectors(k: int) -> npt.NDArray[np.float64]:
        if k == 0:
            return np.empty((p, 0))
        chosen = {"select": "i", "select_range": (p - k, p - 1), "check_finite": False}
        try:
            # Bisection and inverse iteration: as orthogonal as can be, and in the memory of k vectors.
            _, inner = scipy.linalg.eigh_tridiagonal(diagonal, off, lapack_driver="stebz", **chosen)
        except np.linalg.LinAlgError:
            # Never slow to converge, but it takes a matrix of p x p to work in.
            _, inner = scipy.linalg.eigh_tridiagonal(diagonal, off, lapack_driver="stemr", **chosen)
        inner = inner[:, ::-1]
        # Q is the product of the reflectors below the subdiagonal: it leaves the first coordinate alone.
        # They begin at reduced[1, 0], its columns p apart: seen from there nothing is copied, and a column's last entry, which
        # belongs to the next, is not looked at, as there are p - 1 rows to turn.
        flat = reduced.T.reshape(-1)
        reflectors = np.ndarray(
            (p, p - 1), buffer=flat.data, offset=flat.itemsize, strides=(flat.itemsize, p * flat.itemsize)
        )
        lower = np.asfortranarray(inner[1:])
        size = int(lapack.dormqr("L", "N", reflectors, tau, lower, -1)[1][0])
        turned = lapack.dormqr("L", "N", reflectors, tau, lower, size, overwrite_c=1)[0]
        return fix_signs(np.concatenate([inner[:1], turned]))

    return values[::-1].copy(), vectors
