"""What fitting sets on an estimator, and that it sets all of it or nothing.

A `fit` that fails leaves the estimator unfitted: neither half of a new model nor an older one that nobody asked for. A
`partial_fit` that fails leaves what was there before. Both hold for every method of that name, wherever it is defined. Threads
that fit the same estimator wait for each other, so that no rows are lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.threads import lock_of
from gramian.errors import MemoryLimitError
from gramian.estimators.spine.fields import Fields, Optional, size, texts
from gramian.estimators.spine.outputs import MapsFrames
from gramian.parameters import CATEGORICAL, RANDOM_STATE, check_parameters, declared
from gramian.tables.failures import one_line

_ANEW = ("fit", "fit_transform", "fit_predict")
_MORE = ("partial_fit",)
_RECORD = "_learned"
"""Where an estimator keeps the names of what fitting has set, and nothing that its constructor or anybody else has set."""


def is_public(name: str) -> bool:
    """Whether a name is one of a fitted attribute by scikit-learn's convention."""
    return name.endswith("_") and not name.startswith("_")


@contextmanager
def learning(estimator: Any) -> Iterator[None]:
    """Note every attribute that is set meanwhile as learned, so that the next `fit` forgets it.

    Examples
    --------
    >>> from gramian.estimators.whitening import Whitening
    >>> model = Whitening()
    >>> with learning(model):
    ...     model._features = ["a"]
    >>> forget(model)
    >>> sorted(vars(model)) == sorted(model.get_params())
    True
    """
    before = {*vars(estimator), _RECORD}
    yield
    known = vars(estimator).get(_RECORD, frozenset())
    vars(estimator)[_RECORD] = known | (vars(estimator).keys() - before)


def forget(estimator: Any) -> None:
    """Take away everything that fitting has set."""
    learned = vars(estimator).pop(_RECORD, frozenset())
    for name in [name for name in vars(estimator) if is_public(name) or name in learned]:
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
            with learning(estimator):
                vars(estimator).update(fitted)
            for name in set(state) - set(fitted) - {"_unsolved"}:
                vars(estimator).pop(name, None)
            vars(estimator).pop("_unsolved", None)


class _Busy(threading.local):
    """The estimators that a thread is fitting: of calls within calls, as of `fit` by `fit_transform`, the outer one counts."""

    def __init__(self) -> None:
        self.fits: list[Any] = []


_busy = _Busy()


@contextmanager
def _alone(estimator: Any) -> Iterator[None]:
    """Let one thread at a time fit an estimator: rows that another adds meanwhile would be lost."""
    with lock_of(estimator):
        _busy.fits.append(estimator)
        try:
            yield
        finally:
            _busy.fits.pop()


def _anew(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        if any(each is self for each in _busy.fits):
            return method(self, *args, **kwargs)
        with _alone(self):
            forget(self)
            before = dict(vars(self))
            try:
                return _learnt(self, method, *args, **kwargs)
            except BaseException:
                _restore(self, before)
                raise

    return whole


def _more(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _alone(self):
            before = dict(vars(self))
            try:
                return _learnt(self, method, *args, **kwargs)
            except BaseException:
                _restore(self, before)
                raise

    return whole


def _learnt(estimator: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a method gives that fits an estimator."""
    check_parameters(estimator)
    try:
        with learning(estimator):
            return method(estimator, *args, **kwargs)
    except MemoryError as error:
        if isinstance(error, MemoryLimitError):
            raise
        raise MemoryLimitError(
            f"{method.__name__} of {type(estimator).__name__} needs more memory than there is: {one_line(error)}; "
            f"ask for fewer components or units, or give fewer columns or rows"
        ) from error


def _restore(estimator: Any, state: dict[str, Any]) -> None:
    vars(estimator).clear()
    vars(estimator).update(state)


class AllOrNothing(MapsFrames):
    """An estimator whose fits succeed or leave nothing behind, one at a time."""

    _fields: ClassVar[Fields] = {
        "n_features_in_": size("q"),
        "feature_names_in_": Optional(texts("q", np.ndarray)),
        "_columns_in": Optional(texts("q")),
        "_frames": Optional({None, "pandas", "polars"}),
    }

    _frames: str | None = None
    """The library that tables are returned in, where fitting or a file names one."""
    _parameters = declared(random_state=RANDOM_STATE, categorical_features=CATEGORICAL)

    def _check_together(self) -> None:
        """Raise where parameters, each of them allowed, contradict each other."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for names, wrapped in ((_ANEW, _anew), (_MORE, _more)):
            for name in names:
                if name in vars(cls):
                    setattr(cls, name, wrapped(vars(cls)[name]))
