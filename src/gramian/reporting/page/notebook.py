"""A report inside a notebook: in a frame of its own, and the charting library once in the notebook.

The library is nine tenths of a page. The cell that shows the first report keeps it beside its frame, as text that does
nothing by itself; frames of other cells, which may read the document around them, take it from there. A cell that is run
again keeps what it kept. Where cells are not known by an id, or live in documents of their own (Colab), every frame is
complete.
"""

from __future__ import annotations

import html
import sys
from typing import Any

from gramian.reporting.page.bundle import vega_bundle
from gramian.reporting.page.render import page

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
