"""How much variance the principal components hold, and how many each criterion would keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.estimators.mds import ClassicalMDS
from gramian.estimators.pca import PCA
from gramian.linear.components import elbow_depth, minka_log_evidence
from gramian.linear.pca import noise_directions, pca
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number

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
        "components": _rows(values / total, cumulative, values),
        "chosen": [{"rule": rule, "k": k, "about": ABOUT[rule]} for rule, k in chosen],
    }


def _rows(shares: npt.NDArray, cumulative: npt.NDArray, values: npt.NDArray) -> list[dict[str, Any]]:
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
    for name in rules:
        if name == rule:
            out.append((name, int(model.n_components_)))
            continue
        try:
            solution = pca(moments, model._features, n_components=name, scale=model.scale, ddof=model.ddof)  # type: ignore[arg-type]
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
        "components": _rows(shares, np.cumsum(shares), values),
        "chosen": [{"rule": "kept", "k": model.embedding_.shape[1], "about": ABOUT["kept"]}],
    }
