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
(`gramian.moments.algebra.folds`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.linear.layout import Layout, centre_of
from gramian.linear.scatter.sparse import cross_scatter
from gramian.linear.scatter.spread import Spread, spread_of
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
        spreads = [(spread_of(train, layout, metric), spread_of(test, layout, metric)) for train, test in folds]
        spans = layout.spans()
        shares = [shared_variance_r2(train, test, spans, dimensions) for train, test in spreads]
        scores = [ppca_log_likelihood(train, test, dimensions) for train, test in spreads]
        length = _shortest([len(each) for each in [*shares, *scores]], moments)
        shared, likelihood = (np.array([each[:length] for each in found]) for found in (shares, scores))
        sizes = np.array([test.weight for _, test in spreads])
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


def shared_variance_r2(train: Spread, test: Spread, spans: Sequence[slice], dimensions: int) -> Array:
    """Return how much of what columns share in the test rows the first 1, 2, ... components predict."""
    vectors = train.eigenpairs()[1][:, :dimensions]
    promised = np.maximum(_shared(train, vectors, spans, np.zeros(len(train.mean))), 0.0)
    found = _shared(test, vectors, spans, test.mean - train.mean)
    whole = float(found @ found)
    return np.cumsum(promised * (2 * found - promised)) / (whole if whole > 0 else 1.0)


def _shared(spread: Spread, vectors: Array, spans: Sequence[slice], gap: Array) -> Array:
    """Return v^T M_off v along each direction."""
    out = spread.variance_along(vectors) / spread.weight + np.square(gap @ vectors)
    for span in spans:
        part = vectors[span]
        out -= np.einsum("ij,ij->j", part, spread.block(span, gap) @ part)
    return out


def ppca_log_likelihood(train: Spread, test: Spread, dimensions: int) -> Array:
    """Return the mean log density of the test rows under probabilistic PCA with 1, 2, ... components.

    The last number is the one beyond which the training rows leave no variance for the noise; where they have all
    `dimensions` it is that number itself, the plain Gaussian.
    """
    values, vectors = train.eigenpairs()
    values = values[:dimensions] / train.weight
    vectors = vectors[:, :dimensions]
    gap = test.mean - train.mean
    seen = test.variance_along(vectors) / test.weight + np.square(gap @ vectors)
    whole = test.trace / test.weight + float(gap @ gap)
    rank, d = len(values), dimensions
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
    fitted, judged = spread_of(train, layout, metric), spread_of(test, layout, metric)
    values, vectors = fitted.eigenpairs()
    factor = np.ones(layout.width) if metric is None else metric
    cross, _, aimed = cross_scatter(train, layout, targets)
    coefficients = vectors.T @ (cross * factor[:, None]) / values[:, None]
    gap = (judged.mean - fitted.mean) @ vectors
    cross, own, _ = cross_scatter(test, layout, targets)
    shift = centre_of(test, aimed) - centre_of(train, aimed)
    weight = judged.weight
    aim = vectors.T @ (cross * factor[:, None]) + weight * np.outer(gap, shift)
    seen = judged.along(vectors) + weight * np.outer(gap, gap)
    # Component k adds b_k^2 M_kk + 2 b_k sum_(j<k) M_kj b_j to the quadratic form.
    below = np.tril(seen, -1) @ coefficients
    quadratic = np.square(coefficients) * np.diagonal(seen)[:, None] + 2 * coefficients * below
    saved = np.cumsum(quadratic - 2 * coefficients * aim, axis=0)
    start = np.diagonal(own) + weight * np.square(shift)
    per_column = start + saved
    spans = aimed.spans()
    errors = np.array([per_column[:, span].sum(axis=1) for span in spans])
    return errors, np.array([start[span].sum() for span in spans])
