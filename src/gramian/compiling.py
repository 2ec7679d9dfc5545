"""Compiled loops: a few explicit signatures each, compiled when first called and kept on disk.

Compiling everything when a module is imported costs seconds that most passes never need: a table without weights needs
no weighted loop. Compiling for whatever types turn up costs a compilation for each accident of layout. So a `Kernel` has
its signatures fixed, and compiles one of them when a call first needs it. numba itself is imported then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import Any

from gramian.errors import GramianError

_compiling = Lock()


def _renew_lock() -> None:
    """Forget a lock that a thread of the parent may have held when this process was forked off."""
    global _compiling
    _compiling = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class Kernel:
    """A function compiled for a few signatures, single-threaded and free of the interpreter lock.

    Parameters
    ----------
    function : callable
    signatures : tuple
        numba signatures, as text.

    Attributes
    ----------
    function : callable
        The same without compiling, slow.
    """

    def __init__(self, function: Callable[..., Any], signatures: tuple[Any, ...]) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._waiting = list(signatures)
        self._compiled: list[Any] = []
        self._met: set[tuple[Any, ...]] = set()
        self.function = function
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function; raise `TypeError` where the arguments fit no signature."""
        if self._waiting:
            # Asking numba for the types of the arguments costs forty times the call itself: once for each kind of call.
            kinds = tuple([(getattr(a, "dtype", None), getattr(a, "ndim", 0)) for a in arguments])
            if kinds not in self._met:
                self._compile_for(arguments)
                self._met.add(kinds)
        return self._dispatcher(*arguments)

    def _compile_for(self, arguments: tuple[Any, ...]) -> None:
        from numba import config, typeof
        from numba.core.sigutils import normalize_signature

        if config.DISABLE_JIT:
            raise GramianError(
                "NUMBA_DISABLE_JIT is set, and the loops of this package are made to be compiled; unset it and start again"
            )
        with _compiling:
            if self._dispatcher is None:
                self._dispatcher = _cached(self.function)
            for signature in list(self._waiting):
                taken, _ = normalize_signature(signature)
                if _fits(taken, arguments):
                    self._compile(signature)
                    self._waiting.remove(signature)
        if not self._dispatcher.signatures:
            # With something compiled the dispatcher itself refuses what does not fit; nothing is compiled by accident.
            raise TypeError(f"{self.__name__} takes none of these types: {[typeof(a) for a in arguments]}")

    def _compile(self, signature: Any) -> None:
        from numba.core.errors import NumbaError

        # Another thread may be calling what there is, which takes other types for compiled ones only while nothing can be
        # compiled: so a dispatcher that is in use stays as it is, and is replaced.
        asked = [*self._compiled, signature]
        dispatcher = _cached(self.function) if self._compiled else self._dispatcher
        try:
            for each in asked:
                dispatcher.compile(each)
        except NumbaError:
            raise
        except Exception:
            # A file of the cache is damaged, or it cannot be written any more: compile without it, what there was too.
            dispatcher = _uncached(self.function)
            for each in asked:
                dispatcher.compile(each)
        dispatcher.disable_compile()
        self._dispatcher, self._compiled = dispatcher, asked


def _cached(function: Callable[..., Any]) -> Any:
    """Return numba's dispatcher, which keeps its results on disk where there is a place to keep them."""
    try:
        return _njit(function, cache=True)
    except RuntimeError as error:
        # A read-only installation offers no place for a cache: compiling again is slow, failing is worse.
        if "cache" not in str(error):
            raise
        return _uncached(function)


def _uncached(function: Callable[..., Any]) -> Any:
    return _njit(function)


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    from numba import njit

    return njit(nogil=True, error_model="numpy", **options)(function)


def _fits(taken: tuple[Any, ...], arguments: tuple[Any, ...]) -> bool:
    """Whether arrays have the dimensions and dtypes of a signature; numbers are converted by the call itself."""
    from numba import typeof
    from numba.core import types

    if len(taken) != len(arguments):
        return False
    for wanted, given in zip(taken, arguments, strict=True):
        if isinstance(wanted, types.Array):
            kind = typeof(given)
            if not isinstance(kind, types.Array) or (kind.dtype, kind.ndim) != (wanted.dtype, wanted.ndim):
                return False
    return True


def kernel(*signatures: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorate a function to be compiled for these signatures, each when it is first needed.

    Examples
    --------
    >>> import numpy as np
    >>> @kernel("float64(float64[::1])", "int64(int64[::1])")
    ... def total(values):
    ...     out = values[0] - values[0]
    ...     for value in values:
    ...         out += value
    ...     return out
    >>> total(np.array([1, 2, 3]))
    6
    """
    return lambda function: Kernel(function, signatures)


class Inlined:
    """A function that compiled functions call, and that is compiled with them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._function = function
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the function as it is, without compiling."""
        return self._function(*arguments)

    @property
    def _numba_type_(self) -> Any:
        # What numba asks of a global name to learn what it is. The type holds its dispatcher weakly.
        if self._dispatcher is None:
            self._dispatcher = _uncached(self._function)
        return self._dispatcher._numba_type_


__all__ = ["Inlined", "Kernel", "kernel"]
