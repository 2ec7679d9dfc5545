"""Held-out scores of a regression from fold moments: no row is read again.

With (S, C, V, n, means) the moments of the left-out fold, d and e the gaps of its means of x and h from the training
folds', and B the training folds' coefficients, the squared error of predicting the fold is

    sum_i |h_i - hbar_train - B^T (x_i - xbar_train)|^2
        = tr(V + n e e^T) - 2 tr(B^T (C + n d e^T)) + tr(B^T (S + n d d^T) B),

a function of moments: it *is* the error that refitting on the training rows and predicting the left-out ones would give, as B
uses the training rows alone, also for the variance of a number in its ridge. The score is R^2, of the Brier kind for classes
(summed over the indicators), averaged over targets. A level that no training row has is predicted as the average row and a
missing number as their mean (`gramian.moments.algebra.folds`), as `transform` would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext

import numpy as np
import numpy.typing as npt

from gramian.arrays.threads import in_threads, one_blas_thread, usable_cores
from gramian.arrays.types import Array
from gramian.errors import Argument
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.targets import Aim
from gramian.moments.algebra.folds import folds_of
from gramian.moments.value import Moments

BLOCK_BYTES = 2**28
"""So many candidates' coefficients are held at once as fit this."""

Candidates = Callable[[Regression], Iterable[Array]]
"""Gives the coefficients of several candidates, (k, p, m), from training moments; in blocks where they are large."""


def held_out_errors(train: Regression, fold: Regression, coefficients: Array) -> tuple[Array, Array]:
    """Return the squared errors of a fold and those of the training mean, one a function, for (k, p, m) coefficients.

    Returns
    -------
    errors : (k, m) array
    baseline : (m,) array
    """
    k, p, m = coefficients.shape
    gap, shift = fold.mean - train.mean, fold.aim_mean - train.aim_mean
    flat = np.moveaxis(coefficients, 1, 0).reshape(p, k * m)
    seen = fold.scatter.variance_along(flat).reshape(k, m)
    seen += fold.weight * np.square(gap @ flat).reshape(k, m)
    aim = fold.cross + fold.weight * np.outer(gap, shift)
    across = np.einsum("kpm,pm->km", coefficients, aim)
    baseline = np.diagonal(fold.own) + fold.weight * np.square(shift)
    return baseline - 2 * across + seen, baseline


def per_target(values: Array, owner: npt.NDArray[np.intp]) -> Array:
    """Return values of the functions summed over those of each target, along the last axis."""
    out = np.zeros((*values.shape[:-1], int(owner.max()) + 1))
    for function, target in enumerate(owner):
        out[..., target] += values[..., function]
    return out


def block_size(problem: Regression) -> int:
    """Return how many candidates' coefficients fit into `BLOCK_BYTES`."""
    return int(max(1, BLOCK_BYTES // max(8 * problem.cross.size, 1)))


def held_out_scores(
    moments: Moments, columns: list[str], aim: Aim, whole: Regression, candidates: Candidates
) -> tuple[Array, Array]:
    """Return the held-out R^2 of every candidate and its standard error over folds.

    Parameters
    ----------
    moments : Moments
        With folds, in the form that `aim` takes.
    columns : list of str
        Features.
    aim : Aim
    whole : Regression
        Of all rows.
    candidates : callable
        See `Candidates`.
    """
    folds = folds_of(moments, asked=Argument("ridge", "cv"))

    def judge(fold: int) -> tuple[Array, Array]:
        fitted, judged = (regression_of(part, columns, aim) for part in folds.split(fold))
        parts = [held_out_errors(fitted, judged, some) for some in candidates(fitted)]
        return per_target(np.concatenate([e for e, _ in parts]), aim.owner), per_target(parts[0][1], aim.owner)

    # Wide moments are held one fold at a time: there memory is what counts.
    threads = min(usable_cores(None), len(folds.filled)) if whole.is_dense else 1
    with one_blas_thread() if threads > 1 else nullcontext():
        scores = in_threads(judge, folds.filled, n_threads=threads)
    table, base = np.array([e for e, _ in scores]), np.array([b for _, b in scores])
    total = base.sum(axis=0)
    score = (1.0 - table.sum(axis=0) / np.where(total > 0, total, np.inf)).mean(axis=1)
    by_fold = (1.0 - table / np.where(base > 0, base, np.inf)[:, None]).mean(axis=2)
    error = by_fold.std(axis=0, ddof=1) / np.sqrt(len(by_fold)) if len(by_fold) > 1 else np.zeros(len(score))
    return score, error
