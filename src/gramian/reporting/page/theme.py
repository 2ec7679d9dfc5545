"""What all charts of a report look like: fonts, axes and colours, as variables of the page's style sheet."""

from __future__ import annotations

from typing import Any

CLASS_COLOURS = [f"var(--c{k})" for k in range(10)]
"""Of classes, the most frequent first; repeated beyond ten."""

SCALE_COLOURS = [f"var(--s{k})" for k in range(6)]
"""Of a number, low to high."""

RANKS = [0.5, 0.8, 0.95, 0.99, 0.999]
"""Where the colours of a rank change: most rows are usual, and the few that are not fill the other half of the scale."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "gridColor": "var(--line)",
        "domainColor": "var(--line-strong)",
        "tickColor": "var(--line-strong)",
        "tickSize": 4,
    },
    "axisX": {"grid": False},
    "axisY": {"domain": False, "ticks": False},
}
"""Vega-Lite configuration of every chart."""
