"""Rows as the ascent reads them: sparse design columns and the values of the influence functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.design.kinds import date_of_part, types_of
from gramian.design.numbers import number_values, offset_for
from gramian.design.reading import date_part
from gramian.linear.regression.targets import Aim
from gramian.maps.frozen_encoder import Design, Rows
from gramian.online.ascent import AscentState
from gramian.online.growing import carried_over
from gramian.tables import ArrowTable, open_table


def design_rows(design: Design, rows: Iterable[Rows], scale: Array) -> sp.csr_array:
    """Return encoded rows as one CSR matrix over the design columns.

    Numbers are centred and divided by `scale`, missing ones at 0; a level never seen has no entry.

    Parameters
    ----------
    design : Design
    rows : iterable of Rows
    scale : (p,) array
        1 for a level.
    """
    starts = np.array([design.spans[c.name].start for c in design.categorical], dtype=np.int64)
    sizes = np.array([len(labels) for labels in design.labels], dtype=np.int64)
    places = design.number_places
    mean = np.nan_to_num(design.mean[places])
    p = len(design.mean)
    parts = []
    for part in rows:
        numbers = part.numbers.toarray() if sp.issparse(part.numbers) else np.asarray(part.numbers, dtype=np.float64)
        numbers = np.nan_to_num((numbers - mean) / scale[places])
        codes = part.codes.T.astype(np.int64)
        known = codes < sizes
        columns = np.hstack([np.where(known, codes + starts, 0), np.broadcast_to(places, numbers.shape)])
        values = np.hstack([known.astype(np.float64), numbers])
        pointer = np.arange(len(values) + 1, dtype=np.int64) * columns.shape[1]
        one = sp.csr_array((values.ravel(), columns.ravel(), pointer), shape=(len(values), p))
        one.sum_duplicates()
        parts.append(one)
    return sp.csr_array(sp.vstack(parts, format="csr")) if parts else sp.csr_array((0, p))


def influence_rows(aim: Aim, values: list[pa.Array]) -> Array:
    """Return the influence functions of rows, (n, m): numbers as they are, classes as indicators.

    Parameters
    ----------
    aim : Aim
        Of targets without slices, ranks or callables, which are derived before.
    values : list of arrays
        One a target.
    """
    parts: list[Any] = []
    for labels, column, target in zip(aim.classes, values, range(len(values)), strict=True):
        if not labels:
            # The ascent centres them, so that an offset changes nothing but rounding.
            parts.append(number_values(column, offset_for([column]) or 0.0)[:, None])
            continue
        kept = [
            label for label, name in zip(labels, map(str, labels), strict=True) if _wanted(aim, target, name, labels)
        ]
        listed = column.to_pylist()
        parts.append(np.array([[value == label for label in kept] for value in listed], dtype=np.float64))
    return np.hstack(parts)


def _wanted(aim: Aim, target: int, name: str, labels: list[Any]) -> bool:
    # Of two classes `one_per_class` keeps the second alone, under the target's own name.
    own = [aim.names[k] for k in np.flatnonzero(aim.owner == target)]
    return name == str(labels[-1]) if len(own) == 1 else name in own


def target_columns(X: Any, names: list[str]) -> list[pa.Array]:
    """Return some columns of a table, or parts of its dates, each as one array."""
    table = open_table(X)
    table = table if isinstance(table, ArrowTable) else table.as_arrow()
    dates = {name: date_of_part(name, types_of(table.schema)) for name in names}
    batches = list(table.batches(list(dict.fromkeys(dates[name] or name for name in names))))

    def values(batch: pa.RecordBatch, name: str) -> pa.Array:
        date = dates[name]
        return batch.column(name) if date is None else date_part(batch.column(date), name.removeprefix(f"{date}_"))

    return [pa.chunked_array([values(batch, name) for batch in batches]).combine_chunks() for name in names]


def state_over(old: Design, state: AscentState, design: Design, scale: Array) -> AscentState:
    """Return a state over the design columns there are now: levels keep their order, new ones come after at 0.

    Parameters
    ----------
    old : Design
        That of the state, whose weights are per unit of each number.
    state : AscentState
    design : Design
    scale : (p,) array
        The units that the ascent works in.
    """
    return replace(state, weights=carried_over(old, design, state.weights.T).T * scale[:, None])
