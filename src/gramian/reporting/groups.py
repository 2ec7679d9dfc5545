"""The target by group of rows, and the share of it that a column explains by itself: what the page shows and ranks by.

Rows are put in groups: by level for a category and for a number of few values, by bin for any other number. So a curve counts
like a line, and one value far out is one row of the last bin. Bins are cut in the rows that were looked at, and a missing value
is a group of its own. With n_l rows in group l, s_l their sums of the target and t their squares in all,

    T = t - |sum_l s_l|^2 / n,    W = t - sum_l |s_l|^2 / n_l,    share = 1 - W / T,

for a number; for classes s_l counts the rows of each class, and the share is Goodman and Kruskal's tau, for two classes
chi-squared over n. Chance alone gives K groups (K - 1) / (n - 1) of T, which is taken off: 1 - (W / (n - K)) / (T / (n - 1)).

With folds the share is that of left-out rows, 1 - (squared errors) / (squared errors of the overall mean), where group l is
predicted by the mean of the other folds drawn towards their overall mean m, as far as the noise within groups asks for:

    m + n_l / (n_l + r) (m_l - m),    r = (W / (n - K)) / v,    v = (T - W - (K - 1) W / (n - K)) / (n - sum_l n_l^2 / n).

Five hundred levels of noise then predict the mean and explain nothing. All of it follows from sums by group and fold.

*Test.* Groups are tested by the permutation test of independence. Most effects of a number rise or fall, and a test of the
numbers 1 to K of the bins has one degree of freedom for these, where the bins have K - 1. The smaller p-value of the two counts
twice, so that it keeps its word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.design.bins import Bins, quantile_bins
from gramian.engines.collect import collect
from gramian.linear.regression.independence import IndependenceTest, independence_test
from gramian.moments.algebra.folds import has_folds, places_of
from gramian.moments.covariance import level_values
from gramian.moments.value import Moments
from gramian.reporting.values import figure

BINS = 6
VALUES = 8
"""Values of a number up to which each is a group."""
FEWEST = 40
"""Rows that bins are cut in."""
DENSE = 2**20
"""Cells of a table of levels and classes up to which it is dense, which is faster."""
TOGETHER = 32
"""Columns whose bins are counted in one pass: it counts all pairs of them."""


@dataclass(frozen=True, eq=False)
class Sums:
    """The target by group: `n` rows (groups,), `sums` (groups, classes or 1), and the `squares` of all rows together.

    `squares_by` are the squares of each group, None where they are not kept.
    """

    n: Array
    sums: Any
    squares: float
    squares_by: Array | None = None

    @cached_property
    def lengths(self) -> Array:
        """|s_l|^2 of each group."""
        return _row_products(self.sums, self.sums)

    @cached_property
    def means(self) -> Array:
        """|s_l|^2 / n_l, 0 where there are no rows."""
        return np.divide(self.lengths, self.n, out=np.zeros(len(self.n)), where=self.n > 0)

    @cached_property
    def total(self) -> Array:
        """The sum of the target over all rows."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    def variances(self) -> tuple[float, float, float]:
        """Return T, W and the number of groups."""
        whole = self.squares - float(self.total @ self.total) / max(float(self.n.sum()), 1e-300)
        return max(whole, 0.0), max(self.squares - float(self.means.sum()), 0.0), float((self.n > 0).sum())


class Grouped:
    """Columns of moments by group, and a target.

    Parameters
    ----------
    moments : Moments
        In which every column asked about is a category.
    target : str
    """

    def __init__(self, moments: Moments, target: str) -> None:
        self.moments, self.target = moments, target
        self.folds = [fold for fold in moments.folds if fold.n_rows] if has_folds(moments) else []
        self._form = moments.schema[target].form
        self.centre = 0.0
        if self._form == "integer":
            self.centre = level_values(moments, moments.coded_at[target])[0]
        elif self._form == "number":
            self.centre = float(moments.mean([target])[0])
        self._places = [places_of(replace(moments, folds=()), fold) for fold in self.folds]
        if any(places is None for places in self._places):
            self.folds = []  # pooled levels do not line up
        self._squares = {id(m): self._squares_of(m) for m in (moments, *self.folds)} if self._form == "number" else {}

    def _squares_of(self, m: Moments) -> float:
        powers, j = m.numbers.central(float(m.total_weight)), m.numbers.names.index(self.target)
        gap = m.numbers.anchors[j] - self.centre + powers.mean[j]
        return float(powers.sums[0, j] + powers.weight[j] * gap**2)

    def sums(self, name: str, part: Moments | None = None) -> Sums:
        """Return the target by level of a column, about the centre, of all rows or of a fold in its own levels."""
        m = self.moments if part is None else part
        k = m.coded_at[name]
        n = np.asarray(m.pairs.level_weights[k], dtype=np.float64)
        if self._form == "number":
            j, p = m.numbers.names.index(self.target), len(m.numbers.names)
            if j in m.numbers.missing:
                n = n - m.sums[k][:, p + m.numbers.missing.index(j)]
            values = m.sums[k][:, j] + (m.numbers.anchors[j] - self.centre) * n
            return Sums(n, values[:, None], self._squares[id(m)])
        table: Any = m.pairs.block(k, m.coded_at[self.target]).astype(np.float64)
        table = dense(table) if table.shape[0] * table.shape[1] <= DENSE else sp.csr_array(table)
        if self._form == "category":
            return Sums(n, table, float(n.sum()))
        mean, deviation = level_values(m, m.coded_at[self.target])
        values = mean - self.centre + deviation
        by = np.asarray(table @ values**2)
        return Sums(n, np.asarray(table @ values)[:, None], float(by.sum()), by)

    def share(self, name: str) -> float:
        """Return the share of the target that the groups of a column explain, corrected for chance or of left-out rows."""
        whole = self.sums(name)
        n = float(whole.n.sum())
        between, within, groups = whole.variances()
        if not between > 0 or groups < 2:
            return 0.0
        if not self.folds:
            return 1 - (within / max(n - groups, 1.0)) / (between / (n - 1)) if n > groups else 0.0
        errors, against = 0.0, 0.0
        for fold, places in zip(self.folds, self._places, strict=True):
            own = self._placed(name, self.sums(name, fold), places or {}, whole)
            rest = Sums(whole.n - own.n, whole.sums - own.sums, whole.squares - own.squares)
            left, right = _errors(rest, own)
            errors, against = errors + left, against + right
        return 1 - errors / against if against > 0 else 0.0

    def _placed(self, name: str, own: Sums, places: dict[int, Any], whole: Sums) -> Sums:
        """Return the sums of a fold in the levels of the whole."""
        m = self.moments
        rows = places.get(m.coded_at[name], np.arange(len(own.n)))
        cols = np.arange(own.sums.shape[1])
        if self._form == "category":
            cols = places.get(m.coded_at[self.target], cols)
        n = np.zeros(len(whole.n))
        n[rows] = own.n
        if sp.issparse(whole.sums):
            table = sp.coo_array(own.sums)
            moved = sp.csr_array((table.data, (rows[table.row], cols[table.col])), shape=whole.sums.shape)
        else:
            moved = np.zeros(whole.sums.shape)
            moved[np.ix_(rows, cols)] = dense(own.sums)
        return Sums(n, moved, own.squares)


def dense(table: Any) -> Array:
    """Return a table as an array, sparse or not."""
    return np.asarray(table.toarray() if sp.issparse(table) else table)


def _row_products(a: Any, b: Any) -> Array:
    """Return the inner product of every two rows, of sparse or dense arrays."""
    return np.asarray((a * b).sum(axis=1), dtype=np.float64)


def _errors(rest: Sums, own: Sums) -> tuple[float, float]:
    """Return the squared errors of rows predicted by the means of the others' groups, and by their overall mean."""
    n = float(rest.n.sum())
    total, within, groups = rest.variances()
    overall = rest.total / n
    noise = within / max(n - groups, 1.0)
    spread = (total - within - (groups - 1) * noise) / max(n - float(rest.n @ rest.n) / n, 1e-300)
    # Without noise there is nothing to draw towards, and without a spread of the groups nothing but the mean.
    w = np.zeros(len(rest.n))
    if spread > 0 and n > groups:
        np.divide(rest.n, rest.n + noise / spread, out=w, where=rest.n > 0)
    each = np.divide(w, rest.n, out=np.zeros(len(w)), where=rest.n > 0)
    # |prediction|^2 and its product with the sums of the rows left out, the prediction (1 - w) m + w s_l / n_l.
    length = (1 - w) ** 2 * (overall @ overall) + 2 * (1 - w) * each * (rest.sums @ overall) + each**2 * rest.lengths
    along = (1 - w) * (own.sums @ overall) + each * _row_products(own.sums, rest.sums)
    mean = own.squares - 2 * float(own.total @ overall) + float(own.n.sum() * (overall @ overall))
    return float(own.squares - 2 * along.sum() + own.n @ length), mean


def along_a_line(moments: Moments, name: str, target: str) -> float:
    """Return the share of the target that its regression on a number explains, corrected for chance."""
    covariance = moments.covariance([name, target])
    spread, whole = float(covariance[0, 0]), float(np.trace(covariance[1:, 1:]))
    n = float(moments.total_weight)
    if not (spread > 0 and whole > 0 and n > 2):
        return 0.0
    return 1 - (1 - float((covariance[0, 1:] ** 2).sum()) / spread / whole) * (n - 1) / (n - 2)


class Groups:
    """The groups of every column: its levels, or bins of the rows that were looked at.

    Attributes
    ----------
    levels : Grouped
        Columns by level.
    bins : dict of str to Grouped
        Numbers in bins.
    words : dict of str to list
        Of each number in bins, what its bins are called, in their order: the levels of `bins` are the places in it.
    """

    def __init__(self, moments: Moments, target: str, features: Sequence[str], rows: pa.Table | None) -> None:
        schema = moments.schema
        whole = [name for name in features if schema[name].form == "integer"]
        few = [name for name in whole if (np.asarray(moments.counts(name)) > 0).sum() <= VALUES]
        self.levels = Grouped(moments.as_categorical(few), target)
        self.bins: dict[str, Grouped] = {}
        self.words: dict[str, list[str]] = {}
        self._trends: dict[str, Moments] = {}
        cut = [name for name in features if schema[name].form != "category" and name not in few]
        if rows is None or target not in rows.column_names:
            return
        rows = rows.filter(_is_known(rows[target]))
        codes = {}
        for name in cut:
            origin = schema[name].origin
            values = as_numbers(rows[origin]) if origin in rows.column_names else None
            made = None if values is None or len(values) < FEWEST else quantile_bins(values, BINS, least=2)
            if values is None or made is None or len(made.names) < 2:
                continue
            order, self.words[name] = _in_order(made)
            labels = made.of(values)
            codes[name] = pa.array(np.argsort(order)).take(labels.indices)
        classes = schema[target].form == "category"
        for some in (list(codes)[k : k + TOGETHER] for k in range(0, len(codes), TOGETHER)):
            table = pa.table({name: codes[name] for name in some} | {target: rows[target]})
            binned = collect(
                table,
                targets=target,
                categorical=[target] if classes else None,
                numeric=None if classes else [target],
                folds=len(moments.folds),
            )
            self.bins |= dict.fromkeys(some, Grouped(binned.as_categorical(some), target))
            self._trends |= dict.fromkeys(some, binned)

    def of(self, name: str) -> Grouped | None:
        """Return what knows the groups of a column, None where it has none."""
        if name in self.bins:
            return self.bins[name]
        return self.levels if self.levels.moments.schema[name].form == "category" else None

    def test(self, name: str) -> tuple[IndependenceTest, float]:
        """Return the test of independence of the groups of a column, and the p-value that counts."""
        grouped = self.of(name)
        target = self.levels.target
        test = independence_test(self.levels.moments if grouped is None else grouped.moments, name, target)
        if name not in self._trends or test.rank_x < 2:
            return test, test.p_value
        trend = independence_test(self._trends[name], name, target)
        return test, min(2 * min(test.p_value, trend.p_value), 1.0)


def _is_known(values: pa.ChunkedArray) -> pa.ChunkedArray:
    known = values.is_valid()
    return pc.and_kleene(known, pc.is_finite(values)) if pa.types.is_floating(values.type) else known


def as_numbers(values: pa.ChunkedArray) -> Array | None:
    """Return a column of numbers with NaN where it is missing, None where it holds none."""
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _in_order(bins: Bins) -> tuple[Array, list[str]]:
    """Return the places of bins in the order of their values, and what they are called on the page.

    Examples
    --------
    >>> _in_order(Bins((18.0, 65.0), own=(0.0,)))[1]
    ['below 18', '0', '18 to 65', '65 and more']
    """
    edges = [figure(edge, 6) for edge in bins.edges]
    called = ["all values"]
    if edges:
        called = [f"below {edges[0]}", *(f"{a} to {b}" for a, b in pairwise(edges)), f"{edges[-1]} and more"]
    every = [*called, *(figure(value, 6) for value in bins.own)]
    order = np.argsort([-np.inf, *bins.edges, *bins.own], kind="stable")
    return order, [every[k] for k in order]
