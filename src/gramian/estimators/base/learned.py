"""What fitting sets on an estimator, and that it sets all of it or nothing.

A `fit` that fails leaves the estimator unfitted: neither half of a new model nor an older one that nobody asked for. A
`partial_fit` that fails leaves what was there before. Both hold for every method of that name, wherever it is defined.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from types import CodeType
from typing import Any

from gramian.arrays.threads import lock_of
from gramian.estimators.io.lazy import MapsFrames

_ANEW = ("fit", "fit_transform", "fit_predict")
_MORE = ("partial_fit",)


def set_by_methods(estimator: type) -> frozenset[str]:
    """Return the attributes that the methods of an estimator set, its parameters left out.

    Read off the methods themselves when the class is made, so that no list can fall behind them.

    Examples
    --------
    >>> from gramian.estimators.whitening import Whitening
    >>> names = set_by_methods(Whitening)
    >>> "whitening_" in names, "_features" in names, "method" in names
    (True, True, False)
    """
    return estimator._set_names  # type: ignore[attr-defined]


def _stored_by(methods: Iterable[Any]) -> set[str]:
    # Of a property, the function that reads it; of a method that is whole already, the one inside.
    functions = (getattr(method, "fget", method) for method in methods)
    codes = [getattr(inspect.unwrap(each) if callable(each) else each, "__code__", None) for each in functions]
    steps = (step for code in codes if code is not None for step in _steps(code))
    return {step.argval for step in steps if step.opname == "STORE_ATTR"}


def _steps(code: CodeType) -> Iterator[dis.Instruction]:
    """Give the instructions of a function and of those inside it."""
    yield from dis.get_instructions(code)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _steps(inner)


def is_public(name: str) -> bool:
    """Whether a name is one of a fitted attribute by scikit-learn's convention."""
    return name.endswith("_") and not name.startswith("_")


def forget(estimator: Any) -> None:
    """Take away everything that fitting has set."""
    private = set_by_methods(type(estimator))
    for name in [name for name in vars(estimator) if is_public(name) or name in private]:
        delattr(estimator, name)


def solve(estimator: Any) -> None:
    """Compute what `partial_fit` left to be computed: once, whatever number of threads ask for it at the same time.

    It is computed on a copy and then put in place whole, so that no thread sees half of it, and nothing remains of one that
    fails. Rows that are added meanwhile are not lost: it is computed again.
    """
    with lock_of(estimator):
        while vars(estimator).get("_unsolved"):
            state = dict(vars(estimator))
            working = object.__new__(type(estimator))
            vars(working).update(state)
            working._finish()
            fitted = dict(vars(working))
            if vars(estimator).get("moments_") is not state.get("moments_"):
                continue
            vars(estimator).update(fitted)
            for name in set(state) - set(fitted) - {"_unsolved"}:
                vars(estimator).pop(name, None)
            vars(estimator).pop("_unsolved", None)


def restore(estimator: Any, state: dict[str, Any]) -> None:
    """Put back everything as it was."""
    vars(estimator).clear()
    vars(estimator).update(state)


def _anew(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        forget(self)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            forget(self)
            raise

    return whole


def _more(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            restore(self, before)
            raise

    return whole


class AllOrNothing(MapsFrames):
    """An estimator whose fits succeed or leave nothing behind."""

    _set_names: frozenset[str] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # scikit-learn's own classes set what they set by themselves.
        bases = [base for base in cls.__mro__ if base.__module__.partition(".")[0] not in ("builtins", "sklearn")]
        stored = set().union(*(_stored_by(vars(base).values()) for base in bases))
        cls._set_names = frozenset(stored - set(inspect.signature(cls.__init__).parameters))
        super().__init_subclass__(**kwargs)
        for names, wrapped in ((_ANEW, _anew), (_MORE, _more)):
            for name in names:
                if name in vars(cls):
                    setattr(cls, name, wrapped(vars(cls)[name]))
