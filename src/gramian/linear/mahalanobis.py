"""Mahalanobis features: the few directions W of the design columns that carry all linear information about a target.

With S the scatter of the design columns, C their cross scatter with influence functions h(y) (see
`gramian.linear.regression.targets`) and V the scatter of those, the generalised Mahalanobis distance of the features Z = X W
is

    M(W) = n tr((W^T S W)^+ W^T C V^+ C^T W).

S = sum (x - xbar)(x - xbar)^T is a sum here, not divided by n. For one function M is d^T (W^T S W var(y))^-1 d with d = W^T C,
and that is n R^2 of the regression of y on Z:

- it depends on W only through its span, M(W A) = M(W);
- it is largest, n R^2(X), for any W whose span holds S^+ C: for a single number y one column is enough;
- for class indicators the best directions are Fisher's axes, and M is n times the sum of squared canonical correlations.

**"canonical"**: B = (S + r D)^-1 C spans the candidates, one per function. Within that span, with R_z R_z^T = (B^T S B)^+ and
R_v R_v^T = V^+, the singular vectors of R_z^T B^T C R_v = U diag(s) T^T give

    W = sqrt(n) B R_z U,          M of component k = n s_k^2,

a problem no larger than the number of functions. At r = 0 these are all canonical variates of x and h.

*Scale.* M does not depend on the length of W, so that is free. Here W^T (S / n) W = I: the components are orthonormal in
the covariance (ddof 0) in place of the scatter, and the features have unit variance whatever the number of rows.
W^T S W = I would give features of variance 1 / n, which a penalised model behind them would take for nothing.

**"columns"**: one feature per source column, W block-diagonal and carrying B: their sum is X B, so their span holds it and M
is the same maximum. It is a target encoding whose columns are fitted jointly. With B (p, m) the coefficients of a regression
on all columns and B_j the block of column j, the weights are W = diag(B_1, B_2, ...): the features of column j are X_j B_j.

>>> from gramian.linear.layout import Layout
>>> layout = Layout(["city", "size"], [3, 1], ["category", "number"])
>>> by_column(layout, np.array([[1.0], [3.0], [-4.0], [0.5]]))
array([[ 1. ,  0. ],
       [ 3. ,  0. ],
       [-4. ,  0. ],
       [ 0. ,  0.5]])

*Whole columns.* The rows of a column differ in d directions: one for a number, one less than its levels for a category. The
distance depends on the span alone, and functions of rank r span all of X_j as soon as d <= r: always for a number, for a
category where it has no more levels than the target has classes (two levels, where the target is a number). Then nothing of
column j is left for a target to choose: X_j itself is the encoding, and B_j only turns it, a matrix no larger than the
functions. So cross-fitting takes X_j, which no target has touched, and the full fit's rotation B_j, the same for all rows, as
it does for canonical directions. With the B_j of each fold a number would be stretched differently in every fold, and one that
has little to say given the others even turned around: a tree that splits it would cut each fold elsewhere.

**"krylov"**: the sequence D^-1 C, D^-1 S D^-1 C, ... orthonormalised in S. Its first direction is D^-1 c, where for categories
the source's own ascent ends up; M rises with every further one, to the maximum. A ridge S + r D leaves the span of the
sequence as it is, so none is used: the number of directions takes its place.

In units D of the ridge (see `gramian.linear.regression.ridge`) the candidates are D^-1 C, one per function, and then D^-1 S w
for every direction w already taken, in order. Each is made orthogonal in S to those before it and scaled so that the features
have unit variance. With one function the first k directions span what k steps of conjugate gradients on S b = c, and k
components of partial least squares, search: the fit improves with every one and reaches least squares after at most as many
steps as S has distinct eigenvalues.

Only the recurrence (which candidate, how much of each earlier direction to take away, how to scale) is kept for other rows:
followed on the moments of a training fold it gives the same features of those rows alone. In terms of the candidates that is a
triangular k x k matrix, the same for every fold: the directions span what the training rows' own sequence spans.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from gramian.arrays.linalg import eigh_descending, fix_signs, relative_rank
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.linear.layout import Layout, padded
from gramian.linear.regression.independence import IndependenceTest, dependence_of, root_of_inverse
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import (
    choose_ridge,
    cross_validated,
    held_out_scores,
    per_target,
    ridge_coefficients,
)
from gramian.linear.regression.targets import Influence, TargetFunctions, aim_of
from gramian.linear.scatter.dense import say_slow_eigenvectors
from gramian.moments.algebra.folds import has_folds
from gramian.moments.value import Moments

STRUCTURES = ("canonical", "columns", "krylov")

TIED = 1e-6
"""Canonical correlations that differ by less, relative to the largest, are equal as far as rows can tell."""


@dataclass(frozen=True, eq=False)
class MahalanobisSolution:
    """Directions over p design columns, and what they are worth.

    Attributes
    ----------
    weights : (p, k) array
        Features are `(x - mean) @ weights`.
    mean : (p,) array
    names : list of str
        Of the features of "columns"; empty for the other structures.
    whole : (columns,) array of bool
        For "columns": the source columns whose features span all of them, the same in every fold; empty for others.
    aim : TargetFunctions
        The influence functions.
    rotation : (m, k) array
        `weights = coefficients @ rotation` for "canonical"; empty for the others.
    recurrence : Recurrence or None
        How the directions of "krylov" follow from each other.
    ridge : float
    selection : dict of arrays
        Where there are folds, held-out R^2 and its standard error for each ridge that was tried, or for the first 1, 2, ...
        directions of "krylov"; where there are none, the curve behind the ridge, empty where it was given.
    test : IndependenceTest
        At ridge 0.
    r2 : float
        In-sample share of the variance of h that the ridge regression explains, averaged over targets.
    r2_cv : float
        The same for left-out folds; NaN where there are none.
    component_r2 : (k,) array
        For "canonical" and "krylov": R^2 of each feature, summed over the canonical directions of h.
    inverse : (k, p) array or None
        The way back, the regression of x on the features; None where the scatter is too wide to be formed.
    """

    weights: Array
    mean: Array
    names: list[str]
    whole: npt.NDArray[np.bool_]
    aim: TargetFunctions
    rotation: Array
    recurrence: Recurrence | None
    ridge: float
    selection: dict[str, Array]
    test: IndependenceTest
    r2: float
    r2_cv: float
    component_r2: Array
    inverse: Array | None


def mahalanobis(
    moments: Moments,
    columns: Sequence[str] | None,
    targets: Sequence[str],
    *,
    n_components: int | None = None,
    structure: str = "canonical",
    ridge: float | str = "auto",
    influence: Influence = "auto",
    target_type: str = "auto",
) -> MahalanobisSolution:
    """Return the features that follow some targets best.

    Parameters
    ----------
    moments : Moments
    columns : sequence of str, optional
        Feature columns; by default all but the targets.
    targets : sequence of str
    n_components : int, optional
        For "canonical" at most the number of independent influence functions, by default all of them; beyond those
        that the features can follow, components are always zero. For "krylov" by default as many as reach 99.9% of the
        largest statistic.
    structure : {"canonical", "columns", "krylov"}
    ridge : float, "auto" or "cv"
        In rows: a level of n rows is shrunk by n / (n + ridge).
    influence, target_type
        See `gramian.linear.regression.targets.aim_of`.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red", "green"], "size": [1.0, 2.0, 3.0, 5.0],
    ...                          "price": [1.5, 4.0, 3.5, 9.0]}))
    >>> found = mahalanobis(m, None, ["price"], ridge=0.0)
    >>> float(round(found.test.correlations[0] ** 2, 9)), found.test.rank_x
    (1.0, 3)
    """
    aim = aim_of(moments, targets, influence=influence, target_type=target_type)
    if structure == "columns":
        aim = aim.one_per_class()
    read = aim.read(moments)
    names = read.schema.features_beside(targets) if columns is None else list(columns)
    problem = regression_of(read, names, aim)
    # The test needs no ridge and the ridge no test. Where S is too wide to be formed both would fill memory at once.
    with ThreadPoolExecutor(1) as aside:
        testing = aside.submit(dependence_of, problem, aim)
        if not problem.is_dense:
            testing.result()
        amount, selection = (0.0, {}) if structure == "krylov" else _ridge(read, names, aim, problem, ridge)
        test = testing.result()
    rotation, recurrence = np.empty((aim.size, 0)), None
    names_out, whole = [], np.empty(0, dtype=bool)
    if structure == "krylov":
        weights, recurrence = krylov_directions(problem, n_components, float(np.square(test.correlations).sum()))
        coefficients = weights @ (weights.T @ problem.cross) / problem.weight
        if has_folds(read):
            selection = _krylov_scores(read, names, aim, problem, weights.shape[1])
    else:
        coefficients = ridge_coefficients(problem, amount)
        if structure == "canonical":
            rotation = canonical_rotation(problem, coefficients, n_components, aim)
            weights = coefficients @ rotation
        else:
            names_out = feature_names(problem.layout, aim)
            whole = whole_columns(problem.layout, aim)
            weights = by_column(problem.layout, coefficients)
    return MahalanobisSolution(
        weights=weights,
        mean=problem.mean,
        names=names_out,
        whole=whole,
        aim=aim,
        rotation=rotation,
        recurrence=recurrence,
        ridge=amount,
        selection=selection,
        test=test,
        r2=explained(problem, coefficients, aim),
        r2_cv=_score_of(selection, structure),
        component_r2=np.empty(0) if structure == "columns" else component_r2(problem, weights),
        inverse=way_back(problem, weights) if problem.is_dense else None,
    )


def _ridge(
    read: Moments, columns: list[str], aim: TargetFunctions, problem: Regression, ridge: float | str
) -> tuple[float, dict[str, Array]]:
    """Return the ridge, chosen where it is named by a rule, and its scores."""
    if isinstance(ridge, str):
        return choose_ridge(read, columns, aim, problem, ridge)
    amount = float(ridge)
    if not has_folds(read):
        return amount, {}
    return amount, cross_validated(read, columns, aim, problem, np.array([amount]))


def _krylov_scores(
    read: Moments, columns: list[str], aim: TargetFunctions, problem: Regression, count: int
) -> dict[str, Array]:
    """Return the held-out R^2 of the first 1, 2, ... directions, each fold's own."""
    score, error = held_out_scores(read, columns, aim, problem, lambda train: [krylov_coefficients(train, count)])
    return {"n_components": np.arange(1.0, count + 1), "r2": score, "r2_se": error}


def _score_of(selection: dict[str, Array], structure: str) -> float:
    if "r2" not in selection:
        return float("nan")
    return float(selection["r2"][-1] if structure == "krylov" else selection["r2"].max())


def way_back(problem: Regression, weights: Array) -> Array:
    """Return the (k, p) coefficients of the regression of the design columns on the features."""
    say_slow_eigenvectors(min(weights.shape), problem.layout.widest)
    if weights.shape[1] > problem.width:
        return _way_back_of_many(problem, weights)
    image = problem.scatter @ weights
    inner = weights.T @ image
    # To unit length first: features of "columns" differ as much as what they add to the prediction.
    length = np.sqrt(np.maximum(np.diagonal(inner), 0.0))
    length[length == 0] = 1.0
    scaled = inner / length / length[:, None]
    return np.asarray(np.linalg.pinv(scaled, rcond=1e-12, hermitian=True) @ (image / length).T) / length[:, None]


def _way_back_of_many(problem: Regression, weights: Array) -> Array:
    """Return the same for more features than design columns, without a matrix of the order of the features.

    With S = F^T F and features scaled by L^-1, A = F W L^-1 has A^+ = A^T (A A^T)^+, of the order of S. The weights of
    "columns" are mostly zero.
    """
    unit = np.sqrt(np.where(problem.diagonal > 0, problem.diagonal, 1.0))
    values, vectors = eigh_descending(problem.matrix / unit / unit[:, None], overwrite=True)
    rank = relative_rank(values)
    root = (vectors[:, :rank] * np.sqrt(values[:rank])).T * unit
    weights = sp.csr_array(weights)
    length = np.sqrt(np.square((weights.T @ root.T).T).sum(axis=0))
    scaled = weights / np.where(length > 0, length, 1.0)
    inner = root @ (scaled @ (scaled.T @ root.T))
    back = root.T @ np.linalg.pinv(inner, rcond=1e-12, hermitian=True) @ root
    return np.asarray(scaled.T @ back) / np.where(length > 0, length, 1.0)[:, None]


def settled(vectors: Array, values: Array) -> Array:
    """Return columns in which rounding has no say: those of singular values `TIED` together are turned to a fixed form.

    Of tied values only the span of the vectors is known. Within it they are turned, by an orthogonal matrix, so that the
    second has no share in the first coordinate, the third none in the first two, and so on.

    Examples
    --------
    >>> turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> np.abs(settled(turn, np.array([1.0, 1.0]))).round(12)
    array([[1., 0.],
           [0., 1.]])
    >>> settled(turn, np.array([1.0, 0.5])) is turn
    True
    """
    breaks = np.flatnonzero(values[:-1] - values[1:] > TIED * values[:1]) + 1
    if len(breaks) == len(values) - 1:
        return vectors
    groups = [group for group in np.split(np.arange(len(values)), breaks) if len(group) > 1]
    out = vectors.copy()
    for group in groups:
        out[:, group] = vectors[:, group] @ np.linalg.qr(vectors[:, group].T)[0]
    return out


def canonical_rotation(
    problem: Regression, coefficients: Array, n_components: int | None, aim: TargetFunctions
) -> Array:
    """Return the (m, k) matrix that turns coefficients into components of unit variance, strongest first.

    Columns beyond what varies together are zero: features that are always zero keep pipelines and searches going.
    """
    # The indicators of classes sum to one.
    most = min(aim.size - sum(map(bool, aim.classes)), len(coefficients))
    if n_components is not None and n_components > most:
        raise DataError(
            Argument("n_components", n_components),
            f" is more than the {most} that target and features allow: one per number, one less than its "
            "classes per category, one per design column; use ",
            Argument("structure", "columns"),
            " or 'krylov', or ",
            Argument("influence", "slices"),
            " for a number",
        )
    inner = problem.scatter.along(coefficients)
    root = root_of_inverse((inner + inner.T) / 2)
    left, correlations, _ = np.linalg.svd(
        root.T @ (coefficients.T @ problem.cross) @ root_of_inverse(problem.own), full_matrices=False
    )
    available = left.shape[1]
    k = max(available, 1) if n_components is None else n_components
    if not available:
        return np.zeros((coefficients.shape[1], k))
    rotation = np.sqrt(problem.weight) * settled(root @ left, correlations)[:, :k]
    weights = coefficients @ rotation
    turned = fix_signs(weights)
    return padded(rotation * np.sign(np.einsum("ij,ij->j", weights, turned)), k)


def explained(problem: Regression, coefficients: Array, aim: TargetFunctions) -> float:
    """Return the in-sample R^2 of predicting h by X B, averaged over targets."""
    seen = problem.scatter.variance_along(coefficients)
    saved = 2 * np.einsum("pm,pm->m", coefficients, problem.cross) - seen
    base = per_target(np.diagonal(problem.own), aim.owner)
    return float((per_target(saved, aim.owner) / np.where(base > 0, base, np.inf)).mean())


def component_r2(problem: Regression, weights: Array) -> Array:
    """Return R^2 of each feature, summed over the canonical directions of h; 0 for one that does not vary."""
    along = (weights.T @ problem.cross) @ root_of_inverse(problem.own)
    own = problem.scatter.variance_along(weights)
    return np.square(along).sum(axis=1) / np.where(own > 0, own, np.inf)


def worth_of(
    moments: Moments,
    columns: Sequence[str],
    targets: Sequence[str],
    weights: Array,
    *,
    influence: Influence,
    target_type: str,
) -> tuple[float, Array]:
    """Return what features of given weights are worth: R^2 of the regression of h on all of them, and R^2 of each.

    Parameters
    ----------
    moments, columns, targets, influence, target_type
        As in `mahalanobis`.
    weights : (p, k) array
    """
    aim = aim_of(moments, targets, influence=influence, target_type=target_type)
    problem = regression_of(aim.read(moments), list(columns), aim)
    root = root_of_inverse(problem.scatter.along(weights))
    coefficients = weights @ (root @ (root.T @ (weights.T @ problem.cross)))
    return explained(problem, coefficients, aim), component_r2(problem, weights)


def fold_weights(solution: MahalanobisSolution, train: Moments, columns: Sequence[str]) -> Array:
    """Return the weights that other rows alone would have, in the features of the whole.

    The coefficients B are those of the training rows alone. For "columns" they are the weights, but of whole columns, which
    all rows have from the full fit. For "canonical" and "krylov" they are turned by the rotation R (m x k), or the recurrence
    (a triangular k x k matrix), of the full fit, so that a feature means the same in every fold: of the target of a left-out
    row only those few numbers know, which are the same for all rows.

    Parameters
    ----------
    solution : MahalanobisSolution
        Of all rows.
    train : Moments
        Of the training rows, with the levels of the whole and the targets in the form that the solution's aim takes.
    columns : sequence of str
    """
    problem = regression_of(train, list(columns), solution.aim)
    if solution.recurrence is not None:
        return problem.centred(follow(problem, solution.recurrence))
    coefficients = ridge_coefficients(problem, solution.ridge)
    if solution.names:
        weights = by_column(problem.layout, coefficients)
        for span in itertools.compress(problem.layout.spans(), solution.whole):
            weights[span] = solution.weights[span]
        return weights
    return coefficients @ solution.rotation


def class_labels(aim: TargetFunctions) -> list[Any] | None:
    """Return the classes of a single target, None where it is continuous or there are several."""
    return aim.classes[0] if len(aim.classes) == 1 and aim.classes[0] else None


def whole_columns(layout: Layout, aim: TargetFunctions) -> npt.NDArray[np.bool_]:
    """Return which source columns have no more directions than the target has independent functions.

    Parameters
    ----------
    layout : Layout
        Of the features.
    aim : TargetFunctions
        With one function per class where there are more than two.
    """
    # The indicators of more than two classes sum to one, so one of them follows from the others.
    rank = aim.size - sum(len(labels) > 2 for labels in aim.classes)
    directions = np.asarray(layout.sizes) - np.asarray(layout.categorical, dtype=int)
    return np.asarray(directions <= rank)


def by_column(layout: Layout, coefficients: Array) -> Array:
    """Return block-diagonal weights, (p, columns * m), of (p, m) coefficients: a source column's functions side by side."""
    m = coefficients.shape[1]
    weights = np.zeros((len(coefficients), len(layout.sizes) * m))
    for k, span in enumerate(layout.spans()):
        weights[span, k * m : (k + 1) * m] = coefficients[span]
    return weights


def feature_names(layout: Layout, aim: TargetFunctions) -> list[str]:
    """Return the names of the features: source columns, with the function's where there are several."""
    suffixes = [""] if aim.size == 1 else [f"_{name}" for name in aim.names]
    return [f"{column}{suffix}" for column in layout.columns for suffix in suffixes]


ENOUGH = 0.999
"""Share of the largest statistic at which the sequence ends by itself."""

MOST = 32
"""Directions after which it ends by itself in any case."""


@dataclass(frozen=True, eq=False)
class Recurrence:
    """How each direction follows from those before it.

    Attributes
    ----------
    source : (k,) array of int
        `j >= 0`: from D^-1 S w_j; `-1 - f`: from D^-1 C_f.
    mix : (k, k) array
        Row i: how much of the earlier directions is taken away.
    scale : (k,) array
        The factor after that.
    """

    source: npt.NDArray[np.intp]
    mix: Array
    scale: Array


def krylov_directions(problem: Regression, count: int | None, largest: float) -> tuple[Array, Recurrence]:
    """Return directions (p, k) of unit variance, uncorrelated, and the recurrence that made them.

    Parameters
    ----------
    problem : Regression
    count : int, optional
        By default as many as reach `ENOUGH` of the largest statistic, at most `MOST`.
    largest : float
        The sum of squared canonical correlations that all columns reach.
    """
    if count is None:
        directions, recurrence = _sequence(problem, MOST, ENOUGH * largest)
    else:
        directions, recurrence = _sequence(problem, count, np.inf)
    if not len(recurrence.source):
        return np.zeros((problem.width, 1)), Recurrence(np.array([-1]), np.zeros((1, 1)), np.zeros(1))
    k = directions.shape[1]
    if count is not None and k < count:
        raise DataError(
            Argument("n_components", count), f" is more than the {k} directions that the Krylov sequence has here"
        )
    return directions, recurrence


def krylov_coefficients(problem: Regression, count: int) -> Array:
    """Return the regression on the first 1, 2, ..., `count` directions, (count, p, m).

    The directions are uncorrelated, so each adds w (w^T C) / n to the coefficients. Where the sequence ends earlier the last
    regression, which is least squares, stands for the rest.
    """
    directions, _ = _sequence(problem, count, np.inf)
    out = np.zeros((count, *problem.cross.shape))
    for k in range(count):
        if k > 0:
            out[k] = out[k - 1]
        if k < directions.shape[1]:
            w = directions[:, k]
            out[k] += np.multiply.outer(w, w @ problem.cross) / problem.weight
    return out


def _sequence(problem: Regression, limit: int, until: float) -> tuple[Array, Recurrence]:
    """Return at most `limit` directions, fewer where the sum of squared correlations reaches `until` or the sequence ends."""
    n, root = problem.weight, root_of_inverse(problem.own)
    limit = min(limit, max(problem.dimensions, 1))
    queue = [-1 - f for f in range(problem.cross.shape[1])]
    directions: list[Array] = []
    images: list[Array] = []
    source, mix, scale = [], [], []
    reached = 0.0
    while queue and len(directions) < limit and reached < until:
        origin = queue.pop(0)
        raw = _candidate(problem, images, origin)
        size = np.sqrt(raw @ (problem.scatter @ raw) / n)
        if not size > 0:
            continue
        w, taken = raw.copy(), np.zeros(limit)
        for _ in range(2):
            for j, image in enumerate(images):
                share = float(w @ image) / n
                w -= share * directions[j]
                taken[j] += share
        image = problem.scatter @ w
        left = np.sqrt(max(float(w @ image), 0.0) / n)
        # What lies within the earlier directions leaves only rounding.
        if left <= 1e-9 * size:
            continue
        directions.append(w / left)
        images.append(image / left)
        source.append(origin)
        mix.append(taken)
        scale.append(1.0 / left)
        queue.append(len(directions) - 1)
        along = (directions[-1] @ problem.cross) @ root
        reached += float(along @ along) / n
    k = len(directions)
    recurrence = Recurrence(np.array(source, dtype=np.intp), np.array(mix).reshape(k, limit)[:, :k], np.array(scale))
    return (np.stack(directions, axis=1) if k else np.empty((problem.width, 0))), recurrence


def follow(problem: Regression, recurrence: Recurrence) -> Array:
    """Return the directions that a recurrence gives on other moments, a row counting as much as before."""
    directions: list[Array] = []
    images: list[Array] = []
    for origin, taken, factor in zip(recurrence.source, recurrence.mix, recurrence.scale, strict=True):
        w = _candidate(problem, images, int(origin))
        for j, earlier in enumerate(directions):
            w = w - taken[j] * earlier
        directions.append(w * factor)
        images.append(problem.scatter @ directions[-1])
    return np.stack(directions, axis=1)


def _candidate(problem: Regression, images: list[Array], origin: int) -> Array:
    direction = problem.cross[:, -1 - origin] if origin < 0 else images[origin]
    return np.asarray(direction / (problem.unit * problem.weight))
