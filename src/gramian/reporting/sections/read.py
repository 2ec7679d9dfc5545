"""What was read: rows, columns and their kinds, what is missing, and values that were never seen before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gramian.design.labels import Labels
from gramian.moments.value import Moments
from gramian.reporting.gather.context import Context
from gramian.reporting.gather.json_values import number, numbers, text
from gramian.tables import open_table

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
        order = np.argsort(-shares, kind="stable")[:LEVELS_SHOWN]
        labels = moments.labels[moments.coded_at[name]]
        out["shares"] = [{"level": label_text(labels, int(k)), "share": number(shares[k], 4)} for k in order]
        out["top"] = out["shares"][0] if out["shares"] else None
    else:
        out["histogram"] = _histogram(context, moments.schema[name].origin)
    return out


def label_text(labels: Labels, k: int) -> str:
    """Return one label as text of bearable length."""
    return text(labels.name(k))


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
            own = next(labels)
            order = np.argsort(-shares, kind="stable")[:LEVELS_SHOWN]
            out["levels"] = len(own)
            out["shares"] = [{"level": label_text(own, int(k)), "share": number(shares[k], 4)} for k in order]
            out["top"] = out["shares"][0] if out["shares"] else None
        else:
            out["mean"] = number(shares[0])
        columns.append(out)
    return columns


def _black_swans(context: Context) -> dict[str, Any] | None:
    """Return the levels of the sampled rows that the moments or models never saw; None where nothing can be said."""
    sampled, design = context.sample, context.design
    if sampled is None or design is None or not design.categorical:
        return None
    by_column: dict[str, dict[str, int]] = {column.name: {} for column in design.categorical}
    n_rows = 0
    table = open_table(sampled.table)
    design.check(sampled.table.schema.names)
    for batch in table.batches(design.origins):  # type: ignore[union-attr]
        codes = design.encode(batch).codes
        unseen = np.array([codes[k] == len(labels) for k, labels in enumerate(design.labels)])
        n_rows += int(unseen.any(axis=0).sum())
        for k, column in enumerate(design.categorical):
            if not unseen[k].any():
                continue
            values = design.labels_in(batch, k)
            for entry in pc.value_counts(values.filter(pa.array(unseen[k]))).to_pylist():
                label = text(entry["values"])
                by_column[column.name][label] = by_column[column.name].get(label, 0) + entry["counts"]
    columns = [
        {
            "column": name,
            "rows": sum(values.values()),
            "n_values": len(values),
            "values": [{"value": v, "rows": n} for v, n in sorted(values.items(), key=lambda p: (-p[1], p[0]))][
                :SWANS_SHOWN
            ],
        }
        for name, values in by_column.items()
        if values
    ]
    return {"rows": n_rows, "of": sampled.table.num_rows, "columns": sorted(columns, key=lambda c: -c["rows"])}
