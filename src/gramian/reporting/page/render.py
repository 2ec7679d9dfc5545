"""The page of a report, from its summary alone: Jinja2 templates that compute nothing the summary does not hold.

`page.html.jinja` is the document; it includes the template of each section, where the parts of the summary are found under
their names (`ranking.columns`). Every text is escaped; what tables, bars and charts look like is in `parts.html.jinja`.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import sys
from functools import cache
from importlib.resources import files
from typing import Any

from gramian.reporting.page import charts
from gramian.reporting.page.charts import CONFIG
from gramian.reporting.sections.summary import SECTIONS
from gramian.reporting.values import FILTERS


def page(summary: dict[str, Any], *, complete: bool = True) -> str:
    """Return the HTML document: styles, scripts and data inside, and a policy that forbids every request.

    Parameters
    ----------
    summary : dict
    complete : bool
        Without the charting library the page is a frame of a document that keeps it (see `frame`).
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
    import jinja2

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


# The JavaScript that draws charts


@cache
def vega_bundle() -> str:
    """Return one script that defines `vegaEmbed`, with all it needs inside.

    It is part of the package: vl-convert, which makes it, is 84 MB (`CONTRIBUTING.md` says how).
    """
    packed = (files("gramian.reporting") / "page" / "vega.js.gz").read_bytes()
    return gzip.decompress(packed).decode("utf-8")


# A report inside a notebook

KEPT = "gramian-charts"
"""The id of the element that holds the library; the page's script looks for it."""

_home: list[str] = []
"""The id of the cell that keeps the library."""


def frame(summary: dict[str, Any]) -> str:
    """Return a report as HTML that may stand in any document: styles of the page and of the notebook stay apart."""
    cell = _cell()
    if cell is not None and not _home:
        _home.append(cell)
    kept = ""
    if cell is not None and cell == _home[0]:
        kept = f'<script type="text/plain" id="{KEPT}">{vega_bundle()}</script>'
    content = html.escape(page(summary, complete=cell is None), quote=True)
    title = html.escape(summary["title"])
    style = "width:100%;height:80vh;border:0"
    return f'{kept}<iframe srcdoc="{content}" title="{title}" style="{style}" loading="lazy"></iframe>'


def _cell() -> str | None:
    """Return the id of the cell that is being run, None where there is none or where cells see nothing of each other."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or "google.colab" in sys.modules:
        return None
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    cell = (parent or {}).get("metadata", {}).get("cellId")
    return None if cell is None else str(cell)
