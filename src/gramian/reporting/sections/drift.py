"""What changed since earlier moments, per column and per pair of columns: the rows of `gm.compare` that matter first."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.linear.drift import SURE, changes
from gramian.reporting.context import Context
from gramian.reporting.values import number

SHOWN = 60
"""Changes listed, at most; `gramian compare --json` lists all."""
PAIRED = 60
"""Columns up to which pairs are compared too: their number grows with the square."""
_KINDS = {
    "levels": "shares of levels",
    "dependence": "how they go together",
    "missing": "missing values",
    "columns": "the column itself",
}


def drift(context: Context) -> dict[str, Any] | str | None:
    """Return what changed since the moments that were named, changes beyond chance first; None where none were."""
    before, now = context.request.since, context.request.moments
    if before is None:
        return None
    if now is None:
        return "there are no moments to compare: pass them, or rows to collect"
    pairs = max(len(before.columns), len(now.columns)) <= PAIRED
    # A category that was told from its numbers alone is compared as it was collected on both sides.
    found = changes(before, now, pairs=pairs)
    tested = [change for change in found if np.isfinite(change.p_value)]
    shown = [change for change in found if change.what != "identifier"]
    return {
        "since": context.request.since_name,
        "n_before": before.n_rows,
        "n_now": now.n_rows,
        "left_out": now.rows_left_out,
        "tested": len(tested),
        "pairs": pairs,
        "certain": sum(change.adjusted <= SURE for change in tested),
        "changes": [
            {
                "column": change.column if change.other is None else f"{change.column} and {change.other}",
                "what": _KINDS.get(change.what, change.what),
                "words": change.change.replace("->", "→"),
                "effect": number(change.effect, 4),
                "p_value": number(change.adjusted, 4),
                "certain": bool(change.adjusted <= SURE),
            }
            for change in shown[:SHOWN]
        ],
    }
