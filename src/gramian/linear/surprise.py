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

from gramian.arrays import CACHED_BYTES, one_blas_thread, row_blocks
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

ELIMINATED_LEVELS = 128
"""From this many levels on the widest column is eliminated before a matrix is inverted."""

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
    scatter = dense.scatter(moments, layout.columns)
    levels, others = np.flatnonzero(layout.is_level), np.flatnonzero(~layout.is_level)
    slots, n_slots = _slots(layout)
    counted = _counts(scatter, levels, slots, n_slots, mean, weight, exact=not moments.weighted)
    spread = np.sqrt(np.maximum(np.diagonal(scatter), 0.0) / weight)
    unit = np.where(layout.is_level | (spread == 0), 1.0, spread)
    scatter /= weight * unit
    scatter /= unit[:, None]
    # What numbers are on average where a level is, in standard deviations.
    given = scatter[dense.grid(levels, others)] / mean[levels, None]
    wide = _widest(layout)
    wide_rows: tuple[Array, Array] | None = None
    if wide is None:
        precision = _ridge_inverse(scatter, RIDGE_ROWS / weight)
    else:
        precision = scatter
        wide_rows = _eliminate(precision, RIDGE_ROWS / weight, mean, wide)
    numbers = _numbers(precision, design, levels, others, unit)

    table, number_table, factors = np.zeros((n_slots, n_slots)), np.zeros((n_slots, len(others))), np.zeros(n_slots)
    usual = np.zeros((n_slots, sum(layout.categorical) + len(others)))
    if len(levels):
        _turn_into_hearsay(precision, layout, mean, wide, wide_rows)
        table[dense.grid(slots, slots)] = precision[dense.grid(levels, levels)]
        number_table[slots] = precision[dense.grid(levels, others)]
        factors[slots] = _factors(counted, slots, _columns_of(layout), weight)
        usual[slots] = _usually_heard(table, counted, layout)[slots]
        usual[slots, sum(layout.categorical) :] = number_table[slots] * given
    found = PairSurprise(
        design, table, number_table, usual, factors, unit[others], numbers, counted, weight, penalty=0.0
    )
    return found.with_penalty(found.bound + 1.0 if penalty is None else penalty)


def _counts(
    scatter: Array,
    levels: npt.NDArray[np.intp],
    slots: npt.NDArray[np.intp],
    n_slots: int,
    mean: Array,
    weight: float,
    *,
    exact: bool,
) -> Array:
    """Return the weight of each pair of levels, by slot: the scatter with what independence would give added back."""
    share, block = mean[levels], scatter[dense.grid(levels, levels)]
    out = np.zeros((n_slots, n_slots))
    for tile in row_blocks(block, CACHED_BYTES):
        counts = block[tile] + np.multiply.outer(weight * share[tile], share)
        if exact:
            np.rint(counts, out=counts)
            # Turns the -0.0 that rounding leaves into 0.0, which people read.
            counts += 0.0
        out[slots[tile, None], slots] = counts
    return out


def _ridge_inverse(covariance: Array, ridge: float) -> Array:
    """Return (S + ridge I)^-1; the matrix given is destroyed."""
    covariance[np.diag_indices_from(covariance)] += ridge
    inverse = np.linalg.inv(covariance)
    return np.asarray(0.5 * (inverse + inverse.T))


def _widest(layout: Layout) -> slice | None:
    """Return the span of the widest categorical column, None where eliminating it does not pay."""
    spans = [span for span, level in zip(layout.spans(), layout.categorical, strict=True) if level]
    widest = max(spans, key=lambda span: span.stop - span.start, default=None)
    return widest if widest is not None and widest.stop - widest.start >= ELIMINATED_LEVELS else None


def _eliminate(covariance: Array, ridge: float, share: Array, wide: slice) -> tuple[Array, Array]:
    """Turn S into (S + ridge I)^-1, but for its widest diagonal block W, and return what the levels of W hear.

    With A = S_WW + ridge I, B = S_WR and D = S_RR + ridge I, the rows of W in the table of residuals are -B D^-1, with variance
    diag(A - B D^-1 B^T). A = diag(f + ridge) - f f^T has an inverse in closed form, so that P_RR = (D - B^T A^-1 B)^-1 and
    P_WR = -A^-1 B P_RR need no factor of the size of W.
    """
    rest = np.r_[0 : wide.start, wide.stop : len(covariance)]
    widest = np.arange(wide.start, wide.stop)
    cross, inner = covariance[dense.grid(widest, rest)].copy(), covariance[dense.grid(rest, rest)].copy()
    diagonal = np.diagonal(covariance)[wide] + ridge
    padded = share[wide] + ridge
    ratio = share[wide] / padded
    # 1 - f^T (f + ridge)^-1 f, without the difference: the shares add up to 1.
    left = float((ratio * ridge).sum())
    solved = cross / padded[:, None] + np.multiply.outer(ratio, ratio @ cross / left)
    among = _ridge_inverse(inner - cross.T @ solved, ridge)
    across = -(solved @ among)
    covariance[dense.grid(rest, rest)] = among
    covariance[dense.grid(widest, rest)] = across
    covariance[dense.grid(rest, widest)] = across.T
    covariance[wide, wide] = 0.0
    heard = np.matmul(cross, -_ridge_inverse(inner, ridge), out=across)
    return heard, diagonal + np.einsum("ij,ij->i", heard, cross)


def _columns_of(layout: Layout) -> npt.NDArray[np.intp]:
    """Return the number of the categorical column of each level."""
    sizes = [size for size, level in zip(layout.sizes, layout.categorical, strict=True) if level]
    return np.repeat(np.arange(len(sizes)), sizes)


def _slots(layout: Layout) -> tuple[npt.NDArray[np.intp], int]:
    """Return the slot of each level, an empty one following each column's, and how many there are."""
    columns = _columns_of(layout)
    return np.arange(len(columns)) + columns, len(columns) + sum(layout.categorical)


def _turn_into_hearsay(
    precision: Array, layout: Layout, mean: Array, wide: slice | None, wide_rows: tuple[Array, Array] | None
) -> None:
    """Turn each level's row into what every design column (column) adds to its residual, centred over each column."""
    heard = precision
    deviation = np.ones(len(precision))
    spans = [span for span, level in zip(layout.spans(), layout.categorical, strict=True) if level]
    for span in spans:
        if span == wide and wide_rows is not None:
            deviation[span] = np.sqrt(wide_rows[1])
            heard[span, : span.start] = wide_rows[0][:, : span.start]
            heard[span, span.stop :] = wide_rows[0][:, span.start :]
            continue
        # Only its own rows are read, so that they can be replaced.
        left = _inverse(precision[span, span])
        deviation[span] = np.sqrt(np.diagonal(left))
        heard[span] = left @ precision[span]
    number = ~np.asarray(layout.categorical)
    for tile in row_blocks(heard, CACHED_BYTES):
        part = heard[tile]
        part /= deviation[tile, None]
        averages = np.add.reduceat(part * mean, layout.starts, axis=1)
        # Numbers are centred before they are looked up.
        averages[:, number] = 0.0
        part -= np.repeat(averages, layout.sizes, axis=1)
    for span in spans:
        heard[span, span] = np.diag((1.0 - mean[span]) / deviation[span])


def _usually_heard(table: Array, counts: Array, layout: Layout) -> Array:
    """Return what each column says about each level, averaged over the rows that hold the level."""
    sizes = [size + 1 for size, level in zip(layout.sizes, layout.categorical, strict=True) if level]
    own = np.diagonal(counts)
    out = np.zeros((len(table), len(sizes) + layout.categorical.count(False)))
    starts = np.cumsum([0, *sizes[:-1]])
    for tile in row_blocks(table, CACHED_BYTES):
        out[tile, : len(sizes)] = np.add.reduceat(counts[tile] * table[tile], starts, axis=1)
    out /= np.where(own > 0, own, 1.0)[:, None]
    return out


def _inverse(block: Array) -> Array:
    if len(block) != 2:
        return np.asarray(np.linalg.inv(block))
    # Most columns of wide tables have two levels, and a call costs more than this.
    (a, b), (_, d) = block
    return np.array([[d, -b], [-b, a]]) / (a * d - b * b)


def _factors(counts: Array, slots: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], weight: float) -> Array:
    """Return F of each level, given the counts by slot: the company it keeps, times the weight of its column."""
    own = np.diagonal(counts)[slots]
    share = own / weight
    n_columns = int(columns[-1]) + 1
    usual = np.zeros(n_columns)
    np.maximum.at(usual, columns, share)
    deviation = 0.5 * (1.0 - share / usual[columns]) + 0.5 * (1.0 - usual[columns])
    kept = np.empty(len(own))
    # Slots are a few more than levels: a block by slot is one by level.
    for tile in row_blocks(counts[: len(own)], CACHED_BYTES):
        lift = np.multiply.outer(own[tile], share)
        lift += LIFT_ROWS
        np.divide(counts[slots[tile, None], slots] + LIFT_ROWS, lift, out=lift)
        # Of other columns only.
        lift[columns[tile, None] == columns] = 0.0
        kept[tile] = lift @ deviation
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
    """Return the projection of rows on the whitened residual of the numbers given the levels."""
    if not len(others):
        return None
    values, vectors = np.linalg.eigh(precision[dense.grid(others, others)])
    weights = np.zeros((len(precision), len(others)))
    # The symmetric root: each feature stays as near as whitening allows to one number, so that it can be named after it.
    weights[others] = (vectors * np.sqrt(values)) @ vectors.T / unit[others, None]
    weights[levels] = precision[dense.grid(levels, others)] @ ((vectors / np.sqrt(values)) @ vectors.T)
    return Projection(design, weights, np.zeros(len(others)))
