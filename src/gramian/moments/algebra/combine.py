"""Moments form a monoid with subtraction: `a + b` as if collected together, `a - b` as if b's rows had never been seen.

Levels are matched by label, numbers brought to common anchors; then counts add exactly and scatters by Chan's identity
(see `gramian.moments.state.numbers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.design.pair_tables import crowded
from gramian.design.schema import MAX_INTEGER_LEVELS, Schema, align, positions, reconcile
from gramian.errors import DataError, shown
from gramian.moments.algebra.feasibility import Peak, peak_of, refuse_impossible
from gramian.moments.algebra.levels import drop_empty_levels, fold_into_numbers, map_levels
from gramian.moments.algebra.missing_columns import agreed, ever_missing, with_absent
from gramian.moments.state.numbers import Numbers, merge, subtract, without_dust
from gramian.moments.state.pair_counts import PairCounts

if TYPE_CHECKING:
    from gramian.moments.value import Moments


MOST_ROWS = 2**63 - 1
"""Counts are integers of 64 bits, and none exceeds the number of rows."""

FEW_PARTS = 16
"""Parts that may be added up one after the other: beyond, rounding of numbers would grow with them."""


def conform(moments: Moments, schema: Schema) -> Moments:
    """Return the moments in the order and forms of `schema`, which has the same columns."""
    forms = ((column.name, column.form, moments.schema[column.name].form) for column in schema)
    moments = fold_into_numbers(
        moments, [name for name, now, before in forms if (now, before) == ("number", "integer")]
    )
    if moments.schema.names != schema.names:
        moments = moments.select(schema.names)
    return replace(moments, schema=schema)


def aligned(a: Moments, b: Moments) -> tuple[Moments, Moments]:
    """Return both with the same schema and the same levels in the same order."""
    a, b = agreed([a, b])
    schema = reconcile(a.schema, b.schema)
    a, b = conform(a, schema), conform(b, schema)
    changes_a, changes_b, unions = {}, {}, []
    for k, name in enumerate(a.coded):
        union, map_a, map_b = align(a.labels[k], b.labels[k], column=name)
        unions.append(union)
        if not _is_identity(map_a, len(union)):
            changes_a[k] = (union, map_a)
        if not _is_identity(map_b, len(union)):
            changes_b[k] = (union, map_b)
    integers = [column.name for column in schema if column.form == "integer" and not column.target]
    if crowded(integers, list(map(len, unions))):
        return aligned(fold_into_numbers(a, integers), fold_into_numbers(b, integers))
    # Set on both sides also where no code moved: a union may remember more pooled labels than either side.
    a, b = map_levels(a, changes_a), map_levels(b, changes_b)
    return replace(a, labels=tuple(unions)), replace(b, labels=tuple(unions))


def _is_identity(mapping: npt.NDArray[np.int64], size: int) -> bool:
    return len(mapping) == size and bool((mapping == np.arange(size)).all())


def _conform_sums(moments: Moments, new: Numbers) -> list[Array]:
    """Return the category sums laid out and anchored as `new`; an indicator that `new` has dropped was zero."""
    old, p = moments.numbers, len(new.names)
    if old.missing == new.missing and np.array_equal(old.anchors, new.anchors, equal_nan=True):
        return list(moments.sums)
    indicator = {j: p + k for k, j in enumerate(old.missing)}
    at = {j: p + k for k, j in enumerate(new.missing) if j in indicator}
    shift = np.where(np.isnan(old.anchors) | np.isnan(new.anchors), 0.0, old.anchors - new.anchors)
    conformed = []
    for sums, weights in zip(moments.sums, moments.pairs.level_weights, strict=True):
        out = np.zeros((len(sums), new.n_extended))
        out[:, :p] = sums[:, :p]
        out[:, list(at.values())] = sums[:, [indicator[j] for j in at]]
        for j in map(int, np.flatnonzero(shift)):
            observed = weights - (sums[:, indicator[j]] if j in indicator else 0.0)
            out[:, j] += shift[j] * observed
        conformed.append(out)
    return conformed


def add(a: Moments, b: Moments) -> Moments:
    """Return the moments of both sets of rows."""
    if _nothing(a):
        return b
    if _nothing(b):
        return a
    _refuse_too_many((a, b))
    a, b = aligned(a, b)
    folds = tuple(map(add, a.folds, b.folds)) if len(a.folds) == len(b.folds) else ()
    return fold_crowded_integers(replace(add_alike((a, b)), folds=folds, peak=a.peak | b.peak))


def total(parts: Sequence[Moments]) -> Moments:
    """Return the moments of all sets of rows, one at least."""
    if 1 < len(parts) <= FEW_PARTS and alike(parts):
        return add_alike(parts)
    # Pairwise, so that rounding grows with the logarithm of the number of parts.
    while len(parts) > 1:
        parts = [reduce(add, parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0]


def scale(moments: Moments, factor: float) -> Moments:
    """Return the moments with every weight multiplied."""
    if not 0 <= factor < np.inf:
        raise DataError(f"weights can be scaled by a finite number from 0; got {factor}")
    if factor == 0:
        return take_away(moments, moments)
    return replace(
        moments,
        total_weight=float(moments.total_weight) * factor,
        pairs=moments.pairs.scale(factor),
        numbers=moments.numbers.scale(factor),
        sums=tuple(s * factor for s in moments.sums),
        folds=tuple(scale(fold, factor) for fold in moments.folds),
        peak=moments.peak.scale(factor),
    )


def _refuse_too_many(parts: Sequence[Moments]) -> None:
    """Raise where counts of all rows together would pass what an integer of 64 bits holds."""
    rows = [part.n_rows for part in parts]
    if sum(rows) > MOST_ROWS:
        raise DataError(
            f"cannot add: {' and '.join(f'{n:,}' for n in rows[:3])} rows are more than the {MOST_ROWS:,} "
            "that counts can hold; keep the parts apart"
        )


def alike(parts: Sequence[Moments]) -> bool:
    """Whether all have rows, and the same columns and levels in the same order."""
    first = parts[0]
    if any(_nothing(part) or part.folds or part.peak.rows or part.schema != first.schema for part in parts):
        return False
    if any(labels.rare or len(labels.pooled) for part in parts for labels in part.labels):
        return False
    return all(a.values.equals(b.values) for part in parts[1:] for a, b in zip(first.labels, part.labels, strict=True))


def add_alike(parts: Sequence[Moments]) -> Moments:
    """Return the moments of all sets of rows, which are `alike`: nothing has to be aligned."""
    _refuse_too_many(parts)
    weights = [float(part.total_weight) for part in parts]
    numbers, weight = parts[0].numbers, weights[0]
    for part, more in zip(parts[1:], weights[1:], strict=True):
        numbers, weight = merge(numbers, weight, part.numbers, more), weight + more
    by_part = [_conform_sums(part, numbers) for part in parts]
    return replace(
        parts[0],
        n_rows=sum(part.n_rows for part in parts),
        rows_left_out=sum(part.rows_left_out for part in parts),
        total_weight=sum(part.total_weight for part in parts),
        pairs=PairCounts.total([part.pairs for part in parts]),
        numbers=numbers,
        sums=tuple(reduce(np.add, column) for column in zip(*by_part, strict=True)),
    )


def fold_crowded_integers(moments: Moments) -> Moments:
    """Return the moments with integers of too many levels folded into numbers."""
    return fold_into_numbers(
        moments,
        [
            name
            for name, labels in zip(moments.coded, moments.labels, strict=True)
            if moments.schema[name].form == "integer"
            and len(labels.values) - labels.values.null_count > MAX_INTEGER_LEVELS
        ],
    )


def take_away(a: Moments, b: Moments) -> Moments:
    """Return the moments of the rows of `a` that are not those of `b`."""
    if _nothing(b):
        return a
    if _nothing(a):
        raise DataError("cannot subtract: the whole is empty and the part is not")
    if b.n_rows > a.n_rows:
        raise DataError(f"cannot subtract: the part has {b.n_rows} rows and the whole only {a.n_rows}")
    for column in a.schema:
        if column.form == "integer" and column.name in b.schema and b.schema[column.name].form == "number":
            raise DataError(f"cannot subtract: column {column.name!r} has values in the part that the whole never had")
    peak = peak_of(a) | peak_of(b)
    a, b = agreed([a, b])
    lacking = [column for column in a.schema if column.name not in b.schema]
    if lacking and {column.name for column in lacking} <= ever_missing(a):
        # Rows that lack a column went into the whole as missing values there; whether so many did, the counts tell.
        b = with_absent(b, lacking)
    a, b = aligned(a, b)
    pairs = a.pairs - b.pairs
    _refuse_other_levels(a, b, pairs, peak)
    n_rows, left, weight = a.n_rows - b.n_rows, a.total_weight - b.total_weight, float(a.total_weight)
    dust = peak.slack * peak.weight
    if left < -dust or (n_rows == 0 and left > dust):
        raise DataError("cannot subtract: the part's weight does not fit the whole's")
    if n_rows == 0 or left <= np.finfo(np.float64).eps * peak.weight:
        left = type(left)(0)
    numbers = subtract(a.numbers, weight, b.numbers, float(b.total_weight), float(left))
    sums = tuple(map(np.subtract, a.sums, _conform_sums(b, a.numbers)))
    rest = replace(a, n_rows=n_rows, total_weight=left, pairs=pairs, numbers=numbers, sums=sums, peak=peak)
    # Not what says whether b is part of a: the part may have been collected without the target.
    rest = replace(rest, rows_left_out=max(0, a.rows_left_out - b.rows_left_out))
    refuse_impossible(rest, peak)
    if pairs.weighted:
        pairs = pairs.clip()
    numbers = without_dust(numbers, weight, float(left), peak.rounding(numbers))
    if left == 0:
        sums = tuple(np.zeros((len(s), numbers.n_extended)) for s in sums)
    else:
        sums = tuple(_conform_sums(replace(rest, pairs=pairs), numbers))
    folds = tuple(map(take_away, a.folds, b.folds)) if len(a.folds) == len(b.folds) else ()
    return drop_empty_levels(replace(rest, pairs=pairs, numbers=numbers, sums=sums, folds=folds))


def _refuse_other_levels(a: Moments, b: Moments, pairs: PairCounts, peak: Peak) -> None:
    """Raise where the part has more rows of a level, of a pair of levels or of missing numbers than the whole has any of."""
    for k, name in enumerate(a.coded):
        short = np.flatnonzero(a.pairs.level_rows[k] < b.pairs.level_rows[k])
        if len(short):
            level = a.labels[k].to_list()[int(short[0])]
            mine, theirs = int(a.pairs.level_rows[k][short[0]]), int(b.pairs.level_rows[k][short[0]])
            raise DataError(
                f"cannot subtract: level {level!r} of column {name!r} has {theirs} rows in the part and {mine} in the whole"
            )
    lowest = pairs.lowest_pair()
    # Differences of weights leave rounding behind; rows are exact.
    if lowest is not None and lowest[0] < (-peak.slack * peak.weight if pairs.weighted else 0):
        named = [f"{a.coded[j]!r} = {shown(a.labels[j].to_list()[level])}" for j, level in lowest[1:]]
        raise DataError(f"cannot subtract: rows with {' and '.join(named)} are more in the part than in the whole")
    never = [a.numbers.names[j] for j in b.numbers.missing if j not in a.numbers.missing]
    if never:
        raise DataError(f"cannot subtract: column {never[0]!r} has missing values in the part and none in the whole")


def _nothing(moments: Moments) -> bool:
    return not len(moments.schema) and moments.n_rows == 0


def equals(a: Moments, b: Moments) -> bool:
    """Whether labels (in any order), counts and the bits of numbers are the same."""
    pair = _comparable(a, b)
    if pair is None:
        return False
    a, b = pair
    # Who named a column as a category has the same counts.
    same = a.schema.with_named(a.columns, False) == b.schema.with_named(b.columns, False)
    same = same and a.pairs.equals(b.pairs) and a.numbers.equals(b.numbers)
    return same and all(map(np.array_equal, a.sums, b.sums)) and all(map(equals, a.folds, b.folds))


def isclose(a: Moments, b: Moments, rtol: float) -> bool:
    """Whether rows are equal and numbers the same to rounding."""
    if a.schema.names and sorted(a.schema.names) == sorted(b.schema.names):
        try:
            schema = reconcile(a.schema, b.schema)
        except DataError:
            return False
        a, b = conform(a, schema), conform(b, schema)
    pair = _comparable(a, b)
    if pair is None:
        return False
    a, b = pair
    weight = float(a.total_weight)
    if not a.pairs.isclose(b.pairs, rtol) or not a.numbers.isclose(b.numbers, weight, rtol):
        return False
    joint = merge(a.numbers, weight, b.numbers, weight)
    spread = np.sqrt(np.maximum(joint.diagonal() / max(2 * weight, 1.0), 0.0))
    size = np.concatenate([np.abs(np.nan_to_num(joint.anchors)), np.ones(len(joint.missing))]) * 1e-3
    for mine, theirs in zip(_conform_sums(a, joint), _conform_sums(b, joint), strict=True):
        if (np.abs(mine - theirs) > rtol * weight * (spread + size)).any():
            return False
    return all(isclose(x, y, rtol) for x, y in zip(a.folds, b.folds, strict=True))


def _comparable(a: Moments, b: Moments) -> tuple[Moments, Moments] | None:
    """Return both with b's columns and levels in a's order, or None where they differ already in those."""
    if a.n_rows != b.n_rows or len(a.folds) != len(b.folds) or sorted(a.schema.names) != sorted(b.schema.names):
        return None
    if not np.isclose(float(a.total_weight), float(b.total_weight), rtol=1e-9):
        return None
    if a.schema.names != b.schema.names:
        b = b.select(a.schema.names)
    if [c.form for c in a.schema] != [c.form for c in b.schema]:
        return None
    changes = {}
    for k, (mine, theirs) in enumerate(zip(a.labels, b.labels, strict=True)):
        if len(mine) != len(theirs) or mine.rare != theirs.rare or len(mine.pooled) != len(theirs.pooled):
            return None
        if len(mine.pooled) and (positions(theirs.pooled, mine.pooled) < 0).any():
            return None
        mapping = positions(theirs.values, mine.values)
        if (mapping < 0).any():
            return None
        if mine.rare:
            mapping = np.append(mapping, len(mine.values))
        if not _is_identity(mapping, len(mine)):
            changes[k] = (mine, mapping)
    return a, map_levels(b, changes)
