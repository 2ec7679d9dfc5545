"""Sections on rows: the map of some of them with what they hold, and the oddest with the reasons in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.stats import rankdata
from sklearn import config_context

from gramian.design.schema import Column
from gramian.errors import Argument, DataError
from gramian.estimators.density import DensityEmbedding
from gramian.estimators.neighbour_maps import NeighbourMap, TSNEMap, UMAPMap
from gramian.estimators.pca import PCA
from gramian.estimators.spine.moments_estimator import ProjectionTransformer
from gramian.estimators.spine.outputs import outputs_of
from gramian.maps.surprise.explain import REST
from gramian.reporting.context import Context
from gramian.reporting.sections.cells import CELLS, coloured, column_of, columns_of, view_of
from gramian.reporting.sections.distance_models import map_of_objects
from gramian.reporting.values import column_words, level_words, number, numbers, text
from gramian.tables import open_table

# The map: what rows hold, where each model puts them, and what colours they can take

ODDEST = 25
"""The oddest rows are shown whatever the draw."""
AXES = 3
"""Features of a model that can be looked at."""
SEED = 0
"""Of the draw of rows."""
VIEW_FEATURES = 30
"""Principal components that a neighbour map starts from."""

Indices = npt.NDArray[np.int64]


def rows(context: Context) -> dict[str, Any] | str:
    """Return the rows of the scatter.

    Returns
    -------
    dict
        `positions` in the source; `columns` with their values, as codes where they are levels; `features`, one list of
        coordinates each; `views`, pairs of features; `colours`.
    """
    view, max_rows = context.request.view, context.request.max_rows
    if context.about_objects:
        return map_of_objects(context)
    if context.sample is None or not context.sample.table.num_rows:
        if view is not None:
            raise DataError(Argument("view", view), " places rows, and there are none; pass them as ", Argument("data"))
        return "there are no rows: pass them as data="
    shown = _shown(context, max_rows)
    table = context.sample.table.take(pa.array(shown))
    features, views = _features(context, table)
    if view is not None:
        _add_view(view, context, table, features, views)
    if not views:
        return "no model here places rows on two axes"
    return {
        "words": f"{len(shown):,} rows of {context.sample.words}",
        "positions": context.sample.positions[shown].tolist(),
        "columns": columns_of(context, table),
        "features": features,
        "views": views,
        "colours": _colours(context, shown),
    }


def _shown(context: Context, max_rows: int) -> Indices:
    """Return which of the sampled rows are shown: some at random, and the oddest."""
    assert context.sample is not None
    n = context.sample.table.num_rows
    order = np.random.default_rng(SEED).permutation(n)
    if context.scores is not None:
        oddest = np.argsort(-context.scores, kind="stable")[:ODDEST]
        order = np.concatenate([oddest, order[~np.isin(order, oddest)]])
    return np.sort(order[:max_rows])


def _features(context: Context, table: pa.Table) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the coordinates that models give the rows, and the pairs of them to look at."""
    features: dict[str, dict[str, Any]] = {}
    views: list[dict[str, Any]] = []
    kinds = ProjectionTransformer | NeighbourMap
    able = [model for model in context.models if isinstance(model, kinds) and outputs_of(model).names("transform")]
    first = {outputs_of(model).names("transform")[0]: model for model in reversed(able)}
    # Components that were asked for come first: they show the rows as they are, whatever the target.
    for model in sorted(able, key=lambda m: not (isinstance(m, PCA) and not context.added(m))):
        names = outputs_of(model).names("transform")[:AXES]
        if first[names[0]] is not model:
            # A second model of a class would give its features the names of the first.
            continue
        placed = _placed(model, table, len(names))
        features |= {n: {"name": n, "values": numbers(placed[:, k])} for k, n in enumerate(names)}
        pairs = [(names[0], other) for other in names[1:]]
        components = context.model(PCA)
        if not pairs and components is not None and components is not model:
            # One axis alone is a line; the first component spreads it out.
            pairs = [(names[0], outputs_of(components).names("transform")[0])]
        views += [view_of(x, y) for x, y in pairs]
    return list(features.values()), [view for view in views if view["y"] in features]


def _placed(model: Any, table: pa.Table, k: int) -> npt.NDArray[np.float64]:
    """Return the first features of rows, as plain arrays whatever `set_output` says."""
    if isinstance(model, NeighbourMap):
        with config_context(transform_output="default"):
            return np.asarray(model.transform(table))[:, :k]
    projection = model.projection_
    return np.asarray(projection.apply(projection.design.rows(open_table(table))))[:, :k]


def _add_view(
    view: str, context: Context, table: pa.Table, features: list[dict[str, Any]], views: list[dict[str, Any]]
) -> None:
    """Put a neighbour map of the rows in front of the other views."""
    model = context.model(PCA)
    if model is None:
        why = context.refused.get("PCA", "there are none")
        raise DataError(Argument("view", view), f" starts from principal components, and there are none here: {why}")
    start = _placed(model, table, VIEW_FEATURES)
    kind = {"tsne": TSNEMap, "umap": UMAPMap}[view]
    placed = kind(random_state=0).fit_transform(start)
    label = {"tsne": "t-SNE", "umap": "UMAP"}[view]
    names = [f"{view}0", f"{view}1"]
    features[:0] = [{"name": n, "values": numbers(placed[:, k])} for k, n in enumerate(names)]
    views.insert(0, {"name": f"{label} of {start.shape[1]} principal components", "x": names[0], "y": names[1]})


def _colours(context: Context, shown: Indices) -> list[dict[str, Any]]:
    """Return what points can be coloured by: the target, and how odd they are."""
    out: list[dict[str, Any]] = []
    target = context.target_values
    if target is not None:
        values = target.take(pa.array(shown))
        if context.class_order:
            levels = {label: k for k, label in enumerate(context.class_order)}
            codes = [levels.setdefault(text(value), len(levels)) for value in values.to_pylist()]
            out.append(coloured(str(context.target), list(levels), codes))
        else:
            column = column_of(str(context.target), values)
            if column["kind"] == "number":
                out.append({"name": column["name"], "kind": "number", "values": column["values"]})
    if context.scores is not None and context.never_seen is not None:
        # A few scores lie far above the others, and a value never seen above all: by size nearly all rows would be one
        # colour. The rank is among all rows that were judged.
        below = rankdata(context.scores, method="min") - 1
        ranks = below / max(len(below) - 1, 1)
        new = context.never_seen[shown]
        # A report on a detector is about its scores.
        out.insert(
            0 if isinstance(next(iter(context.request.models), None), DensityEmbedding) else len(out),
            {
                "name": "anomaly score",
                "kind": "rank",
                "values": numbers(context.scores[shown]),
                "ranks": [None if unseen else number(rank, 6) for rank, unseen in zip(ranks[shown], new, strict=True)],
            },
        )
    return out


# Odd rows

ODD_ROWS = 20
NEW_ROWS = 5
"""Rows with a level never seen that are listed."""
REASONS = 3
WORTH_SAYING = 0.03
"""Share of a row's score below which a reason explains nothing; the first is given in any case."""
BINS = 60


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
    alone = model.judge(table)["only_unseen"] if threshold is not None else np.zeros(len(scores), dtype=bool)
    order = np.argsort(-scores, kind="stable")
    places = np.concatenate([order[new[order]][:NEW_ROWS], order[~new[order]][:ODD_ROWS]])[:ODD_ROWS]
    return {
        "words": context.sample.words,
        "threshold": number(threshold, 6) if threshold is not None else None,
        "above": int((scores > threshold).sum()) if threshold is not None else None,
        "of": len(scores),
        "of_model": model.contamination == "auto",
        "never_seen": {"rows": int(new.sum()), "listed": int(new[places].sum()), "alone": int(alone.sum())},
        "histogram": _score_histogram(scores[~new]) if not new.all() else None,
        "rows": _listed(context, model, places, new, threshold),
    }


def _listed(
    context: Context, model: DensityEmbedding, places: npt.NDArray, new: npt.NDArray, threshold: float | None
) -> list[dict[str, Any]]:
    """Return the rows at these places: score, reasons, cells."""
    assert context.sample is not None
    assert context.scores is not None
    scores = context.scores[places]
    table = context.sample.table.take(pa.array(places))
    explained = model.explain_columns(table, REASONS)
    reasons: list[list[dict[str, Any]]] = [[] for _ in places]
    for row, worth, words in zip(explained["row"], explained["contribution"], explained["text"], strict=True):
        said = reasons[int(row)]
        if words not in REST and (not said or worth >= WORTH_SAYING * scores[int(row)]):
            said.append({"text": _with_names(words, model.design_.columns), "contribution": number(worth, 4)})
    named = dict.fromkeys([*context.request.keep, *table.column_names[:CELLS]])
    cells = {name: [text(v) for v in table.column(name).to_pylist()] for name in named if name in table.column_names}
    return [
        {
            "position": int(context.sample.positions[at]),
            "score": number(scores[k], 4),
            "outlier": bool(scores[k] > threshold) if threshold is not None else None,
            "never_seen": bool(new[at]),
            "reasons": reasons[k],
            "kept": [[name, cells[name][k]] for name in context.request.keep if name in cells],
            "cells": [[name, values[k]] for name, values in cells.items()],
        }
        for k, at in enumerate(places)
    ]


def _with_names(words: str, columns: Sequence[Column]) -> str:
    """Return a reason with weekdays and months by name.

    Examples
    --------
    >>> _with_names("when_dayofweek=0: seen 3 times in 9 rows", [Column("when_dayofweek", "category", "when", "dayofweek")])
    'weekday of when=Monday: seen 3 times in 9 rows'
    """
    for column in columns:
        if isinstance(column.part, str):
            part = re.compile(rf"\b{re.escape(column.name)}=(\d+)\b")
            words = part.sub(lambda found, c=column: f"{column_words(c)}={level_words(c, int(found[1]))}", words)  # type: ignore[misc]
    return words


def _score_histogram(scores: npt.NDArray[np.float64]) -> dict[str, Any]:
    low, high = float(scores.min()), float(np.quantile(scores, 0.9995))
    # Rows that are all alike: one bar, of a width that floating point can divide.
    low, high = (low, high) if high - low > 1e-6 * max(abs(high), 1.0) else (high - 0.5, high + 0.5)
    counts, edges = np.histogram(np.clip(scores, low, high), bins=BINS, range=(low, high))
    return {"edges": numbers(edges), "counts": counts.tolist()}


def _threshold(model: DensityEmbedding) -> float | None:
    """Return the score beyond which `predict` says outlier; None where no rows have set it yet."""
    try:
        return -float(model.offset_)
    except DataError:
        return None
