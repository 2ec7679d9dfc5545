"""A design that grows as rows arrive: new levels, and means that follow the rows.

Where a level turns up for the first time, its design column has been 0 in every row before: its mean so far is 0, and weights
over the design columns go on with 0 in that place. Nothing that was learnt changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from gramian.arrays.types import Array
from gramian.design.codebook import Codebook
from gramian.design.labels import Labels, join_labels, positions
from gramian.design.names import names_of_design
from gramian.design.schema import Column
from gramian.maps.frozen_encoder import Design, Rows
from gramian.online.rows import DesignRows, faded


@dataclass(frozen=True, eq=False)
class Seen:
    """What has been seen: the design, and behind each of its means the weight of the rows that had a value.

    Attributes
    ----------
    design : Design
    weights : (p,) array
    total : float
        Weight of all rows.
    """

    design: Design
    weights: Array
    total: float = 0.0

    @classmethod
    def nothing(cls, columns: Sequence[Column]) -> Seen:
        """Return the design of some columns before any row."""
        labels = tuple(Labels(pa.nulls(0)) for column in columns if column.form == "category")
        return _designed(tuple(columns), labels)


def _designed(columns: tuple[Column, ...], labels: tuple[Labels, ...]) -> Seen:
    names = tuple(names_of_design(columns, labels))
    return Seen(Design(columns, labels, np.zeros(len(names)), names), np.zeros(len(names)))


def with_levels(seen: Seen, batch: pa.RecordBatch) -> Seen:
    """Return what has been seen with the levels of a batch added, in order of first sight, at mean 0."""
    old = seen.design
    labels = []
    for k, known in enumerate(old.labels):
        book = Codebook()
        book.encode(old.labels_in(batch, k))
        known_labels = book.labels().values
        fresh = known_labels.filter(pa.array(positions(known_labels, known.values) < 0))
        labels.append(Labels(join_labels(known.values, fresh)) if len(fresh) else known)
    if all(new is known for new, known in zip(labels, old.labels, strict=True)):
        return seen
    wider = _designed(old.columns, tuple(labels))
    weights = carried_over(old, wider.design, seen.weights)
    for column in old.categorical:
        weights[wider.design.spans[column.name]] = seen.total
    design = replace(wider.design, mean=carried_over(old, wider.design, old.mean), offsets=old.offsets)
    return Seen(design, weights, seen.total)


def without_columns(seen: Seen, parts: Sequence[Rows], names: Collection[str]) -> tuple[Seen, list[Rows]]:
    """Return what has been seen, and rows over it, without some categories; nothing has been learnt of them yet."""
    kept = [k for k, column in enumerate(seen.design.categorical) if column.name not in names]
    columns = tuple(column for column in seen.design.columns if column.name not in names)
    fewer = _designed(columns, tuple(seen.design.labels[k] for k in kept))
    design = replace(fewer.design, offsets=seen.design.offsets)
    return replace(fewer, design=design), [replace(part, codes=part.codes[kept]) for part in parts]


def carried_over(old: Design, new: Design, values: Array) -> Array:
    """Return values over the design columns (the last axis) of an older design over those there are now, 0 for new ones."""
    if old is new or len(old.mean) == len(new.mean):
        return values
    out = np.zeros((*values.shape[:-1], len(new.mean)))
    for column in new.columns:
        was, now = old.spans[column.name], new.spans[column.name]
        out[..., now.start : now.start + was.stop - was.start] = values[..., was]
    return out


def with_rows(seen: Seen, rows: DesignRows, forgetting: float | None = None, *, ordered: bool = True) -> Seen:
    """Return what has been seen with the means moved by some rows.

    Parameters
    ----------
    seen : Seen
    rows : DesignRows
        Over its design.
    forgetting : float, optional
        What a row's weight falls to with each later row.
    ordered : bool
        Whether the rows come one after the other. Rows that do not share evenly what they would count together.
    """
    kept = 1.0
    if forgetting is not None:
        kept = forgetting ** float(rows.weights.sum())
        counts = faded(rows.weights, forgetting)
        rows = replace(rows, weights=counts if ordered else rows.weights * (counts.sum() / rows.weights.sum()))
    mean, weight = rows.means(len(seen.weights))
    whole = float(rows.weights.sum())
    total = kept * seen.weights + weight
    moved = seen.design.mean + np.where(total > 0, weight / np.where(total > 0, total, 1.0), 0.0) * (
        mean - seen.design.mean
    )
    return Seen(replace(seen.design, mean=moved), total, kept * seen.total + whole)
