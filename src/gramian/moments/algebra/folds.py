"""Training and left-out moments of each fold: the one place where rows are divided into those learned from and those judged.

A held-out score of any linear method is a function of two moments, those of all other folds (*train*) and those of the fold
itself (*test*), so cross-validation reads no row again. Three things make the score that of a refit on rows:

*Levels.* Both have the levels of the whole in its order, whatever each of them lacks, so that design columns line up.

*Nothing left behind.* Counts of the training rows are the whole's less the fold's, exact. Sums of numbers are added up over
the other folds and never subtracted, so that no value of a left-out row, a target above all, leaves so much as its rounding
in what is learned. The sums of about sqrt(k) groups of folds are kept, so that each fold needs few additions.

*Missing numbers.* They stand at the training mean on both sides, as `transform` would fill them. With u the indicator of a
missing value and a the anchor, the filled deviation d + (mean - a) u is a linear map of what is kept: moments left alone fill
with a mean of their own, and a left-out fold knows better than its model. A number that no training row shows has no mean to
take: it is missing wherever it stands, and the same (0) in every row.

>>> import gramian as gm
>>> import pyarrow as pa
>>> m = gm.collect(pa.table({"x": [1.0, 2.0, 4.0, None, 6.0, 9.0]}), folds=3)
>>> for train, test in folds_of(m):
...     print(train.n_rows, test.n_rows, train.mean(), test.mean())
4 2 [5.] [3.5]
4 2 [3.] [6.5]
4 2 [5.] [3.5]

The last fold has the rows 2 and missing, the latter at the others' mean of 5.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.design.schema import positions
from gramian.errors import Call, DataError
from gramian.moments.algebra.combine import add_alike, aligned
from gramian.moments.algebra.levels import fold_into_numbers, map_levels
from gramian.moments.covariance import mean as design_mean
from gramian.moments.state.numbers import Powers
from gramian.moments.state.pair_counts import PairCounts, sum_by_code

if TYPE_CHECKING:
    from gramian.moments.value import Moments

Places = dict[int, npt.NDArray[np.int64]]
"""By coded column: the code in the whole of each of a part's levels."""


def has_folds(moments: Moments) -> bool:
    """Whether there are folds, and outside each of them at least two rows to learn from."""
    return len(moments.folds) > 1 and all(moments.n_rows - fold.n_rows >= 2 for fold in moments.folds)


def folds_of(moments: Moments, columns: Collection[str] | None = None, *, asked: object = "choosing by 'cv'") -> Folds:
    """Return the folds of moments, checked.

    Parameters
    ----------
    moments : Moments
    columns : collection of str, optional
        Only these are needed, features and targets alike; by default all.
    asked : str or part of a message
        What needs the folds, for the message.

    Raises
    ------
    DataError
        Where the moments have no folds, or one of them leaves fewer than two rows to learn from.
    """
    if len(moments.folds) < 2:
        raise DataError(asked, " needs moments with folds: ", Call("collect", folds=5), " keeps them in the same pass")
    filled = [k for k, fold in enumerate(moments.folds) if fold.n_rows > 0]
    for k in filled:
        rest = moments.n_rows - moments.folds[k].n_rows
        if rest < 2:
            raise DataError(
                f"cross-validation learns from the rows outside each fold, and fold {k} leaves {rest} of "
                f"n_samples = {moments.n_rows}; it takes 2 at least: give more rows or folds, or a number in place of 'cv'"
            )
    return Folds(moments if columns is None else moments.select(columns), filled)


class Folds:
    """Training and left-out moments of each fold, made when asked for.

    Made by `folds_of`. Iterating gives `split` of each fold that has rows.

    Attributes
    ----------
    whole : Moments
        Of all rows.
    filled : list of int
        The folds that have rows.
    """

    def __init__(self, whole: Moments, filled: list[int]) -> None:
        self.whole, self.filled = replace(whole, folds=()), filled
        self._parts = whole.folds
        self._places = {k: places_of(self.whole, self._parts[k]) for k in filled}
        self._groups = [list(map(int, g)) for g in np.array_split(filled, int(np.ceil(np.sqrt(len(filled)))))]
        self._tallies = [add_alike(list(map(self._tally, group))) for group in self._groups]

    def __iter__(self) -> Iterator[tuple[Moments, Moments]]:
        return map(self.split, self.filled)

    def split(self, fold: int) -> tuple[Moments, Moments]:
        """Return the moments of all other folds, and of this one with missing numbers at the others' means."""
        own = self._own(fold)
        train = self._without(fold, own)
        return train, filled_at(own, number_means(train))

    def parts(self) -> list[Moments]:
        """Return the moments of each fold, missing numbers at the means of all rows, so that they add up to the whole."""
        means = number_means(self.whole)
        return [filled_at(self._own(fold), means) for fold in self.filled]

    def train(self, fold: int) -> Moments:
        """Return the moments of all other folds, with the levels of the whole."""
        return self._without(fold, self._own(fold))

    def shown(self, column: str) -> npt.NDArray[np.bool_]:
        """Return which levels of a category are met in at least two folds: only those can be learned of from other rows."""
        k = self.whole.coded_at[column]
        met = np.zeros(len(self.whole.labels[k]), dtype=np.int64)
        for fold in self.filled:
            places = self._places[fold]
            part = self._own(fold) if places is None else self._parts[fold]
            met[(places or {}).get(k, slice(None))] += part.pairs.level_weights[k] > 0
        return met >= 2

    def _own(self, fold: int) -> Moments:
        return with_levels_of(self.whole, self._parts[fold], self._places[fold])

    def _without(self, fold: int, own: Moments) -> Moments:
        rest, pairs = self._others(fold), self.whole.pairs - own.pairs
        return replace(
            self.whole,
            n_rows=self.whole.n_rows - own.n_rows,
            total_weight=self.whole.total_weight - own.total_weight,
            # Of weights subtraction leaves dust, where a level without rows must weigh nothing.
            pairs=replace(pairs, level_weights=rest.pairs.level_weights) if pairs.weighted else pairs,
            numbers=rest.numbers,
            sums=rest.sums,
        )

    def _tally(self, fold: int) -> Moments:
        """Return one fold without its pair counts; sums of numbers, which subtraction rounds, are only ever added."""
        part, places = self._parts[fold], self._places[fold]
        if places is None:
            part, places = self._own(fold), {}
        rows, weights, sums = (
            [sum_by_code(own, places[k], len(self.whole.labels[k])) if k in places else own for k, own in enumerate(of)]
            for of in (part.pairs.level_rows, part.pairs.level_weights, part.sums)
        )
        alone = PairCounts(rows, weights, (), np.zeros((0, 0), part.pairs.matrix.dtype))
        return replace(part, labels=self.whole.labels, pairs=alone, sums=tuple(sums))

    def _others(self, fold: int) -> Moments:
        near = next(k for k, group in enumerate(self._groups) if fold in group)
        far = [tally for k, tally in enumerate(self._tallies) if k != near]
        return add_alike(far + [self._tally(k) for k in self._groups[near] if k != fold])


def places_of(whole: Moments, part: Moments) -> Places | None:
    """Return where the levels of a part stand among those of the whole, for the columns in which that is not the same.

    A part has no level that the whole lacks, so one look-up per column is enough. None where it takes more: pooled levels, a
    column in another form.
    """
    if part.schema != whole.schema or any(labels.rare or len(labels.pooled) for labels in whole.labels + part.labels):
        return None
    places = {}
    for k, (mine, theirs) in enumerate(zip(whole.labels, part.labels, strict=True)):
        if theirs.values.equals(mine.values):
            continue
        places[k] = positions(theirs.values, mine.values)
        if (places[k] < 0).any():
            return None
    return places


def with_levels_of(whole: Moments, part: Moments, places: Places | None) -> Moments:
    """Return a part with the levels of the whole, in its order; `places` are those of `places_of`."""
    if places is None:
        return aligned(whole, part)[1]
    changed = map_levels(part, {k: (whole.labels[k], at) for k, at in places.items()})
    return replace(changed, labels=whole.labels)


def number_means(moments: Moments) -> dict[str, float]:
    """Return the mean of the observed values of each number, integers kept by level included; NaN where there are none."""
    names = [column.name for column in moments.schema if column.kind == "numeric"]
    return dict(zip(names, design_mean(moments, names).tolist(), strict=True))


def filled_at(part: Moments, means: Mapping[str, float]) -> Moments:
    """Return a part whose missing numbers hold given means; a number of mean NaN is 0 in every row.

    Integers by level become plain numbers where they have missing values.

    Parameters
    ----------
    part : Moments
    means : mapping
        By name, of the numbers and of the integers by level.
    """
    integers = [name for name in means if part.schema[name].form == "integer"]
    part = fold_into_numbers(
        part,
        [n for n in integers if part.labels[part.coded_at[n]].missing_code is not None or np.isnan(means[n])],
    )
    numbers = part.numbers
    values = np.array([means[name] for name in numbers.names])
    unknown = np.isnan(values)
    if not numbers.missing and not unknown.any():
        return part
    p, at = len(numbers.names), list(numbers.missing)
    values[unknown] = 0.0
    anchors = np.where(np.isnan(numbers.anchors) | unknown, values, numbers.anchors)

    def fill(columns: Array) -> Array:
        out = numbers.imputed(columns, values - anchors)
        out[..., unknown] = 0.0
        return out

    # What was missing is so many rows of one value.
    weight = float(part.total_weight)
    absent = weight - numbers.observed(weight)
    placed = np.zeros(p)
    placed[at] = (values - anchors)[at]
    powers = numbers.central(weight) + replace(Powers.zero(p), weight=absent, mean=placed)
    higher = np.where(unknown, 0.0, powers.sums[1:])
    filled = replace(numbers, anchors=anchors, missing=(), sums=fill(numbers.sums), powers=higher)
    if numbers.rows is not None:
        filled = replace(filled, rows=fill(numbers.rows))
    else:
        filled = replace(filled, scatter=fill(fill(numbers.dense()).T))
    return replace(part, numbers=filled, sums=tuple(map(fill, part.sums)))
