"""Columns ranked by how strongly they go with the target; and every two columns with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.linear.regression.independence import independence_test
from gramian.moments.association import association
from gramian.moments.value import Moments
from gramian.reporting.gather.context import Material
from gramian.reporting.gather.json_values import number, numbers

RANKED = 400
"""Columns tested, at most."""
MAPPED = 36
"""Columns of the heat map, at most."""
LEVELS_TESTED = 20_000
"""A column of more levels is nearly an id: its test says nothing and costs the most."""


def ranking(material: Material) -> dict[str, Any] | str:
    """Return for each column the independence test against the target and its association, corrected for chance.

    With squared canonical correlations that add up to statistic / (n - 1), association is the root of their mean over
    m = min(rank_x, rank_y): Cramer's V, the correlation ratio or |r|. Under independence the statistic is df on average:
    what is left without that is the association beyond chance.
    """
    moments, target = material.moments, material.collected_target
    if material.target is None:
        return "no target is known: pass target="
    if moments is None or target is None:
        return f"the target {material.target!r} is not among the collected columns"
    rows: list[dict[str, Any]] = []
    for name in material.features[:RANKED]:
        column = moments.schema[name]
        if column.by_level and len(moments.levels(name)) > LEVELS_TESTED:
            continue
        test = independence_test(moments, name, target)
        at_most = (test.n - 1) * max(min(test.rank_x, test.rank_y), 1)
        rows.append(
            {
                "column": name,
                "kind": column.kind,
                "measure": _measure(moments, name, target),
                "association": number(np.sqrt(max(test.statistic, 0.0) / at_most), 4),
                "beyond_chance": number(np.sqrt(max(test.statistic - test.df, 0.0) / at_most), 4),
                "statistic": number(test.statistic),
                "df": test.df,
                "p_value": number(test.p_value, 4),
            }
        )
    rows.sort(key=lambda row: (-row["beyond_chance"], -row["association"], row["column"]))
    return {"target": target, "columns": rows, "left_out": len(material.features) - len(rows)}


def _measure(moments: Moments, a: str, b: str) -> str:
    kinds = {moments.kind(a), moments.kind(b)}
    if kinds == {"categorical"}:
        return "Cramér's V"
    return "|r|" if kinds == {"numeric"} else "correlation ratio"


def associations(material: Material, ranked: dict[str, Any] | str) -> dict[str, Any] | str:
    """Return the association of every two source columns, the strongest pairs first in a list."""
    moments = material.moments
    if moments is None:
        return "there are no moments: pass them, or rows as data="
    last = [] if material.collected_target is None else [material.collected_target]
    names = [*material.features, *last]
    if len(names) > MAPPED:
        first = [row["column"] for row in ranked["columns"]] if isinstance(ranked, dict) else material.features
        names = [*first[: MAPPED - len(last)], *last]
    if len(names) < 2:
        return "one column has nothing to go with"
    found = association(moments, names)
    kinds = [moments.kind(name) for name in names]
    # Parts of one date follow from each other; that they do is no finding.
    origins = [moments.schema[name].origin for name in names]
    pairs: list[dict[str, Any]] = [
        {
            "a": names[j],
            "b": names[i],
            "value": number(found[i, j], 4),
            "measure": _measure(moments, names[i], names[j]),
        }
        for i in range(len(names))
        for j in range(i)
        if np.isfinite(found[i, j]) and origins[i] != origins[j]
    ]
    pairs.sort(key=lambda pair: -pair["value"])
    return {
        "columns": names,
        "kinds": kinds,
        "values": [numbers(row) for row in found],
        "strongest": pairs[:10],
        "left_out": len(material.features) + len(last) - len(names),
    }
