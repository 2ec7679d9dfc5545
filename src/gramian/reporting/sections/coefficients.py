"""Section on the coefficients of a regression: one test per column, and coefficients with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.design.schema import Labels
from gramian.errors import DataError
from gramian.estimators.regression.ridge import RegressionModel
from gramian.reporting.context import Context
from gramian.reporting.values import number

PANELS = 12
"""Columns whose coefficients are drawn, the strongest first."""

DRAWN = 40
"""Coefficients of a column that are drawn, those furthest from zero in standard errors."""


def coefficients(context: Context) -> dict[str, Any] | str | None:
    """Return the test of each column, and the coefficients of the strongest with their intervals."""
    model = context.model(RegressionModel)
    if model is None:
        return None
    try:
        tests, found = (columns_of(table) for table in (model.anova(), model.inference()))
    except DataError as error:
        return str(error)
    columns = [
        {"column": name, "df": int(df), "statistic": number(statistic), "p_value": number(p, 4)}
        for name, df, statistic, p in zip(
            tests["column"], tests["df"], tests["statistic"], tests["p_value"], strict=True
        )
    ]
    order = sorted(range(len(columns)), key=lambda k: _rank(tests["p_value"][k], tests["statistic"][k]))
    levels = dict(zip((c.name for c in model.design_.categorical), model.design_.labels, strict=True))
    panels = [_panel(name, found, levels.get(name)) for name in (columns[k]["column"] for k in order[:PANELS])]
    return {
        "model": type(model).__name__,
        "target": context.target,
        "columns": [columns[k] for k in order],
        "panels": [panel for panel in panels if panel["points"]],
        "undrawn": max(len(columns) - PANELS, 0),
    }


def columns_of(table: Any) -> dict[str, list[Any]]:
    """Return a table, of whatever library, as lists by name."""
    names = list(table.column_names if hasattr(table, "column_names") else table.columns)
    return {name: list(table[name].to_pylist() if hasattr(table[name], "to_pylist") else table[name]) for name in names}


def _rank(p_value: float, statistic: float) -> tuple[float, float]:
    missing = p_value is None or np.isnan(p_value)
    return (2.0, 0.0) if missing else (float(p_value), -float(statistic))


def _panel(column: str, found: dict[str, list[Any]], labels: Labels | None) -> dict[str, Any]:
    """Return the coefficients of one column, largest first, and the level that these are compared with."""
    every = [k for k, name in enumerate(found["column"]) if name == column]
    rows = [k for k in every if not np.isnan(found["coefficient"][k])]
    left = [] if labels is None else sorted(set(labels.names()) - {found["level"][k] for k in every})
    strong = sorted(rows, key=lambda k: -abs(found["statistic"][k]))[:DRAWN]
    points = [
        {
            # A number has no level.
            "level": column if not isinstance(found["level"][k], str) else found["level"][k],
            "value": number(found["coefficient"][k]),
            "low": number(found["lower"][k]),
            "high": number(found["upper"][k]),
        }
        for k in sorted(strong, key=lambda k: -found["coefficient"][k])
    ]
    return {
        "column": column,
        "reference": left[0] if left else None,
        "points": points,
        "more": len(rows) - len(strong),
    }
