"""How well classes are separated: Fisher's criterion, where classes lie on the first axis, and who is taken for whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.stats import rankdata

from gramian.estimators.fisher import FisherDiscriminant
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number, numbers, text
from gramian.reporting.sections.models.confusion import confusion
from gramian.tables import open_table

BINS = 48
COLOURS = 10
"""Classes that can be told apart by colour."""


def classes(context: Context) -> dict[str, Any] | str:
    """Return Fisher's criterion per axis and, where rows carry the target, their confusion and their spread."""
    model = context.model(FisherDiscriminant)
    if model is None:
        if context.target is None:
            return "no target is known: pass target="
        return context.refused.get("FisherDiscriminant", f"no model here separates the classes of {context.target!r}")
    names = [str(name) for name in model.get_feature_names_out()]
    labels = [text(label) for label in model.classes_.tolist()]
    out: dict[str, Any] = {
        "target": context.target,
        "classes": [
            {"name": label, "prior": number(prior, 4)} for label, prior in zip(labels, model.priors_, strict=True)
        ],
        "axes": [
            {"name": name, "criterion": number(j, 5), "gap": _gap(model, j), "share": number(share, 4), "between": None}
            for name, j, share in zip(names, model.criterion_, model.explained_variance_ratio_, strict=True)
        ],
        "confusion": None,
        "spread": None,
    }
    if context.target_values is None or context.sample is None or not context.sample.table.num_rows:
        return out
    actual = _codes(context.target_values.combine_chunks(), labels)
    predicted = _codes(pa.array(model.predict(context.sample.table)), labels)
    projection = model.projection_
    placed = np.asarray(projection.apply(projection.design.rows(open_table(context.sample.table))))
    for k, axis in enumerate(out["axes"]):
        axis["between"] = number(_between(placed[:, k], actual, len(labels)), 4)
    out["confusion"] = confusion(predicted, actual, labels, context.sample.words)
    if len(labels) == 2:
        out["confusion"]["auc"] = number(_area(placed[:, 0], actual), 4)
    out["spread"] = _spread(placed[:, 0], actual, labels, names[0], context.class_order)
    return out


def _gap(model: FisherDiscriminant, criterion: float) -> float | None:
    """Return how many standard deviations two class means lie apart, from J: the squared gap over (n - c) variances."""
    moments = vars(model).get("moments_")
    if moments is None:
        return None
    return number(np.sqrt(max(criterion * (moments.total_weight - len(model.classes_)), 0.0)), 4)


def _codes(values: pa.Array, labels: list[str]) -> npt.NDArray[np.int64]:
    """Return the place of each value among the labels, -1 where it is none of them."""
    encoded = values.dictionary_encode(null_encoding="encode")
    at = {label: k for k, label in enumerate(labels)}
    places = np.array([at.get(text(value), -1) for value in encoded.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(places[encoded.indices.to_numpy()], dtype=np.int64)


def _between(placed: npt.NDArray, actual: npt.NDArray, n_classes: int) -> float:
    """Return the share of an axis's variance that lies between the classes."""
    known = actual >= 0
    values, own = placed[known] - placed[known].mean(), actual[known]
    sums, counts = np.bincount(own, values, n_classes), np.bincount(own, minlength=n_classes)
    whole = float(values @ values)
    return float((np.square(sums) / np.maximum(counts, 1)).sum() / whole) if whole > 0 else np.nan


def _area(placed: npt.NDArray, actual: npt.NDArray) -> float:
    """Return how often a row of the second class lies on its side of a row of the first (the area under the ROC)."""
    ranks = rankdata(placed[actual >= 0])
    second = actual[actual >= 0] == 1
    n, m = int(second.sum()), int((~second).sum())
    if not n or not m:
        return np.nan
    area = float(ranks[second].sum() - n * (n + 1) / 2) / (n * m)
    # The sign of an axis is free.
    return max(area, 1 - area)


def _spread(
    placed: npt.NDArray, actual: npt.NDArray, labels: list[str], axis: str, order: list[str]
) -> dict[str, Any] | None:
    """Return how the rows of each class are spread over an axis, as shares of the class; tails of half a per cent are cut."""
    shown = [label for label in order if label in labels][:COLOURS]
    own = {label: placed[actual == labels.index(label)] for label in shown}
    ends = [np.quantile(values, [0.005, 0.995]) for values in own.values() if len(values)]
    if not ends:
        return None
    low, high = float(min(end[0] for end in ends)), float(max(end[1] for end in ends))
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return None
    # As fine as the rows of a usual class allow.
    usual = np.median([len(values) for values in own.values() if len(values)])
    edges = np.linspace(low, high, int(np.clip(2 * np.sqrt(usual), 12, BINS)) + 1)
    shares = [
        {"name": label, "shares": numbers(np.histogram(values, bins=edges)[0] / max(len(values), 1))}
        for label, values in own.items()
    ]
    return {"axis": axis, "edges": numbers(edges), "classes": shares}
