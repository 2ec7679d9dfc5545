"""The rows that a report shows: what they hold, where each model puts them, and what colours they can take."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.stats import rankdata
from sklearn import config_context

from gramian.errors import Argument, DataError
from gramian.estimators.base.moments_estimator import ProjectionTransformer
from gramian.estimators.density import DensityEmbedding
from gramian.estimators.neighbour_maps import NeighbourMap, TSNEMap, UMAPMap
from gramian.estimators.pca import PCA
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number, numbers, text
from gramian.reporting.sections.rows.cells import coloured, column_of, columns_of, view_of
from gramian.reporting.sections.rows.object_map import map_of_objects
from gramian.tables import open_table

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
    able = [model for model in context.models if isinstance(model, kinds) and model._n_features_out]
    first = {str(model.get_feature_names_out()[0]): model for model in reversed(able)}
    # Components that were asked for come first: they show the rows as they are, whatever the target.
    for model in sorted(able, key=lambda m: not (isinstance(m, PCA) and not context.added(m))):
        names = [str(out) for out in model.get_feature_names_out()[:AXES]]
        if first[names[0]] is not model:
            # A second model of a class would give its features the names of the first.
            continue
        placed = _placed(model, table, len(names))
        features |= {n: {"name": n, "values": numbers(placed[:, k])} for k, n in enumerate(names)}
        pairs = [(names[0], other) for other in names[1:]]
        components = context.model(PCA)
        if not pairs and components is not None and components is not model:
            # One axis alone is a line; the first component spreads it out.
            pairs = [(names[0], str(components.get_feature_names_out()[0]))]
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
