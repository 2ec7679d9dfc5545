"""The readout of fixed features: ridge regression of targets on them, from their moments.

Everything is `gramian.linear`'s: the problem, the ridge counted in rows, its choice by fold moments or by generalised
cross-validation. Two things are of this place alone.

*The path of ridges.* Hidden units are many and nearly repeat each other, so that what helps may lie far below a hundredth of a
row. How far down does a ridge r still give the same answer twice? Let S be the scatter of the scaled units and E, of size
e |S| with e the rounding unit, the change that another order of summation makes. The coefficients B = (S + r)^-1 C then change
by (S + r)^-1 E B. For a row x of the n, |x^T (S + r)^-1| and |B| / |y| are each at most 1 / (2 sqrt(r)), as sqrt(l) / (l + r)
is for every eigenvalue l. So a prediction changes by at most |y| e |S| / (4 r), |y|^2 the sum of squares of the target, and in
the mean over rows by 1 / sqrt(n) of that, e |S| / (4 r) standard deviations. With |S| at most its trace, units times rows, the
path begins where that is 1e-8 (`floor="exact"`). A reservoir whose target is a function of its past without noise wants less:
its path begins at e |S|, where rounding alone decides (`floor="rounding"`).

*Repeated rows.* Generalised cross-validation takes the leverage of every row for the mean one. With as many units as distinct
rows a small ridge passes through every row that occurs once (leverage 1) while rows that repeat each other keep the mean below
1, so that the score of interpolation is next to nothing: on tables of categories it is chosen, and predicts nothing. Counted
1.4 times, as Kim and Gu (2004) advise against undersmoothing, effective columns stay below 0.71 of the rows. Where there is no
noise at all that is a little too smooth; folds (`ridge="cv"`) see both cases. The reservoir's readout, of few units and many
steps that do not repeat, counts them once.

*Classes.* Three or more of them are told apart by a Gaussian discriminant of the outputs (`gramian.random.discriminant`).

*Intercepts.* Predictions are `features @ coefficients + intercept`, of features as they are, not about their means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import ridge_coefficients, ridge_path
from gramian.linear.regression.ridge_choice import choose_ridge, effective_columns
from gramian.linear.regression.targets import Aim, aim_of
from gramian.moments.value import Moments
from gramian.random.discriminant import discriminant

INFLATION = 1.4
"""What an effective column of hidden units counts in generalised cross-validation."""
REPRODUCIBLE = 1e-8
"""To what share of the target's spread predictions do not depend on the order of summation."""


@dataclass(frozen=True, eq=False)
class Readout:
    """Output weights over the design columns.

    Attributes
    ----------
    coefficients : (p, m) array
    intercept : (m,) array
    means : (p,) array
        Of the design columns.
    ridge : float
        In rows.
    selection : dict of arrays
        The curve behind a ridge that was chosen.
    classes : list of lists
        Of each target that is read as classes, sorted: two of them have one function, the indicator of the second.
    discriminants : list
        Of each target that is read as classes the map of its outputs to log posteriors (`gramian.random.discriminant`); None
        for two classes, whose regression masks nothing, and where it cannot be told.
    """

    coefficients: Array
    intercept: Array
    means: Array
    ridge: float
    selection: dict[str, Array]
    classes: list[list[Any]]
    discriminants: list[tuple[Array, Array] | None] = field(default_factory=list)


def ridges_for_units(problem: Regression, floor: str) -> Array:
    """Return the ridges that are tried, whole powers of ten, ascending, up to the number of rows."""
    spread = np.finfo(np.float64).eps * problem.weight * problem.width
    least = spread / (4 * REPRODUCIBLE) if floor == "exact" else spread
    top = int(np.ceil(np.log10(max(problem.weight, 1.0)) - 1e-9))
    bottom = min(int(np.ceil(np.log10(max(least, 1e-300)))), 0, top)
    return 10.0 ** np.arange(bottom, top + 1)


def read_out(
    moments: Moments,
    columns: Sequence[str],
    targets: Sequence[str],
    *,
    ridge: float | str = "auto",
    target_type: str = "auto",
    floor: str = "exact",
) -> Readout:
    """Return the ridge regression of targets on columns.

    Parameters
    ----------
    moments : Moments
        With folds where the ridge is chosen by "cv".
    columns, targets : sequence of str
    ridge : float, "auto" or "cv"
        In rows; "auto" cross-validates where there are folds and uses generalised cross-validation where there are none.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    floor : {"exact", "rounding"}
        Where the path of ridges begins.

    Examples
    --------
    >>> import gramian as gm
    >>> m = gm.collect([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> found = read_out(m, ["x0"], ["x1"], ridge=0.0)
    >>> found.coefficients.round(9), found.intercept.round(9)
    (array([[2.]]), array([1.]))
    """
    aim = aim_of(moments, targets, target_type=target_type, any_values=True).one_per_class()
    read = aim.read(moments)
    names = list(columns)
    problem = regression_of(read, names, aim)
    if isinstance(ridge, str):
        amount, selection = choose_ridge(
            read,
            names,
            aim,
            problem,
            ridge,
            ridges_for_units(problem, floor),
            inflation=INFLATION if floor == "exact" else 1.0,
        )
    else:
        amount, selection = float(ridge), {}
    coefficients = ridge_coefficients(problem, amount)
    readout = _readout(read, aim, problem, coefficients, amount, selection)
    if not any(len(labels) > 2 for labels in aim.classes):
        return replace(readout, discriminants=[None] * len(aim.classes))
    if "effective_columns" in selection:
        effective = float(selection["effective_columns"][np.flatnonzero(selection["ridge"] == amount)[0]])
    else:
        effective = effective_columns(problem, amount)
    return replace(readout, discriminants=_discriminants(read, aim, problem, coefficients, effective))


def _discriminants(
    read: Moments, aim: Aim, problem: Regression, coefficients: Array, effective: float
) -> list[tuple[Array, Array] | None]:
    """Return the map of each target's outputs to log posteriors."""
    fitted = coefficients.T @ np.asarray(problem.scatter @ coefficients)
    association = problem.cross.T @ coefficients
    shares = read.mean(list(aim.columns)) @ aim.map
    discriminants: list[tuple[Array, Array] | None] = []
    for target, labels in enumerate(aim.classes):
        own = np.flatnonzero(aim.owner == target)
        if len(labels) < 3:
            discriminants.append(None)
            continue
        at = np.ix_(own, own)
        discriminants.append(discriminant(association[at], fitted[at], problem.weight * shares[own], effective))
    return discriminants


def read_out_path(
    moments: Moments, columns: Sequence[str], targets: Sequence[str], *, floor: str = "exact"
) -> list[Readout]:
    """Return the regressions of continuous targets for every ridge that is tried, ascending."""
    aim = aim_of(moments, targets, target_type="continuous", any_values=True)
    problem = regression_of(moments, list(columns), aim)
    ridges = ridges_for_units(problem, floor)
    path = ridge_path(problem, ridges, tol=1e-13)
    return [_readout(moments, aim, problem, solution, float(r), {}) for solution, r in zip(path, ridges, strict=True)]


def _readout(
    read: Moments, aim: Aim, problem: Regression, coefficients: Array, amount: float, selection: dict[str, Array]
) -> Readout:
    outputs = read.mean(list(aim.columns)) @ aim.map
    return Readout(
        coefficients=coefficients,
        intercept=outputs - problem.mean @ coefficients,
        means=problem.mean,
        ridge=amount,
        selection=selection,
        classes=aim.classes,
    )
