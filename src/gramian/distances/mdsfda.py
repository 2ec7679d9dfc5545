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
relative to the largest eigenvalue without the fold, which is smaller by the fold's share.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.arrays import one_blas_thread, usable_cores
from gramian.distances.centring import centre_weights
from gramian.distances.classes import Floats, Labels, NearestMean, axes, choose, held_out_quality, nearest_mean

GRID = 10.0 ** np.arange(-4.0, 1.25, 0.5)
"""Relative regularisations tried, half a decade apart: the held-out accuracy is flat within that."""

FOLDS = 5

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
    """

    regularization: Floats
    accuracy: Floats
    log_probability: Floats
    chosen: float

    @classmethod
    def over(cls, regularization: float | None, n: int, quality: Callable[[float], tuple[float, float]]) -> Path:
        """Return the path of n objects over the one value given, or over `GRID`."""
        grid = GRID.copy() if regularization is None else np.array([regularization])
        # Many small products: one BLAS thread each and a pool over the grid, not a pool inside every product.
        with one_blas_thread(), ThreadPoolExecutor(min(len(grid), usable_cores(None))) as pool:
            accuracy, probability = (np.array(column) for column in zip(*pool.map(quality, grid), strict=True))
        return cls(grid, accuracy, probability, float(grid[choose(accuracy, n)]))

    def best(self) -> tuple[float, float]:
        """Return the best accuracy and the best log-probability on the path: how two paths are compared."""
        return float(self.accuracy.max()), float(self.log_probability.max())


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
    """

    weights: Floats
    eigenvalues: Floats
    embedding: Floats
    classifier: NearestMean
    regularization: float
    scale: float
    path: Path


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


def oriented(Q: Floats, fitted_means: Floats) -> Floats:
    """Return Q with signs such that on each axis the class farthest from the mean lies on the positive side.

    `fitted_means` holds the class means of the fitted scores before they are turned, (c, c). Of classes equally far, up to
    rounding, the last: two classes of equal size always tie.
    """
    turned = fitted_means @ Q
    size = np.abs(turned)
    far = size >= (1 - 1e-6) * size.max(axis=0)
    last = len(far) - 1 - np.argmax(far[::-1], axis=0)
    return Q * np.where(turned[last, np.arange(turned.shape[1])] < 0, -1.0, 1.0)


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
    kept = size > len(size) * np.finfo(vectors.dtype).eps * scale
    size, signs, U = size[kept], np.sign(values[kept]), vectors[:, kept]
    Y = labels.scores()
    B = U.T @ Y.astype(U.dtype)
    deals = [[np.flatnonzero(deal == f) for f in np.unique(deal)] for deal in folds]
    held_labels = labels.repeated(len(deals))

    def regress(ridge: float) -> tuple[Floats, Floats]:
        shrink = size / (size + ridge)
        return shrink, np.asarray(U @ (shrink.astype(U.dtype)[:, None] * B), dtype=np.float64)

    def fit(relative: float) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        shrink, fitted = regress(relative * scale)
        rho, Q = axes(np.asarray(B.T @ (shrink[:, None] * B), dtype=np.float64), n_components)
        Q = oriented(Q, labels.means(fitted))
        # Without a fold the largest eigenvalue is smaller by its share of the objects, and so is what is relative to it.
        shrink, without = regress(relative * scale * (1 - 1 / len(deals[0])))
        held = np.concatenate([_held_out(U, shrink, Y, without, parts) for parts in deals])
        return rho, Q, fitted, labels.means(fitted @ Q), held @ Q

    path = Path.over(regularization, len(Y), lambda relative: held_out_quality(*fit(relative)[3:], held_labels))
    regularization = path.chosen
    rho, Q, fitted, means, held = fit(regularization)
    weights = np.asarray(U @ ((signs / (size + regularization * scale))[:, None] * (B @ Q)), dtype=np.float64)
    classifier = nearest_mean(means, held, held_labels)
    return Discriminant(
        weights=centre_weights(weights / classifier.spread),
        eigenvalues=rho,
        embedding=fitted @ Q / classifier.spread,
        classifier=classifier.in_spreads(),
        regularization=regularization,
        scale=scale,
        path=path,
    )


def _held_out(
    U: npt.NDArray[Any], shrink: Floats, Y: Floats, fitted: Floats, parts: list[npt.NDArray[np.int64]]
) -> Floats:
    """Return each fold's scores from the regression without it."""
    out = np.empty_like(Y)
    root = np.sqrt(shrink).astype(U.dtype)
    for part in parts:
        half = U[part] * root
        left = -(half @ half.T) - 1.0 / len(Y)
        left[np.diag_indices(len(part))] += 1.0
        # Positive definite: hat values of a ridge with an intercept stay below one.
        gap = scipy.linalg.solve(left, (Y - fitted)[part], assume_a="pos", overwrite_a=True, check_finite=False)
        out[part] = Y[part] - gap
    return out
