"""What a report says: its sections in the order of the page, its first lines, and how to make it again.

A section is a function of a `Context` that returns plain data, a template of its name in this folder, and a line in `SECTIONS`:
the one place where it is registered.
"""

from __future__ import annotations

import datetime
import inspect
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gramian.reporting.context import Context, context_of
from gramian.reporting.request import Request
from gramian.reporting.sections.columns import associations, ranking, read
from gramian.reporting.sections.components import loadings, scree
from gramian.reporting.sections.distance_models import objects
from gramian.reporting.sections.sampled_rows import anomalies, rows
from gramian.reporting.sections.supervised import classes, dependence, selection
from gramian.reporting.sections.units import atoms, learning, units
from gramian.reporting.values import number, p_words


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
    usual = {name: p.default for name, p in _signature(model).items()}
    changed = {name: value for name, value in parameters.items() if not _same(value, usual.get(name))}
    written = ", ".join(f"{name}={_written(value)}" for name, value in changed.items())
    return {
        "class": type(model).__name__,
        "call": f"gm.{type(model).__name__}({written})",
        "parameters": {name: _written(value) for name, value in parameters.items()},
        "fitted_for_report": context.added(model),
        "pooled": context.added(model) and any(labels.rare for labels in model.design_.labels),
    }


def _signature(model: Any) -> dict[str, Any]:
    return dict(inspect.signature(type(model).__init__).parameters)


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
    out: list[dict[str, str]] = []
    for name, of_section in (
        ("read", _read),
        ("objects", _objects),
        ("scree", _scree),
        ("ranking", _ranking),
        ("dependence", _dependence),
        ("classes", _classes),
        ("anomalies", _anomalies),
    ):
        if name in summary:
            out += of_section(summary[name])
    return out


def _line(label: str, value: str, note: str) -> list[dict[str, str]]:
    return [{"label": label, "value": value, "note": note}]


def _read(read: dict[str, Any]) -> list[dict[str, str]]:
    if read["n_rows"] is None:
        return [] if not read["columns"] else _line("columns", f"{read['n_columns']:,}", "known from the models alone")
    width = read["n_design_columns"]
    left_out = f"; {read['rows_left_out']:,} more without a target left out" if read.get("rows_left_out") else ""
    note = f"{read['n_columns']:,} columns, {width:,} design columns{left_out}"
    out = _line("rows read", f"{read['n_rows']:,}", note)
    aside = read.get("identifiers")
    if aside:
        first, more = aside[0], len(aside) - 1
        note = f"{first['column']}: {first['levels']:,} levels; at least half as many levels as rows"
        out += _line(
            "columns set aside as identifiers", f"{len(aside):,}", note + (f"; and {more} more" if more else "")
        )
    swans = read.get("black_swans")
    if swans and swans["rows"]:
        first = swans["columns"][0]
        where = f"of {swans['of']:,}: {first['column']}={first['values'][0]['value']} and others"
        where = where if sum(c["n_values"] for c in swans["columns"]) > 1 else where.removesuffix(" and others")
        out += _line("rows with values never seen", f"{swans['rows']:,}", where)
    return out


def _objects(objects: dict[str, Any]) -> list[dict[str, str]]:
    place = f"placed by {objects['model']} in {objects['n_components']} coordinates"
    out = _line("objects", f"{objects['n_objects']:,}", place.replace("1 coordinates", "1 coordinate"))
    if objects["stress"] is not None:
        out += _line("stress", f"{objects['stress']:.3f}", "0: the map keeps every distance")
    if objects["held_out"] is not None:
        chance = objects["confusion"]["largest_class"]
        out += _line(
            "objects recognised", f"{objects['held_out']:.0%}", f"held out; the largest class alone {chance:.0%}"
        )
    apart = objects["distances"]
    if apart and apart["within"] and apart["between"]:
        note = f"mean distance {apart['between']:.3g} between classes, {apart['within']:.3g} within"
        out += _line("classes apart", f"{apart['between'] / apart['within']:.2g}x", note)
    return out


def _scree(scree: dict[str, Any]) -> list[dict[str, str]]:
    chosen = {entry["rule"]: entry["k"] for entry in scree["chosen"]}
    if "parallel" not in chosen:
        return []
    k = chosen["parallel"]
    held = f", {scree['components'][k - 1]['cumulative']:.0%} of the variance" if k <= len(scree["components"]) else ""
    return _line("components above the noise", f"{k:,}", f"of {scree['n_components']:,}{held}")


def _ranking(ranking: dict[str, Any]) -> list[dict[str, str]]:
    if not ranking["columns"] or not ranking["columns"][0]["beyond_chance"]:
        return []
    first = ranking["columns"][0]
    note = f"{first['measure']} {first['association']:.2f} with {ranking['target']}"
    return _line("strongest column", first["column"], note)


def _dependence(facts: dict[str, Any]) -> list[dict[str, str]]:
    held_out = facts["r2_cv"] is not None
    r2 = facts["r2_cv"] if held_out else facts["r2"]
    if r2 is None:
        return []
    note = f"of {facts['target']}, {'held out' if held_out else 'in sample'}; p {p_words(facts['p_value'])}"
    return _line("R² of the features", f"{r2:.3f}", note)


def _classes(facts: dict[str, Any]) -> list[dict[str, str]]:
    confusion = facts["confusion"]
    if confusion is None or confusion["balanced_accuracy"] is None:
        return []
    if confusion["auc"] is not None:
        return _line("AUC of Fisher's axis", f"{confusion['auc']:.3f}", f"{facts['target']}, on {confusion['words']}")
    note = f"mean over {len(facts['classes'])} classes; by chance {1 / len(facts['classes']):.0%}"
    return _line("rows of a class recognised", f"{confusion['balanced_accuracy']:.0%}", note)


def _anomalies(facts: dict[str, Any]) -> list[dict[str, str]]:
    if facts["above"] is None or not facts["of"]:
        return []
    return _line(
        "odd rows", f"{facts['above']:,}", f"{facts['above'] / facts['of']:.1%} of {facts['of']:,} rows judged"
    )


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
