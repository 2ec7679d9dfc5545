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

from gramian.errors import DataError, Parameter, Value, shown


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
    """Return the whole numbers between two, both included.

    Examples
    --------
    >>> whole(2).words, whole(2).accepts(2), whole(2).accepts(2.0), whole(2).accepts(True)
    ('a whole number from 2', True, False, False)
    """
    ends = ("" if least is None else f" from {least}") + ("" if most is None else f" to {most}")

    def accepts(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        return (least is None or least <= int(value)) and (most is None or int(value) <= most)

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
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            return False
        x = float(value)
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
    raise DataError(Parameter(name), " is ", *parts, f"; got {shown(value)}")


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
