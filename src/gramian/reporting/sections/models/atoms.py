"""Atoms of a dictionary: what they look like, what few of them leave unexplained, and how they compete for a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.estimators.base.signals import SignalTransformer
from gramian.estimators.sparse.nmf import NMF
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number
from gramian.sparse.atoms import unit_rows
from gramian.sparse.coders.choice import Coder, steps_of

PICTURES = 36
"""Atoms that are drawn."""
ROWS = 500
"""Rows that are coded for the report."""
STEPS, NEURONS, THRESHOLD = 60, 6, 0.2
"""Of the competition: steps, the most active neurons, and the threshold relative to the largest drive."""
GREYS = 32
"""Shades of a picture."""


def atoms(context: Context) -> dict[str, Any] | None:
    """Return pictures of atoms, error against sparsity, and competition over time; None where no model has atoms."""
    model = context.model(SignalTransformer)
    if model is None:
        return None
    dictionary = model.dictionary_
    rows = _rows(context, model)
    unit = unit_rows(dictionary)
    unit = unit[unit.any(axis=1)]
    positive = isinstance(model, NMF)
    return {
        "model": type(model).__name__,
        "n_atoms": len(dictionary),
        "n_columns": int(dictionary.shape[1]),
        "pictures": _pictures(dictionary, context.request.image_shape),
        "n_rows": 0 if rows is None else len(rows),
        "curve": [] if rows is None else _curve(rows, unit, positive=positive),
        "competition": [] if rows is None else _competition(rows, unit),
    }


def _rows(context: Context, model: SignalTransformer) -> Array | None:
    """Return some sampled rows without gaps, None where there are none that say anything."""
    if context.sample is None or not set(model.design_.origins) <= set(context.sample.table.column_names):
        return None
    table = context.sample.table.select(model.design_.origins)
    values = np.column_stack([np.asarray(column.to_numpy(), dtype=np.float64) for column in table.columns])
    values = values[np.isfinite(values).all(axis=1)][:ROWS]
    return values if len(values) and values.any() else None


def _pictures(dictionary: Array, shape: tuple[int, int] | None) -> dict[str, Any] | None:
    """Return the first atoms as shades of grey, row by row; zero is the middle where an atom has both signs."""
    if shape is None:
        return None
    if shape[0] * shape[1] != dictionary.shape[1]:
        raise DataError(
            Argument("image_shape", shape),
            f" is {shape[0] * shape[1]} values a picture, and an atom has {dictionary.shape[1]}",
        )
    shown = dictionary[:PICTURES]
    largest = np.abs(shown).max(axis=1, keepdims=True)
    shades = shown / np.where(largest > 0, largest, 1.0)
    if (shown < 0).any():
        shades = (shades + 1) / 2
    whole = np.rint(shades * (GREYS - 1)).astype(int)
    grey = np.rint(255 * np.arange(GREYS) / (GREYS - 1)).astype(int)
    return {
        "height": shape[0],
        "width": shape[1],
        "shades": grey[whole].tolist(),
        "left_out": len(dictionary) - len(shown),
    }


def _curve(rows: Array, unit: Array, *, positive: bool) -> list[dict[str, Any]]:
    """Return what share of the rows' squared length so many atoms leave, chosen by matching pursuit."""
    most = min(len(unit), rows.shape[1], 32)
    counts = sorted({count for count in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, most) if count <= most})
    total = float(np.square(rows).sum())
    out = []
    for count in counts:
        codes = Coder.of("omp", n_nonzero=count, positive=positive)(rows, unit)
        out.append({"atoms": count, "left": number(np.square(rows - codes @ unit).sum() / total, 5)})
    return out


def _competition(rows: Array, unit: Array) -> list[dict[str, Any]]:
    """Return the activities over time of the neurons that are most active for the longest of the rows."""
    loud = rows[np.argmax(np.square(rows).sum(axis=1))]
    drive = float(np.abs(unit @ loud).max())
    if drive == 0:
        return []
    path = steps_of(Coder.of("lca", penalty=THRESHOLD * drive), loud[None], unit, STEPS)[0]
    active = np.argsort(-np.abs(path).max(axis=0), kind="stable")[:NEURONS]
    return [
        {"step": step, "activity": number(path[step, j], 5), "series": f"atom {j}"}
        for j in active
        for step in range(STEPS + 1)
    ]
