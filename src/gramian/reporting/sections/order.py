"""The sections of a report, in the order of the page: the one place where a section is registered.

A section is a module that makes its summary as plain data, a template of the same name beside it (`ranking.py` and
`ranking.html.jinja`), and a line in `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gramian.reporting.gather.context import Context
from gramian.reporting.sections.columns.associations import associations
from gramian.reporting.sections.columns.ranking import ranking
from gramian.reporting.sections.models.atoms import atoms
from gramian.reporting.sections.models.classes import classes
from gramian.reporting.sections.models.dependence import dependence
from gramian.reporting.sections.models.learning import learning
from gramian.reporting.sections.models.loadings import loadings
from gramian.reporting.sections.models.scree import scree
from gramian.reporting.sections.models.selection import selection
from gramian.reporting.sections.models.units import units
from gramian.reporting.sections.read import read
from gramian.reporting.sections.reproduce import reproduce
from gramian.reporting.sections.rows.anomalies import anomalies
from gramian.reporting.sections.rows.objects import objects
from gramian.reporting.sections.rows.rows import rows


@dataclass(frozen=True)
class Section:
    """A section of a report.

    Attributes
    ----------
    name : str
        Of its part of the summary, of its address on the page, and of what its template finds.
    heading : str
    summary : function of a Context
        Returns plain data; a text where there is nothing to say, which is the reason and what to pass; None where the
        section does not concern what is reported on, so that nobody misses it.
    """

    name: str
    heading: str
    summary: Callable[[Context], dict[str, Any] | str | None]
    of_columns: bool = False
    """Whether it speaks of columns, so that a report on objects and their distances does not miss it."""

    @property
    def template(self) -> str:
        """The template that shows it, beside the module of its summary."""
        inside = self.summary.__module__.removeprefix("gramian.reporting.")
        return inside.replace(".", "/") + ".html.jinja"


SECTIONS = (
    Section("read", "What was read", read),
    Section("ranking", "Columns that go with the target", ranking, of_columns=True),
    Section("selection", "Columns that were selected", selection, of_columns=True),
    Section("dependence", "Mahalanobis statistic", dependence, of_columns=True),
    Section("classes", "Class separation", classes, of_columns=True),
    Section("rows", "Map", rows),
    Section("objects", "Objects and their distances", objects),
    Section("learning", "How it was learnt", learning),
    Section("atoms", "Atoms", atoms, of_columns=True),
    Section("loadings", "Loadings", loadings, of_columns=True),
    Section("scree", "Components", scree, of_columns=True),
    Section("units", "Hidden units and reservoirs", units),
    Section("anomalies", "Odd rows", anomalies, of_columns=True),
    Section("associations", "Columns that go together", associations, of_columns=True),
    Section("reproduce", "How to make this again", reproduce),
)
