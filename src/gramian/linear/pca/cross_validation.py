"""How well k components describe rows that were left out: scores that are functions of fold moments.

A fold's average of any quadratic function of x is a function of its mean and covariance alone, so no row is read. Write
(m, S) for mean and population covariance of the training folds, and M for the second moment of the fold *about m*:
M = S_fold + (m_fold - m)(m_fold - m)^T. One `eigh` of S = V diag(l) V^T a fold serves every k.

**"cv"**: whether what source columns *share* along a component comes back on other rows. Along a direction v rows have variance
v^T M v; columns independent of each other would have sum_j v_j^T M_jj v_j there, M_jj the block of column j with itself. The
difference, o = v^T M_off v with M_off the covariances between columns, is what they share. Component i promises t_i, the same
from the training folds (0 where that is negative), and the score of k components is the share of squared o that they predict,

    1 - sum_i (o_i - t_i [i <= k])^2 / sum_i o_i^2 .

A component adds to it where at least half of its promise is kept, and takes from it where it was noise, whose covariances do
not come back.

**Likelihood** stands beside it: with q_i = v_i^T M v_i, the mean log density of a left-out row is

    -1/2 [d log 2 pi + sum_(i<=k) (log l_i + q_i / l_i) + (d - k) log v_k + (tr M - sum_(i<=k) q_i) / v_k].

It asks for the best density of the rows, and there directions of *little* variance count as much as those of much: two columns
of which one follows from the other leave variances near zero, and the fewest components whose isotropic rest can have
those is nearly all of them. By likelihood 411 of 417 is right, and not what components are for.

**"cv-target"**: R^2 of the least-squares prediction of the target from the first k components. Components are uncorrelated on
the training folds, so coefficient i, b_i = v_i^T c / l_i with c the covariance with the target, is the same for every k;
the left-out squared error is M_yy - 2 sum b_i M_iy + sum_ij b_i b_j M_ij, all from second moments. A categorical target
enters by its level indicators, and then 1 - error / baseline is the *Brier skill score* of the least-squares classifier. The
share of right answers is not a function of moments (it depends on the shape of the distribution), so accuracy itself is not
offered here.

The metric is that of all rows: it only sets units. A missing number stands at the training mean
(`gramian.moments.algebra.folds`); for predictions a level that no training row has is the average row, as `transform` has it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.linear.layout import Layout, centre_of, layout_of
from gramian.linear.level_means import as_transformed
from gramian.linear.scatter.base import Scatter
from gramian.linear.scatter.choice import scatter_of
from gramian.linear.scatter.diagonal import scatter_diagonal
from gramian.linear.scatter.sparse import cross_scatter
from gramian.moments.algebra.folds import folds_of
from gramian.moments.value import Moments


def held_out_curve(
    moments: Moments,
    layout: Layout,
    rule: str,
    *,
    metric: Array | None,
    dimensions: int,
    targets: Sequence[str] = (),
) -> dict[str, Array]:
    """Return the held-out score of 1, 2, ... components, and the standard error over folds by which it is judged.

    Parameters
    ----------
    moments : Moments
        With folds.
    layout : Layout
        Of the features.
    rule : {"cv", "cv-target"}
    metric : (p,) array or None
        The factor of each centred design column.
    dimensions : int
        Rank of the covariance of all rows, d above.
    targets : sequence of str
        For "cv-target": columns to predict. The score is the mean of their R^2.
    """
    folds = folds_of(moments, [*layout.columns, *targets])
    if rule == "cv":
        parts = [_scores(train, test, layout, metric, dimensions) for train, test in folds]
        length = _shortest([len(each) for part in parts for each in part], moments)
        shared, likelihood = (np.array([part[j][:length] for part in parts]) for j in (0, 1))
        sizes = np.array([float(moments.folds[k].total_weight) for k in folds.filled])
        return {
            "shared_variance_r2": sizes @ shared / sizes.sum(),
            "shared_variance_r2_se": _standard_error(shared),
            "log_likelihood": sizes @ likelihood / sizes.sum(),
            "log_likelihood_se": _standard_error(likelihood),
        }
    parts = [_squared_errors(train, test, layout, metric, targets) for train, test in folds]
    length = _shortest([error.shape[1] for error, _ in parts], moments)
    errors = np.array([error[:, :length] for error, _ in parts])
    baselines = np.array([baseline for _, baseline in parts])
    pooled = 1.0 - errors.sum(axis=0) / baselines.sum(axis=0)[:, None]
    by_fold = 1.0 - errors / np.where(baselines > 0, baselines, np.nan)[:, :, None]
    return {"r2": pooled.mean(axis=0), "r2_se": _standard_error(np.nan_to_num(by_fold).mean(axis=1))}


def _shortest(lengths: Sequence[int], moments: Moments) -> int:
    """Return how many components every fold can judge, one at least."""
    if min(lengths) < 1:
        raise DataError(
            f"choosing components by cross-validation needs more rows: of n_samples = {moments.n_rows} those outside a fold "
            f"vary in too few directions to judge one; pass a number, or None for the rank"
        )
    return min(lengths)


def _standard_error(table: Array) -> Array:
    return table.std(axis=0, ddof=1) / np.sqrt(len(table)) if len(table) > 1 else np.zeros(table.shape[1])


def _scores(
    train: Moments, test: Moments, layout: Layout, metric: Array | None, dimensions: int
) -> tuple[Array, Array]:
    """Return how much of what columns share in the test rows 1, 2, ... components predict, and those rows' log density."""
    fitted, judged = scatter_of(train, layout, metric), scatter_of(test, layout_of(test, layout.columns), metric)
    pairs = fitted.eigenpairs()
    values, vectors = pairs.values[:dimensions] / fitted.weight, pairs.vectors[:, :dimensions]
    gap = judged.mean - fitted.mean
    seen = judged.variance_along(vectors) / judged.weight + np.square(gap @ vectors)
    own = within_columns(judged, vectors) / judged.weight + _by_column(layout, gap[:, None] * vectors)
    promised = np.maximum(values - within_columns(fitted, vectors) / fitted.weight, 0.0)
    whole = float(judged.diagonal().sum()) / judged.weight + float(gap @ gap)
    return shared_variance_r2(promised, seen - own), ppca_log_likelihood(values, seen, whole, dimensions)


def within_columns(scatter: Scatter, vectors: Array) -> Array:
    """Return sum_j v_j^T S_jj v_j along each direction, S_jj the block of source column j with itself.

    For a number that is S_jj v_j^2; the levels of a category, of shares f in the metric D, have W D (diag(f) - f f^T) D.
    """
    layout, metric = scatter.layout, np.ones(scatter.width) if scatter.metric is None else scatter.metric
    squares = np.where(layout.is_level, scatter.weight * scatter.mean * metric, scatter.diagonal())
    level_means = np.where(layout.is_level, scatter.mean, 0.0)[:, None] * vectors
    return squares @ np.square(vectors) - scatter.weight * _by_column(layout, level_means)


def _by_column(layout: Layout, products: Array) -> Array:
    """Return the squares of the sums over the design columns of each source column, added up."""
    return np.square(np.add.reduceat(products, layout.starts, axis=0)).sum(axis=0)


def shared_variance_r2(promised: Array, components: Array) -> Array:
    """Return how much of what columns share along directions the first 1, 2, ... promises predict.

    Examples
    --------
    >>> shared_variance_r2(np.array([2.0, 1.0]), np.array([2.0, 0.0]))
    array([1.  , 0.75])
    """
    whole = float(components @ components)
    return np.cumsum(promised * (2 * components - promised)) / (whole if whole > 0 else 1.0)


def ppca_log_likelihood(values: Array, seen: Array, whole: float, d: int) -> Array:
    """Return the mean log density of the test rows under probabilistic PCA with 1, 2, ... components.

    The last number is the one beyond which the training rows leave no variance for the noise; where they have all d
    directions it is that number itself, the plain Gaussian.

    Parameters
    ----------
    values, seen : (r,) arrays
        Variances of the training rows along their components, and second moments of the test rows there.
    whole : float
        Trace of the second moments of the test rows.
    d : int
        Directions in which rows differ.
    """
    rank = len(values)
    k = np.arange(1, min(rank, d - 1) + 1) if rank == d else np.arange(1, rank)
    left = np.cumsum(values[::-1])[::-1]
    noise = np.append(left[1:], 0.0)[k - 1] / (d - k)
    kept = np.cumsum(np.log(values) + seen / values)[k - 1]
    rest = np.maximum(whole - np.cumsum(seen)[k - 1], 0.0)
    score = d * np.log(2 * np.pi) + kept + (d - k) * np.log(noise) + rest / noise
    if rank == d:
        score = np.append(score, d * np.log(2 * np.pi) + np.sum(np.log(values) + seen / values))
    return -0.5 * score


def _squared_errors(
    train: Moments, test: Moments, layout: Layout, metric: Array | None, targets: Sequence[str]
) -> tuple[Array, Array]:
    """Return the sums of squared errors of each target for 1, 2, ... components, and of the training mean."""
    pairs, mean = scatter_of(train, layout, metric).eigenpairs(), centre_of(train, layout)
    weights = pairs.vectors if metric is None else pairs.vectors * metric[:, None]
    weights = as_transformed(layout, mean, weights)
    judged, aimed = scatter_of(test, layout_of(test, layout.columns)), layout_of(train, targets)
    coefficients = weights.T @ cross_scatter(train, layout, aimed) / pairs.values[:, None]
    gap, shift = (judged.mean - mean) @ weights, centre_of(test, aimed) - centre_of(train, aimed)
    weight, aimed = judged.weight, layout_of(test, targets)
    aim = weights.T @ cross_scatter(test, judged.layout, aimed) + weight * np.outer(gap, shift)
    seen = judged.along(weights) + weight * np.outer(gap, gap)
    # Component k adds b_k^2 M_kk + 2 b_k sum_(j<k) M_kj b_j to the quadratic form.
    below = np.tril(seen, -1) @ coefficients
    quadratic = np.square(coefficients) * np.diagonal(seen)[:, None] + 2 * coefficients * below
    saved = np.cumsum(quadratic - 2 * coefficients * aim, axis=0)
    start = scatter_diagonal(test, aimed) + weight * np.square(shift)
    per_column = start + saved
    spans = aimed.spans()
    errors = np.array([per_column[:, span].sum(axis=1) for span in spans])
    return errors, np.array([start[span].sum() for span in spans])
