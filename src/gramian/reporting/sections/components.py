"""Sections on linear models: how much variance components hold, and which columns make up each feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.estimators.mds import ClassicalMDS
from gramian.estimators.pca import PCA
from gramian.estimators.spine.estimator import ProjectionFeatures
from gramian.estimators.spine.outputs import outputs_of
from gramian.linear.layout import elbow_depth, minka_log_evidence
from gramian.linear.pca import noise_directions, pca
from gramian.maps.projection import Design
from gramian.moments.value import Moments
from gramian.reporting.context import Context
from gramian.reporting.values import level_words, number, numbers, text

# How much variance principal components hold, and how many each criterion would keep

COMPONENTS_SHOWN = 30
SOLVED_AGAIN = 600
"""Design columns up to which the criteria that need eigenvectors are computed beside the fit."""

ABOUT = {
    "elbow": "the knee of the curve",
    "mle": "Minka's evidence for probabilistic PCA",
    "parallel": "what exceeds the largest eigenvalue of noise",
    "cv": "what columns share on left-out rows as well",
    "cv-target": "the best held-out prediction of the target",
    "kept": "kept by the model",
}


def scree(context: Context) -> dict[str, Any] | str:
    """Return the spectrum with its cumulative share and the number of components under each criterion."""
    model = context.model(PCA)
    if model is None:
        return _of_distances(context) or context.refused.get("PCA", "no model here has a spectrum")
    curve = model.selection_
    values = np.asarray(curve["explained_variance"], dtype=np.float64)
    cumulative = np.asarray(curve["cumulative_ratio"], dtype=np.float64)
    total = float(values[0] / cumulative[0]) if len(values) else 1.0
    chosen = _chosen(context, model, values)
    if not context.added(model):
        chosen.append(("kept", int(model.n_components_)))
    return {
        "of": _metric(model),
        "n_components": len(values),
        "components": _spectrum(values / total, cumulative, values),
        "chosen": [{"rule": rule, "k": k, "about": ABOUT[rule]} for rule, k in chosen],
    }


def _spectrum(shares: npt.NDArray, cumulative: npt.NDArray, values: npt.NDArray) -> list[dict[str, Any]]:
    return [
        {"k": k + 1, "variance": number(v), "share": number(s), "cumulative": number(min(c, 1.0))}
        for k, (s, c, v) in enumerate(zip(shares, cumulative, values, strict=True))
    ][:COMPONENTS_SHOWN]


def _metric(model: PCA) -> str:
    """Return what the components are of, in words."""
    design = model.projection_.design
    if model.scale == "auto" and design.categorical:
        mixed = "numbers at unit variance and levels in the chi-squared metric (mixed correspondence analysis, FAMD)"
        return mixed if design.numeric else "levels in the chi-squared metric (multiple correspondence analysis, MCA)"
    return "columns at unit variance" if model.scale is True else "columns as they are (the covariance)"


def _chosen(context: Context, model: PCA, values: npt.NDArray[np.float64]) -> list[tuple[str, int]]:
    out = [("elbow", max(int(np.argmax(elbow_depth(values))), 1))]
    if len(values) > 1:
        design = model.projection_.design
        directions = noise_directions(len(model.design_names_), bool(design.categorical), model.n_samples_)
        out.append(("mle", int(np.argmax(minka_log_evidence(values, float(model.n_samples_), directions))) + 1))
    moments = vars(model).get("moments_")
    rule = model.n_components
    if moments is None or len(model.design_names_) > SOLVED_AGAIN:
        if isinstance(rule, str) and rule not in ("elbow", "mle"):
            out.append((rule, int(model.n_components_)))
        return out
    rules = ["parallel", *(["cv"] if moments.folds else []), *(["cv-target"] if rule == "cv-target" else [])]
    features = [column.name for column in model.design_.columns]
    for name in rules:
        if name == rule:
            out.append((name, int(model.n_components_)))
            continue
        try:
            solution = pca(moments, features, n_components=name, scale=model.scale, ddof=model.ddof)  # type: ignore[arg-type]
        except DataError:
            # A fold may hold too few rows for a likelihood; then this criterion has no answer.
            continue
        out.append((name, len(solution.components)))
    return out


def _of_distances(context: Context) -> dict[str, Any] | None:
    """Return the spectrum of classical scaling, whose negative eigenvalues belong to no coordinate."""
    model = context.model(ClassicalMDS)
    if model is None:
        return None
    values = np.maximum(np.asarray(model.eigenvalues_, dtype=np.float64), 0.0)
    values = values[values > 1e-12 * values.max(initial=0.0)]
    if not len(values):
        return None
    shares = values / values.sum()
    return {
        "of": "the distances (principal coordinates)",
        "n_components": len(values),
        "components": _spectrum(shares, np.cumsum(shares), values),
        "chosen": [{"rule": "kept", "k": model.embedding_.shape[1], "about": ABOUT["kept"]}],
    }


# Loadings

FEATURES = 5
LONGEST = 500
"""Design columns listed a model; the others have less effect on every feature."""


def loadings(context: Context) -> dict[str, Any] | str:
    """Return weights and effects of the design columns on the first features of every linear model."""
    linear = [model for model in context.models if isinstance(model, ProjectionFeatures)]
    models = [model for model in linear if outputs_of(model).names("transform")]
    if not models:
        return "no model here is a linear map of columns"
    return {"models": [_loadings_of(context, model) for model in models]}


def _loadings_of(context: Context, model: Any) -> dict[str, Any]:
    projection = model.projection_
    design: Design = projection.design
    weights = np.asarray(projection.weights)[:, :FEATURES]
    effects = weights * spread_of(design, vars(model).get("moments_") or context.moments)[:, None]
    order = np.argsort(-np.abs(effects).max(axis=1), kind="stable")[:LONGEST]
    table, columns = projection.loadings(["w"]), {column.name: column for column in design.columns}
    levels = [(columns[name], level) for name, level in zip(table["column"], table["level"], strict=True)]
    shares = _shares(design)
    return {
        "model": type(model).__name__,
        "features": outputs_of(model).names("transform")[: weights.shape[1]],
        "column": [text(table["column"][k]) for k in order],
        "level": [None if levels[k][1] is None else level_words(*levels[k]) for k in order],
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
