"""The oddest rows, and in words why they are odd."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.errors import DataError
from gramian.estimators.density import DensityEmbedding
from gramian.maps.surprise.explain import REST
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number, numbers, text
from gramian.tables import open_table

ROWS = 20
NEW_ROWS = 5
"""Rows with a level never seen that are listed."""
REASONS = 3
WORTH_SAYING = 0.03
"""Share of a row's score below which a reason explains nothing; the first is given in any case."""
BINS = 60
CELLS = 40


def anomalies(context: Context) -> dict[str, Any] | str:
    """Return how scores are spread, where the line is drawn, and the oddest rows with their reasons.

    A level never seen outweighs all else, so that a day with many of them would show nothing but these: a few are
    listed, then the oddest of the other rows.
    """
    model = context.model(DensityEmbedding)
    if model is None:
        return context.refused.get("DensityEmbedding", "no detector here: fit DensityEmbedding and pass it")
    if context.scores is None or context.never_seen is None or context.sample is None:
        return "there are no rows to judge: pass them as data="
    scores, new, table = context.scores, context.never_seen, context.sample.table
    threshold = _threshold(model)
    alone = model._judged(table)[2] if threshold is not None else np.zeros(len(scores), dtype=bool)
    order = np.argsort(-scores, kind="stable")
    listed = np.concatenate([order[new[order]][:NEW_ROWS], order[~new[order]][:ROWS]])[:ROWS]
    return {
        "words": context.sample.words,
        "threshold": number(threshold, 6) if threshold is not None else None,
        "above": int((scores > threshold).sum()) if threshold is not None else None,
        "of": len(scores),
        "never_seen": {"rows": int(new.sum()), "listed": int(new[listed].sum()), "alone": int(alone.sum())},
        "histogram": _histogram(scores[~new]) if not new.all() else None,
        "rows": _rows(context, model, listed, new, threshold),
    }


def _rows(
    context: Context, model: DensityEmbedding, listed: npt.NDArray, new: npt.NDArray, threshold: float | None
) -> list[dict[str, Any]]:
    """Return the listed rows: score, reasons, cells."""
    assert context.sample is not None
    assert context.scores is not None
    scores = context.scores[listed]
    table = context.sample.table.take(pa.array(listed))
    explained = model._explained(open_table(table), REASONS)
    reasons: list[list[dict[str, Any]]] = [[] for _ in listed]
    for row, worth, words in zip(explained["row"], explained["contribution"], explained["text"], strict=True):
        said = reasons[int(row)]
        if words not in REST and (not said or worth >= WORTH_SAYING * scores[int(row)]):
            said.append({"text": words, "contribution": number(worth, 4)})
    cells = {name: [text(v) for v in table.column(name).to_pylist()] for name in table.column_names[:CELLS]}
    return [
        {
            "position": int(context.sample.positions[at]),
            "score": number(scores[k], 4),
            "outlier": bool(scores[k] > threshold) if threshold is not None else None,
            "never_seen": bool(new[at]),
            "reasons": reasons[k],
            "cells": [[name, values[k]] for name, values in cells.items()],
        }
        for k, at in enumerate(listed)
    ]


def _histogram(scores: npt.NDArray[np.float64]) -> dict[str, Any]:
    low, high = float(scores.min()), float(np.quantile(scores, 0.9995))
    # Rows that are all alike: one bar, of a width that floating point can divide.
    low, high = (low, high) if high - low > 1e-6 * max(abs(high), 1.0) else (high - 0.5, high + 0.5)
    counts, edges = np.histogram(np.clip(scores, low, high), bins=BINS, range=(low, high))
    return {"edges": numbers(edges), "counts": counts.tolist()}


def _threshold(model: DensityEmbedding) -> float | None:
    """Return the score beyond which `predict` says outlier; None where no rows have set it yet."""
    try:
        return -model._threshold()
    except DataError:
        return None
