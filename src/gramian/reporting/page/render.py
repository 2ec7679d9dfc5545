"""The page of a report, from its summary alone: nothing is computed here that the summary does not hold."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from gramian.reporting.page import render_read, render_rows, render_target
from gramian.reporting.page.bundle import vega_bundle
from gramian.reporting.page.charts import charts_of
from gramian.reporting.page.formatting import count
from gramian.reporting.page.markup import Html, join, script_json, tag
from gramian.reporting.page.theme import CONFIG

SECTIONS: tuple[tuple[str, str, Callable[[dict[str, Any]], Html]], ...] = (
    ("read", "What was read", render_read.read),
    ("ranking", "Columns that go with the target", render_target.ranking),
    ("dependence", "Mahalanobis statistic", render_target.dependence),
    ("classes", "Class separation", render_target.classes),
    ("rows", "Map of the rows", render_rows.rows),
    ("loadings", "Loadings", render_rows.loadings),
    ("scree", "Components", render_rows.scree),
    ("anomalies", "Odd rows", render_rows.anomalies),
    ("associations", "Columns that go together", render_rows.associations),
    ("reproduce", "How to make this again", render_read.reproduce),
)
"""Name in the summary, heading, and what renders it, in the order of the page."""

SHOWN_BY_SCRIPT = ("read", "rows", "loadings", "scree", "classes", "dependence", "anomalies", "associations")
"""What of the summary the page's script needs."""


def page(summary: dict[str, Any]) -> str:
    """Return the HTML document: styles, scripts and data inside, and a policy that forbids every request."""
    headings = {name: heading for name, heading, _ in SECTIONS}
    present = [(name, heading, render) for name, heading, render in SECTIONS if name in summary]
    sections = [_section(name, heading, render(summary[name])) for name, heading, render in present]
    links = [tag("li", tag("a", heading, href=f"#{name}")) for name, heading, _ in present]
    if summary["absent"]:
        sections.append(_section("absent", "Not in this report", render_read.absent(summary["absent"], headings)))
    payload = {name: summary[name] for name in SHOWN_BY_SCRIPT if name in summary}
    scripts = {"vega": vega_bundle(), "script": _asset("page.js")}
    return _filled(
        _asset("page.html"),
        {
            "title": join(summary["title"]),
            "subtitle": join(_subtitle(summary)),
            "policy": _policy(scripts.values()),
            "style": Html(_asset("page.css")),
            "contents": join(links),
            "findings": join([_finding(found) for found in summary["findings"]]),
            "sections": join(sections),
            "summary": script_json(payload),
            "charts": script_json({"config": CONFIG, "specs": charts_of(summary)}),
            **{name: Html(text) for name, text in scripts.items()},
        },
    )


def _section(name: str, heading: str, body: Html) -> Html:
    return tag("section", tag("h2", heading, id=f"{name}-heading"), body, id=name, aria_labelledby=f"{name}-heading")


def _finding(found: dict[str, str]) -> Html:
    long = len(found["value"]) > 9
    value = tag("dd", found["value"], class_="value long" if long else "value")
    return tag("div", tag("dt", found["label"]), value, tag("dd", found["note"], class_="muted"))


def _subtitle(summary: dict[str, Any]) -> str:
    parts = []
    if summary["read"]["n_rows"] is not None:
        parts.append(f"{count(summary['read']['n_rows'])} rows")
    parts.append(f"{summary['read']['n_columns']} columns")
    if summary["target"]:
        parts.append(f"target {summary['target']}")
    parts.append(summary["reproduce"]["made"][:10])
    return " · ".join(parts)


def _asset(name: str) -> str:
    return (files("gramian.reporting") / "page" / name).read_text(encoding="utf-8")


def _policy(scripts: Any) -> str:
    """Return the content security policy: no request of any kind, and no script but these.

    Vega compiles its expressions, which takes 'unsafe-eval'; handlers written into the page by whatever text never run,
    because only scripts of these digests do.
    """
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def _filled(template: str, parts: dict[str, str]) -> str:
    """Return the template with each `{{name}}` replaced, once: what is filled in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], template)
