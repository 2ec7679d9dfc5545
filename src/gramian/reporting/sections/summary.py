"""What a report says, section by section, as plain data."""

from __future__ import annotations

import time
from typing import Any

from gramian.reporting.gather.context import context_of
from gramian.reporting.gather.json_values import number
from gramian.reporting.gather.request import Request
from gramian.reporting.sections.findings import findings
from gramian.reporting.sections.order import SECTIONS


def summarise(request: Request) -> dict[str, Any]:
    """Return the sections that moments, models and rows have something to say about.

    A section that is not there is named under `absent`, with the reason.
    """
    start = time.perf_counter()
    context = context_of(request)
    absent: dict[str, str] = {}
    for section in SECTIONS:
        said = section.summary(context)
        if isinstance(said, str):
            absent |= {} if context.about_objects and section.of_columns else {section.name: said}
        elif said is not None:
            context.sections[section.name] = said
    out: dict[str, Any] = {
        "title": request.title or _title(request),
        "target": context.target,
        "models": [type(model).__name__ for model in request.models],
        "absent": absent,
        **context.sections,
    }
    out["findings"] = findings(out)
    out["reproduce"]["seconds"] = number(time.perf_counter() - start, 3)
    return out


def _title(request: Request) -> str:
    if request.name:
        return request.name
    names = [type(model).__name__ for model in request.models]
    return "Report on " + (", ".join(dict.fromkeys(names)) if names else "moments")
