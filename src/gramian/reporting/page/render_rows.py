"""The sections on rows and features: the map, the loadings, the components, the odd rows, the associations."""

from __future__ import annotations

from typing import Any

from gramian.reporting.page.formatting import bar, chart, count, figure, note, share, table
from gramian.reporting.page.markup import Html, join, tag

ODD_SHOWN = 12


def rows(found: dict[str, Any]) -> Html:
    """Return the section with the scatter; the page fills it."""
    views = [tag("option", view["name"], value=k) for k, view in enumerate(found["views"])]
    colours = [tag("option", colour["name"], value=k) for k, colour in enumerate(found["colours"])]
    controls = [
        tag("label", "Axes ", tag("select", views, id="view")),
        tag("label", "Colour ", tag("select", colours, id="colour")) if colours else None,
        tag("button", "Zoom to selection", type="button", id="zoom", disabled=True),
        tag("button", "Whole map", type="button", id="clear", disabled=True),
    ]
    words = (
        f"{found['words']}. Point at a row to see it; drag over the map to select rows, and see beside it, and in the "
        "loadings below, which values they have more often than the others."
    )
    scatter = tag("div", class_="chart map", id="map", aria_label="Scatter of rows", style="min-height:440px")
    panel = tag(
        "div",
        tag("h3", "Selection"),
        tag("div", tag("p", "Nothing is selected.", class_="note"), id="selection", aria_live="polite"),
        class_="panel",
    )
    box = tag("div", tag("figure", tag("div", id="key"), scatter), panel, class_="map-and-panel")
    return join([note(words), tag("div", controls, class_="controls"), box])


def loadings(found: dict[str, Any]) -> Html:
    """Return the section with the searchable table of loadings; the page fills it."""
    models = [tag("option", model["model"], value=k) for k, model in enumerate(found["models"])]
    words = (
        "What each column and level adds to a feature. Figures are weights; bars are weight times spread, what the value does "
        "to the feature across all rows. Press the head of a column to sort by it."
    )
    find = tag("input", type="search", id="search", placeholder="column or level", autocomplete="off")
    controls = [
        tag("label", "Model ", tag("select", models, id="model")) if len(models) > 1 else None,
        tag("label", "Search ", find),
        tag("span", id="found", class_="muted", aria_live="polite"),
    ]
    inner = tag(
        "table", tag("caption", "Loadings by column and level"), tag("thead"), tag("tbody"), id="loadings-table"
    )
    box = tag("div", inner, class_="scroll", role="region", aria_label="Loadings by column and level", tabindex="0")
    more = tag("button", "Show all", type="button", id="more", hidden=True)
    return join([note(words), tag("div", controls, class_="controls"), box, more])


def scree(found: dict[str, Any]) -> Html:
    """Return the section on the components."""
    words = f"Principal components of {found['of']}. {count(found['n_components'])} of them have variance"
    if found["n_components"] > len(found["components"]):
        words += f"; the first {len(found['components'])} are shown"
    words += ". Triangles mark the numbers that the criteria below choose." if found["chosen"] else "."
    parts: list[Any] = [note(words)]
    one = chart("scree", "Share of the variance of each component", None, height=220)
    two = chart("cumulative", "Share of the variance of the first components together", None, height=220)
    parts.append(tag("div", one, two, class_="pair"))
    if found["chosen"]:
        body = [[entry["rule"], count(entry["k"]), entry["about"]] for entry in found["chosen"]]
        caption = "How many components each criterion keeps"
        parts.append(table(["criterion", "components", "what it looks for"], body, caption=caption, numeric=(1,)))
    return join(parts)


def anomalies(found: dict[str, Any]) -> Html:
    """Return the section on odd rows."""
    words = f"Looked at: {found['words']}. A score adds up how surprising the values of a row and their pairs are."
    if found["threshold"] is not None:
        part = found["above"] / max(found["of"], 1)
        words += f" {count(found['above'])} rows ({share(part)}) lie above the threshold {figure(found['threshold'])}."
    new = found["never_seen"]
    if new["rows"]:
        words += f" {count(new['rows'])} hold values never seen before and stand above all others"
        if new["alone"]:
            words += f" ({count(new['alone'])} of those above the threshold are there for these alone)"
        words += f"; {new['listed']} of them are listed." if new["listed"] < new["rows"] else "."
    most = max([row["score"] or 0 for row in found["rows"] if not row["never_seen"]], default=1.0)
    body = [
        [
            f"{row['position']:,}",
            [
                bar(row["score"], most, tone="warm" if row["outlier"] else "accent"),
                tag("span", figure(row["score"], 3)),
            ],
            _reasons(row),
        ]
        for row in found["rows"]
    ]
    caption = "The oddest rows, and why"
    head = ["row", "score", "why"]
    parts = [note(words)]
    if found["histogram"]:
        under = "The last bar holds all higher scores."
        under += " Rows with values never seen are not in it." if new["rows"] else ""
        parts.append(chart("scores", "Histogram of anomaly scores", under, height=220))
    parts.append(table(head, body[:ODD_SHOWN], caption=caption, class_="odd"))
    if len(body) > ODD_SHOWN:
        rest = table(head, body[ODD_SHOWN:], caption=f"{caption}: the next", class_="odd")
        parts.append(tag("details", tag("summary", f"{len(body) - ODD_SHOWN} more rows"), rest))
    return join(parts)


def _reasons(row: dict[str, Any]) -> Html:
    said = [
        tag("li", reason["text"], " ", tag("span", f"+{figure(reason['contribution'], 2)}", class_="muted"))
        for reason in row["reasons"]
    ]
    cells = [tag("div", tag("dt", name), tag("dd", value)) for name, value in row["cells"]]
    whole = tag("details", tag("summary", "the whole row"), tag("dl", cells, class_="cells"))
    return join([tag("ul", said, class_="reasons"), whole])


def associations(found: dict[str, Any]) -> Html:
    """Return the section with the heat map of source columns."""
    words = (
        "Cramér's V of two categories, the correlation ratio of a category and a number, |r| of two numbers: all from 0 to 1, "
        "computed from the moments."
    )
    if found["left_out"]:
        words += f" {count(found['left_out'])} further columns are not shown."
    body = [
        [
            [f"{pair['a']} and {pair['b']}", tag("span", pair["measure"], class_="what")],
            [bar(pair["value"]), tag("span", figure(pair["value"], 3))],
        ]
        for pair in found["strongest"]
    ]
    strongest = table(["strongest pairs", "association"], body, caption="The strongest pairs", class_="ranked")
    place = chart("associations", "Heat map of the association of every two columns", None, height=320)
    scale = tag(
        "p",
        "0 ",
        tag("i", class_="ramp", aria_hidden="true"),
        " 1",
        class_="note scale",
        aria_label="colour scale, 0 to 1",
    )
    return join([note(words), tag("div", tag("div", place, scale), strongest, class_="pair lopsided")])
