"""One description of a fitted model, which every writer follows.

A model is a formula of a row (`gramian.maps.formula`). In terms of source columns it asks four things of a language: the level
of a category, as a *code*; the rows of a table by one code, or by two; the numbers of a row, centred, a missing one as nothing;
and some arithmetic on vectors. A `Language` says how each of these is written. `written` puts a formula into a language; this
is the only place that knows formulas, and a writer is the only place that knows a language.

*Codes.* Column c has the codes 0 to n_c - 1 of its levels and n_c for a level never seen. A missing value has the code of the
level that missing values were in fit, of `(rare)` where they were pooled, and n_c where nothing was missing; labels that were
pooled have the code of `(rare)`. Tables have a row for n_c, so nothing that a row holds has no answer.

*Infinite numbers* raise in Python. No other language here can refuse a row: what they give for one is not defined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.arrays.types import Array
from gramian.design.bins import Bins
from gramian.design.crosses import side_texts, split_label
from gramian.design.schema import Column, Cross, Labels, Slope, join_labels
from gramian.errors import DataError, PythonOnly
from gramian.estimators.spine.outputs import SelectedOutputs, outputs_of
from gramian.maps.formula import Apply, Choose, Formula, Function, Layer, Plus, Scale, Step
from gramian.maps.projection import Design, Projection
from gramian.maps.surprise.score import FARTHEST, LOWEST, NumberTerms, PairScore, SparsePair, rate_of

V = TypeVar("V")
Codes = npt.NDArray[np.int64]

EXACT = 2**53
"""Whole numbers up to this are what they are in float64."""


@dataclass(frozen=True, eq=False)
class Category:
    """A categorical column, and the code of each value that is known.

    Attributes
    ----------
    name, origin : str
        The column, and the source column that it is read from.
    part : {"dayofweek", "month", "hour"} or None
        Which part of a date it is.
    edges : (m,) array or None
        Of the bins of a number: `keys` are then the numbers with a bin of their own, and `intervals` the codes of the
        m + 1 intervals.
    sides : pair of int or None
        Of a cross: the categories that are crossed, by place. Its levels are pairs of their codes, `cells`, with these
        `codes`; it has no keys. A pair that is not listed is unseen.
    family : {"text", "number", "boolean", "null"}
        Of the labels.
    keys : list
        Labels that are known, a pooled one too, without the missing value.
    codes : array
        Their codes.
    missing, unseen : int
        The codes of a missing value and of a level never seen; `unseen` is also the number of levels.
    """

    name: str
    origin: str
    part: str | None
    family: str
    keys: list[Any]
    codes: Codes
    missing: int
    unseen: int
    edges: Array | None = None
    intervals: Codes | None = None
    sides: tuple[int, int] | None = None
    cells: tuple[Codes, Codes] | None = None

    @classmethod
    def of(cls, column: Column, labels: Labels) -> Category:
        """Return the description of a column with these labels."""
        unseen = len(labels)
        if isinstance(column.part, Bins):
            names = labels.codes(pa.array(column.part.names))
            codes = np.where(names < 0, unseen, names)
            m = len(column.part.edges)
            own, missing = list(column.part.own), int(labels.codes(pa.nulls(1, pa.string()))[0])
            return cls(
                column.name, column.origin, None, "number", own, codes[m + 1 :], missing if missing >= 0 else unseen,
                unseen, np.asarray(column.part.edges), codes[: m + 1],
            )  # fmt: skip
        known = {**_coded(labels.pooled, labels), **_coded(labels.values, labels)}
        missing = known.pop(None, unseen)
        part = column.part if isinstance(column.part, str) else None
        return cls(
            column.name, column.origin, part, labels.family, list(known), np.array([*known.values()], np.int64),
            missing, unseen,
        )  # fmt: skip

    @property
    def exact(self) -> bool:
        """Whether every label is the same number in float64."""
        return self.family != "number" or all(abs(key) <= EXACT for key in self.keys)


def _coded(values: pa.Array, labels: Labels) -> dict[Any, int]:
    codes = labels.codes(values) if len(values) else np.empty(0, np.int64)
    return {key: int(code) for key, code in zip(values.to_pylist(), codes, strict=True) if code >= 0}


@dataclass(frozen=True, eq=False)
class Number:
    """A numeric column.

    Attributes
    ----------
    origin : str
        The source column.
    offset : float
        A whole number taken off before it is rounded.
    logarithm : bool
        Whether its logarithm is read.
    slope : Slope or None
        Of a number within one level of a category: it less a constant there, 0 in other levels and where it is missing.
    level : pair of int or None
        That category, by place, and the code of the level.
    """

    origin: str
    offset: float = 0.0
    logarithm: bool = False
    slope: Slope | None = None
    level: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Description:
    """What a model reads of a row, and what it makes of it.

    Attributes
    ----------
    method : str
    formula : Formula or None
        None for a selector, which passes columns on.
    categories, numbers : lists
        In the order of the formula's design; after them categories that are sides of crosses alone.
    names : list of str
        Of the outputs.
    """

    method: str
    formula: Formula | None
    categories: list[Category]
    numbers: list[Number]
    names: list[str]

    @property
    def origins(self) -> list[str]:
        """The source columns, each once, in the order of the design."""
        if self.formula is None:
            return self.names
        return self.formula.design.origins

    @property
    def dates(self) -> set[str]:
        """The source columns of which parts of a date are read."""
        return {category.origin for category in self.categories if category.part is not None}


def described(model: Any, method: str = "transform") -> Description:
    """Return the description of a method of a fitted model; raise in one line if the model lacks it.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.PCA(n_components=1).fit(pa.table({"color": ["red", "blue", None], "size": [1.0, 2.0, 4.0]}))
    >>> found = described(model)
    >>> found.categories[0].keys, found.categories[0].missing, found.names
    (['red', 'blue'], 2, ['pca0'])
    """
    outputs = outputs_of(model)
    if isinstance(outputs, SelectedOutputs) and method == "transform":
        outputs.require([method])
        categories, numbers = _read(model.design_, None)
        return Description(method, None, categories, numbers, outputs.names(method))
    formula = outputs.formula(method)
    categories, numbers = _read(formula.design, formula.logarithm)
    return Description(method, formula, categories, numbers, outputs.names(method))


def _read(design: Design, logarithm: str | None) -> tuple[list[Category], list[Number]]:
    known = list(zip(design.categorical, design.labels, strict=True))
    sides = _Sides(known)
    categories = [
        sides.crossed(column, labels) if isinstance(column.part, Cross) else Category.of(column, labels)
        for column, labels in known
    ]
    offsets = np.zeros(len(design.numeric)) if design.offsets is None else design.offsets
    numbers = []
    for column, offset in zip(design.numeric, offsets, strict=True):
        slope = column.part if isinstance(column.part, Slope) else None
        level = None if slope is None else sides.level(column, slope)
        numbers.append(Number(column.origin, float(offset), column.name == logarithm, slope, level))
    return [*categories, *sides.more], numbers


class _Sides:
    """The categories that crosses are made of: those of the design, and beside them bins and levels that it does not have."""

    def __init__(self, known: list[tuple[Column, Labels]]) -> None:
        self._known = {(column.origin, column.part): (k, labels) for k, (column, labels) in enumerate(known)}
        self._first = len(known)
        self._found: dict[Any, tuple[int, dict[str, int]]] = {}
        self.more: list[Category] = []

    def _side(self, crossed: Column, side: Column) -> tuple[int, dict[str, int]]:
        """Return the place of a side, and the code of each text (see `gramian.design.crosses`)."""
        at = side.origin, side.part
        if at not in self._found:
            place, labels = self._known.get(at, (-1, Labels(pa.nulls(0))))
            if place < 0 and not isinstance(side.part, Bins):
                raise _not_yet(crossed, f"column {side.origin!r} is not a category of the model itself")
            if place < 0 or len(labels.pooled):
                # A cross tells levels apart that are one level in the column.
                values = join_labels(labels.values, labels.pooled)
                if isinstance(side.part, Bins):
                    values = pa.array([*side.part.names, None], pa.large_string())
                labels, place = Labels(values), self._first + len(self.more)
                self.more.append(Category.of(side, labels))
            self._found[at] = place, {text: code for code, text in enumerate(side_texts(labels.values))}
        return self._found[at]

    def crossed(self, column: Column, labels: Labels) -> Category:
        """Return the description of a cross."""
        assert isinstance(column.part, Cross)
        known = {**_coded(labels.pooled, labels), **_coded(labels.values, labels)}
        (left, of_left), (right, of_right) = (self._side(column, side) for side in column.part.sides)
        pairs = [split_label(text) for text in known]
        cells = np.array([of_left[a] for a, _ in pairs], np.int64), np.array([of_right[b] for _, b in pairs], np.int64)
        codes, n = np.array([*known.values()], np.int64), len(labels)
        return Category(column.name, column.origin, None, "cells", [], codes, n, n, sides=(left, right), cells=cells)

    def level(self, column: Column, slope: Slope) -> tuple[int, int]:
        """Return the category of a slope and the code of its level."""
        place, codes = self._side(column, slope.by)
        return place, codes[slope.level]


def _not_yet(column: Column, why: str) -> DataError:
    return DataError(
        f"the cross {column.name!r} cannot be exported yet: {why}; use ",
        PythonOnly("gramian.transform_file, or "),
        "gramian transform or predict",
    )


class Language(ABC, Generic[V]):
    """How the parts of a formula are written; a value stands for a vector per row."""

    def __init__(self, description: Description) -> None:
        self._description = description

    # What is read

    @abstractmethod
    def by_level(self, category: int, table: Array) -> V:
        """Return the row of a table, (n + 1, k), that the level of a category has."""

    @abstractmethod
    def by_pair(self, first: int, second: int, table: Array) -> V:
        """Return the cell of a table, (n + 1, n' + 1), that the levels of two categories have."""

    @abstractmethod
    def by_seen_pair(self, first: int, second: int, rows: Codes, columns: Codes, values: Array) -> V:
        """Return the value of a pair of levels, 0 where it is not among those listed."""

    @abstractmethod
    def number(self, number: Number) -> V:
        """Return a number of the row, missing where it is missing."""

    def numbers(self, places: Codes) -> V:
        """Return some numbers of the row, missing where they are missing."""
        found = [self._within(self._description.numbers[place]) for place in places]
        return found[0] if len(found) == 1 else self.join(found)

    def _within(self, number: Number) -> V:
        value = self.number(number)
        if number.slope is None or number.level is None:
            return value
        category, code = number.level
        inside = np.zeros((self._description.categories[category].unseen + 1, 1))
        inside[code] = 1.0
        centred = self.filled(self.combine("-", value, np.array([number.slope.centre])))
        return self.where(self.by_level(category, inside), np.full(1, 0.5), centred, np.zeros(1))

    # Arithmetic

    @abstractmethod
    def total(self, values: list[V], offset: Array) -> V:
        """Return the sum of vectors of one width, and of an offset."""

    @abstractmethod
    def product(self, value: V, matrix: Array) -> V:
        """Return a vector times a matrix."""

    @abstractmethod
    def pick(self, value: V, places: Codes) -> V:
        """Return some entries of a vector."""

    @abstractmethod
    def combine(self, sign: str, left: Any, right: Any) -> V:
        """Return `left sign right` for + - * /, entry by entry; one side may be an array."""

    @abstractmethod
    def log(self, value: V) -> V:
        """Return the natural logarithm of each entry."""

    @abstractmethod
    def apply(self, function: Function, value: V) -> V:
        """Return a function of each entry."""

    @abstractmethod
    def where(self, left: V, least: Any, above: Any, below: Any) -> V:
        """Return `above` where `left` > `least` (an array), and `below` elsewhere."""

    @abstractmethod
    def filled(self, value: V) -> V:
        """Return the vector with 0 where it is missing."""

    @abstractmethod
    def join(self, values: list[V]) -> V:
        """Return the entries of vectors one after the other."""

    @abstractmethod
    def choose(self, value: V, step: Choose) -> Any:
        """Return the class that a vector stands for."""

    def named(self, value: V) -> V:
        """Return a value that is used several times: a language that would write it as often gives it a name."""
        return value


def written(language: Language[V], formula: Formula, *, before: type[Step] | None = None) -> V:
    """Return a formula in a language, up to the first step of a type where one is named."""
    start = formula.start
    value = _projected(language, start) if isinstance(start, Projection) else _scored(language, start)
    for step in formula.steps:
        if before is not None and isinstance(step, before):
            break
        value = _after(language, value, step)
    return value


def _after(language: Language[V], value: V, step: Step) -> V:
    match step:
        case Apply(function=function):
            return language.apply(function, value)
        case Layer(weights=weights, bias=bias):
            return language.total([language.product(language.named(value), weights)], bias)
        case Scale(factor=factor, shift=shift):
            scaled = language.combine("*", value, np.array([factor]))
            return scaled if shift == 0 else language.combine("+", scaled, np.array([shift]))
        case Plus(projection=projection):
            return language.combine("+", value, _projected(language, projection))
        case Choose():
            return language.choose(language.named(value), step)
    raise DataError(f"step {type(step).__name__} cannot be exported")


def _projected(language: Language[V], projection: Projection) -> V:
    """Return offset + sum of tables by level + (numbers - means) @ weights, a missing number adding nothing."""
    parts = [language.by_level(k, table) for k, table in enumerate(projection.tables) if table.any()]
    places = projection.design.number_places
    weights = projection.weights[places]
    used = np.flatnonzero(weights.any(axis=1))
    if len(used):
        means = np.nan_to_num(projection.design.mean[places][used])
        centred = language.filled(language.combine("-", language.numbers(used), means))
        parts.append(language.product(centred, weights[used]))
    return language.total(parts, projection.offset)


# The score of odd rows: see `gramian.maps.surprise.score`, whose notation this follows.


def _scored(language: Language[V], score: PairScore) -> V:
    parts = [language.by_level(k, np.append(own, score.penalty)[:, None]) for k, own in enumerate(score.own)]
    parts += [language.by_pair(j, k, np.pad(table, ((0, 1), (0, 1)))) for (j, k), table in score.pairs.items()]
    parts += [_sparse(language, j, k, pair) for (j, k), pair in score.sparse_pairs.items()]
    if score.numbers is not None:
        parts += _number_parts(language, score, score.numbers)
    return language.total(parts, np.zeros(1))


def _sparse(language: Language[V], j: int, k: int, pair: SparsePair) -> V:
    # A level never seen is expected 0 times and seen 0 times: the logarithm of 1.
    expected = language.combine(
        "*",
        language.by_level(j, np.append(pair.weights, 0.0)[:, None]),
        language.by_level(k, np.append(pair.shares, 0.0)[:, None]),
    )
    rows = np.repeat(np.arange(len(pair.weights)), np.diff(pair.indptr))
    seen = language.by_seen_pair(j, k, rows, pair.indices.astype(np.int64), pair.counts)
    one = np.ones(1)
    ratio = language.combine("/", language.combine("+", expected, one), language.combine("+", seen, one))
    return language.combine("*", language.log(ratio), np.array([pair.factor]))


def _energy(language: Language[V], z: V, width: int) -> V:
    square = language.named(language.combine("*", z, z))
    nine = np.full(width, 9.0)
    # Beyond 9 alone is the logarithm taken, so that it is taken of what is above 0.
    far = language.where(square, nine, square, nine)
    tail = language.combine("*", language.log(language.combine("/", far, nine)), np.full(width, 4.5))
    beyond = language.combine("+", tail, np.full(width, 4.5))
    return language.where(square, nine, beyond, language.combine("*", square, np.full(width, 0.5)))


def _summed(language: Language[V], value: V, width: int) -> V:
    return language.product(value, np.ones((width, 1)))


def _number_parts(language: Language[V], score: PairScore, terms: NumberTerms) -> list[V]:
    q, every = len(terms.scale), np.arange(len(terms.scale))
    z = language.combine("-", language.numbers(every), terms.centre)
    z = language.combine("/", z, terms.scale)
    if terms.bend.any():
        z = _normal_score(language, language.named(z), terms.bend)
    z = language.named(z)
    far = np.full(q, FARTHEST)
    # What is missing fails every comparison, and has to come out of the side that keeps it.
    z = language.named(language.where(language.combine("*", z, -np.ones(q)), far, -far, z))
    z = language.named(language.where(z, far, far, z))
    own = language.named(_energy(language, z, q))
    parts = [_summed(language, language.filled(own), q)]
    if len(terms.first):
        e, left = len(terms.first), terms.left
        x, y = language.pick(z, terms.first), language.pick(z, terms.second)
        root = np.sqrt(left)
        sides = [
            _energy(language, language.named(_residual(language, a, b, terms.slope, root)), e)
            for a, b in ((y, x), (x, y))
        ]
        near = language.combine("+", sides[0], sides[1])
        alone = language.combine("+", language.pick(own, terms.first), language.pick(own, terms.second))
        near = language.combine("+", language.combine("-", near, alone), np.log(left))
        edges = language.combine("*", near, 0.5 * terms.factor)
        parts.append(_summed(language, language.filled(edges), e))
    if len(terms.number):
        parts += _level_edges(language, score, terms, z, own)
    return parts


def _residual(language: Language[V], a: V, b: V, slope: Array, root: Array) -> V:
    return language.combine("/", language.combine("-", a, language.combine("*", b, slope)), root)


def _level_edges(language: Language[V], score: PairScore, terms: NumberTerms, z: V, own: V) -> list[V]:
    """Return what numbers add by the levels of categories: of each category for all of its numbers at once."""
    parts = []
    for category in np.unique(terms.category).tolist():
        at = np.flatnonzero(terms.category == category)
        number, root, width = terms.number[at], np.sqrt(terms.left_by_level[at]), len(at)
        start, size = int(score.starts[category]), int(score.sizes[category])
        means = np.vstack([terms.means[start : start + size, number], np.full((1, width), np.nan)])
        # A level never seen has no mean: what misses one adds nothing.
        mean = language.by_level(category, means)
        residual = language.combine("/", language.combine("-", language.pick(z, number), mean), root)
        near = language.combine("-", _energy(language, language.named(residual), width), language.pick(own, number))
        near = language.combine("+", near, 0.5 * np.log(terms.left_by_level[at]))
        parts.append(_summed(language, language.filled(language.combine("*", near, terms.level_factor[at])), width))
    return parts


def _normal_score(language: Language[V], z: V, bend: Array) -> V:
    """Return y of standardised numbers; those without a bend are left as they are."""
    bent, straight = np.flatnonzero(bend), np.flatnonzero(bend == 0)
    slope, rate = bend[bent], np.abs(rate_of(bend[bent]))
    inner = language.named(language.combine("*", language.pick(z, bent), slope))
    edge = np.expm1(-LOWEST * rate - np.square(rate) / 2.0)
    low = language.combine("/", language.combine("-", inner, edge), np.abs(slope))
    low = language.combine("-", low, np.full(len(bent), LOWEST))
    floor = language.where(inner, edge, inner, edge)
    log = language.log(language.combine("+", floor, np.ones(len(bent))))
    high = language.combine("+", language.combine("/", log, rate), rate / 2.0)
    signed = language.combine("*", language.where(inner, edge, high, low), np.copysign(1.0, slope))
    every = np.argsort(np.concatenate([bent, straight]))
    return language.pick(language.join([signed, language.pick(z, straight)]), every)
