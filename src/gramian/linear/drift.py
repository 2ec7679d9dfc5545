"""What changed between two sets of rows, column by column and pair by pair, from their moments.

Put the rows of both on top of each other, and beside them a column `side` that says where each row came from. Nothing has
changed if every pairing of rows with sides is as likely as the one seen. So a change of a column is its dependence on `side`,

    T = (n - 1) tr(A B),    A, B the hat matrices of the column and of `side`,

whose law over all permutations is known from the margins (`gramian.linear.regression.permutation`). For a category this is
chi-squared of the table levels x side, for a number (n - 1) r^2, also where levels are rare and tails heavy.

*Spread.* For a number, z = (x - mean of its side)^2 against `side` is a test of the variance. Its law needs the eighth power
sum, which is not kept. But M_6^2 / M_4 <= M_8 <= M_6^(4/3), and the larger p-value of these two is taken.

*Dependence of two categories.* The joint levels against `side` would also show what happened to the margins. With O_c the rows
of the first side in cell c, N_c those of both, and E_c fitted by iterated proportions to the pair table, to the margins of each
side, and to nothing else (the odds ratios are then those of both sides), the score test of a changed odds ratio is

    T = (n - 1) / n  sum_c (O_c - E_c)^2 / (E_c (N_c - E_c) / N_c).

Without changed margins it is T for the functions of a cell that are orthogonal to all sums f(row) + g(column), a projector with
leverage 1 / N_c - (hat of the additive functions) in each cell: that fixes the law. Levels whose expected number of rows on
the smaller side is below `EXPECTED` are pooled, as are those beyond the `LEVELS` most frequent. Which they are depends on the
rows of both sides together, so it does not bias the test.

*Dependence that involves a number.* Products of two numbers have variances that moments do not keep. The correlation of two
numbers is compared by Fisher's z, its variance enlarged by kurtosis / 3 (elliptical rows). For a number within the levels l
of a category, D_l = h_l (difference of means - common shift), h_l = n_la n_lb / n_l, and Q = sum_l D_l^2 is compared with a
gamma law of the mean and variance that it has if the number varies, and is tailed, alike in all levels. These two say
`law = "normal"`, all others `law = "permutation"`. Numbers that were collected in bins are compared by their bins, whose law
is exact.

*Weights.* By the contract a weight stands for that many rows. The test, however, counts rows: levels are tested by rows. For
numbers and pairs weights are scaled to sum to n / (1 + v), v the squared variation of the weights. v is estimated from the
levels: over l, (W_l - w n_l)^2 / n_l has mean v w^2 wherever weight and level are independent, w the mean weight.

References: Strasser and Weber, On the asymptotic theory of permutation statistics, Mathematical Methods of Statistics 8, 1999;
Yurdakul and Naranjo, Statistical properties of the population stability index, Journal of Risk Model Validation 14, 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.stats import gamma, norm

from gramian.arrays.types import Array
from gramian.design.bins import Bins
from gramian.design.schema import label_text
from gramian.errors import Call, DataError, PythonOnly
from gramian.linear.regression.independence import of_category, of_number
from gramian.linear.regression.permutation import Side, null_law
from gramian.moments.advice import identifiers
from gramian.moments.algebra.combine import aligned, conform
from gramian.moments.covariance import level_values
from gramian.moments.crosstabs import association
from gramian.moments.value import Moments
from gramian.tables.returned import table as output_table

LEVELS = 40
"""Levels of a column in a pair; the others are pooled."""

EXPECTED = 5.0
"""Rows of a level that the smaller side must expect in a pair."""

SURE = 0.05
"""Adjusted p-value up to which a change comes first in the table."""

FEW_CELLS = 400
"""Cells up to which the hat matrix of a pair is written out: its third moment then counts too."""

_STEPS, _FITTED = 300, 1e-9
_SHOWN = 3


@dataclass
class Change:
    """One row of the table: what may have changed, by how much, and how likely that is by chance."""

    column: str
    other: str | None
    what: str
    effect: float
    p_value: float
    a: float | None
    b: float | None
    change: str
    total_variation: float | None = None
    psi: float | None = None
    mean_difference: float | None = None
    new_levels: int | None = None
    vanished_levels: int | None = None
    law: str = "permutation"
    adjusted: float = np.nan


FIELDS = (
    *("column", "other", "what", "change", "a", "b", "effect", "p_value", "adjusted"),
    *("total_variation", "psi", "mean_difference", "new_levels", "vanished_levels", "law"),
)


def compare(moments_a: Moments, moments_b: Moments, *, pairs: bool = True) -> Any:
    """Return a table of what changed from one set of rows to another, per column and per pair of columns.

    Changes that chance does not explain come first, the largest effect before smaller ones; then the others by p-value.
    Identifiers (`docs/identifiers.md`) are set aside: their levels change by design.

    Parameters
    ----------
    moments_a, moments_b : Moments
        Of the same columns; a column that one of them lacks, or has as another kind, is a row of the table and no more.
    pairs : bool
        Also compare how columns go together, two by two.

    Returns
    -------
    table
        Of the library that the data came from (or that scikit-learn's `transform_output` names). `column`, `other` (null for
        a column alone) and `what`: `"levels"`, `"mean"`, `"spread"`, `"missing"`, `"dependence"`, `"identifier"` or
        `"columns"`. `change` in words. `a` and `b`: number of levels, mean, standard deviation, share missing, or association
        (Cramer's V, correlation ratio, `|r|`). `effect` from 0 to 1: the total variation between both sides, for a number that
        of two normal laws. `p_value`, the chance of a change this large between random halves of the same rows, and
        `adjusted` for the number of rows of the table (Holm). `total_variation` and `psi` (population stability index, half a
        row added to every level), `mean_difference` in standard deviations, `new_levels`, `vanished_levels`, and the `law` of
        the p-value.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> monday = gm.collect(pa.table({"color": ["red", "blue"] * 60, "size": ["s"] * 60 + ["l"] * 60}))
    >>> tuesday = gm.collect(pa.table({"color": ["red"] * 60 + ["blue"] * 60, "size": ["s"] * 60 + ["l"] * 60}))
    >>> gm.compare(monday, tuesday).select(["column", "other", "what", "a", "b"]).to_pylist()[0]
    {'column': 'color', 'other': 'size', 'what': 'dependence', 'a': 0.0, 'b': 1.0}
    """
    for each in (moments_a, moments_b):
        given: object = each
        if not isinstance(given, Moments):
            got = type(given).__name__
            raise DataError(Call("compare"), f" takes two Moments; got {got}", PythonOnly(": collect() the rows first"))
    found = changes(moments_a, moments_b, pairs=pairs)
    columns = {name: [getattr(change, name) for change in found] for name in FIELDS}
    return output_table(columns, library=moments_a.library)


def changes(a: Moments, b: Moments, *, pairs: bool = True) -> list[Change]:
    """Return what may have changed, in the order of the table."""
    lone, a, b = _common(a, b)
    if not a.n_rows or not b.n_rows or not a.columns:
        empty = "the first" if not a.n_rows else "the second" if not b.n_rows else None
        raise DataError(
            "nothing can be compared: "
            + (f"{empty} moments have no rows" if empty else "the moments have no column in common")
        )
    sides = _Sides(a, b)
    out = [change for name in sides.columns for change in sides.of_column(name)]
    if pairs:
        out += [change for one, two in sides.pairs() if (change := sides.of_pair(one, two)) is not None]
    _adjust(out)
    certain = [change for change in out if change.adjusted <= SURE]
    others = [change for change in out if not change.adjusted <= SURE]
    certain.sort(key=lambda change: (-change.effect, change.p_value))
    others.sort(key=lambda change: (change.p_value, -change.effect))
    aside = [
        Change(name, None, "identifier", np.nan, np.nan, None, None, f"{levels:,} levels: set aside")
        for name, levels in sides.aside.items()
    ]
    return [*lone, *certain, *others, *aside]


def _common(a: Moments, b: Moments) -> tuple[list[Change], Moments, Moments]:
    """Return both with the columns that can be compared, and a change for each of the others."""
    lone = []
    for name in dict.fromkeys([*a.columns, *b.columns]):
        one, two = ({column.name: column for column in side.schema}.get(name) for side in (a, b))
        if one is None or two is None:
            words = f"only in the {'first' if two is None else 'second'}"
        elif one.kind != two.kind and not _kindless(a, name) and not _kindless(b, name):
            called = {"categorical": "text", "numeric": "numbers"}
            words = f"{called[one.kind]} in the first, {called[two.kind]} in the second"
        elif one.part != two.part:
            words = "bins with other edges; collect both with like="
        else:
            continue
        lone.append(Change(name, None, "columns", np.nan, np.nan, None, None, words))
    gone = {change.column for change in lone}
    kept = [name for name in a.columns if name not in gone]
    a, b = a.select(kept), b.select(kept)
    if not a.n_rows or not b.n_rows or not kept:
        return lone, a, b
    whole = a + b
    a, b = aligned(conform(a, whole.schema), conform(b, whole.schema))
    return lone, a, b


def _kindless(moments: Moments, name: str) -> bool:
    """Whether a column has no value at all, so that its kind is a guess."""
    from gramian.moments.algebra.missing_columns import without_kind

    return name in without_kind(moments)


def _adjust(found: list[Change]) -> None:
    """Adjust p-values: at most one in twenty tables of unchanged rows has one below 0.05."""
    for change, p in zip(found, holm([change.p_value for change in found]), strict=True):
        change.adjusted = p


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number.

    Examples
    --------
    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    out, largest = [0.0] * len(p_values), 0.0
    for k, j in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(p_values[j] * (len(p_values) - k), 1.0))
        out[j] = largest
    return out


def _per_row(moments: Moments) -> float:
    """Return what weights are to be scaled by, so that they sum to the rows they are worth."""
    if not moments.weighted:
        return 1.0
    mean = float(moments.total_weight) / moments.n_rows
    terms, freedom = 0.0, 0
    for weights, rows in zip(moments.pairs.level_weights, moments.pairs.level_rows, strict=True):
        seen = rows > 0
        if seen.sum() > 1:
            terms += float((np.square(weights[seen] - mean * rows[seen]) / rows[seen]).sum())
            freedom += int(seen.sum()) - 1
    return 1 / mean / (1 + (terms / freedom / mean**2 if freedom else 0.0))


class _Sides:
    """Two aligned moments, scaled to the rows they are worth, and what both together are."""

    def __init__(self, a: Moments, b: Moments) -> None:
        self.rows = np.array([a.n_rows, b.n_rows], dtype=np.float64)
        factors = (_per_row(a), _per_row(b))
        whole = a + b
        self.aside = identifiers(whole, whole.columns)
        self.columns = [name for name in a.columns if name not in self.aside]
        self.level_rows = [
            np.stack([x, y]).astype(np.float64) for x, y in zip(a.pairs.level_rows, b.pairs.level_rows, strict=True)
        ]
        self.a, self.b = (side if factor == 1 else side * factor for side, factor in zip((a, b), factors, strict=True))
        self.whole = whole if factors == (1.0, 1.0) else self.a + self.b
        weight = float(self.whole.total_weight)
        self.weights = [float(side.total_weight) for side in (self.a, self.b)]
        self.n = weight
        self.powers = [m.numbers.central(float(m.total_weight)) for m in (self.a, self.b, self.whole)]
        self.at = {name: j for j, name in enumerate(self.whole.numbers.names)}
        self.pooled: dict[str, tuple[Array, list[str]]] = {}

    # One column

    def of_column(self, name: str) -> list[Change]:
        """Return what may have changed in a column."""
        if self.whole.schema[name].by_level:
            return [self._levels(name)]
        return self._number(name)

    def _levels(self, name: str) -> Change:
        k = self.whole.coded_at[name]
        rows = self.level_rows[k]
        seen = rows.sum(axis=0) > 0
        texts = [label_text(label) for label, kept in zip(self.a.levels(name), seen, strict=True) if kept]
        rows = rows[:, seen]
        weights = np.stack([m.pairs.level_weights[k][seen].astype(np.float64) for m in (self.a, self.b)])
        shares = weights / weights.sum(axis=1, keepdims=True)
        gap = shares[1] - shares[0]
        near = (weights + 0.5) / (weights + 0.5).sum(axis=1, keepdims=True)
        new, vanished = rows[0] == 0, rows[1] == 0
        words = [
            f"{texts[j]} {shares[0, j]:.1%} -> {shares[1, j]:.1%}"
            for j in np.argsort(-np.abs(gap), kind="stable")[:_SHOWN]
            if gap[j]
        ]
        words += [f"{new.sum()} new level{'s' if new.sum() > 1 else ''}"] if new.any() else []
        words += [f"{vanished.sum()} vanished"] if vanished.any() else []
        difference = None
        if self.whole.schema[name].form == "integer":
            values = level_values(self.whole, k)[1][seen]
            spread = np.sqrt(weights.sum(axis=0) @ values**2 / weights.sum())
            difference = float(gap @ values / spread) if spread > 0 else 0.0
        effect = float(np.abs(gap).sum() / 2)
        return Change(
            name,
            None,
            "levels",
            effect,
            _chance(rows),
            float((~new).sum()),
            float((~vanished).sum()),
            "; ".join(words),
            total_variation=effect,
            psi=float(((near[1] - near[0]) * np.log(near[1] / near[0])).sum()),
            mean_difference=difference,
            new_levels=int(new.sum()),
            vanished_levels=int(vanished.sum()),
        )

    def _number(self, name: str) -> list[Change]:
        j = self.at[name]
        one, two, both = self.powers
        observed = np.array([one.weight[j], two.weight[j]])
        out = []
        lost = np.array(self.weights) - observed
        if lost.max() > 1e-9 * self.n:
            table = np.stack([observed, lost], axis=1)
            if self.whole.weighted:
                table = np.rint(table)
            shares = np.clip(lost / np.array(self.weights), 0.0, 1.0)
            effect = float(abs(shares[1] - shares[0]))
            words = f"missing {shares[0]:.1%} -> {shares[1]:.1%}"
            out.append(
                Change(
                    name,
                    None,
                    "missing",
                    effect,
                    _chance(table),
                    float(shares[0]),
                    float(shares[1]),
                    words,
                    total_variation=effect,
                )
            )
        if observed.min() <= 0:
            return out
        n = observed.sum()
        side = of_category(observed).side
        anchors = np.array([m.numbers.anchors[j] for m in (self.a, self.b)])
        gap = float(anchors[1] - anchors[0] + two.mean[j] - one.mean[j])
        means = anchors + np.array([one.mean[j], two.mean[j]])
        total = float(both.sums[0, j])
        between = observed.prod() / n * gap**2
        p_value = (
            null_law(n, of_number(both.sums[:, j]).side, side).upper_tail((n - 1) * min(between / total, 1.0))
            if total > 0
            else 1.0
        )
        within = float(one.sums[0, j] + two.sums[0, j])
        spread = np.sqrt(within / max(n - 2, 1))
        difference = gap / spread if spread > 0 else (np.inf if gap else 0.0) * np.sign(gap)
        words = f"mean {means[0]:.5g} -> {means[1]:.5g}"
        effect = _overlap(difference)
        out.append(
            Change(
                name,
                None,
                "mean",
                effect,
                p_value,
                float(means[0]),
                float(means[1]),
                words,
                mean_difference=float(difference),
            )
        )
        spreads = [np.sqrt(each.sums[0, j] / max(w - 1, 1)) for each, w in ((one, observed[0]), (two, observed[1]))]
        words = f"standard deviation {spreads[0]:.4g} -> {spreads[1]:.4g}"
        chance = _spread_chance(one.sums[:, j] + two.sums[:, j], one.sums[0, j], observed, side)
        out.append(
            Change(
                name,
                None,
                "spread",
                _spread_overlap(float(spreads[0]), float(spreads[1])),
                chance,
                float(spreads[0]),
                float(spreads[1]),
                words,
            )
        )
        return out

    # Two columns

    def pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of columns that say something: not a number and its own bins, nor a number that has bins."""
        binned = {c.origin for c in self.whole.schema if isinstance(c.part, Bins)}
        of = {name: self.whole.schema[name] for name in self.columns}
        kept = [n for n, c in of.items() if isinstance(c.part, Bins) or c.origin not in binned or c.form == "category"]
        return [(x, y) for x, y in combinations(kept, 2) if of[x].origin != of[y].origin or of[x].part is None]

    def of_pair(self, x: str, y: str) -> Change | None:
        """Return how much the dependence of two columns changed, None where there is nothing to test."""
        by_level = [self.whole.schema[name].by_level for name in (x, y)]
        if all(by_level):
            return self._cells(x, y)
        if not any(by_level):
            return self._correlation(x, y)
        return self._level_means(x, y) if by_level[0] else self._level_means(y, x)

    def _pooled(self, name: str) -> tuple[Array, list[str]]:
        """Return the pooled code of each level, and what the pooled levels are called."""
        if name not in self.pooled:
            rows = self.level_rows[self.whole.coded_at[name]]
            count = rows.sum(axis=0)
            least = EXPECTED * self.rows.sum() / self.rows.min()
            order = np.argsort(-count, kind="stable")
            kept = [int(level) for level in order[:LEVELS] if count[level] >= least]
            rest = [int(level) for level in order if count[level] > 0][len(kept) :]
            if len(kept) == LEVELS and rest:
                rest.insert(0, kept.pop())
            codes = np.full(len(count), len(kept))
            codes[kept] = np.arange(len(kept))
            labels = self.a.levels(name)
            texts = [label_text(labels[level]) for level in kept]
            self.pooled[name] = (
                codes,
                texts + ([label_text(labels[rest[0]]) if len(rest) == 1 else "(others)"] if rest else []),
            )
        return self.pooled[name]

    def _cells(self, x: str, y: str) -> Change | None:
        (rows, of_rows), (cols, of_cols) = self._pooled(x), self._pooled(y)
        i, j = self.whole.coded_at[x], self.whole.coded_at[y]
        shape = (len(of_rows), len(of_cols))
        if min(shape) < 2:
            return None
        one, two = (_cells_of(m.pairs.block(i, j), rows, cols, shape) for m in (self.a, self.b))
        counts = one + two
        law = _law_of_cells(counts, one.sum())
        if law is None:
            return None
        expected, other = _same_odds(one, two)
        gap = one - expected
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(expected * other > 0, gap**2 * counts / (expected * other), 0.0)
        statistic = float((self.n - 1) / self.n * parts.sum())
        effect = float(np.abs(gap).sum() / 2 * (1 / one.sum() + 1 / two.sum()))
        r, c = np.unravel_index(int(np.argmax(np.abs(gap))), shape)
        shares = one[r, c] / one.sum(), two[r, c] / two.sum()
        words = f"{x} = {of_rows[r]} with {y} = {of_cols[c]}: {shares[0]:.1%} -> {shares[1]:.1%} of the rows"
        return Change(
            x,
            y,
            "dependence",
            min(effect, 1.0),
            law.upper_tail(statistic),
            _cramer(one),
            _cramer(two),
            words,
            min(effect, 1.0),
        )

    def _correlation(self, x: str, y: str) -> Change | None:
        i, j = self.at[x], self.at[y]
        seen = [min(p.weight[i], p.weight[j]) for p in self.powers[:2]]
        if min(seen) < 4:
            return None
        r = []
        for m in (self.a, self.b):
            if not all(m.numbers.diagonal()[[i, j]] > 0):
                return None
            own = m.select([x, y])
            scatter = own.numbers.imputed_scatter(float(own.total_weight))
            r.append(float(np.clip(scatter[0, 1] / np.sqrt(scatter[0, 0] * scatter[1, 1]), -1, 1)))
        tails = [p.weight * p.sums[2] / np.where(p.sums[0] > 0, p.sums[0], np.inf) ** 2 / 3 for p in self.powers[:2]]
        scale = [max(float(np.nanmean([1.0 if not np.isfinite(t[k]) else t[k] for k in (i, j)])), 1.0) for t in tails]
        sure = 1 - 1e-12
        gap = float(np.arctanh(r[1] * sure) - np.arctanh(r[0] * sure))
        error = np.sqrt(sum(s / (n - 3) for s, n in zip(scale, seen, strict=True)))
        p_value = float(2 * norm.sf(abs(gap) / error))
        words = f"correlation {r[0]:.3f} -> {r[1]:.3f}"
        return Change(x, y, "dependence", abs(r[1] - r[0]) / 2, p_value, abs(r[0]), abs(r[1]), words, law="normal")

    def _level_means(self, category: str, number: str) -> Change | None:
        codes, texts = self._pooled(category)
        if len(texts) < 2:
            return None
        k, j = self.whole.coded_at[category], self.at[number]
        anchor = self.whole.numbers.anchors[j]
        sums, counts, within = [], [], 0.0
        for m, powers in zip((self.a, self.b), self.powers[:2], strict=True):
            observed = np.asarray(m.pairs.level_weights[k], dtype=np.float64)
            if j in m.numbers.missing:
                observed = observed - m.sums[k][:, len(m.numbers.names) + m.numbers.missing.index(j)]
            shift = 0.0 if np.isnan(m.numbers.anchors[j]) else m.numbers.anchors[j] - anchor
            total = np.bincount(codes, m.sums[k][:, j] + shift * observed, len(texts))
            count = np.bincount(codes, observed, len(texts))
            seen = count > 0
            mean = total.sum() / max(count.sum(), 1e-300)
            within += float(powers.sums[0, j] - ((total[seen] - count[seen] * mean) ** 2 / count[seen]).sum())
            sums.append(total)
            counts.append(count)
        both = counts[0] + counts[1]
        kept = (counts[0] > 0) & (counts[1] > 0)
        free = both.sum() - 2 * kept.sum()
        if kept.sum() < 2 or free <= 0 or not within > 0:
            return None
        h = counts[0][kept] * counts[1][kept] / both[kept]
        gaps = sums[1][kept] / counts[1][kept] - sums[0][kept] / counts[0][kept]
        beyond = gaps - h @ gaps / h.sum()
        spread = np.diag(h) - np.outer(h, h) / h.sum()
        variance = within / free
        mean, square = np.trace(spread), float((spread**2).sum())
        q = float(((h * beyond) ** 2).sum()) / variance
        # Means of few rows keep the heavy tails of a number: h^4 (1 / n_a^3 + 1 / n_b^3) of its fourth cumulant.
        both_powers = self.powers[2]
        excess = both_powers.weight[j] * both_powers.sums[2, j] / max(both_powers.sums[0, j] ** 2, 1e-300) - 3
        tails = float((h**4 * (1 / counts[0][kept] ** 3 + 1 / counts[1][kept] ** 3)).sum())
        spreads = [2 * square, 2 * square + max(float(np.nan_to_num(excess)), 0.0) * tails]
        p_value = max(float(gamma.sf(q, mean**2 / spread, scale=spread / mean)) for spread in spreads)
        share = both[kept] / both[kept].sum()
        effect = _overlap(float(np.sqrt(share @ beyond**2 / variance)))
        strength = [float(association(m, [category, number])[0, 1]) for m in (self.a, self.b)]
        names = [text for text, good in zip(texts, kept, strict=True) if good]
        most = int(np.argmax(np.abs(h * beyond)))
        means = [anchor + s[kept][most] / c[kept][most] for s, c in zip(sums, counts, strict=True)]
        words = f"mean {number} where {category} = {names[most]}: {means[0]:.5g} -> {means[1]:.5g}"
        return Change(category, number, "dependence", effect, p_value, strength[0], strength[1], words, law="normal")


def _chance(rows: Array) -> float:
    """Return the chance of a table sides x levels that is as far from equal shares."""
    rows = rows[:, rows.sum(axis=0) > 0]
    sides, levels = rows.sum(axis=1), rows.sum(axis=0)
    n = float(levels.sum())
    if len(levels) < 2 or sides.min() <= 0:
        return 1.0
    expected = np.outer(sides, levels) / n
    statistic = float((n - 1) / n * (np.square(rows - expected) / expected).sum())
    return null_law(n, of_category(levels).side, of_category(sides).side).upper_tail(statistic)


def _spread_chance(within: Array, first: float, observed: Array, side: Side) -> float:
    """Return the chance of variances this different, given the power sums about the mean of each side."""
    n, (second, _, fourth, _, sixth) = float(observed.sum()), within
    v = second / n
    total = fourth - n * v**2
    if not (np.isfinite(sixth) and second > 0 and total > 1e-9 * fourth and observed.min() > 1):
        return 1.0
    gap = first / observed[0] - (second - first) / observed[1]
    statistic = (n - 1) * min(observed.prod() / n * gap**2 / total, 1.0)
    third = sixth - 3 * v * fourth + 3 * v**2 * second - n * v**3
    chance = []
    for eighth in (sixth**2 / fourth, sixth ** (4 / 3)):
        tail = eighth - 4 * v * sixth + 6 * v**2 * fourth - 4 * v**3 * second + n * v**4
        powers = np.array([total, third, max(tail, total**2 / n), np.nan, np.nan])
        chance.append(null_law(n, of_number(powers).side, side).upper_tail(statistic))
    return max(chance)


def _overlap(difference: float) -> float:
    """Return the total variation of two normal laws of the same spread, their means so many standard deviations apart."""
    return float(2 * norm.cdf(abs(difference) / 2) - 1)


def _spread_overlap(one: float, two: float) -> float:
    """Return the total variation of two normal laws of the same mean.

    Examples
    --------
    >>> round(_spread_overlap(1.0, 2.0), 3), _spread_overlap(0.0, 1.0), _spread_overlap(3.0, 3.0)
    (0.323, 1.0, 0.0)
    """
    low, high = sorted((float(one), float(two)))
    if low == high:
        return 0.0
    if low <= 0:
        return 1.0
    ratio = high / low
    cross = ratio * np.sqrt(2 * np.log(ratio) / (ratio**2 - 1))
    return float(2 * (norm.cdf(cross) - norm.cdf(cross / ratio)))


def _cells_of(block: Any, rows: Array, cols: Array, shape: tuple[int, int]) -> Array:
    """Return a pair table with levels mapped to pooled ones."""
    cells = sp.coo_array(block)
    at = rows[cells.row] * shape[1] + cols[cells.col]
    return np.bincount(at, np.asarray(cells.data, dtype=np.float64), shape[0] * shape[1]).reshape(shape)


def _same_odds(one: Array, two: Array) -> tuple[Array, Array]:
    """Return the tables of both sides with their own margins, the same sum and equal odds ratios.

    Examples
    --------
    >>> one, two = np.array([[4.0, 2.0], [2.0, 1.0]]), np.array([[1.0, 3.0], [2.0, 6.0]])
    >>> [table.round(6).tolist() for table in _same_odds(one, two)]
    [[[4.0, 2.0], [2.0, 1.0]], [[1.0, 3.0], [2.0, 6.0]]]
    """
    counts = one + two
    fitted = [counts * side.sum() / counts.sum() for side in (one, two)]
    for _ in range(_STEPS):
        for axis in (1, 0):
            for k, side in enumerate((one, two)):
                now = fitted[k].sum(axis=axis, keepdims=True)
                wanted = side.sum(axis=axis, keepdims=True)
                fitted[k] = fitted[k] * np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
        both = fitted[0] + fitted[1]
        if np.abs(both - counts).max() <= _FITTED * counts.sum():
            break
        ratio = np.divide(counts, both, out=np.zeros_like(both), where=both > 0)
        fitted = [each * ratio for each in fitted]
    return fitted[0], fitted[1]


def _law_of_cells(counts: Array, first: float) -> Any:
    """Return the law of the statistic of a pair table, None where additive functions are all there are."""
    r, c = np.nonzero(counts)
    of_cell, n = counts[r, c], float(counts.sum())
    gram = np.diag(np.concatenate([counts.sum(axis=1), counts.sum(axis=0)]))
    gram[: len(counts), len(counts) :] = counts
    gram[len(counts) :, : len(counts)] = counts.T
    inverse, additive = scipy.linalg.pinvh(gram, return_rank=True)
    rank = float(len(of_cell) - additive)
    if rank <= 0:
        return None
    row, col = r, len(counts) + c
    leverage = 1 / of_cell - inverse[row, row] - inverse[col, col] - 2 * inverse[row, col]
    weighted = of_cell * leverage
    side = Side(rank, float(weighted @ leverage), float(weighted @ leverage**2))
    if len(of_cell) <= FEW_CELLS:
        rows, cols = np.ix_(row, row), np.ix_(col, col)
        hat = (
            np.diag(1 / of_cell) - inverse[rows] - inverse[cols] - inverse[np.ix_(row, col)] - inverse[np.ix_(col, row)]
        )
        side = replace(side, entries=float(of_cell @ hat**3 @ of_cell), form=float(weighted @ hat @ weighted))
    return null_law(n, side, of_category(np.array([first, n - first])).side)


def _cramer(counts: Array) -> float:
    """Return Cramer's V of a table."""
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    least = min(counts.shape) - 1
    if least < 1:
        return 0.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    square = float((np.square(counts - expected) / expected).sum()) / counts.sum() / least
    return float(np.sqrt(min(max(square, 0.0), 1.0)))
