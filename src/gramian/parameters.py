"""Parameters checked in one place, with one wording: what a parameter may be, and what it was.

`check("ridge", ridge, "auto", "cv", number(least=0))` passes, or says *ridge is 'auto', 'cv' or a number from 0; got -1*.
What is allowed is values (texts, truths, None, whole numbers) and kinds of values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
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


TEXT = Kind("a text", lambda value: isinstance(value, str))
FUNCTION = Kind("a function", callable)
OPTIONS = Kind("values by name", lambda value: isinstance(value, Mapping))
NUMBERS = Kind("numbers", lambda value: _are_numbers(value))
GENERATOR = Kind("a generator", lambda value: hasattr(value, "randint") or hasattr(value, "integers"))


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
    raise DataError(Parameter(name), " is ", *parts, f"; got {shown(value)}{beyond}")


COMMON: dict[str, tuple[object, ...]] = {
    "random_state": (None, whole(0, 2**32 - 1, words="a seed"), GENERATOR),
    "target_type": ("auto", "continuous", "binary", "multiclass"),
    "direct_links": (True, False),
    "shuffle": (True, False),
    "tied": (True, False),
    "metric": (Kind("the name of a metric", lambda value: isinstance(value, str)), FUNCTION),
    **dict.fromkeys(("rule", "mode", "schedule", "nonlinearity", "solver"), (TEXT,)),
    **dict.fromkeys(("n_epochs", "n_alphas", "n_init", "n_reservoir"), (whole(1, 10**6),)),
}
"""What parameters may be that several estimators have; an estimator itself says the rest. Of epochs and the like a million is
weeks of work on a table that needs it, and nobody means more."""


def check_common(parameters: Mapping[str, Any]) -> None:
    """Raise where a parameter that many estimators have is nothing that is allowed.

    Examples
    --------
    >>> check_common({"random_state": -1})
    Traceback (most recent call last):
    gramian.errors.DataError: random_state is None, a seed from 0 to 4294967295 or a generator; got -1
    """
    for name, allowed in COMMON.items():
        if name in parameters:
            check(name, parameters[name], *allowed)


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
