"""MDS-FDA on features: the same solution for many objects and few features, from fold sums, one block of rows at a time.

The features X of landmarks (`gramian.distances.objects`) or of block Lanczos, below, stand for the objects' coordinates. With
``A = X' C X`` and ``c = X' C Y`` the ridge of Y on X is ``(A + r I)^-1 c``, and ``Y' S Y = c' (A + r I)^-1 c``. A, c and the
sums are kept by fold, so each fold's left-out regression is that of (total - fold): one eigendecomposition per fold serves
every r. With as many features as objects this is `gramian.distances.mdsfda` to the last digits.

Held-out accuracy needs rows. Where all do not fit they are drawn, evenly over the blocks, up to `SCORED_CELLS`.

*Block Lanczos* over blocks of rows of the distances finds the Gram matrix's large eigenvalues without the matrix. For more
objects than one decomposition can serve, the space spanned by ``R, G R, G^2 R, ...`` from random columns R soon
holds the eigenvectors of large |w|, and those are what the regularised problem sees: a direction counts by
|w| / (|w| + r), and r is a few hundredths of the largest. With Q an orthonormal basis and ``Q' G Q = V diag(t) V'``, the
objects get the features ``x = g Q V diag(sign(t) / sqrt(|t|))``. The space must not grow from the class labels: held-out
scores would then have seen them. Each step reads D once, block by block, so D may be memory-mapped float32; beside it the
memory is 2 n k floats. With k = n - 1 nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.distances.mds import centre_weights, gram, gram_product, mean_squares
from gramian.distances.mdsfda import Labels, NearestMean, Path, Regression, fit_path, share_kept
from gramian.distances.objects import FeatureMap

SCORED_CELLS = 2**24
"""Feature values kept for scoring: 128 MB. Up to this many all rows are kept."""


class FoldSums:
    """Sums over objects of features and of their products with themselves and with the class scores, by fold.

    Parameters
    ----------
    labels : Labels
        Of all objects that will be added.
    folds : (repeats, n) array of int
    n_features : int
    """

    def __init__(self, labels: Labels, folds: npt.NDArray[np.int64], n_features: int) -> None:
        self.folds, self._scores = folds, labels.scores()
        shape, c = (len(folds), int(folds.max()) + 1), self._scores.shape[1]
        self.count = np.zeros(shape)
        self.products = np.zeros((*shape, n_features, n_features))
        self.cross = np.zeros((*shape, n_features, c))
        self.sums = np.zeros((*shape, n_features))
        self.score_sums = np.zeros((*shape, c))
        self._every = -(-len(labels.codes) * n_features // SCORED_CELLS)
        self._kept: list[Array] = []
        self._kept_at: list[npt.NDArray[np.int64]] = []

    def add(self, part: slice, features: Array) -> None:
        """Add a block of objects."""
        scores = self._scores[part]
        for deal, folds in enumerate(self.folds[:, part]):
            for f in np.unique(folds):
                rows, targets = features[folds == f], scores[folds == f]
                self.count[deal, f] += len(rows)
                self.products[deal, f] += rows.T @ rows
                self.cross[deal, f] += rows.T @ targets
                self.sums[deal, f] += rows.sum(axis=0)
                self.score_sums[deal, f] += targets.sum(axis=0)
        at = np.arange(part.start, part.stop)
        chosen = at % self._every == 0
        self._kept.append(features[chosen])
        self._kept_at.append(at[chosen])

    def kept(self) -> tuple[npt.NDArray[np.int64], Array]:
        """Return the rows kept for scoring, and which they are."""
        return np.concatenate(self._kept_at), np.concatenate(self._kept)

    def centred(self, deal: int = 0, without: int | None = None) -> tuple[Array, Array, Array, Array]:
        """Return A, c, the mean features and the mean scores, of all folds of a deal or of all but one."""
        taken = np.flatnonzero(np.arange(self.count.shape[1]) != (-1 if without is None else without))
        n = self.count[deal, taken].sum()
        mean, score = self.sums[deal, taken].sum(axis=0) / n, self.score_sums[deal, taken].sum(axis=0) / n
        products = self.products[deal, taken].sum(axis=0) - n * np.outer(mean, mean)
        return products, self.cross[deal, taken].sum(axis=0) - n * np.outer(mean, score), mean, score


@dataclass(frozen=True)
class FeatureDiscriminant:
    """Axes on features: the embedding is ``(x - mean) @ coefficients``. Other attributes as in `mdsfda.Discriminant`."""

    coefficients: Array
    mean: Array
    eigenvalues: Array
    classifier: NearestMean
    path: Path


def solve_features(
    sums: FoldSums, labels: Labels, *, n_components: int, regularization: float | None
) -> FeatureDiscriminant:
    """Return the discriminant axes on features; parameters as in `mdsfda.solve`.

    The regularisation is relative to the largest eigenvalue of A: that of the Gram matrix which the features stand for, of all
    objects, however the reference objects were chosen.
    """
    A, c, mean, _ = sums.centred()
    values, V = np.linalg.eigh(A)
    values, turned = values.clip(0.0), V.T @ c
    scale = float(values[-1])
    at, rows = sums.kept()
    n_deals = len(sums.folds)
    scored = labels.at(at).repeated(n_deals)
    left_out = []
    for deal, folds in enumerate(sums.folds[:, at]):
        for f in np.unique(folds):
            A_f, c_f, mean_f, score_f = sums.centred(deal, without=int(f))
            values_f, V_f = np.linalg.eigh(A_f)
            which = np.flatnonzero(folds == f)
            features = (rows[which] - mean_f) @ V_f
            left_out.append((deal * len(at) + which, features, values_f.clip(0.0), V_f.T @ c_f, score_f))

    def fit(relative: float) -> tuple[Regression, Array]:
        ridge = relative * scale
        solved = _inverse(values, ridge)[:, None] * turned
        coefficients = V @ solved
        held = np.empty((n_deals * len(rows), c.shape[1]))
        ridge *= share_kept(sums.count.shape[1])
        for which, features, values_f, turned_f, score_f in left_out:
            held[which] = features @ (_inverse(values_f, ridge)[:, None] * turned_f) + score_f
        # Y = (indicator - N_i / n) / sqrt(N_i), so a class's mean feature, less the overall mean, is its cross / sqrt(N_i).
        means = (sums.cross[0].sum(axis=0).T / np.sqrt(labels.counts)[:, None]) @ coefficients
        return Regression.of(turned.T @ solved, means, held, scored, n_components), coefficients

    path, discriminant, coefficients = fit_path(regularization, n_deals, fit)
    classifier = discriminant.classifier()
    return FeatureDiscriminant(
        coefficients=coefficients @ discriminant.Q / classifier.spread,
        mean=mean,
        eigenvalues=discriminant.rho,
        classifier=classifier.in_spreads(),
        path=path,
    )


def _inverse(values: Array, ridge: float) -> Array:
    floor = len(values) * np.finfo(float).eps * values[-1]
    return np.where(values > floor, 1.0 / np.maximum(values + ridge, floor), 0.0)


DIMENSIONS = 512
"""Dimensions of the space. Classes far apart need few; on words of eight languages, where small eigenvalues count, 256 cost
two points of held-out accuracy against the exact solution, so the exact one is taken as long as it can be."""

FORMED_BYTES = 2**28
"""Up to this size G is formed once; beyond, each product squares and centres blocks of D anew."""

COLUMNS = 32
"""Random columns to start from: with many, few readings of D; with few, larger powers of G."""

SMALLEST = 1e-6
"""Ritz values below this share of the largest are rounding."""


def krylov_map(
    D: Any, rng: np.random.Generator, *, n_dimensions: int = DIMENSIONS
) -> tuple[FeatureMap, npt.NDArray[np.float64]]:
    """Return a feature map over all objects, and their features.

    Parameters
    ----------
    D : (n, n) array
        Distances, possibly memory-mapped, or anything that gives rows of them; products are in their type.
    rng : Generator
    n_dimensions : int
    """
    n = len(D)
    dtype = D.dtype
    if D.nbytes <= FORMED_BYTES:
        G, means = gram(D)
        product: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] = G.__matmul__
    else:
        means = mean_squares(D)
        product = partial(gram_product, D, means)
    block = rng.standard_normal((n, COLUMNS)).astype(dtype)
    basis: list[npt.NDArray[Any]] = []
    images: list[npt.NDArray[Any]] = []
    limit = min(n_dimensions, n - 1)
    while (size := sum(part.shape[1] for part in basis)) < limit:
        block = _orthonormal(block - block.mean(axis=0), basis)[:, : limit - size]
        if block.shape[1] == 0:
            break
        basis.append(block)
        images.append(product(block))
        block = images[-1]
    Q, GQ = np.column_stack(basis).astype(np.float64), np.column_stack(images).astype(np.float64)
    T = Q.T @ GQ
    values, V = np.linalg.eigh((T + T.T) / 2)
    size_of = np.abs(values)
    kept = size_of > SMALLEST * size_of.max()
    turn = V[:, kept] * (np.sign(values[kept]) / np.sqrt(size_of[kept]))
    return FeatureMap(means, centre_weights(Q @ turn), values[::-1]), GQ @ turn


def _orthonormal(block: npt.NDArray[Any], basis: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return an orthonormal basis of the part of the block outside the basis; directions that are rounding are dropped."""
    norms = np.linalg.norm(block, axis=0)
    block = block[:, norms > 0] / norms[norms > 0]
    for _ in range(2):  # once leaves rounding times the growth of the block, twice does not
        for part in basis:
            block = block - part @ (part.T @ block)
    left, values, _ = np.linalg.svd(block, full_matrices=False)
    left = left[:, values > 100 * np.finfo(block.dtype).eps * max(1.0, values.max(initial=0.0))]
    for part in basis:
        left = left - part @ (part.T @ left)
    return left / np.linalg.norm(left, axis=0) if left.shape[1] else left
