"""Which columns and levels make up each feature.

A weight alone misleads: a level of three rows may carry a large one and move almost nothing. What a design column does to a
feature is its weight times its spread, sqrt(s (1 - s)) for a level of share s; tables are sorted by that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.estimators.base.projection_features import ProjectionFeatures
from gramian.maps.fitted_design import Design
from gramian.moments.value import Moments
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number, numbers, text

FEATURES = 5
LONGEST = 500
"""Design columns listed a model; the others have less effect on every feature."""


def loadings(context: Context) -> dict[str, Any] | str:
    """Return weights and effects of the design columns on the first features of every linear model."""
    linear = [model for model in context.models if isinstance(model, ProjectionFeatures)]
    models = [model for model in linear if model._n_features_out]
    if not models:
        return "no model here is a linear map of columns"
    return {"models": [_of_model(context, model) for model in models]}


def _of_model(context: Context, model: Any) -> dict[str, Any]:
    projection = model.projection_
    design: Design = projection.design
    weights = np.asarray(projection.weights)[:, :FEATURES]
    effects = weights * spread_of(design, vars(model).get("moments_") or context.moments)[:, None]
    order = np.argsort(-np.abs(effects).max(axis=1), kind="stable")[:LONGEST]
    table = projection.loadings(["w"])
    shares = _shares(design)
    return {
        "model": type(model).__name__,
        "features": [str(name) for name in model.get_feature_names_out()[: weights.shape[1]]],
        "column": [text(table["column"][k]) for k in order],
        "level": [None if table["level"][k] is None else text(table["level"][k]) for k in order],
        "share": [number(shares[k], 4) for k in order],
        "weights": [numbers(weights[order, k]) for k in range(weights.shape[1])],
        "effects": [numbers(effects[order, k]) for k in range(weights.shape[1])],
        "left_out": len(weights) - len(order),
    }


def _shares(design: Design) -> npt.NDArray[np.float64]:
    """Return the share of rows of each level, NaN for a number."""
    shares = np.array(design.mean, dtype=np.float64)
    shares[design.number_places] = np.nan
    return shares


def spread_of(design: Design, moments: Moments | None) -> npt.NDArray[np.float64]:
    """Return the standard deviation of each design column; 1 for a number of which no moments are known."""
    shares = np.clip(np.nan_to_num(design.mean), 0.0, 1.0)
    spread = np.sqrt(shares * (1 - shares))
    spread[design.number_places] = 1.0
    if moments is not None:
        deviations = {column.name: column.std for column in moments.summary().columns}
        for column in design.numeric:
            std = deviations.get(column.name)
            if std is not None:
                spread[design.spans[column.name]] = std
    return spread
