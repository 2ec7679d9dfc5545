"""Which columns a selector keeps: their scores, the path, and the held-out score of each size."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.estimators.selection.filters import PearsonFilter
from gramian.estimators.selection.selector import ColumnSelector
from gramian.estimators.selection.stepwise import RecursiveEliminator
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number, text

SHOWN = 40
"""Columns in the table."""
LINES = 8
"""Columns whose path is drawn: those that enter first."""
MEANINGS = {
    "VarianceFilter": "the variance of a number; of a category, how likely two rows differ",
    "PearsonFilter": "the correlation with the target beyond chance; minus where one number falls as the other rises",
    "MutualInformationFilter": "the information about the target in nats beyond what chance gives; below 0, less than chance",
    "IndependenceFilter": "the test's statistic over its mean under independence; about 1 where there is nothing",
    "RedundancyFilter": "1 less the degree to which columns kept before explain this one",
    "MRMRFilter": "its relevance for the target by itself, from 0 to 1; those that stay also repeat each other little",
    "ForwardSelector": "the share of the target that the column adds, less twice what chance adds; below 0, it would harm",
    "RecursiveEliminator": "the share of the target lost without the column, less twice what chance takes; below 0, it harms",
    "LassoSelector": "the largest penalty at which the column has coefficients; 0, it never has",
}
"""What a score is, in words."""


def selection(context: Context) -> dict[str, Any] | None:
    """Return what every selector keeps, or None: only selectors do."""
    models = [model for model in context.models if isinstance(model, ColumnSelector)]
    return {"models": [_of_model(model) for model in models]} if models else None


def _of_model(model: ColumnSelector) -> dict[str, Any]:
    columns = model.summary_columns()
    wrapped = isinstance(model, RecursiveEliminator) and model.estimator is not None
    scores = np.asarray(columns["score"], dtype=np.float64)
    p_values = columns.get("p_value")
    # A correlation has a sign; any other score below 0 says less than nothing.
    strengths = np.abs(scores) if isinstance(model, PearsonFilter) else scores
    order = np.lexsort((-np.nan_to_num(strengths, neginf=-np.inf), ~np.asarray(columns["kept"], dtype=bool)))
    rows = [
        {
            "column": text(columns["column"][j]),
            "kept": bool(columns["kept"][j]),
            "score": number(scores[j], 4),
            "strength": number(max(strengths[j], 0.0)),
            "p_value": None if p_values is None else number(p_values[j], 4),
        }
        for j in order[:SHOWN]
    ]
    finite = strengths[np.isfinite(strengths)]
    return {
        "model": type(model).__name__,
        "meaning": "its importance in the model that was wrapped" if wrapped else MEANINGS[type(model).__name__],
        "n_columns": len(scores),
        "n_kept": int(np.sum(columns["kept"])),
        "columns": rows,
        "most": number(finite.max(initial=0.0)) or 1.0,
        "tested": p_values is not None,
        "path": _path(model.path_columns_),
        "held_out": _held_out(model),
    }


def _path(path: dict[str, list[Any]]) -> dict[str, Any] | None:
    """Return lines over the penalties of a Lasso, or the share explained with each column that enters."""
    if "alpha" in path:
        names = list(dict.fromkeys(path["column"]))[:LINES]
        points = [
            {"x": number(a), "y": number(size), "series": text(name)}
            for a, name, size in zip(path["alpha"], path["column"], path["size"], strict=True)
            if name in names
        ]
        return {"points": points, "x": "penalty", "y": "length of the coefficients", "log": True} if points else None
    if "r2" not in path or not path["r2"]:
        return None
    points = [{"x": step, "y": number(value)} for step, value in zip(path["step"], path["r2"], strict=True)]
    return {"points": points, "x": "step", "y": "explained share", "log": False}


def _held_out(model: Any) -> dict[str, Any] | None:
    """Return the held-out score by number of columns, or by penalty, and the choice."""
    scores = vars(model).get("n_selected_cv_")
    if scores is not None and len(scores):
        points = [{"x": k, "y": number(value)} for k, value in enumerate(scores)]
        return {"points": points, "x": "columns", "log": False, "chosen": int(model.get_support().sum())}
    errors = vars(model).get("mse_path_")
    if errors is not None and len(errors):
        points = [{"x": number(a), "y": number(1 - e)} for a, e in zip(model.alphas_, errors, strict=True)]
        return {"points": points, "x": "penalty", "log": True, "chosen": number(model.alpha_, 4)}
    return None
