"""The columns that go with the target most: its mean or rate by level, or along a number, and a sentence on each.

A column is shown if its test of independence stands after Holm's correction for the number of columns tested, so that at
most one table of noise in twenty shows any. Levels come from the moments of all rows: with n rows and k of a class the rate is
k / n, its interval Wilson's; a mean has the interval of the spread within levels. A number is cut into bins of equally many
rows; those are counted among the rows that were looked at, or by its levels where it has few.

A sentence compares the level that is furthest from the others, in standard errors, with all other rows. For a number it
compares the first bin with the last, and says that the target rises or falls only if it does from bin to bin but for a few.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import norm

from gramian.arrays.types import Array
from gramian.moments.covariance import level_values
from gramian.moments.value import Moments
from gramian.reporting.context import Context
from gramian.reporting.values import column_words, figure, level_words, number, share, text

DRIVERS = 6
LEVELS = 8
"""Levels shown of a column; the others are one bar."""
BINS = 6
LEVEL = 0.05
FEWEST = 20
"""Rows of a level that a sentence may speak of."""
YES = ("yes", "true", "1", "ja", "y", "j", "t", "oui", "si", "wahr")
"""The class that a rate is of, where one of two is called so; otherwise it is the rarer one."""
_Z = float(norm.ppf(0.975))


def drivers(context: Context) -> dict[str, Any] | None:
    """Return for each of the strongest columns the target by level or bin, with intervals and a sentence."""
    ranked = context.sections.get("ranking")
    moments, target = context.moments, context.collected_target
    if ranked is None or moments is None or target is None:
        return None  # the ranking says why
    rows = ranked["columns"]
    adjusted = holm([row["p_value"] for row in rows])
    for row, p in zip(rows, adjusted, strict=True):
        row["adjusted"] = number(p, 4)
    certain = [row for row, p in zip(rows, adjusted, strict=True) if p <= LEVEL and row["beyond_chance"] > 0]
    aim = _Aim(context, moments, target)
    found: list[dict[str, Any]] = []
    # A date or a number and its own parts or bins say the same: the strongest of them speaks.
    seen: set[str] = set()
    for row in certain:
        column = moments.schema[row["column"]]
        groups = _groups(context, aim, row["column"]) if column.origin not in seen else None
        if groups is not None and len(found) < DRIVERS:
            seen.add(column.origin)
            found.append(
                {
                    "column": row["column"],
                    "called": column_words(column),
                    "kind": row["kind"],
                    "measure": row["measure"],
                    "strength": row["beyond_chance"],
                    "p_value": row["p_value"],
                    **groups,
                }
            )
    return {
        "target": target,
        "of": aim.of,
        "what": "rate" if aim.of is not None else "mean",
        "overall": number(aim.overall, 6),
        "tested": len(rows),
        "certain": len(certain),
        "columns": found,
    }


def holm(p_values: list[float | None]) -> list[float]:
    """Return p-values adjusted for their number.

    Examples
    --------
    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    known = [1.0 if p is None else p for p in p_values]
    out, largest = [0.0] * len(known), 0.0
    for k, j in enumerate(sorted(range(len(known)), key=known.__getitem__)):
        largest = max(largest, min(known[j] * (len(known) - k), 1.0))
        out[j] = largest
    return out


class _Aim:
    """The target: the class whose rate is shown, or the mean of a number."""

    def __init__(self, context: Context, moments: Moments, target: str) -> None:
        self.moments, self.target, self.of, self.code = moments, target, None, -1
        self.values: Array | None = None
        column = moments.schema[target]
        if column.form == "category":
            counts = np.asarray(moments.counts(target), dtype=np.float64)
            labels = moments.levels(target)
            named = [k for k, label in enumerate(labels) if text(label).lower() in YES]
            self.code = named[0] if len(labels) == 2 and len(named) == 1 else int(np.argmin(counts))
            if len(labels) > 2:
                # Of many classes, the one that is told apart best is what there is to say.
                self.code = int(np.argmax(counts))
            self.of = text(labels[self.code])
            self.overall = float(counts[self.code] / counts.sum())
        elif column.form == "integer":
            mean, deviation = level_values(moments, moments.coded_at[target])
            self.values, self.overall = mean + deviation, mean
        else:
            self.overall = float(moments.mean([target])[0])
        self.sample = self._sampled(context)

    def _sampled(self, context: Context) -> Array | None:
        """Return the target of the sampled rows as numbers, NaN where it is missing."""
        values = context.target_values
        if values is None:
            return None
        if self.of is not None:
            return np.array([np.nan if v is None else float(text(v) == self.of) for v in values.to_pylist()])
        return _as_numbers(values)

    def by_level(self, name: str) -> tuple[Array, Array, Array]:
        """Return rows, mean of the target and its variance for each level of a column."""
        m, k = self.moments, self.moments.coded_at[name]
        if self.code >= 0 or self.values is not None:
            table = np.asarray(m.crosstab(name, self.target), dtype=np.float64)
            n = table.sum(axis=1)
            values = np.eye(table.shape[1])[self.code] if self.values is None else self.values
            mean = np.divide(table @ values, n, out=np.full(len(n), np.nan), where=n > 0)
            square = np.divide(table @ values**2, n, out=np.zeros(len(n)), where=n > 0)
            return n, mean, np.maximum(square - np.nan_to_num(mean) ** 2, 0.0)
        numbers = m.numbers
        j = numbers.names.index(self.target)
        n = np.asarray(m.pairs.level_weights[k], dtype=np.float64)
        if j in numbers.missing:
            n = n - m.sums[k][:, len(numbers.names) + numbers.missing.index(j)]
        sums = m.sums[k][:, j]
        deviation = np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0)
        powers = numbers.central(float(m.total_weight))
        between = float((n * np.square(np.nan_to_num(deviation - powers.mean[j], nan=0.0))).sum())
        within = max(float(powers.sums[0, j]) - between, 0.0) / max(n.sum() - (n > 0).sum(), 1.0)
        return n, numbers.anchors[j] + deviation, np.full(len(n), within)

    def group(self, label: str, n: float, mean: float, variance: float) -> dict[str, Any]:
        """Return a bar: rows, value and 95% interval."""
        if self.of is not None:
            low, high = wilson(mean, n)
        else:
            low, high = mean - _Z * np.sqrt(variance / n), mean + _Z * np.sqrt(variance / n)
        values = {name: number(v, 6) for name, v in (("value", mean), ("low", low), ("high", high))}
        return {"label": label, "n": number(n), **values, "pooled": False}

    def says(self, value: float) -> str:
        """Return a value as people write it."""
        return share(value) if self.of is not None else figure(value)

    @property
    def called(self) -> str:
        """The target in a sentence."""
        return f"{self.target} is {self.of}" if self.of is not None else f"the mean of {self.target} is"


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Return the 95% interval of a rate.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0.1, 100)]
    [0.0552, 0.1744]
    """
    centre = (rate + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(rate * (1 - rate) / n + _Z**2 / (4 * n**2))
    return float(max(centre - half, 0.0)), float(min(centre + half, 1.0))


def _groups(context: Context, aim: _Aim, name: str) -> dict[str, Any] | None:
    column = aim.moments.schema[name]
    if column.form == "category":
        return _of_levels(aim, name, ordered=column.part is not None)
    if column.form == "integer" and (np.asarray(aim.moments.counts(name)) > 0).sum() <= LEVELS:
        return _of_levels(aim, name, ordered=True)
    return _of_bins(context, aim, name)


def _of_levels(aim: _Aim, name: str, *, ordered: bool) -> dict[str, Any] | None:
    """Return the bars of the levels of a column, rare ones pooled, and the sentence on it."""
    column, labels = aim.moments.schema[name], aim.moments.levels(name)
    n, mean, variance = aim.by_level(name)
    kept = [int(k) for k in np.argsort(-n, kind="stable") if n[k] > 0]
    if len(kept) < 2:
        return None
    shown, rest = (kept, []) if len(kept) <= LEVELS + 1 else (kept[:LEVELS], kept[LEVELS:])
    # Parts of a date and numbers in their own order, other levels from high to low.
    order = (lambda k: (labels[k] is None, labels[k])) if ordered else (lambda k: -mean[k])
    shown = sorted(shown, key=order)
    bars = [aim.group(level_words(column, labels[k]), n[k], mean[k], variance[k]) for k in shown]
    if rest:
        total = float(n[rest].sum())
        middle = float(n[rest] @ mean[rest] / total)
        spread = float(n[rest] @ (variance[rest] + (mean[rest] - middle) ** 2) / total)
        bars.append({**aim.group(f"{len(rest):,} other levels", total, middle, spread), "pooled": True})
    whole = float(n[kept].sum())
    overall = float(n[kept] @ mean[kept] / whole)
    others = whole - n
    with np.errstate(divide="ignore", invalid="ignore"):
        beside = (whole * overall - n * mean) / others
        error = np.sqrt(np.maximum(n[kept] @ variance[kept] / whole, 1e-300) * (1 / n + 1 / others))
        gap = np.where((n >= min(FEWEST, whole / 4)) & (others > 0), np.abs(mean - beside) / error, -1.0)
    best = int(np.argmax(np.nan_to_num(gap, nan=-1.0)))
    if not gap[best] > 0:
        return None
    place = f"{column_words(column)} = {level_words(column, labels[best])}"
    return {
        "groups": bars,
        "axis": "levels",
        "of_rows": "all rows",
        "words": _compared(aim, f"where {place} ({n[best]:,.0f} rows)", mean[best], "in all other rows", beside[best]),
        "stands_out": level_words(column, labels[best]),
        "there": number(mean[best], 6),
        "elsewhere": number(beside[best], 6),
    }


def _compared(aim: _Aim, here: str, value: float, there: str, other: float) -> str:
    if aim.of is not None:
        return f"{aim.called} in {aim.says(value)} of the rows {here}, and in {aim.says(other)} {there}"
    return f"{aim.called} {aim.says(value)} {here}, and {aim.says(other)} {there}"


def _of_bins(context: Context, aim: _Aim, name: str) -> dict[str, Any] | None:
    """Return the bars of a number in bins of equally many of the rows that were looked at."""
    sample, origin = context.sample, aim.moments.schema[name].origin
    if sample is None or aim.sample is None or origin not in sample.table.column_names:
        return None
    x, y = _as_numbers(sample.table.column(origin)), aim.sample
    if x is None or y is None:
        return None
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if len(x) < 2 * FEWEST:
        return None
    inner = np.unique(np.quantile(x, np.linspace(0, 1, BINS + 1)[1:-1], method="higher"))
    inner = inner[inner > x.min()]
    if not len(inner):
        return None
    code = np.searchsorted(inner, x, side="right")
    edges = [figure(edge) for edge in inner]
    names = [
        f"below {edges[0]}",
        *(f"{a} to {b}" for a, b in pairwise(edges)),
        f"{edges[-1]} and more",
    ]
    bars, means = [], []
    for k, label in enumerate(names):
        own = y[code == k]
        if len(own):
            bars.append(aim.group(label, len(own), float(own.mean()), float(own.var())))
            means.append(float(own.mean()))
    if len(bars) < 2:
        return None
    steps = np.sign(np.diff(means))
    direction = "rises" if (steps > 0).mean() >= 0.75 else "falls" if (steps < 0).mean() >= 0.75 else None
    if (means[-1] - means[0]) * {"rises": 1, "falls": -1, None: 0}[direction] < 0:
        direction = None
    called = column_words(aim.moments.schema[name])
    first, last = (0, len(bars) - 1) if direction else (int(np.argmin(means)), int(np.argmax(means)))
    there = [_place(called, bars[k]["label"]) for k in (first, last)]
    words = _compared(aim, f"where {there[0]}", means[first], f"where {there[1]}", means[last])
    rising = f" ({direction} with {called})" if direction else ""
    return {
        "groups": bars,
        "axis": "bins",
        "of_rows": sample.words,
        "words": words + rising,
        "direction": direction,
        "there": number(means[first], 6),
        "elsewhere": number(means[last], 6),
    }


def _place(name: str, label: str) -> str:
    return f"{name} is {label}" if label.startswith("below") or label.endswith("more") else f"{name} is from {label}"


def _as_numbers(values: pa.ChunkedArray) -> Array | None:
    """Return a column of numbers with NaN where it is missing, None where it holds none."""
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
