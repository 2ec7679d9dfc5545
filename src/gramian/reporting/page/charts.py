"""Vega-Lite specifications of a report's charts, through Altair.

A specification holds no data and no name out of the data: it draws a named data set whose fields are fixed (`x`, `y`, `c`...),
and the page fills it from the summary. Colours are variables of the page's style sheet, so that light, dark and print are
decided there and no chart is drawn twice.
"""

from __future__ import annotations

from typing import Any

from gramian.errors import MissingPackageError
from gramian.reporting.page.theme import CLASS_COLOURS, SCALE_COLOURS

Spec = dict[str, Any]


def altair() -> Any:
    """Return the charting package."""
    try:
        import altair
    except ImportError:
        raise MissingPackageError(
            "the charts of a report need altair and vl-convert-python; install them with: pip install 'gramian[report]'"
        ) from None
    return altair


def charts_of(summary: dict[str, Any]) -> dict[str, Spec]:
    """Return a specification for each chart that the sections of a summary call for, by name."""
    out: dict[str, Any] = {}
    if "scree" in summary:
        n = len(summary["scree"]["components"])
        out["scree"] = _scree(n)
        out["cumulative"] = _cumulative(n)
    if "rows" in summary:
        for c, colour in enumerate(summary["rows"]["colours"] or [None]):
            for v, view in enumerate(summary["rows"]["views"]):
                out[f"rows-{v}-{c}"] = _rows(view, colour)
    if summary.get("classes", {}).get("spread"):
        out["spread"] = _spread(summary["classes"]["spread"])
    if summary.get("dependence", {}).get("ridge_curve"):
        out["ridge"] = _ridge(summary["dependence"]["ridge_curve"]["score"])
    if summary.get("anomalies", {}).get("histogram"):
        out["scores"] = _scores(summary["anomalies"]["threshold"] is not None)
    if "associations" in summary:
        out["associations"] = _associations(len(summary["associations"]["columns"]))
    # Validation against the schema is for the tests: it takes longer than all the rest.
    return {name: chart.to_dict(validate=False) for name, chart in out.items()}


def _base(data: str, description: str, height: int) -> Any:
    alt = altair()
    return alt.Chart(alt.NamedData(data), width="container", height=height, description=description)


def _component_axis(n: int) -> Any:
    # Every label of a few components, every fifth of many.
    values = list(range(1, n + 1)) if n <= 12 else [1, *range(5, n + 1, 5)]
    return altair().Axis(values=values, labelAngle=0)


def _scree(n: int) -> Any:
    alt = altair()
    x = alt.X("k:O", title="component", axis=_component_axis(n))
    bars = (
        _base("scree", "Share of the variance that each component holds", 220)
        .mark_bar(color="var(--accent)", cornerRadiusEnd=2)
        .encode(
            x=x,
            y=alt.Y("share:Q", title="share of the variance", axis=alt.Axis(format=".1%")),
            tooltip=[
                alt.Tooltip("k:O", title="component"),
                alt.Tooltip("variance:Q", title="variance", format=".4g"),
                alt.Tooltip("share:Q", title="share", format=".2%"),
                alt.Tooltip("cumulative:Q", title="up to here", format=".1%"),
            ],
        )
    )
    # Rules of choosing that fall within what is shown, a mark over the last component each would keep.
    marks = (
        alt.Chart(alt.NamedData("chosen"))
        .mark_point(shape="triangle-down", filled=True, size=90, color="var(--warm)", opacity=1, yOffset=-8)
        .encode(
            x=x,
            y=alt.Y("share:Q"),
            tooltip=[alt.Tooltip("rules:N", title="chosen by"), alt.Tooltip("k:O", title="components")],
        )
    )
    return bars + marks


def _cumulative(n: int) -> Any:
    alt = altair()
    return (
        _base("scree", "Share of the variance that the first components hold together", 220)
        .mark_area(
            line={"color": "var(--accent)", "strokeWidth": 2},
            point={"color": "var(--accent)", "size": 26, "filled": True},
            color="var(--accent)",
            fillOpacity=0.12,
        )
        .encode(
            x=alt.X("k:O", title="components kept", axis=_component_axis(n)),
            y=alt.Y("cumulative:Q", title="variance kept", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%")),
            tooltip=[
                alt.Tooltip("k:O", title="components"),
                alt.Tooltip("cumulative:Q", title="variance kept", format=".1%"),
            ],
        )
    )


def _rows(view: dict[str, Any], colour: dict[str, Any] | None) -> Any:
    alt = altair()
    brush = alt.selection_interval(
        name="brush", mark=alt.BrushConfig(fill="var(--accent)", fillOpacity=0.08, stroke="var(--accent)")
    )
    axis = alt.Axis(tickCount=6, grid=True)
    tint: Any = alt.value("var(--accent)")
    if colour is not None and colour["kind"] == "classes":
        shades = [CLASS_COLOURS[k % len(CLASS_COLOURS)] for k in range(len(colour["levels"]))]
        scale = alt.Scale(domain=list(range(len(shades))), range=shades)
        tint = alt.Color("c:N", scale=scale, legend=None)
    elif colour is not None:
        tint = alt.Color("c:Q", scale=alt.Scale(type="quantize", range=SCALE_COLOURS), legend=None)
    return (
        _base("rows", f"Scatter of the sampled rows over {view['x']} and {view['y']}", 440)
        .mark_circle(size=34, stroke="var(--surface)", strokeWidth=0.4)
        .encode(
            x=alt.X("x:Q", title=view["x"], axis=axis, scale=alt.Scale(zero=False, nice=True)),
            y=alt.Y("y:Q", title=view["y"], axis=axis, scale=alt.Scale(zero=False, nice=True)),
            color=tint,
            opacity=alt.when(brush).then(alt.value(0.82)).otherwise(alt.value(0.12)),
            tooltip=[alt.Tooltip("i:Q")],
        )
        .add_params(brush)
    )


def _spread(spread: dict[str, Any]) -> Any:
    alt = altair()
    shades = [CLASS_COLOURS[k % len(CLASS_COLOURS)] for k in range(len(spread["classes"]))]
    scale = alt.Scale(domain=list(range(len(shades))), range=shades)
    base = _base("spread", f"How the rows of each class are spread over {spread['axis']}", 240).encode(
        x=alt.X("x:Q", title=spread["axis"], scale=alt.Scale(nice=False, zero=False)),
        y=alt.Y("share:Q", title="share of the class", stack=None, axis=alt.Axis(format=".0%", tickCount=5)),
        color=alt.Color("c:N", scale=scale, legend=None),
        tooltip=[
            alt.Tooltip("name:N", title="class"),
            alt.Tooltip("x:Q", title="position", format=".3g"),
            alt.Tooltip("share:Q", title="share", format=".2%"),
        ],
    )
    smooth = "monotone"
    return base.mark_area(interpolate=smooth, fillOpacity=0.22) + base.mark_line(interpolate=smooth, strokeWidth=2)


def _ridge(score: str) -> Any:
    alt = altair()
    title = "R², held out" if score == "r2" else "generalised cross-validation"
    x_axis = alt.Axis(tickCount=5, format="~g", labelOverlap="greedy")
    y_axis = alt.Axis(tickCount=4)
    return (
        _base("ridge", f"{title} by the ridge, counted in rows", 200)
        .mark_line(color="var(--accent)", point={"color": "var(--accent)", "size": 26, "filled": True})
        .encode(
            x=alt.X("ridge:Q", title="ridge (rows)", scale=alt.Scale(type="log"), axis=x_axis),
            y=alt.Y("score:Q", title=title, scale=alt.Scale(zero=False), axis=y_axis),
            tooltip=[
                alt.Tooltip("ridge:Q", title="ridge", format=".3~g"),
                alt.Tooltip("score:Q", title=title, format=".4f"),
            ],
        )
    )


def _scores(has_threshold: bool) -> Any:
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
            tooltip=[
                alt.Tooltip("from:Q", title="from", format=".3g"),
                alt.Tooltip("to:Q", title="to", format=".3g"),
                alt.Tooltip("rows:Q", title="rows", format=","),
            ],
        )
    )
    if not has_threshold:
        return bars
    line = (
        alt.Chart(alt.NamedData("threshold"))
        .mark_rule(color="var(--warm)", strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x="at:Q", tooltip=[alt.Tooltip("at:Q", title="threshold", format=".4g")])
    )
    return bars + line


def _associations(n: int) -> Any:
    alt = altair()
    labels = alt.Axis(labelLimit=110, ticks=False, domain=False, title=None, grid=False)
    side = max(18, min(34, 620 // n))
    return (
        _base("associations", "How strongly every two columns go together, from 0 to 1", side * n)
        .mark_rect(fill="var(--accent)", stroke="var(--surface)", strokeWidth=1, cornerRadius=2)
        .encode(
            x=alt.X("a:N", sort=None, axis=labels, scale=alt.Scale(paddingInner=0)),
            y=alt.Y("b:N", sort=None, axis=labels, scale=alt.Scale(paddingInner=0)),
            # One hue by strength of ink: it reads on white, on black and on paper.
            fillOpacity=alt.FillOpacity("value:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 1]), legend=None),
            tooltip=[
                alt.Tooltip("a:N", title="column"),
                alt.Tooltip("b:N", title="with"),
                alt.Tooltip("measure:N", title="measure"),
                alt.Tooltip("value:Q", title="association", format=".3f"),
            ],
        )
    )
