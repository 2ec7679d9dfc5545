"""Threads: the cores this process may use, work shared over them, and BLAS held to one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

import numpy.typing as npt

from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.errors import DataError, shown

Item = TypeVar("Item")

Result = TypeVar("Result")

ONE_THREAD = 256
"""Order of a symmetric matrix up to which one thread finds its eigenpairs sooner than two, which wait for each other at every
step: cross-validation over five folds at p = 200 took 44 ms with one and 64 with two, and several times more beside others."""


class _Thread(threading.local):
    """What a thread knows of itself: how many there are of its kind, which share the cores."""

    alike = 1


_this_thread = _Thread()


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
