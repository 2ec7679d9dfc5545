"""Landmarks: a few objects stand for all, so that n objects need n x L distances instead of n x n.

With ``G_LL = U diag(w) U'`` the Gram matrix of the landmarks, an object whose centred inner products with them are g gets
the features

    x = g U diag(sign(w) / sqrt(|w|)),

which for the landmarks themselves are ``U sqrt(|w|)``, their coordinates. Inner products of such features are Nystrom's
approximation of |G|; with every object a landmark they are |G| itself. Distances are asked for a stretch of objects at a
time and never kept.

Directions with small |w| are where other objects, which are not in the landmarks' span, would be blown up by 1/sqrt(|w|):
below `SMALLEST` of the largest they are left out, unless every object is a landmark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.distances.centring import centre_weights, gram
from gramian.distances.objects import Training
from gramian.errors import Argument, DataError
from gramian.parameters import check, whole

SMALLEST = 1e-3

CHOICES = ("random", "k-means++")

POOL, POOL_EACH = 10_000, 8
"""Objects that spread-out landmarks are drawn from, in all and a landmark, at least: few beside n where n is large."""


@dataclass(frozen=True)
class FeatureMap:
    """Features of objects from their distances to the reference objects: ``-1/2 (d^2 - means) @ weights``.

    Attributes
    ----------
    means : (L,) array
        Column means of the squared distances between the reference objects.
    weights : (L, r) array
    values : (L,) array
        Eigenvalues of the landmarks' Gram matrix, descending.
    """

    means: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]


def choose_landmarks(
    training: Training, n_landmarks: int, rng: np.random.Generator, *, how: str = "random"
) -> npt.NDArray[np.int64]:
    """Return the positions of landmarks among the training objects, ascending.

    Parameters
    ----------
    training : Training
    n_landmarks : int
    rng : Generator
    how : "random" or "k-means++"
        Every object as likely as any other; or one after another, each as likely as its squared distance to the nearest
        landmark so far, which reaches small groups far from the rest. The latter draws from at most `POOL` random objects
        and measures those against the landmarks.
    """
    n = training.n
    check("landmarks", how, *CHOICES)
    check("n_landmarks", n_landmarks, whole(2))
    if n_landmarks > n:
        raise DataError(
            Argument("n_landmarks", n_landmarks), f" is more than the {n} objects there are; ask for at most {n}"
        )
    if how == "random" or n_landmarks == n:
        return np.sort(rng.choice(n, int(n_landmarks), replace=False))
    return np.sort(_seeds(training, int(n_landmarks), rng))


def _seeds(training: Training, n_landmarks: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    pool = rng.choice(training.n, min(training.n, max(POOL, POOL_EACH * n_landmarks)), replace=False)
    nearest = np.full(len(pool), np.inf)
    chosen = [0]
    while len(chosen) < n_landmarks:
        squares = np.square(training.from_to(pool, int(pool[chosen[-1]])), dtype=np.float64)
        nearest = np.minimum(nearest, squares)
        weight = nearest.copy()
        weight[chosen] = 0.0
        if not weight.any():  # all that are left lie on landmarks: any of them will do
            weight[:] = 1.0
            weight[chosen] = 0.0
        chosen.append(int(rng.choice(len(pool), p=weight / weight.sum())))
    return pool[chosen]


def landmark_map(D: npt.NDArray[Any], n: int) -> FeatureMap:
    """Return the feature map of landmarks with distances D, for n objects in all."""
    G, means = gram(np.asarray(D, dtype=np.float64))
    values, vectors = np.linalg.eigh(G)
    size = np.abs(values)
    largest = float(size.max())
    if largest == 0:
        raise DataError(
            f"the {len(D)} landmarks lie at distance 0 from each other; raise n_landmarks or drop duplicates"
        )
    smallest = (SMALLEST if len(D) < n else len(D) * np.finfo(float).eps) * largest
    kept = size > smallest
    weights = vectors[:, kept] * (np.sign(values[kept]) / np.sqrt(size[kept]))
    return FeatureMap(means, centre_weights(weights), values[::-1])
