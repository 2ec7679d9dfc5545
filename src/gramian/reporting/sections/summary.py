"""What a report says: its sections in the order of the page, its first lines, and how to make it again.

A section is a function of a `Context` that returns plain data, a template of its name in this folder, and a line in `SECTIONS`:
the one place where it is registered.
"""

from __future__ import annotations

import datetime
import inspect
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gramian.reporting.context import Context, context_of
from gramian.reporting.request import Request
from gramian.reporting.sections.coefficients import coefficients
from gramian.reporting.sections.columns import associations, ranking, read
from gramian.reporting.sections.components import loadings, scree
from gramian.reporting.sections.distance_models import objects
from gramian.reporting.sections.drift import drift
from gramian.reporting.sections.drivers import LEVEL, drivers
from gramian.reporting.sections.sampled_rows import anomalies, rows
from gramian.reporting.sections.sentences import sentences
from gramian.reporting.sections.shapes import shapes
from gramian.reporting.sections.supervised import classes, dependence, selection
from gramian.reporting.sections.units import atoms, learning, units
from gramian.reporting.values import number, p_words, share


def summarise(request: Request) -> dict[str, Any]:
    """Return the sections that moments, models and rows have something to say about.

    A section that is not there is named under `absent`, with the reason.
    """
    start = time.perf_counter()
    context = context_of(request)
    absent: dict[str, str] = {}
    # What goes with the target is told from the ranking, which the page shows below.
    for section in sorted(SECTIONS, key=lambda section: section.name != "ranking"):
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
    out["sentences"] = sentences(out)
    out["reproduce"]["seconds"] = number(time.perf_counter() - start, 3)
    return out


def _title(request: Request) -> str:
    if request.name:
        return request.name
    names = [type(model).__name__ for model in request.models]
    return "Report on " + (", ".join(dict.fromkeys(names)) if names else "moments")


# How to make the same again

PACKAGES = ("gramian", "numpy", "scipy", "scikit-learn", "pyarrow", "numba")


def reproduce(context: Context) -> dict[str, Any]:
    """Return the command, the models and the versions behind the report."""
    return {
        "command": context.request.command,
        "models": [_of_model(context, model) for model in context.models],
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _of_model(context: Context, model: Any) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    usual = {name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()}
    changed = {name: value for name, value in parameters.items() if not _same(value, usual.get(name))}
    written = ", ".join(f"{name}={_written(value)}" for name, value in changed.items())
    return {
        "class": type(model).__name__,
        "call": f"gm.{type(model).__name__}({written})",
        "parameters": {name: _written(value) for name, value in parameters.items()},
        "fitted_for_report": context.added(model),
        "pooled": context.added(model) and any(labels.rare for labels in model.design_.labels),
    }


def _same(value: Any, usual: Any) -> bool:
    try:
        return bool(value is usual or value == usual)
    except ValueError:
        # Arrays have no single truth; one that was passed is not the default.
        return False


def _written(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 200 else shown[:199] + "…"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


# The first lines: a few figures with a word on each


def findings(summary: dict[str, Any]) -> list[dict[str, str]]:
    """Return label, value and note of what a reader should see first.

    Parameters
    ----------
    summary : dict
        The sections; those that are absent say nothing.

    Examples
    --------
    >>> findings({"read": {"n_rows": 1200, "n_columns": 3, "n_design_columns": 17, "columns": []}})[0]
    {'label': 'rows read', 'value': '1,200', 'note': '3 columns, 17 design columns'}
    """
    lines = [line for name, said in FINDINGS.items() if name in summary for line in said(summary[name])]
    return [{"label": label, "value": value, "note": note} for label, value, note in lines]


Lines = Iterator[tuple[str, str, str]]


def _read(read: dict[str, Any]) -> Lines:
    if read["n_rows"] is None:
        if read["columns"]:
            yield "columns", f"{read['n_columns']:,}", "known from the models alone"
        return
    width = read["n_design_columns"]
    left_out = f"; {read['rows_left_out']:,} more without a target left out" if read.get("rows_left_out") else ""
    yield "rows read", f"{read['n_rows']:,}", f"{read['n_columns']:,} columns, {width:,} design columns{left_out}"
    aside = read.get("identifiers")
    if aside:
        first, more = aside[0], f"; and {len(aside) - 1} more" if len(aside) > 1 else ""
        note = f"{first['column']}: {first['levels']:,} levels; at least half as many levels as rows{more}"
        yield "columns set aside as identifiers", f"{len(aside):,}", note
    swans = read.get("black_swans")
    if swans and swans["rows"]:
        first = swans["columns"][0]
        others = " and others" if sum(column["n_values"] for column in swans["columns"]) > 1 else ""
        where = f"of {swans['of']:,}: {first['column']}={first['values'][0]['value']}{others}"
        yield "rows with values never seen", f"{swans['rows']:,}", where


def _objects(objects: dict[str, Any]) -> Lines:
    k = objects["n_components"]
    yield (
        "objects",
        f"{objects['n_objects']:,}",
        f"placed by {objects['model']} in {k} coordinate{'s' if k != 1 else ''}",
    )
    if objects["stress"] is not None:
        yield "stress", f"{objects['stress']:.3f}", "0: the map keeps every distance"
    if objects["held_out"] is not None:
        chance = objects["confusion"]["largest_class"]
        yield "objects recognised", f"{objects['held_out']:.0%}", f"held out; the largest class alone {chance:.0%}"
    apart = objects["distances"]
    if apart and apart["within"] and apart["between"]:
        note = f"mean distance {apart['between']:.3g} between classes, {apart['within']:.3g} within"
        yield "classes apart", f"{apart['between'] / apart['within']:.2g}x", note


def _scree(scree: dict[str, Any]) -> Lines:
    components, k = scree["components"], {entry["rule"]: entry["k"] for entry in scree["chosen"]}.get("parallel")
    if k is not None:
        held = f", {components[k - 1]['cumulative']:.0%} of the variance" if k <= len(components) else ""
        yield "components above the noise", f"{k:,}", f"of {scree['n_components']:,}{held}"


def _ranking(ranking: dict[str, Any]) -> Lines:
    first = next((row for row in ranking["columns"] if row["adjusted"] <= LEVEL), None)
    if first is not None:
        yield (
            "strongest column",
            first["column"],
            f"explains {share(first['share'])} of {ranking['target']}" + (", held out" if ranking["held_out"] else ""),
        )


def _dependence(facts: dict[str, Any]) -> Lines:
    held_out = facts["r2_cv"] is not None
    r2 = facts["r2_cv"] if held_out else facts["r2"]
    if r2 is not None:
        how = "held out" if held_out else "in sample"
        yield "R² of the features", f"{r2:.3f}", f"of {facts['target']}, {how}; p {p_words(facts['p_value'])}"


def _classes(facts: dict[str, Any]) -> Lines:
    confusion = facts["confusion"]
    if confusion is None or confusion["balanced_accuracy"] is None:
        return
    if confusion["auc"] is not None:
        yield "AUC of Fisher's axis", f"{confusion['auc']:.3f}", f"{facts['target']}, on {confusion['words']}"
        return
    note = f"mean over {len(facts['classes'])} classes; by chance {1 / len(facts['classes']):.0%}"
    yield "rows of a class recognised", f"{confusion['balanced_accuracy']:.0%}", note


def _anomalies(facts: dict[str, Any]) -> Lines:
    above, of = facts["above"], facts["of"]
    if above is not None and of:
        yield "odd rows", f"{above:,}", f"{above / of:.1%} of {of:,} rows judged"


FINDINGS: dict[str, Callable[[dict[str, Any]], Lines]] = {
    "read": _read,
    "objects": _objects,
    "scree": _scree,
    "ranking": _ranking,
    "dependence": _dependence,
    "classes": _classes,
    "anomalies": _anomalies,
}
"""Section -> what a reader should see first of it."""


# The sections


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
        """The template that shows it."""
        return f"sections/{self.name}.html.jinja"


SECTIONS = (
    Section("drivers", "What goes with the target", drivers, of_columns=True),
    Section("drift", "What changed", drift),
    Section("anomalies", "Odd rows", anomalies, of_columns=True),
    Section("read", "What was read", read),
    Section("ranking", "Every column against the target", ranking, of_columns=True),
    Section("associations", "Columns that go together", associations, of_columns=True),
    Section("selection", "Columns that were selected", selection, of_columns=True),
    Section("rows", "Map of the rows", rows),
    Section("objects", "Objects and their distances", objects),
    Section("classes", "Telling the classes apart", classes, of_columns=True),
    Section("coefficients", "Coefficients", coefficients, of_columns=True),
    Section("shapes", "What each column and each pair adds", shapes, of_columns=True),
    Section("dependence", "All columns together", dependence, of_columns=True),
    Section("learning", "How it was learnt", learning),
    Section("atoms", "Atoms", atoms, of_columns=True),
    Section("loadings", "What the axes are made of", loadings, of_columns=True),
    Section("scree", "Directions above the noise", scree, of_columns=True),
    Section("units", "Hidden units and reservoirs", units),
    Section("reproduce", "How to make this again", reproduce),
)
