r"""Errors of coefficients where one category has too many levels for a matrix: its block is eliminated.

Let the widest category have levels l of weight n_l, and let g_l be the means of the other design columns o within them. With
all of its levels in the model and no intercept its own block is diag(n), so that eliminating it leaves the scatter of the
others within its levels,

    M = S_oo - sum_l n_l (g_l - m)(g_l - m)^T,       b_o = M^-1 (C within levels),       d_l = mean of y in l - g_l^T b_o,

and by the inverse of a block matrix

    V(b_o) = s M^-1,       cov(d_l, d_h) = s (1{l = h} / n_l + g_l^T M^-1 g_h),       cov(d_l, b_o) = -s M^-1 g_l.

Against a reference r the coefficient of a level is d_l - d_r, of variance s (1/n_l + 1/n_r + (g_l - g_r)^T M^-1 (g_l - g_r)),
and the intercept is d_r. Nothing is as wide as the category but a few vectors and the pair counts. All of its levels together
are tested by what leaving it out adds to the residual sum of squares: in units of s the same statistic as b_w^T V_ww^-1 b_w.

The category is taken first: columns that it explains are dropped, wherever they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.linear.regression.inference import Coding, Estimate, Inference, factored
from gramian.linear.regression.problem import Regression
from gramian.linear.scatter.wide import WideScatter
from gramian.linear.solvers import solve_semidefinite

COLUMNS_AT_ONCE = 64
"""Directions of the other columns in which all levels are looked at together."""


@dataclass(frozen=True, eq=False)
class WideEstimate(Estimate):
    """Coefficients beside those of a category that is eliminated.

    Attributes
    ----------
    wide : WideScatter
    root : (p, q) array
        R with R R^T = M^-1, zeros for columns without a coefficient; over the other columns alone.
    reference : int
        The reference level of the category, within it.
    added : (float, int)
        What leaving the category out takes off the explained sum of squares, and how many coefficients.
    """

    wide: WideScatter
    root: Array
    reference: int
    added: tuple[float, int]

    @cached_property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Which coefficients are those of the category."""
        return (self.kept >= self.wide.span.start) & (self.kept < self.wide.span.stop)

    def distances(self, levels: Any, base: int) -> Array:
        """Return (g_l - g_b)^T M^-1 (g_l - g_b) of some levels l."""
        counts = self.wide.counts
        out = np.zeros(len(counts[levels]))
        for start in range(0, self.root.shape[1], COLUMNS_AT_ONCE):
            means = (
                self.wide.across(self.root[:, start : start + COLUMNS_AT_ONCE]) / np.maximum(counts, 1e-300)[:, None]
            )
            out += np.square(means[levels] - means[base]).sum(axis=1)
        return out

    def with_errors(self, middle: Array | None, factor: float, dof: float) -> Inference:
        """Return the estimate with the errors of independent rows of one variance."""
        if middle is not None:
            raise DataError("columns of so many levels have errors of independent rows of one variance only")
        return WideInference(self, np.empty((0, 0)), dof, factor)


def eliminated(problem: Regression, coding: Coding, beta: Array, at_mean: float, taken_off: Array) -> WideEstimate:
    """Return the estimate of a predictor that is known, the widest category eliminated.

    Parameters
    ----------
    problem : Regression
        Its scatter, whatever the response.
    coding : Coding
    beta : (p,) array
        Of the predictor.
    at_mean : float
        The predictor at the mean.
    taken_off : (p,) array
    """
    wide = problem.elimination
    assert wide is not None
    span, others, counts = wide.span, np.flatnonzero(wide.is_other), wide.counts
    among, explained = wide.explained()
    inside = among - explained
    order = coding.order[wide.is_other[coding.order]]
    at = np.searchsorted(others, order)
    taken, inverse, factor, unit = factored(inside[np.ix_(at, at)], problem.diagonal[order])
    kept, at = order[taken], at[taken]
    root = np.zeros((len(others), len(kept)))
    if len(kept):
        root[at] = lapack.dtrtri(factor, lower=1)[0].T / unit[:, None]
    found = inverse @ (inside @ beta[others])[at]
    # What another solution gave to dropped columns is a function of the level.
    moved = beta[others].copy()
    moved[at] -= found
    present = counts > 0
    level = beta[span] + wide.across(moved[:, None])[:, 0] / np.where(present, counts, 1.0)
    level += at_mean - counts @ beta[span] / counts.sum()
    own = coding.order[~wide.is_other[coding.order]]
    reference = int(np.setdiff1d(np.flatnonzero(present), own - span.start)[0])
    places = np.append(own, kept)
    image = problem.scatter @ beta[:, None]
    part, rank = solve_semidefinite(among[np.ix_(at, at)], image[kept])
    added = float(beta @ image[:, 0]) - float(part[:, 0] @ image[kept, 0])
    estimate = WideEstimate(
        coding,
        problem.weight,
        problem.mean,
        places,
        np.append(level[own - span.start] - level[reference], found),
        0.0,
        inverse,
        taken_off,
        wide,
        root,
        reference,
        (max(added, 0.0), len(places) - rank),
    )
    # The intercept is the predictor of the reference level where the other columns are zero.
    own_mean = float((problem.mean + taken_off)[places] @ estimate.coefficients)
    other_mean = float((problem.mean + taken_off)[kept] @ found)
    return replace(estimate, at_mean=float(level[reference]) - other_mean + own_mean)


@dataclass(frozen=True, eq=False)
class WideInference(Inference):
    """Errors where a category is eliminated; no covariance is as wide as it.

    Attributes
    ----------
    dispersion : float
    """

    dispersion: float

    def _errors(self) -> Array:
        """Return the standard errors, the intercept first."""
        found: Any = self.estimate
        wide, inside = found.wide, found.inside
        out = np.empty(len(found.kept) + 1)
        levels = found.kept[inside] - wide.span.start
        base = 1.0 / wide.counts[found.reference]
        out[1:][inside] = 1.0 / wide.counts[levels] + base + found.distances(levels, found.reference)
        out[1:][~inside] = np.diagonal(found.inverse)
        # The means of the reference level itself, not about those of all rows.
        mean = wide.across(found.root)[found.reference] / wide.counts[found.reference]
        mean += (found.mean + found.taken_off)[wide.is_other] @ found.root
        out[0] = base + float(mean @ mean)
        return np.asarray(np.sqrt(self.dispersion * out))

    def _variance(self, contrast: Array) -> float:
        """Return that of a sum of coefficients: s times the sum of a_l^2 / n_l and |R^T (c - sum a_l g_l)|^2."""
        found: Any = self.estimate
        wide, inside = found.wide, found.inside
        along = np.zeros(len(wide.counts))
        along[found.kept[inside] - wide.span.start] = contrast[inside]
        along[found.reference] -= along.sum()
        along /= np.where(wide.counts > 0, wide.counts, 1.0)
        side = np.zeros(len(found.mean))
        side[found.kept[~inside]] = contrast[~inside]
        side = (side[wide.is_other] - wide.back(along[:, None])[:, 0]) @ found.root
        return self.dispersion * float(np.square(along) @ wide.counts + side @ side)

    def _block(self, own: Any) -> Array:
        """Return the covariance of some coefficients of the other columns."""
        found: Any = self.estimate
        at = (np.cumsum(~found.inside) - 1)[own]
        return np.asarray(self.dispersion * found.inverse[np.ix_(at, at)])

    def _joint(self, own: Any) -> tuple[int, float, float]:
        """Return the test that some coefficients are all zero: those of the category, or of other columns."""
        found: Any = self.estimate
        if not found.inside[own].any():
            return super()._joint(own)
        total, df = found.added
        return self._judged(df, total / self.dispersion)
