"""Columns ranked by how strongly they go with the target."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.errors import DataError
from gramian.linear.regression.independence import independence_test
from gramian.linear.regression.targets import refuse_missing
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number

RANKED = 400
"""Columns tested, at most."""


def ranking(context: Context) -> dict[str, Any] | str:
    """Return for each column the independence test against the target and its association, corrected for chance.

    With squared canonical correlations that add up to statistic / (n - 1), association is the root of their mean over
    m = min(rank_x, rank_y): Cramer's V, the correlation ratio or |r|. Under independence the statistic is df on average:
    what is left without that is the association beyond chance.
    """
    moments, target = context.moments, context.collected_target
    if context.target is None:
        return "no target is known: pass target="
    if moments is None or target is None:
        return f"the target {context.target!r} is not among the collected columns"
    try:
        refuse_missing(moments, target)
    except DataError as error:
        return str(error)
    rows: list[dict[str, Any]] = []
    for name in context.features[:RANKED]:
        column = moments.schema[name]
        test = independence_test(moments, name, target)
        at_most = (test.n - 1) * max(min(test.rank_x, test.rank_y), 1)
        rows.append(
            {
                "column": name,
                "kind": column.kind,
                "measure": measure_of(column.kind, moments.kind(target)),
                "association": number(np.sqrt(max(test.statistic, 0.0) / at_most), 4),
                "beyond_chance": number(np.sqrt(max(test.statistic - test.df, 0.0) / at_most), 4),
                "statistic": number(test.statistic),
                "df": test.df,
                "p_value": number(test.p_value, 4),
            }
        )
    rows.sort(key=lambda row: (-row["beyond_chance"], -row["association"], row["column"]))
    return {"target": target, "columns": rows, "left_out": len(context.features) - len(rows)}


def measure_of(a: str, b: str) -> str:
    """Return by what measure two columns of these kinds are compared.

    Examples
    --------
    >>> measure_of("categorical", "numeric")
    'correlation ratio'
    """
    kinds = {a, b}
    if kinds == {"categorical"}:
        return "Cramér's V"
    return "|r|" if kinds == {"numeric"} else "correlation ratio"
