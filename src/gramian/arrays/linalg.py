"""Symmetric matrices: eigenpairs with one sign rule, rank relative to the largest value, inverses.

Eigenproblems of seconds and minutes that an interrupt ends.

Python answers a signal between two steps of the main thread. scipy's wrappers of LAPACK hold the interpreter lock besides, so
that an eigenproblem of 10,000 columns would not hear of Ctrl-C for minutes, not even from another thread. A call that takes
more than about a second is therefore made without the lock, in a thread of its own, while the main thread waits and answers.
LAPACK cannot be stopped: what it was working on is dropped once it is done, and until then it keeps a core and its memory. A
program that ends meanwhile waits for it, since the library must not go away below it; a second interrupt ends the program at
once.

Shorter calls go to scipy as ever. Results are the same: both are the same routine of the same library.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gramian.arrays import memory as effort
from gramian.arrays.memory import PRODUCT
from gramian.arrays.threads import threads_for
from gramian.arrays.types import Array


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
    return np.asarray(answering(lambda: root.T @ root, long=is_long(len(a), PRODUCT)))


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
    if p == 1 and k is None and np.isfinite(a).all():
        # What a number alone is, hundreds of times over in a selection: LAPACK would take longer to be called.
        return a[0].astype(np.float64), np.ones((1, 1))
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


Result = TypeVar("Result")

LONG = 1.0
"""Estimated seconds from which a call is made in a thread of its own."""

_WAIT = 0.2

_at_work: set[threading.Event] = set()


def is_long(order: int, per_cube: float) -> bool:
    """Whether work of `per_cube` seconds times the cube of its order should not be done in the main thread."""
    return per_cube * float(order) ** 3 > LONG


def answering(task: Callable[[], Result], *, long: bool = True) -> Result:
    """Return what a task returns that works without the interpreter lock, while the main thread answers signals.

    An interrupt is raised at once. The task then ends by itself in the background, and what it returns is dropped.

    Examples
    --------
    >>> answering(lambda: 2 + 3)
    5
    """
    if not long or threading.current_thread() is not threading.main_thread():
        return task()
    returned: list[Result] = []
    raised: list[BaseException] = []
    # Not the thread itself: up to Python 3.12 it counts as ended where waiting for it was interrupted.
    done = threading.Event()

    def work() -> None:
        _at_work.add(done)
        try:
            returned.append(task())
        except BaseException as error:
            raised.append(error)
        finally:
            _at_work.discard(done)
            done.set()

    threading.Thread(target=work, daemon=True).start()
    while not done.wait(_WAIT):
        pass
    if raised:
        raise raised[0]
    return returned[0]


def is_at_work() -> bool:
    """Whether a task goes on, as it does in the background once it was interrupted."""
    return bool(_at_work)


@atexit.register
def _wait_for_work() -> None:
    try:
        for done in list(_at_work):
            done.wait()
    except KeyboardInterrupt:
        os._exit(128 + signal.SIGINT)


def _unlocked(routine: str, *arguments: Any) -> int:
    """Call a routine of scipy's LAPACK without the interpreter lock, and return its `info`; arrays are changed in place."""
    from numba.extending import get_cython_function_address

    info = np.zeros(1, np.int32)
    held = [_as_array(argument) for argument in (*arguments, info)]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(held))
    call(get_cython_function_address("scipy.linalg.cython_lapack", routine))(*(each.ctypes.data for each in held))
    return int(info[0])


def _as_array(argument: Any) -> np.ndarray[Any, Any]:
    if isinstance(argument, str):
        return np.frombuffer(argument.encode(), np.uint8)
    return np.array([argument], np.int32) if isinstance(argument, int) else argument


def eigh(matrix: Array, *, overwrite: bool = False) -> tuple[Array, Array]:
    """Return all eigenvalues of a symmetric matrix, ascending, and their vectors as columns, by divide and conquer.

    Parameters
    ----------
    matrix : (p, p) array
    overwrite : bool
        Whether the matrix may be destroyed, which saves a copy.
    """
    # The transpose of a C-ordered symmetric matrix is itself in the order LAPACK wants: no copy is made.
    matrix, p = matrix.T, len(matrix)
    if not is_long(p, effort.EIGENVECTORS):
        import scipy.linalg

        values, vectors = scipy.linalg.eigh(matrix, driver="evd", overwrite_a=overwrite, check_finite=False)
        return values, vectors
    vectors, values = np.asfortranarray(matrix) if overwrite else np.array(matrix, order="F"), np.empty(p)
    work, integers = np.empty(1 + 6 * p + 2 * p * p), np.empty(3 + 5 * p, np.int32)
    sizes = len(work), integers, len(integers)
    info = answering(lambda: _unlocked("dsyevd", "V", "L", p, vectors, p, values, work, *sizes))
    if info:
        raise np.linalg.LinAlgError(f"the eigenvalues did not converge (LAPACK's dsyevd returned {info})")
    return values, vectors


def tridiagonal(matrix: Array, *, overwrite: bool = False) -> tuple[Array, Array, Array, Array]:
    """Return the reflectors of Q, the diagonal and off-diagonal of T, and the factors of the reflectors: A = Q T Q^T.

    Parameters
    ----------
    matrix : (p, p) array
        Symmetric.
    overwrite : bool
        Whether the matrix may be destroyed, which saves a copy.
    """
    from scipy.linalg import lapack

    matrix, p = matrix.T, len(matrix)
    size = int(lapack.dsytrd_lwork(p, lower=1)[0])
    if not is_long(p, effort.REDUCTION):
        reduced, diagonal, off, factors, _ = lapack.dsytrd(matrix, lower=1, lwork=size, overwrite_a=overwrite)
        return reduced, diagonal, off, factors
    reduced = np.asfortranarray(matrix) if overwrite else np.array(matrix, order="F")
    diagonal, off, factors, work = np.empty(p), np.empty(p - 1), np.empty(p - 1), np.empty(size)
    answering(lambda: _unlocked("dsytrd", "L", p, reduced, p, diagonal, off, factors, work, size))
    return reduced, diagonal, off, factors


def rotated(factor: Array) -> tuple[Array, Array, Array, int]:
    """Return singular values of a (p, r) factor, r at most p, by Jacobi rotations, vectors of both sides and LAPACK's `info`.

    Rows and columns may differ in size by the whole range of numbers: each value is found to rounding of its own.
    """
    from scipy.linalg import lapack

    p, r = factor.shape
    if not is_long(r, effort.ROTATIONS):
        # 2: rows and columns of unlike size; 0 and 0: the vectors of both sides; 0: the whole range of numbers.
        sizes, left, right, work, _, info = lapack.dgejsv(factor, joba=2, jobu=0, jobv=0, jobr=0)
        return sizes * (work[0] / work[1]), left[:, :r], right, int(info)
    copy, sizes = np.array(factor, order="F"), np.empty(r)
    left, right = np.empty((p, r), order="F"), np.empty((r, r), order="F")
    work = np.empty(max(2 * p + r, 6 * r + 2 * r * r, 7))
    integers = np.empty(max(3, p + 3 * r), np.int32)
    tasks = "F", "U", "V", "N", "N", "N"
    info = answering(
        lambda: _unlocked("dgejsv", *tasks, p, r, copy, p, sizes, left, p, right, r, work, len(work), integers)
    )
    return sizes * (work[0] / work[1]), left, right, info
