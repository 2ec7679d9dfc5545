"""Section on an additive model: how much each term matters, curves of columns, and heat maps of crosses."""

from __future__ import annotations

from typing import Any

from gramian.design.crosses import in_order, split_label
from gramian.estimators.regression.additive import AdditiveModel
from gramian.reporting.context import Context
from gramian.reporting.sections.coefficients import columns_of
from gramian.reporting.values import number, text

PANELS = 12
"""Terms that are drawn, the most important first."""

DRAWN = 40
"""Levels of a category that are drawn, those with the largest effects."""


def shapes(context: Context) -> dict[str, Any] | None:
    """Return the terms of an additive model, and the effects of the most important of them."""
    model = context.model(AdditiveModel)
    if model is None:
        return None
    terms, effects = columns_of(model.terms_), columns_of(model.explain_global())
    several = [str(each) for each in effects.get("class", [])]
    order = sorted(range(len(terms["term"])), key=lambda k: -terms["importance"][k])
    panels = []
    for k in order[:PANELS]:
        name, kind = terms["term"][k], terms["kind"][k]
        at = [
            j for j, each in enumerate(effects["term"]) if each == name and (not several or several[j] == several[-1])
        ]
        points = [
            {
                "level": effects["level"][j],
                "value": number(effects["effect"][j]),
                "low": number(effects["lower"][j]),
                "high": number(effects["upper"][j]),
                "rows": number(effects["rows"][j]),
            }
            for j in at
        ]
        panels.append(_panel(name, kind, points))
    return {
        "model": type(model).__name__,
        "target": context.target,
        "shown_class": several[-1] if several else None,
        "terms": [
            {"term": terms["term"][k], "kind": terms["kind"][k], "importance": number(terms["importance"][k])}
            for k in order
        ],
        "panels": panels,
        "undrawn": max(len(order) - PANELS, 0),
    }


def _panel(name: str, kind: str, points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is drawn of a term: a curve, a forest of levels, or a heat map."""
    if kind == "cross":
        sides = [split_label(point["level"]) for point in points]
        for point, (left, right) in zip(points, sides, strict=True):
            point |= {"left": text(left), "right": text(right)}
        rows, columns = (list(map(text, in_order({pair[j] for pair in sides}))) for j in (0, 1))
        return {"term": name, "form": "heat", "points": points, "rows": rows, "columns": columns, "more": 0}
    if kind == "number" and len(points) > 1:
        return {"term": name, "form": "curve", "points": points, "more": 0}
    strong = sorted(points, key=lambda point: -abs(point["value"]))[:DRAWN]
    drawn = sorted(strong, key=lambda point: -point["value"])
    return {"term": name, "form": "forest", "points": drawn, "more": len(points) - len(drawn)}
