"""Objects known by their distances: how well an embedding keeps these, which class is taken for which, who is typical."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.distances.mds import class_distances, some_objects
from gramian.estimators.base.distance_estimator import DistanceTransformer
from gramian.estimators.mdsfda import MDSFDA
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number, numbers, text
from gramian.reporting.gather.objects import namer
from gramian.reporting.sections.models.confusion import CLASSES_SHOWN, confusion

TYPICAL, DOUBTFUL, SURE = 3, 2, 0.9
"""Examples of a class: so many nearest to its mean, and so many that are of it with less than this probability."""


def objects(context: Context) -> dict[str, Any] | None:
    """Return what a model of distances knows of its training objects; None where there is no such model."""
    model = context.model(DistanceTransformer)
    if model is None:
        return None
    n = len(model.embedding_)
    classified = isinstance(model, MDSFDA) and "_codes" in vars(model)
    metric = model.metric if isinstance(model.metric, str) else getattr(model.metric, "__name__", "a function")
    return {
        "model": type(model).__name__,
        "n_objects": n,
        "n_landmarks": None if model.landmarks_ is None else len(model.landmarks_),
        "metric": metric,
        "n_components": int(model.embedding_.shape[1]),
        "stress": number(vars(model).get("stress_", np.nan), 4),
        "negative_share": number(model.negative_share_, 4),
        "axes": _axes(model),
        "kept": _kept(model),
        "distances": _distances(context, model),
        **(_of_classes(context, model) if classified else {"confusion": None, "held_out": None, "examples": []}),
    }


def _axes(model: DistanceTransformer) -> list[dict[str, Any]]:
    """Return for each axis of a discriminant the share of its scatter that lies between classes."""
    if not isinstance(model, MDSFDA):
        return []
    names = [str(name) for name in model.get_feature_names_out()]
    return [{"name": name, "between": number(v, 4)} for name, v in zip(names, model.eigenvalues_, strict=True)]


def _kept(model: DistanceTransformer) -> float | None:
    """Return the share of the spectrum, negative eigenvalues counted in, that the coordinates of classical scaling hold."""
    values = np.asarray(model.eigenvalues_, dtype=np.float64)
    whole = float(np.abs(values).sum())
    if isinstance(model, MDSFDA) or not whole > 0:
        return None
    return number(np.maximum(values[: model.embedding_.shape[1]], 0.0).sum() / whole, 4)


def _distances(context: Context, model: DistanceTransformer) -> dict[str, Any] | None:
    """Return mean distances within and between classes: as measured where the model keeps them, else in the embedding."""
    codes, labels = context.object_classes
    if codes is None:
        return None
    if isinstance(model, MDSFDA) and "class_distances_" in vars(model):
        means, words = model.class_distances_, "distances as they were given or measured"
    else:
        some = some_objects(len(codes))
        Z = np.asarray(model.embedding_, dtype=np.float64)[some]
        means = class_distances(np.linalg.norm(Z[:, None] - Z, axis=2), codes[some], len(labels))
        words = "distances in the embedding"
    counts = np.bincount(codes, minlength=len(labels))
    between = np.outer(counts, counts) * (1 - np.eye(len(labels)))
    inside = np.diag(counts * np.maximum(counts - 1, 0)).astype(float)
    first = np.arange(len(labels))[:CLASSES_SHOWN]
    return {
        "words": words,
        "within": number(_mean(means, inside), 4),
        "between": number(_mean(means, between), 4),
        "labels": [labels[k] for k in first],
        "values": [numbers(means[k, first]) for k in first],
        "left_out": len(labels) - len(first),
    }


def _mean(values: npt.NDArray, weights: npt.NDArray) -> float:
    known = np.isfinite(values) & (weights > 0)
    return float((values[known] * weights[known]).sum() / weights[known].sum()) if known.any() else np.nan


def _of_classes(context: Context, model: MDSFDA) -> dict[str, Any]:
    codes, labels = model._codes, [text(label) for label in model.classes_.tolist()]
    belief = np.exp(model._log_proba_at(np.asarray(model.embedding_, dtype=np.float64)))
    taken = belief.argmax(axis=1)
    tried = model.cv_results_
    name = namer(model, context.sample.table if context.described and context.sample is not None else None)
    at = np.flatnonzero(tried["regularization"] == model.regularization_)
    accuracy = tried["accuracy"][at[0]] if len(at) else np.nan
    return {
        "confusion": confusion(taken, codes, labels, f"all {len(codes):,} training objects"),
        "held_out": number(accuracy, 4),
        "examples": [_examples(model, k, label, belief, taken, name) for k, label in enumerate(labels)][:CLASSES_SHOWN],
    }


def _examples(
    model: MDSFDA, k: int, label: str, belief: npt.NDArray, taken: npt.NDArray, name: Callable[[int], str]
) -> dict[str, Any]:
    """Return the objects of a class that lie nearest to its mean, and those that are least surely of it."""
    own = np.flatnonzero(model._codes == k)
    Z = np.asarray(model.embedding_, dtype=np.float64)[own]
    near = own[np.argsort(np.linalg.norm(Z - Z.mean(axis=0), axis=1), kind="stable")[:TYPICAL]]
    unsure = own[np.argsort(belief[own, k], kind="stable")]
    doubtful = unsure[~np.isin(unsure, near) & (belief[unsure, k] < SURE)][:DOUBTFUL]
    return {
        "class": label,
        "objects": len(own),
        "typical": [name(int(i)) for i in near],
        "doubtful": [
            {
                "object": name(int(i)),
                "belief": number(belief[i, k], 3),
                "taken_for": text(model.classes_[taken[i]]),
            }
            for i in doubtful
        ],
    }
