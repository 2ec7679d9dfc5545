"""Objects known by their distances: where they lie, how well that keeps the distances, which class is taken for which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.arrays.types import Array
from gramian.distances.mds import class_distances, some_objects
from gramian.errors import Argument, DataError
from gramian.estimators.mdsfda import MDSFDA
from gramian.estimators.spine.distance_estimator import DistanceTransformer
from gramian.estimators.spine.outputs import outputs_of
from gramian.reporting.context import Context
from gramian.reporting.sections.cells import coloured, columns_of, levels_of, view_of
from gramian.reporting.sections.supervised import CLASSES_SHOWN, confusion
from gramian.reporting.values import number, numbers, text

TYPICAL, DOUBTFUL, SURE = 3, 2, 0.9
"""Examples of a class: so many nearest to its mean, and so many that are of it with less than this probability."""


def objects(context: Context) -> dict[str, Any] | None:
    """Return what a model of distances knows of its training objects; None where there is no such model."""
    model = context.model(DistanceTransformer)
    if model is None:
        return None
    n = len(model.embedding_)
    classified = hasattr(model, "class_codes_")
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
    names = outputs_of(model).names("transform")
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
    codes, labels = model.class_codes_, [text(label) for label in model.classes_.tolist()]
    belief = np.exp(model.log_proba_at(np.asarray(model.embedding_, dtype=np.float64)))
    taken = belief.argmax(axis=1)
    tried = model.cv_results_
    name = namer(model, context.description)
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
    own = np.flatnonzero(model.class_codes_ == k)
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


# The map: where the fit put the objects, their classes, and what describes them

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
    name = namer(model, context.description)
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
    if context.description is not None:
        table = context.description.take(pa.array(shown))
        taken = {column["name"] for column in columns}
        columns += [column for column in columns_of(context, table) if column["name"] not in taken]
    features, views = _coordinates(model, shown, None if codes is None else codes[shown])
    return {
        "words": f"{len(shown):,} of {n:,} training objects" if len(shown) < n else f"all {n:,} training objects",
        "positions": shown.tolist(),
        "columns": columns,
        "features": features,
        "views": views,
        "colours": colours,
    }


def _coordinates(model: Any, shown: Array, codes: Array | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the coordinates and the pairs of them to look at; a single one is spread out by class, or at random."""
    names = outputs_of(model).names("transform")[:AXES]
    features: list[dict[str, Any]] = [
        {"name": name, "values": numbers(model.embedding_[shown, k])} for k, name in enumerate(names)
    ]
    if len(names) == 1:
        apart = np.random.default_rng(SEED).uniform(-0.3, 0.3, len(shown)) + (0 if codes is None else codes)
        names.append("class, spread out" if codes is not None else "spread out for sight")
        features.append({"name": names[1], "values": numbers(apart, 3), "unmarked": True})
    return features, [view_of(names[0], other) for other in names[1:]]


# Objects as texts that a page can show

NUMBERS_SHOWN = 4


def namer(model: DistanceTransformer, described: pa.Table | None = None) -> Callable[[int], str]:
    """Return what gives the name of a training object: itself, its name in a table that describes it, or its position.

    Parameters
    ----------
    model : DistanceTransformer
    described : pyarrow.Table, optional
        One row an object; its first column of texts, no two alike, names them where the model does not keep them.

    Examples
    --------
    >>> from gramian.estimators.mds import ClassicalMDS
    >>> namer(ClassicalMDS(1, metric="levenshtein").fit(["aa", "ab", "bb"]))(1)
    'ab'
    >>> model = ClassicalMDS(1).fit([[0.0, 1.0], [1.0, 0.0]])
    >>> namer(model)(1), namer(model, pa.table({"name": ["first", "second"]}))(1)
    ('object 1', 'second')
    """
    names = None if described is None else _name_column(described)

    def name(position: int) -> str:
        kept = _shown(model, position)
        if kept is None and names is not None:
            kept = text(names[position].as_py())
        return f"object {position:,}" if kept is None else kept

    return name


def _name_column(table: pa.Table) -> pa.ChunkedArray | None:
    for column in table.columns:
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if is_text and pc.count_distinct(column).as_py() == len(column):
            return column
    return None


def _shown(model: DistanceTransformer, position: int) -> str | None:
    objects = vars(model).get("objects_")
    if objects is None or model.metric == "gower":
        # Distances alone, or rows of a table as codes and numbers: neither can be read.
        return None
    if model.landmarks_ is not None:
        places = np.flatnonzero(model.landmarks_ == position)
        if not len(places):
            return None
        position = int(places[0])
    one = objects[position]
    if isinstance(one, str):
        return text(one)
    if isinstance(one, np.ndarray):
        values = one.ravel()
        more = ", …" if len(values) > NUMBERS_SHOWN else ""
        return f"({', '.join(f'{v:.3g}' for v in values[:NUMBERS_SHOWN])}{more})"
    if isinstance(one, list | tuple | set | frozenset):
        return text(" ".join(map(str, one)))
    return text(one)
