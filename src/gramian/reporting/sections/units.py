"""Sections on models of units: hidden units and reservoirs, the atoms of a dictionary, and how a model was learnt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.estimators.hidden_readout import HiddenReadout
from gramian.estimators.random_features import RandomFeatures
from gramian.estimators.reservoirs.echo_state import EchoStateRegressor
from gramian.estimators.reservoirs.liquid_state import LiquidStateFeatures
from gramian.estimators.reservoirs.sequence_features import SequenceTransformer
from gramian.estimators.sparse.nmf import NMF
from gramian.estimators.sparse.signals import SignalTransformer
from gramian.estimators.spine.outputs import outputs_of
from gramian.random.elm import hidden_names
from gramian.reporting.context import Context
from gramian.reporting.values import number, text
from gramian.sparse.atoms import unit_rows
from gramian.sparse.coders.choice import Coder, steps_of

# What fixed random units do with the rows

UNITS_SHOWN = 5
STEPS_SHOWN = 300
RASTER_UNITS = 80
BINS = 20

KINDS = (HiddenReadout, RandomFeatures, SequenceTransformer, EchoStateRegressor)


def units(context: Context) -> dict[str, Any] | str | None:
    """Return the activity of hidden units or of a reservoir; None where no model has any."""
    model = next((model for model in context.models if isinstance(model, KINDS)), None)
    if model is None:
        return None
    facts: dict[str, Any] = {
        "model": type(model).__name__,
        "activity": None,
        "states": [],
        "raster": [],
        "forecast": [],
    }
    if "ridge_" in vars(model):
        facts["ridge"] = number(model.ridge_)
    try:
        if isinstance(model, HiddenReadout):
            facts["activity"] = _activity(_spread_of_hidden(context, model))
        elif isinstance(model, RandomFeatures):
            facts["activity"] = _activity(_rows(context, model.transform).std(axis=0))
        elif isinstance(model, EchoStateRegressor):
            facts["forecast"] = _forecast(context, model)
        elif isinstance(model, LiquidStateFeatures):
            facts |= _spikes(_rows(context, model.spikes, rows=1), model)
        else:
            states = np.asarray(_rows(context, model.states, rows=1)[0])[:STEPS_SHOWN, :UNITS_SHOWN]
            units_of = {f"unit {k}": values for k, values in enumerate(states.T)}
            facts["states"] = _series("step", range(len(states)), "state", units_of, 4)
    except DataError as error:
        return str(error)
    return facts


def _rows(context: Context, function: Any, rows: int | None = None) -> Any:
    """Return a function of the sampled rows, or of the first of them."""
    if context.request.sequences is not None:
        return function(context.request.sequences[:1])
    if context.sample is None or not context.sample.table.num_rows:
        raise DataError("no rows are known: pass ", Argument("data"))
    table = context.sample.table if rows is None else context.sample.table.slice(0, rows)
    names = getattr(context.models[0], "feature_names_in_", None)
    return function(table if names is None else table.select([str(name) for name in names]))


def _spread_of_hidden(context: Context, model: HiddenReadout) -> Array:
    """Return the standard deviation of each hidden unit: of the moments where they are there, else of the sample."""
    moments = vars(model).get("moments_")
    if moments is None:
        return np.asarray(_rows(context, model.hidden_layer).std(axis=0))
    layers = model.hidden_weights_
    names = hidden_names((layers[-1] if isinstance(layers, list) else layers).shape[1])
    return np.sqrt(np.maximum(np.diagonal(moments.covariance(names, ddof=0)), 0.0))


def _activity(spread: Array) -> dict[str, Any]:
    """Return how much units vary over the rows, as a histogram, and how many hardly do."""
    if not np.isfinite(spread).all():
        raise DataError(
            "the outputs of its units are so large that their squares overflow; divide the columns by a constant"
        )
    counts, edges = np.histogram(spread, bins=BINS)
    top = float(spread.max(initial=0.0))
    return {
        "n_units": len(spread),
        "idle": int(np.count_nonzero(spread <= 0.01 * top)) if top > 0 else len(spread),
        "middle": number(np.median(spread)),
        "histogram": [
            {"x": number((a + b) / 2), "y": int(n)} for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
        ],
    }


def _series(
    over: str, steps: Iterable[int], what: str, lines: Mapping[str, Iterable[float]], digits: int = 6
) -> list[dict[str, Any]]:
    """Return the points of named lines over the same steps, as `charts.lines` draws them.

    Examples
    --------
    >>> _series("step", [0, 1], "state", {"unit 0": [0.5, 0.25]})
    [{'step': 0, 'state': 0.5, 'series': 'unit 0'}, {'step': 1, 'state': 0.25, 'series': 'unit 0'}]
    """
    return [
        {over: int(step), what: number(value, digits), "series": name}
        for name, values in lines.items()
        for step, value in zip(steps, values, strict=True)
    ]


def _spikes(rasters: list[Array], model: LiquidStateFeatures) -> dict[str, Any]:
    fired = np.asarray(rasters[0])[:STEPS_SHOWN]
    rates = 1000.0 / float(model.dt) * fired.mean(axis=0)
    steps, which = np.nonzero(fired[:, :RASTER_UNITS])
    return {
        "raster": [{"step": int(t), "unit": int(k)} for t, k in zip(steps, which, strict=True)],
        "rate": number(rates.mean(), 3),
        "fastest": number(rates.max(initial=0.0), 3),
        "silent": int(np.count_nonzero(rates == 0)),
        "n_units": len(rates),
    }


def _forecast(context: Context, model: EchoStateRegressor) -> list[dict[str, Any]]:
    """Return the last fifth of the rows beside a forecast from those before, where they are one whole sequence."""
    sample = context.sample
    if sample is None:
        raise DataError("no rows are known: pass ", Argument("data"))
    if sample.n_rows is not None and sample.table.num_rows != sample.n_rows:
        raise DataError("the rows are steps of a sequence, and only some of them were read")
    named = hasattr(model, "feature_names_in_")
    names = [str(name) for name in model.feature_names_in_] if named else sample.table.column_names[:1]
    whole = sample.table.select(names)
    values = np.column_stack([np.asarray(column, dtype=np.float64) for column in whole.columns])
    steps = max(1, min(STEPS_SHOWN, len(values) // 5))
    known = whole.slice(0, len(values) - steps)
    ahead = model.forecast(steps, after=known if named else values[:-steps, 0])
    lines = {"what came next": values[-steps:, 0], "forecast": ahead.reshape(steps, -1)[:, 0]}
    return _series("step", range(steps), "value", lines, 5)


# Atoms: what they look like, what few of them leave unexplained, and how they compete for a row

PICTURES = 36
"""Atoms that are drawn."""
CODED_ROWS = 500
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
    rows = _coded_rows(context, model)
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


def _coded_rows(context: Context, model: SignalTransformer) -> Array | None:
    """Return some sampled rows without gaps, None where there are none that say anything."""
    if context.sample is None or not set(model.design_.origins) <= set(context.sample.table.column_names):
        return None
    table = context.sample.table.select(model.design_.origins)
    values = np.column_stack([np.asarray(column.to_numpy(), dtype=np.float64) for column in table.columns])
    values = values[np.isfinite(values).all(axis=1)][:CODED_ROWS]
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
    return _series("step", range(STEPS + 1), "activity", {f"atom {j}": path[:, j] for j in active}, 5)


# How a model was learnt row by row

HISTORY_POINTS = 60
"""Entries of a history that are drawn."""
LEARNT_UNITS = 5
WEIGHTS = 6
"""Weights that are followed over time: those of the first unit that end largest."""

MEASURES = {
    "angle": "degrees to the batch solution",
    "error": "reconstruction error",
    "turned": "degrees that the rotation moved",
}


def learning(context: Context) -> dict[str, Any] | None:
    """Return the history of every model that has one, or None: only models that learn row by row have it."""
    models = [model for model in context.models if isinstance(getattr(type(model), "history_", None), property)]
    histories = [_history_of(model) for model in models if "_history" in vars(model)]
    return {"models": [each for each in histories if each is not None]} if any(histories) else None


def _history_of(model: Any) -> dict[str, Any] | None:
    history = model.history_
    updates = history.get("updates", np.empty(0))
    if not len(updates):
        return None
    at = np.unique(np.linspace(0, len(updates) - 1, min(HISTORY_POINTS, len(updates))).round().astype(int))
    names = outputs_of(model).names("transform")
    norms, weights = history["norms"], history["weights"]
    largest = np.argsort(-np.abs(weights[-1, 0]), kind="stable")[:WEIGHTS]
    over = model.design_names_ if weights.shape[2] == len(model.design_names_) else range(weights.shape[2])
    lengths = {names[k]: norms[at, k] for k in range(min(LEARNT_UNITS, norms.shape[1]))}
    followed = {text(over[j]): weights[at, 0, j] for j in largest}
    out: dict[str, Any] = {
        "model": type(model).__name__,
        "rule": text(getattr(model, "rule", "")) or None,
        "mode": text(getattr(model, "mode", "")) or None,
        "rate": "automatic" if model.learning_rate == "auto" else number(model.learning_rate, 4),
        "entries": len(updates),
        "updates": int(updates[-1]),
        "norms": _series("updates", updates[at], "value", lengths),
        "weights": _series("updates", updates[at], "value", followed),
        "first": names[0],
        "measure": None,
    }
    for name, words in MEASURES.items():
        if name in history and np.isfinite(history[name]).all():
            points = [{"updates": int(updates[t]), "value": number(history[name][t])} for t in at]
            out["measure"] = {"name": name, "words": words, "points": points, "last": number(history[name][-1], 4)}
            break
    return out
