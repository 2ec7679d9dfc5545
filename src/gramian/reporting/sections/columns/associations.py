"""How strongly every two columns go together."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.moments.association import association
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number, numbers
from gramian.reporting.sections.columns.ranking import measure_of

MAPPED = 36
"""Columns of the heat map, at most: the first in the ranking."""


def associations(context: Context) -> dict[str, Any] | str:
    """Return the association of every two source columns, the strongest pairs first in a list."""
    moments = context.moments
    if moments is None:
        return "there are no moments: pass them, or rows as data="
    last = [] if context.collected_target is None else [context.collected_target]
    names = [*context.features, *last]
    if len(names) > MAPPED:
        ranked = context.sections.get("ranking")
        first = context.features if ranked is None else [row["column"] for row in ranked["columns"]]
        names = [*first[: MAPPED - len(last)], *last]
    if len(names) < 2:
        return "one column has nothing to go with"
    strengths = association(moments, names)
    kinds = [moments.kind(name) for name in names]
    # Parts of one date follow from each other; that they do is no finding.
    origins = [moments.schema[name].origin for name in names]
    pairs: list[dict[str, Any]] = [
        {
            "a": names[j],
            "b": names[i],
            "value": number(strengths[i, j], 4),
            "measure": measure_of(kinds[i], kinds[j]),
        }
        for i in range(len(names))
        for j in range(i)
        if np.isfinite(strengths[i, j]) and origins[i] != origins[j]
    ]
    pairs.sort(key=lambda pair: -pair["value"])
    return {
        "columns": names,
        "kinds": kinds,
        "values": [numbers(row) for row in strengths],
        "strongest": pairs[:10],
        "left_out": len(context.features) + len(last) - len(names),
    }
