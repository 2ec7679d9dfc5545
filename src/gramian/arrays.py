"""What every layer needs of arrays and of the machine: cores, memory, BLAS held to one thread, `eigh` with one sign rule."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, MemoryLimitError, shown

Item = TypeVar("Item")
Result = TypeVar("Result")

ONE_THREAD = 256
"""Order of a symmetric matrix up to which one thread finds its eigenpairs sooner than two, which wait for each other at every
step: cross-validation over five folds at p = 200 took 44 ms with one and 64 with two, and several times more beside others."""

BLOCK_BYTES = 32 * 2**20
"""Bytes of a block of rows: large enough for BLAS, small beside any matrix worth splitting."""

CACHED_BYTES = 2**20
"""Bytes of a block that several passes of arithmetic go over: it stays in the processor's cache between them."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


class _Thread(threading.local):
    """What a thread knows of itself: how many there are of its kind, which share the cores."""

    alike = 1


_this_thread = _Thread()


def exact_array(labels: Sequence[Any]) -> npt.NDArray[Any]:
    """Return labels of one type as an array that holds them exactly.

    Examples
    --------
    >>> exact_array([1, 2**63]), exact_array(["a", "b"])
    (array([                  1, 9223372036854775808], dtype=uint64), array(['a', 'b'], dtype='<U1'))
    """
    found = np.asarray(labels)
    if found.dtype.kind == "f" and all(isinstance(label, int) for label in labels):
        # numpy makes floats of integers on both sides of 2^63.
        return np.array(labels, dtype=np.uint64 if min(labels) >= 0 else object)
    return found


@contextmanager
def one_of(n_threads: int) -> Iterator[None]:
    """Say that this thread is one of so many at the same work: what it starts itself takes its share of the cores only."""
    before = _this_thread.alike
    _this_thread.alike = before * n_threads
    try:
        yield
    finally:
        _this_thread.alike = before


def usable_cores(n_jobs: Any) -> int:
    """Return the number of threads to use: `n_jobs`, or where it is None the cores this thread may use.

    As in scikit-learn -1 means all of them, -2 all but one.
    """
    import joblib

    available = int(joblib.cpu_count())
    if n_jobs is None:
        return max(1, available // _this_thread.alike)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise DataError(f"n_jobs must be a whole number other than 0, or None; got {shown(n_jobs)}")
    n_jobs = int(n_jobs)
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)


@cache
def _blas() -> Any:
    # The controller holds the libraries loaded when it is made, and scipy brings a BLAS of its own.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, so that a pool of threads can each call it without treading on the others."""
    with _blas().limit(limits=1, user_api="blas"):
        yield


def threads_for(p: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread for a matrix too small to share: its threads would wait for each other most of the time."""
    return one_blas_thread() if p <= ONE_THREAD else nullcontext()


def available_memory() -> int:
    """Return the bytes this process may still take: what the machine has free, or its control group allows."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") if hasattr(os, "sysconf") else 2**33
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        found = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())
        if found:
            free = int(found.group(1)) * 1024
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (group / "memory.max").read_text().strip(), (group / "memory.current").read_text().strip()
        if limit != "max":
            free = min(free, max(0, int(limit) - int(used)))
    except (OSError, ValueError):
        pass
    return int(free)


def parse_bytes(amount: int | float | str) -> int:
    """Return a number of bytes given as a number or in words.

    Examples
    --------
    >>> parse_bytes("1.5 GB"), parse_bytes("2GiB"), parse_bytes(1024)
    (1500000000, 2147483648, 1024)
    """
    n_bytes = amount
    if isinstance(amount, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?\s*", amount.lower())
        if not found:
            raise DataError(f"memory_limit {shown(amount)} is not a number of bytes; write for example '2GB'")
        n_bytes = float(found.group(1)) * _UNITS[found.group(2) or ""]
    if isinstance(amount, bool) or not isinstance(n_bytes, int | float) or not n_bytes >= 1:
        raise DataError(f"memory_limit must be a positive number of bytes; got {shown(amount)}")
    return int(n_bytes)


def in_words(n_bytes: float) -> str:
    """Return a number of bytes as people say it.

    Examples
    --------
    >>> in_words(1_600_000_000)
    '1.6 GB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def refuse_beyond(n_bytes: int, limit: int | None, *, what: str, way_out: str) -> None:
    """Raise before `n_bytes` are allocated where they exceed `limit` (None: the memory there is)."""
    allowed = available_memory() if limit is None else limit
    if n_bytes > allowed:
        raise MemoryLimitError(f"{what} needs {in_words(n_bytes)} and {in_words(allowed)} are allowed; {way_out}")


def row_blocks(matrix: npt.NDArray[Any], n_bytes: int = BLOCK_BYTES) -> Iterator[slice]:
    """Return slices of rows, each of about `n_bytes`: what is made of a block of `CACHED_BYTES` needs no memory of its own.

    Examples
    --------
    >>> list(row_blocks(np.zeros((5, 4)), 64))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    n_rows, n_cols = matrix.shape
    step = max(1, min(n_rows, n_bytes // max(1, n_cols * matrix.itemsize)))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def each_block(task: Callable[[slice], None], matrix: npt.NDArray[Any]) -> None:
    """Call `task` with slices of rows, each of about `CACHED_BYTES`, in threads where there are several."""
    in_threads(task, row_blocks(matrix, CACHED_BYTES))


def in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], *, n_threads: int | None = None
) -> list[Result]:
    """Return `function` of each item, in order: computed in threads, by default as many as cores, where items are several.

    Examples
    --------
    >>> in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    todo = list(items)
    threads = min(len(todo), usable_cores(None) if n_threads is None else n_threads)
    if threads < 2:
        return [function(item) for item in todo]
    alike = threads * _this_thread.alike

    def call(item: Item) -> Result:
        with one_of(alike):
            return function(item)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(call, todo))


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """Return the results of functions that do not depend on each other, each called in a thread of its own."""
    return in_threads(lambda task: task(), tasks)


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
    return np.asarray(root.T @ root)


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
    reduction to tridiagonal form, then only those vectors (see `eigh_chosen`), at half the cost.

    Examples
    --------
    >>> values, vectors = eigh_descending(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values, vectors.round(3)
    (array([3., 1.]), array([[ 0.707,  0.707],
           [ 0.707, -0.707]]))
    """
    p = len(a)
    if k is not None and k < p // 4:
        values, vectors = eigh_chosen(a, lambda _: k, overwrite=overwrite)
        return values[:k], vectors
    import scipy.linalg

    # The transpose of a C-ordered symmetric matrix is itself in the order LAPACK wants: no copy is made.
    with threads_for(p):
        values, vectors = scipy.linalg.eigh(a.T, driver="evd", overwrite_a=overwrite, check_finite=False)
    count = p if k is None else k
    return values[::-1][:count].copy(), fix_signs(vectors[:, ::-1][:, :count])


def eigh_chosen(
    a: npt.NDArray[np.float64], choose: Callable[[npt.NDArray[np.float64]], int], *, overwrite: bool = False
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return all eigenvalues of a symmetric matrix, descending, and the vectors of as many as `choose(values)` says.

    The reduction A = Q T Q^T to tridiagonal form is nearly all of the work for few vectors; the values of T are then
    almost free, so that how many vectors to find can depend on all of them.
    """
    import scipy.linalg
    from scipy.linalg import lapack

    p = len(a)
    if p < 3:
        values, vectors = eigh_descending(a, overwrite=overwrite)
        return values, vectors[:, : choose(values)]
    work = int(lapack.dsytrd_lwork(p, lower=1)[0])
    with threads_for(p):
        reduced, diagonal, off, tau, _ = lapack.dsytrd(a.T, lower=1, lwork=work, overwrite_a=overwrite)
    values = scipy.linalg.eigh_tridiagonal(diagonal, off, eigvals_only=True, lapack_driver="sterf", check_finite=False)
    values = values[::-1].copy()
    k = choose(values)
    if k == 0:
        return values, np.empty((p, 0))
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
    return values, fix_signs(np.concatenate([inner[:1], turned]))
