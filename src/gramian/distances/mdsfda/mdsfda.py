"""MDS-FDA: the coordinates that separate labelled objects best, from distances alone.

**The problem.** ``G = -1/2 C (D o D) C`` holds the inner products of the objects about their mean (element-wise square).
With H the class indicators, N_i the class sizes and K = G H, a direction ``sum_l v_l x_l`` has the between-class scatter
``v' M v`` with ``M = K diag(1/N_i) K'`` and the total scatter ``v' G^2 v``. Maximising the ratio is

    (G^2 + r G) V = M V / rho,      embedding  Z = G V,

where the source has r = 0. (G^2)^-1 never exists, since G 1 = 0; its pseudo-inverse, where G has full rank otherwise, sends
every training class to one point and says nothing about new objects. With ``r = regularization * largest eigenvalue`` this
is Fisher's discriminant in the space of the objects with ``S_total + r I`` in place of ``S_total``.

**Small.** M has rank below c, the number of classes. With Y the centred indicators over sqrt(N_i), and the hat matrix
``S = G (G + r I)^-1``, put ``V = (G + r I)^-1 Y q``: the problem becomes ``(Y' S Y) q = rho q``, c x c. So: c right-hand
sides against one symmetric matrix, then a c x c eigenproblem. Z = S Y Q is also the ridge regression of Y on the objects'
coordinates, turned by Q (optimal scoring), and that is what makes cross-validation cheap.

**Negative eigenvalues.** D that is not Euclidean gives ``G = U diag(w) U'`` with some w < 0. |G| = U diag(|w|) U' takes the
place of G above: each direction counts by its size, the negative ones included. They are not noise to be clipped (for
warped series and edit distances clipping loses several points of held-out accuracy, and where D is Euclidean nothing changes).
A new row g of inner products meets ``U diag(sign(w) / (|w| + r)) U' Y Q``, so training objects land where they were.

**Cross-validation from one decomposition.** In ridge regression with an intercept, the predictions of rows f by the model
without them are exactly ``Y_f - (I - S_ff - 11'/n)^-1 (Y - S Y)_f``. With ``S = U diag(|w|/(|w| + r)) U'`` every r costs the
blocks S_ff and c solves: no second decomposition. The features are those of all distances, which hold no labels; r is
smaller by the fold's share of the objects, as the eigenvalues are that it is relative to.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.arrays.threads import one_blas_thread, usable_cores
from gramian.arrays.types import Array
from gramian.distances.centring import centre_weights
from gramian.distances.mds import negative_share
from gramian.distances.mdsfda.classifier import (
    Labels,
    NearestMean,
    axes,
    choose,
    held_out_quality,
    nearest_mean,
)

GRID = 10.0 ** np.arange(-4.0, 1.25, 0.5)
"""Relative regularisations tried, half a decade apart: the held-out accuracy is flat within that."""

FOLDS = 5

TIED = 1e-11
"""Least relative regularisation that axes are told apart by. With none every rho is 1, and rounding alone would turn them."""

REPEATED_OBJECTS, MAX_REPEATS = 1000, 10
"""Folds are dealt anew until so many objects were held out, at most so many times."""


@dataclass(frozen=True)
class Path:
    """What cross-validation saw: one entry a regularisation.

    Attributes
    ----------
    regularization, accuracy, log_probability : (m,) arrays
        `log_probability` is the mean log-probability of the right class, held out.
    chosen : float
    right : (n,) array
        With the chosen one, the share of deals in which each object was classified rightly.
    """

    regularization: Array
    accuracy: Array
    log_probability: Array
    chosen: float
    right: Array


@dataclass(frozen=True)
class Regression:
    """Class scores at one regularisation, turned to the axes.

    Attributes
    ----------
    rho : (k,) array
    Q : (c, k) array
    means : (c, k) array
        Class means of the fitted scores.
    held : (m, k) array
        Held-out scores, deal after deal.
    held_labels : Labels
    """

    rho: Array
    Q: Array
    means: Array
    held: Array
    held_labels: Labels

    @classmethod
    def of(cls, cross: Array, means: Array, held: Array, held_labels: Labels, n_components: int) -> Regression:
        """Return the regression with ``cross = Y' S Y``, class means of S Y and held-out scores, none of them turned yet."""
        rho, Q = axes(cross, n_components)
        Q = oriented(Q, means)
        return cls(rho, Q, means @ Q, held @ Q, held_labels)

    def quality(self) -> tuple[float, float]:
        """Return the held-out accuracy and mean log-probability."""
        right, log_probability = held_out_quality(self.means, self.held, self.held_labels)
        return float(right.mean()), float(log_probability.mean())

    def right(self, n_deals: int) -> Array:
        """Return the share of deals in which each object was classified rightly."""
        right, _ = held_out_quality(self.means, self.held, self.held_labels)
        return right.reshape(n_deals, -1).mean(axis=0)

    def classifier(self) -> NearestMean:
        """Return the classifier that the held-out scores speak for."""
        return nearest_mean(self.means, self.held, self.held_labels)


@dataclass(frozen=True)
class Discriminant:
    """Discriminant coordinates of objects.

    Attributes
    ----------
    weights : (n, k) array
        On centred rows of inner products with the n reference objects; columns sum to zero.
    eigenvalues : (k,) array
        rho: the share of each axis' regularised total scatter that lies between classes, descending.
    embedding : (n, k) array
    classifier : NearestMean
    regularization : float
        Relative to the largest eigenvalue.
    scale : float
        That eigenvalue.
    path : Path
        Of every regularisation tried, or of the one given.
    negative_share : float
        Share of negative eigenvalues in the absolute sum.
    """

    weights: Array
    eigenvalues: Array
    embedding: Array
    classifier: NearestMean
    regularization: float
    scale: float
    path: Path
    negative_share: float

    @classmethod
    def of(
        cls, regression: Regression, fitted: Array, weights: Array, *, scale: float, path: Path, negative_share: float
    ) -> Discriminant:
        """Return the coordinates in units of the held-out spread; `weights` give the fitted scores, both (n, c)."""
        classifier = regression.classifier()
        return cls(
            weights=centre_weights(weights @ regression.Q / classifier.spread),
            eigenvalues=regression.rho,
            embedding=fitted @ regression.Q / classifier.spread,
            classifier=classifier.in_spreads(),
            regularization=path.chosen,
            scale=scale,
            path=path,
            negative_share=negative_share,
        )


def draw_folds(codes: npt.NDArray[np.int64], rng: np.random.Generator, n_folds: int = FOLDS) -> npt.NDArray[np.int64]:
    """Return folds of the objects, (repeats, n): in each row every class is spread over the folds as evenly as can be.

    Few objects are dealt several times, since one deal of 30 objects says little and costs nothing.

    Examples
    --------
    >>> folds = draw_folds(np.array([0, 0, 0, 1, 1, 1]), np.random.default_rng(0), 3)
    >>> folds.shape, sorted(folds[0, :3].tolist()), sorted(folds[0, 3:].tolist())
    ((10, 6), [0, 1, 2], [0, 1, 2])
    """
    n = len(codes)
    out = np.empty((max(1, min(MAX_REPEATS, REPEATED_OBJECTS // n)), n), dtype=np.int64)
    for folds in out:
        folds[np.lexsort((rng.random(n), codes))] = np.arange(n) % min(n_folds, n)
    return out


def oriented(Q: Array, fitted_means: Array) -> Array:
    """Return Q with signs such that on each axis the class farthest from the mean lies on the positive side.

    `fitted_means` holds the class means of the fitted scores before they are turned, (c, c). Of classes equally far, up to
    rounding, the last: two classes of equal size always tie.
    """
    turned = fitted_means @ Q
    size = np.abs(turned)
    far = size >= (1 - 1e-6) * size.max(axis=0)
    last = len(far) - 1 - np.argmax(far[::-1], axis=0)
    return Q * np.where(turned[last, np.arange(turned.shape[1])] < 0, -1.0, 1.0)


def fit_path(
    regularization: float | None, n_deals: int, fit: Callable[[float], tuple[Regression, Array]]
) -> tuple[Path, Regression, Array]:
    """Return the path over `GRID`, or over the one value given, and what `fit` returns for the chosen one."""
    if regularization is not None:
        discriminant, detail = fit(regularization)
        return path_of_one(regularization, discriminant, n_deals), discriminant, detail

    def judge(relative: float) -> tuple[Regression, Array, tuple[float, float]]:
        discriminant, detail = fit(relative)
        return discriminant, detail, discriminant.quality()

    accuracy, probability = np.full(len(GRID), -np.inf), np.full(len(GRID), -np.inf)
    # Many small products: one BLAS thread each and a pool over the grid, not a pool inside every product.
    with one_blas_thread(), ThreadPoolExecutor(min(len(GRID), usable_cores(None))) as pool:
        for i, (discriminant, detail, quality) in enumerate(pool.map(judge, GRID)):
            accuracy[i], probability[i] = quality
            # Only the best so far is kept: with many classes eleven of them would take more room than G.
            if choose(accuracy[: i + 1]) == i:
                best = discriminant, detail
    chosen = float(GRID[choose(accuracy)])
    return Path(GRID.copy(), accuracy, probability, chosen, best[0].right(n_deals)), *best


def path_of_one(regularization: float, discriminant: Regression, n_deals: int) -> Path:
    """Return the path of the one value that was given."""
    accuracy, probability = (np.array([value]) for value in discriminant.quality())
    return Path(np.array([regularization]), accuracy, probability, regularization, discriminant.right(n_deals))


def solve(
    values: npt.NDArray[Any],
    vectors: npt.NDArray[Any],
    labels: Labels,
    *,
    n_components: int,
    regularization: float | None,
    folds: npt.NDArray[np.int64],
) -> Discriminant:
    """Return the discriminant coordinates from the eigendecomposition of the Gram matrix.

    Parameters
    ----------
    values, vectors : (n,) and (n, n) arrays
        Of G; negative eigenvalues count by their size.
    labels : Labels
    n_components : int
        At most the number of classes less one.
    regularization : float or None
        Relative to the largest absolute eigenvalue; None: chosen by cross-validation from `GRID`.
    folds : (repeats, n) array of int

    Notes
    -----
    Time, beside the decomposition: for each regularisation n^3 / FOLDS multiplications in BLAS.
    """
    size = np.abs(values).astype(np.float64)
    scale = float(size.max())
    rounding = len(size) * float(np.finfo(vectors.dtype).eps)
    # Directions that are rounding get the weight 0: to cut them out would copy all the vectors.
    kept = size > rounding * scale
    signs = np.where(kept, np.sign(values), 0.0)
    Y = labels.scores()
    B = vectors.T @ Y.astype(vectors.dtype)
    deals = [[(part, np.ascontiguousarray(vectors[part])) for part in parts_of(deal)] for deal in folds]

    def shrunk(ridge: float) -> Array:
        return np.divide(size, size + ridge, out=np.zeros_like(size), where=kept)

    def fit(relative: float) -> tuple[Regression, Array]:
        # Without regularisation a fold's hat values may reach one; the limit is taken where there are digits left.
        less = max(relative * share_kept(len(deals[0])), 100 * rounding)
        shrink, shrink_less = shrunk(relative * scale), shrunk(less * scale)
        both = np.hstack([shrink[:, None] * B, shrink_less[:, None] * B]).astype(vectors.dtype, copy=False)
        fitted, without = np.hsplit(np.asarray(vectors @ both, dtype=np.float64), 2)
        cross = np.asarray(B.T @ (shrunk(max(relative, TIED) * scale)[:, None] * B), dtype=np.float64)
        held = np.concatenate([_held_out(parts, shrink_less, Y, without) for parts in deals])
        return Regression.of(cross, labels.means(fitted), held, labels.repeated(len(deals)), n_components), fitted

    path, discriminant, fitted = fit_path(regularization, len(deals), fit)
    weight = np.divide(signs, size + path.chosen * scale, out=np.zeros_like(size), where=kept)
    weights = vectors @ (weight[:, None] * B)
    return Discriminant.of(
        discriminant,
        fitted,
        np.asarray(weights, dtype=np.float64),
        scale=scale,
        path=path,
        negative_share=negative_share(values.astype(np.float64)),
    )


def parts_of(deal: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """Return the objects of each fold of a deal."""
    return [np.flatnonzero(deal == f) for f in np.unique(deal)]


def share_kept(n_folds: int) -> float:
    """Return the share of objects outside a fold, which r shrinks by where the fold is left out.

    The eigenvalues grow with the number of objects, and what is relative to them does too. With the same r a heavily
    regularised regression on four fifths of the objects would give four fifths of the scores.
    """
    return 1 - 1 / n_folds


def _held_out(
    parts: list[tuple[npt.NDArray[np.int64], npt.NDArray[Any]]], shrink: Array, Y: Array, fitted: Array
) -> Array:
    """Return each fold's scores from the regression without it; a fold comes as its objects and their rows of U."""
    out = np.empty_like(Y)
    for part, rows in parts:
        half = rows * np.sqrt(shrink).astype(rows.dtype)
        left = -(half @ half.T) - 1.0 / len(Y)
        left[np.diag_indices(len(part))] += 1.0
        out[part] = Y[part] - solve_left(left, Y[part] - fitted[part])
    return out


def solve_left(left: npt.NDArray[Any], right: Array) -> Array:
    """Return ``left^-1 right`` for ``left = I - S_ff - 11'/n``, which is positive definite.

    Hat values of a ridge regression with an intercept stay below one.
    """
    posv = scipy.linalg.get_lapack_funcs("posv", (left, right))
    _, solution, failed = posv(left.T, right, lower=True, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError("the hat values of a fold reach one")
    return np.asarray(solution, dtype=np.float64)
