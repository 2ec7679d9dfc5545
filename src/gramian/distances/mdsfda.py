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
place of G above: each direction counts by its size, the negative ones included. They are not noise to be clipped (for warped
series and edit distances clipping loses several points of held-out accuracy, and where D is Euclidean nothing changes). A new
row g of inner products meets ``U diag(sign(w) / (|w| + r)) U' Y Q``, so training objects land where they were.

**Cross-validation from one decomposition.** In ridge regression with an intercept, the predictions of rows f by the model
without them are exactly ``Y_f - (I - S_ff - 11'/n)^-1 (Y - S Y)_f``. With ``S = U diag(|w|/(|w| + r)) U'`` every r costs the
blocks S_ff and c solves: no second decomposition. The features are those of all distances, which hold no labels; r is
smaller by the fold's share of the objects, as the eigenvalues are that it is relative to.

**Axes and classifier** come from fitted and held-out class scores. Write Y for the centred class indicators, each column
divided by the root of the number of its objects, and S for the hat matrix of the regularised regression on the features.
Fitted scores are F = S Y. Fisher's axes are the eigenvectors of the c x c matrix ``Y' S Y = Q diag(rho) Q'`` (see above), and
the embedding is Z = F Q.

F is optimistic: each object's own label has drawn it towards its class. So the classifier is built from held-out scores P
(the same regression without the object's fold), turned by the same Q: along each axis the class means are the fitted ones
times the slope of held-out on fitted means, which is below one where the fit is optimistic and never below zero; the
within-class covariance is that of the held-out scores about them. Classes are then told apart by the nearest mean in
that metric, with priors. Each axis is given the unit of that covariance: one within-class standard deviation.

**Euclidean distances at a given regularisation** need triangular factors in place of a decomposition. Where D is Euclidean, G
has no negative eigenvalue, |G| is G, and there are c right-hand sides against one positive definite matrix:

    weights  W = (G + r I)^-1 Y,      fitted scores  S Y = Y - r W,      Y' S Y = Y' Y - r Y' W.

The held-out scores of a fold f need ``(I - S_ff - 11'/n)^-1``, where ``I - S_ff = q (A^-1)_ff`` for ``A = G + q I``, q = 4/5 r
(see `share_kept`). A fold holds a fifth of each direction, so that S_ff is small, and conjugate gradients, with every use of
``A = L L'`` serving all folds and classes, end in about ten rounds. The weights come from the same rounds: ``G + r I = A (I +
(r - q) A^-1)``, where the second matrix has eigenvalues between 1 and 5/4. Where single objects have hat values near one, as
with little regularisation, more than `ROUNDS` would be needed; then ``(A^-1)_ff = B' B`` with B the columns f of L^-1, which
with the objects ordered by fold start at the fold's first row.

That G has no negative eigenvalue is shown by a factor too: that of G + t I with t so small (`NEGLIGIBLE` of r) that what it
may hide changes S in the ninth digit. Where there is a negative eigenvalue this factor breaks off, mostly already that of the
first `CORNER` objects, and a decomposition is the way. In all some 0.8 n^3 operations, each as cheap as those of a matrix
product, against some 9 n^3 for eigenvalues and vectors, half of which are not.

**Which way.** Factors serve one regularisation where G has no negative eigenvalue, and take less than a third of the time of a
decomposition. Where it has some, |G| = G sign(G), and the sign of a matrix is what costs. The eigenvalues of distances that
are not Euclidean pass through zero without a gap (by city-block distance 1,633 of 2,000 are negative, the least at 3% of the
largest), and there |w| / (|w| + r) has a kink:

- a Krylov space from the class scores, or a correction for the largest negative eigenvalues alone, errs by |w| / r of those it
  has not found, so that eight digits need nearly all of them;
- iterations for the sign take ten or more products of n x n matrices, three of which cost as much as the decomposition;
- the vectors of one sign alone, 367 of them, take three quarters of it, and the factors of |G| come after;
- rational functions of the tridiagonal form need no vectors, but the form itself is two fifths of the decomposition, and each
  of the ten rounds or so that held-out scores take goes to its basis, through some forty shifted systems and back, a
  twentieth: nine tenths in all, reckoned from the times of its parts.

So one decomposition it is, which has the held-out scores of a fold in one product.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.arrays.memory import CACHED_BYTES, row_blocks
from gramian.arrays.threads import one_blas_thread, usable_cores
from gramian.arrays.types import Array
from gramian.distances.mds import centre_weights, negative_share
from gramian.errors import DataError, shown
from gramian.linear.solvers import conjugate_gradients
from gramian.parameters import as_numbers

GRID = 10.0 ** np.arange(-4.0, 1.25, 0.5)
"""Relative regularisations tried, half a decade apart: the held-out accuracy is flat within that."""

FOLDS = 5

TIED = 1e-11
"""Least relative regularisation that axes are told apart by. With none every rho is 1, and rounding alone would turn them."""

REPEATED_OBJECTS, MAX_REPEATS = 1000, 10
"""Folds are dealt anew until so many objects were held out, at most so many times."""


@dataclass(frozen=True)
class Path:
    """What cross-validation saw: one entry per regularisation.

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
    path : Path
        Of every regularisation tried, or of the one given, relative to the largest eigenvalue.
    negative_share : float
        Share of negative eigenvalues in the absolute sum.
    """

    weights: Array
    eigenvalues: Array
    embedding: Array
    classifier: NearestMean
    path: Path
    negative_share: float

    @classmethod
    def of(
        cls, regression: Regression, fitted: Array, weights: Array, *, path: Path, negative_share: float
    ) -> Discriminant:
        """Return the coordinates in units of the held-out spread; `weights` give the fitted scores, both (n, c)."""
        classifier = regression.classifier()
        return cls(
            weights=centre_weights(weights @ regression.Q / classifier.spread),
            eigenvalues=regression.rho,
            embedding=fitted @ regression.Q / classifier.spread,
            classifier=classifier.in_spreads(),
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
    weights, share = vectors @ (weight[:, None] * B), negative_share(values.astype(np.float64))
    return Discriminant.of(discriminant, fitted, np.asarray(weights, dtype=np.float64), path=path, negative_share=share)


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


SMALLEST_SLOPE = 1e-3
"""Class means on an axis without held-out evidence shrink to this share; 0 would leave the classes tied."""


@dataclass(frozen=True)
class Labels:
    """Class codes of n objects.

    Attributes
    ----------
    codes : (n,) array of int
    counts : (c,) array of int
    priors : (c,) array
    """

    codes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    priors: Array

    @classmethod
    def of(cls, codes: npt.NDArray[np.int64], n_classes: int, priors: npt.ArrayLike | None = None) -> Labels:
        """Return labels with the observed priors, or with those given."""
        counts = np.bincount(codes, minlength=n_classes)
        if priors is None:
            return cls(codes, counts, counts / counts.sum())
        given = as_numbers("priors", priors)
        if given.shape != (n_classes,) or (given <= 0).any() or not np.isfinite(given).all():
            raise DataError(f"priors must be {n_classes} positive numbers, one per class; got {shown(priors)}")
        return cls(codes, counts, given / given.sum())

    def scores(self) -> Array:
        """Return Y: centred indicators over the root of the class counts, (n, c)."""
        out = np.zeros((len(self.codes), len(self.counts)))
        out[np.arange(len(self.codes)), self.codes] = 1.0
        return (out - self.counts / len(self.codes)) / np.sqrt(self.counts)

    def at(self, index: npt.NDArray[np.int64]) -> Labels:
        """Return the labels of some objects, in the same classes."""
        codes = self.codes[index]
        return Labels(codes, np.bincount(codes, minlength=len(self.counts)), self.priors)

    def only(self, index: npt.NDArray[np.int64]) -> Labels:
        """Return the labels of some objects, their classes alone: numbered anew, priors in the same proportion.

        Examples
        --------
        >>> Labels.of(np.array([0, 1, 2, 2]), 3, [0.6, 0.3, 0.1]).only(np.array([0, 2])).priors.round(3)
        array([0.857, 0.143])
        """
        present, codes = np.unique(self.codes[index], return_inverse=True)
        return Labels.of(codes.astype(np.int64), len(present), self.priors[present])

    def repeated(self, times: int) -> Labels:
        """Return the labels of the objects one time after another."""
        return Labels(np.tile(self.codes, times), self.counts * times, self.priors)

    def means(self, values: Array) -> Array:
        """Return the mean of each class, (c, k)."""
        out = np.zeros((len(self.counts), values.shape[1]))
        np.add.at(out, self.codes, values)
        return out / np.maximum(np.bincount(self.codes, minlength=len(self.counts)), 1)[:, None]


@dataclass(frozen=True)
class NearestMean:
    """Class means in the embedding and the metric that whitens the within-class covariance.

    Attributes
    ----------
    means : (c, k) array
    whiten : (k, k) array
        Distances are Euclidean in ``z @ whiten``.
    log_priors : (c,) array
    spread : (k,) array
        Within-class standard deviation of held-out objects along each axis.
    """

    means: Array
    whiten: Array
    log_priors: Array
    spread: Array

    def in_spreads(self) -> NearestMean:
        """Return the classifier for the embedding divided by `spread`."""
        return NearestMean(
            self.means / self.spread, self.whiten * self.spread[:, None], self.log_priors, np.ones_like(self.spread)
        )

    def log_proba(self, Z: Array) -> Array:
        """Return the log-posterior of each class, (n, c)."""
        at, centres = Z @ self.whiten, self.means @ self.whiten
        gaps = np.square(at).sum(axis=1)[:, None] - 2 * at @ centres.T + np.square(centres).sum(axis=1)
        scores = self.log_priors - 0.5 * gaps
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores


def nearest_mean(fitted_means: Array, held_out: Array, labels: Labels) -> NearestMean:
    """Return the classifier that held-out scores speak for.

    Parameters
    ----------
    fitted_means : (c, k) array
        Class means of the embedding, over all objects.
    held_out : (m, k) array
        The embedding of objects whose labels the fit did not see.
    labels : Labels
        Of the held-out objects.
    """
    counts = labels.counts[:, None]
    shift = held_out.mean(axis=0) - counts.T @ fitted_means / counts.sum()
    observed = labels.means(held_out) - shift
    slope = (counts * fitted_means * observed).sum(axis=0) / np.maximum(
        (counts * fitted_means**2).sum(axis=0), np.finfo(float).tiny
    )
    means = fitted_means * np.maximum(slope, SMALLEST_SLOPE) + shift
    rest = held_out - means[labels.codes]
    within = rest.T @ rest / max(1, len(rest) - len(counts))
    values, vectors = np.linalg.eigh(within)
    # An axis without spread would make its own differences infinite: a floor relative to the widest axis.
    floor = max(values[-1], float(np.square(means).max(initial=0.0)) * 1e-12, np.finfo(float).tiny) * 1e-9
    whiten = vectors / np.sqrt(np.maximum(values, floor))
    spread = np.sqrt(np.maximum(np.diag(within), floor))
    return NearestMean(means, whiten, np.log(labels.priors), spread)


def held_out_quality(fitted_means: Array, held_out: Array, labels: Labels) -> tuple[npt.NDArray[np.bool_], Array]:
    """Return which held-out objects are classified rightly, and the log-probability of their right class, both (m,)."""
    log_proba = nearest_mean(fitted_means, held_out, labels).log_proba(held_out)
    return log_proba.argmax(axis=1) == labels.codes, log_proba[np.arange(len(log_proba)), labels.codes]


def axes(cross: Array, n_components: int) -> tuple[Array, Array]:
    """Return rho and Q of ``Y' S Y``: the strongest eigenvalues, descending, and their vectors."""
    values, vectors = np.linalg.eigh((cross + cross.T) / 2)
    return values[::-1][:n_components].clip(0.0, 1.0), vectors[:, ::-1][:, :n_components]


def choose(accuracy: Array) -> int:
    """Return the position of the best accuracy; of equally good values the most regularised, which is the last.

    Examples
    --------
    >>> choose(np.array([0.90, 0.94, 0.94, 0.80]))
    2
    """
    return int(np.flatnonzero(accuracy >= accuracy.max() - 1e-9)[-1])


MIN_OBJECTS = 500
"""Below it one decomposition takes a few hundredths of a second, and folds are dealt several times."""

SMALLEST = 1e-6
"""Regularisations below it, relative to the largest eigenvalue, leave too few digits to a factor."""

NEGLIGIBLE = 1e-9

CORNER = 256
"""Objects whose inner products alone mostly show that D is not Euclidean."""

ROUNDS = 20
"""Uses of a factor, for all folds and classes at once, beyond which its inverse costs less."""


def solve_definite(
    G: npt.NDArray[Any], labels: Labels, *, n_components: int, regularization: float, folds: npt.NDArray[np.int64]
) -> Discriminant | None:
    """Return the discriminant coordinates from the Gram matrix, or None where it has a negative eigenvalue.

    Parameters
    ----------
    G : (n, n) array
        Not changed.
    labels : Labels
    n_components : int
    regularization : float
        Relative to the largest eigenvalue, at least `SMALLEST`.
    folds : (n,) array of int
        One deal.

    Examples
    --------
    >>> X = np.array([0.0, 1.0, 2.0, 7.0, 8.0, 9.0, 9.5]) - 36.5 / 7
    >>> labels = Labels.of(np.array([0, 0, 0, 1, 1, 1, 1]), 2)
    >>> found = solve_definite(np.outer(X, X), labels, n_components=1, regularization=0.1, folds=np.arange(7) % 2)
    >>> bool(np.allclose(found.embedding[:, 0] / X, found.embedding[0, 0] / X[0]))
    True
    """
    hidden = max(NEGLIGIBLE * regularization, len(G) * float(np.finfo(G.dtype).eps))
    # The eigenvalues of a corner lie between those of the whole, and the norm is no less than the largest: what a corner
    # shows with this shift, the whole would show with the smaller one, after many products for its largest eigenvalue.
    if _factor(G[:CORNER, :CORNER].copy(), hidden * 1.001 * _norm(G)) is None:
        return None
    scale = largest_eigenvalue(G)
    ridge = regularization * scale
    work = np.empty_like(G)
    np.copyto(work, G)
    if _factor(work, hidden * scale) is None:
        return None
    Y = labels.scores()
    np.copyto(work, G)
    weights, held = _regression(G, work, Y, parts_of(folds), ridge)
    fitted = Y - ridge * weights
    regression = Regression.of(Y.T @ fitted, labels.means(fitted), held, labels, n_components)
    path = path_of_one(regularization, regression, n_deals=1)
    return Discriminant.of(regression, fitted, weights, path=path, negative_share=0.0)


def _norm(G: npt.NDArray[Any]) -> float:
    """Return the root of the sum of squares.

    By scipy: the threads of numpy's own BLAS would go on waiting for more to do beside those that factor next.
    """
    return float(scipy.linalg.get_lapack_funcs("lange", (G,))("F", G.T))


def largest_eigenvalue(G: npt.NDArray[Any]) -> float:
    """Return the largest eigenvalue of a symmetric matrix, by a few Lanczos steps over one triangle."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    symv = scipy.linalg.get_blas_funcs("symv", (G,))
    operator = LinearOperator(G.shape, matvec=lambda v: symv(1.0, G.T, v, lower=True), dtype=G.dtype)
    first = np.random.default_rng(0).standard_normal(len(G)).astype(G.dtype)
    # The error of an eigenvalue is the square of that of its vector, which the tolerance is about.
    options = {"tol": 0.1 * float(np.sqrt(np.finfo(G.dtype).eps)), "ncv": min(len(G), 12), "v0": first}
    return float(eigsh(operator, k=1, which="LA", return_eigenvectors=False, **options)[0])


def _factor(A: npt.NDArray[Any], shift: float) -> npt.NDArray[Any] | None:
    """Return L with ``A + shift I = L L'`` in the place of A, or None where that is not positive definite.

    Above its diagonal stands what stood there.
    """
    A[np.diag_indices(len(A))] += shift
    potrf = scipy.linalg.get_lapack_funcs("potrf", (A,))
    # The transpose of a C-ordered symmetric matrix is itself in the order LAPACK wants: no copy is made.
    factor, failed = potrf(A.T, lower=True, clean=False, overwrite_a=True)
    return None if failed else factor


def _regression(
    G: npt.NDArray[Any], A: npt.NDArray[Any], Y: Array, parts: list[npt.NDArray[np.intp]], ridge: float
) -> tuple[Array, Array]:
    """Return the weights and each fold's scores without it; A holds G and is destroyed."""
    n, c = Y.shape
    less = ridge * share_kept(len(parts))
    factor = _existing_factor(A, less)

    def solve(right: Array) -> Array:
        return np.asarray(scipy.linalg.cho_solve((factor, True), right, check_finite=False), dtype=np.float64)

    def product(block: Array, kind: Array) -> Array:
        # Columns of kind 1 ask for A^-1; those of kind 0 for its blocks, each fold in columns of its own.
        whole, folded = block[:, kind == 1], block[:, kind == 0]
        k, m = whole.shape[1], folded.shape[1]
        wide = np.zeros((n, k + len(parts) * m), order="F")
        wide[:, :k] = whole
        for f, part in enumerate(parts):
            wide[part, k + f * m : k + (f + 1) * m] = folded[part]
        wide = solve(wide)
        out, left = np.empty_like(block), np.empty_like(folded)
        for f, part in enumerate(parts):
            left[part] = less * wide[part, k + f * m : k + (f + 1) * m] - folded[part].sum(axis=0) / n
        out[:, kind == 1], out[:, kind == 0] = (ridge - less) * wide[:, :k], left
        return out

    def iterate(right: Array, kind: Array) -> tuple[Array, bool]:
        tolerance = max(1e-11, 10 * float(np.finfo(A.dtype).eps))
        return conjugate_gradients(product, np.ones(n), right, kind, np.ones(n), tol=tolerance, max_rounds=ROUNDS)

    first = solve(Y)
    solution, done = iterate(np.hstack([first, less * first]), np.repeat([1.0, 0.0], c))
    if done:
        return solution[:, :c], Y - solution[:, c:]
    weights, _ = iterate(first, np.ones(c))
    order = np.concatenate(parts)
    for rows in row_blocks(G, CACHED_BYTES):
        A[rows] = G[order[rows]][:, order]
    left = np.empty_like(Y)
    left[order] = _block_solutions(_existing_factor(A, less), less * first[order], list(map(len, parts)), less)
    return weights, Y - left


def _existing_factor(A: npt.NDArray[Any], shift: float) -> npt.NDArray[Any]:
    factor = _factor(A, shift)
    if factor is None:
        raise ArithmeticError("a factor that exists with a smaller shift was not found with a larger one")
    return factor


def _block_solutions(factor: npt.NDArray[Any], right: Array, sizes: list[int], less: float) -> Array:
    """Return ``(I - S_ff - 11'/n)^-1 right_f`` of each fold, through ``L^-1``, which takes the place of the factor.

    Objects are ordered by fold.
    """
    parts = [slice(stop - size, stop) for stop, size in zip(np.cumsum(sizes), sizes, strict=True)]
    inverse, _ = scipy.linalg.get_lapack_funcs("trtri", (factor,))(factor, lower=True, overwrite_c=True)
    out = np.empty_like(right)
    for part in parts:
        inverse[part, part] = np.tril(inverse[part, part])
        B = inverse.T[part, part.start :]
        out[part] = solve_left(less * (B @ B.T) - 1.0 / len(right), right[part])
    return out


SMALL = 1000
"""Objects up to which numpy decomposes, which copies the matrix but lets other threads run; scipy does neither."""


def solve_gram(
    G: npt.NDArray[Any],
    labels: Labels,
    *,
    n_components: int,
    regularization: float | None,
    folds: npt.NDArray[np.int64],
) -> Discriminant:
    """Return the discriminant coordinates from the Gram matrix, which is destroyed.

    Factors serve one regularisation and no negative eigenvalue; a decomposition serves everything. Both give the same.

    Parameters
    ----------
    G : (n, n) array
    labels, n_components, regularization, folds
        As for `mdsfda.solve`.
    """
    if regularization is not None and regularization >= SMALLEST and len(G) >= MIN_OBJECTS and len(folds) == 1:
        definite = solve_definite(G, labels, n_components=n_components, regularization=regularization, folds=folds[0])
        if definite is not None:
            return definite
    if len(G) <= SMALL:
        values, vectors = np.linalg.eigh(G)
    else:
        # The transpose of a C-ordered symmetric matrix is itself in the order LAPACK wants: no copy is made.
        values, vectors = scipy.linalg.eigh(G.T, driver="evd", overwrite_a=True, check_finite=False)
    return solve(values, vectors, labels, n_components=n_components, regularization=regularization, folds=folds)
