"""The map of the objects of a model of distances: where the fit put them, their classes, and what describes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.estimators.base.distance_estimator import DistanceTransformer
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import numbers
from gramian.reporting.gather.objects import namer
from gramian.reporting.sections.rows.cells import coloured, columns_of, levels_of, view_of

AXES = 3
SEED = 0


def map_of_objects(context: Context) -> dict[str, Any]:
    """Return the training objects as the rows of a map: coordinates, names, classes, and what describes them."""
    if context.request.view is not None:
        raise DataError(
            Argument("view", context.request.view), " places rows of a table; a model of distances has a map of its own"
        )
    model = context.model(DistanceTransformer)
    n = len(model.embedding_)
    shown = np.sort(np.random.default_rng(SEED).permutation(n)[: context.request.max_rows])
    name = namer(model, context.sample.table if context.described and context.sample is not None else None)
    columns: list[dict[str, Any]] = [{"name": "object", "kind": "text", "values": [name(int(k)) for k in shown]}]
    colours: list[dict[str, Any]] = []
    codes, labels = context.object_classes
    if codes is not None:
        # The most frequent class has the first colour.
        order = np.argsort(-np.bincount(codes, minlength=len(labels)), kind="stable")
        place = np.argsort(order)
        of = context.target or "class"
        colours.append(coloured(of, [labels[k] for k in order], place[codes[shown]].tolist()))
        columns.append(levels_of(of, [labels[k] for k in codes[shown]]))
    if context.described and context.sample is not None:
        table = context.sample.table.take(pa.array(shown))
        taken = {column["name"] for column in columns}
        columns += [column for column in columns_of(context, table) if column["name"] not in taken]
    features, views = _axes(model, shown, None if codes is None else codes[shown])
    return {
        "words": f"{len(shown):,} of {n:,} training objects" if len(shown) < n else f"all {n:,} training objects",
        "positions": shown.tolist(),
        "columns": columns,
        "features": features,
        "views": views,
        "colours": colours,
    }


def _axes(model: Any, shown: Array, codes: Array | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the coordinates and the pairs of them to look at; a single one is spread out by class, or at random."""
    names = [str(name) for name in model.get_feature_names_out()[:AXES]]
    features: list[dict[str, Any]] = [
        {"name": name, "values": numbers(model.embedding_[shown, k])} for k, name in enumerate(names)
    ]
    if len(names) == 1:
        apart = np.random.default_rng(SEED).uniform(-0.3, 0.3, len(shown)) + (0 if codes is None else codes)
        names.append("class, spread out" if codes is not None else "spread out for sight")
        features.append({"name": names[1], "values": numbers(apart, 3), "unmarked": True})
    return features, [view_of(names[0], other) for other in names[1:]]
