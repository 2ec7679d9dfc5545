"""The page of a report, from its summary alone: Jinja2 templates that compute nothing the summary does not hold.

`page.html.jinja` is the document; it includes the template of each section, where the parts of the summary are found under
their names (`ranking.columns`). Every text is escaped; what tables, bars and charts look like is in `parts.html.jinja`.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from gramian.errors import missing_package
from gramian.reporting.page import charts
from gramian.reporting.page.bundle import vega_bundle
from gramian.reporting.page.formatting import FILTERS
from gramian.reporting.page.theme import CONFIG
from gramian.reporting.sections.order import SECTIONS


def page(summary: dict[str, Any], *, complete: bool = True) -> str:
    """Return the HTML document: styles, scripts and data inside, and a policy that forbids every request.

    Parameters
    ----------
    summary : dict
    complete : bool
        Without the charting library the page is a frame of a document that keeps it (`gramian.reporting.page.notebook`).
    """
    scripts = {"vega": vega_bundle() if complete else "", "script": _asset("page.js")}
    return str(
        _environment()
        .get_template("page/page.html.jinja")
        .render(
            summary,
            sections=[section for section in SECTIONS if _is_shown(section.name, summary)],
            headings={section.name: section.heading for section in SECTIONS},
            config=CONFIG,
            style=_asset("page.css"),
            policy=_policy(scripts.values()),
            **scripts,
        )
    )


def _is_shown(name: str, summary: dict[str, Any]) -> bool:
    """Whether a section has anything to show: of objects that no table describes, nothing was read."""
    return name in summary and not (name == "read" and not summary["read"]["columns"])


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise missing_package("a report", "altair", "jinja2", "vl-convert-python", extra="report") from None
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("gramian.reporting", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    made.globals["charts"] = charts
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "ensure_ascii": False, "separators": (",", ":")}
    return made


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
