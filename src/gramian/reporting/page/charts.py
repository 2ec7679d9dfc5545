"""Vega-Lite specifications of a report's charts, through Altair: functions of a section's summary, called by its template.

No name out of the data is part of a specification: it draws named data sets whose fields are fixed (`x`, `y`, `c`...) and which
stand under `datasets`. Colours are variables of the page's style sheet, so that light, dark and print are decided there and
no chart is drawn twice.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from gramian.reporting.sections.columns import measure_of

# What all charts look like: fonts, axes and colours

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


# Charts

Spec = dict[str, Any]


def altair() -> Any:
    """Return the charting package, which is slow to load."""
    import altair as alt

    return alt


def _base(data: str, description: str, height: int) -> Any:
    alt = altair()
    return alt.Chart(alt.NamedData(data), width="container", height=height, description=description)


def _filled(chart: Any, **datasets: list[dict[str, Any]]) -> Spec:
    # Validation against the schema is for the tests: it takes longer than all the rest.
    return {**chart.to_dict(validate=False), "datasets": datasets}


def lines(
    points: list[dict[str, Any]], x: str, y: str, *, x_title: str, y_title: str, log: bool = False, height: int = 200
) -> Spec:
    """Return a line through points; `x` and `y` are their fields.

    Points that have a field `series` make a line each, in the colours of `parts.legend` in the order of first sight. With
    `log` the x axis is logarithmic.
    """
    alt = altair()
    names = list(dict.fromkeys(point.get("series") for point in points))
    rows = [{"x": point[x], "y": point[y], "c": names.index(point.get("series"))} for point in points]
    # Without a number of digits ticks ten apart would read 1e+1, 2e+1.
    whole: dict[str, Any] = {}
    if rows and not log and all(float(row["x"] or 0).is_integer() for row in rows):
        first, last = (int(end(row["x"] or 0 for row in rows)) for end in (min, max))
        # Between few steps halves would be drawn in spite of the least distance.
        whole = {"values": list(range(first, last + 1))} if last - first < 9 else {"tickMinStep": 1}
    x_axis = alt.Axis(tickCount=5, format="~g" if log else ".6~g", labelOverlap="greedy", **whole)
    # Room for the first point beside the labels of the other axis.
    scale = alt.Scale(type="log", padding=8) if log else alt.Scale(zero=False, padding=8)
    chart = (
        _base("points", f"{y_title} by {x_title}", height)
        .mark_line(point={"size": 26, "filled": True})
        .encode(
            x=alt.X("x:Q", title=x_title, scale=scale, axis=x_axis),
            y=alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4)),
            color=alt.Color("c:N", scale=_class_scale(len(names)), legend=None)
            if len(names) > 1
            else alt.value("var(--accent)"),
            tooltip=_tips(("x:Q", x_title, ".3~g"), ("y:Q", y_title, ".4~g")),
        )
    )
    return _filled(chart, points=rows)


def raster(spikes: list[dict[str, Any]]) -> Spec:
    """Return a tick for each spike: steps across, units up."""
    alt = altair()
    chart = (
        _base("spikes", "Spikes of units over time", 240)
        .mark_tick(color="var(--accent)", orient="vertical", thickness=1.5, size=4)
        .encode(
            x=alt.X("step:Q", title="step", axis=alt.Axis(tickCount=5)),
            y=alt.Y("unit:Q", title="unit", axis=alt.Axis(tickCount=4)),
            tooltip=_tips(("unit:Q", "unit"), ("step:Q", "step")),
        )
    )
    return _filled(chart, spikes=spikes)


def _tips(*told: tuple[str, ...]) -> list[Any]:
    """Return what a mark says under the pointer: fields with their titles, and formats where they have some."""
    return [
        altair().Tooltip(field, title=title, **({"format": form[0]} if form else {})) for field, title, *form in told
    ]


def _class_scale(n: int) -> Any:
    shades = [CLASS_COLOURS[k % len(CLASS_COLOURS)] for k in range(n)]
    return altair().Scale(domain=list(range(n)), range=shades)


def _component_axis(n: int) -> Any:
    # Every label of a few components, every fifth of many.
    values = list(range(1, n + 1)) if n <= 12 else [1, *range(5, n + 1, 5)]
    return altair().Axis(values=values, labelAngle=0)


def learning(points: list[dict[str, Any]], y_title: str) -> Spec:
    """Return what was learnt over the updates, a line a series."""
    return lines(points, "updates", "value", x_title="updates", y_title=y_title)


def scree(facts: dict[str, Any]) -> Spec:
    """Return the bars of the components, a mark over the last one that each criterion would keep."""
    alt = altair()
    components = facts["components"]
    x = alt.X("k:O", title="component", axis=_component_axis(len(components)))
    bars = (
        _base("scree", "Share of the variance that each component holds", 220)
        .mark_bar(color="var(--accent)", cornerRadiusEnd=2)
        .encode(
            x=x,
            y=alt.Y("share:Q", title="share of the variance", axis=alt.Axis(format=".1%")),
            tooltip=_tips(
                ("k:O", "component"),
                ("variance:Q", "variance", ".4g"),
                ("share:Q", "share", ".2%"),
                ("cumulative:Q", "up to here", ".1%"),
            ),
        )
    )
    marks = (
        alt.Chart(alt.NamedData("chosen"))
        .mark_point(shape="triangle-down", filled=True, size=90, color="var(--warm)", opacity=1, yOffset=-8)
        .encode(
            x=x,
            y=alt.Y("share:Q"),
            tooltip=_tips(("rules:N", "chosen by"), ("k:O", "components")),
        )
    )
    rules: dict[int, list[str]] = {}
    for entry in facts["chosen"]:
        if entry["k"] <= len(components):
            rules.setdefault(entry["k"], []).append(entry["rule"])
    chosen = [{"k": k, "rules": ", ".join(names), "share": components[k - 1]["share"]} for k, names in rules.items()]
    return _filled(bars + marks, scree=components, chosen=chosen)


def cumulative(facts: dict[str, Any]) -> Spec:
    """Return the curve of what the first components hold together."""
    alt = altair()
    chart = (
        _base("scree", "Share of the variance that the first components hold together", 220)
        .mark_area(
            line={"color": "var(--accent)", "strokeWidth": 2},
            point={"color": "var(--accent)", "size": 26, "filled": True},
            color="var(--accent)",
            fillOpacity=0.12,
        )
        .encode(
            x=alt.X("k:O", title="components kept", axis=_component_axis(len(facts["components"]))),
            y=alt.Y("cumulative:Q", title="variance kept", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%")),
            tooltip=_tips(("k:O", "components"), ("cumulative:Q", "variance kept", ".1%")),
        )
    )
    return _filled(chart, scree=facts["components"])


def maps(facts: dict[str, Any]) -> list[Spec]:
    """Return a map of the rows for each colour; the page fills in axes and points, which change."""
    return [_map(colour).to_dict(validate=False) for colour in facts["colours"] or [None]]


def _map(colour: dict[str, Any] | None) -> Any:
    alt = altair()
    brush = alt.selection_interval(
        name="brush", mark=alt.BrushConfig(fill="var(--accent)", fillOpacity=0.08, stroke="var(--accent)")
    )
    axis = alt.Axis(tickCount=6, grid=True)
    tint: Any = alt.value("var(--accent)")
    if colour is not None and colour["kind"] == "classes":
        tint = alt.Color("c:N", scale=_class_scale(len(colour["levels"])), legend=None)
    elif colour is not None and colour["kind"] == "rank":
        scale = alt.Scale(type="threshold", domain=RANKS, range=SCALE_COLOURS)
        tint = (
            alt.when(alt.datum.new).then(alt.value("var(--new)")).otherwise(alt.Color("c:Q", scale=scale, legend=None))
        )
    elif colour is not None:
        tint = alt.Color("c:Q", scale=alt.Scale(type="quantize", range=SCALE_COLOURS), legend=None)
    return (
        _base("rows", "Scatter of the sampled rows", 440)
        .mark_point(filled=True, stroke="var(--surface)", strokeWidth=0.4)
        .encode(
            x=alt.X("x:Q", axis=axis, scale=alt.Scale(zero=False, nice=True)),
            y=alt.Y("y:Q", axis=axis, scale=alt.Scale(zero=False, nice=True)),
            color=tint,
            shape=alt.when(alt.datum.new).then(alt.value("diamond")).otherwise(alt.value("circle")),
            size=alt.when(alt.datum.new).then(alt.value(110)).otherwise(alt.value(34)),
            opacity=alt.when(brush).then(alt.value(0.82)).otherwise(alt.value(0.12)),
            tooltip=[alt.Tooltip("i:Q")],
        )
        .add_params(brush)
    )


def spread(facts: dict[str, Any]) -> Spec:
    """Return how the rows of each class are spread over an axis."""
    alt = altair()
    base = _base("spread", f"How the rows of each class are spread over {facts['axis']}", 240).encode(
        x=alt.X("x:Q", title=facts["axis"], scale=alt.Scale(nice=False, zero=False)),
        y=alt.Y("share:Q", title="share of the class", stack=None, axis=alt.Axis(format=".0%", tickCount=5)),
        color=alt.Color("c:N", scale=_class_scale(len(facts["classes"])), legend=None),
        tooltip=_tips(("name:N", "class"), ("x:Q", "position", ".3g"), ("share:Q", "share", ".2%")),
    )
    smooth = "monotone"
    chart = base.mark_area(interpolate=smooth, fillOpacity=0.22) + base.mark_line(interpolate=smooth, strokeWidth=2)
    middles = [(a + b) / 2 for a, b in pairwise(facts["edges"])]
    points = [
        {"c": c, "name": entry["name"], "share": value, "x": x}
        for c, entry in enumerate(facts["classes"])
        for x, value in zip(middles, entry["shares"], strict=True)
    ]
    return _filled(chart, spread=points)


def ridge(facts: dict[str, Any]) -> Spec:
    """Return the score that the ridge was chosen by."""
    title = "R², held out" if facts["score"] == "r2" else "generalised cross-validation"
    return lines(facts["points"], "ridge", "score", x_title="ridge (rows)", y_title=title, log=True)


def scores(facts: dict[str, Any]) -> Spec:
    """Return how many rows have which anomaly score, and the threshold."""
    alt = altair()
    odd = alt.datum.odd
    bars = (
        _base("scores", "How many rows have which anomaly score", 220)
        .mark_bar(binSpacing=0)
        .encode(
            x=alt.X("from:Q", bin="binned", title="anomaly score"),
            x2="to:Q",
            y=alt.Y(
                "rows:Q", title="rows (square root scale)", scale=alt.Scale(type="sqrt"), axis=alt.Axis(tickCount=5)
            ),
            color=alt.when(odd).then(alt.value("var(--warm)")).otherwise(alt.value("var(--accent)")),
            tooltip=_tips(("from:Q", "from", ".3g"), ("to:Q", "to", ".3g"), ("rows:Q", "rows", ",")),
        )
    )
    line = (
        alt.Chart(alt.NamedData("threshold"))
        .mark_rule(color="var(--warm)", strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x="at:Q", tooltip=_tips(("at:Q", "threshold", ".4g")))
    )
    threshold = facts["threshold"]
    counted = [
        {"rows": n, "from": a, "to": b, "odd": threshold is not None and a >= threshold}
        for n, (a, b) in zip(facts["histogram"]["counts"], pairwise(facts["histogram"]["edges"]), strict=True)
    ]
    if threshold is None:
        return _filled(bars, scores=counted)
    return _filled(bars + line, scores=counted, threshold=[{"at": threshold}])


def forest(facts: dict[str, Any], title: str = "coefficient") -> Spec:
    """Return the coefficients of one column with their intervals, the largest on top, and a line at zero."""
    alt = altair()
    points = facts["points"]
    levels = alt.Y("level:N", sort=None, title=None, axis=alt.Axis(labelLimit=220))
    base = _base("forest", f"Each {title} with its 95% interval", 18 * len(points) + 10)
    tips = _tips(("level:N", "level"), ("value:Q", title, ".4g"), ("low:Q", "from", ".4g"), ("high:Q", "to", ".4g"))
    bars = base.mark_rule(color="var(--accent)", strokeWidth=1.5).encode(
        x=alt.X("low:Q", title=title), x2="high:Q", y=levels, tooltip=tips
    )
    marks = base.mark_point(color="var(--accent)", filled=True, size=36).encode(x="value:Q", y=levels, tooltip=tips)
    zero = alt.Chart(alt.NamedData("zero")).mark_rule(color="var(--line-strong)", strokeDash=[4, 3]).encode(x="at:Q")
    return _filled(zero + bars + marks, forest=points, zero=[{"at": 0}])


def curve(facts: dict[str, Any]) -> Spec:
    """Return the effect of a number, bin by bin, with its interval as a band, and a line at zero."""
    alt = altair()
    bins = alt.X("level:N", sort=None, title=None, axis=alt.Axis(labelAngle=-60, labelLimit=120, labelOverlap=True))
    base = _base("curve", "The effect of each bin with its 95% interval", 180).encode(
        x=bins,
        tooltip=_tips(
            ("level:N", "bin"),
            ("rows:Q", "rows", ",.0f"),
            ("value:Q", "effect", ".4g"),
            ("low:Q", "from", ".4g"),
            ("high:Q", "to", ".4g"),
        ),
    )
    band = base.mark_area(color="var(--accent)", opacity=0.2, interpolate="step").encode(
        y=alt.Y("low:Q", title="effect"), y2="high:Q"
    )
    line = base.mark_line(color="var(--accent)", strokeWidth=1.5, interpolate="step", point=True).encode(y="value:Q")
    zero = alt.Chart(alt.NamedData("zero")).mark_rule(color="var(--line-strong)", strokeDash=[4, 3]).encode(y="at:Q")
    return _filled(zero + band + line, curve=facts["points"], zero=[{"at": 0}])


def heat(facts: dict[str, Any]) -> Spec:
    """Return the heat map of a cross: what each pair adds, up in one hue and down in another, by strength of ink."""
    alt = altair()
    most = max((abs(point["value"]) for point in facts["points"]), default=0.0) or 1.0
    labels = alt.Axis(labelLimit=160, labelOverlap=True, ticks=False, domain=False, title=None, grid=False)
    chart = (
        _base("heat", "What each pair adds to its two columns", 26 * len(facts["rows"]))
        .mark_rect(stroke="var(--surface)", strokeWidth=1, cornerRadius=2)
        .encode(
            x=alt.X("right:N", sort=facts["columns"], axis=labels),
            y=alt.Y("left:N", sort=facts["rows"], axis=labels),
            fill=alt.Fill(
                "sign:N", scale=alt.Scale(domain=["up", "down"], range=["var(--pos)", "var(--neg)"]), legend=None
            ),
            fillOpacity=alt.FillOpacity("size:Q", scale=alt.Scale(domain=[0, most], range=[0.05, 1]), legend=None),
            tooltip=_tips(
                ("left:N", "pair of"),
                ("right:N", "and"),
                ("rows:Q", "rows", ",.0f"),
                ("value:Q", "adds", ".4g"),
                ("low:Q", "from", ".4g"),
                ("high:Q", "to", ".4g"),
            ),
        )
    )
    cells = [
        point | {"size": abs(point["value"]), "sign": "up" if point["value"] >= 0 else "down"}
        for point in facts["points"]
    ]
    return _filled(chart, heat=cells)


def associations(facts: dict[str, Any]) -> Spec:
    """Return the heat map of every two columns."""
    alt = altair()
    names = facts["columns"]
    labels = alt.Axis(labelLimit=0, labelOverlap=True, ticks=False, domain=False, title=None, grid=False)
    side = max(18, min(34, 620 // len(names)))
    chart = (
        _base("associations", "How strongly every two columns go together, from 0 to 1", side * len(names))
        .mark_rect(fill="var(--accent)", stroke="var(--surface)", strokeWidth=1, cornerRadius=2)
        .encode(
            x=alt.X("a:N", sort=None, axis=labels, scale=alt.Scale(paddingInner=0)),
            y=alt.Y("b:N", sort=None, axis=labels, scale=alt.Scale(paddingInner=0)),
            # One hue by strength of ink: it reads on white, on black and on paper.
            fillOpacity=alt.FillOpacity("value:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 1]), legend=None),
            tooltip=_tips(
                ("a:N", "column"), ("b:N", "with"), ("measure:N", "measure"), ("value:Q", "association", ".3f")
            ),
        )
    )
    columns = list(zip(names, facts["kinds"], strict=True))
    cells = [
        {"a": a, "b": b, "value": value, "measure": measure_of(of_a, of_b)}
        for (b, of_b), row in zip(columns, facts["values"], strict=True)
        for (a, of_a), value in zip(columns, row, strict=True)
        if value is not None
    ]
    return _filled(chart, associations=cells)
