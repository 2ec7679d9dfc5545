"""The columns that go with the target most: its mean or rate by level, or along a number, and a sentence on each.

A column is shown if its test of independence stands after Holm's correction for the number of columns tested, so that at
most one table of noise in twenty shows any; the column that explains most comes first (`gramian.reporting.groups`). Levels
come from the moments of all rows: with n rows and k of a class the rate is k / n, its interval Wilson's; a mean has the
interval of the spread within levels. A number is cut into bins of about equally many of the rows that were looked at.

A sentence compares the level that is furthest from the others, in standard errors, with all other rows. For a number it
compares the first bin with the last, and says that the target rises or falls only if it does from bin to bin but for a few.
Of a curve it compares the lowest bin with the highest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from gramian.arrays.types import Array
from gramian.design.schema import Column
from gramian.reporting.context import Context
from gramian.reporting.groups import Grouped, Groups, dense
from gramian.reporting.values import MISSING, column_words, figure, level_words, number, share, text

DRIVERS = 6
LEVELS = 8
"""Levels shown of a column; the others are one bar."""
LEVEL = 0.05
FEWEST = 20
"""Rows of a level that a sentence may speak of."""
YES = ("yes", "true", "1", "ja", "y", "j", "t", "oui", "si", "wahr")
"""The class that a rate is of, where one of two is called so; otherwise it is the rarer one."""
_Z = float(norm.ppf(0.975))


def drivers(context: Context) -> dict[str, Any] | None:
    """Return for each of the strongest columns the target by level or bin, with intervals and a sentence."""
    ranked, moments, groups = context.sections.get("ranking"), context.moments, context.groups
    if ranked is None or moments is None or groups is None:
        return None  # the ranking says why
    rows = ranked["columns"]
    certain = [row for row in rows if row["adjusted"] <= LEVEL]
    found: list[dict[str, Any]] = []
    # A date or a number and its own parts or bins say the same: the strongest of them speaks.
    seen: set[str] = set()
    for row in certain:
        column = moments.schema[row["column"]]
        grouped = groups.of(column.name) if column.origin not in seen and len(found) < DRIVERS else None
        shown = None if grouped is None else _shown(_Bars(grouped, column), groups, context)
        if shown is not None:
            seen.add(column.origin)
            facts = {name: row[name] for name in ("column", "kind", "share", "p_value")}
            found.append({**facts, "called": column_words(column), **shown})
    target = ranked["target"]
    is_rate = moments.schema[target].form == "category"
    return {
        "target": target,
        "what": "rate" if is_rate else "mean",
        "held_out": ranked["held_out"],
        "tested": len(rows),
        "df": float(np.median([row["df"] for row in rows])) if rows else None,
        "certain": len(certain),
        "columns": found,
    }


class _Bars:
    """The target by group of a column: the rate of one class, or the mean of a number."""

    def __init__(self, grouped: Grouped, column: Column) -> None:
        moments, target = grouped.moments, grouped.target
        sums = grouped.sums(column.name)
        self.column, self.target, self.labels = column, target, moments.levels(column.name)
        self.n, self.of = sums.n, None
        with np.errstate(divide="ignore", invalid="ignore"):
            if moments.schema[target].form == "category":
                classes = [text(label) for label in moments.levels(target)]
                rates = dense(sums.sums) / self.n[:, None]
                at = _of_class(classes, sums.total, self.n, rates)
                self.of, self.mean = classes[at], rates[:, at]
                self.variance = self.mean * (1 - self.mean)
            else:
                deviation = dense(sums.sums)[:, 0] / self.n
                self.mean = grouped.centre + deviation
                _, within, count = sums.variances()
                pooled = np.full(len(self.n), within / max(float(self.n.sum()) - count, 1.0))
                self.variance = pooled if sums.squares_by is None else sums.squares_by / self.n - deviation**2
        self.kept = [int(k) for k in np.argsort(-self.n, kind="stable") if self.n[k] > 0]
        whole = float(self.n[self.kept].sum())
        self.overall = float(self.n[self.kept] @ self.mean[self.kept] / max(whole, 1e-300))
        others = whole - self.n
        with np.errstate(divide="ignore", invalid="ignore"):
            self.beside = (whole * self.overall - self.n * self.mean) / others
            spread = np.sqrt(max(float(self.n[self.kept] @ self.variance[self.kept]) / max(whole, 1.0), 1e-300))
            gap = np.abs(self.mean - self.beside) / spread / np.sqrt(1 / self.n + 1 / others)
        enough = (self.n >= min(FEWEST, whole / 4)) & (others > 0)
        self.gap = np.nan_to_num(np.where(enough, gap, -1.0), nan=-1.0)

    def bar(self, label: str, places: list[int]) -> dict[str, Any]:
        """Return rows, value and 95% interval of some levels together."""
        n = self.n[places]
        total = float(n.sum())
        mean = float(n @ self.mean[places] / total)
        if self.of is not None:
            low, high = wilson(mean, total)
        else:
            spread = float(n @ (self.variance[places] + (self.mean[places] - mean) ** 2) / total)
            low, high = (mean + side * np.sqrt(max(spread, 0.0) / total) for side in (-_Z, _Z))
        values = {name: number(v, 6) for name, v in (("value", mean), ("low", low), ("high", high))}
        return {"label": label, "n": number(total), **values, "pooled": len(places) > 1}

    def compared(self, here: str, value: float, there: str, other: float) -> str:
        """Return a sentence on two places."""
        if self.of is not None:
            return f"{self.target} is {self.of} in {share(value)} of the rows {here}, and in {share(other)} {there}"
        return f"the mean of {self.target} is {figure(value)} {here}, and {figure(other)} {there}"

    def against_others(self, k: int, called: str) -> dict[str, Any]:
        """Return what is said of a level that stands out."""
        place = f"where {called} ({self.n[k]:,.0f} rows)"
        return {
            "words": self.compared(place, self.mean[k], "in all other rows", self.beside[k]),
            "stands_out": level_words(self.column, self.labels[k]),
            "there": number(self.mean[k], 6),
            "elsewhere": number(self.beside[k], 6),
        }


def _of_class(classes: list[str], total: Array, n: Array, rates: Array) -> int:
    """Return which class a rate is of: of many, the one that this column tells apart best."""
    if len(classes) != 2:
        overall = total / total.sum()
        return int(np.argmax(n @ np.nan_to_num(rates - overall) ** 2))
    named = [k for k, label in enumerate(classes) if label.lower() in YES]
    return named[0] if len(named) == 1 else int(np.argmin(total))


def _shown(bars: _Bars, groups: Groups, context: Context) -> dict[str, Any] | None:
    if len(bars.kept) < 2:
        return None
    said = _of_bins(bars, groups.words[bars.column.name]) if bars.column.name in groups.words else _of_levels(bars)
    if said is None:
        return None
    by_bins = said["axis"] == "bins" and context.sample is not None
    rows = context.sample.words if by_bins and context.sample is not None else "all rows"
    return {"of": bars.of, "overall": number(bars.overall, 6), "of_rows": rows, **said}


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


def _of_levels(bars: _Bars) -> dict[str, Any] | None:
    """Return the bars of the levels of a column, rare ones pooled, and the sentence on it."""
    column, labels, kept = bars.column, bars.labels, bars.kept
    best = int(np.argmax(bars.gap))
    if not bars.gap[best] > 0:
        return None
    shown, rest = (kept, []) if len(kept) <= LEVELS + 1 else (kept[:LEVELS], kept[LEVELS:])
    if best in rest:  # the sentence speaks of what is shown
        shown, rest = [*shown[:-1], best], [shown[-1], *(k for k in rest if k != best)]
    # Parts of a date and numbers in their own order, other levels from high to low.
    ordered = column.part is not None or column.form != "category"
    shown = sorted(shown, key=(lambda k: (labels[k] is None, labels[k])) if ordered else (lambda k: -bars.mean[k]))
    out = [bars.bar(level_words(column, labels[k]), [k]) for k in shown]
    if rest:
        out.append({**bars.bar(f"{len(rest):,} other levels", rest), "pooled": True})
    called = f"{column_words(column)} = {level_words(column, labels[best])}"
    return {"groups": out, "axis": "levels", **bars.against_others(best, called)}


def _of_bins(bars: _Bars, words: list[str]) -> dict[str, Any]:
    """Return the bars of the bins of a number, and the sentence on it."""
    called = column_words(bars.column)
    at = {label: k for k, label in enumerate(bars.labels) if bars.n[k] > 0}
    bins = [(word, at[k]) for k, word in enumerate(words) if k in at]
    out = [bars.bar(word, [k]) for word, k in bins]
    if None in at:
        out.append(bars.bar(MISSING, [at[None]]))
        if len(bins) < 2 or int(np.argmax(bars.gap)) == at[None]:
            return {
                "groups": out,
                "axis": "bins",
                "direction": None,
                **bars.against_others(at[None], f"{called} is missing"),
            }
    means = [float(bars.mean[k]) for _, k in bins]
    steps = np.sign(np.diff(means))
    direction = "rises" if (steps > 0).mean() >= 0.75 else "falls" if (steps < 0).mean() >= 0.75 else None
    if (means[-1] - means[0]) * {"rises": 1, "falls": -1, None: 0}[direction] < 0:
        direction = None
    first, last = (0, len(bins) - 1) if direction else (int(np.argmin(means)), int(np.argmax(means)))
    there = [_place(called, bins[k][0]) for k in (first, last)]
    told = bars.compared(f"where {there[0]}", means[first], f"where {there[1]}", means[last])
    return {
        "groups": out,
        "axis": "bins",
        "words": told + (f" ({direction} with {called})" if direction else ""),
        "direction": direction,
        "there": number(means[first], 6),
        "elsewhere": number(means[last], 6),
    }


def _place(name: str, label: str) -> str:
    return f"{name} is from {label}" if " to " in label else f"{name} is {label}"
