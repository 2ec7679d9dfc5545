"""Threads: the cores this process may use, work shared over them, and BLAS held to one of them.

Values computed when they are first asked for, and kept.

Up to Python 3.11 `functools.cached_property` holds a lock while it computes, one for all instances of a class. A process that
is forked meanwhile inherits the lock held, by a thread that it does not have, and waits for it for ever. Here there is none:
two threads that ask at the same time compute the same twice, and both get what was kept first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, Generic, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy.typing as npt

from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.parameters import JOBS, check

Item = TypeVar("Item")

Result = TypeVar("Result")

ONE_THREAD = 256
"""Order of a symmetric matrix up to which one thread finds its eigenpairs sooner than two, which wait for each other at every
step: cross-validation over five folds at p = 200 took 44 ms with one and 64 with two, and several times more beside others."""


class _Thread(threading.local):
    """What a thread knows of itself: how many there are of its kind, which share the cores, and how often it holds BLAS."""

    alike = 1
    holds = 0


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
    check("n_jobs", n_jobs, *JOBS)
    if n_jobs is not None and int(n_jobs) > 0:
        return int(n_jobs)
    import joblib

    available = int(joblib.cpu_count())
    return max(1, available // _this_thread.alike if n_jobs is None else available + 1 + int(n_jobs))


@cache
def _blas(of_scipy: bool) -> Any:
    # The controller holds the libraries loaded when it is made, and scipy brings a BLAS of its own.
    if of_scipy:
        import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Shared:
    """What the threads of a process share: who holds BLAS to one thread, and a lock per value that is computed once."""

    def __init__(self) -> None:
        self.before: list[tuple[Any, int]] = []
        self.renew()

    def renew(self) -> None:
        """Forget what threads hold that a process just forked off does not have: their locks would never be released."""
        self.lock = threading.Lock()
        self.locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
        self.holders = _this_thread.holds


_shared = _Shared()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.renew)


@contextmanager
def one_blas_thread(of_scipy: bool = True) -> Iterator[None]:
    """Hold BLAS to one thread, so that a pool of threads can each call it without treading on the others.

    Work that calls numpy alone says so, and does not wait for scipy to be imported.

    Its number of threads is one for the whole process (except over OpenMP, where each thread has its own): it is set by the
    first of those who hold it, and set back by the last. Were each to set back what it found, the last of two that overlap
    would set back the one thread that the first had set.
    """
    libraries = [library for library in _blas(of_scipy).lib_controllers if library.user_api == "blas"]
    own = _limited([each for each in libraries if getattr(each, "threading_layer", None) == "openmp"])
    with _shared.lock:
        held = {library.filepath for library, _ in _shared.before}
        shared = [each for each in libraries if getattr(each, "threading_layer", None) != "openmp"]
        _shared.before += _limited([each for each in shared if each.filepath not in held])
        _shared.holders += 1
    _this_thread.holds += 1
    try:
        yield
    finally:
        _this_thread.holds -= 1
        with _shared.lock:
            _shared.holders = max(0, _shared.holders - 1)
            if not _shared.holders:
                _set_back(_shared.before)
                _shared.before = []
        _set_back(own)


def _limited(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Hold libraries to one thread, and return them with the number of threads that they had."""
    before = [(library, library.get_num_threads()) for library in libraries]
    for library, _ in before:
        _set(library, 1)
    return before


def _set_back(before: list[tuple[Any, int]]) -> None:
    for library, n_threads in before:
        _set(library, n_threads)


def _set(library: Any, n_threads: int | None) -> None:
    # Newer releases of threadpoolctl do nothing, and say nothing, where another thread was the first to set it. Who is first
    # and who is last is counted here.
    setter = getattr(library, "_real_set_num_threads", library.set_num_threads)
    if n_threads is not None:
        setter(n_threads)


def lock_of(value: Any) -> threading.RLock:
    """Return the lock of a value, the same for all threads; a process that is forked off has others, none of them held.

    Examples
    --------
    >>> class Model:
    ...     pass
    >>> one, other = Model(), Model()
    >>> lock_of(one) is lock_of(one), lock_of(one) is lock_of(other)
    (True, False)
    """
    with _shared.lock:
        return _shared.locks.setdefault(value, threading.RLock())


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
    if len(todo) < 2:
        # Not even the cores are counted: that takes as long as one row.
        return [function(item) for item in todo]
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


Value = TypeVar("Value")


class cached_property(Generic[Value]):
    """A method that becomes the attribute of its name.

    Examples
    --------
    >>> class Circle:
    ...     radius = 2.0
    ...     @cached_property
    ...     def area(self):
    ...         print("once")
    ...         return 3.0 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, circle.area
    once
    (12.0, 12.0)
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function, self._name = function, function.__name__
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        """Return the value, computed if it was not; an attribute of the instance then stands in its place."""
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._function(instance))
