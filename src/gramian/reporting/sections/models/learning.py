"""How a model came to be that was learnt row by row: weights and their lengths over time, and the way to the batch solution."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number, text

POINTS = 60
"""Entries of a history that are drawn."""
UNITS = 5
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
    histories = [_of_model(model) for model in models if "_history" in vars(model)]
    return {"models": [each for each in histories if each is not None]} if any(histories) else None


def _of_model(model: Any) -> dict[str, Any] | None:
    history = model.history_
    updates = history.get("updates", np.empty(0))
    if not len(updates):
        return None
    at = np.unique(np.linspace(0, len(updates) - 1, min(POINTS, len(updates))).round().astype(int))
    names = [str(name) for name in model.get_feature_names_out()]
    norms, weights = history["norms"], history["weights"]
    largest = np.argsort(-np.abs(weights[-1, 0]), kind="stable")[:WEIGHTS]
    over = model.design_names_ if weights.shape[2] == len(model.design_names_) else range(weights.shape[2])
    out: dict[str, Any] = {
        "model": type(model).__name__,
        "rule": text(getattr(model, "rule", "")) or None,
        "mode": text(getattr(model, "mode", "")) or None,
        "rate": "automatic" if model.learning_rate == "auto" else number(model.learning_rate, 4),
        "entries": len(updates),
        "updates": int(updates[-1]),
        "norms": [
            {"updates": int(updates[t]), "value": number(norms[t, k]), "series": names[k]}
            for k in range(min(UNITS, norms.shape[1]))
            for t in at
        ],
        "weights": [
            {"updates": int(updates[t]), "value": number(weights[t, 0, j]), "series": text(over[j])}
            for j in largest
            for t in at
        ],
        "first": names[0],
        "measure": None,
    }
    for name, words in MEASURES.items():
        if name in history and np.isfinite(history[name]).all():
            points = [{"updates": int(updates[t]), "value": number(history[name][t])} for t in at]
            out["measure"] = {"name": name, "words": words, "points": points, "last": number(history[name][-1], 4)}
            break
    return out
