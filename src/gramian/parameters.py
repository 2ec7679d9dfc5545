"""Parameters checked in one place, with one wording: what a parameter may be, and what it was.

`check("ridge", ridge, "auto", "cv", number(least=0))` passes, or says *ridge is 'auto', 'cv' or a number from 0; got -1*.
What is allowed is values (texts, truths, None, whole numbers) and kinds of values.

An estimator is a dataclass that says of each parameter its default and what else it may be,
`ridge: float | str = parameter("auto", "cv", number(least=0))`. A base class says it of parameters that its subclasses have,
`_parameters = declared(ridge=("auto", "cv", number(least=0)))`. `check_parameters` checks all of them before a fit reads any
data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, Parameter, Value, shown

MOST = 2**31 - 1
"""The largest whole number that a parameter may be where no other bound is named: as many steps or units never end, or fit."""


@dataclass(frozen=True)
class Kind:
    """Values that a parameter may have.

    Attributes
    ----------
    words : what they are called
    accepts : whether a value is one of them
    """

    words: str
    accepts: Callable[[Any], bool]


def whole(least: int | None = 1, most: int | None = None, *, words: str = "a whole number") -> Kind:
    """Return the whole numbers between two, both included; from `least` on alone they go up to `MOST`.

    Examples
    --------
    >>> whole(2).words, whole(2).accepts(2), whole(2).accepts(2.0), whole(2).accepts(True)
    ('a whole number from 2', True, False, False)
    """
    ends = ("" if least is None else f" from {least}") + ("" if most is None else f" to {most}")

    def accepts(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        if least is None:
            return most is None or int(value) <= most
        return least <= int(value) <= (MOST if most is None else most)

    return Kind(words + ends, accepts)


def number(
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    words: str = "a number",
) -> Kind:
    """Return the finite numbers within bounds: `least` and `most` are among them, `above` and `below` are not.

    Examples
    --------
    >>> number(above=0, most=0.5, words="a share").words
    'a share above 0 and at most 0.5'
    >>> number(least=0, most=1).words, number(above=0, below=1).words, number(least=0).words
    ('a number from 0 to 1', 'a number between 0 and 1', 'a number from 0')
    """

    def accepts(value: Any) -> bool:
        x = _as_float(value)
        if isinstance(value, bool) or x is None or not math.isfinite(x):
            return False
        return (
            (least is None or x >= least)
            and (above is None or x > above)
            and (most is None or x <= most)
            and (below is None or x < below)
        )

    if above is not None and below is not None:
        return Kind(f"{words} between {above:g} and {below:g}", accepts)
    if least is not None and most is not None:
        return Kind(f"{words} from {least:g} to {most:g}", accepts)
    ends = [
        f" {name} {end:g}"
        for name, end in (("from", least), ("above", above), ("at most", most), ("below", below))
        if end is not None
    ]
    return Kind(words + " and".join(ends), accepts)


def array_of(words: str) -> Kind:
    """Return lists and arrays of any values; what is in them is checked where their shape is known.

    Examples
    --------
    >>> [array_of("a matrix").accepts(value) for value in ([[1.0]], np.eye(2), "a", np.float64(3), {})]
    [True, True, False, False, False]
    """

    def accepts(value: Any) -> bool:
        listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return listed or getattr(value, "shape", ()) != ()

    return Kind(words, accepts)


def _finite_matrix(value: Any) -> bool:
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return values.ndim == 2 and values.size > 0 and bool(np.isfinite(values).all())


def _lists_columns(value: Any) -> bool:
    try:
        listed = np.asarray(list(value) if isinstance(value, set | frozenset) else value)
    except ValueError:
        return False
    # An empty list is one of floats.
    kinds = "biuUO" + "f" * (not listed.size)
    return not isinstance(value, str | Mapping) and listed.ndim == 1 and listed.dtype.kind in kinds


def _names_columns(value: Any) -> bool:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    each = [value] if isinstance(value, str) or not isinstance(value, Iterable) else value
    return all(isinstance(one, str | Integral) and not isinstance(one, bool) for one in each)


TEXT = Kind("a text", lambda value: isinstance(value, str))
PATH = Kind("a path", lambda value: isinstance(value, str | PathLike))
FUNCTION = Kind("a function", callable)
OPTIONS = Kind("values by name", lambda value: isinstance(value, Mapping))
NUMBERS = Kind("numbers", lambda value: _are_numbers(value))
MATRIX = Kind("a matrix of finite numbers", _finite_matrix)
GENERATOR = Kind("a generator", lambda value: hasattr(value, "randint") or hasattr(value, "integers"))
SHARE = number(above=0, below=1, words="a share")

TRUTH = (True, False)
RANDOM_STATE = (None, whole(0, 2**32 - 1, words="a seed"), GENERATOR)
RIDGE = ("auto", "cv", number(least=0, words="a number of rows"))
OFTEN = whole(1, 10**6)
"""Epochs and the like: a million is weeks of work on a table that needs it, and nobody means more."""
CATEGORICAL = ("from_dtype", "all", None, Kind("names, positions or a mask of columns", _lists_columns))
COLUMNS = Kind("a name or position of a column, or a list of them", _names_columns)
JOBS = (None, Kind("a whole number other than 0", lambda value: whole(None).accepts(value) and value != 0))


def check(name: str, value: Any, *allowed: object) -> None:
    """Raise where a parameter is nothing that is allowed.

    Parameters
    ----------
    name : of the parameter
    value : what was given
    allowed : values, and kinds of them

    Raises
    ------
    DataError

    Examples
    --------
    >>> check("n_components", 3, None, whole())
    >>> check("n_components", 0, None, whole())
    Traceback (most recent call last):
    gramian.errors.DataError: n_components is None or a whole number from 1; got 0
    """
    if any(_is(value, each) for each in allowed):
        return
    parts: list[object] = []
    for k, each in enumerate(allowed):
        parts += [] if not k else [" or " if k == len(allowed) - 1 else ", "]
        parts += [each.words if isinstance(each, Kind) else Value(each)]
    beyond = f", which is beyond {MOST}" if isinstance(value, Integral) and int(value) > MOST else ""
    raise DataError(Parameter(name), " is ", *parts, f"; got {_given(value)}{beyond}")


def parameter(default: Any, *allowed: object) -> Any:
    """Return the field of a dataclass for a parameter: its default, and what it may be: values, and kinds of them.

    The default itself need not be listed, and comes first where it is not.

    Examples
    --------
    >>> @dataclass
    ... class Method:
    ...     k: int | str = parameter("auto", whole())
    >>> Method(), [each if isinstance(each, str) else each.words for each in parameters_of(Method)["k"]]
    (Method(k='auto'), ['auto', 'a whole number from 1'])
    """
    covered = any(_is(default, each) for each in allowed)
    return field(default=default, metadata={"allowed": allowed if covered else (default, *allowed)})


def declared(**parameters: object) -> dict[str, tuple[object, ...]]:
    """Return what parameters may be, by name: values and kinds of values, or one kind.

    Examples
    --------
    >>> declared(rule=("best", "1se"), k=whole())["rule"]
    ('best', '1se')
    """
    return {name: allowed if isinstance(allowed, tuple) else (allowed,) for name, allowed in parameters.items()}


def parameters_of(estimator: type) -> dict[str, tuple[object, ...]]:
    """Return what the parameters of a class may be: what it declares itself, over what its bases do."""
    merged: dict[str, tuple[object, ...]] = {}
    for each in reversed(estimator.__mro__):
        fields = vars(each).get("__dataclass_fields__", {})
        own = {
            name: fields[name].metadata.get("allowed")
            for name in vars(each).get("__annotations__", {})
            if name in fields
        }
        merged |= vars(each).get("_parameters", {}) | {name: allowed for name, allowed in own.items() if allowed}
    return merged


def check_parameters(estimator: Any) -> None:
    """Raise where a parameter of an estimator is nothing that its class allows, or where two of them contradict each other.

    Examples
    --------
    >>> from gramian.estimators.pca import Whitening
    >>> check_parameters(Whitening(ddof=-1))
    Traceback (most recent call last):
    gramian.errors.DataError: ddof is a number from 0; got -1
    """
    allowed = parameters_of(type(estimator))
    for name, value in vars(estimator).items():
        if name in allowed:
            check(name, value, *allowed[name])
    estimator._check_together()


def as_numbers(name: str, value: Any) -> npt.NDArray[np.float64]:
    """Return a parameter as an array of numbers of its own.

    Examples
    --------
    >>> as_numbers("init", [["a"]])
    Traceback (most recent call last):
    gramian.errors.DataError: init is an array of numbers; got [['a']]
    """
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(Parameter(name), f" is an array of numbers; got {shown(value)}") from None


def _given(value: Any) -> str:
    """Return a value as a message shows it: an array by its shape, and not the whole of a long list."""
    if getattr(value, "shape", ()):
        return f"an array of shape {tuple(value.shape)}"
    text = shown(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _as_float(value: Any) -> float | None:
    """Return a real number as a float, None where there is none: it is beyond float64, or not a number."""
    try:
        return float(value) if isinstance(value, Real) else None
    except OverflowError:
        return None


def _are_numbers(value: Any) -> bool:
    values = value.tolist() if hasattr(value, "tolist") else value
    return isinstance(values, list | tuple) and all(isinstance(each, Real) for each in values)


def _is(value: Any, allowed: Any) -> bool:
    if isinstance(allowed, Kind):
        return allowed.accepts(value)
    if isinstance(allowed, str):
        return isinstance(value, str) and value == allowed
    if isinstance(allowed, bool) or allowed is None:
        # numpy has truth values of its own.
        return value is allowed or (type(value).__name__ in ("bool", "bool_") and bool(value) is allowed)
    return whole(allowed, allowed).accepts(value)
