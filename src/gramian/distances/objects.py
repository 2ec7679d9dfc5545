"""Training objects, given as a matrix of distances or as things to be measured; and landmarks among them.

*Landmarks* are a few objects that stand for all, so that n objects need n x L distances instead of n x n.

With ``G_LL = U diag(w) U'`` the Gram matrix of the landmarks, an object whose centred inner products with them are g gets
the features

    x = g U diag(sign(w) / sqrt(|w|)),

which for the landmarks themselves are ``U sqrt(|w|)``, their coordinates. Inner products of such features are Nystrom's
approximation of |G|; with every object a landmark they are |G| itself. Distances are asked for a block of objects at a
time and never kept.

Directions with small |w| are where other objects, which are not in the landmarks' span, would be blown up by 1/sqrt(|w|):
below `SMALLEST` of the largest they are left out, unless every object is a landmark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import refuse_beyond
from gramian.distances.mds import centre_weights, gram
from gramian.distances.metrics.metric import Objects, check_distances, check_rows, take
from gramian.distances.metrics.pairwise import Measure, column_blocks, symmetric_distances
from gramian.errors import Argument, DataError
from gramian.progress import Progress

Blocks = Iterator[tuple[slice, npt.NDArray[Any]]]


class GivenDistances:
    """Objects known by a square matrix of distances, which is never changed.

    Parameters
    ----------
    D : (n, n) array, possibly memory-mapped
    """

    def __init__(self, D: npt.NDArray[Any]) -> None:
        check_distances(D)
        self._D, self.n = D, len(D)
        self.dtype = D.dtype

    def matrix(self) -> tuple[npt.NDArray[Any], bool]:
        """Return all distances, and whether they may be overwritten."""
        return self._D, False

    def between(self, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the distances between some of the objects."""
        return _apart(np.asarray(self._D[np.ix_(index, index)]))

    def from_to(self, some: npt.NDArray[np.int64], other: int) -> npt.NDArray[Any]:
        """Return the distances from some objects to another."""
        return np.asarray(self._D[other])[some]

    def to(self, index: npt.NDArray[np.int64]) -> Blocks:
        """Yield blocks of all objects with their distances to some of them."""
        return column_blocks(self._D, index)

    def reference(self, index: npt.NDArray[np.int64] | None) -> Objects:
        """Return nothing: new objects come as rows of distances."""
        return None


class MeasuredObjects:
    """Objects that a metric measures when distances are asked for.

    Parameters
    ----------
    measure : Measure
    objects : prepared objects
    n_jobs : int
    dtype : float32 or float64
    """

    def __init__(self, measure: Measure, objects: Objects, n_jobs: int, dtype: npt.DTypeLike) -> None:
        self._measure, self._objects, self._n_jobs = measure, objects, n_jobs
        self.n, self.dtype = len(objects), np.dtype(dtype)

    def matrix(self) -> tuple[npt.NDArray[Any], bool]:
        """Return all distances, and whether they may be overwritten."""
        size = f"a matrix of {self.n:,} x {self.n:,} distances"
        refuse_beyond(self.n**2 * self.dtype.itemsize, what=size, way_out="set n_landmarks")
        D = symmetric_distances(self._measure, self._objects, n_jobs=self._n_jobs, dtype=self.dtype)
        # A metric of the user's may be anything: the same checks as for a matrix.
        check_distances(D)
        return D, True

    def between(self, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the distances between some of the objects."""
        some = take(self._objects, index)
        D = _apart(symmetric_distances(self._measure, some, n_jobs=self._n_jobs, dtype=self.dtype))
        check_distances(D)
        return D

    def from_to(self, some: npt.NDArray[np.int64], other: int) -> npt.NDArray[Any]:
        """Return the distances from some objects to another."""
        one = take(self._objects, np.array([other]))
        block = self._measure.block(take(self._objects, some), one, self._n_jobs, self.dtype)
        check_rows(block, what="the matrix of distances")
        return block[:, 0]

    def to(self, index: npt.NDArray[np.int64]) -> Blocks:
        """Yield blocks of all objects with their distances to some of them."""
        some = take(self._objects, index)
        with Progress(None, self.n * len(index), "distances", "pairs") as shown:
            for part, rows in self._measure.stream(self._objects, some, self._n_jobs, self.dtype):
                check_rows(rows, what="the matrix of distances", first_row=part.start)
                shown.advance(rows.size)
                yield part, rows

    def reference(self, index: npt.NDArray[np.int64] | None) -> Objects:
        """Return the objects that new ones will be measured against."""
        return self._objects if index is None else take(self._objects, index)


class SomeObjects:
    """Some of the training objects, in their order, as if there were no others.

    Parameters
    ----------
    all_objects : GivenDistances or MeasuredObjects
    kept : (m,) array of int
        Ascending.
    """

    def __init__(self, all_objects: GivenDistances | MeasuredObjects, kept: npt.NDArray[np.int64]) -> None:
        self._all, self._kept = all_objects, kept
        self.n, self.dtype = len(kept), all_objects.dtype

    def matrix(self) -> tuple[npt.NDArray[Any], bool]:
        """Return all distances, and whether they may be overwritten."""
        return self._all.between(self._kept), True

    def between(self, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the distances between some of the objects."""
        return self._all.between(self._kept[index])

    def from_to(self, some: npt.NDArray[np.int64], other: int) -> npt.NDArray[Any]:
        """Return the distances from some objects to another."""
        return self._all.from_to(self._kept[some], int(self._kept[other]))

    def to(self, index: npt.NDArray[np.int64]) -> Blocks:
        """Yield blocks of all objects with their distances to some of them."""
        start = 0
        for part, rows in self._all.to(self._kept[index]):
            here = self._kept[(self._kept >= part.start) & (self._kept < part.start + len(rows))] - part.start
            if len(here):
                yield slice(start, start + len(here)), rows[here]
                start += len(here)

    def reference(self, index: npt.NDArray[np.int64] | None) -> Objects:
        """Return the objects that new ones will be measured against."""
        return self._all.reference(self._kept if index is None else self._kept[index])


def _apart(D: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if not D.any():
        raise DataError(
            f"the {len(D)} landmarks lie at distance 0 from each other; raise n_landmarks or drop duplicates"
        )
    return D


Training = GivenDistances | MeasuredObjects | SomeObjects


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
    G, means = gram(np.asarray(_apart(D), dtype=np.float64))
    values, vectors = np.linalg.eigh(G)
    size = np.abs(values)
    smallest = (SMALLEST if len(D) < n else len(D) * np.finfo(float).eps) * float(size.max())
    kept = size > smallest
    weights = vectors[:, kept] * (np.sign(values[kept]) / np.sqrt(size[kept]))
    return FeatureMap(means, centre_weights(weights), values[::-1])
