"""Fisher's discriminant (linear discriminant analysis) for any number of classes, from joint moments.

The target is one more block of the scatter. With C = sum_i (x_i - m)(1_{y_i} - p)^T, the cross scatter of features and class
indicators, n_c the class weights, and m_c - m = C_c / n_c the class means about the overall mean:

    S_between = C diag(1/n) C^T,        S_within = S - S_between,        Sigma = S_within / (W - ddof)

With priors pi (the class shares by default), the mean m_pi = sum pi_c m_c and the columns sqrt(pi_c) (m_c - m_pi) of M, the
axes maximise between over within variance, Sigma^-1 M M^T. That has rank below the number of classes, so it is no p x p
eigenproblem: solve X = Sigma^+ M, then the c x c problem M^T X = U diag(s^2) U^T, and

    weights = X U diag(1/s)        which has weights^T Sigma weights = I,   and s^2 between over within variance per axis.

Discriminant scores are log pi_c - 1/2 (m_c - m_pi)^T Sigma^+ (m_c - m_pi) + (x - m_pi)^T Sigma^+ (m_c - m_pi); probabilities
are their softmax.

*Criterion.* The lecture's J(w) = (m_1 - m_2)^2 / (s_1^2 + s_2^2), with sums of squares below, is for two classes. Here

    J(w) = [sum over a < b of n_a n_b (m_a - m_b)^2 / sum over a < b of n_a n_b] / sum_c s_c^2,

the mean squared gap between the classes of two rows from different ones. It is the lecture's for two classes, whatever
their sizes, and for more it is W / (sum over a < b of n_a n_b) times Fisher's ratio, so the axes maximise it.

*Singular S_within* (one-hot blocks, p > n): Sigma^+ is the pseudo-inverse in units of the within-class standard deviation,
with a relative cut-off, as in scikit-learn's "svd". Directions without within-class variance are ignored, even where the
classes differ along them (a level that all rows of one class have, and no others), unless there is no other: then the
pseudo-inverse of the total covariance, its limit, takes the place of Sigma^+ and J is infinite. That is a definition: J has
no largest value there, and a direction in which no row ever varied is more often a leak or an accident of few rows than a
law. Shrinkage gives such a direction a variance where it is made of columns that do vary within classes, and uses it; a
column that is constant within every class has no spread of its own to shrink towards and stays out. With fewer rows than
columns, none of it is p x p. See `gramian.linear.class_moments`.

*Shrinkage* a: (1 - a) Sigma + a diag(Sigma), that is, (1 - a) E + a I for the within-class correlations E, whether a is a
number, "auto" or "cv". scikit-learn takes this target for "auto" and tr(Sigma)/p I for a
number. That target depends on the units: where one column has most of the variance, a small a drowns the others in its mean
(wine, 13 columns, held-out accuracy at the oracle intensity of each target: 0.80 with the identity, 0.99 with the diagonal).
For columns in units of their within-class standard deviation the two are the same. scikit-learn's "eigen" solver shrinks the
between-class scatter as well when it finds axes, so with shrinkage its axes differ; decisions agree.

*How much to shrink.* **"auto"**: the oracle approximating shrinkage of Chen, Wiesel, Eldar and Hero (2010), in the form
scikit-learn uses. For E from n rows and p columns, with alpha = |E|^2 / p^2 and mu = tr(E) / p,

    a = min(1, (alpha + mu^2) / ((n + 1) (alpha - mu^2 / p))).

It sees the data only through tr(E) = p and tr(E^2) = |E|^2, second moments both (the Ledoit-Wolf formula needs fourth
moments, so it cannot be had here). Pooling c class means takes c degrees of freedom: n = W - c.

**"cv"**: the a with the best held-out R^2 of the class indicators, predicted by least squares from the axes that a gives: the
Brier skill score of that classifier, and a function of the second moments of the left-out fold, its missing numbers at the
training means (see `gramian.moments.algebra.folds`). One `eigh` of E a fold serves the whole path.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.arrays.linalg import eigh_descending, fix_signs, relative_rank
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.linear.class_moments import (
    ClassMoments,
    class_moments,
    shrunk_inverse,
    solve_total,
    solve_within,
    within_pairs,
)
from gramian.linear.layout import Layout, as_transformed, centre_of, layout_of, padded
from gramian.linear.scatter.dense import scatter_diagonal
from gramian.linear.scatter.sparse import cross_scatter
from gramian.linear.scatter.wide import scatter_of
from gramian.moments.algebra.folds import folds_of
from gramian.moments.covariance import divisor_of
from gramian.moments.value import Moments

Shrinkage = float | Literal["auto", "cv"] | None


@dataclass(frozen=True, eq=False)
class FisherSolution:
    """Discriminant axes over p design columns for c classes, strongest first.

    Attributes
    ----------
    weights : (p, k) array
        Features are `(x - mean) @ weights`; their within-class covariance is the identity.
    mean : (p,) array
        The class means weighted by `priors`.
    criterion : (k,) array
        J of each axis, in the lecture's sums of squares; see the top of this module.
    explained_variance_ratio : (k,) array
        Share of each axis in the between-class variance in units of the within-class one.
    coef, intercept : (c, p) and (c,) arrays
        Scores are `x @ coef.T + intercept`; probabilities their softmax.
    classes : list
        Labels, sorted.
    priors : (c,) array
    class_means : (c, p) array
    rank : int
        Of the within-class scatter that was inverted.
    shrinkage : float
        The intensity used, 0 where none was asked for.
    selection : dict of arrays
        The held-out curve behind `shrinkage="cv"`, otherwise empty.
    """

    weights: Array
    mean: Array
    criterion: Array
    explained_variance_ratio: Array
    coef: Array
    intercept: Array
    classes: list[Any]
    priors: Array
    class_means: Array
    rank: int
    shrinkage: float
    selection: dict[str, Array]


def fisher(
    moments: Moments,
    columns: Sequence[str] | None = None,
    target: str = "",
    *,
    n_components: int | None = None,
    shrinkage: Shrinkage = None,
    priors: npt.ArrayLike | None = None,
    ddof: float = 0,
) -> FisherSolution:
    """Return the discriminant axes and the linear classifier of a target column.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str, optional
        Source columns; by default every feature but the target.
    target : str
        A column collected by level.
    n_components : int, optional
        At most the number of classes less one; by default all axes along which class means differ. Features beyond those
        are always zero, and so is their J.
    shrinkage : None, float in [0, 1], "auto" or "cv"
        Of the within-class covariance towards its diagonal. "auto": the oracle approximating formula. "cv": by held-out folds.
    priors : (c,) array, optional
        Class probabilities in the order of the sorted labels; by default their shares. Axes and scores use them; the
        within-class covariance is pooled over rows, as in scikit-learn's "svd".
    ddof : float
        The within-class scatter is divided by the total weight less this; 0 as in scikit-learn.

    Raises
    ------
    DataError
        One class only, no more rows than classes, missing labels, a target that is a plain number, priors that do not fit,
        more components than classes or design columns allow, or means that are all equal.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"x": [1.0, 2, 3, 6, 7], "y": [2.0, 1, 3, 5, 8], "class": [1, 1, 1, 2, 2]}))
    >>> found = fisher(m, target="class")
    >>> found.criterion.round(6), np.abs(found.weights[:, 0] / found.weights[0, 0]).round(6)
    (array([8.1]), array([1., 0.]))
    """
    problem = class_moments(moments, columns, target)
    pi = check_priors(priors, problem)
    divisor = divisor_of(moments, ddof)
    c = len(problem.classes)
    if moments.n_rows <= c:
        raise DataError(
            f"the number of rows must be more than the number of classes: target {target!r} has {c} classes in "
            f"{moments.n_rows} rows, and nothing varies within a class of one row; add rows"
        )
    if n_components is not None and not 1 <= n_components <= min(c - 1, problem.layout.width):
        raise DataError(
            Argument("n_components", n_components),
            f" does not fit: {c} classes of {problem.layout.width} design columns have at most "
            f"{min(c - 1, problem.layout.width)} axes",
        )
    amount, selection = _intensity(shrinkage, moments, problem)
    means = problem.means
    centre = pi @ means
    gaps = means - centre
    rooted = gaps * np.sqrt(pi)[:, None]
    solved, rank = solve_within(problem, rooted.T, divisor, amount)
    # Gaps in units of the within-class standard deviation: what the pseudo-inverse leaves of them may be rounding.
    length = divisor * float(np.square(rooted / problem.unit).sum()) if amount == 0 else 0.0
    values, turn, axes = _axes(rooted, solved, length)
    varies = axes > 0
    if not varies and gaps.any():
        # Classes that differ and do not vary within: the limit of Fisher's axes is that of the total scatter.
        solved, rank = solve_total(problem, rooted.T, divisor)
        values, turn, axes = _axes(rooted, solved, 0.0)
    if axes == 0:
        raise DataError(f"no axis separates the classes of {target!r}: their means are all equal")
    k = axes if n_components is None else n_components
    k_axes = min(k, axes)
    weights = fix_signs(solved @ (turn[:, :k_axes] / np.sqrt(values[:k_axes])))
    coef = (solved / np.sqrt(pi)).T
    intercept = np.log(pi) - 0.5 * np.einsum("ij,ij->i", gaps, coef) - coef @ centre
    if amount > 0 and varies:
        between, within = problem.sums_along(weights)
    else:
        # The axes are of unit within-class covariance, so the product with S need not be formed.
        between, within = problem.between_along(weights), np.full(k_axes, divisor if varies else 0.0)
    ratio = np.divide(between, within, out=np.full(k_axes, np.inf), where=within > 0)
    return FisherSolution(
        weights=padded(weights, k),
        mean=centre,
        criterion=padded(problem.per_pair * ratio, k),
        explained_variance_ratio=padded(values[:k_axes] / values[:axes].sum(), k),
        coef=coef,
        intercept=intercept,
        classes=problem.classes,
        priors=pi,
        class_means=means,
        rank=rank,
        shrinkage=amount,
        selection=selection,
    )


def check_priors(priors: npt.ArrayLike | None, problem: ClassMoments) -> Array:
    """Return the class probabilities, by default the shares of the classes; given ones are divided by their sum.

    Where they do not sum to 1 it warns, as scikit-learn does.
    """
    if priors is None:
        return problem.counts / problem.counts.sum()
    given = np.asarray(priors, dtype=np.float64)
    c = len(problem.classes)
    if given.shape != (c,):
        raise DataError(
            f"priors must be {c} numbers, one per class in the order {problem.classes}; got shape {given.shape}"
        )
    if not np.isfinite(given).all() or (given <= 0).any():
        raise DataError(f"priors must be positive numbers; got {given.tolist()}")
    if abs(given.sum() - 1.0) > 1e-5:
        warnings.warn(f"The priors do not sum to 1 but to {given.sum():g}. Renormalizing", UserWarning, stacklevel=2)
    return given / given.sum()


def _intensity(shrinkage: Shrinkage, moments: Moments, problem: ClassMoments) -> tuple[float, dict[str, Array]]:
    """Return how much to shrink, and the curve that chose it."""
    if shrinkage == "cv":
        return cross_validated_shrinkage(moments, problem)
    return oas_shrinkage(problem) if shrinkage == "auto" else float(shrinkage or 0.0), {}


def _axes(rooted: Array, solved: Array, length: float) -> tuple[Array, Array, int]:
    """Return the eigenpairs of the c x c problem, and how many axes separate the classes.

    Parameters
    ----------
    rooted, solved : (c, p) and (p, c) arrays
        M^T and Sigma^+ M.
    length : float
        Sum of squares of M in units of the within-class standard deviation. The p eigenvalues of Sigma in these units sum to
        p, so gaps in its range are worth at least `length` / p; far below that only the rounding of gaps outside it is left.
    """
    small = rooted @ solved
    values, turn = eigh_descending((small + small.T) / 2)
    floor = 64 * np.finfo(np.float64).eps * length / len(solved)
    return values, turn, min(relative_rank(values), int((values > floor).sum()), len(rooted) - 1)


def fisher_criterion(X: npt.ArrayLike | Moments, y: npt.ArrayLike | str, w: npt.ArrayLike) -> float:
    """Return how well a direction separates classes: squared gap of the class means over the squares within.

    For two classes with projected means m_1, m_2 and sums of squares about them s_1^2, s_2^2 it is

        J(w) = (m_1 - m_2)^2 / (s_1^2 + s_2^2).

    For more classes the numerator is the mean of (m_a - m_b)^2 over all pairs of rows from different classes, which for two
    classes is the same number; then J is proportional to Fisher's ratio, and the axes of `FisherDiscriminant` maximise it.
    The length of `w` does not matter.

    Parameters
    ----------
    X : (n, p) array, or Moments
    y : (n,) array of labels, or for Moments the name of the target column
    w : (p,) array
        A weight for each column of `X`; for Moments, for each design column of the features.

    Returns
    -------
    float
        Infinity where the classes differ and nothing varies within them.

    Examples
    --------
    >>> X = [[1, 2], [2, 1], [3, 3], [6, 5], [7, 8]]
    >>> y = [1, 1, 1, 2, 2]
    >>> round(fisher_criterion(X, y, [-1, 5]), 6), round(fisher_criterion(X, y, [2, -3]), 6)
    (2.314286, 0.525974)
    """
    direction = np.asarray(w, dtype=np.float64).ravel()
    if isinstance(X, Moments):
        if not isinstance(y, str):
            raise DataError("with Moments, y is the name of the target column")
        problem = class_moments(X, None, y)
        if len(direction) != problem.layout.width:
            raise DataError(f"w has {len(direction)} entries; the features have {problem.layout.width} design columns")
        sums = problem.sums_along(direction[:, None])
        between, within = float(sums[0][0]), float(sums[1][0])
        # What is left of the difference is rounding where nothing varies within the classes.
        within = within if within > 1e-14 * between else 0.0
        per_pair = problem.per_pair
    else:
        data, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        if data.ndim != 2 or data.shape[1] != len(direction) or labels.shape != (len(data),):
            raise DataError(
                f"X must be (n, p), y (n,) and w (p,); got shapes {data.shape}, {labels.shape} and {direction.shape}"
            )
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise DataError("Fisher's criterion compares classes; y has one only")
        z = data @ direction
        counts = np.bincount(codes)
        means = np.bincount(codes, z) / counts
        within = float(np.square(z - means[codes]).sum())
        between = float(counts @ np.square(means - z.mean()))
        n = len(z)
        per_pair = n / ((n**2 - np.square(counts).sum()) / 2)
    if within > 0:
        return float(per_pair * between / within)
    return float("inf") if between > 0 else float("nan")


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
    unit = problem.unit
    p = int(np.isfinite(unit).sum())
    if p == 0:
        return 1.0
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
    values, vectors = problem.within_spectrum
    turned = vectors.T @ problem.rooted.T
    vectors = as_transformed(layout, problem.total.mean, vectors)
    gap = judged.mean - problem.total.mean
    cross = cross_scatter(train, layout, aimed)
    aim = cross_scatter(test, judged.layout, aimed) + weight * np.outer(gap, shift)
    errors = []
    for amount in PATH:
        solved = turned * shrunk_inverse(values, amount)[:, None]
        worth, turn = eigh_descending(turned.T @ solved)
        k = relative_rank(worth)
        # Of unit within-class variance: otherwise an axis of hardly any would hide the others in the fit.
        axes = vectors @ (solved @ (turn[:, :k] / np.sqrt(worth[:k])))
        predict = axes @ (np.linalg.pinv(problem.total.along(axes), rcond=1e-12, hermitian=True) @ (axes.T @ cross))
        moved = gap @ predict
        squares = judged.variance_along(predict).sum() + weight * (moved @ moved)
        errors.append(start - 2 * np.einsum("ij,ij->", predict, aim) + squares)
    return np.array(errors), start
