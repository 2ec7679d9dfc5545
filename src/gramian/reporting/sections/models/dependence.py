"""The Mahalanobis statistic: how much of the target the columns tell linearly, and whether that could be chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.estimators.mahalanobis import MahalanobisFeatures
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number

POINTS = 60


def dependence(context: Context) -> dict[str, Any] | str:
    """Return the statistic, its p-value and R^2, the test of each component, and the curve behind the ridge."""
    model = context.model(MahalanobisFeatures)
    if model is None:
        if context.target is None:
            return "no target is known: pass target="
        return context.refused.get("MahalanobisFeatures", "no Mahalanobis features were fitted")
    tests = model.component_tests_
    r2 = np.asarray(model.component_r2_, dtype=np.float64)
    names = [str(name) for name in model.get_feature_names_out()]
    components = [
        {
            "k": k + 1,
            "feature": names[k] if k < len(names) and len(r2) else None,
            "r2": number(r2[k], 5) if k < len(r2) else None,
            "statistic": number(statistic),
            "df": int(df),
            "p_value": number(p, 4),
        }
        for k, (statistic, df, p) in enumerate(zip(tests["statistic"], tests["df"], tests["p_value"], strict=True))
    ]
    return {
        "model": type(model).__name__,
        "target": context.target,
        "statistic": number(model.statistic_),
        "p_value": number(model.p_value_, 4),
        # A model saved before there were others has the p-value of chi-squared.
        "moments": getattr(model, "p_value_moments_", "chi-squared"),
        "df": components[0]["df"] if components else None,
        "r2": number(model.r2_, 5),
        "r2_cv": number(model.r2_cv_, 5),
        "ridge": number(model.ridge_, 4),
        "components": components[:20],
        "ridge_curve": _curve(model),
    }


def _curve(model: Any) -> dict[str, Any] | None:
    """Return the score that the ridge was chosen by."""
    curve = {name: np.asarray(values) for name, values in model.selection_.items()}
    score = next((name for name in ("r2_cv", "r2", "score", "gcv") if name in curve), None)
    if "ridge" not in curve or score is None or len(curve["ridge"]) < 3:
        return None
    rows = [
        {"ridge": number(r), "score": number(s)}
        for r, s in zip(curve["ridge"], curve[score], strict=True)
        if np.isfinite(s) and r > 0
    ]
    return {"score": score, "points": rows[:POINTS]} if len(rows) >= 3 else None
