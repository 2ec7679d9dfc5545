"""What counts tell of columns of many levels: identifiers are set aside, and rare levels had better be pooled.

Integers beyond 2^53 counted from an offset, so that float64 holds what is left of them.

Between 2^62 and 2^63 neighbouring float64 are 1,024 apart: as plain floats the values 2^62 + 3i would have no variance. Sums
are exact all the same, because the offset, which becomes the anchor, is taken off in integer arithmetic. What is computed
from means (intercepts, distances between classes) would lose it again, so whoever solves is given the moments of x - offset,
and the map that comes out reads rows less the same offset. Covariances are those of x. Targets counted by level keep their
labels: these name classes, and deviations of levels are exact without an offset.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from gramian.design.identifiers import is_identifier, may_be_identifier, reads_as_dates, set_aside_note
from gramian.design.schema import Column, Cross, Labels, number_values
from gramian.errors import Argument, Call, DataError, PythonOnly, WideColumnWarning
from gramian.moments.algebra.levels import pool_cells
from gramian.moments.value import Moments

_LOG = logging.getLogger("gramian")

MANY = 2000
"""Levels below which no column is worth a word: everything after the pass is quick."""

HELD = 0.9
"""Share of the rows that the levels kept must hold."""


def identifiers(moments: Moments, columns: Sequence[str], keep: Collection[str] = ()) -> dict[str, int]:
    """Return the number of levels of those columns that are identifiers (`gramian.design.identifiers`).

    Parameters
    ----------
    moments : Moments
    columns : sequence of str
    keep : collection of str
        Source columns that the user names.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> table = pa.table({"id": [f"u{k}" for k in range(60)], "color": ["red", "blue"] * 30})
    >>> identifiers(gm.collect(table), ["id", "color"])
    {'id': 60}
    >>> identifiers(gm.collect(table, categorical=["id"]), ["id", "color"])
    {}
    """
    found = {}
    for name in columns:
        column = moments.schema[name]
        if may_be_identifier(column) and column.origin not in keep:
            levels = int(np.count_nonzero(moments.pairs.level_rows[moments.coded_at[name]]))
            if is_identifier(levels, moments.n_rows):
                found[name] = levels
    return found


def say_set_aside(moments: Moments, found: Mapping[str, int]) -> None:
    """Write to the log which columns are set aside, and how to keep them."""
    if found:
        dates = [name for name in found if reads_as_dates(moments.labels[moments.coded_at[name]].values)]
        _LOG.info(set_aside_note(found, moments.n_rows, dates))


def identifiers_among(columns: Iterable[Column], labels: Sequence[Labels], n_rows: int) -> dict[str, int]:
    """Return what `identifiers` does, for columns of which no more than the labels is known, and say it.

    Parameters
    ----------
    columns : iterable of Column
        Not all of them identifiers.
    labels : sequence of Labels
        Of the categories among them, in order.
    n_rows : int
    """
    features = list(columns)
    categories = [column for column in features if column.form == "category"]
    of = dict(zip((column.name for column in categories), labels, strict=True))
    found = {
        c.name: len(of[c.name]) for c in categories if may_be_identifier(c) and is_identifier(len(of[c.name]), n_rows)
    }
    if len(found) == len(features):
        raise only_identifiers(found, n_rows)
    if found:
        _LOG.info(set_aside_note(found, n_rows, [name for name in found if reads_as_dates(of[name].values)]))
    return found


def only_identifiers(found: Mapping[str, int], n_rows: int) -> DataError:
    """Return the error for a table of which no column is left."""
    names = list(found)
    return DataError(
        f"no feature columns are left: every column has at least half as many levels as there are rows ({n_rows:,}), as "
        f"{names[0]!r} with {found[names[0]]:,}; add other columns, or keep them with ",
        Argument("categorical", names[:5]),
        PythonOnly(" in collect(), or ", Argument("categorical_features", names[:5]), " in the method"),
    )


def pooling_advice(moments: Moments) -> WideColumnWarning | None:
    """Return which column to pool and by how much, None where it would not help.

    It helps where one column makes most of the design columns and nine rows of ten hold half of its levels or fewer: the
    other half then costs as much as all else, for a tenth of the rows.
    """
    features = set(moments.schema.features) - set(identifiers(moments, moments.schema.features))
    sizes = {
        name: len(weights)
        for name, weights in zip(moments.coded, moments.pairs.level_weights, strict=True)
        if name in features and moments.schema[name].form == "category"
    }
    width = sum(sizes.values()) + sum(1 for name in features if name not in sizes)
    name = max(sizes, key=lambda each: sizes[each], default=None)
    if name is None or sizes[name] < max(MANY, width / 2):
        return None
    counts = np.sort(moments.pairs.level_weights[moments.coded_at[name]].astype(np.float64))[::-1]
    held = np.cumsum(counts)
    kept = int(np.searchsorted(held, HELD * held[-1])) + 1
    least = int(counts[min(kept, len(counts)) - 1])
    kept = int((counts >= least).sum())
    if least < 2 or kept > sizes[name] / 2:
        return None
    return WideColumnWarning(
        f"column {name!r} has {sizes[name]:,} of the {width:,} design columns, and {held[kept - 1] / held[-1]:.0%} of the "
        f"rows hold {kept:,} of its levels; ",
        Call("pool", min_count=least),
        " folds the others into one, and every method is faster",
    )


def advise_pooling(moments: Moments) -> None:
    """Warn where pooling would help."""
    advice = pooling_advice(moments)
    if advice is not None:
        warnings.warn(advice, stacklevel=3)


LARGE = 2.0**52
"""Anchors from here on are taken for offsets: beyond, values need not be exact, and below they always are."""
_LARGEST = 2.0**64


def near_zero(moments: Moments, targets: Collection[str] = ()) -> Moments:
    """Return the moments that a solver takes: large numbers less their offsets, and a note of these; small cells pooled.

    Labels of the targets stay as they are.
    """
    if any(isinstance(column.part, Cross) for column in moments.schema):
        moments = pool_cells(moments)
    offsets = {
        name: float(anchor)
        for name, anchor in zip(moments.numbers.names, moments.numbers.anchors, strict=True)
        if LARGE <= abs(anchor) < _LARGEST
    }
    for name, labels in zip(moments.coded, moments.labels, strict=True):
        if moments.schema[name].form == "integer" and name not in targets:
            offset, _ = labels.numbers
            offsets |= {name: offset} if offset else {}
    return _less(moments, offsets) if offsets else moments


def _less(moments: Moments, offsets: Mapping[str, float]) -> Moments:
    taken = np.array([offsets.get(name, 0.0) for name in moments.numbers.names])
    labels = list(moments.labels)
    for name in offsets.keys() & set(moments.coded):
        k = moments.coded_at[name]
        values = number_values(labels[k].values, offsets[name])
        labels[k] = replace(labels[k], values=pa.array(values, pa.float64(), from_pandas=True))
    return replace(
        moments,
        numbers=replace(moments.numbers, anchors=moments.numbers.anchors - taken),
        labels=tuple(labels),
        folds=tuple(_less(fold, offsets) for fold in moments.folds),
        offsets=dict(offsets),
    )
