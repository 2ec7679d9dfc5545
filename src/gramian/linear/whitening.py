"""Whitening from moments: linear features whose covariance on the training rows is the identity.

With the covariance S = V diag(l) V^T of rank r, features z = (x - m) A have A^T S A = I for

    "pca"        A = V_r diag(l)^-1/2              r features, along the principal components
    "zca"        A = V_r diag(l)^-1/2 V_r^T        p features, as near to the centred columns as whitening allows
    "cholesky"   A = L^-T of the columns in order  r features: Gram-Schmidt, S = L L^T

Any other choice is one of these times a rotation. The matrix S^(-1/2) of "zca" is the pseudo-inverse root, so with r < p
its p features have the projector V_r V_r^T for covariance in place of I. "cholesky" leaves out columns that are linear in
others (a level of each categorical column, for one) and gives them zero weight; the way back still returns them.

Rank is that of the correlation matrix, the same by every method, so that what counts as dependent does not change with the
units (`gramian.linear.scatter.dense`). "cholesky" takes columns in their order and leaves out what depends on earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.linear.layout import layout_of
from gramian.linear.scatter.dense import Eigenpairs, Scatter, correlation_of, pivoted_factor, rank_cut
from gramian.linear.scatter.wide import scatter_of
from gramian.moments.covariance import divisor_of
from gramian.moments.value import Moments

BLOCK = 64
"""Columns that are taken or left out between two products."""

WELL_CONDITIONED = 1e5
"""Ratio of eigenvalues up to which `eigh` alone whitens to about 1e-11."""


@dataclass(frozen=True, eq=False)
class WhiteningSolution:
    """A whitening of p design columns to k features.

    Attributes
    ----------
    weights : (p, k) array
        Features are `(x - mean) @ weights`.
    inverse : (k, p) array
        The way back: `z @ inverse + mean`, exact for training rows.
    mean : (p,) array
        Of the design columns.
    rank : int
        Of the covariance: k for "pca" and "cholesky"; below k for "zca" on rank-deficient input.
    """

    weights: Array
    inverse: Array
    mean: Array
    rank: int


def whitening(
    moments: Moments, columns: Sequence[str] | None = None, *, method: str = "pca", ddof: float = 1
) -> WhiteningSolution:
    """Return a whitening of the design columns.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str, optional
        Source columns; by default every feature.
    method : {"pca", "zca", "cholesky"}
    ddof : float
        The covariance that becomes the identity divides by the total weight less this.

    Raises
    ------
    DataError
        Where no column varies, or there are too few rows.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"x": [1.0, 2.0, 3.0, 2.0], "y": [2.0, 3.0, 5.0, 2.0]}))
    >>> found = whitening(m, method="zca")
    >>> np.allclose(found.weights.T @ m.covariance() @ found.weights, np.eye(2))
    True
    """
    layout = layout_of(moments, columns)
    divisor = divisor_of(moments, ddof)
    scatter = scatter_of(moments, layout)
    if not scatter.diagonal().any():
        raise DataError("no column varies, so there is nothing to whiten")
    if method == "cholesky":
        weights, inverse = _cholesky(scatter.dense(), divisor)
        rank = weights.shape[1]
    else:
        pairs = scatter.eigenpairs()
        rank = pairs.rank
        weights, inverse = _along_components(scatter, divisor, pairs, turn_back=method == "zca")
    return WhiteningSolution(weights, inverse, scatter.mean, rank)


def _along_components(scatter: Scatter, divisor: float, pairs: Eigenpairs, *, turn_back: bool) -> tuple[Array, Array]:
    values, vectors = pairs.values, pairs.vectors
    deviation = np.sqrt(values / divisor)
    if values[0] <= WELL_CONDITIONED * values[-1]:
        if not turn_back:
            return vectors / deviation, (vectors * deviation).T
        root = np.sqrt(deviation)
        return _outer(vectors / root), _outer(vectors * root)
    # Entries of a weak direction on a strong column are known to rounding of the largest entry only. One Newton step of
    # A <- A G^(-1/2), G = A^T S A, puts them right.
    weights = vectors / deviation
    gram = scatter.along(weights) / divisor
    weights = weights @ (1.5 * np.eye(len(gram)) - 0.5 * gram)
    inverse = (scatter @ weights).T / divisor
    return (weights @ vectors.T, vectors @ inverse) if turn_back else (weights, inverse)


def _outer(factor: Array) -> Array:
    """Return F F^T from one triangle of it, half the work of a general product."""
    lower = np.tril(blas.dsyrk(1.0, np.asfortranarray(factor), lower=1))
    return np.asarray(lower + np.tril(lower, -1).T)


def _cholesky(scatter: Array, divisor: float) -> tuple[Array, Array]:
    deviation = np.sqrt(np.diagonal(scatter))
    deviation = np.where(deviation > 0, deviation, 1.0)
    correlation = correlation_of(scatter)
    kept = independent_columns(correlation)
    factor, _ = lapack.dpotrf(correlation[np.ix_(kept, kept)], lower=1, clean=1)
    unit = np.sqrt(divisor) / deviation
    solved, _ = lapack.dtrtri(factor, lower=1)
    weights = np.zeros((len(scatter), len(kept)))
    weights[kept] = solved.T * unit[kept, None]
    # x = z L^T on the kept columns; on the others, their regression on those.
    inverse = np.empty((len(kept), len(scatter)))
    inverse[:, kept] = factor.T
    others = np.setdiff1d(np.arange(len(scatter)), kept)
    inverse[:, others] = solved @ correlation[np.ix_(kept, others)]
    inverse /= unit
    return weights, inverse


def independent_columns(correlation: Array) -> npt.NDArray[np.intp]:
    """Return the columns of which those before them leave more than rounding, as many as the rank.

    Parameters
    ----------
    correlation : (p, p) array
        Positive semi-definite, with ones or zeros on the diagonal.

    Notes
    -----
    The squared pivot of a column is the share of its variance that the columns before it leave unexplained. Plain Cholesky
    where all of these stand above rounding. Where one does not, pivoting finds the rank, and the columns are taken in their
    order, a block at a time: which of several dependent columns pivoting itself takes is decided by rounding.
    """
    p = len(correlation)
    cut = rank_cut(p)
    factor, failed = lapack.dpotrf(correlation, lower=1)
    if not failed and np.square(np.diagonal(factor)).min(initial=1.0) > cut:
        return np.arange(p)
    factor, order = pivoted_factor(correlation)
    rank = factor.shape[1]
    kept = _in_order(correlation, rank, cut)
    return kept if len(kept) == rank else np.sort(order[:rank])


def _in_order(correlation: Array, rank: int, cut: float) -> npt.NDArray[np.intp]:
    """Return up to `rank` columns, each with more than `cut` of its variance unexplained by those taken before it."""
    p = len(correlation)
    taken: list[int] = []
    factor = np.zeros((rank, rank), order="F")
    for start in range(0, p, BLOCK):
        here = np.arange(start, min(start + BLOCK, p))
        # What the columns taken so far explain of the block: one product for all of it.
        done = len(taken)
        rows = np.zeros((rank, len(here)))
        if done:
            rows[:done] = lapack.dtrtrs(factor[:done, :done], correlation[np.ix_(np.array(taken), here)], lower=1)[0]
        left = correlation[np.ix_(here, here)] - rows[:done].T @ rows[:done]
        for j, column in enumerate(here):
            if len(taken) == rank:
                return np.array(taken, dtype=np.intp)
            if left[j, j] <= cut:
                continue
            pivot = np.sqrt(left[j, j])
            row = left[j] / pivot
            rows[len(taken)] = row
            factor[len(taken), : len(taken)], factor[len(taken), len(taken)] = rows[: len(taken), j], pivot
            taken.append(int(column))
            left = left - np.outer(row, row)
    return np.array(taken, dtype=np.intp)
