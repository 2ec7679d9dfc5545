"""What fixed random units do with the rows: how hidden units are used, reservoir states over time, spikes, a forecast."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.estimators.base.hidden_readout import HiddenReadout
from gramian.estimators.base.sequence_inputs import SequenceTransformer
from gramian.estimators.random_features import RandomFeatures
from gramian.estimators.reservoirs.echo_state_regressor import EchoStateRegressor
from gramian.estimators.reservoirs.liquid_state import LiquidStateFeatures
from gramian.random.elm import hidden_names
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number

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
            facts["activity"] = _activity(*_of_hidden(context, model))
        elif isinstance(model, RandomFeatures):
            values = _rows(context, model.transform)
            facts["activity"] = _activity(values.mean(axis=0), values.std(axis=0))
        elif isinstance(model, EchoStateRegressor):
            facts["forecast"] = _forecast(context, model)
        elif isinstance(model, LiquidStateFeatures):
            facts |= _spikes(_rows(context, model.spikes, rows=1), model)
        else:
            states = _rows(
                context, lambda rows: model._reservoir.states(model._read(rows, None, reset=False)[0]), rows=1
            )
            facts["states"] = _series(states)
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


def _of_hidden(context: Context, model: HiddenReadout) -> tuple[Array, Array]:
    """Return mean and standard deviation of each hidden unit: of the moments where they are there, else of the sample."""
    moments = vars(model).get("moments_")
    if moments is not None:
        names = hidden_names(model._map.n_features)
        spread = np.sqrt(np.maximum(np.diagonal(moments.covariance(names, ddof=0)), 0.0))
        return moments.mean(names), spread
    hidden = _rows(context, model.hidden_layer)
    return hidden.mean(axis=0), hidden.std(axis=0)


def _activity(mean: Array, spread: Array) -> dict[str, Any]:
    """Return how much units vary over the rows, as a histogram, and how many hardly do."""
    counts, edges = np.histogram(spread, bins=BINS)
    top = float(spread.max(initial=0.0))
    return {
        "n_units": len(mean),
        "idle": int(np.count_nonzero(spread <= 0.01 * top)) if top > 0 else len(mean),
        "middle": number(np.median(spread)),
        "histogram": [
            {"x": number((a + b) / 2), "y": int(n)} for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
        ],
    }


def _series(states: Array) -> list[dict[str, Any]]:
    part = np.asarray(states)[:STEPS_SHOWN, :UNITS_SHOWN]
    return [
        {"step": t, "state": number(part[t, k], 4), "series": f"unit {k}"}
        for k in range(part.shape[1])
        for t in range(len(part))
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
    if not model._feeds_itself:
        raise DataError("the model predicts another column, so it does not forecast its own next values")
    named = hasattr(model, "feature_names_in_")
    names = [str(name) for name in model.feature_names_in_] if named else sample.table.column_names[:1]
    whole = sample.table.select(names)
    values = np.column_stack([np.asarray(column, dtype=np.float64) for column in whole.columns])
    steps = max(1, min(STEPS_SHOWN, len(values) // 5))
    known = whole.slice(0, len(values) - steps)
    ahead = model.forecast(steps, after=known if named else values[:-steps, 0])
    first = ahead.reshape(steps, -1)[:, 0]
    return [
        {"step": t, "value": number(v, 5), "series": name}
        for name, line in (("what came next", values[-steps:, 0]), ("forecast", first))
        for t, v in enumerate(line)
    ]
