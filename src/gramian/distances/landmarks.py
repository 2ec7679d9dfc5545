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
from gramian.errors import DataError

SMALLEST = 1e-3


@dataclass(frozen=True)
class FeatureMap:
    """Features of objects from their distances to the reference objects: ``-1/2 (d^2 - means) @ weights``.

    Attributes
    ----------
    means : (L,) array
        Column means of the squared distances between the reference objects.
    weights : (L, r) array
    scale : float
        Estimate of the largest eigenvalue of the Gram matrix of all objects.
    values : (L,) array
        Eigenvalues of the landmarks' Gram matrix, descending.
    """

    means: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    scale: float
    values: npt.NDArray[np.float64]


def choose_landmarks(n: int, n_landmarks: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the positions of landmarks drawn at random, ascending.

    Every object is as likely as any other: then the landmarks' Gram matrix, times n / L, estimates that of all without
    bias, which draws that favour far-off objects do not.
    """
    if isinstance(n_landmarks, bool) or not isinstance(n_landmarks, int | np.integer) or n_landmarks < 2:
        raise DataError(f"n_landmarks must be a whole number of at least 2, or None; got {n_landmarks!r}")
    if n_landmarks > n:
        raise DataError(f"n_landmarks={n_landmarks} is more than the {n} objects there are; ask for at most {n}")
    return np.sort(rng.choice(n, int(n_landmarks), replace=False))


def landmark_map(D: npt.NDArray[Any], n: int) -> FeatureMap:
    """Return the feature map of landmarks with distances D, for n objects in all."""
    G, means = gram(np.asarray(D, dtype=np.float64))
    values, vectors = np.linalg.eigh(G)
    size = np.abs(values)
    largest = float(size.max())
    smallest = (SMALLEST if len(D) < n else len(D) * np.finfo(float).eps) * largest
    kept = size > smallest
    weights = vectors[:, kept] * (np.sign(values[kept]) / np.sqrt(size[kept]))
    return FeatureMap(means, centre_weights(weights), largest * n / len(D), values[::-1])
