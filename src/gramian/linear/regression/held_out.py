"""Held-out scores of a regression from fold moments: no row is read again.

With (S, C, V, n, means) the moments of the left-out fold, d and e the gaps of its means of x and h from the training
folds', and B the training folds' coefficients, the squared error of predicting the fold is

    sum_i |h_i - hbar_train - B^T (x_i - xbar_train)|^2
        = tr(V + n e e^T) - 2 tr(B^T (C + n d e^T)) + tr(B^T (S + n d d^T) B),

a function of moments: it *is* the error that refitting on the training rows and predicting the left-out ones would give. The
score is R^2, of the Brier kind for classes (summed over the indicators), averaged over targets. A level that no training row
has is predicted as the average row and a missing number as their mean, as `transform` would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt

from gramian.arrays.threads import in_threads, one_blas_thread, usable_cores
from gramian.arrays.types import Array
from gramian.design.labels import positions
from gramian.errors import DataError
from gramian.linear.layout import Layout
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.targets import Aim
from gramian.moments.algebra import combine
from gramian.moments.algebra.levels import fold_into_number, map_levels
from gramian.moments.state.numbers import Numbers, merge
from gramian.moments.state.powers import Powers
from gramian.moments.value import Moments

BLOCK_BYTES = 2**28
"""So many candidates' coefficients are held at once as fit this."""

Places = dict[int, npt.NDArray[np.int64]]
"""By coded column: the code in the whole of each of a part's levels."""

Candidates = Callable[[Regression], Iterable[Array]]
"""Gives the coefficients of several candidates, (k, p, m), from training moments; in blocks where they are large."""


@dataclass(frozen=True, eq=False)
class Tally:
    """The sums of numbers over some rows: what is rounded when rows are taken away again, and so is only ever added.

    Attributes
    ----------
    weight : float
    level_weights : list of arrays
        A column each, over the levels of the whole.
    numbers : Numbers
    sums : tuple of arrays
        Of the numbers by level, a column each.
    """

    weight: float
    level_weights: list[npt.NDArray]
    numbers: Numbers
    sums: tuple[Array, ...]

    def __add__(self, other: Tally) -> Tally:
        numbers = merge(self.numbers, self.weight, other.numbers, other.weight)
        return Tally(
            weight=self.weight + other.weight,
            level_weights=[a + b for a, b in zip(self.level_weights, other.level_weights, strict=True)],
            numbers=numbers,
            sums=tuple(map(np.add, self._laid_out(numbers), other._laid_out(numbers))),
        )

    def _laid_out(self, numbers: Numbers) -> tuple[Array, ...]:
        """Return the sums by level in the layout and about the anchors of other numbers."""
        same = self.numbers.missing == numbers.missing
        if same and np.array_equal(self.numbers.anchors, numbers.anchors, equal_nan=True):
            return self.sums
        parts = zip(self.sums, self.level_weights, strict=True)
        return tuple(combine._conform_sums(sums, weights, self.numbers, numbers) for sums, weights in parts)


class Folds:
    """Training and left-out moments of each fold, made when asked for, all with the levels of the whole.

    Counts of the training rows are the whole's less the fold's, exact. Sums of numbers are added up over the other folds and
    never subtracted, so that no value of a left-out row, a target above all, leaves so much as its rounding behind. Of the
    tallies those of about sqrt(k) groups of folds are kept, so that each fold needs few additions.

    Attributes
    ----------
    whole : Moments
    filled : list of int
        The folds that have rows.
    """

    def __init__(self, whole: Moments, filled: list[int]) -> None:
        self.whole, self.filled = replace(whole, folds=()), filled
        self._parts = whole.folds
        self._places = {k: places_of(self.whole, self._parts[k]) for k in filled}
        self._groups = [list(map(int, g)) for g in np.array_split(filled, int(np.ceil(np.sqrt(len(filled)))))]
        self._tallies = [reduce(add, map(self._tally, group)) for group in self._groups]

    def __call__(self, fold: int) -> tuple[Moments, Moments]:
        """Return the moments of all other folds and of this one."""
        own, rest = self._own(fold), self._others(fold)
        pairs = self.whole.pairs - own.pairs
        train = replace(
            self.whole,
            n_rows=self.whole.n_rows - own.n_rows,
            total_weight=self.whole.total_weight - own.total_weight,
            # Of weights subtraction leaves dust, where a level without rows must weigh nothing.
            pairs=replace(pairs, level_weights=rest.level_weights) if pairs.weighted else pairs,
            numbers=rest.numbers,
            sums=rest.sums,
        )
        return train, own

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

    def _tally(self, fold: int) -> Tally:
        """Return the sums of one fold, its pair counts left as they are."""
        part, places = self._parts[fold], self._places[fold]
        if places is None:
            part, places = self._own(fold), {}
        level_weights, sums = list(part.pairs.level_weights), list(part.sums)
        for k, at in places.items():
            size = len(self.whole.labels[k])
            level_weights[k] = np.zeros(size, dtype=level_weights[k].dtype)
            level_weights[k][at] = part.pairs.level_weights[k]
            sums[k] = np.zeros((size, sums[k].shape[1]))
            sums[k][at] = part.sums[k]
        return Tally(float(part.total_weight), level_weights, part.numbers, tuple(sums))

    def _others(self, fold: int) -> Tally:
        near = next(k for k, group in enumerate(self._groups) if fold in group)
        far = [tally for k, tally in enumerate(self._tallies) if k != near]
        return reduce(add, far + [self._tally(k) for k in self._groups[near] if k != fold])


def places_of(whole: Moments, part: Moments) -> Places | None:
    """Return where the levels of a part stand among those of the whole, for the columns in which that is not the same.

    A part has no level that the whole lacks, so one look-up a column is enough. None where it takes more: pooled levels, a
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
        return combine.aligned(whole, part)[1]
    changed = map_levels(part, {k: (whole.labels[k], at) for k, at in places.items()})
    return replace(changed, labels=whole.labels)


def filled_at(part: Moments, layout: Layout, mean: Array) -> Moments:
    """Return a part whose missing numbers hold given means, those of the training rows, as `transform` fills them.

    With u the indicator of a missing value and a the anchor, the filled deviation d + (mean - a) u is a linear map of what is
    kept. Left alone, moments fill with a mean of their own.

    Parameters
    ----------
    part : Moments
    layout : Layout
        Of the features.
    mean : (p,) array
        Of their design columns.
    """
    wanted = {
        name: float(mean[start])
        for name, start, is_category in zip(layout.columns, layout.starts, layout.categorical, strict=True)
        if not is_category
    }
    for name in wanted:
        if part.schema[name].form == "integer" and part.labels[part.coded_at[name]].missing_code is not None:
            part = fold_into_number(part, name)
    numbers = part.numbers
    if not numbers.missing:
        return part
    p, at = len(numbers.names), list(numbers.missing)
    anchors = numbers.anchors.copy()
    values = np.array([wanted.get(numbers.names[j], anchors[j]) for j in at])
    anchors[at] = np.where(np.isnan(anchors[at]), values, anchors[at])
    shift = np.nan_to_num(values - anchors[at])

    def fill(columns: Array) -> Array:
        out = columns[..., :p].copy()
        out[..., at] += columns[..., p:] * shift
        return out

    # What was missing is so many rows of one value.
    weight = float(part.total_weight)
    absent = weight - numbers.observed(weight)
    placed = np.zeros(p)
    placed[at] = shift
    powers = numbers.central(weight) + replace(Powers.zero(p), weight=absent, mean=placed)
    filled = replace(numbers, anchors=anchors, missing=(), sums=fill(numbers.sums), powers=powers.sums[1:])
    if numbers.rows is not None:
        filled = replace(filled, rows=fill(numbers.rows))
    else:
        filled = replace(filled, scatter=fill(fill(numbers.dense()).T))
    return replace(part, numbers=filled, sums=tuple(map(fill, part.sums)))


def has_folds(moments: Moments) -> bool:
    """Whether there are folds, and outside each of them at least two rows to learn from."""
    return len(moments.folds) > 1 and all(moments.n_rows - fold.n_rows >= 2 for fold in moments.folds)


def train_and_fold(moments: Moments, asked: str = "choosing by 'cv'") -> Folds:
    """Return the folds of moments, checked; `asked` is what needs them, for the message.

    Raises
    ------
    DataError
        Where the moments have no folds, or one of them holds all rows.
    """
    if len(moments.folds) < 2:
        raise DataError(f"{asked} needs moments with folds: collect(folds=5) keeps them in the same pass")
    filled = [k for k, fold in enumerate(moments.folds) if fold.n_rows > 0]
    for k in filled:
        rest = moments.n_rows - moments.folds[k].n_rows
        if rest < 2:
            raise DataError(
                f"cross-validation learns from the rows outside each fold, and fold {k} leaves {rest} of "
                f"n_samples = {moments.n_rows}; it takes 2 at least: give more rows or folds, or a number in place of 'cv'"
            )
    return Folds(moments, filled)


def held_out_errors(train: Regression, fold: Regression, coefficients: Array) -> tuple[Array, Array]:
    """Return the squared errors of a fold and those of the training mean, one a function, for (k, p, m) coefficients.

    Returns
    -------
    errors : (k, m) array
    baseline : (m,) array
    """
    k, p, m = coefficients.shape
    gap, shift = fold.mean - train.mean, fold.aim_mean - train.aim_mean
    flat = np.moveaxis(coefficients, 1, 0).reshape(p, k * m)
    seen = np.einsum("ij,ij->j", flat, fold.apply(flat)).reshape(k, m)
    seen += fold.weight * np.square(gap @ flat).reshape(k, m)
    aim = fold.cross + fold.weight * np.outer(gap, shift)
    across = np.einsum("kpm,pm->km", coefficients, aim)
    baseline = np.diagonal(fold.own) + fold.weight * np.square(shift)
    return baseline - 2 * across + seen, baseline


def per_target(values: Array, owner: npt.NDArray[np.intp]) -> Array:
    """Return values of the functions summed over those of each target, along the last axis."""
    out = np.zeros((*values.shape[:-1], int(owner.max()) + 1))
    for function, target in enumerate(owner):
        out[..., target] += values[..., function]
    return out


def block_size(problem: Regression) -> int:
    """Return how many candidates' coefficients fit into `BLOCK_BYTES`."""
    return int(max(1, BLOCK_BYTES // max(8 * problem.cross.size, 1)))


def held_out_scores(
    moments: Moments, columns: list[str], aim: Aim, whole: Regression, candidates: Candidates
) -> tuple[Array, Array]:
    """Return the held-out R^2 of every candidate and its standard error over folds.

    Parameters
    ----------
    moments : Moments
        With folds, in the form that `aim` takes.
    columns : list of str
        Features.
    aim : Aim
    whole : Regression
        Of all rows.
    candidates : callable
        See `Candidates`.
    """
    read = train_and_fold(moments, "ridge='cv'")

    def judge(fold: int) -> tuple[Array, Array]:
        train, left_out = read(fold)
        fitted = regression_of(train, columns, aim, unit=whole.unit)
        left_out = filled_at(left_out, fitted.layout, fitted.mean)
        judged = regression_of(left_out, columns, aim, unit=whole.unit)
        parts = [held_out_errors(fitted, judged, some) for some in candidates(fitted)]
        return per_target(np.concatenate([e for e, _ in parts]), aim.owner), per_target(parts[0][1], aim.owner)

    # Wide moments are held one fold at a time: there memory is what counts.
    threads = min(usable_cores(None), len(read.filled)) if whole.is_dense else 1
    with one_blas_thread() if threads > 1 else nullcontext():
        found = in_threads(judge, read.filled, n_threads=threads)
    table, base = np.array([e for e, _ in found]), np.array([b for _, b in found])
    total = base.sum(axis=0)
    score = (1.0 - table.sum(axis=0) / np.where(total > 0, total, np.inf)).mean(axis=1)
    by_fold = (1.0 - table / np.where(base > 0, base, np.inf)[:, None]).mean(axis=2)
    error = by_fold.std(axis=0, ddof=1) / np.sqrt(len(by_fold)) if len(by_fold) > 1 else np.zeros(len(score))
    return score, error
