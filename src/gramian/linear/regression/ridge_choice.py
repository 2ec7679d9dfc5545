"""Which ridge: cross-validated over fold moments, or generalised cross-validation where there are no folds.

*Folds.* The r of the largest held-out R^2; see `gramian.linear.regression.held_out`.

*No folds.* Generalised cross-validation: with H(r) = X (S + r D)^-1 X^T the hat matrix, the r of least

    GCV(r) = n |h - H h|^2 / (n - 1 - tr H(r))^2.

tr H = sum of l / (l + r) over the eigenvalues of D^-1/2 S D^-1/2, or, where those cost too much, the mean of z^T H z over a
few random signs z (Hutchinson), which at thousands of columns is right to a fraction of a percent.

Both look at the same path: half decades from 0.01 rows up to the number of rows; whole ones from 0.1 where eigenvectors are out
of reach and every r is solved for (the curve is flat at that size). Folds are independent, so each has a thread.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.regression.held_out import block_size, held_out_scores, per_target
from gramian.linear.regression.problem import Regression
from gramian.linear.regression.ridge import EIGEN, eigen_route, least_squares, ridge_coefficients, ridge_path, solved
from gramian.linear.regression.targets import Aim
from gramian.moments.algebra.folds import has_folds
from gramian.moments.value import Moments

PROBES = 8
"""Random signs for the trace of the hat matrix."""


def ridges_for(problem: Regression) -> Array:
    """Return the path of ridges that are tried, ascending, up to the number of rows."""
    top = int(np.ceil(2 * np.log10(max(problem.weight, 1.0)) - 1e-9))
    half = np.arange(-4, top + 1) if problem.width <= EIGEN else np.arange(-2, top + 1, 2)
    return 10.0 ** (half / 2)


def _in_blocks(problem: Regression, ridges: Array) -> list[Array]:
    size = block_size(problem)
    return [ridges[k : k + size] for k in range(0, len(ridges), size)]


def cross_validated(
    moments: Moments, columns: list[str], aim: Aim, whole: Regression, ridges: Array
) -> dict[str, Array]:
    """Return the held-out R^2 of every ridge and its standard error over folds, no row read."""

    def path(train: Regression) -> Iterator[Array]:
        if len(ridges) == 1:
            yield ridge_coefficients(train, float(ridges[0]))[None]
            return
        for some in _in_blocks(train, ridges):
            flat = np.moveaxis(ridge_path(train, some), 1, 0).reshape(train.width, -1)
            yield np.moveaxis(train.centred(flat).reshape(train.width, len(some), -1), 1, 0)

    score, error = held_out_scores(moments, columns, aim, whole, path)
    return {"ridge": ridges, "r2": score, "r2_se": error}


def generalised(aim: Aim, whole: Regression, ridges: Array, inflation: float = 1.0) -> dict[str, Array]:
    """Return the generalised cross-validation score of every ridge, from the moments of all rows.

    Effective columns count `inflation` times; a ridge that has more of them than rows has an infinite score.
    """
    effective: list[float] = []
    residual = []
    for some in _in_blocks(whole, ridges):
        path, traces = _path_and_traces(whole, some)
        effective += traces
        for coefficients, r in zip(path, some, strict=True):
            # B^T S B = B^T C - r B^T D B: no product with S is needed.
            fit = np.einsum("pm,pm->m", coefficients, whole.cross)
            penalty = r * np.einsum("pm,p,pm->m", coefficients, whole.unit, coefficients)
            residual.append(np.diagonal(whole.own) - fit - penalty)
    left = per_target(np.maximum(np.array(residual), 0.0), aim.owner)
    base = per_target(np.diagonal(whole.own), aim.owner)
    share = (left / np.where(base > 0, base, np.inf)).mean(axis=1)
    free = whole.weight - 1 - inflation * np.array(effective)
    score = share * np.square(whole.weight / np.maximum(free, 1e-9 * whole.weight))
    if inflation > 1:
        score = np.where(free > 0, score, np.inf)
    return {"ridge": ridges, "gcv": score, "effective_columns": np.array(effective)}


def _path_and_traces(whole: Regression, ridges: Array) -> tuple[Array, list[float]]:
    """Return B(r) for every r, (k, p, m), and tr H(r): random signs are solved for beside C, with the same factors."""
    p, m = whole.cross.shape
    if p <= EIGEN:
        values, turned, rooted = eigen_route(whole)
        along = turned.T @ (whole.cross / rooted[:, None])
        path = np.array([(turned @ (along / (values + r)[:, None])) / rooted[:, None] for r in ridges])
        return path, [float((values / (values + r)).sum()) for r in ridges]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (p, PROBES))
    root = np.sqrt(whole.unit)[:, None]
    sides = np.hstack([whole.cross, whole.scatter @ (signs / root)])
    rhs = np.repeat(sides[:, None], len(ridges), axis=1).reshape(p, -1)
    solutions = solved(whole, rhs, np.repeat(ridges, sides.shape[1]), tol=1e-8).reshape(p, len(ridges), -1)
    traces = np.einsum("pkj,pj->k", solutions[:, :, m:], root * signs) / PROBES
    return np.moveaxis(solutions[:, :, :m], 0, 1), [float(trace) for trace in traces]


def effective_columns(problem: Regression, ridge: float) -> float:
    """Return tr H(r), how many columns a ridge regression has in effect; for ridge 0 the rank.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.linear.regression.problem import regression_of
    >>> from gramian.linear.regression.targets import aim_of
    >>> m = gm.collect([[0.0, 1.0, 0.0], [1.0, -1.0, 1.0], [0.0, -1.0, 1.0], [1.0, 1.0, 3.0]])
    >>> problem = regression_of(m, ["x0", "x1"], aim_of(m, ["x2"]))
    >>> effective_columns(problem, 0.0), round(effective_columns(problem, 4.0), 9)
    (2.0, 1.0)
    """
    if ridge == 0:
        return float(least_squares(problem).rank)
    return _path_and_traces(problem, np.array([ridge]))[1][0]


def choose_ridge(
    moments: Moments,
    columns: list[str],
    aim: Aim,
    whole: Regression,
    rule: str,
    ridges: Array | None = None,
    *,
    inflation: float = 1.0,
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
    ridges : (k,) array, optional
        What to try, ascending, all above 0; by default `ridges_for(whole)`.
    inflation : float
        What effective columns count in generalised cross-validation; see `gramian.random.readout` for more than 1.
    """
    ridges = ridges_for(whole) if ridges is None else ridges
    if rule == "cv" or has_folds(moments):
        curve = cross_validated(moments, columns, aim, whole, ridges)
        return float(ridges[int(np.argmax(curve["r2"]))]), curve
    curve = generalised(aim, whole, ridges, inflation)
    if not np.isfinite(curve["gcv"]).any():
        return float(ridges[-1]), curve
    return float(ridges[int(np.argmin(curve["gcv"]))]), curve
