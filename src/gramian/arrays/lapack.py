"""Eigenproblems of seconds and minutes that an interrupt ends.

Python answers a signal between two steps of the main thread. scipy's wrappers of LAPACK hold the interpreter lock besides, so
that an eigenproblem of 10,000 columns would not hear of Ctrl-C for minutes, not even from another thread. A call that takes
more than about a second is therefore made without the lock, in a thread of its own, while the main thread waits and answers.
LAPACK cannot be stopped: what it was working on is dropped once it is done, and until then it keeps a core and its memory.

Shorter calls go to scipy as ever. Results are the same: both are the same routine of the same library.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gramian.arrays import memory as effort
from gramian.arrays.types import Array

Result = TypeVar("Result")

LONG = 1.0
"""Estimated seconds from which a call is made in a thread of its own."""

_WAIT = 0.2


def is_long(order: int, per_cube: float) -> bool:
    """Whether work of `per_cube` seconds times the cube of its order should not be done in the main thread."""
    return per_cube * float(order) ** 3 > LONG


def answering(task: Callable[[], Result]) -> Result:
    """Return what a task returns that works without the interpreter lock, while the main thread answers signals.

    An interrupt is raised at once. The task then ends by itself in the background, and what it returns is dropped.

    Examples
    --------
    >>> answering(lambda: 2 + 3)
    5
    """
    if threading.current_thread() is not threading.main_thread():
        return task()
    returned: list[Result] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            returned.append(task())
        except BaseException as error:
            raised.append(error)

    # A daemon: a program that was interrupted does not wait for it before it ends.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_WAIT)
    if raised:
        raise raised[0]
    return returned[0]


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
