"""What a report says, section by section, as plain data."""

from __future__ import annotations

import time
from typing import Any

from gramian.reporting.gather.context import Material, material_of
from gramian.reporting.gather.json_values import number
from gramian.reporting.gather.request import Subject
from gramian.reporting.sections.anomalies import anomalies
from gramian.reporting.sections.classes import classes
from gramian.reporting.sections.dependence import dependence
from gramian.reporting.sections.findings import findings
from gramian.reporting.sections.loadings import loadings
from gramian.reporting.sections.ranking import associations, ranking
from gramian.reporting.sections.read import read
from gramian.reporting.sections.reproduce import reproduce
from gramian.reporting.sections.rows import rows
from gramian.reporting.sections.scree import scree

VIEWS = (None, "tsne", "umap")


def summarise(
    subject: Subject, *, view: str | None, title: str | None, command: str | None, max_rows: int
) -> dict[str, Any]:
    """Return the sections that moments, models and rows have something to say about.

    A section that is not there is named under `absent`, with the reason.
    """
    start = time.perf_counter()
    material = material_of(subject)
    ranked = ranking(material)
    sections: dict[str, dict[str, Any] | str] = {
        "read": read(material),
        "ranking": ranked,
        "dependence": dependence(material),
        "classes": classes(material),
        "rows": rows(material, view=view, max_rows=max_rows),
        "loadings": loadings(material),
        "scree": scree(material),
        "anomalies": anomalies(material),
        "associations": associations(material, ranked),
        "reproduce": reproduce(material, command),
    }
    out: dict[str, Any] = {
        "title": title or _title(material),
        "target": material.target,
        "models": [type(model).__name__ for model in subject.models],
        "absent": {name: found for name, found in sections.items() if isinstance(found, str)},
        **{name: found for name, found in sections.items() if not isinstance(found, str)},
    }
    out["findings"] = findings(out)
    out["reproduce"]["seconds"] = number(time.perf_counter() - start, 3)
    return out


def _title(material: Material) -> str:
    if material.subject.name:
        return material.subject.name
    names = [type(model).__name__ for model in material.subject.models]
    return "Report on " + (", ".join(dict.fromkeys(names)) if names else "moments")
