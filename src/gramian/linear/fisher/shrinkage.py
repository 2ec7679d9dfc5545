"""How much to shrink a within-class covariance towards its diagonal, from moments.

With E the within-class scatter in units of the within-class standard deviations (a correlation matrix of p columns), the
shrunk matrix is (1 - a) E + a I.

**"auto"**: the oracle approximating shrinkage of Chen, Wiesel, Eldar and Hero (2010), in the form scikit-learn uses. For a
covariance E from n rows, with alpha = |E|^2 / p^2 and mu = tr(E) / p,

    a = min(1, (alpha + mu^2) / ((n + 1) (alpha - mu^2 / p))).

It sees the data only through tr(E) = p and tr(E^2) = |E|^2, second moments both (the Ledoit-Wolf formula needs fourth
moments, so it cannot be had here). Pooling c class means takes c degrees of freedom: n = W - c.

**"cv"**: the a with the best held-out R^2 of the class indicators, predicted by least squares from the axes that a gives: the
Brier skill score of that classifier, and a function of the second moments of the left-out fold, its missing numbers at the
training means (see `gramian.moments.algebra.folds`). One `eigh` of E a fold serves the whole path.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.linalg import eigh_descending, relative_rank
from gramian.arrays.types import Array
from gramian.errors import Argument
from gramian.linear.fisher.class_moments import ClassMoments, class_moments
from gramian.linear.fisher.within import above_rounding, shrunk_inverse, within_pairs
from gramian.linear.layout import Layout, centre_of, layout_of
from gramian.linear.level_means import as_transformed
from gramian.linear.scatter.choice import scatter_of
from gramian.linear.scatter.diagonal import scatter_diagonal
from gramian.linear.scatter.sparse import cross_scatter
from gramian.moments.algebra.folds import folds_of
from gramian.moments.value import Moments

PATH = np.array([0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
"""Intensities tried by "cv"."""


def oas_intensity(squares: float, p: int, n: float) -> float:
    """Return the intensity for a correlation matrix of p columns whose squared entries sum to `squares`.

    Examples
    --------
    Uncorrelated columns are shrunk all the way, correlated ones less the more rows there are:

    >>> oas_intensity(3.0, p=3, n=50)
    1.0
    >>> round(oas_intensity(5.0, p=3, n=50), 4)
    0.1373
    """
    alpha = squares / p**2
    below = (n + 1.0) * (alpha - 1.0 / p)
    return 1.0 if below <= 0 else float(min(1.0, (alpha + 1.0) / below))


def oas_shrinkage(problem: ClassMoments) -> float:
    """Return the oracle approximating intensity for the within-class correlation."""
    spread = np.sqrt(problem.within_diagonal)
    varies = spread > 0
    p = int(varies.sum())
    if p == 0:
        return 1.0
    unit = np.where(varies, spread, np.inf)
    if problem.total.low_rank:
        # The sum of squared entries is that of the squared eigenvalues.
        squares = float(np.square(within_pairs(problem.total, problem.rooted, unit)[0]).sum())
    else:
        matrix = problem.within()
        matrix /= unit
        matrix /= unit[:, None]
        squares = 2 * float(np.square(np.tril(matrix, -1)).sum()) + p
    return oas_intensity(squares, p, max(problem.weight - len(problem.classes), 1.0))


def cross_validated_shrinkage(moments: Moments, problem: ClassMoments) -> tuple[float, dict[str, Array]]:
    """Return the intensity of best held-out R^2, and the curve over the path."""
    target, layout = problem.target, problem.layout
    read = moments.as_categorical([target])
    folds = folds_of(read, [*layout.columns, target], asked=Argument("shrinkage", "cv"))
    parts = [_errors_along_path(train, test, layout, target) for train, test in folds]
    errors, baselines = np.array([e for e, _ in parts]), np.array([b for _, b in parts])
    by_fold = 1.0 - errors / np.where(baselines > 0, baselines, np.inf)[:, None]
    score = 1.0 - errors.sum(axis=0) / baselines.sum()
    curve = {
        "shrinkage": PATH.copy(),
        "r2": score,
        "r2_se": by_fold.std(axis=0, ddof=1) / np.sqrt(len(by_fold)) if len(by_fold) > 1 else np.zeros(len(PATH)),
    }
    return float(PATH[int(np.argmax(score))]), curve


def _errors_along_path(train: Moments, test: Moments, layout: Layout, target: str) -> tuple[Array, float]:
    aimed, judged = layout_of(train, [target]), scatter_of(test, layout_of(test, layout.columns))
    shift = centre_of(test, aimed) - centre_of(train, aimed)
    weight = judged.weight
    start = float(scatter_diagonal(test, aimed).sum() + weight * (shift @ shift))
    if np.count_nonzero(train.counts(target)) < 2:
        # Training rows of one class have no axes: the class shares are all they predict by.
        return np.full(len(PATH), start), start
    problem = class_moments(train, layout.columns, target)
    unit = np.sqrt(np.where(problem.within_diagonal > 0, problem.within_diagonal, np.inf))
    values, vectors = within_pairs(problem.total, problem.rooted, unit)
    above = above_rounding(values, vectors, problem.ratio)
    vectors = vectors / unit[:, None]
    turned = vectors.T @ problem.rooted.T
    vectors = as_transformed(layout, problem.total.mean, vectors)
    gap = judged.mean - problem.total.mean
    cross = cross_scatter(train, layout, aimed)
    aim = cross_scatter(test, judged.layout, aimed) + weight * np.outer(gap, shift)
    errors = []
    for amount in PATH:
        solved = turned * shrunk_inverse(values, above, amount)[:, None]
        worth, turn = eigh_descending(turned.T @ solved)
        k = relative_rank(worth)
        # Of unit within-class variance: otherwise an axis of hardly any would hide the others in the fit.
        axes = vectors @ (solved @ (turn[:, :k] / np.sqrt(worth[:k])))
        predict = axes @ (np.linalg.pinv(problem.total.along(axes), rcond=1e-12, hermitian=True) @ (axes.T @ cross))
        moved = gap @ predict
        squares = judged.variance_along(predict).sum() + weight * (moved @ moved)
        errors.append(start - 2 * np.einsum("ij,ij->", predict, aim) + squares)
    return np.array(errors), start
