"""How well models of more and more columns predict rows that were left out, from fold moments.

Each fold is left out in turn, the whole path (the choice of columns included) is run on the training folds, and the squared
error on the fold follows from its moments (`gramian.linear.regression.ridge`): missing numbers at training means, a
level that no training row has as the average row. It is the error that refitting on the rows would give, so choosing by it
is honest cross-validation of the selection itself.

Scores are 1 - error / error of the training means, the errors being means over folds of a fold's mean, as LassoCV has them,
and averaged over targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from gramian.arrays.threads import one_blas_thread
from gramian.arrays.types import Array
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.ridge import held_out_errors, per_target
from gramian.moments.algebra.folds import folds_of
from gramian.selection.problem import Problem

MANY_COLUMNS = 500
"""Design columns from which threads of BLAS pay. Below they wait for each other longer than they work; and folds in threads of
their own take turns at Python, which is most of a path: a Lasso took twice as long at 200 columns, a seventh less at 1,000.
"""

Models = Callable[[Problem], Sequence[Array]]
"""Gives the coefficients over design columns, (p, m), of each model of a path on training moments."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Held-out scores of the models of a path.

    Attributes
    ----------
    score, error : (k,) arrays
        R^2, of the Brier kind for classes, and its standard error over folds.
    """

    score: Array
    error: Array

    def best(self, rule: str = "best") -> int:
        """Return the model of the best score; by the rule of one standard error the first within one of it.

        Examples
        --------
        >>> curve = Curve(np.array([0.0, 0.48, 0.50, 0.49]), np.array([0.0, 0.03, 0.03, 0.03]))
        >>> curve.best(), curve.best("1se")
        (2, 1)
        """
        top = int(np.argmax(self.score))
        if rule == "best":
            return top
        return int(np.argmax(self.score >= self.score[top] - self.error[top]))


def held_out_curve(problem: Problem, models: Models, asked: str) -> Curve:
    """Return the held-out scores of each model of a path.

    Parameters
    ----------
    problem : Problem
        Of moments with folds.
    models : callable
        See `Models`; as many for every fold.
    asked : str
        What needs folds, for the message where there are none.
    """
    aim, columns = problem.aim, problem.columns
    folds = folds_of(problem.moments, asked=asked)

    def judge(fold: int) -> tuple[Array, Array]:
        train, left_out = folds.split(fold)
        fitted = Problem(regression_of(train, columns, aim), aim)
        aside = regression_of(left_out, columns, aim)
        coefficients = np.stack(models(fitted))
        errors, baseline = held_out_errors(fitted.regression, aside, coefficients)
        return per_target(errors, aim.owner) / aside.weight, per_target(baseline, aim.owner) / aside.weight

    with one_blas_thread() if problem.layout.width < MANY_COLUMNS else nullcontext():
        judged = [judge(fold) for fold in folds.filled]
    errors, base = np.array([e for e, _ in judged]), np.array([b for _, b in judged]).mean(axis=0)
    shares = 1.0 - (errors / np.where(base > 0, base, np.inf)).mean(axis=2)
    spread = shares.std(axis=0, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.zeros(shares.shape[1])
    return Curve(shares.mean(axis=0), spread)
