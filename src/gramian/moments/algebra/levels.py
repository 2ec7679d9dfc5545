"""What happens to levels after the pass: mapped, dropped, pooled, folded into numbers. Every step is exact algebra.

Folding by-level integers into numbers: with E the (levels x 1) matrix of deviations `value - anchor` of one of them (and a
second column, the indicator, where the missing level occurs), n its level counts, N_ij the pair counts of columns i and j and
T the sums of the other numbers by level,

    sums           E^T n
    scatter        E_i^T N_ij E_j - (E_i^T n_i)(E_j^T n_j)^T / W, with N_ii = diag(n_i)
    with numbers   E^T T - (E^T n) s^T / W
    by level of j  N_ji E_i

so nothing is lost by having waited.

Which columns moments are of, and in which order: rows and columns of what is kept are picked, and nothing is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.design.bins import LEAST_ROWS
from gramian.design.schema import Cross, Labels
from gramian.errors import Argument, Call, ColumnError, DataError
from gramian.moments.state.numbers import HIGHEST, Numbers, anchor_near, laid_out
from gramian.parameters import check, whole

if TYPE_CHECKING:
    from gramian.moments.value import Moments


IntArray = npt.NDArray[np.int64]


def map_levels(moments: Moments, changes: Mapping[int, tuple[Labels, IntArray]]) -> Moments:
    """Return the moments with some by-level columns' levels mapped to new codes (-1 drops a level)."""
    if not changes:
        return moments
    sizes = moments.pairs.sizes
    labels, sums, maps = list(moments.labels), list(moments.sums), [None] * len(sizes)
    for k, (new_labels, mapping) in changes.items():
        labels[k] = new_labels
        sizes[k] = len(new_labels)
        maps[k] = mapping  # type: ignore[call-overload]
        kept = mapping >= 0
        summed = np.zeros((len(new_labels), sums[k].shape[1]))
        np.add.at(summed, mapping[kept], sums[k][kept])
        sums[k] = summed
    pairs = moments.pairs.transform(range(len(sizes)), maps, sizes)
    return replace(moments, labels=tuple(labels), sums=tuple(sums), pairs=pairs)


def drop_empty_levels(moments: Moments) -> Moments:
    """Return the moments without levels that no row has."""
    changes = {}
    for k, rows in enumerate(moments.pairs.level_rows):
        kept = rows > 0
        if not kept.all():
            changes[k] = (moments.labels[k].keep(kept), np.where(kept, np.cumsum(kept) - 1, -1))
    return map_levels(moments, changes)


def rare_levels(
    labels: Labels, weights: npt.NDArray, min_count: int | None, max_levels: int | None
) -> npt.NDArray[np.bool_]:
    """Return which levels of a column are pooled.

    Those that weigh less than `min_count` rows, and as many more of the least frequent as it takes to leave `max_levels`
    levels, the pooled one included. Among equals the labels that sort first stay.
    """
    size, rows = len(labels.values), _without_rounding(weights)
    swallow = np.zeros(len(labels), dtype=bool)
    if min_count is not None:
        swallow[:size] = rows[:size] < min_count
    if max_levels is not None:
        left = np.flatnonzero(~swallow[:size])
        pooled = labels.rare or bool(swallow.any())
        if len(left) + pooled > max_levels:
            names = labels.values.to_pylist()
            order = sorted(left, key=lambda k: (-rows[k], names[k] is None, 0 if names[k] is None else names[k]))
            swallow[order[max_levels - 1 :]] = True
    return swallow


def _without_rounding(weights: npt.NDArray) -> npt.NDArray:
    """Return sums of weights to a part in 2^42 of the largest, so that the order of summation decides nothing.

    Whole numbers stay as they are.

    Examples
    --------
    >>> _without_rounding(np.array([0.1 + 0.2, 0.3, 7.0])).tolist() == _without_rounding(np.array([0.3, 0.3, 7.0])).tolist()
    True
    """
    if weights.dtype.kind != "f":
        return weights
    step = np.clip(np.ldexp(1.0, np.frexp(weights.max(initial=0.0))[1] - 42), np.finfo(np.float64).tiny, 1.0)
    return np.asarray(np.rint(weights / step) * step)


def pool(moments: Moments, min_count: int | None, max_levels: int | None) -> Moments:
    """Return the moments with rare levels of every categorical feature folded into one `(rare)` level a column."""
    if min_count is None and max_levels is None:
        raise DataError(Call("pool"), " needs ", Argument("min_count"), " or ", Argument("max_levels"))
    for name, value in (("min_count", min_count), ("max_levels", max_levels)):
        check(name, value, None, whole())
    changes = {}
    for k, name in enumerate(moments.coded):
        column = moments.schema[name]
        if column.form != "category" or column.target:
            continue
        labels = moments.labels[k]
        swallow = rare_levels(labels, moments.pairs.level_weights[k], min_count, max_levels)
        if swallow.any():
            changes[k] = labels.pool(swallow)
    return _pooled(moments, changes)


def pool_cells(moments: Moments) -> Moments:
    """Return the moments with the cells of each cross that fewer than `LEAST_ROWS` rows have in one level `(rare)`.

    What a model of the moments is solved from: see `gramian.design.crosses`.
    """
    changes = {}
    for k, name in enumerate(moments.coded):
        labels = moments.labels[k]
        if isinstance(moments.schema[name].part, Cross):
            few = np.asarray(moments.pairs.level_rows[k]) < LEAST_ROWS
            few[len(labels.values) :] = False
            if few.any():
                changes[k] = labels.pool(few)
    return _pooled(moments, changes) if changes else moments


def _pooled(moments: Moments, changes: Mapping[int, tuple[Labels, IntArray]]) -> Moments:
    folds = tuple(_pool_alike(fold, moments, changes) for fold in moments.folds)
    return replace(map_levels(moments, changes), folds=folds)


def _pool_alike(fold: Moments, whole: Moments, changes: Mapping[int, tuple[Labels, IntArray]]) -> Moments:
    """Pool in a fold what was pooled in the whole."""
    alike = {}
    for k, (labels, _) in changes.items():
        at = fold.coded_at[whole.coded[k]]
        mine = fold.labels[at]
        swallow = np.zeros(len(mine), dtype=bool)
        swallow[: len(mine.values)] = labels.codes(mine.values) == len(labels.values)
        folded, mapping = mine.pool(swallow)
        alike[at] = (replace(folded, pooled=labels.pooled), mapping)
    return map_levels(fold, alike)


def fold_into_numbers(moments: Moments, names: Collection[str]) -> Moments:
    """Return the moments with by-level integer columns collected as plain numbers instead, all of them in one step."""
    if not names:
        return moments
    folded = [moments.coded_at[name] for name in moments.coded if name in names]
    others = [k for k in range(len(moments.coded)) if moments.coded[k] not in names]
    weight = float(moments.total_weight)
    ones = [_number_of_levels(moments, k) for k in folded]
    # Their extended columns: deviations first, then indicators where the missing level occurs.
    missing = tuple(f for f, one in enumerate(ones) if one.expand.shape[1] > 1)
    places = {k: [f] for f, k in enumerate(folded)}
    for at, f in enumerate(missing):
        places[folded[f]].append(len(folded) + at)
    expand = {k: one.expand for k, one in zip(folded, ones, strict=True)}
    width = len(folded) + len(missing)
    scatter, cross = np.zeros((width, width)), np.zeros((width, moments.numbers.n_extended))
    sums, by_level = np.zeros(width), {j: np.zeros((moments.pairs.sizes[j], width)) for j in others}
    for k, one in zip(folded, ones, strict=True):
        sums[places[k]] = one.expand.T @ one.counts
        cross[places[k]] = one.expand.T @ moments.sums[k]
    for i, j, block in moments.pairs.expanded(expand, places, width):
        if j is None:
            scatter += block
        else:
            by_level[j][:, places[i]] += block
    if weight > 0:
        scatter -= np.outer(sums, sums / weight)
        cross -= np.outer(sums, moments.numbers.sums / weight)
    powers = np.column_stack([one.powers for one in ones])
    anchors = np.array([one.anchor for one in ones])
    new = Numbers(tuple(moments.coded[k] for k in folded), anchors, missing, sums, powers, scatter)
    p, q = len(moments.numbers.names), len(folded)
    return replace(
        moments,
        schema=moments.schema.with_form([moments.coded[k] for k in folded], "number"),
        labels=tuple(moments.labels[j] for j in others),
        pairs=moments.pairs.transform(others, [None] * len(others), [moments.pairs.sizes[j] for j in others]),
        numbers=moments.numbers.beside(new, cross),
        sums=tuple(laid_out(moments.sums[j], by_level[j], p, q) for j in others),
        folds=tuple(fold_into_numbers(f, set(names) & set(f.coded)) for f in moments.folds),
    ).in_schema_order()


class _NumberOfLevels(NamedTuple):
    """What a by-level integer is as a number: E, its counts by level, its anchor and its powers."""

    expand: Array
    counts: Array
    anchor: float
    powers: Array


def _number_of_levels(moments: Moments, k: int) -> _NumberOfLevels:
    counts = np.asarray(moments.pairs.level_weights[k], dtype=np.float64)
    offset, values = moments.labels[k].numbers
    # A level without rows has no say in what the number is measured from.
    values = np.where(moments.pairs.level_rows[k] > 0, values, np.nan)
    absent = np.isnan(values)
    seen = float(counts[~absent].sum())
    anchor = np.nan
    if seen > 0:
        start = float(values[~absent][0])
        mean = float((counts * np.where(absent, 0.0, values - start)).sum()) / seen
        spread = np.sqrt(float((counts * np.where(absent, 0.0, values - start - mean) ** 2).sum()) / seen)
        # An offset is an anchor already, the nearest that float64 holds.
        anchor = 0.0 if offset else float(anchor_near(np.array([start + mean]), np.array([spread]))[0])
    deviation = np.where(absent, 0.0, values - (anchor if seen > 0 else 0.0))
    missing = absent & (moments.pairs.level_rows[k] > 0)
    expand = np.column_stack([deviation, missing.astype(np.float64)] if missing.any() else [deviation])
    observed = np.where(absent, 0.0, counts)
    centred = deviation - float(deviation @ counts) / max(seen, 1e-300)
    with np.errstate(over="ignore"):
        powers = (observed * centred ** np.arange(3, HIGHEST + 1)[:, None]).sum(axis=1)
    return _NumberOfLevels(expand, counts, offset + anchor, powers)


def as_categorical(moments: Moments, names: list[str]) -> Moments:
    """Return the moments with by-level integers read as categories."""
    schema = moments.schema
    for name in names:
        column = schema[name]
        if column.form == "number":
            raise ColumnError(
                f"column {name!r} was collected as a number, its levels are not known; collect it again with ",
                Argument("categorical", [name]),
            )
    schema = schema.with_form(names, "category").with_named(names)
    return replace(moments, schema=schema, folds=tuple(as_categorical(f, names) for f in moments.folds))


def select(moments: Moments, names: Sequence[str]) -> Moments:
    """Return the moments of these columns alone, in this order."""
    schema = moments.schema.take(names)
    coded = [moments.coded_at[name] for name in schema.coded]
    order = _places(moments.numbers, schema.numbers)
    sizes = moments.pairs.sizes
    return replace(
        moments,
        schema=schema,
        labels=tuple(moments.labels[k] for k in coded),
        pairs=moments.pairs.transform(coded, [None] * len(coded), [sizes[k] for k in coded]),
        numbers=moments.numbers.select(order),
        sums=tuple(moments.sums[k][:, moments.numbers.extended(order)] for k in coded),
        folds=tuple(select(fold, names) for fold in moments.folds),
    )


def in_schema_order(moments: Moments) -> Moments:
    """Return the moments with numbers in the order of the schema."""
    order = _places(moments.numbers, moments.schema.numbers)
    if order == list(range(len(order))):
        return moments
    take = moments.numbers.extended(order)
    return replace(moments, numbers=moments.numbers.select(order), sums=tuple(sums[:, take] for sums in moments.sums))


def _places(numbers: Numbers, names: Sequence[str]) -> list[int]:
    at = {name: j for j, name in enumerate(numbers.names)}
    return [at[name] for name in names]
