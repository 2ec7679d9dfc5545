"""How surprising each value of a row is given the others, from moments alone.

**Residuals.** Let S be the covariance of the design columns (numbers in standard deviations) and P = (S + (c/n)
I)^-1, a ridge of c rows, under which a level of n_u rows shrinks by n_u / (n_u + c). Split the design columns into
blocks: the levels of one categorical column, or all numbers. The best linear prediction of block j from the other
blocks leaves

    e_j = P_jj^-1 (P (x - m))_j      with covariance      C_j = P_jj^-1.

For the level u that the row holds, 1 - e_u is the linear estimate of its probability given the rest of the row, and

    r_u = e_u / sqrt((C_j)_uu)

is its surprise in standard deviations. Where columns are independent r_u^2 = (1 - f_u) / f_u, f_u its share. Since
P_jj C_j = I, a level's own block speaks only through the level itself: r_u = (1 - f_u) / sd_u + sum over other
blocks, one number a pair of levels. Numbers form one block: w = C_N^(1/2) (P (x - m))_N, and |w|^2 is the Mahalanobis
distance of the numbers given the levels.

**Damping.** A sum of residuals is ruled by its largest term, and rare levels make heavy tails: a level of one row in
a million has r = 1,000. h(r) = r / (1 + r) is bounded, so that a row with several odd values outranks one with a
single rare one.

**Company.** Errors and frauds are seldom odd in one place. A level is worth more where the rows that hold it also
hold unusual levels elsewhere. With d_u the deviation of a level (half its distance below the most frequent level of
its column, relative to it, half the share which that one leaves) and lift(u, v) = (n_uv + 1) / (n_u n_v / n + 1),

    company_u = sum_v d_v lift(u, v) / sum_v d_v,     v over the levels of other columns.

Without the added rows, d_u company_u is, up to a factor a column, the stationary distribution of the walk that goes
from u to v in proportion to d_v n_uv / n_v: that chain is reversible, so its distribution is known in closed form
(coupled biased random walks, Pang, Cao and Chen, IJCAI 2016, find it by iteration). The added row keeps single
coincidences from counting as company.

**Columns.** A column counts by how odd its oddest level can be and by the information in it, (max_u d_u company_u) (1
+ H_j) with H_j its entropy in nats, over the mean of this. Entropy grows with the logarithm of the number of levels:
a column that is nearly an identifier cannot drown the others, as it does where weights add up over levels.

So F_u = company_u times the weight of its column, and the score is sum_j F_u h(r_u) + q g(sqrt(|w|^2 / q)), where g
is h with a logarithmic tail (see `gramian.maps.pair_surprise`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import numpy.typing as npt

from gramian.arrays import each_block, one_blas_thread
from gramian.linear.hearsay import turn_into_hearsay
from gramian.linear.layout import Layout, centre_of, layout_of
from gramian.maps.design import Design
from gramian.maps.pair_surprise import PairSurprise
from gramian.maps.projection import Projection
from gramian.moments import dense
from gramian.moments.value import Moments

Array = npt.NDArray[np.float64]

RIDGE_ROWS = 5.0
"""The ridge in rows: the expected count below which a cell of a table is commonly held to say little."""

LIFT_ROWS = 1.0
"""Rows added to the count and to the expectation of a pair (Laplace), so that a single coincidence is no lift of a thousand."""

THREADED_COLUMNS = 4096
"""From this many design columns on BLAS may use its threads."""


def surprise(moments: Moments, columns: Sequence[str] | None = None, *, penalty: float | None = None) -> PairSurprise:
    """Return the score of rows: the surprise of each value given the others, added up.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str, optional
        Source columns; by default every feature.
    penalty : float, optional
        What an unseen level adds; by default one more than any row without unseen levels can score.

    Notes
    -----
    Time O(p^3 / 3) for one inverse, memory four matrices of p x p, whatever the number of rows.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> table = pa.table({"city": ["Bonn"] * 9 + ["Oslo"] * 9, "tongue": ["de"] * 9 + ["no"] * 8 + ["de"]})
    >>> found = surprise(gm.collect(table))
    >>> scores = found.apply(map(found.design.encode, table.to_batches()))
    >>> int(scores.argmax())
    17
    """
    layout = layout_of(moments, columns)
    # Many small products: threads of BLAS that wait for each other cost more than they bring.
    with one_blas_thread() if layout.width < THREADED_COLUMNS else nullcontext():
        return _surprise(moments, layout, penalty)


def _surprise(moments: Moments, layout: Layout, penalty: float | None) -> PairSurprise:
    weight = float(moments.total_weight)
    design = Design.of(moments, layout.columns)
    mean = centre_of(moments, layout)
    levels, others = np.flatnonzero(layout.is_level), np.flatnonzero(~layout.is_level)
    # One row and column more, for unseen levels: where there are no numbers this becomes the table of what levels say.
    roomy = dense.room_for(layout.width + 1)
    scatter = dense.scatter(moments, layout.columns, out=roomy[:-1, :-1])
    counted = _counts(scatter, levels, mean, weight, exact=not moments.weighted)
    spread = np.sqrt(np.maximum(np.diagonal(scatter), 0.0) / weight)
    unit = np.where(layout.is_level | (spread == 0), 1.0, spread)
    _divide(scatter, weight, unit, others)
    # What numbers are on average where a level is, in standard deviations.
    given = scatter[dense.grid(levels, others)] / mean[levels, None]
    factors = _factors(counted[:-1, :-1], _columns_of(layout), weight) if len(levels) else np.empty(0)
    # No less than rounding: at a weight of 1e15 rows five of them are lost in it, and S has no inverse.
    ridge = max(RIDGE_ROWS / weight, layout.width * float(np.finfo(np.float64).eps))
    precision = turn_into_hearsay(scatter, ridge, mean, layout)
    numbers = _numbers(precision, design, levels, others, unit)
    if len(others):
        roomy = np.zeros((len(levels) + 1, len(levels) + 1))
        roomy[:-1, :-1] = scatter[dense.grid(levels, levels)]
    said_by_numbers = scatter[dense.grid(levels, others)]
    usual = np.hstack([_usually_heard(roomy[:-1, :-1], counted[:-1, :-1], layout), said_by_numbers * given])
    said_by_numbers, usual, factors = map(_and_unseen, (said_by_numbers, usual, factors))
    found = PairSurprise(
        design, roomy, said_by_numbers, usual, factors, unit[others], numbers, counted, weight, penalty=0.0
    )
    return found.with_penalty(found.bound + 1.0 if penalty is None else penalty)


def _and_unseen(by_level: Array) -> Array:
    """Return one row more, of zeros, for unseen levels."""
    return np.concatenate([by_level, np.zeros_like(by_level[:1], shape=(1, *by_level.shape[1:]))])


def _divide(scatter: Array, weight: float, unit: Array, others: npt.NDArray[np.intp]) -> None:
    """Turn the scatter into a covariance, of numbers in their units."""

    def divide(tile: slice) -> None:
        scatter[tile] /= weight

    each_block(divide, scatter)
    scatter[others] /= unit[others, None]
    scatter[:, others] /= unit[others]


def _counts(scatter: Array, levels: npt.NDArray[np.intp], mean: Array, weight: float, *, exact: bool) -> Array:
    """Return the weight of each pair of levels, the scatter with what independence would give added back; last, zeros."""
    share, block = mean[levels], scatter[dense.grid(levels, levels)]
    out = np.zeros((len(levels) + 1, len(levels) + 1))

    def count(tile: slice) -> None:
        counts = np.multiply.outer(weight * share[tile], share)
        counts += block[tile]
        if exact:
            np.rint(counts, out=counts)
            # Turns the -0.0 that rounding leaves into 0.0, which people read.
            counts += 0.0
        out[tile, :-1] = counts

    each_block(count, block)
    return out


def _columns_of(layout: Layout) -> npt.NDArray[np.intp]:
    """Return the number of the categorical column of each level."""
    sizes = [size for size, level in zip(layout.sizes, layout.categorical, strict=True) if level]
    return np.repeat(np.arange(len(sizes)), sizes)


def _usually_heard(table: Array, counts: Array, layout: Layout) -> Array:
    """Return what each column says about each level, averaged over the rows that hold the level."""
    sizes = [size for size, level in zip(layout.sizes, layout.categorical, strict=True) if level]
    out = np.zeros((len(table), len(sizes)))
    if not sizes:
        return out
    starts = np.cumsum([0, *sizes[:-1]])

    def average(tile: slice) -> None:
        np.add.reduceat(counts[tile] * table[tile], starts, axis=1, out=out[tile])

    each_block(average, table)
    own = np.diagonal(counts)
    out /= np.where(own > 0, own, 1.0)[:, None]
    return out


def _factors(counts: Array, columns: npt.NDArray[np.intp], weight: float) -> Array:
    """Return F of each level: the company it keeps, times the weight of its column."""
    own = np.diagonal(counts)
    share = own / weight
    n_columns = int(columns[-1]) + 1
    usual = np.zeros(n_columns)
    np.maximum.at(usual, columns, share)
    deviation = 0.5 * (1.0 - share / usual[columns]) + 0.5 * (1.0 - usual[columns])
    kept = np.empty(len(own))

    def keep(tile: slice) -> None:
        lift = np.multiply.outer(own[tile], share)
        lift += LIFT_ROWS
        np.divide(counts[tile] + LIFT_ROWS, lift, out=lift)
        # Of other columns only.
        lift[columns[tile, None] == columns] = 0.0
        kept[tile] = lift @ deviation

    each_block(keep, counts)
    elsewhere = deviation.sum() - np.bincount(columns, deviation)[columns]
    company = np.where(elsewhere > 0, kept / np.where(elsewhere > 0, elsewhere, 1.0), 1.0)
    oddest = np.zeros(n_columns)
    np.maximum.at(oddest, columns, deviation * company)
    entropy = np.bincount(columns, -share * np.log(share))
    column_weight = oddest * (1.0 + entropy)
    total = column_weight.mean()
    return np.asarray(company * (column_weight / total)[columns]) if total > 0 else np.ones(len(own))


def _numbers(
    precision: Array, design: Design, levels: npt.NDArray[np.intp], others: npt.NDArray[np.intp], unit: Array
) -> Projection | None:
    """Return the projection of rows on the whitened residual of the numbers given the levels, from their columns of P."""
    if not len(others):
        return None
    values, vectors = np.linalg.eigh(precision[others])
    weights = np.zeros((len(unit), len(others)))
    # The symmetric root: each feature stays as near as whitening allows to one number, so that it can be named after it.
    weights[others] = (vectors * np.sqrt(values)) @ vectors.T / unit[others, None]
    weights[levels] = precision[levels] @ ((vectors / np.sqrt(values)) @ vectors.T)
    return Projection(design, weights, np.zeros(len(others)))
