r"""A penalised generalised linear model and its fold-wise fits, from the moments of one weighted pass.

About predictors theta = (a, beta) the penalised objective of a set of rows is, to second order,

    D(theta + delta) / 2 = D(theta) / 2 - g^T delta + delta^T G delta / 2,       plus  (theta + delta)^T P (theta + delta) / 2,

G = sum_i w_i z_i z_i^T and g = sum_i u_i z_i over z = (1, x - c), u and w the slope and curvature of the log-likelihood
(`gramian.linear.regression.glm`). G and g are moments of a pass with the weights w_i and the number u_i / w_i, and they add up
over folds. So one pass that keeps its folds gives the Newton step of every set of folds, for every penalty:

    theta_f(P) = theta + (G - G_f + P)^-1 (g - g_f - P theta).

*Folds.* At the optimum of all rows this step is what leaving fold f out takes away, to second order in it, and for least
squares exactly. Deviances of left-out rows under theta_f choose the penalty and, with the crosses of a candidate list among
the columns and theta the fit without them, their number. For least squares they are D_f(theta_f), read off the fold's own G_f
and g_f, and about a constant these are the moments of the target itself: no row is read again.

*Penalty.* A ridge is counted in rows: P = r v diag(0, d), d = 1 for a level and the variance for a number, v the mean curvature
of a row (p (1 - p) of the mean for two classes). A level of n average rows shrinks by n / (n + r), for either link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.arrays.threads import one_blas_thread
from gramian.arrays.types import Array
from gramian.linear.regression.glm import DEVIANCE, residual_of
from gramian.linear.regression.problem import Regression
from gramian.moments.value import Moments


@dataclass(frozen=True, eq=False)
class Expansion:
    """The log-likelihood of some rows to second order.

    Attributes
    ----------
    gram : (1 + p, 1 + p) array
    slope : (1 + p,) array
    deviance, weight : float
        `weight` is the sum of the curvatures.
    """

    gram: Array
    slope: Array
    deviance: float
    weight: float

    @classmethod
    def of(cls, problem: Regression, centre: Array, level: float = 0.0, deviance: float | None = None) -> Expansion:
        """Return the expansion that moments give, about the centre of the design columns.

        Parameters
        ----------
        problem : Regression
            Of the residual of a weighted pass; or of the target itself, which gives the expansion of least squares about a
            constant, without a pass.
        centre : (p,) array
        level : float
            The constant.
        deviance : float, optional
            By default the sum of squares of what is aimed at.
        """
        weight, gap = problem.weight, problem.mean - centre
        off = float(problem.aim_mean[0]) - level
        if deviance is None:
            deviance = float(problem.own[0, 0]) + weight * off**2
        gram = np.empty((len(centre) + 1, len(centre) + 1))
        gram[0, 0] = weight
        gram[0, 1:] = gram[1:, 0] = weight * gap
        gram[1:, 1:] = problem.matrix + weight * np.outer(gap, gap)
        slope = np.append(weight * off, problem.cross[:, 0] + weight * off * gap)
        return cls(gram, slope, deviance, weight)

    @classmethod
    def of_pass(cls, moments: Moments, columns: Sequence[str], centre: Array) -> Expansion:
        """Return the expansion that the moments of a weighted pass give; zero without rows."""
        if not moments.n_rows:
            p = len(centre)
            return cls(np.zeros((p + 1, p + 1)), np.zeros(p + 1), 0.0, 0.0)
        problem = residual_of(moments, columns)
        return cls.of(problem, centre, deviance=problem.weight * float(moments.mean(DEVIANCE)[0]))

    def first(self, count: int) -> Expansion:
        """Return the expansion in the first coefficients alone, the others being as they are."""
        return replace(self, gram=self.gram[:count, :count], slope=self.slope[:count])

    def __add__(self, other: Expansion) -> Expansion:
        return Expansion(
            self.gram + other.gram,
            self.slope + other.slope,
            self.deviance + other.deviance,
            self.weight + other.weight,
        )

    def step(self, theta: Array, penalty: Array, among: npt.NDArray[np.intp] | None = None) -> Array:
        """Return theta after the Newton step, the coefficients of other columns than those `among` being as they are."""
        at = np.arange(len(theta)) if among is None else among
        return self.steps(theta, penalty, at, [len(at)])[0]

    def steps(self, theta: Array, penalty: Array, at: npt.NDArray[np.intp], counts: Sequence[int]) -> list[Array]:
        """Return theta after the Newton step in the first so many of some columns, for each count.

        The factor of a leading block is the leading block of the factor, so that all of them share one.
        """
        lower, _ = self.factor(penalty, at)
        found = []
        with one_blas_thread():
            for count in counts:
                some, out = at[:count], theta.copy()
                right = self.slope[some] - penalty[some] * theta[some]
                out[some] += scipy.linalg.cho_solve((lower[:count, :count], True), right, check_finite=False)
                found.append(out)
        return found

    def factor(self, penalty: Array, at: npt.NDArray[np.intp]) -> tuple[Array, bool]:
        """Return a Cholesky factor of G + P, over some of the columns."""
        matrix = self.gram[np.ix_(at, at)]
        # Of a column that no row has, and of the intercept of no rows, something small keeps the factor.
        matrix[np.diag_indices(len(at))] += penalty[at] + 1e-12 * max(float(matrix.diagonal().max()), 1e-300)
        with one_blas_thread():
            return scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def deviance_at(self, step: Array) -> float:
        """Return the deviance a step away."""
        return self.deviance - 2 * float(self.slope @ step) + float(step @ self.gram @ step)

    def objective(self, theta: Array, penalty: Array) -> float:
        """Return deviance and penalty at theta, where the expansion is about it."""
        return self.deviance + float(penalty @ np.square(theta))


def without(parts: Sequence[Expansion], k: int) -> Expansion:
    """Return the sum of all parts but one; it never subtracts."""
    first, *rest = [part for j, part in enumerate(parts) if j != k]
    for part in rest:
        first = first + part
    return first


def total(parts: Sequence[Expansion]) -> Expansion:
    """Return the sum."""
    return without(parts, -1)
