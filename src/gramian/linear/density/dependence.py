"""How much every two columns tell about each other, from moments alone.

The nodes are the categorical columns, then the numbers; integers kept by level are numbers, as everywhere else: the
detector of a column must not change its kind when the 65th value turns up.

**Two categories**: the mutual information of their table less its bias, at least 0 (K levels with rows, n rows),

    I_jk = sum_uv n_uv / n log(n n_uv / (n_u n_v)) - (K_j - 1)(K_k - 1) / 2n.

**A number and a category or another number**: the Gaussian mutual information. A number is z, centred and in standard
deviations of its observed values. Where the partner explains a share eta^2 of its variance (a regression on the level, or
on the other number, which then counts as K = 2), the variance left is, with one row at the number's own variance added,

    v = (n (1 - eta^2) + 1) / (n - K + 1),     I = -1/2 log v, at least 0,

whose denominator is what independence leaves on average: the bias is in it. For a category the means are m_u = sum of z /
(n_u + 1), the added row at the mean again. n counts the rows in which the numbers were observed, two of them together.

**A skewed number** is read on a logarithmic scale, which its third, fourth and sixth moments choose: z is then its normal score
(`gramian.maps.surprise.score`), and correlations, means and what is left are those of normal scores.

**Tails.** Scores do not need them, the threshold does. The excess of a number is that of its kurtosis beyond 3, without its
bias (the estimate G2). Where a partner leaves the share v of the variance and the rest is independent of it, fourth moments
add up: with m the mean given the partner, E m^2 = 1 - v,

    E z^4 = E m^4 + 6 (1 - v) v + v^2 (3 + excess of the residual),

solved for the last; for two numbers this is (excess of z - r^4 excess of x) / v^2. Its sampling variance is about s = 24 / (n
v^4), and so it is drawn towards 0 by the share s / excess^2 (James and Stein). A number on a logarithmic scale has no excess
there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian.arrays.threads import cached_property, each_block, one_blas_thread
from gramian.arrays.types import Array
from gramian.linear.layout import Layout, layout_of
from gramian.linear.scatter.dense import RowScatter
from gramian.maps.surprise.explain import NumberFacts
from gramian.maps.surprise.score import bend_of, normal_score, rate_of, score_correlation, score_left
from gramian.moments import covariance as dense
from gramian.moments.value import Moments

LEAST_EXCESS = -2.0
"""That of a fair coin: no number has less."""


@dataclass(frozen=True, eq=False)
class Dependence(NumberFacts):
    """What moments say about numbers (see `NumberFacts`) and about pairs of columns.

    Attributes
    ----------
    information : (m, m) array
        I, categories first, then numbers; 0 on the diagonal.
    excess, excess_left, excess_by_level : (q,), (q, q), (c, q) arrays
        Kurtosis less 3 of a number, of the second number given the first, and of a number given a category.
    """

    information: Array
    excess: Array
    excess_left: Array
    excess_by_level: Array

    @cached_property
    def weights(self) -> Array:
        """Weights of the trees, I^2."""
        return np.square(self.information)


def dependence(moments: Moments, layout: Layout) -> Dependence:
    """Return what every two columns of the layout tell about each other.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> table = pa.table({"a": ["x", "y"] * 50, "b": ["p", "q"] * 50, "c": ["r", "r", "s", "s"] * 25})
    >>> m = gm.collect(table)
    >>> dependence(m, layout_of(m, None)).information.round(3)
    array([[0.   , 0.688, 0.   ],
           [0.688, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    names = [name for name, level in zip(layout.columns, layout.categorical, strict=True) if level]
    numbers = [name for name, level in zip(layout.columns, layout.categorical, strict=True) if not level]
    at = [moments.coded_at[name] for name in names]
    c, q = len(names), len(numbers)
    information = np.zeros((c + q, c + q))
    information[:c, :c] = _of_levels(moments, at)
    products, squares = _products(moments, numbers)
    centre, observed = _observed(moments, numbers)
    variance = squares / np.maximum(observed, np.finfo(np.float64).tiny)
    scale = np.where(variance > 0, np.sqrt(variance), 1.0)
    # Missing values stand at the mean: they add nothing to a product, and are not counted in it.
    together = _observed_together(moments, numbers, observed)
    third, fourth, sixth = _standard_moments(moments, numbers, centre, scale, observed)
    bend = bend_of(third, fourth, sixth, np.maximum(observed, 1.0))
    bend[variance <= 0] = 0.0
    plain = (bend == 0) & (variance > 0)
    excess = np.where(plain, _excess(fourth, observed), 0.0)
    correlation, left, excess_left = (np.empty((q, q)) for _ in range(3))

    def fill(rows: slice) -> None:
        both = together(rows)
        # Numbers that no row has together do not correlate: what is left of their products is rounding.
        mean = np.divide(products(rows), both, out=np.zeros_like(both), where=both > 0)
        found = np.clip(mean / scale / scale[rows, None], -1.0, 1.0)
        square = np.square(found)
        rest = _left(square, both, 2)
        excess_left[rows] = _beyond_noise(excess - np.square(square) * excess[rows, None], both, rest, plain)
        if bend.any():
            # What chance explains is taken off before the scale is bent, which would enlarge it.
            explained = np.copysign(np.sqrt(np.maximum(1.0 - rest, 0.0)), found)
            bent = bend.astype(bool) | bend[rows, None].astype(bool)
            of_scores = 1.0 - np.square(score_correlation(explained, bend, rows))
            rest = np.where(bent, np.maximum(of_scores, 1.0 / (both + 1.0)), rest)
            found = score_correlation(found, bend, rows)
        at = np.arange(rows.start, min(rows.stop, q))
        rest[at - rows.start, at] = 1.0
        correlation[rows], left[rows] = found, rest
        information[c:, c:][rows] = np.maximum(-0.5 * np.log(rest), 0.0)

    # A dozen matrices of thousands of columns would each go through memory: some rows at a time stay in the cache.
    with one_blas_thread():
        each_block(fill, correlation)
    level_means, left_by_level, excess_by_level = [], np.ones((c, q)), np.zeros((c, q))
    seen_means, seen_rows = [], []
    for j, k in enumerate(at):
        sums, weight = _level_sums(moments, k, numbers, centre)
        z = sums / scale
        explained = (np.square(z) / np.where(weight > 0, weight, 1.0)).sum(axis=0) / np.maximum(observed, 1e-300)
        levels = np.count_nonzero(weight > 0, axis=0)
        within = _left(np.minimum(explained, 1.0), observed, levels)
        left_by_level[j] = score_left(within, bend)
        within = np.minimum(within, 1.0)
        # Means of few rows vary by chance: they are drawn together until they explain what is not chance.
        drawn = (1.0 - within) / np.where(explained > 0, explained, 1.0)
        fourth_of_means = (z**4 / np.where(weight > 0, weight, 1.0) ** 3).sum(axis=0) / np.maximum(observed, 1e-300)
        between = fourth_of_means * np.square(drawn) + 6.0 * (1.0 - within) * within + 3.0 * np.square(within)
        excess_by_level[j] = _beyond_noise(excess + 3.0 - between, observed, within, plain)
        seen_means.append(z / np.where(weight > 0, weight, 1.0))
        seen_rows.append(weight)
        means = z / (weight + 1.0)
        if bend.any():
            means = normal_score(means, bend) - rate_of(bend) * np.minimum(left_by_level[j], 1.0) / 2.0
        level_means.append(np.ascontiguousarray(means))
    information[:c, c:] = np.maximum(-0.5 * np.log(left_by_level), 0.0)
    # A number that does not vary tells nothing and nothing tells about it.
    constant = c + np.flatnonzero(variance <= 0)
    information[:, constant] = 0.0
    information[c:, :c] = information[:c, c:].T
    information[constant] = 0.0
    return Dependence(
        centre, scale, bend, observed, correlation, left, tuple(level_means), left_by_level, tuple(seen_means),
        tuple(seen_rows), information, _beyond_noise(excess, observed, 1.0, plain), excess_left, excess_by_level,
    )  # fmt: skip


def _excess(fourth: Array, weight: Array) -> Array:
    """Return the kurtosis less 3, without its bias for normal numbers, 0 where it is unknown."""
    n = np.maximum(weight, 4.0)
    found = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * (fourth - 3.0) + 6.0)
    return np.where(np.isfinite(found), found, 0.0)


def _beyond_noise(fourth: Array, weight: Array, left: Array | float, plain: Any) -> Array:
    """Return the excess of a residual from its share of the fourth moment, drawn towards 0 as far as it is noise."""
    with np.errstate(divide="ignore", over="ignore"):
        share = np.maximum(1.0 - 24.0 / np.maximum(weight, 1.0) / np.square(fourth), 0.0)
    found = fourth * share / np.square(np.maximum(left, 1e-12))
    return np.where(plain, np.maximum(found, LEAST_EXCESS), 0.0)


def _left(explained: Array, weight: Array | float, levels: Array | int) -> Array:
    return np.asarray((weight * (1.0 - explained) + 1.0) / (np.maximum(weight - levels, 0.0) + 1.0))


def _products(moments: Moments, numbers: list[str]) -> tuple[Callable[[slice], Array], Array]:
    """Return what gives some rows of the scatter of numbers, and its diagonal; nothing is (q, q) where rows are few."""
    if not numbers:
        return lambda rows: np.zeros((0, 0)), np.zeros(0)
    layout = layout_of(moments, numbers)
    if RowScatter.are_few(moments, layout):
        kept = RowScatter(moments, layout)
        return lambda rows: kept.rows[:, rows].T @ kept.rows, kept.diagonal()
    scatter = dense.scatter(moments, numbers)
    return scatter.__getitem__, np.diagonal(scatter)


def _observed(moments: Moments, numbers: list[str]) -> tuple[Array, Array]:
    """Return the mean of each number (0 where nothing was observed), and the weight of the rows it was observed in."""
    n = float(moments.total_weight)
    of_number = dict(zip(moments.numbers.names, moments.numbers.observed(n), strict=True))
    observed = []
    for name in numbers:
        if moments.schema[name].by_level:
            k = moments.coded_at[name]
            weight = np.asarray(moments.pairs.level_weights[k], dtype=np.float64)
            observed.append(float(weight[~np.isnan(moments.labels[k].numbers[1])].sum()))
        else:
            observed.append(float(of_number[name]))
    return np.nan_to_num(dense.mean(moments, numbers), nan=0.0), np.array(observed)


def _standard_moments(
    moments: Moments, numbers: list[str], centre: Array, scale: Array, observed: Array
) -> tuple[Array, Array, Array]:
    """Return the standardised third, fourth and sixth moments of the observed values of numbers, NaN where unknown."""
    own = moments.numbers.central(float(moments.total_weight)).sums
    sums = np.empty((3, len(numbers)))
    for q, name in enumerate(numbers):
        if moments.schema[name].by_level:
            k = moments.coded_at[name]
            offset, values = moments.labels[k].numbers
            weight = np.asarray(moments.pairs.level_weights[k], dtype=np.float64)
            seen = ~np.isnan(values)
            deviation = values[seen] - (centre[q] - offset)
            sums[:, q] = [weight[seen] @ deviation**power for power in (3, 4, 6)]
        else:
            sums[:, q] = own[[1, 2, 4], moments.number_at[name]]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        standardised = sums / np.maximum(observed, 1.0) / scale ** np.array([[3], [4], [6]])
    return standardised[0], standardised[1], standardised[2]


def _observed_together(moments: Moments, numbers: list[str], observed: Array) -> Callable[[slice], Array]:
    """Return what gives the weight of the rows in which some numbers and all others were observed.

    For integers by level it is as if they were missing independently.
    """
    n, kept = float(moments.total_weight), moments.numbers
    if not kept.missing:
        return lambda rows: np.multiply.outer(observed[rows], observed) / n
    out = np.multiply.outer(observed, observed) / n
    p = len(kept.names)
    place = {kept.names[j]: i for i, j in enumerate(kept.missing)}
    at = [q for q, name in enumerate(numbers) if name in place]
    which = [p + place[numbers[q]] for q in at]
    absent = kept.sums[which]
    both = kept.dense()[np.ix_(which, which)] + np.multiply.outer(absent, absent) / n
    weight = n - absent[:, None] - absent + both
    # A difference of sums: where no row has both numbers, rounding is left.
    out[np.ix_(at, at)] = np.where(weight > 1e-9 * n, weight, 0.0)
    return out.__getitem__


def _level_sums(moments: Moments, k: int, numbers: list[str], centre: Array) -> tuple[Array, Array]:
    """Return, per level of a category, the sums of the observed numbers about their means, and the observed weights."""
    n = float(moments.total_weight)
    own = np.asarray(moments.pairs.level_weights[k], dtype=np.float64)
    sums, weight = np.zeros((len(own), len(numbers))), np.empty((len(own), len(numbers)))
    weight[:] = own[:, None]
    kept = moments.numbers
    _, deviation = kept.imputed_mean(n)
    indicator = {j: len(kept.names) + i for i, j in enumerate(kept.missing)}
    for q, name in enumerate(numbers):
        if not moments.schema[name].by_level:
            j = moments.number_at[name]
            if j in indicator:
                weight[:, q] -= moments.sums[k][:, indicator[j]]
            sums[:, q] = moments.sums[k][:, j] - weight[:, q] * deviation[j]
        else:
            at = moments.coded_at[name]
            offset, values = moments.labels[at].numbers
            values = values - (centre[q] - offset)
            absent = np.isnan(values)
            block = moments.pairs.block(k, at)
            sums[:, q] = block @ np.where(absent, 0.0, values)
            weight[:, q] = block @ (~absent).astype(np.float64)
    return sums, np.maximum(weight, 0.0)


def _of_levels(moments: Moments, at: list[int]) -> Array:
    """Return the mutual information of every two categories, less its bias, at least 0."""
    pairs, n = moments.pairs, float(moments.total_weight)
    shares = [np.asarray(pairs.level_weights[k], dtype=np.float64) / n for k in at]
    own = np.array([_plogp(share).sum() for share in shares])
    levels = np.array([np.count_nonzero(share) for share in shares])
    joint = pair_sums(moments, at, lambda counts, *_: _plogp(counts / n))
    with np.errstate(invalid="ignore"):
        out = joint - own[:, None] - own - np.multiply.outer(levels - 1, levels - 1) / (2 * n)
    out[levels < 2] = 0.0
    out[:, levels < 2] = 0.0
    np.fill_diagonal(out, 0.0)
    return np.maximum(out, 0.0)


def pair_sums(moments: Moments, at: list[int], of: Callable[[Any, Any, Any], Array]) -> Array:
    """Return the sum over the pairs of levels that occur of a function of n_uv, n_u and n_v, for every two categories.

    Narrow columns are taken together: hundreds of them make tens of thousands of small tables.
    """
    pairs = moments.pairs
    out = np.zeros((len(at), len(at)))
    offsets = pairs.offsets()
    weights = [np.asarray(pairs.level_weights[k], dtype=np.float64) for k in at]
    narrow = [j for j, k in enumerate(at) if k in offsets]
    if narrow:
        slots = pairs.slots(at[j] for j in narrow)
        starts = np.cumsum([0, *(len(weights[j]) for j in narrow[:-1])])
        stacked = np.concatenate([weights[j] for j in narrow])
        matrix = pairs.matrix[dense.grid(slots, slots)]
        by_level = np.empty((len(slots), len(narrow)))

        def add(tile: slice) -> None:
            counts = np.asarray(matrix[tile], dtype=np.float64)
            np.add.reduceat(of(counts, stacked[tile, None], stacked), starts, axis=1, out=by_level[tile])

        each_block(add, matrix)
        out[np.ix_(narrow, narrow)] = np.add.reduceat(by_level, starts, axis=0)
    for j, k in enumerate(at):
        for i in range(j):
            if k not in offsets or at[i] not in offsets:
                block = sp.coo_array(pairs.block(at[i], k))
                counts = np.asarray(block.data, dtype=np.float64)
                sums = of(counts, weights[i][block.coords[0]], weights[j][block.coords[1]])
                out[i, j] = out[j, i] = sums.sum()
    return out


def _plogp(share: Array) -> Array:
    return np.asarray(share * np.log(np.where(share > 0, share, 1.0)))
