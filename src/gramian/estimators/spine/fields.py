"""What an estimator learns, declared once at the top of its class: `_fields = fields(components_=array("k", "p"), ...)`.

A model file holds exactly the declared fields that a fitted estimator has, and is refused, by the name of the field, where one
is missing, is of another type or shape, or is not declared. Sizes that share a name are equal within one model, so that
`array("k", "p")` and `array("p")` fit each other. A subclass adds to the fields of its bases, or replaces them by name.

A size is a number, a name (that of a parameter stands for its value), or a function of the model as far as it is read: fields
are checked in the order of their declaration, those of base classes first. A field too may be a function of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from gramian.errors import FileFormatError
from gramian.maps.fitted_design import Design
from gramian.maps.projection import Projection
from gramian.moments.value import Moments

Size = int | str | Callable[[Any], int] | None
"""A number, a name, a function of the model, or None for any."""


class Sizes:
    """The named sizes of one model, as far as its fields have told them."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.known: dict[str, int] = {}

    def of(self, size: Size) -> int | None:
        """Return what a size is, None where it is not known yet."""
        if isinstance(size, str):
            return self.known.get(size, vars(self.model).get(size))
        return size(self.model) if callable(size) else size

    def match(self, wanted: tuple[Size, ...], shape: tuple[int, ...]) -> bool:
        """Whether a shape is the one that is declared; if so, names that are new are of its sizes from now on."""
        if len(wanted) != len(shape):
            return False
        found: dict[str, int] = {}
        for size, n in zip(wanted, shape, strict=True):
            known = self.of(size)
            if isinstance(size, str) and known is None:
                known = found.setdefault(size, n)
            if known is not None and known != n:
                return False
        self.known |= found
        return True


@dataclass(frozen=True)
class Field:
    """One attribute that fitting sets.

    Attributes
    ----------
    words : str
        What it is, for the error of a file in which it is something else.
    accepts : function of a value and the sizes
    shape : tuple of sizes
    optional : bool
        Whether a fit may leave it out.
    group : str, optional
        Fields of one group are there together, or none of them is.
    """

    words: str
    accepts: Callable[[Any, Sizes], bool]
    shape: tuple[Size, ...] = ()
    optional: bool = False
    group: str | None = None


Fields = dict[str, "Field | Callable[[Any], Field] | None"]


def fields(*groups: Fields, **declared: Field | Callable[[Any], Field] | None) -> Fields:
    """Return what an estimator learns, by name; None: not what a base class declares under this name."""
    out: Fields = dict(declared)
    for group in groups:
        out |= group
    return out


def together(group: str, **declared: Field) -> Fields:
    """Return fields that are there together, or none of them is."""
    return {name: replace(field, group=group) for name, field in declared.items()}


def optional(field: Field) -> Field:
    """Return a field that a fit may leave out."""
    return replace(field, optional=True)


# Kinds of fields


def array(
    *shape: Size, dtype: str = "f8", finite: bool = False, least: float | None = None, below: Size = None
) -> Field:
    """Return an array of this shape and type ("f": of any precision), of numbers from `least`, less than `below`."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or not value.dtype.str[1:].startswith(dtype):
            return False
        fine = not finite or bool(np.isfinite(value).all())
        fine = fine and (least is None or bool((value >= least).all()))
        most = sizes.of(below)
        return fine and (most is None or bool((value < most).all())) and sizes.match(shape, value.shape)

    bounds = [] if least is None else [f"from {least:g}"]
    bounds += [] if below is None else ["less than their number"]
    kinds = {"f": "finite numbers" if finite else "numbers", "b": "booleans", "O": "labels"}
    return Field(" ".join(["an array of", kinds.get(dtype[0], "whole numbers"), *bounds]), accepts, shape)


def count(least: int = 0, below: int = 2**63) -> Field:
    """Return a whole number."""
    return Field(f"a whole number from {least}", lambda value, sizes: type(value) is int and least <= value < below)


def size(of: Size, least: int = 1) -> Field:
    """Return a whole number that is one of the sizes."""
    return Field(
        "the number of them there are",
        lambda value, sizes: type(value) is int and value >= least and sizes.match((of,), (value,)),
        (of,),
    )


def real(*, finite: bool = True, above: float = -np.inf) -> Field:
    """Return a number, more than `above`; NaN and infinity only where it need not be finite."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        return type(value) in (int, float) and (not finite or bool(np.isfinite(value) and value > above))

    return Field("a finite number" if finite else "a number", accepts)


def flag() -> Field:
    """Return True or False."""
    return Field("True or False", lambda value, sizes: isinstance(value, bool))


def text(*choices: str | None) -> Field:
    """Return one of these texts."""
    return Field(f"one of {', '.join(map(repr, choices))}", lambda value, sizes: value in choices)


def texts(of: Size = None, kind: type = list) -> Field:
    """Return texts, in a list or an array."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        return (
            isinstance(value, kind)
            and all(isinstance(name, str) for name in value)
            and sizes.match((of,), np.shape(value) or (len(value),))
        )

    return Field("a list of names", accepts, (of,))


def classes(of: Size = None) -> Field:
    """Return the labels of classes: one or more, each once, none of them missing."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or not sizes.match((of,), value.shape):
            return False
        each = value.tolist()
        plain = all(isinstance(label, str | int | float) and label == label for label in each)
        return plain and 0 < len(each) == len(set(each))

    return Field("an array of different labels", accepts, (of,))


def table(*worded: str) -> Field:
    """Return columns of one length by their names: numbers, and texts (or None) in those that are named here."""

    def fine(name: Any, values: Any) -> bool:
        if isinstance(values, np.ndarray):
            return values.ndim == 1 and values.dtype.kind in "iufb"
        kinds = str | None if name in worded else int | float
        return isinstance(values, list) and all(isinstance(value, kinds) for value in values)

    def accepts(value: Any, sizes: Sizes) -> bool:
        return (
            isinstance(value, dict)
            and all(fine(name, values) for name, values in value.items())
            and len({len(values) for values in value.values()}) < 2
        )

    return Field("a table of columns of one length", accepts)


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


def value(kind: type) -> Field:
    """Return any value of a type."""
    return Field(f"a {kind.__name__}", lambda value, sizes: isinstance(value, kind))


def moments(columns: Callable[[Any], list[str]]) -> Field:
    """Return moments that have the columns that a function of the model names."""
    return Field(
        "moments of its columns",
        lambda value, sizes: isinstance(value, Moments) and set(columns(sizes.model)) <= set(value.schema.names),
    )


def either(*kinds: Field | None) -> Field:
    """Return what one of these kinds accepts; None is itself."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        return any(value is None if kind is None else kind.accepts(value, sizes) for kind in kinds)

    words = " or ".join("None" if kind is None else kind.words for kind in kinds)
    return Field(words, accepts, next(kind.shape for kind in kinds if kind is not None))


def many(kind: Field) -> Field:
    """Return a list of values of one kind."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        return isinstance(value, list) and all(kind.accepts(each, sizes) for each in value)

    return Field(f"a list, each {kind.words}", accepts, kind.shape)


def record(*kinds: Field) -> Field:
    """Return a list of values of these kinds, in order."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        alike = isinstance(value, list) and len(value) == len(kinds)
        return alike and all(kind.accepts(each, sizes) for kind, each in zip(kinds, value, strict=True))

    return Field("what a fit has noted", accepts)


def parts(**kinds: Field) -> Field:
    """Return values of these kinds by name."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        alike = isinstance(value, dict) and value.keys() == kinds.keys()
        return alike and all(kind.accepts(value[name], sizes) for name, kind in kinds.items())

    return Field(f"a dict of {', '.join(kinds)}", accepts)


def past(**kinds: Field) -> Field:
    """Return a history: by some of these names lists of one length, an entry for each time."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        alike = isinstance(value, dict) and value.keys() <= kinds.keys()
        alike = alike and all(many(kinds[name]).accepts(each, sizes) for name, each in value.items())
        return alike and len(set(map(len, value.values()))) < 2

    return Field("a history of what was learned", accepts)


def such_that(field: Field, holds: Callable[[Any, Any], bool], words: str) -> Field:
    """Return a field whose value, beside the model, meets a condition."""

    def accepts(value: Any, sizes: Sizes) -> bool:
        return field.accepts(value, sizes) and bool(holds(value, sizes.model))

    return replace(field, words=words, accepts=accepts)


# Files


@cache
def declared(known: type) -> Fields:
    """Return the fields of an estimator: its own and those of its bases, these first."""
    out: Fields = {}
    for base in reversed(known.__mro__):
        out |= vars(base).get("_fields", {})
    return {name: field for name, field in out.items() if field is not None}


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
    mean_ is a list, not an array of numbers
    mean_ is an array of float64, shape (1,), not an array of numbers, shape (2,)
    other_ is not an attribute of a fitted Whitening
    """
    known, sizes = declared(type(model)), Sizes(model)
    for name in values.keys() - known.keys():
        raise FileFormatError(f"{name[:60]} is not an attribute of a fitted {type(model).__name__}")
    vars(model).update(values)
    groups = {field.group for name, field in known.items() if isinstance(field, Field) and name in values} - {None}
    for name, declaration in known.items():
        field = declaration(model) if not isinstance(declaration, Field) and declaration else declaration
        assert isinstance(field, Field)
        if name not in values:
            if field.optional or (field.group is not None and field.group not in groups):
                continue
            raise FileFormatError(f"{name} is missing")
        value = values[name]
        if not field.accepts(value, sizes):
            raise FileFormatError(f"{name} is {_described(value)}, not {_wanted(field, sizes)}")


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    return "None" if value is None else f"a {type(value).__name__}"


def _wanted(field: Field, sizes: Sizes) -> str:
    if not field.shape:
        return field.words
    shape = [
        next((str(each) for each in (sizes.of(size), size) if isinstance(each, int | str)), "?") for size in field.shape
    ]
    return f"{field.words}, shape ({', '.join(shape)}{',' * (len(shape) == 1)})"
