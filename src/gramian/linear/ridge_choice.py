"""Which ridge: cross-validated over fold moments, or generalised cross-validation where there are no folds.

*Folds.* With (S, C, V, n, means) the moments of the left-out fold, d and e the gaps of its means of x and h from the training
folds', and B the training folds' coefficients, the squared error of predicting the fold is

    sum_i |h_i - hbar_train - B^T (x_i - xbar_train)|^2
        = tr(V + n e e^T) - 2 tr(B^T (C + n d e^T)) + tr(B^T (S + n d d^T) B),

a function of moments: it *is* the error that refitting on the training rows and predicting the left-out ones would give. The
score is R^2, of the Brier kind for classes (summed over the indicators), averaged over targets. Training moments are the whole
less the fold: exact for counts.

*No folds.* Generalised cross-validation: with H(r) = X (S + r D)^-1 X^T the hat matrix, the r of least

    GCV(r) = n |h - H h|^2 / (n - 1 - tr H(r))^2.

tr H = sum of l / (l + r) over the eigenvalues of D^-1/2 S D^-1/2, or, where those cost too much, the mean of z^T H z over a
few random signs z (Hutchinson), which at thousands of columns is right to a fraction of a percent.

Both look at the same path: half decades from 0.01 rows up to the number of rows; whole ones from 0.1 where eigenvectors are out
of reach and every r is solved for (the curve is flat at that size). Folds are independent, so each has a thread.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gramian.arrays import one_blas_thread, usable_cores
from gramian.errors import DataError
from gramian.linear.influence import Aim
from gramian.linear.ridge import EIGEN, Regression, eigen_route, iterated, regression_of, ridge_path
from gramian.moments import combine
from gramian.moments.numbers import subtract
from gramian.moments.value import Moments

Array = npt.NDArray[np.float64]

PROBES = 8
"""Random signs for the trace of the hat matrix."""

BLOCK_BYTES = 2**28
"""Coefficients of so many ridges are held at once as fit this."""


def ridges_for(problem: Regression) -> Array:
    """Return the path of ridges that are tried, ascending, up to the number of rows."""
    top = int(np.ceil(2 * np.log10(max(problem.weight, 1.0)) - 1e-9))
    half = np.arange(-4, top + 1) if problem.width <= EIGEN else np.arange(-2, top + 1, 2)
    return 10.0 ** (half / 2)


def training_moments(whole: Moments, fold: Moments) -> Moments:
    """Return the whole less a fold, with the levels of the whole, those without rows included.

    Both have the same levels in the same order. Unlike `whole - fold` nothing is checked or dropped: the fold is known to
    be part of the whole.
    """
    left = whole.total_weight - fold.total_weight
    numbers = subtract(whole.numbers, float(whole.total_weight), fold.numbers, float(fold.total_weight), float(left))
    sums = tuple(
        combine._conform_sums(a, wa, whole.numbers, numbers) - combine._conform_sums(b, wb, fold.numbers, numbers)
        for a, wa, b, wb in zip(whole.sums, whole.pairs.level_weights, fold.sums, fold.pairs.level_weights, strict=True)
    )
    return replace(
        whole,
        n_rows=whole.n_rows - fold.n_rows,
        total_weight=left,
        pairs=whole.pairs - fold.pairs,
        numbers=numbers,
        sums=sums,
        folds=(),
    )


@dataclass(frozen=True, eq=False)
class Folds:
    """Training and left-out moments of each fold, made when asked for.

    Attributes
    ----------
    whole : Moments
    filled : list of int
        The folds that have rows.
    """

    whole: Moments
    filled: list[int]

    def __call__(self, fold: int) -> tuple[Moments, Moments]:
        """Return the moments of all other folds and of this one, both with the levels of the whole."""
        bare = replace(self.whole, folds=())
        own = combine.aligned(bare, self.whole.folds[fold])[1]
        return training_moments(bare, own), own


def train_and_fold(moments: Moments) -> Folds:
    """Return the folds of moments, checked.

    Raises
    ------
    DataError
        Where the moments have no folds, or one of them holds all rows.
    """
    if len(moments.folds) < 2:
        raise DataError("ridge='cv' needs moments with folds: collect(folds=5) keeps them in the same pass")
    filled = [k for k, fold in enumerate(moments.folds) if fold.n_rows > 0]
    for k in filled:
        if moments.n_rows - moments.folds[k].n_rows < 2:
            raise DataError(f"fold {k} holds nearly all rows: cross-validation needs rows in several folds")
    return Folds(moments, filled)


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
    seen = np.einsum("ij,ij->j", flat, fold.apply(flat)).reshape(k, m)
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


def _in_blocks(problem: Regression, ridges: Array) -> list[Array]:
    size = max(1, BLOCK_BYTES // max(8 * problem.cross.size, 1))
    return [ridges[k : k + size] for k in range(0, len(ridges), size)]


def cross_validated(
    moments: Moments, columns: list[str], aim: Aim, whole: Regression, ridges: Array
) -> dict[str, Array]:
    """Return the held-out R^2 of every ridge and its standard error over folds, no row read."""
    read = train_and_fold(moments)

    def judge(fold: int) -> tuple[Array, Array]:
        train, left_out = read(fold)
        fitted = regression_of(train, columns, aim, unit=whole.unit)
        judged = regression_of(left_out, columns, aim, unit=whole.unit)
        parts = [held_out_errors(fitted, judged, ridge_path(fitted, some)) for some in _in_blocks(whole, ridges)]
        return per_target(np.concatenate([e for e, _ in parts]), aim.owner), per_target(parts[0][1], aim.owner)

    # Wide moments are held one fold at a time: there memory is what counts.
    threads = min(usable_cores(None), len(read.filled)) if whole.is_dense else 1
    with one_blas_thread() if threads > 1 else nullcontext(), ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(judge, read.filled))
    table, base = np.array([e for e, _ in found]), np.array([b for _, b in found])
    total = base.sum(axis=0)
    score = (1.0 - table.sum(axis=0) / np.where(total > 0, total, np.inf)).mean(axis=1)
    by_fold = (1.0 - table / np.where(base > 0, base, np.inf)[:, None]).mean(axis=2)
    error = by_fold.std(axis=0, ddof=1) / np.sqrt(len(by_fold)) if len(by_fold) > 1 else np.zeros(len(ridges))
    return {"ridge": ridges, "r2": score, "r2_se": error}


def generalised(aim: Aim, whole: Regression, ridges: Array) -> dict[str, Array]:
    """Return the generalised cross-validation score of every ridge, from the moments of all rows."""
    effective = _effective_columns(whole, ridges)
    residual = []
    for some in _in_blocks(whole, ridges):
        for coefficients, r in zip(ridge_path(whole, some), some, strict=True):
            # B^T S B = B^T C - r B^T D B: no product with S is needed.
            fit = np.einsum("pm,pm->m", coefficients, whole.cross)
            penalty = r * np.einsum("pm,p,pm->m", coefficients, whole.unit, coefficients)
            residual.append(np.diagonal(whole.own) - fit - penalty)
    left = per_target(np.maximum(np.array(residual), 0.0), aim.owner)
    base = per_target(np.diagonal(whole.own), aim.owner)
    share = (left / np.where(base > 0, base, np.inf)).mean(axis=1)
    free = np.maximum(whole.weight - 1 - effective, 1e-9 * whole.weight)
    return {"ridge": ridges, "gcv": share * np.square(whole.weight / free), "effective_columns": effective}


def _effective_columns(whole: Regression, ridges: Array) -> Array:
    """Return tr H(r) for every r."""
    if whole.width <= EIGEN:
        values, _, _ = eigen_route(whole)
        return np.array([(values / (values + r)).sum() for r in ridges])
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (whole.width, PROBES))
    rooted = np.sqrt(whole.unit)[:, None]
    image = whole.apply(signs / rooted)
    found = []
    for r in ridges:
        solved, _ = iterated(whole, image, np.full(PROBES, r), tol=1e-6)
        found.append(float(np.einsum("pk,pk->", solved, rooted * signs)) / PROBES)
    return np.array(found)


def choose_ridge(
    moments: Moments, columns: list[str], aim: Aim, whole: Regression, rule: str
) -> tuple[float, dict[str, Array]]:
    """Return the ridge that a rule chooses, and the curve behind it.

    Parameters
    ----------
    moments : Moments
        In the form that `aim` takes; with folds for "cv".
    columns : list of str
        Features.
    aim : Aim
    whole : Regression
        Of all rows.
    rule : {"auto", "cv"}
        "auto" cross-validates where there are folds, and otherwise uses generalised cross-validation.
    """
    ridges = ridges_for(whole)
    if rule == "cv" or len([fold for fold in moments.folds if fold.n_rows > 0]) >= 2:
        curve = cross_validated(moments, columns, aim, whole, ridges)
        return float(ridges[int(np.argmax(curve["r2"]))]), curve
    curve = generalised(aim, whole, ridges)
    return float(ridges[int(np.argmin(curve["gcv"]))]), curve
