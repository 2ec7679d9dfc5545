"""Columns that some moments lack, as missing values there: how days of different columns are added up.

A column of which no row has a value is known without reading a row. By level it has the level *missing* alone, with the
weight W of all rows, so its counts with the levels of another column are that column's level weights, and its sums of numbers
are the totals. As a number it has deviations 0 and the indicator 1 in every row, a constant, so its scatter is 0 and its sums
by level are the level weights. Nothing is estimated: the moments are those of a pass over rows that have the column, empty.

A column without any value has no kind of its own either. A pass over empty fields takes it for a category; where other moments
know it as a number, or as a date, it is taken for that, as a pass over all rows would have done.

>>> import gramian as gm
>>> import pyarrow as pa
>>> day = gm.collect(pa.table({"color": ["red", "blue"]}))
>>> more = gm.collect(pa.table({"color": ["red"], "size": [2.5]}))
>>> both = gm.merge([day, more], missing="fill")
>>> both.n_rows, both.mean("size"), both.kind("size")
(3, array([2.5]), 'numeric')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gramian.arrays.types import Array
from gramian.design.schema import Column, Labels, Schema
from gramian.errors import Argument, DataError
from gramian.moments.state.numbers import Numbers
from gramian.moments.state.pair_counts import PairCounts

if TYPE_CHECKING:
    from gramian.moments.value import Moments


def with_absent(moments: Moments, columns: Iterable[Column]) -> Moments:
    """Return the moments with further columns, of missing values alone.

    Parameters
    ----------
    moments : Moments
    columns : iterable of Column
        Names that the moments do not have.
    """
    added = list(columns)
    if not added:
        return moments
    for column in added:
        if column.target and moments.n_rows:
            raise DataError(
                f"column {column.name!r} is a target, and {moments.n_rows:,} rows lack it; "
                "leave them out, or collect it as no target"
            )
    filled = _by_level(moments, [column for column in added if column.by_level])
    filled = _numbers(filled, [column for column in added if not column.by_level])
    filled = replace(filled, schema=Schema((*moments.schema, *added)))
    return replace(filled, folds=tuple(with_absent(fold, added) for fold in moments.folds))


def _by_level(moments: Moments, columns: Sequence[Column]) -> Moments:
    """Return the moments with columns that have the missing level alone, or none where there are no rows."""
    if not columns:
        return moments
    level = int(moments.n_rows > 0)
    labels = Labels(pa.nulls(level))
    count, pairs = len(moments.coded), moments.pairs
    if not count:
        pairs = _one_level(moments)
    # The whole of any column, its levels taken together, occurs in every row.
    every = np.zeros(pairs.sizes[0], dtype=np.int64) if level else np.full(pairs.sizes[0], -1, dtype=np.int64)
    kept = list(range(count))
    grown = pairs.transform(
        [*kept, *[0] * len(columns)],
        [*[None] * count, *[every] * len(columns)],
        [*pairs.sizes[:count], *[level] * len(columns)],
    )
    return replace(
        moments,
        schema=Schema((*moments.schema, *columns)),
        labels=(*moments.labels, *[labels] * len(columns)),
        pairs=grown,
        sums=(*moments.sums, *[moments.numbers.sums[None, :].repeat(level, axis=0)] * len(columns)),
        folds=(),
    )


def _numbers(moments: Moments, columns: Sequence[Column]) -> Moments:
    """Return the moments with numbers that are missing in every row."""
    old, new = moments.numbers, [column.name for column in columns]
    if not new:
        return moments
    p, flags = len(old.names), len(new) if moments.n_rows else 0
    # Extended order is numbers first, indicators after.
    at = [*range(p), *range(p + len(new), old.n_extended + len(new))]
    size = old.n_extended + len(new) + flags

    def grown(sums: Array, weights: Array | float) -> Array:
        out = np.zeros((*sums.shape[:-1], size))
        out[..., at] = sums
        out[..., size - flags :] = np.expand_dims(weights, -1)
        return out

    scatter = old.scatter
    if scatter is not None:
        scatter = np.zeros((size, size))
        scatter[np.ix_(at, at)] = old.scatter
    numbers = Numbers(
        (*old.names, *new),
        np.concatenate([old.anchors, np.full(len(new), np.nan)]),
        (*old.missing, *(range(p, p + len(new)) if flags else ())),
        grown(old.sums, float(moments.total_weight)),
        np.concatenate([old.powers, np.zeros((len(old.powers), len(new)))], axis=1),
        scatter,
        None if old.rows is None else grown(old.rows, 0.0),
    )
    weights = moments.pairs.level_weights
    return replace(
        moments,
        schema=Schema((*moments.schema, *columns)),
        numbers=numbers,
        sums=tuple(grown(sums, w) for sums, w in zip(moments.sums, weights, strict=True)),
        folds=(),
    )


def _one_level(moments: Moments) -> PairCounts:
    """Return the counts of one column with one level, where there is no column to take them from."""
    rows = np.array([moments.n_rows], dtype=np.int64)
    weights = np.array([moments.total_weight]) if moments.weighted else rows
    return PairCounts([rows], [weights], (0,), weights[:, None].copy(), {})


def without_kind(moments: Moments) -> set[str]:
    """Return the columns of which no row has a value, so that their kind is anybody's guess; parts of dates have theirs."""
    coded = {
        name
        for name, labels in zip(moments.coded, moments.labels, strict=True)
        if not labels.rare and labels.family == "null" and moments.schema[name].part is None
    }
    return coded | {moments.numbers.names[j] for j in np.flatnonzero(np.isnan(moments.numbers.anchors))}


def ever_missing(moments: Moments) -> set[str]:
    """Return the columns, targets aside, that some row has no value of."""
    known = zip(moments.coded, moments.labels, strict=True)
    coded = {name for name, labels in known if labels.values.null_count}
    return (coded | {moments.numbers.names[j] for j in moments.numbers.missing}) - set(moments.targets)


def agreed(parts: Sequence[Moments]) -> list[Moments]:
    """Return moments in which a column without any value has the kind that it has in others.

    Columns that a part does not have at all are left to `with_absent`.
    """
    kindless = [without_kind(part) for part in parts]
    if not any(kindless):
        return list(parts)
    known: dict[str, dict[str, Column]] = {}
    guessed: dict[str, dict[str, Column]] = {}
    for part, names in zip(parts, kindless, strict=True):
        by_origin: dict[str, dict[str, Column]] = {}
        for column in part.schema:
            if column.name not in names:
                by_origin.setdefault(column.origin, {})[column.name] = column
            elif column.kind == "numeric":
                # Where nobody has a value, numbers were declared, and a category is what empty fields are taken for.
                guessed.setdefault(column.origin, {column.name: column})
        known = by_origin | known
    known = guessed | known
    return [_as_known(part, names, known) for part, names in zip(parts, kindless, strict=True)]


def _as_known(moments: Moments, kindless: set[str], known: dict[str, dict[str, Column]]) -> Moments:
    wanted: list[Column] = []
    dropped = []
    for column in moments.schema:
        others = known.get(column.origin, {}) if column.name in kindless else {}
        mine = others.get(column.name)
        if others and (mine is None or mine.kind != column.kind):
            dropped.append(column.name)
            wanted += [other._replace(target=other.target or column.target) for other in others.values()]
    return with_absent(moments.drop(dropped), wanted) if dropped else moments


def filled(parts: Sequence[Moments]) -> list[Moments]:
    """Return moments that all have every column that any of them has, missing values where one had it not."""
    parts = agreed(parts)
    union: dict[str, Column] = {}
    for part in parts:
        for column in part.schema:
            lacking = next((other for other in parts if column.name not in other.schema), None)
            if column.crossed and lacking is not None:
                # Its cells depend on the other column, which that part may have.
                raise DataError(
                    f"the cross {column.name!r} is missing in some of these moments; collect those with ",
                    Argument("like"),
                    ", so that they have it",
                )
            seen = union.setdefault(column.name, column)
            form = seen.form if seen.form == column.form or seen.kind != column.kind else "number"
            union[column.name] = seen._replace(form=form, target=seen.target or column.target)
    return [
        with_absent(part, [column for column in union.values() if column.name not in part.schema]) for part in parts
    ]
