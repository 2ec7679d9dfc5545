"""Sections on columns: what was read of each, which go with the target, and which with each other."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.design.schema import Column, Labels
from gramian.engines.preview import preview
from gramian.errors import DataError
from gramian.linear.drift import holm
from gramian.linear.regression.targets import refuse_missing
from gramian.moments.crosstabs import association
from gramian.moments.value import Moments
from gramian.reporting.context import RANKED, Context
from gramian.reporting.groups import along_a_line
from gramian.reporting.values import level_words, number, numbers, text
from gramian.tables import open_table

# What was read

COLUMNS_LISTED = 300
LEVELS_SHOWN = 12
BINS = 24
SWANS_SHOWN = 5


def read(context: Context) -> dict[str, Any]:
    """Return what is known of the table as a whole and of each of its columns."""
    moments = context.moments
    sampled = context.sample
    out: dict[str, Any] = {
        "n_rows": None,
        "total_weight": None,
        "n_columns": 0,
        "n_design_columns": None,
        "n_folds": 0,
        "nbytes": None,
        "collect_seconds": number(context.request.collect_seconds or np.nan, 3),
        "of_sample": context.of_sample,
        "sampled": None if sampled is None else {"n_rows": sampled.table.num_rows, "words": sampled.words},
        "columns": [],
        "identifiers": [{"column": name, "levels": count} for name, count in context.identifiers.items()],
        "black_swans": _black_swans(context),
        "totals": _totals(context),
    }
    if moments is None:
        out["columns"] = _columns_of_models(context)
    else:
        summary = moments.summary().to_dict()
        out |= {name: summary[name] for name in ("n_rows", "rows_left_out", "n_design_columns", "n_folds", "nbytes")}
        out["total_weight"] = number(moments.total_weight, 8) if moments.weighted else None
        out["columns"] = [_column(context, moments, column) for column in summary["columns"][:COLUMNS_LISTED]]
        out["n_columns"] = len(summary["columns"])
    out["n_columns"] = max(out["n_columns"], len(out["columns"]))
    return out


def _totals(context: Context) -> str | None:
    """Return what looks like a row of totals, where every row was looked at."""
    sample = context.sample
    if sample is None or sample.n_rows != sample.table.num_rows or not sample.table.num_rows:
        return None
    return preview(sample.table).totals_note or None


def _column(context: Context, moments: Moments, summary: dict[str, Any]) -> dict[str, Any]:
    name = summary["name"]
    out = {
        "name": name,
        "kind": summary["kind"],
        "role": "target" if summary["target"] or name == context.target else "feature",
        "levels": summary["levels"],
        "missing": number(summary["missing"], 4),
        "mean": None if summary["mean"] is None else number(summary["mean"]),
        "std": None if summary["std"] is None else number(summary["std"]),
        "top": None,
        "shares": [],
        "histogram": None,
    }
    if summary["kind"] == "categorical":
        weights = np.asarray(moments.counts(name), dtype=np.float64)
        shares = weights / max(float(moments.total_weight), 1e-300)
        out |= _most_frequent(moments.labels[moments.coded_at[name]], shares, moments.schema[name])
    else:
        out["histogram"] = _histogram(context, moments.schema[name].origin)
    return out


def _most_frequent(labels: Labels, shares: npt.NDArray[np.float64], column: Column) -> dict[str, Any]:
    """Return the number of levels of a column, and the shares of the most frequent of them."""
    order = np.argsort(-shares, kind="stable")[:LEVELS_SHOWN]
    listed = [{"level": _called(labels, int(k), column), "share": number(shares[k], 4)} for k in order]
    return {"levels": len(labels), "shares": listed, "top": listed[0] if listed else None}


def _called(labels: Labels, k: int, column: Column) -> str:
    """Return a level by its name, a part of a date as people say it."""
    return level_words(column, labels.to_list()[k]) if isinstance(column.part, str) else text(labels.name(k))


def _histogram(context: Context, name: str) -> dict[str, Any] | None:
    """Return how the sampled values of a number are spread, between their 1 % and 99 % points."""
    if context.sample is None or name not in context.sample.table.column_names:
        return None
    column = context.sample.table.column(name)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return None
    values = column.drop_null().to_numpy().astype(np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    # A single value far out would leave all others in one bar.
    low, high = np.quantile(values, [0.01, 0.99])
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return None
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    return {"low": number(edges[0]), "high": number(edges[-1]), "counts": numbers(counts)}


def _columns_of_models(context: Context) -> list[dict[str, Any]]:
    """Return the columns that models without moments read."""
    design = context.design
    if design is None:
        return []
    blank = dict.fromkeys(("missing", "mean", "std", "top", "histogram"))
    columns = []
    labels = iter(design.labels)
    for column in design.columns:
        out: dict[str, Any] = {"name": column.name, "kind": column.kind, "role": "feature", "levels": None, **blank}
        out["shares"] = []
        shares = design.as_given(design.mean)[design.spans[column.name]]
        if column.form == "category":
            out |= _most_frequent(next(labels), shares, column)
        else:
            out["mean"] = number(shares[0])
        columns.append(out)
    return columns


def _black_swans(context: Context) -> dict[str, Any] | None:
    """Return the levels of the sampled rows that the moments or models never saw; None where nothing can be said."""
    sampled, design = context.sample, context.design
    if sampled is None or design is None or not design.categorical:
        return None
    by_column: dict[str, Counter[str]] = {column.name: Counter() for column in design.categorical}
    n_rows = 0
    table = open_table(sampled.table)
    design.check(sampled.table.schema.names)
    for batch in table.batches(design.origins):  # type: ignore[union-attr]
        codes = design.encode(batch).codes
        unseen = np.array([codes[k] == len(labels) for k, labels in enumerate(design.labels)])
        n_rows += int(unseen.any(axis=0).sum())
        for k in np.flatnonzero(unseen.any(axis=1)):
            column, values = design.categorical[k], design.labels_in(batch, int(k))
            for entry in pc.value_counts(values.filter(pa.array(unseen[k]))).to_pylist():
                by_column[column.name][text(entry["values"])] += entry["counts"]
    columns = [
        {
            "column": name,
            "rows": values.total(),
            "n_values": len(values),
            "values": [
                {"value": v, "rows": values[v]} for v in sorted(values, key=lambda v: (-values[v], v))[:SWANS_SHOWN]
            ],
        }
        for name, values in by_column.items()
        if values
    ]
    return {"rows": n_rows, "of": sampled.table.num_rows, "columns": sorted(columns, key=lambda c: -c["rows"])}


# Columns that go with the target


def ranking(context: Context) -> dict[str, Any] | str:
    """Return for each column the share of the target that it explains by itself, and the test of the same groups.

    Numbers are in bins, as the page shows them (`gramian.reporting.groups`). `adjusted` is the p-value after Holm.
    """
    moments, target = context.moments, context.collected_target
    if context.target is None:
        return "no target is known: pass target="
    if moments is None or target is None:
        return f"the target {context.target!r} is not among the collected columns"
    try:
        refuse_missing(moments, target)
    except DataError as error:
        return str(error)
    groups = context.groups
    assert groups is not None
    rows: list[dict[str, Any]] = []
    for name in context.features[:RANKED]:
        grouped = groups.of(name)
        share = along_a_line(moments, name, target) if grouped is None else grouped.share(name)
        test, p_value = groups.test(name)
        rows.append(
            {
                "column": name,
                "kind": moments.schema[name].kind,
                "by": "a line" if grouped is None else "bins" if name in groups.bins else "levels",
                "share": number(max(share, 0.0), 4),
                "statistic": number(test.statistic),
                "df": test.df,
                "p_value": number(p_value, 4),
            }
        )
    for row, p in zip(rows, holm([1.0 if row["p_value"] is None else row["p_value"] for row in rows]), strict=True):
        row["adjusted"] = number(p, 4)
    rows.sort(key=lambda row: (-round(row["share"], 4), row["p_value"], row["column"]))
    left_out = len(context.features) - len(rows)
    return {"target": target, "held_out": bool(groups.levels.folds), "columns": rows, "left_out": left_out}


def measure_of(a: str, b: str) -> str:
    """Return by what measure two columns of these kinds are compared.

    Examples
    --------
    >>> measure_of("categorical", "numeric")
    'correlation ratio'
    """
    kinds = {a, b}
    if kinds == {"categorical"}:
        return "Cramér's V"
    return "|r|" if kinds == {"numeric"} else "correlation ratio"


# Columns that go together

MAPPED = 36
"""Columns of the heat map, at most: the first in the ranking."""


def associations(context: Context) -> dict[str, Any] | str:
    """Return the association of every two features, the strongest pairs first in a list; the target is compared above."""
    moments, names = context.moments, context.features
    if moments is None:
        return "there are no moments: pass them, or rows as data="
    if len(names) > MAPPED:
        ranked = context.sections.get("ranking")
        names = (names if ranked is None else [row["column"] for row in ranked["columns"]])[:MAPPED]
    if len(names) < 2:
        return "one column has nothing to go with"
    strengths = association(moments, names)
    kinds = [moments.kind(name) for name in names]
    # Parts of one date follow from each other; that they do is no finding.
    origins = [moments.schema[name].origin for name in names]
    pairs: list[dict[str, Any]] = [
        {
            "a": names[j],
            "b": names[i],
            "value": number(strengths[i, j], 4),
            "measure": measure_of(kinds[i], kinds[j]),
        }
        for i in range(len(names))
        for j in range(i)
        if np.isfinite(strengths[i, j]) and origins[i] != origins[j]
    ]
    pairs.sort(key=lambda pair: -pair["value"])
    return {
        "columns": names,
        "kinds": kinds,
        "values": [numbers(row) for row in strengths],
        "strongest": pairs[:10],
        "left_out": len(context.features) - len(names),
    }
