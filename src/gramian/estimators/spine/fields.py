"""What an estimator learns, declared once at the top of its class: `_fields = {"components_": array("k", "p"), ...}`.

A model file holds exactly the declared fields that a fitted estimator has. It is refused, by the name of the field, where one
is missing, is of another kind or shape, or is not declared. A subclass adds to the fields of its bases, or replaces them by
name. Keys may hold several names with spaces between. A kind is

- `int` (a whole number from 0), `float` (NaN too), `bool`, or another type;
- a set of texts, a tuple of alternatives, a list `[kind]` of any length, or a dict of kinds by name;
- what the functions of this module return: `array("k", "p")`, `size("k")`, `table()`...
- a function of the model as far as it is read that returns one of these: fields are read in the order of their declaration,
  those of base classes first.

Sizes that share a name are equal within one model, so that `array("k", "p")` and `array("p")` fit each other. A size is a name
(that of a parameter stands for its value), a number, a function of the model, or None for any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.errors import FileFormatError
from gramian.maps.projection import Design, Projection

Size = int | str | Callable[[Any], int | None] | None
Kind = Any
Fields = Mapping[str, Kind]


class Sizes:
    """The named sizes of one model, as far as its fields have told them."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.known: dict[str, int] = {}

    def of(self, size: Size | float) -> float | None:
        """Return what a size is, None where it is not known yet."""
        if isinstance(size, str):
            return self.known.get(size, vars(self.model).get(size))
        return size(self.model) if callable(size) else size

    def match(self, wanted: tuple[Size, ...], shape: tuple[int, ...]) -> bool:
        """Whether a shape is the one that is declared; if so, names that are new are of its sizes from now on."""
        found = {size: n for size, n in zip(wanted, shape, strict=False) if isinstance(size, str)}
        known = [self.of(size) for size in wanted]
        fine = len(wanted) == len(shape) and all(m is None or m == n for m, n in zip(known, shape, strict=True))
        # A name may stand twice in one shape.
        fine = fine and all(n == found[size] for size, n in zip(wanted, shape, strict=True) if isinstance(size, str))
        self.known |= found if fine else {}
        return fine


@dataclass(frozen=True)
class Field:
    """A kind of value: what it is in words, and whether a value is one, beside the sizes of the model."""

    words: str
    accepts: Callable[[Any, Sizes], bool]
    shape: tuple[Size, ...] = ()


@dataclass(frozen=True)
class Optional:
    """A kind that a fit may leave out; fields of one group are there together, or none of them is."""

    kind: Kind
    group: str | None = None


def array(
    *shape: Size, dtype: str = "f8", finite: bool = False, least: float | None = None, below: Size | float = None
) -> Field:
    """Return an array of this shape and type ("f": of any precision), of numbers from `least`, less than `below`."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or not value.dtype.str[1:].startswith(dtype):
            return False
        fine = not finite or bool(np.isfinite(value).all())
        fine = fine and (least is None or bool((value >= least).all()))
        most = sizes.of(below)
        return fine and (most is None or bool((value < most).all())) and sizes.match(shape, value.shape)

    kinds = {"f": "finite numbers" if finite else "numbers", "b": "booleans", "O": "labels"}
    bounds = ("" if least is None else f" from {least:g}") + ("" if below is None else " within the sizes it has")
    return Field(f"an array of {kinds.get(dtype[0], 'whole numbers')}{bounds}", accepts, shape)


def size(of: Size) -> Field:
    """Return a whole number that is one of the sizes, 1 or more."""
    return Field(
        "how many there are",
        lambda value, sizes: type(value) is int and value > 0 and sizes.match((of,), (value,)),
        (of,),
    )


finite = Field("a finite number", lambda value, sizes: _fits(float, value, sizes) and bool(np.isfinite(value)))
"""A number that is neither NaN nor infinite."""


def texts(of: Size = None, kind: Any = list) -> Field:
    """Return texts, in a list or an array."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        fine = isinstance(value, kind) and all(isinstance(each, str) for each in value)
        return fine and sizes.match((of,), np.shape(value))

    return Field("a list of texts", accepts, (of,))


def classes(of: Size = None) -> Field:
    """Return the labels of classes: one or more, each once, none of them missing."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or not sizes.match((of,), value.shape):
            return False
        each = value.tolist()
        plain = all(isinstance(label, str | int | float) and label == label for label in each)
        return plain and 0 < len(each) == len(set(each))

    return Field("an array of different labels", accepts, (of,))


def constants(of: Size) -> Field:
    """Return the constants of outputs, of which some may be infinite and not all."""
    each = array(of, least=-np.inf, below=np.inf)
    return such_that(each, lambda values, model: np.isfinite(values).any(), "constants of its outputs")


def decisions(model: Any) -> int:
    """Return how many functions decide between classes: one for two classes, else one per class."""
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def table(*needed: str, worded: tuple[str, ...] = (), ragged: bool = False) -> Field:
    """Return columns by their names, of one length unless `ragged`, the needed ones among them: numbers, or texts (or None)."""

    def fine(name: Any, values: Any) -> bool:
        if isinstance(values, np.ndarray):
            return values.ndim == 1 and values.dtype.kind in "iufb"
        kinds = str | None if name in worded else int | float
        return isinstance(values, list) and all(isinstance(value, kinds) for value in values)

    def accepts(value: Any, sizes: Sizes) -> bool:
        columns = isinstance(value, dict) and value.keys() >= set(needed) and all(map(fine, value, value.values()))
        return columns and (ragged or len(set(map(len, value.values()))) < 2)

    return Field(f"a table of columns of one length, {', '.join(needed)} among them" if needed else "a table", accepts)


def design(p: Size = None) -> Field:
    """Return what is read of a row: `p` design columns of the columns of the fit."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, Design) or not sizes.match((p,), value.mean.shape):
            return False
        return set(value.origins) <= set(vars(sizes.model).get("_columns_in", value.origins))

    return Field("what is read of its columns", accepts, (p,))


def projection(p: Size = "p", k: Size = "k") -> Field:
    """Return a map from `p` design columns to `k` features."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        fine = isinstance(value, Projection) and design(p).accepts(value.design, sizes)
        return fine and sizes.match((p, k), value.weights.shape)

    return Field("a map of its columns", accepts, (p, k))


def past(**kinds: Kind) -> Field:
    """Return a history, which may be empty: lists of one length by name, an entry for each time."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        needed = {name for name, kind in kinds.items() if not isinstance(kind, Optional)}
        fine = isinstance(value, dict) and value.keys() <= kinds.keys() and (not value or needed <= value.keys())
        fine = fine and all(_fits([kinds[name]], each, sizes) for name, each in value.items())
        return fine and len(set(map(len, value.values()))) < 2

    return Field("a history of what was learned", accepts)


def such_that(kind: Kind, holds: Callable[[Any, Any], Any], words: str) -> Field:
    """Return a kind of value that, beside the model, meets a condition."""
    return Field(words, lambda value, sizes: _fits(kind, value, sizes) and bool(holds(value, sizes.model)))


def _fits(kind: Kind, value: Any, sizes: Sizes) -> bool:
    """Whether a value is of a kind."""
    if isinstance(kind, Field):
        return kind.accepts(value, sizes)
    if isinstance(kind, Optional):
        return _fits(kind.kind, value, sizes)
    if isinstance(kind, tuple):
        return any(_fits(each, value, sizes) for each in kind)
    if isinstance(kind, list):
        several = [kind[0]] * len(value) if len(kind) == 1 and isinstance(value, list) else kind
        fine = isinstance(value, list) and len(several) == len(value)
        return fine and all(_fits(each, part, sizes) for each, part in zip(several, value, strict=True))
    if isinstance(kind, dict):
        fine = isinstance(value, dict) and value.keys() == kind.keys()
        return fine and all(_fits(each, value[name], sizes) for name, each in kind.items())
    if kind is None or isinstance(kind, set):
        return value is None if kind is None else isinstance(value, str | None) and value in kind
    if kind in (int, float) and type(value) is int:
        return (0 if kind is int else -(2**63)) <= value < 2**63
    return isinstance(value, kind)


def _words(kind: Kind, sizes: Sizes) -> str:
    """Return what a value of a kind is."""
    if isinstance(kind, Field) and kind.shape:
        known = [
            next((each for each in (sizes.of(size), size) if isinstance(each, int | str)), "?") for size in kind.shape
        ]
        return f"{kind.words}, shape ({', '.join(map(str, known))}{',' * (len(known) == 1)})"
    if isinstance(kind, Optional):
        return _words(kind.kind, sizes)
    if isinstance(kind, tuple):
        return " or ".join(_words(each, sizes) for each in kind)
    if isinstance(kind, list | dict):
        return f"a {type(kind).__name__} of what a fit has noted"
    if kind is None or isinstance(kind, set):
        return "None" if kind is None else f"one of {sorted(map(str, kind))}"
    return (
        kind.words
        if isinstance(kind, Field)
        else {int: "a whole number from 0", float: "a number"}.get(kind, f"a {kind}")
    )


def declared(known: Any) -> dict[str, Kind]:
    """Return the fields of an estimator's class: its own and those of its bases, these first; without those that are None."""
    own = [vars(base).get("_fields", {}).items() for base in reversed(known.__mro__)]
    every = {name: kind for fields in own for several, kind in fields for name in several.split()}
    return {name: kind for name, kind in every.items() if kind is not None}


def held(model: Any) -> dict[str, Any]:
    """Return the declared fields that a fitted estimator has.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.Whitening().fit([[1.0, 2.0], [2.0, 4.5], [4.0, 7.0]])
    >>> model.note_ = "not declared"
    >>> sorted(set(vars(model)) - set(held(model)) - set(model.get_params()))
    ['_learned', 'moments_', 'note_']
    """
    return {name: vars(model)[name] for name in declared(type(model)) if name in vars(model)}


def restore(model: Any, values: Mapping[str, Any]) -> None:
    """Set the fields of an estimator, or raise `FileFormatError` by the name of one that is not what is declared.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.errors import FileFormatError
    >>> values = held(gm.Whitening().fit([[1.0, 2.0], [2.0, 4.5], [4.0, 7.0]]))
    >>> restore(gm.Whitening(), values)
    >>> for odd in ({"rank_": "two"}, {"mean_": [1.0, 2.0]}, {"mean_": values["mean_"][:1]}, {"other_": 1}):
    ...     try:
    ...         restore(gm.Whitening(), {**values, **odd})
    ...     except FileFormatError as error:
    ...         print(error)
    rank_ is a str, not a whole number from 0
    mean_ is a list, not an array of numbers, shape (2,)
    mean_ is a ndarray of float64, shape (1,), not an array of numbers, shape (2,)
    other_ is not an attribute of a fitted Whitening
    """
    known, sizes = declared(type(model)), Sizes(model)
    for name in values.keys() - known.keys():
        raise FileFormatError(f"{name[:60]} is not an attribute of a fitted {type(model).__name__}")
    vars(model).update(values)
    groups = {getattr(known[name], "group", None) for name in values} - {None}
    for name, kind in known.items():
        kind = kind(model) if callable(kind) and not isinstance(kind, type) else kind
        if name in values and not _fits(kind, values[name], sizes):
            value = values[name]
            shape = f" of {value.dtype}, shape {value.shape}" if isinstance(value, np.ndarray) else ""
            raise FileFormatError(f"{name} is a {type(value).__name__}{shape}, not {_words(kind, sizes)}")
        if name not in values and not (isinstance(kind, Optional) and kind.group not in groups):
            raise FileFormatError(f"{name} is missing")
