r"""The readout of fixed features: ridge regression of targets on them, from their moments.

Everything is `gramian.linear`'s: the problem, the ridge counted in rows, its choice by fold moments or by generalised
cross-validation. Two things are of this place alone.

*The path of ridges.* Hidden units are many and nearly repeat each other, so that what helps may lie far below a hundredth of a
row. How far down does a ridge r still give the same answer twice? Let S be the scatter of the scaled units and E, of size e
|S| with e the rounding unit, the change that another order of summation makes. The coefficients B = (S + r)^-1 C then change
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

*Saturated units.* A unit is computed to within e times its size, and the order of summation decides how it is rounded. Where
every row is deep in the flat part of tanh or of the sigmoid, as with columns of years that are not scaled, its standard
deviation is of that size: rounding is all that it shows. Scaled to unit variance it would give a row one output alone and
another in a batch. A unit whose standard deviation is below e / 1e-8 = 2e-8 of its root mean square gets no weight.

*Intercepts.* Predictions are `features @ coefficients + intercept`, of features as they are, not about their means.

*Classes.* Three or more of them are told apart by a Gaussian discriminant of the outputs that left-out rows would get. Least
squares on the indicators of three or more classes *masks*: a class that lies between others never has the largest output,
however well the outputs tell it apart (Hastie, Tibshirani and Buja, 1994). Nothing is lost in the outputs themselves: their
class means differ. So the outputs of a row, f = B^T (x - m), are compared with the mean outputs of each class in the metric of
their covariance within classes, W:

    d_k = f^T W^-1 u_k - u_k^T W^-1 u_k / 2 + log(share of k),

affine in f, and the log posterior of class k up to a constant where outputs are Gaussian within classes.

*Rows left out.* In the rows of the fit, B has seen their own classes: outputs are too close to the indicators. With n rows, H
the hat matrix and h its mean diagonal (effective columns and the mean, over rows), the output of a row that is left out is

    f_i - (y_i - f_i) H_ii / (1 - H_ii)   ~   (f_i - h y_i) / (1 - h),        y the centred indicators,

which is what generalised cross-validation takes for it. That is linear in f and y, so its class means and its covariance
within classes (where y is constant) follow from the moments: with N the class sizes, C the cross scatter, S the scatter, G =
C^T B and F = B^T S B,

    u = (N^-1 G - h (I - 1 share^T)) / (1 - h),        W = (F - G N^-1 G) / (n (1 - h)^2).

N^-1/2 G N^-1/2 is symmetric with eigenvalues g in [0, 1], the squared canonical correlations of outputs and classes. Left out
they are (g - h) / (1 - h); where that falls below 0 there is no association left, and it counts as 0.

*Probabilities* by least squares are moved to the nearest ones. The regression of class indicators on features estimates
P(class | x). Its outputs sum to one and may lie below 0 or above 1. The nearest point (in squares) of the probability simplex
is max(v - t, 0), with t such that it sums to one (Held, Wolfe and Crowder, 1974): the order of the classes stays, and the
expected Brier score can only fall.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import choose_ridge, effective_columns, ridge_coefficients, ridge_path
from gramian.linear.regression.targets import TargetFunctions, aim_of
from gramian.moments.value import Moments

_LOG = logging.getLogger("gramian")

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
        Of each target that is read as classes the map of its outputs to log posteriors (see the top of this module); None
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
    n_units: int = 0,
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
    n_units : int
        How many columns, the first ones, are hidden units, of which the saturated get no weight.

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
    alive = ~_saturated(problem, n_units)
    if not alive.all():
        _LOG.info(
            "%d of %d hidden units are saturated, the same for every row up to rounding, and get no weight; scale the "
            "columns to unit variance about 0 to use them",
            (~alive).sum(),
            n_units,
        )
        coefficients = np.zeros((problem.width, len(problem.own)))
        names = [name for k, name in enumerate(names) if k >= n_units or alive[k]]
        if not names:
            only_means = _readout(read, aim, problem, coefficients, 0.0, {})
            return replace(only_means, discriminants=[None] * len(aim.classes))
        found = read_out(moments, names, targets, ridge=ridge, target_type=target_type, floor=floor)
        coefficients[alive] = found.coefficients
        return replace(found, coefficients=coefficients, means=problem.mean)
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


def _saturated(problem: Regression, n_units: int) -> npt.NDArray[np.bool_]:
    """Return which of the design columns are units that rounding alone moves."""
    variance, numbers = problem.diagonal / problem.weight, np.finfo(np.float64)
    least = (numbers.eps / REPRODUCIBLE) ** 2 * (variance + problem.mean**2)
    # Below that the square of a deviation has no digits left, as of the sigmoid of -400.
    return (np.arange(problem.width) < n_units) & (variance <= np.maximum(least, numbers.tiny / numbers.eps))


def _discriminants(
    read: Moments, aim: TargetFunctions, problem: Regression, coefficients: Array, effective: float
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
    read: Moments,
    aim: TargetFunctions,
    problem: Regression,
    coefficients: Array,
    amount: float,
    selection: dict[str, Array],
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


CUT = 1e-10
"""Directions of the outputs whose variance within classes is below this share of the largest are rounding."""


def discriminant(association: Array, fitted: Array, sizes: Array, effective: float) -> tuple[Array, Array] | None:
    """Return the map from outputs to log posteriors, `outputs @ slope + offset`, up to a constant a row.

    Parameters
    ----------
    association : (c, c) array
        G, the scatter of outputs with the indicators of the classes.
    fitted : (c, c) array
        F, the scatter of outputs.
    sizes : (c,) array
        Rows (weight) of each class, all above 0.
    effective : float
        Effective columns, the trace of the hat matrix of centred columns.

    Returns
    -------
    (c, c) array and (c,) array, or None
        None where no row is left to judge by: as many effective columns as rows, or outputs that do not vary in classes.

    Examples
    --------
    >>> y = np.repeat(np.eye(3), 4, axis=0) - 1 / 3
    >>> f = 0.5 * y + 0.1 * np.tile(np.array([[1, -1, 0], [-1, 1, 0], [1, 0, -1], [-1, 0, 1]]), (3, 1))
    >>> slope, offset = discriminant(y.T @ f, f.T @ f, np.full(3, 4.0), 1.0)
    >>> ((f + 1 / 3) @ slope + offset).argmax(axis=1)
    array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    n = float(sizes.sum())
    h = (effective + 1) / n
    if (1 - h) * n < 1:
        return None
    root, share = np.sqrt(sizes), sizes / n
    scaled = (association + association.T) / 2 / np.outer(root, root)
    values, vectors = np.linalg.eigh(scaled)
    left_out = np.maximum((values - h) / (1 - h), 0.0)
    # Indicators sum to one: the root of the shares has g = 0, and stays there.
    means = ((vectors * left_out) @ vectors.T) * root / root[:, None]
    within = (fitted - association @ (association / sizes[:, None])) / (n * (1 - h) ** 2)
    spread, turned = np.linalg.eigh((within + within.T) / 2)
    kept = spread > CUT * max(float(spread[-1]), 0.0)
    # The outputs of a row sum to 0 about their means: one direction less than classes.
    if not kept.any() or spread[-1] <= CUT * float(np.abs(fitted).max()) / n:
        return None
    inverse = (turned[:, kept] / spread[kept]) @ turned[:, kept].T
    slope = inverse @ means.T
    offset = np.log(share) - np.einsum("kj,jk->k", means, slope) / 2
    return slope, offset - share @ slope


def log_posteriors(outputs: Readout) -> tuple[Array, Array]:
    """Return coefficients and intercepts of the log posteriors of classes, of indicators where there are none.

    Parameters
    ----------
    outputs : Readout
        Regressions of indicators, one column for two classes, and the discriminant of each target that has one.
    """
    widths = [1 if len(labels) < 3 else len(labels) for labels in outputs.classes]
    ends = np.cumsum(widths)[:-1]
    sides = zip(
        outputs.discriminants,
        np.split(outputs.coefficients, ends, axis=1),
        np.split(outputs.intercept, ends),
        strict=True,
    )
    parts = [
        (weights, level) if each is None else (weights @ each[0], level @ each[0] + each[1])
        for each, weights, level in sides
    ]
    return np.hstack([weights for weights, _ in parts]), np.concatenate([level for _, level in parts])


def among_declared(
    present: Array, declared: npt.NDArray, coefficients: Array, intercept: Array, absent: float
) -> tuple[Array, Array]:
    """Return the outputs of all declared classes, given those of the classes that have rows; the others have `absent`."""
    if len(present) == 2:
        coefficients = np.column_stack([-coefficients[:, 0], coefficients[:, 0]])
        intercept = np.array([1 - intercept[0], intercept[0]])
    place = np.searchsorted(declared, present)
    wide, levels = np.zeros((len(coefficients), len(declared))), np.full(len(declared), absent)
    wide[:, place], levels[place] = coefficients, intercept
    return (wide[:, 1:], levels[1:]) if len(declared) == 2 else (wide, levels)


def nearest_probabilities(outputs: Array) -> Array:
    """Return the nearest probabilities of each row.

    Examples
    --------
    >>> nearest_probabilities(np.array([[0.2, 0.8], [1.2, -0.2], [0.5, 0.6]])).round(3)
    array([[0.2 , 0.8 ],
           [1.  , 0.  ],
           [0.45, 0.55]])
    """
    ordered = -np.sort(-outputs, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, outputs.shape[1] + 1)
    kept = np.count_nonzero(ordered > excess, axis=1)
    shift = excess[np.arange(len(outputs)), kept - 1]
    return np.maximum(outputs - shift[:, None], 0.0)
